/* SPDX-License-Identifier: Apache-2.0
 * cpython_148820.c - a waiter that leaves by a signal destroys the semaphore that will be posted.
 *
 * System     CPython 3.13 and 3.14, free-threaded (_PyRawMutex)
 * Issue      https://github.com/python/cpython/pull/148847
 * Year       2026
 * Seen       "Fatal Python error: _PySemaphore_Wakeup", after a SIGINT.
 * Mechanism  Who unlocks takes the waiter off the list, and then posts the semaphore, which lies on
 *            the waiter's stack. A waiter whose wait is interrupted finds the mutex free, takes it,
 *            returns and destroys its semaphore before it is posted.
 * Claim      A semaphore is posted before its waiter destroys it.
 * Shows      race race race */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

typedef struct waiter {
	sem_t *wakeup; /* the explorer sees when it is gone, as memory that was freed */
} waiter;

static const char free_mutex, held_mutex;
/* Free, held, or the waiter in line while it is held. */
static _Atomic(const void *) mutex = &held_mutex; /* by main */

#ifndef FIXED
/* A wait that a signal may end, at any time; here it is the time that ends it. */
static void wait_for(sem_t *wakeup)
{
	struct timespec soon;

	clock_gettime(CLOCK_REALTIME, &soon);
	soon.tv_sec++;
	sem_timedwait(wakeup, &soon);
}
#endif

static void *lock(void *unused)
{
	waiter me = {.wakeup = malloc(sizeof(*me.wakeup))};
	const void *seen = &free_mutex;

	sem_init(me.wakeup, 0, 0);
	while (!atomic_compare_exchange_strong(&mutex, &seen, &held_mutex)) {
		if (seen == &held_mutex && atomic_compare_exchange_strong(&mutex, &seen, &me)) {
#ifdef FIXED
			sem_wait(me.wakeup); /* until it was posted for sure, whatever else comes */
#else
			wait_for(me.wakeup);
#endif
		}
		seen = &free_mutex;
		if (mutex == &me) /* nobody has unlocked: it waits again */
			sem_wait(me.wakeup);
	}
	sem_destroy(me.wakeup);
	free(me.wakeup);
	return unused;
}

static void unlock(void)
{
	const void *seen = atomic_exchange(&mutex, &free_mutex);

	if (seen != &held_mutex)
		sem_post(((const waiter *)seen)->wakeup);
}

int main(void)
{
	pthread_t locker;

	pthread_create(&locker, NULL, lock, NULL);
	unlock();
	pthread_join(locker, NULL);
	return 0;
}
