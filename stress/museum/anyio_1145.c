/* SPDX-License-Identifier: Apache-2.0
 * anyio_1145.c - the lock is free, and it waits behind somebody who has given up.
 *
 * System     AnyIO (Lock, on asyncio)
 * Issue      https://github.com/agronholm/anyio/pull/1145
 * Year       2026
 * Seen       A task waits for a lock that nobody holds, after another one was cancelled.
 * Mechanism  A waiter that is cancelled stays in the queue until it runs and removes itself. A
 *            release before that passes it over, finds nobody else, and leaves the lock free. Who
 *            wants the lock then finds the queue not empty, so it waits in it. The one that was
 *            cancelled removes itself, and nobody wakes the other.
 * Claim      Who waits for a lock that is free gets it.
 * Shows      asleep asleep asleep */
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stddef.h>

enum { TASKS = 2 };

static pthread_mutex_t loop = PTHREAD_MUTEX_INITIALIZER; /* one task runs at a time */
static bool is_locked = true;                            /* by main */
static struct task {
	bool is_queued, is_cancelled, is_owner;
	sem_t resumed;
} tasks[TASKS];

/* The lock is the first one's who waits for it, and else free. */
static void release(void)
{
	for (int i = 0; i < TASKS; i++) {
		struct task *task = &tasks[i];

		if (!task->is_queued)
			continue;
#ifdef FIXED
		task->is_queued = false; /* also the one that was cancelled */
#endif
		if (task->is_cancelled)
			continue;
		task->is_queued = false;
		task->is_owner = true;
		sem_post(&task->resumed);
		return;
	}
	is_locked = false;
}

static bool is_queue_empty(void)
{
	for (int i = 0; i < TASKS; i++)
		if (tasks[i].is_queued)
			return false;
	return true;
}

static void acquire(struct task *me)
{
	if (!is_locked && is_queue_empty()) {
		is_locked = true;
		return;
	}
	me->is_queued = true;
	pthread_mutex_unlock(&loop);
	sem_wait(&me->resumed);
	pthread_mutex_lock(&loop);
}

/* It waits in the queue, is cancelled, and runs for the last time when the loop comes to it. */
static void *give_up(void *of)
{
	struct task *me = of;

	pthread_mutex_lock(&loop);
	me->is_cancelled = true;
	pthread_mutex_unlock(&loop);
	pthread_mutex_lock(&loop);
	me->is_queued = false;
	if (me->is_owner) /* since before it was cancelled */
		release();
	pthread_mutex_unlock(&loop);
	return NULL;
}

int main(void)
{
	pthread_t other;

	for (int i = 0; i < TASKS; i++)
		sem_init(&tasks[i].resumed, 0, 0);
	tasks[0].is_queued = true;
	pthread_create(&other, NULL, give_up, &tasks[0]);
	pthread_mutex_lock(&loop);
	release();
	pthread_mutex_unlock(&loop);
	pthread_mutex_lock(&loop);
	acquire(&tasks[1]);
	release();
	pthread_mutex_unlock(&loop);
	pthread_join(other, NULL);
	return 0;
}
