/* SPDX-License-Identifier: Apache-2.0
 * asterinas_1587.c - one that has gone is still in the queue, and gets the wake.
 *
 * System     Asterinas (futex)
 * Issue      https://github.com/asterinas/asterinas/issues/1587
 * Year       2024
 * Seen       A thread waits for a futex for ever; tests of the system hang.
 * Mechanism  A thread whose futex wait ends by the time, or by a signal, leaves its entry in the
 *            queue. A wake of one takes the first entry, which is that one, and counts it as woken.
 *            The thread behind it, which still waits, is not woken.
 * Claim      A wake of one wakes one that waits.
 * Shows      asleep asleep asleep */
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <time.h>

enum { WAITERS = 2 };

static pthread_mutex_t bucket = PTHREAD_MUTEX_INITIALIZER;
static int word, last; /* under the lock, like what follows */
static struct entry {
	int place; /* in the queue, from 1; 0 is outside */
	sem_t wakeup;
} entries[WAITERS];

static bool enqueue(struct entry *me)
{
	bool waits;

	pthread_mutex_lock(&bucket);
	waits = word == 0;
	if (waits)
		me->place = ++last;
	pthread_mutex_unlock(&bucket);
	return waits;
}

static void wake_one(void)
{
	struct entry *first = NULL;

	for (int i = 0; i < WAITERS; i++)
		if (entries[i].place && (!first || entries[i].place < first->place))
			first = &entries[i];
	if (first) {
		first->place = 0;
		sem_post(&first->wakeup);
	}
}

/* It waits as long as it likes. If it is woken it passes that on, as it does not need it. */
static void *wait_for_a_time(void *unused)
{
	struct entry *me = &entries[0];
	struct timespec soon;

	if (!enqueue(me))
		return unused;
	clock_gettime(CLOCK_REALTIME, &soon);
	soon.tv_sec++;
	if (sem_timedwait(&me->wakeup, &soon)) {
#ifdef FIXED
		bool was_in_queue;

		pthread_mutex_lock(&bucket);
		was_in_queue = me->place;
		me->place = 0;
		pthread_mutex_unlock(&bucket);
		if (was_in_queue)
			return unused;
#else
		return unused;
#endif
	}
	pthread_mutex_lock(&bucket);
	wake_one();
	pthread_mutex_unlock(&bucket);
	return unused;
}

static void *wait_for_ever(void *unused)
{
	struct entry *me = &entries[1];

	if (enqueue(me))
		sem_wait(&me->wakeup);
	return unused;
}

int main(void)
{
	pthread_t waiters[WAITERS];

	for (int i = 0; i < WAITERS; i++)
		sem_init(&entries[i].wakeup, 0, 0);
	pthread_create(&waiters[0], NULL, wait_for_a_time, NULL);
	pthread_create(&waiters[1], NULL, wait_for_ever, NULL);
	pthread_mutex_lock(&bucket);
	word = 1;
	wake_one();
	pthread_mutex_unlock(&bucket);
	for (int i = 0; i < WAITERS; i++)
		pthread_join(waiters[i], NULL);
	return 0;
}
