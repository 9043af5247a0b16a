/* SPDX-License-Identifier: Apache-2.0
 * local_queue_group.c CASE - groups with bounded run queues: each task that is pushed, overflows,
 * is stolen by halves, moved, or handed back runs once. Prints what is lost.
 *
 * Why it works  A starter pushes from within one step, so its own ring is filled. The other
 *               carriers are held, or the starter waits until they have run all tasks. */
#define _GNU_SOURCE /* alarm */
#include <signal.h>
#include <unistd.h>

#include "local_queue_case.h"
#include "../case_main.h"

static uint32_t handed;

static enum wp_step hold_step(wp_task *task)
{
	wp_fetch_add_relaxed(&held, 1);
	await(&lets_go, 1, "who is held");
	return WP_STEP_DONE;
}

static enum wp_step forever_step(wp_task *task)
{
	wp_fetch_add_relaxed(&((item *)(void *)task)->runs, 1);
	return WP_STEP_YIELD;
}

/* Starts it on that carrier. */
static void start_one(wp_task *task, uint32_t carrier, enum wp_step (*step)(wp_task *))
{
	wp_task_init(task, step, NULL);
	task->is_pinned = 1;
	check(wp_group_start(group, carrier, task) == WP_OK, "a start");
}

/* Pushes all tasks to its own ring. */
static enum wp_step push_step(wp_task *task)
{
	start_all(count_step);
	return WP_STEP_DONE;
}

/* And waits until the others have run them. */
static enum wp_step push_and_wait_step(wp_task *task)
{
	start_all(count_step);
	await(&ran, to_start, "what waits beside idle carriers");
	return WP_STEP_DONE;
}

/* One carrier: all tasks that fit run in the order of their pushes. */
CASE(order)
{
	wp_task starter;

	to_start = FEW;
	open_group((wp_group_config){.carriers = 1});
	start_one(&starter, 0, push_step);
	await(&ran, FEW, "a task");
	check(wp_load_relaxed(&in_order) == FEW, "the order");
	check(wp_group_counts(group, 0).spilled == 0, "that nothing spills where there is room");
	close_group(1);
}

/* More than fit: half overflows, again and again, while no thread takes any. */
CASE(spills)
{
	wp_task starter, holders[2];

	to_start = TASKS;
	open_group((wp_group_config){.carriers = 3});
	start_one(&holders[0], 1, hold_step);
	start_one(&holders[1], 2, hold_step);
	await(&held, 2, "a holder");
	start_one(&starter, 0, push_step);
	await(&ran, TASKS, "a task");
	check(wp_group_counts(group, 0).spilled == 768, "that half spills each time");
	wp_store_release(&lets_go, 1);
	close_group(1);
}

/* Their own carrier never comes to them. */
static void helped(wp_group_config config, uint32_t many)
{
	wp_task starter;

	to_start = many;
	open_group(config);
	start_one(&starter, 0, push_and_wait_step);
	await(&ran, many, "a task");
	close_group(1);
}

/* A thief takes four of eight, and runs one of them; then two of four; then one, and one. */
static enum wp_step push_and_let_go_step(wp_task *task)
{
	start_all(count_step);
	wp_store_release(&lets_go, 1);
	await(&ran, to_start, "what waits beside an idle carrier");
	return WP_STEP_DONE;
}

CASE(halves)
{
	wp_task starter, holder;

	to_start = 8;
	open_group((wp_group_config){.carriers = 2});
	start_one(&holder, 1, hold_step);
	await(&held, 1, "a holder");
	start_one(&starter, 0, push_and_let_go_step);
	await(&ran, to_start, "a task");
	check(wp_group_counts(group, 1).looted == 4, "that half is stolen at once");
	close_group(1);
}

CASE(helped)
{
	for (int round = 0; round < 20; round++) {
		helped((wp_group_config){.carriers = 3}, FEW);
		helped((wp_group_config){.carriers = 2}, TASKS);
	}
}

/* The same with loads counted. */
CASE(placed)
{
	for (int round = 0; round < 5; round++) {
		helped((wp_group_config){.carriers = 3, .placement = WP_PLACE_TWO_CHOICES}, TASKS);
		helped((wp_group_config){.carriers = 2,
					 .placement = WP_PLACE_LEAST_LOADED,
					 .load_at_dequeue = true},
		       TASKS);
	}
}

/* It has pushed them, and is to block. They are moved from its ring to a carrier that steals
 * nothing, because it is in another domain. */
static void start_all_at_0(enum wp_step (*step)(wp_task *))
{
	for (uint32_t each = 0; each < to_start; each++) {
		items[each].number = each;
		wp_init(&items[each].runs, 0);
		wp_task_init(&items[each].task, step, "item");
		if (wp_group_start(group, 0, &items[each].task) != WP_OK)
			lost("a start");
	}
}

static enum wp_step block_step(wp_task *task)
{
	(void)task;
	start_all_at_0(count_step);
	check(wp_group_block() == WP_OK, "a mark");
	await(&ran, to_start, "what was moved");
	return WP_STEP_DONE;
}

CASE(moved)
{
	static const uint32_t apart[2] = {0, 1};
	wp_task starter;

	to_start = FEW;
	open_group((wp_group_config){
		.carriers = 2, .placement = WP_PLACE_LEAST_LOADED, .domain_of = apart});
	start_one(&starter, 0, block_step);
	await(&ran, FEW, "a task");
	check(wp_group_placement_counts(group, 0).moved == FEW, "that what was moved is counted");
	close_group(1);
}

/* Carrier 1 steals half of a ring, runs one task, and is to block. The others are moved, and none
 * of them is at home there. */
static enum wp_step block_thief_step(wp_task *task)
{
	if (wp_group_running(group) == 1)
		wp_group_block();
	return count_step(task);
}

static enum wp_step push_to_thief_step(wp_task *task)
{
	(void)task;
	start_all_at_0(block_thief_step);
	await(&ran, to_start, "what a thief has moved");
	return WP_STEP_DONE;
}

CASE(looted)
{
	static const uint32_t apart[3] = {0, 0, 1};
	wp_task starter;

	to_start = FEW;
	open_group((wp_group_config){
		.carriers = 3, .placement = WP_PLACE_LEAST_LOADED, .domain_of = apart});
	start_one(&starter, 0, push_to_thief_step);
	await(&ran, FEW, "a task");
	check(wp_group_placement_counts(group, 1).moved > 0, "that some were moved");
	close_group(1);
}

/* Tasks that never end are handed back, wherever they are. */
static enum wp_step push_forever_step(wp_task *task)
{
	start_all(forever_step);
	wp_store_release(&lets_go, 1);
	return WP_STEP_DONE;
}

static void count_handed(void *arg, wp_task *task, bool was_parked)
{
	check(!was_parked, "that who yields is not parked");
	((item *)(void *)task)->number = UINT32_MAX;
	handed++;
}

static void give_up(int signal)
{
	lost("a close that ends");
}

CASE(closed)
{
	signal(SIGALRM, give_up);
	for (uint32_t carriers = 1; carriers <= 3; carriers++) {
		wp_task starter;

		handed = 0;
		to_start = TASKS;
		alarm(PATIENCE_S);
		open_group((wp_group_config){.carriers = carriers});
		start_one(&starter, 0, push_forever_step);
		await(&lets_go, 1, "the starter");
		while (wp_group_close(group, patience(), true, count_handed, NULL) != WP_OK)
			wp_yield();
		check(handed == TASKS, "that all are handed back");
		for (uint32_t each = 0; each < TASKS; each++)
			check(items[each].number == UINT32_MAX, "that each is");
		alarm(0);
		wp_group_free(group);
	}
}
