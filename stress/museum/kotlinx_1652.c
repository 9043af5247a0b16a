/* SPDX-License-Identifier: Apache-2.0
 * kotlinx_1652.c - the worker that is unparked has never been parked.
 *
 * System     kotlinx.coroutines 1.3 (CoroutineScheduler, before its rework was merged)
 * Issue      https://github.com/Kotlin/kotlinx.coroutines/pull/1652
 * Year       2019
 * Seen       A blocking task stays in the queue; the worker that could run it is parked.
 * Mechanism  Both workers put themselves onto the stack of parked ones and look once more. The one
 *            with the CPU permit finds a CPU task and runs it, while it still is on the stack. Who
 *            submits a blocking task pops that one, "unparks" it and is content; the other worker,
 *            which may take blocking tasks, stays parked.
 * Claim      A blocking task is run if a worker is parked.
 * Shows      asleep asleep asleep */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>

enum { CPU, BLOCKING, WORKERS };

static atomic_int cpu_tasks, blocking_tasks;
static sem_t unparks[WORKERS], blocking_task_done;

/* The stack of workers that are parked, or soon will be. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int stack[WORKERS], height;

static void push(int worker)
{
	pthread_mutex_lock(&mutex);
	stack[height++] = worker;
	pthread_mutex_unlock(&mutex);
}

static void unpark_one(void)
{
	int worker = -1;

	pthread_mutex_lock(&mutex);
	if (height)
		worker = stack[--height];
	pthread_mutex_unlock(&mutex);
	if (worker >= 0)
		sem_post(&unparks[worker]);
}

#ifdef FIXED
/* A worker that has found a task leaves the stack. If it was taken off, it was unparked for another
 * task, and passes that on. */
static void leave(int worker)
{
	bool is_there = false;

	pthread_mutex_lock(&mutex);
	for (int i = 0; i < height; i++)
		if (stack[i] == worker) {
			stack[i] = stack[--height];
			is_there = true;
		}
	pthread_mutex_unlock(&mutex);
	if (!is_there)
		unpark_one();
}
#endif

static bool take(atomic_int *tasks)
{
	int one = 1;

	return atomic_compare_exchange_strong(tasks, &one, 0);
}

static void *work_with_permit(void *unused)
{
	push(CPU);
	if (!take(&cpu_tasks))
		sem_wait(&unparks[CPU]);
#ifdef FIXED
	else
		leave(CPU);
#endif
	sem_wait(&blocking_task_done); /* the CPU task ends when the blocking one has */
	return unused;
}

static void *work_without_permit(void *unused)
{
	push(BLOCKING);
	if (!take(&blocking_tasks))
		sem_wait(&unparks[BLOCKING]);
	sem_post(&blocking_task_done);
	return unused;
}

int main(void)
{
	pthread_t workers[WORKERS];

	for (int i = 0; i < WORKERS; i++)
		sem_init(&unparks[i], 0, 0);
	sem_init(&blocking_task_done, 0, 0);
	cpu_tasks = 1; /* was submitted when nobody was on the stack */
	pthread_create(&workers[BLOCKING], NULL, work_without_permit, NULL);
	pthread_create(&workers[CPU], NULL, work_with_permit, NULL);
	blocking_tasks = 1;
	unpark_one();
	for (int i = 0; i < WORKERS; i++)
		pthread_join(workers[i], NULL);
	return 0;
}
