/* SPDX-License-Identifier: Apache-2.0
 * local_group.c - groups with bounded run queues beside groups without, with work stealing on.
 *
 * A tree of tasks: each starts two more, and ends when these have ended. It is timed by the clock
 * on two carriers, where halves are stolen. Each level is pushed before the next, so the last
 * levels do not fit a ring. The other row has 64 tasks of one carrier that yield. */
#include <stdlib.h>

#include "carriers.h"

enum { NODES = (1 << 15) - 1, YIELDING = 64 };

typedef struct node {
	wp_task task; /* must be first */
	uint32_t number;
	wp_atomic(uint32_t) open; /* itself, and its children */
} node;

static node *nodes;
static wp_group *group;
static uint32_t turns;

static wp_group *made(uint32_t carriers, bool bounded)
{
	static wp_group *groups[3][2];
	wp_group **one = &groups[carriers][bounded];
	wp_group_config config = {
		.carriers = carriers, .yield_us = 50, .work_stealing = true, .bounded = bounded};

	if (nodes == NULL)
		nodes = aligned_alloc(WP_LINE, NODES * sizeof(node) / WP_LINE * WP_LINE + WP_LINE);
	if (nodes == NULL || (*one == NULL && wp_group_new(one, &config) != WP_OK))
		bench_fail("no memory, or no threads");
	return *one;
}

static enum wp_step fork(wp_task *task)
{
	uint32_t first = 2 * ((node *)(void *)task)->number + 1;

	for (uint32_t child = first; child < NODES && child < first + 2; child++)
		if (wp_group_submit(group, &nodes[child].task) != WP_OK)
			bench_fail("a start was refused");
	return WP_STEP_DONE;
}

static void join(wp_task *task)
{
	uint32_t number = ((node *)(void *)task)->number;

	while (wp_fetch_add_acq_rel(&nodes[number].open, -1u) == 1) {
		if (number == 0) {
			carriers_count_end(task);
			return;
		}
		number = (number - 1) / 2;
	}
}

static double forks(bool bounded, uint64_t ops)
{
	double ns = 0, start;

	group = made(2, bounded);
	for (uint64_t done = 0; done < ops; done += NODES) {
		wp_init(&carriers_ended, 0);
		for (uint32_t each = 0; each < NODES; each++) {
			nodes[each].number = each;
			wp_init(&nodes[each].open, 2 * each + 1 < NODES ? 3 : 1);
			wp_task_init(&nodes[each].task, fork, NULL);
			nodes[each].task.ended = join;
		}
		start = bench_clock_ns();
		carriers_start(group, 0, &nodes[0].task);
		carriers_await(&carriers_ended, 1);
		ns += bench_clock_ns() - start;
	}
	return ns * (double)ops / (double)((ops + NODES - 1) / NODES * NODES);
}

static enum wp_step yield(wp_task *task)
{
	return ++((node *)(void *)task)->number < turns ? WP_STEP_YIELD : WP_STEP_DONE;
}

static enum wp_step start_yielding(wp_task *task)
{
	(void)task;
	for (uint32_t each = 1; each <= YIELDING; each++)
		if (wp_group_submit(group, &nodes[each].task) != WP_OK)
			bench_fail("a start was refused");
	return WP_STEP_DONE;
}

static double yields(bool bounded, uint64_t ops)
{
	double start;

	group = made(1, bounded);
	turns = (uint32_t)(ops / YIELDING) + 1;
	wp_init(&carriers_ended, 0);
	wp_task_init(&nodes[0].task, start_yielding, NULL);
	for (uint32_t each = 1; each <= YIELDING; each++) {
		nodes[each].number = 0;
		wp_task_init(&nodes[each].task, yield, NULL);
		nodes[each].task.ended = carriers_count_end;
	}
	start = carriers_process_ns();
	carriers_start(group, 0, &nodes[0].task);
	carriers_await(&carriers_ended, YIELDING);
	return (carriers_process_ns() - start) * (double)ops / (double)turns / YIELDING;
}

BENCH_SIDE(fork_bounded, forks(true, ops))
BENCH_SIDE(fork_mpsc, forks(false, ops))
BENCH_SIDE(yield_bounded, yields(true, ops))
BENCH_SIDE(yield_mpsc, yields(false, ops))

const bench_row bench_local_group[] = {
	{.name = "local_fork", .sides = {{"ours", fork_bounded}, {"mpsc", fork_mpsc}}},
	{.name = "local_yield", .sides = {{"ours", yield_bounded}, {"mpsc", yield_mpsc}}},
	{.name = NULL},
};
