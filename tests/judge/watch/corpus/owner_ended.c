/* SPDX-License-Identifier: Apache-2.0
 * owner_ended.c - a thread has ended with a mutex that it holds.
 *
 * Class      owner gone
 * Verdict    deadlock
 * Fixed      waits */
#include "hang.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *holder(void *arg)
{
	pthread_mutex_lock(&lock);
#ifdef FIXED
	pthread_mutex_unlock(&lock);
#endif
	return arg;
}

int main(void)
{
	pthread_join(start(holder), NULL);
	pthread_mutex_lock(&lock);
	rest();
}
