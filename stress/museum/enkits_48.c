/* SPDX-License-Identifier: Apache-2.0
 * enkits_48.c - one semaphore for all, and a task for one.
 *
 * System     enkiTS 1.2 (pinned tasks)
 * Issue      https://github.com/dougbinks/enkiTS/issues/48
 * Year       2019
 * Seen       A thread waits for a pinned task, and the thread to which it is pinned sleeps.
 * Mechanism  Who adds a pinned task reads how many threads wait, and posts their common semaphore so
 *            many times. A thread that falls asleep after that may take the post instead of the one
 *            to which the task is pinned; or nobody is counted, and nothing is posted.
 * Claim      A pinned task is run.
 * Shows      asleep asleep asleep */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>

enum { THREADS = 2, PINNED = 1 };

static atomic_int waiting;
static atomic_bool has_task;
static sem_t new_tasks[THREADS];

static sem_t *semaphore_of(int thread)
{
#ifdef FIXED
	return &new_tasks[thread];
#else
	(void)thread;
	return &new_tasks[0];
#endif
}

static bool run_task(int me)
{
	return me == PINNED && atomic_exchange(&has_task, false);
}

static void *work(void *number)
{
	int me = (int)(long)number;

	while (!run_task(me)) {
		waiting++;
		sem_wait(semaphore_of(me));
		waiting--;
		if (me != PINNED)
			break; /* it has looked in vain, and is needed no more here */
	}
	return NULL;
}

static void add_pinned_task(void)
{
	has_task = true;
#ifdef FIXED
	sem_post(semaphore_of(PINNED));
#else
	for (int count = waiting; count; count--)
		sem_post(semaphore_of(PINNED));
#endif
}

int main(void)
{
	pthread_t threads[THREADS];

	for (long i = 0; i < THREADS; i++) {
		sem_init(&new_tasks[i], 0, 0);
		pthread_create(&threads[i], NULL, work, (void *)i);
	}
	add_pinned_task();
	pthread_join(threads[PINNED], NULL); /* the other one may sleep */
	return 0;
}
