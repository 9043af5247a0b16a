/* SPDX-License-Identifier: Apache-2.0
 * elasticsearch_124732.c - the pool is full, so the task is queued, and the only worker goes.
 *
 * System     Elasticsearch 8 (EsThreadPoolExecutor of at most one thread, and at least none)
 * Issue      https://github.com/elastic/elasticsearch/pull/124732
 * Year       2025
 * Seen       An update of the master is queued, and no thread is there to run it.
 * Mechanism  A new task is offered to a worker that waits; if there is none, a worker is added; if
 *            the pool is full, the task is put into the queue by force. The worker for which it was
 *            full may have waited too long meanwhile: it finds the queue empty, and ends. The task
 *            comes after that.
 * Claim      A task that is in the queue is run.
 * Shows      asleep asleep asleep */
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

enum { WORKERS = 1 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t task_came = PTHREAD_COND_INITIALIZER;
static int tasks, workers, idle;
static sem_t done;

static void run_tasks(void)
{
	for (; tasks; tasks--)
		sem_post(&done);
}

static void *work(void *first_task)
{
	struct timespec keep_alive;

	clock_gettime(CLOCK_REALTIME, &keep_alive);
	keep_alive.tv_sec++;
	if (first_task)
		sem_post(first_task);
	pthread_mutex_lock(&mutex);
	run_tasks();
	idle++;
	if (!tasks)
		pthread_cond_timedwait(&task_came, &mutex, &keep_alive);
	idle--;
	run_tasks();
	workers--;
	pthread_mutex_unlock(&mutex);
	return NULL;
}

/* Returns whether there was room for one. */
static bool add_worker(sem_t *first_task)
{
	pthread_t thread;
	bool has_room;

	pthread_mutex_lock(&mutex);
	has_room = workers < WORKERS;
	workers += has_room;
	pthread_mutex_unlock(&mutex);
	if (has_room)
		pthread_create(&thread, NULL, work, first_task);
	return has_room;
}

static void put(void)
{
	pthread_mutex_lock(&mutex);
	tasks++;
	pthread_cond_signal(&task_came);
	pthread_mutex_unlock(&mutex);
}

static bool offer(void)
{
	bool is_taken;

	pthread_mutex_lock(&mutex);
	is_taken = idle > tasks;
	if (is_taken) {
		tasks++;
		pthread_cond_signal(&task_came);
	}
	pthread_mutex_unlock(&mutex);
	return is_taken;
}

static void execute(void)
{
	if (offer() || add_worker(&done))
		return;
	put();
#ifdef FIXED
	add_worker(NULL); /* if there is none any more */
#endif
}

int main(void)
{
	sem_init(&done, 0, 0);
	execute();
	execute();
	sem_wait(&done);
	sem_wait(&done);
	return 0;
}
