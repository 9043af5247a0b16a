/* SPDX-License-Identifier: Apache-2.0
 * strategy.c - how many tasks a strategy runs, and how soon it runs one.
 *
 *   strategy_told        tasks never block, and the strategy is told so
 *   strategy_never       tasks never block, and the strategy is told that they may
 *   strategy_some        one task in ten sleeps for 100 us
 *   strategy_always      each task does
 *   strategy_soon        one at a time, to a producer that waits in the system, as a selector does:
 *                        from the signal until the task begins; strategy_soon_told: the strategy is
 *                        told that it does not block
 *
 * All tasks are there at once, except in the last rows. A pool has the row's number of threads,
 * wherever the system puts them; in strategy_soon_told, which is two threads in each mode, they have
 * the CPU beside the caller's. It is opened before and closed after the measurement.
 *
 *   threads    that the pool has started
 *   switches   of context, voluntary or not
 *   executed   tasks that the pool has run
 *   handed     tasks that a producer ran while another one was to produce */
#define _GNU_SOURCE
#include <sys/resource.h>
#include <time.h>

#include "bench.h"
#include "base/error.h"
#include "wakeup/parker.h"
#include "pool/pool.h"
#include "pool/strategy.h"

enum { THREADS = 16, TENTH = 10, NAP_NS = 100000, WORK = 500 };

enum work { NEVER, SOMETIMES, ALWAYS };

static wp_strategy strategy;
static wp_pool *pool;
static wp_parker ready, finished; /* there is a task; all tasks have run */
static enum work work;
static enum wp_kind told;
static bool waits;
static uint64_t left, many;
static wp_atomic(uint64_t) ran;
static double made_ns, late_ns;
static double threads, switches, executed, handed;

static void *produce(void *arg)
{
	(void)arg;
	if (waits)
		wp_parker_park(&ready);
	return left == 0 ? NULL : (void *)(uintptr_t)left--;
}

static enum wp_kind kind(void *arg, void *task)
{
	(void)arg;
	(void)task;
	return told;
}

static void run(void *arg, void *task)
{
	(void)arg;
	if (waits)
		late_ns += bench_clock_ns() - made_ns;
	for (int step = 0; step < WORK; step++)
		bench_apart();
	if (work == ALWAYS || (work == SOMETIMES && (uintptr_t)task % TENTH == 0))
		nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
	if (wp_fetch_add_acq_rel(&ran, 1) + 1 == many || waits)
		wp_parker_unpark(&finished);
}

static void run_task(void *task)
{
	run(NULL, task);
}

static int execute(void *arg, void *task)
{
	(void)arg;
	return wp_pool_execute(pool, &(wp_job){.run = run_task, .arg = task});
}

static void reject(void *arg, void *task, int code)
{
	(void)arg;
	(void)task;
	(void)code;
	bench_fail("the pool refuses a task");
}

static void produce_and_run(void *arg)
{
	wp_strategy_run(arg);
}

static const wp_job production = {.run = produce_and_run, .arg = &strategy};

static int start(void *arg)
{
	(void)arg;
	return wp_pool_execute(pool, &production);
}

static bool try_start(void *arg)
{
	(void)arg;
	return wp_pool_try_execute(pool, &production);
}

static void place_thread(void *arg)
{
	(void)arg;
	if (waits && told == WP_NON_BLOCKING)
		bench_pin(1);
	else
		bench_float();
}

static void open_all(enum wp_strategy_mode mode)
{
	wp_pool_config config;

	wp_pool_config_init(&config);
	config.min = 0;
	config.max = THREADS;
	config.begin = place_thread;
	if (wp_pool_new(&config, &pool) != WP_OK)
		bench_fail("no pool");
	wp_strategy_init(&strategy, &(wp_strategy_config){.mode = mode,
							  .produce = produce,
							  .kind = kind,
							  .run = run,
							  .execute = execute,
							  .reject = reject,
							  .start = start,
							  .try_start = try_start});
	wp_parker_init(&ready);
	wp_parker_init(&finished);
	wp_init(&ran, 0);
}

static double switches_now(void)
{
	struct rusage used;

	getrusage(RUSAGE_SELF, &used);
	return (double)(used.ru_nvcsw + used.ru_nivcsw);
}

static void close_all(void)
{
	wp_pool_counts counts;

	wp_pool_close(pool);
	wp_pool_wait(pool, WP_FOREVER);
	wp_pool_counts_read(pool, &counts);
	wp_pool_free(pool);
	threads = (double)counts.started;
	executed = 100.0 * (double)wp_strategy_count(&strategy, WP_EXECUTED) / (double)many;
	handed = 100.0 * (double)wp_strategy_count(&strategy, WP_HANDED_OVER) / (double)many;
	if (wp_load_acquire(&ran) != many)
		bench_fail("a strategy has lost a task");
}

static double flood(enum wp_strategy_mode mode, uint64_t ops)
{
	double begun, ns, before;

	waits = false;
	left = many = ops;
	open_all(mode);
	before = switches_now();
	begun = bench_clock_ns();
	if (wp_strategy_dispatch(&strategy) != WP_OK)
		bench_fail("no dispatch");
	wp_parker_park(&finished);
	ns = bench_clock_ns() - begun;
	switches = (switches_now() - before) / (double)ops;
	close_all();
	return ns;
}

/* The sum of the times until each task begins. */
static double one_by_one(enum wp_strategy_mode mode, uint64_t ops)
{
	double before;

	waits = true;
	left = many = ops;
	late_ns = 0;
	if (told == WP_NON_BLOCKING)
		bench_pin(0);
	open_all(mode);
	before = switches_now();
	if (wp_strategy_dispatch(&strategy) != WP_OK)
		bench_fail("no dispatch");
	for (uint64_t k = 0; k < ops; k++) {
		made_ns = bench_clock_ns();
		wp_parker_unpark(&ready);
		wp_parker_park(&finished);
	}
	switches = (switches_now() - before) / (double)ops;
	wp_parker_close(&ready);
	close_all();
	bench_float();
	return late_ns;
}

#define SIDE(row, measured, mode, how, as)       \
	static double row##_##mode(uint64_t ops) \
	{                                        \
		work = how;                      \
		told = as;                       \
		return measured(WP_##mode, ops); \
	}

#define ROW(row, measured, how, as)                           \
	SIDE(row, measured, PRODUCE_CONSUME, how, as)         \
	SIDE(row, measured, PRODUCE_EXECUTE_CONSUME, how, as) \
	SIDE(row, measured, EXECUTE_PRODUCE_CONSUME, how, as) \
	SIDE(row, measured, ADAPTIVE, how, as)

ROW(told, flood, NEVER, WP_NON_BLOCKING)
ROW(never, flood, NEVER, WP_BLOCKING)
ROW(some, flood, SOMETIMES, WP_BLOCKING)
ROW(always, flood, ALWAYS, WP_BLOCKING)
ROW(soon, one_by_one, NEVER, WP_BLOCKING)
ROW(soon_told, one_by_one, NEVER, WP_NON_BLOCKING)

#define SIDES(row)                                                \
	{                                                         \
		.name = "strategy_" #row,                         \
		.sides = {{"pc", row##_PRODUCE_CONSUME},          \
			  {"pec", row##_PRODUCE_EXECUTE_CONSUME}, \
			  {"epc", row##_EXECUTE_PRODUCE_CONSUME}, \
			  {"adaptive", row##_ADAPTIVE}},          \
		.counts = {{"threads", &threads},                 \
			   {"switches", &switches},               \
			   {"executed", &executed},               \
			   {"handed", &handed}},                  \
	}

const bench_row bench_strategy[] = {SIDES(told), SIDES(never),     SIDES(some),   SIDES(always),
				    SIDES(soon), SIDES(soon_told), {.name = NULL}};
