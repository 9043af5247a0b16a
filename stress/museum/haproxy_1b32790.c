/* SPDX-License-Identifier: Apache-2.0
 * haproxy_1b32790.c - it is said to have something to do already, because of what another one does.
 *
 * System     HAProxy 1.9 and 2.0-dev (scheduler of tasks)
 * Issue      https://git01.mediatek.com/plugins/gitiles/haproxy/+/1b32790324ebf4b83fafe2d01ca440c1a93198ba%5E%21/src/task.c
 * Year       2019
 * Seen       Connections wait until the poll of their thread is over, while health checks run.
 * Mechanism  A thread is woken if it sleeps and was not marked as active yet. A task that may run
 *            on any thread marks all of them as active, and wakes one. A task for one thread alone
 *            finds that thread marked, and does not wake it. The fix takes a thread off the mask of
 *            those that sleep when it wakes it, and looks at nothing else.
 * Claim      A task that is for one thread is run by it.
 * Shows      asleep asleep asleep */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>

enum { THREADS = 2, FIRST = 1 << 0, SECOND = 1 << 1 };

static pthread_mutex_t run_queue = PTHREAD_MUTEX_INITIALIZER;
static int shared_tasks, second_tasks; /* under the lock */
static atomic_uint active, sleeping;
static sem_t wakeups[THREADS], second_task_done;

static void wake_one_of(unsigned mask, unsigned was_active)
{
	for (int i = 0; i < THREADS; i++) {
		unsigned bit = 1u << i;

		if (!(mask & sleeping & bit))
			continue;
#ifdef FIXED
		(void)was_active;
		if (!(atomic_fetch_and(&sleeping, ~bit) & bit))
			continue;
#else
		if (was_active & bit)
			continue;
#endif
		sem_post(&wakeups[i]);
		return;
	}
}

static void wake_task(int *queue, unsigned mask)
{
	unsigned was_active;

	pthread_mutex_lock(&run_queue);
	++*queue;
	was_active = atomic_fetch_or(&active, mask);
	pthread_mutex_unlock(&run_queue);
	wake_one_of(mask, was_active);
}

/* Runs what there is for the second thread. Returns whether its own task was there. */
static bool run_tasks(void)
{
	bool found;

	pthread_mutex_lock(&run_queue);
	atomic_fetch_and(&active, ~(unsigned)SECOND);
	shared_tasks = 0;
	found = second_tasks;
	pthread_mutex_unlock(&run_queue);
	return found;
}

static void *run_second(void *unused)
{
	while (!run_tasks()) {
		atomic_fetch_or(&sleeping, SECOND);
		if (!(active & SECOND))
			sem_wait(&wakeups[1]); /* the poll */
		atomic_fetch_and(&sleeping, ~(unsigned)SECOND);
	}
	sem_post(&second_task_done);
	return unused;
}

int main(void)
{
	pthread_t second;

	for (int i = 0; i < THREADS; i++)
		sem_init(&wakeups[i], 0, 0);
	sem_init(&second_task_done, 0, 0);
	sleeping = FIRST; /* it is in its poll */
	pthread_create(&second, NULL, run_second, NULL);
	wake_task(&shared_tasks, FIRST | SECOND);
	wake_task(&second_tasks, SECOND);
	sem_wait(&second_task_done);
	pthread_join(second, NULL);
	return 0;
}
