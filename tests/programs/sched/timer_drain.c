/* SPDX-License-Identifier: Apache-2.0
 * timer_drain.c - a carrier with a queue that is never empty, in drains of 100 ms: the number of
 * drains until the wanted number of timers have fired, each armed for now when the last one had. */
#include <stdio.h>

#include "base/error.h"
#include "sched/worker.h"

enum { TIMERS = 8 };

static wp_group *group;
static wp_timer timer;
static wp_task busy;
static int armed, fired; /* plain: used by the carrier only */
static wp_atomic(uint64_t) drains;

static wp_task *fire(wp_timer *due)
{
	fired++;
	return NULL;
}

static enum wp_step yield(wp_task *task)
{
	if (fired == TIMERS) {
		wp_store_relaxed(&drains, wp_group_counts(group, 0).drains);
		return WP_STEP_DONE;
	}
	if (armed == fired) {
		armed++;
		wp_carrier_tasks_arm(task->home, task->home, &timer, 0);
	}
	return WP_STEP_YIELD;
}

int main(void)
{
	wp_group_config config = {.carriers = 1, .yield_us = 100000};

	if (wp_group_new(&group, &config) != WP_OK)
		return 1;
	wp_timer_init(&timer, fire);
	wp_task_init(&busy, yield, "busy");
	wp_group_start(group, 0, &busy);
	while (wp_group_close(group, WP_FOREVER, false, NULL, NULL) != WP_OK)
		continue;
	printf("fired %d, each in a drain of its own %d\n", fired,
	       wp_load_relaxed(&drains) >= TIMERS - 1);
	wp_group_free(group);
	return 0;
}
