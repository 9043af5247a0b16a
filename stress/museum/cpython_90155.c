/* SPDX-License-Identifier: Apache-2.0
 * cpython_90155.c - somebody is said to be on its way, and has been cancelled.
 *
 * System     CPython 3.10 (asyncio.Semaphore)
 * Issue      https://github.com/python/cpython/pull/93222
 * Year       2022
 * Seen       All tasks wait for a semaphore whose value is not 0, after one has been cancelled.
 * Mechanism  A release wakes the first waiter, and marks that a wakeup is on its way, so that nobody
 *            overtakes it. The waiter clears the mark when it runs. If it is cancelled before that,
 *            it wakes the next waiter; but if there is none, the mark stays, and whoever comes later
 *            waits for a wakeup that nobody will make.
 * Claim      Who acquires a semaphore whose value is not 0 does not wait for ever.
 * Shows      asleep asleep asleep */
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stddef.h>

enum { TASKS = 2 };

static pthread_mutex_t loop = PTHREAD_MUTEX_INITIALIZER; /* one task runs at a time */
static int value;
#ifndef FIXED
static bool is_wakeup_scheduled;
#endif
static struct task {
	bool waits, is_woken, is_cancelled;
	sem_t resumed;
} tasks[TASKS];

static void wake_up_next(void)
{
	for (int i = 0; i < TASKS; i++)
		if (tasks[i].waits && !tasks[i].is_woken && !tasks[i].is_cancelled) {
			tasks[i].is_woken = true;
#ifdef FIXED
			value--; /* for it */
#else
			is_wakeup_scheduled = true;
#endif
			sem_post(&tasks[i].resumed);
			return;
		}
}

static void release(void)
{
	pthread_mutex_lock(&loop);
	value++;
	if (value > 0)
		wake_up_next();
	pthread_mutex_unlock(&loop);
}

static void cancel(struct task *task)
{
	pthread_mutex_lock(&loop);
	task->is_cancelled = true;
	if (task->waits && !task->is_woken)
		sem_post(&task->resumed);
	pthread_mutex_unlock(&loop);
}

static void wait_in_line(struct task *me)
{
	me->waits = true;
	pthread_mutex_unlock(&loop);
	sem_wait(&me->resumed);
	pthread_mutex_lock(&loop);
	me->waits = false;
}

/* Returns whether it was acquired, and not cancelled. */
static bool acquire(struct task *me)
{
#ifdef FIXED
	if (value > 0 && !me->is_cancelled) {
		value--;
		return true;
	}
	if (!me->is_cancelled)
		wait_in_line(me);
	if (me->is_cancelled && me->is_woken) {
		value++;
		wake_up_next();
	}
	return !me->is_cancelled;
#else
	while (is_wakeup_scheduled || value <= 0) {
		if (!me->is_cancelled)
			wait_in_line(me);
		if (me->is_cancelled) {
			wake_up_next();
			return false;
		}
		is_wakeup_scheduled = false;
		me->is_woken = false;
	}
	value--;
	return true;
#endif
}

static void *run_task(void *of)
{
	struct task *me = of;
	bool is_acquired;

	pthread_mutex_lock(&loop);
	is_acquired = acquire(me);
	pthread_mutex_unlock(&loop);
	if (is_acquired)
		release();
	return NULL;
}

int main(void)
{
	pthread_t first;

	for (int i = 0; i < TASKS; i++)
		sem_init(&tasks[i].resumed, 0, 0);
	pthread_create(&first, NULL, run_task, &tasks[0]);
	release();
	cancel(&tasks[0]);
	pthread_join(first, NULL);
	run_task(&tasks[1]); /* comes later */
	return 0;
}
