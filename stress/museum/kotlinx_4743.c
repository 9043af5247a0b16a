/* SPDX-License-Identifier: Apache-2.0
 * kotlinx_4743.c - a worker retires with a task in its pocket.
 *
 * System     kotlinx.coroutines (CoroutineScheduler)
 * Issue      https://github.com/Kotlin/kotlinx.coroutines/issues/4743
 * Year       2026
 * Seen       A coroutine that was submitted never runs.
 * Mechanism  A worker without a CPU permit has a CPU task in its own queue, which it may not run.
 *            It parks, and retires when the keep-alive time is over. Those with a permit were busy
 *            and did not steal the task; after that they do not see the worker any more.
 * Claim      A task that was submitted is run.
 * Shows      asleep asleep asleep */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

static atomic_bool is_registered = true;         /* the worker without a permit */
static atomic_int local_tasks = 1, global_tasks; /* its own ones, and those of all */
static pthread_mutex_t workers = PTHREAD_MUTEX_INITIALIZER;
static sem_t unpark_first, unpark_second, task_done;

static bool take(atomic_int *tasks)
{
	int count = *tasks;

	while (count && !atomic_compare_exchange_weak(tasks, &count, count - 1)) {
	}
	return count > 0;
}

static void retire(void)
{
	pthread_mutex_lock(&workers);
	is_registered = false;
	pthread_mutex_unlock(&workers);
#ifdef FIXED
	while (take(&local_tasks)) {
		global_tasks++;
		sem_post(&unpark_first);
	}
#endif
}

static void *work_without_permit(void *unused)
{
	struct timespec end;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += 60;
	if (sem_timedwait(&unpark_second, &end))
		retire();
	return unused;
}

/* The second worker's queue can be seen as long as it is one of the workers. */
static bool steal(void)
{
	bool has_task;

	pthread_mutex_lock(&workers);
	has_task = is_registered && take(&local_tasks);
	pthread_mutex_unlock(&workers);
	return has_task;
}

static void *work_with_permit(void *unused)
{
	while (!take(&global_tasks) && !steal()) /* it was busy until now */
		sem_wait(&unpark_first);
	sem_post(&task_done);
	return unused;
}

int main(void)
{
	pthread_t first, second;

	sem_init(&unpark_first, 0, 0);
	sem_init(&unpark_second, 0, 0);
	sem_init(&task_done, 0, 0);
	pthread_create(&first, NULL, work_with_permit, NULL);
	pthread_create(&second, NULL, work_without_permit, NULL);
	sem_wait(&task_done);
	sem_post(&unpark_second);
	pthread_join(first, NULL);
	pthread_join(second, NULL);
	return 0;
}
