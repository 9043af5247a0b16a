/* SPDX-License-Identifier: Apache-2.0
 * embassy_6964.c - the head of the line gives up, and nobody tells the next one.
 *
 * System     embassy-sync (FairSemaphore)
 * Issue      https://github.com/embassy-rs/embassy/pull/6964
 * Year       2026
 * Seen       A task waits for a permit, although there are enough and nobody is before it.
 * Mechanism  The semaphore is fair: a waiter that wants more permits than there are holds back those
 *            behind it. If it is cancelled, its place is emptied, and the waiter behind it, which
 *            would have enough, is not woken.
 * Claim      Who is first in line and can be served is woken.
 * Shows      asleep asleep asleep */
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>

enum { WAITERS = 2, LARGE = 2, SMALL = 1 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int permits = 1;
static struct waiter {
	int wants;
	bool waits;
	sem_t wakeup;
} line[WAITERS]; /* the first one first */

static void wake_head(void)
{
	for (int i = 0; i < WAITERS; i++)
		if (line[i].waits) {
			if (line[i].wants <= permits)
				sem_post(&line[i].wakeup);
			return;
		}
}

static void cancel(struct waiter *waiter)
{
	pthread_mutex_lock(&mutex);
	waiter->waits = false;
#ifdef FIXED
	wake_head();
#endif
	pthread_mutex_unlock(&mutex);
}

static void *want_two(void *unused)
{
	cancel(&line[0]); /* it was in line first, and gives up */
	return unused;
}

static void *want_one(void *unused)
{
	bool is_held_back;

	pthread_mutex_lock(&mutex);
	line[1].waits = true;
	is_held_back = line[0].waits;
	pthread_mutex_unlock(&mutex);
	if (is_held_back)
		sem_wait(&line[1].wakeup);
	return unused;
}

int main(void)
{
	pthread_t threads[WAITERS];

	for (int i = 0; i < WAITERS; i++)
		sem_init(&line[i].wakeup, 0, 0);
	line[0].wants = LARGE;
	line[0].waits = true;
	line[1].wants = SMALL;
	pthread_create(&threads[0], NULL, want_two, NULL);
	pthread_create(&threads[1], NULL, want_one, NULL);
	for (int i = 0; i < WAITERS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
