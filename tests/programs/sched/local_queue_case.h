/* SPDX-License-Identifier: Apache-2.0
 * local_queue_case.h - groups with bounded run queues, and tasks that count themselves. */
#include "../case.h"
#include "sched/group.h"
#include "sched/vthread_start.h"

enum { TASKS = 1000, FEW = 100 };

typedef struct item {
	wp_task task; /* must be first */
	wp_atomic(uint32_t) runs;
	uint32_t number;
} item;

static wp_group *group;
static item items[TASKS];
static wp_atomic(uint32_t) ran, lets_go, in_order, held;
static uint32_t to_start;

static void open_group(wp_group_config config)
{
	config.bounded = config.work_stealing = true;
	config.yield_us = 50;
	check(wp_group_new(&group, &config) == WP_OK, "a group");
	wp_store_relaxed(&ran, 0);
	wp_store_relaxed(&lets_go, 0);
	wp_store_relaxed(&in_order, 0);
	wp_store_relaxed(&held, 0);
}

static void await(wp_atomic(uint32_t) *place, uint32_t value, const char *what)
{
	AWAIT(wp_load_acquire(place) >= value, what);
}

/* All counts are 0, and each task has run `times` times. */
static void close_group(uint32_t times)
{
	wp_carrier_counts counts;

	check(wp_group_close(group, patience(), false, NULL, NULL) == WP_OK, "a close");
	for (uint32_t index = 0; index < wp_group_size(group); index++) {
		counts = wp_group_counts(group, index);
		check(counts.runnable == 0, "that nothing is queued in the end");
		check(counts.load == 0, "that no load is left");
	}
	for (uint32_t each = 0; each < to_start; each++)
		check(wp_load_relaxed(&items[each].runs) == times,
		      "that each runs as often as it should");
	wp_group_free(group);
}

static enum wp_step count_step(wp_task *task)
{
	item *mine = (item *)(void *)task;
	uint32_t before = wp_fetch_add_relaxed(&ran, 1);

	if (before == mine->number)
		wp_fetch_add_relaxed(&in_order, 1);
	wp_fetch_add_relaxed(&mine->runs, 1);
	return WP_STEP_DONE;
}

static void start_all(enum wp_step (*step)(wp_task *))
{
	for (uint32_t each = 0; each < to_start; each++) {
		items[each].number = each;
		wp_init(&items[each].runs, 0);
		wp_task_init(&items[each].task, step, "item");
		if (wp_group_submit(group, &items[each].task) != WP_OK)
			lost("a start");
	}
}
