/* SPDX-License-Identifier: Apache-2.0
 * godot_96225.c - after a task it clears a flag that was set during the task.
 *
 * System     Godot 4.3 (WorkerThreadPool)
 * Issue      https://github.com/godotengine/godot/pull/96225
 * Year       2024
 * Seen       The editor hangs while it loads resources by several threads.
 * Mechanism  A thread of the pool yields: it waits for tasks, until another thread tells it that
 *            the yield is over, by a flag. When it has run a task it clears the flag, whether it
 *            has seen it or not. A flag that was set while the task ran is lost.
 * Claim      A thread whose yield is over goes on.
 * Shows      asleep asleep asleep */
#include <pthread.h>
#include <stdbool.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool has_task, is_over; /* under the mutex */

static void run_task(void)
{
	has_task = false;
	pthread_mutex_unlock(&mutex);
	/* The task runs. */
	pthread_mutex_lock(&mutex);
}

static void *yield(void *unused)
{
	pthread_mutex_lock(&mutex);
	for (;;) {
		if (has_task) {
			run_task();
#ifndef FIXED
			is_over = false;
#endif
		} else if (is_over) {
			is_over = false;
			break;
		} else {
			pthread_cond_wait(&changed, &mutex);
		}
	}
	pthread_mutex_unlock(&mutex);
	return unused;
}

static void set(bool *flag)
{
	pthread_mutex_lock(&mutex);
	*flag = true;
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&mutex);
}

int main(void)
{
	pthread_t worker;

	pthread_create(&worker, NULL, yield, NULL);
	set(&has_task);
	set(&is_over);
	pthread_join(worker, NULL);
	return 0;
}
