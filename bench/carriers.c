/* SPDX-License-Identifier: Apache-2.0
 * carriers.c - the groups of carriers.h. */
#define _GNU_SOURCE
#include "carriers.h"

#include <time.h>

#include "base/error.h"
#include "base/futex.h"

wp_atomic(uint32_t) carriers_ended;

static void bind(void *arg, uint32_t index)
{
	(void)arg;
	bench_pin((int)index); /* otherwise they would share the CPU of the thread that made them */
}

wp_group *carriers_of_one(void)
{
	static wp_group *made;
	wp_group_config config = {.carriers = 1, .yield_us = 50};

	if (made == NULL && wp_group_new(&made, &config) != WP_OK)
		bench_fail("no memory, or no threads");
	return made;
}

static wp_group *of_two(wp_group **made, wp_group_config config)
{
	config.carriers = 2;
	config.yield_us = 50;
	config.bind = bind;
	if (*made == NULL && wp_group_new(made, &config) != WP_OK)
		bench_fail("no memory, or no threads");
	return *made;
}

wp_group *carriers_of_two(bool stealing)
{
	static wp_group *made[2];

	return of_two(&made[stealing], (wp_group_config){.work_stealing = stealing});
}

wp_group *carriers_placed(enum wp_placement_policy policy, bool at_dequeue, bool stealing)
{
	static wp_group *made[WP_PLACE_POLICIES][2][2];
	wp_group_config config = {
		.placement = policy, .load_at_dequeue = at_dequeue, .work_stealing = stealing};

	return of_two(&made[policy][at_dequeue][stealing], config);
}

void carriers_count(wp_atomic(uint32_t) *count)
{
	wp_fetch_add_release(count, 1);
	wp_futex_wake(count, 1);
}

void carriers_count_end(wp_task *task)
{
	(void)task;
	carriers_count(&carriers_ended);
}

void carriers_await(wp_atomic(uint32_t) *count, uint32_t many)
{
	uint32_t seen;

	while ((seen = wp_load_acquire(count)) < many)
		wp_futex_wait(count, seen, WP_FOREVER);
}

void carriers_start(wp_group *group, uint32_t index, wp_task *task)
{
	if (wp_group_start(group, index, task) != WP_OK)
		bench_fail("a start was refused");
}

double carriers_process_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static wp_atomic(uint32_t) asked;
static wp_atomic(long) preemptions;

static enum wp_step ask(wp_task *task)
{
	(void)task;
	wp_fetch_add_relaxed(&preemptions, bench_preemptions());
	carriers_count(&asked);
	return WP_STEP_DONE;
}

long carriers_preemptions(wp_group *group)
{
	static wp_task tasks[2];

	wp_init(&asked, 0);
	wp_init(&preemptions, 0);
	for (uint32_t index = 0; index < 2; index++) {
		wp_task_init(&tasks[index], ask, NULL);
		tasks[index].is_pinned = true;
		carriers_start(group, index, &tasks[index]);
	}
	carriers_await(&asked, 2);
	while (!wp_task_is_done(&tasks[0]) || !wp_task_is_done(&tasks[1]))
		wp_yield();
	return wp_load_relaxed(&preemptions);
}
