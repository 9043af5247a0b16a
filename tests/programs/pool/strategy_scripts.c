/* SPDX-License-Identifier: Apache-2.0
 * strategy_scripts.c CASE - execute-produce-consume, one script each. Prints what is lost.
 *
 * Why it works  Starts are only counted. The script decides when a started thread comes: inside a
 *               task, as if that blocked; inside produce; before the start returns; or late. So one
 *               thread plays all roles, except in `ends`, where another one is in produce
 *               meanwhile. */
#include "../case_main.h"
#include "pool/strategy.h"

static wp_strategy strategy;
static uint32_t left, produced, starts, ran[4];
static void (*in_task)(uint32_t task), (*in_produce)(void), (*in_start)(void);
static bool is_producing, is_refused;
static uint32_t executed;
static enum wp_strategy_mode mode = WP_EXECUTE_PRODUCE_CONSUME;

static void *produce(void *arg)
{
	uintptr_t task;

	check(!is_producing, "that one produces at a time");
	is_producing = true;
	produced++;
	if (in_produce != NULL)
		in_produce();
	task = left > 0 ? left-- : 0;
	is_producing = false;
	return (void *)task;
}

static enum wp_kind kind_of(void *arg, void *task)
{
	return *(enum wp_kind *)arg;
}

static void run(void *arg, void *task)
{
	ran[(uintptr_t)task]++;
	if (in_task != NULL)
		in_task((uint32_t)(uintptr_t)task);
}

static int execute(void *arg, void *task)
{
	executed++;
	run(arg, task);
	return WP_OK;
}

static int start(void *arg)
{
	starts++;
	if (in_start != NULL)
		in_start();
	return is_refused ? WP_CLOSED : WP_OK;
}

static void make(uint32_t tasks, enum wp_kind kind)
{
	static enum wp_kind kept;

	kept = kind;
	left = tasks;
	produced = starts = 0;
	wp_strategy_init(&strategy, &(wp_strategy_config){.mode = mode,
							  .produce = produce,
							  .kind = kind_of,
							  .run = run,
							  .execute = execute,
							  .start = start,
							  .arg = &kept});
}

/* All tasks have run once; no thread is to come, and none produces. */
static void is_over(uint32_t tasks, uint32_t started)
{
	for (uint32_t task = 1; task <= tasks; task++)
		check(ran[task] == 1, "a task");
	check(starts == started, "how many are started");
	check(wp_strategy_is_idle(&strategy) && wp_load_relaxed(&strategy.word) >> 32 == 0,
	      "that nobody produces, or is to come");
}

CASE(idle)
{
	make(0, WP_BLOCKING);
	wp_strategy_produce(&strategy);
	check(produced == 1, "that it looks once");
	is_over(0, 0);
}

CASE(non_blocking)
{
	make(3, WP_NON_BLOCKING);
	wp_strategy_produce(&strategy);
	check(wp_strategy_count(&strategy, WP_CONSUMED) == 3, "who runs what does not block");
	is_over(3, 0);
}

/* Tasks that do not block after all: one start serves all. It comes late, looks, and goes. */
CASE(late)
{
	make(3, WP_BLOCKING);
	wp_strategy_produce(&strategy);
	check(wp_strategy_count(&strategy, WP_HANDED_OVER) == 3 && starts == 1,
	      "one start for all");
	wp_strategy_run(&strategy);
	check(produced == 5, "that who comes late looks once");
	is_over(3, 1);
}

static void comes(uint32_t task)
{
	if (task == 3)
		wp_strategy_run(&strategy);
}

/* The first task blocks. The started thread runs the others, with one more start. */
CASE(overtaken)
{
	make(3, WP_BLOCKING);
	in_task = comes;
	wp_strategy_produce(&strategy);
	check(starts == 2, "one start more");
	wp_strategy_run(&strategy);
	is_over(3, 2);
}

/* A dispatch during a production returns at once, and the producer looks once more. */
static void asks(void)
{
	if (produced > 1)
		return;
	wp_strategy_produce(&strategy);
	check(wp_strategy_dispatch(&strategy) == WP_OK, "a dispatch");
	check(produced == 1, "that it does not wait");
}

CASE(asked)
{
	make(0, WP_BLOCKING);
	in_produce = asks;
	wp_strategy_produce(&strategy);
	check(produced == 2, "that it looks once more");
	is_over(0, 0);
}

/* Dispatches while no thread produces start one thread. */
CASE(dispatched)
{
	make(1, WP_BLOCKING);
	for (int times = 0; times < 3; times++)
		check(wp_strategy_dispatch(&strategy) == WP_OK, "a dispatch");
	check(starts == 1 && produced == 0, "one start");
	wp_strategy_run(&strategy);
	wp_strategy_run(&strategy); /* which it started for the task */
	is_over(1, 2);
}

/* The started thread comes before its starter goes on. It produces, and the starter runs its
 * task. */
static void follows(void)
{
	uint32_t before = produced;

	wp_strategy_run(&strategy);
	check(produced == before + 1 && wp_strategy_is_idle(&strategy), "that it looks at once");
}

CASE(early)
{
	make(1, WP_BLOCKING);
	in_start = follows;
	wp_strategy_produce(&strategy);
	check(wp_strategy_count(&strategy, WP_HANDED_OVER) == 1 && executed == 0,
	      "that the pool does not run the task");
	is_over(1, 1);
}

/* A dispatch before the start has returned relies on the started thread. */
static void relies(void)
{
	if (starts == 1)
		check(wp_strategy_dispatch(&strategy) == WP_OK, "a dispatch");
}

CASE(relied)
{
	make(1, WP_BLOCKING);
	in_start = relies;
	wp_strategy_produce(&strategy);
	wp_strategy_run(&strategy);
	check(executed == 0, "that the pool does not run the task");
	is_over(1, 1);
}

/* The start is refused. Its starter goes on producing, including the tasks of a dispatch that
 * relied on the start. */
CASE(refused)
{
	make(2, WP_BLOCKING);
	in_start = relies;
	is_refused = true;
	wp_strategy_produce(&strategy);
	check(executed == 2 && wp_strategy_count(&strategy, WP_EXECUTED) == 2,
	      "that the pool runs both");
	is_over(2, 2);
}

/* In each mode: there is nothing to produce, or no thread to look. */
CASE(nothing)
{
	for (mode = WP_PRODUCE_CONSUME; mode <= WP_ADAPTIVE; mode++) {
		make(0, WP_BLOCKING);
		wp_strategy_produce(&strategy);
		check(produced == 1, "that it looks once");
		is_refused = true;
		check(wp_strategy_dispatch(&strategy) == WP_CLOSED, "why nobody is told");
		check(produced == 1, "that nobody looks");
		is_refused = false;
		is_over(0, 1);
	}
}

/* A task ends early, while the started thread is in produce. It goes, and disturbs no other. */
static wp_atomic(uint32_t) looks;
static wp_atomic(bool) is_inside, has_left;
static pthread_t successor;

static void await(wp_atomic(bool) *flag, const char *what)
{
	AWAIT(wp_load_acquire(flag), what);
}

static void *produce_and_wait(void *arg)
{
	uint32_t look = wp_fetch_add_relaxed(&looks, 1);

	if (look == 0)
		return &strategy; /* a task */
	if (wp_exchange_acquire(&is_inside, true))
		lost("that one produces at a time");
	if (look == 1)
		await(&has_left, "that the first goes");
	wp_store_release(&is_inside, false);
	return NULL;
}

static void ends_early(void *arg, void *task)
{
	check(wp_strategy_dispatch(&strategy) == WP_OK, "a dispatch");
	await(&is_inside, "that another produces");
}

static void *succeeds(void *arg)
{
	wp_strategy_run(arg);
	return NULL;
}

static bool try_thread(void *arg)
{
	starts++;
	return pthread_create(&successor, NULL, succeeds, &strategy) == 0;
}

CASE(ends)
{
	mode = WP_ADAPTIVE;
	make(0, WP_BLOCKING);
	strategy.config.produce = produce_and_wait;
	strategy.config.run = ends_early;
	strategy.config.try_start = try_thread;
	wp_strategy_produce(&strategy);
	wp_store_release(&has_left, true);
	pthread_join(successor, NULL);
	check(wp_strategy_count(&strategy, WP_HANDED_OVER) == 1, "who runs the task");
	is_over(0, 1);
}
