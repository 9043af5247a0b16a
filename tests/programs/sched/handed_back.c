/* SPDX-License-Identifier: Apache-2.0
 * handed_back.c - a close hands back tasks that are queued, unparked or parked. Then all are
 * unparked, with the group and without it, and started in another group. Prints their fates. */
#include <stdio.h>

#include "base/error.h"
#include "sched/worker.h"

enum { EACH = 3, TASKS = 3 * EACH };

static wp_task first, tasks[TASKS]; /* queued; unparked; parked */
static wp_atomic(uint32_t) holds, runs;
static unsigned back, parked;

/* Runs until its carrier is stopped. The tasks behind it stay queued. */
static enum wp_step hold(wp_task *task)
{
	wp_store_relaxed(&holds, 1);
	while (wp_mpsc_is_quiescent(&task->home->carrier.inbox))
		wp_yield();
	return WP_STEP_DONE;
}

static enum wp_step park(wp_task *task)
{
	return WP_STEP_PARK;
}

static enum wp_step run(wp_task *task)
{
	wp_fetch_add_relaxed(&runs, 1);
	return WP_STEP_DONE;
}

static void count(void *arg, wp_task *task, bool was_parked)
{
	back++;
	parked += was_parked;
	if (wp_task_is_done(task))
		printf("a task that is handed back is done\n");
}

static wp_group *started(void)
{
	wp_group_config config = {.carriers = 1, .yield_us = 50};
	wp_group *group;

	return wp_group_new(&group, &config) == WP_OK ? group : NULL;
}

static void unpark_all(void)
{
	for (int index = 0; index < TASKS; index++)
		wp_task_unpark(&tasks[index]);
}

static void close_it(wp_group *group, bool cancel)
{
	while (wp_group_close(group, WP_FOREVER, cancel, count, NULL) != WP_OK)
		continue;
}

int main(void)
{
	wp_group *group = started(), *other = started();
	uint64_t before;

	for (int index = 0; index < TASKS; index++)
		wp_task_init(&tasks[index], index < EACH ? run : park, "task");
	for (int index = EACH; index < TASKS; index++)
		wp_group_start(group, 0, &tasks[index]);
	while (wp_load_acquire(&tasks[TASKS - 1].word) != WP_TASK_PARKED)
		wp_yield();
	wp_task_init(&first, hold, "first");
	wp_group_start(group, 0, &first);
	while (wp_load_relaxed(&holds) == 0)
		wp_yield();
	for (int index = 0; index < EACH; index++)
		wp_group_start(group, 0, &tasks[index]);
	for (int index = EACH; index < 2 * EACH; index++)
		wp_task_unpark(&tasks[index]);
	close_it(group, true);
	printf("handed back %u, of these parked %u\n", back, parked);
	before = wp_group_counts(group, 0).runnable;
	unpark_all();
	printf("queued by an unpark %d\n", (int)(wp_group_counts(group, 0).runnable - before));
	wp_group_free(group);
	unpark_all();
	wp_store_relaxed(&runs, 0);
	for (int index = 0; index < TASKS; index++) {
		wp_task_init(&tasks[index], run, "task");
		wp_group_start(other, 0, &tasks[index]);
	}
	close_it(other, false);
	printf("run by another group %u\n", wp_load_relaxed(&runs));
	wp_group_free(other);
	return 0;
}
