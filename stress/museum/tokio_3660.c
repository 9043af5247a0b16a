/* SPDX-License-Identifier: Apache-2.0
 * tokio_3660.c - who only counts a call writes the old state back.
 *
 * System     Tokio (Notify)
 * Issue      https://github.com/tokio-rs/tokio/pull/3660
 * Year       2021
 * Seen       A permit of notify_one is gone, and the task that waits for it next is not woken.
 * Mechanism  One word holds the state and, above it, how often notify_waiters was called. If nobody
 *            waits, notify_waiters loads the word, and stores it with one call more. It holds the
 *            lock, but notify_one leaves its permit in the word without the lock; if it does so
 *            between the two steps, the permit is overwritten.
 * Claim      A permit stays until a waiter takes it.
 * Shows      asleep asleep asleep */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>

enum { EMPTY, WAITING, NOTIFIED, STATE = 3, ONE_CALL = 4 };

static atomic_uint word; /* EMPTY, WAITING or NOTIFIED, and ONE_CALL for each call */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* of the list of waiters */
static sem_t wakeup;                                      /* of the one waiter that there is */

static bool change(unsigned *seen, unsigned state)
{
	return atomic_compare_exchange_strong(&word, seen, (*seen & ~STATE) | state);
}

/* Nobody else leaves the state WAITING meanwhile: that needs the lock. */
static void wake_waiter(void)
{
	unsigned seen = word;

	change(&seen, EMPTY);
	sem_post(&wakeup);
}

static void notify_one(void)
{
	unsigned seen = word;

	while ((seen & STATE) != WAITING)
		if (change(&seen, NOTIFIED))
			return;
	pthread_mutex_lock(&mutex);
	seen = word;
	while ((seen & STATE) != WAITING && !change(&seen, NOTIFIED)) {
	}
	if ((seen & STATE) == WAITING)
		wake_waiter();
	pthread_mutex_unlock(&mutex);
}

static void *notify_waiters(void *unused)
{
	unsigned seen;

	pthread_mutex_lock(&mutex);
	seen = word;
	if ((seen & STATE) == WAITING) {
		wake_waiter();
		seen = word;
	}
#ifdef FIXED
	atomic_fetch_add(&word, ONE_CALL);
#else
	word = seen + ONE_CALL;
#endif
	pthread_mutex_unlock(&mutex);
	return unused;
}

static void *wait_for_notify(void *unused)
{
	unsigned seen;
	bool has_permit;

	pthread_mutex_lock(&mutex);
	seen = word;
	do {
		has_permit = (seen & STATE) == NOTIFIED;
	} while (!change(&seen, has_permit ? EMPTY : WAITING));
	pthread_mutex_unlock(&mutex);
	if (!has_permit)
		sem_wait(&wakeup);
	return unused;
}

int main(void)
{
	pthread_t other, waiter;

	sem_init(&wakeup, 0, 0);
	pthread_create(&other, NULL, notify_waiters, NULL);
	pthread_create(&waiter, NULL, wait_for_notify, NULL);
	notify_one();
	pthread_join(other, NULL);
	pthread_join(waiter, NULL);
	return 0;
}
