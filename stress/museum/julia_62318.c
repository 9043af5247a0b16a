/* SPDX-License-Identifier: Apache-2.0
 * julia_62318.c - whoever is awake may not run it, and does not wake who may.
 *
 * System     Julia 1.12 (partr.c, the shared task queue)
 * Issue      https://github.com/JuliaLang/julia/pull/62318
 * Year       2026
 * Seen       A task stalls until something else wakes its thread.
 * Mechanism  A task that is pinned to a thread lies in the queue that all threads share. The thread
 *            that is woken for it finds that it is another thread's, looks for other work, and goes
 *            to sleep. The thread to which it is pinned is asleep all the time.
 * Claim      A task in the queue is run.
 * Shows      asleep asleep asleep */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>

enum { THREADS = 2, NO_TASK = -1 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int pinned_to = NO_TASK; /* of the one task in the queue */
static bool is_over;
static bool sleeps[THREADS];
static sem_t wakes[THREADS];

static void wake(int thread) /* under the mutex */
{
	if (!sleeps[thread])
		return;
	sleeps[thread] = false;
	sem_post(&wakes[thread]);
}

/* Returns whether the thread has run the task. */
static bool run_task(int me)
{
	bool is_mine = pinned_to == me;

	if (is_mine) {
		pinned_to = NO_TASK;
		is_over = true;
		for (int i = 0; i < THREADS; i++)
			wake(i);
	}
#ifdef FIXED
	else if (pinned_to != NO_TASK)
		wake(pinned_to);
#endif
	return is_mine;
}

static void *schedule(void *number)
{
	int me = (int)(long)number;

	for (;;) {
		bool is_done;

		pthread_mutex_lock(&mutex);
		is_done = run_task(me) || is_over;
		sleeps[me] = !is_done;
		pthread_mutex_unlock(&mutex);
		if (is_done)
			return NULL;
		sem_wait(&wakes[me]);
	}
}

static void enqueue(int pinned)
{
	pthread_mutex_lock(&mutex);
	pinned_to = pinned;
	for (int i = 0; i < THREADS; i++) /* any thread that sleeps */
		if (sleeps[i]) {
			wake(i);
			break;
		}
	pthread_mutex_unlock(&mutex);
}

int main(void)
{
	pthread_t threads[THREADS];

	for (long i = 0; i < THREADS; i++) {
		sem_init(&wakes[i], 0, 0);
		pthread_create(&threads[i], NULL, schedule, (void *)i);
	}
	enqueue(1);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
