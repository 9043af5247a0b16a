/* SPDX-License-Identifier: Apache-2.0
 * local_queue_next.c CASE - groups with bounded run queues: a thread that is yielded to runs next;
 * and a storm of tasks that start one another. Prints what is lost. */
#include "local_queue_case.h"
#include "../case_main.h"

/* A thread that is yielded to runs next, although others were pushed before: `a` yields to `b`, and
 * `b` follows. If ring and queue took turns, one of the others would come first, in the second
 * round at the latest. */
enum { ROUNDS = 4, OTHERS = 2 * ROUNDS };

static wp_vthread *followers[ROUNDS];
static char said[64];

static int says(void *arg)
{
	strcat(said, arg);
	return 0;
}

static int yields_to(void *arg)
{
	wp_fetch_add_relaxed(&held, 1);
	await(&lets_go, 1, "who is held");
	for (int round = 0; round < ROUNDS; round++) {
		says(arg);
		check(wp_vthread_submit_and_yield(followers[round]) == WP_OK, "a start");
	}
	return 0;
}

static void join(wp_vthread *thread)
{
	int failure;

	check(wp_vthread_join(thread, patience(), &failure) == WP_OK, "a thread");
	wp_vthread_free(thread);
}

static wp_vthread *made(int (*run)(void *), char *name)
{
	wp_vthread_config config = {.run = run, .arg = name};
	wp_vthread *thread;

	if (wp_vthread_new(group, &config, &thread) != WP_OK)
		lost("a thread");
	return thread;
}

CASE(next)
{
	wp_vthread *first, *others[OTHERS];

	to_start = 0;
	open_group((wp_group_config){.carriers = 1});
	first = made(yields_to, "a");
	for (int round = 0; round < ROUNDS; round++)
		followers[round] = made(says, "b");
	wp_vthread_start(first);
	await(&held, 1, "who yields");
	for (int each = 0; each < OTHERS; each++) {
		others[each] = made(says, "c");
		wp_vthread_start(others[each]);
	}
	wp_store_release(&lets_go, 1);
	join(first);
	for (int round = 0; round < ROUNDS; round++)
		join(followers[round]);
	for (int each = 0; each < OTHERS; each++)
		join(others[each]);
	for (const char *at = said; *at != 0; at++)
		check(*at != 'a' || at[1] == 'b', "that who is yielded to is next");
	check(strlen(said) == 2 * ROUNDS + OTHERS, "that each has run");
	close_group(1);
}

/* The thread that is yielded to has a scheduler, which starts two tasks before it resumes the
 * thread. */
static wp_vthread *given;

static void starts_two(void *arg, wp_vthread *thread)
{
	given = thread;
	start_all(count_step);
}

static int yields_to_given(void *arg)
{
	check(wp_vthread_submit_and_yield(arg) == WP_OK, "a start by a scheduler");
	return 0;
}

CASE(scheduler)
{
	static const wp_scheduler scheduler = {.submit = starts_two};
	wp_vthread_config config = {.run = says, .arg = "g", .scheduler = &scheduler};
	wp_vthread *second, *first;

	to_start = 2;
	open_group((wp_group_config){.carriers = 1});
	if (wp_vthread_new(group, &config, &second) != WP_OK)
		lost("a thread");
	config = (wp_vthread_config){.run = yields_to_given, .arg = second};
	if (wp_vthread_new(group, &config, &first) != WP_OK)
		lost("a thread");
	wp_vthread_start(first);
	join(first);
	await(&ran, 2, "what a scheduler has started");
	check(wp_vthread_run(given) == WP_OK, "a run by a scheduler");
	join(second);
	close_group(1);
}

/* A tree of tasks that start one another, yield, and are started from outside. */
enum { LEAVES = 4096 };

static item nodes[2 * LEAVES];

static enum wp_step fork_step(wp_task *task)
{
	item *mine = (item *)(void *)task;
	uint32_t run = wp_fetch_add_relaxed(&mine->runs, 1), at = mine->number;

	if (run == 0)
		return WP_STEP_YIELD;
	for (uint32_t child = 2 * at; child < 2 * LEAVES && child < 2 * at + 2; child++)
		if (wp_group_submit(group, &nodes[child].task) != WP_OK)
			lost("a child");
	wp_fetch_add_relaxed(&ran, 1);
	return WP_STEP_DONE;
}

static void storm(wp_group_config config)
{
	to_start = FEW;
	open_group(config);
	for (uint32_t at = 1; at < 2 * LEAVES; at++) {
		nodes[at].number = at;
		wp_init(&nodes[at].runs, 0);
		wp_task_init(&nodes[at].task, fork_step, "node");
	}
	check(wp_group_submit(group, &nodes[1].task) == WP_OK, "the root");
	start_all(count_step);
	await(&ran, 2 * LEAVES - 1 + FEW, "a task of the storm");
	for (uint32_t at = 1; at < 2 * LEAVES; at++)
		check(wp_load_relaxed(&nodes[at].runs) == 2,
		      "that each yields once, and ends once");
	close_group(1);
}

CASE(storm)
{
	for (uint32_t carriers = 1; carriers <= 4; carriers++) {
		storm((wp_group_config){.carriers = carriers});
		storm((wp_group_config){.carriers = carriers, .placement = WP_PLACE_TWO_CHOICES});
	}
}
