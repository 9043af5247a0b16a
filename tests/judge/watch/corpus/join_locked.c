/* SPDX-License-Identifier: Apache-2.0
 * join_locked.c - a thread joins another one that needs its mutex.
 *
 * Class      owner cycle
 * Verdict    deadlock
 * Fixed      waits */
#include "hang.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *worker(void *arg)
{
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	return arg;
}

int main(void)
{
	pthread_t thread;

	pthread_mutex_lock(&lock);
	thread = start(worker);
#ifdef FIXED
	pthread_mutex_unlock(&lock);
#endif
	pthread_join(thread, NULL);
	rest();
}
