/* SPDX-License-Identifier: Apache-2.0
 * mono_275.c - it counts itself among those who wait after its last look.
 *
 * System     Mono (thread pool with work-stealing queues)
 * Issue      https://github.com/mono/mono/pull/275
 * Year       2012
 * Seen       Deadlocks: a job is in a queue, and all threads of the pool wait.
 * Mechanism  A thread finds all queues empty, adds itself to the number of those who wait, and
 *            waits. A thread that puts a job into its own queue in between sees that nobody waits,
 *            and posts nothing. If that thread then blocks until the job is done, nobody does it.
 * Claim      A job in a queue is done.
 * Shows      asleep asleep asleep */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>

static atomic_int queue, waiting;
static sem_t new_job, job_done;

static bool dequeue_or_steal(void)
{
	int one = 1;

	return atomic_compare_exchange_strong(&queue, &one, 0);
}

static void *work(void *unused)
{
	while (!dequeue_or_steal()) {
		waiting++;
#ifdef FIXED
		if (!queue)
#endif
			sem_wait(&new_job);
		waiting--;
	}
	sem_post(&job_done);
	return unused;
}

static void push(void)
{
	queue = 1;
	if (waiting)
		sem_post(&new_job);
}

int main(void)
{
	pthread_t thread;

	sem_init(&new_job, 0, 0);
	sem_init(&job_done, 0, 0);
	pthread_create(&thread, NULL, work, NULL);
	push();
	sem_wait(&job_done);
	pthread_join(thread, NULL);
	return 0;
}
