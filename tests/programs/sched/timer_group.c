/* SPDX-License-Identifier: Apache-2.0
 * timer_group.c - timers of carriers that sleep: other threads arm and cancel them. Prints how late
 * the latest was, then the fates of all in a storm, then what a close leaves. */
#include <pthread.h>
#include <stdio.h>

#include "base/error.h"
#include "sched/worker.h"

enum {
	ROUNDS = 20,
	THREADS = 4,
	EACH = 64,
	TURNS = 200,
	MS = 1000000,
	HOUR_MS = 3600000,
	CROWD = 10 * WP_HOME_FIRED
};

typedef struct sleeper {
	wp_task task;
	wp_timer timer;
	int64_t woken_ns;
	wp_atomic(uint32_t) turns, woken;
} sleeper;

static wp_group *group;
static wp_atomic(uint64_t) fired, early;

static wp_task *resume(wp_timer *timer)
{
	sleeper *one = (sleeper *)(void *)((char *)timer - offsetof(sleeper, timer));

	return wp__task_notify(&one->task) ? &one->task : NULL;
}

/* Parks, and its timer resumes it. */
static enum wp_step sleep_once(wp_task *task)
{
	sleeper *one = (sleeper *)(void *)task;

	if (wp_fetch_add_relaxed(&one->turns, 1) == 0)
		return WP_STEP_PARK;
	one->woken_ns = wp_clock_ns();
	wp_store_release(&one->woken, 1);
	wp_futex_wake(&one->woken, 1);
	return WP_STEP_DONE;
}

static void arm(sleeper *one, int64_t deadline_ns)
{
	wp_carrier_tasks_arm(one->task.home, NULL, &one->timer, deadline_ns);
}

static void start(sleeper *one, uint32_t carrier)
{
	wp_task_init(&one->task, sleep_once, "sleeper");
	wp_timer_init(&one->timer, resume);
	wp_init(&one->turns, 0);
	wp_init(&one->woken, 0);
	wp_group_start(group, carrier, &one->task);
	while (wp_load_acquire(&one->task.word) != WP_TASK_PARKED)
		wp_yield();
}

/* The carrier sleeps towards a far deadline, or none; then a near one comes. */
static void shorten(void)
{
	static sleeper far, near[ROUNDS];
	int64_t latest_ns = 0;
	int too_early = 0;

	start(&far, 0);
	for (int round = 0; round < ROUNDS; round++) {
		int64_t deadline_ns;

		start(&near[round], 0);
		if (round == ROUNDS / 2)
			arm(&far, wp_deadline_in((int64_t)HOUR_MS * MS));
		deadline_ns = wp_deadline_in(2 * MS);
		arm(&near[round], deadline_ns);
		while (wp_load_acquire(&near[round].woken) == 0)
			wp_futex_wait(&near[round].woken, 0, WP_FOREVER);
		too_early += near[round].woken_ns < deadline_ns;
		if (near[round].woken_ns - deadline_ns > latest_ns)
			latest_ns = near[round].woken_ns - deadline_ns;
	}
	printf("resumed %d, early %d, late by less than a second %d, far cancelled %d\n", ROUNDS,
	       too_early, latest_ns < 1000 * MS, wp_timer_cancel(&far.timer));
	wp_task_unpark(&far.task);
}

/* One deadline for many: more than are fired at once. */
static void crowd(void)
{
	static sleeper all[CROWD];
	int64_t deadline_ns = wp_deadline_in(2 * MS);

	for (int index = 0; index < CROWD; index++) {
		start(&all[index], 1);
		arm(&all[index], deadline_ns);
	}
	for (int index = 0; index < CROWD; index++)
		while (wp_load_acquire(&all[index].woken) == 0)
			wp_futex_wait(&all[index].woken, 0, WP_FOREVER);
	printf("resumed %d at once\n", CROWD);
}

static wp_task *count(wp_timer *timer)
{
	if (wp_clock_ns() < timer->deadline_ns)
		wp_fetch_add_relaxed(&early, 1);
	wp_fetch_add_relaxed(&fired, 1);
	return NULL;
}

static wp_carrier_tasks *home_of(uint32_t carrier)
{
	return &group->workers[carrier].home;
}

/* Arms and cancels its timers, near ones and a far one, on both carriers, and waits until one has
 * fired. Counts those that it cancelled. */
static void *storm(void *arg)
{
	uint64_t random = (uintptr_t)arg, *cancelled = arg;
	wp_timer timers[EACH];
	uint64_t count_cancelled = 0;

	for (int index = 0; index < EACH; index++)
		wp_timer_init(&timers[index], count);
	for (int turn = 0; turn < TURNS; turn++) {
		for (int index = 0; index < EACH; index++) {
			random = random * UINT64_C(6364136223846793005) + 1;
			wp_carrier_tasks_arm(
				home_of((uint32_t)(random >> 63)), NULL, &timers[index],
				wp_deadline_in(index == 0 ? (int64_t)HOUR_MS * MS
							  : (int64_t)(random >> 40 & 0x3ffff)));
		}
		while (turn == 0 && wp_load_acquire(&timers[1].armed) != NULL)
			wp_yield();
		for (int index = 0; index < EACH; index++)
			count_cancelled += wp_timer_cancel(&timers[index]);
	}
	*cancelled = count_cancelled; /* the memory of the timers is gone when this returns */
	return NULL;
}

static void storms(void)
{
	pthread_t threads[THREADS];
	uint64_t cancelled[THREADS], all = 0;

	for (int index = 0; index < THREADS; index++)
		pthread_create(&threads[index], NULL, storm, &cancelled[index]);
	for (int index = 0; index < THREADS; index++) {
		pthread_join(threads[index], NULL);
		all += cancelled[index];
	}
	printf("armed %d, fired or cancelled %d, early %d, some fired %d, some cancelled %d\n",
	       THREADS * EACH * TURNS, (int)(all + wp_load_relaxed(&fired)),
	       (int)wp_load_relaxed(&early), wp_load_relaxed(&fired) > 0, all > 0);
}

static void told(void *arg, wp_task *task, bool was_parked)
{
	*(int *)arg += was_parked;
}

/* The group is closed with an armed timer. Its owner may cancel it, and owns its memory. Prints
 * whether it is still armed. */
static bool leave(void)
{
	static sleeper one;
	bool is_armed;
	int back = 0;

	start(&one, 1);
	arm(&one, wp_deadline_in((int64_t)HOUR_MS * MS));
	while (wp_group_close(group, 0, true, told, &back) != WP_OK)
		continue;
	is_armed = wp_timer_cancel(&one.timer);
	printf("handed back %d, armed %d\n", back, is_armed);
	wp_group_free(group);
	printf("armed after the end %d\n", wp_timer_cancel(&one.timer));
	return is_armed;
}

int main(void)
{
	wp_group_config config = {.carriers = 2, .yield_us = 50};

	if (wp_group_new(&group, &config) != WP_OK)
		return 1;
	shorten();
	crowd();
	storms();
	return leave();
}
