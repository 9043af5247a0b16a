/* SPDX-License-Identifier: Apache-2.0
 * kotlinx_3660.c - the permit comes back when nobody looks any more.
 *
 * System     kotlinx.coroutines (CoroutineScheduler)
 * Issue      https://github.com/Kotlin/kotlinx.coroutines/issues/3660
 * Year       2023
 * Seen       A CPU task stays in the queue, although a CPU permit is free and workers are parked.
 * Mechanism  A worker takes the last permit and then takes the blocking task. Another worker gets no
 *            permit, so it looks for blocking tasks alone, finds none and parks. The first one gives
 *            the permit back, to run its blocking task, and tells nobody.
 * Claim      A CPU task is run if there is a permit and a worker.
 * Shows      asleep asleep asleep */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

enum { WORKERS = 2 };

static atomic_int permits = 1, blocking_tasks = 1, cpu_tasks = 1, parked;
static sem_t unparks, cpu_task_done;

static int take(atomic_int *of)
{
	int count = *of;

	while (count && !atomic_compare_exchange_strong(of, &count, count - 1)) {
	}
	return count > 0;
}

static void give_permit_back(void)
{
	permits++;
#ifdef FIXED
	if (cpu_tasks && take(&parked))
		sem_post(&unparks);
#endif
}

static void run_cpu_task(void)
{
	sem_post(&cpu_task_done);
}

/* One worker's turn. Returns whether it found a task. */
static int find_task(void)
{
	int has_permit = take(&permits);

	if (take(&blocking_tasks)) {
		if (has_permit)
			give_permit_back();
		sem_wait(&cpu_task_done); /* it blocks until the CPU task has run */
		sem_post(&cpu_task_done);
		return 1;
	}
	if (has_permit && take(&cpu_tasks)) {
		run_cpu_task();
		permits++;
		return 1;
	}
	permits += has_permit;
	return 0;
}

static void *work(void *unused)
{
	while (!find_task()) {
		parked++;
		if (find_task()) { /* looks again after it has said that it parks */
			take(&parked);
			break;
		}
		sem_wait(&unparks);
	}
	return unused;
}

int main(void)
{
	pthread_t workers[WORKERS];

	sem_init(&unparks, 0, 0);
	sem_init(&cpu_task_done, 0, 0);
	for (int i = 0; i < WORKERS; i++)
		pthread_create(&workers[i], NULL, work, NULL);
	sem_wait(&cpu_task_done); /* both tasks have been submitted, and nothing else will be */
	sem_post(&cpu_task_done);
	return 0;
}
