/* SPDX-License-Identifier: Apache-2.0
 * cond_forgotten.c - a condition variable is signalled, and nobody is woken.
 *
 * Class      forgotten wake
 * Verdict    missed
 * Fixed      waits */
#include "hang.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;

static void *waiter(void *arg)
{
	pthread_mutex_lock(&lock);
	pthread_cond_wait(&cond, &lock);
	pthread_mutex_unlock(&lock);
	rest();
	return arg;
}

int main(void)
{
	start(waiter);
	settle();
#ifdef FIXED
	pthread_cond_signal(&cond);
#else
	/* The half of a signal: both groups of waiters are given one. */
	__atomic_fetch_add(&cond.__data.__g_signals[0], 2, __ATOMIC_RELEASE);
	__atomic_fetch_add(&cond.__data.__g_signals[1], 2, __ATOMIC_RELEASE);
#endif
	for (;;)
		sleep(1000);
}
