/* SPDX-License-Identifier: Apache-2.0
 * serenity_8507.c - it waits in a queue that nobody can find any more.
 *
 * System     SerenityOS (kernel, futex)
 * Issue      https://github.com/SerenityOS/serenity/pull/8507
 * Year       2021
 * Seen       A thread waits for a futex for ever; tests of threads hang now and then.
 * Mechanism  A waiter looks its queue up in the map of futexes, and then joins it. A waker that
 *            finds the queue empty in between takes it out of the map. The waiter waits in a queue
 *            that later wakers do not find. The fix counts waits that are imminent.
 * Claim      Who waits on a word is woken by a wake on it.
 * Shows      asleep asleep asleep */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

enum { QUEUES = 2 };

static pthread_mutex_t map = PTHREAD_MUTEX_INITIALIZER;
static struct queue {
	pthread_mutex_t mutex;
	int imminent; /* under the map's lock */
	bool has_waiter;
	sem_t wakeup;
} queues[QUEUES], *found = &queues[0]; /* what the map has for the word */
static atomic_int word;

static struct queue *find_or_create(void)
{
	struct queue *queue;

	pthread_mutex_lock(&map);
	if (!found)
		found = &queues[1];
	queue = found;
#ifdef FIXED
	queue->imminent++;
#endif
	pthread_mutex_unlock(&map);
	return queue;
}

static void *wait_on_word(void *unused)
{
	struct queue *queue = find_or_create();
	bool waits;

	pthread_mutex_lock(&queue->mutex);
	waits = word == 0;
	queue->has_waiter = waits;
	pthread_mutex_unlock(&queue->mutex);
#ifdef FIXED
	pthread_mutex_lock(&map);
	queue->imminent--;
	pthread_mutex_unlock(&map);
#endif
	if (waits)
		sem_wait(&queue->wakeup);
	return unused;
}

static void wake(void)
{
	struct queue *queue;

	pthread_mutex_lock(&map);
	queue = found;
	if (queue) {
		pthread_mutex_lock(&queue->mutex);
		if (queue->has_waiter) {
			queue->has_waiter = false;
			sem_post(&queue->wakeup);
		}
		if (!queue->imminent)
			found = NULL; /* as it is empty */
		pthread_mutex_unlock(&queue->mutex);
	}
	pthread_mutex_unlock(&map);
}

int main(void)
{
	pthread_t waiter;

	for (int i = 0; i < QUEUES; i++) {
		pthread_mutex_init(&queues[i].mutex, NULL);
		sem_init(&queues[i].wakeup, 0, 0);
	}
	pthread_create(&waiter, NULL, wait_on_word, NULL);
	wake(); /* for something that was before */
	word = 1;
	wake();
	pthread_join(waiter, NULL);
	return 0;
}
