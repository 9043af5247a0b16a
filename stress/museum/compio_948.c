/* SPDX-License-Identifier: Apache-2.0
 * compio_948.c - a bit of another waker, which is not gone yet, ends this wake.
 *
 * System     compio-executor 0.1.1
 * Issue      https://github.com/compio-rs/compio/issues/948
 * Year       2026
 * Seen       A task that is only woken by other threads never runs again; the process is idle.
 * Mechanism  A waker sets SCHEDULED and SCHEDULING, puts the task into the queue, and clears
 *            SCHEDULING. The executor may take the task, clear SCHEDULED and run it in between. A
 *            second waker then finds SCHEDULING, and returns; but it has set SCHEDULED, so every
 *            later waker returns as well.
 * Claim      A wake after the task has looked makes it run again.
 * Shows      asleep asleep asleep */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

enum { SCHEDULED = 1, SCHEDULING = 2, EVENTS = 2 };

#ifdef FIXED
enum { IS_KNOWN = SCHEDULED };
#else
enum { IS_KNOWN = SCHEDULED | SCHEDULING };
#endif

static atomic_uint state, events;
static sem_t queue; /* it holds the task so many times */

static void wake(void)
{
	unsigned before = atomic_fetch_or(&state, SCHEDULED | SCHEDULING);

	if (!(before & IS_KNOWN))
		sem_post(&queue);
	atomic_fetch_and(&state, ~(unsigned)SCHEDULING);
}

static void *produce(void *unused)
{
	events++;
	wake();
	return unused;
}

static void execute(void)
{
	unsigned seen = 0;

	while (seen < EVENTS) {
		sem_wait(&queue);
		atomic_fetch_and(&state, ~(unsigned)SCHEDULED);
		seen = events; /* the task looks, and parks */
	}
}

int main(void)
{
	pthread_t producers[EVENTS];

	sem_init(&queue, 0, 0);
	for (int i = 0; i < EVENTS; i++)
		pthread_create(&producers[i], NULL, produce, NULL);
	execute();
	for (int i = 0; i < EVENTS; i++)
		pthread_join(producers[i], NULL);
	return 0;
}
