/* SPDX-License-Identifier: Apache-2.0
 * tenzir_6432.c - one waiter resets the baton, and another one has not looked yet.
 *
 * System     Tenzir (Notify)
 * Issue      https://github.com/tenzir/tenzir/pull/6432
 * Year       2026
 * Seen       A receiver of a channel is stranded, and its notification is stored.
 * Mechanism  All waiters share a baton, which notify_one posts, and so does a cancellation. A waiter
 *            that has been cancelled takes that post, and resets the baton. If a notification is
 *            posted before the reset, the two are one, and both are gone; the waiter leaves, as it
 *            is cancelled, and another one, that has looked for a notification before, sleeps.
 * Claim      A notification wakes a waiter that is not cancelled.
 * Shows      asleep asleep asleep */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#ifndef FIXED
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

enum { WAITERS = 2, ALL = WAITERS };

static struct waiter {
	atomic_bool is_cancelled;
	bool is_queued, is_notified;
	sem_t baton;
} waiters[WAITERS];

#ifdef FIXED
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static bool is_stored; /* a notification for who comes next */

static void notify(void)
{
	for (int i = 0; i < WAITERS; i++)
		if (waiters[i].is_queued) {
			waiters[i].is_queued = false;
			waiters[i].is_notified = true;
			sem_post(&waiters[i].baton);
			return;
		}
	is_stored = true;
}

static void notify_one(void)
{
	pthread_mutex_lock(&mutex);
	notify();
	pthread_mutex_unlock(&mutex);
}

static void cancel(struct waiter *waiter)
{
	waiter->is_cancelled = true;
	sem_post(&waiter->baton);
}

/* It has looked already, found no notification, and joined the queue. */
static void wait(struct waiter *me)
{
	sem_wait(&me->baton);
	pthread_mutex_lock(&mutex);
	me->is_queued = false;
	if (me->is_cancelled && me->is_notified)
		notify(); /* it is not for a waiter that goes */
	pthread_mutex_unlock(&mutex);
}
#else
static atomic_bool is_notified;
static atomic_int baton;

static void post(void)
{
	if (!atomic_exchange(&baton, 1))
		syscall(SYS_futex, &baton, FUTEX_WAKE, ALL);
}

static void notify_one(void)
{
	is_notified = true;
	post();
}

static void cancel(struct waiter *waiter)
{
	waiter->is_cancelled = true;
	post();
}

/* It has looked already, and found no notification. */
static void wait(struct waiter *me)
{
	do {
		while (!baton)
			syscall(SYS_futex, &baton, FUTEX_WAIT, 0, NULL);
		baton = 0;
	} while (!me->is_cancelled && !atomic_exchange(&is_notified, false));
}
#endif

static void *work(void *of)
{
	wait(of);
	return NULL;
}

int main(void)
{
	pthread_t threads[WAITERS];

	for (int i = 0; i < WAITERS; i++) {
		sem_init(&waiters[i].baton, 0, 0);
		waiters[i].is_queued = true;
		pthread_create(&threads[i], NULL, work, &waiters[i]);
	}
	cancel(&waiters[0]);
	notify_one();
	for (int i = 0; i < WAITERS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
