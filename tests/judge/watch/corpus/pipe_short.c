/* SPDX-License-Identifier: Apache-2.0
 * pipe_short.c - a thread reads a pipe into which only this process could write.
 *
 * Class      value equal
 * Verdict    stuck
 * Fixed      waits */
#include "hang.h"

static int ends[2];

static void *reader(void *arg)
{
	char byte;

	return read(ends[0], &byte, 1) == 1 ? arg : NULL;
}

int main(void)
{
	pthread_t thread;

	if (pipe(ends) != 0)
		return 1;
	thread = start(reader);
#ifdef FIXED
	if (write(ends[1], "", 1) != 1)
		return 1;
#endif
	pthread_join(thread, NULL);
	rest();
}
