/* SPDX-License-Identifier: Apache-2.0
 * barrier_short.c - two of three threads come to a barrier.
 *
 * Class      value equal
 * Verdict    stuck
 * Fixed      waits */
#include "hang.h"

static void *party(void *arg)
{
	meet();
	return arg;
}

int main(void)
{
	parties = 3;
	start(party);
#ifdef FIXED
	start(party);
#endif
	meet();
	rest();
}
