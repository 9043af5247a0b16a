/* SPDX-License-Identifier: Apache-2.0
 * strategy_pools.c CASE - each strategy over each pool. Prints what is lost.
 *
 * Why it works  Tasks are numbers from 1, made one by one, and each must run once. A pool has no
 *               reserved threads, or some, or an executor of virtual threads. */
#include "pool_case.h"
#include "../case_main.h"
#include "pool/strategy.h"
#include "sched/vthread_start.h"

enum { TASKS = 1000, OFFERED = 256, BLOCKED = 3 };
enum pools { PLAIN, WITH_RESERVED, WITH_VIRTUAL, POOLS };

static wp_strategy strategy;
static wp_group *group;
static wp_atomic(uint32_t) made, taken, produced, done, waiting, hits, virtual_ones;
static wp_atomic(uint8_t) fates[TASKS + 1];
static wp_atomic(bool) is_let_go;
static wp_parker offered; /* parks the producer that waits */
static bool waits;        /* for another offer */

static void *produce(void *arg)
{
	uint32_t number = wp_load_relaxed(&taken);

	wp_fetch_add_relaxed(&produced, 1);
	while (waits && number < OFFERED && number == wp_load_acquire(&made))
		wp_parker_park(&offered);
	if (number == wp_load_acquire(&made))
		return NULL;
	wp_store_relaxed(&taken, ++number);
	return (void *)(uintptr_t)number;
}

static void has_fate(void *task)
{
	check(wp_exchange_acquire(&fates[(uintptr_t)task], 1) == 0, "that a task runs once");
	wp_fetch_add_release(&done, 1);
}

static void run(void *arg, void *task)
{
	has_fate(task);
}

/* Of the tasks that wait, the last one releases all others. */
static enum wp_kind kind_of(void *arg, void *task)
{
	return strategy.config.run != run && (uintptr_t)task > BLOCKED ? WP_NON_BLOCKING
								       : WP_BLOCKING;
}

static void run_waiting(void *task)
{
	if ((uintptr_t)task > BLOCKED)
		wp_store_release(&is_let_go, true);
	wp_fetch_add_release(&waiting, 1);
	while (!wp_load_acquire(&is_let_go)) {
		if (wp_vthread_current() != NULL)
			wp_vthread_yield();
		else
			wp_yield();
	}
	has_fate(task);
}

static void run_and_wait(void *arg, void *task)
{
	run_waiting(task);
}

static int execute(void *arg, void *task)
{
	return wp_pool_execute_virtual(
		pool, &(wp_job){strategy.config.run == run ? has_fate : run_waiting, NULL, task});
}

static void reject(void *arg, void *task, int code)
{
	lost("a task that the pool refused");
}

static void comes(void *arg)
{
	wp_strategy_run(arg);
}

static const wp_job coming = {comes, NULL, &strategy};

static int start(void *arg)
{
	return wp_pool_execute(pool, &coming);
}

static bool try_start(void *arg)
{
	bool has_thread = wp_pool_try_execute(pool, &coming);

	wp_fetch_add_relaxed(&hits, has_thread);
	return has_thread;
}

static int run_virtual(void *arg)
{
	wp_job job = *(wp_job *)arg;

	free(arg);
	wp_fetch_add_relaxed(&virtual_ones, 1);
	job.run(job.arg);
	return 0;
}

static int execute_virtual(void *arg, const wp_job *job)
{
	wp_vthread_config config = {.run = run_virtual, .carrier = WP_VTHREAD_HERE};
	wp_vthread *thread;

	config.arg = malloc(sizeof(*job));
	if (config.arg == NULL || wp_vthread_new(group, &config, &thread) != WP_OK)
		abort();
	*(wp_job *)config.arg = *job;
	check(wp_vthread_start(thread) == WP_OK, "the start of a virtual thread");
	wp_vthread_free(thread);
	return WP_OK;
}

static void open_over(enum pools kind, uint32_t threads)
{
	wp_pool_config config = config_of(0, threads, WP_FOREVER, kind == WITH_RESERVED ? 2 : -1);

	if (kind == PLAIN)
		config.reserved = 0;
	if (kind == WITH_VIRTUAL) {
		config.execute_virtual = execute_virtual;
		check(wp_group_new(&group, &(wp_group_config){.carriers = 2, .yield_us = 50}) ==
			      WP_OK,
		      "a group");
	}
	check(wp_pool_new(&config, &pool) == WP_OK, "a pool");
	memset((void *)fates, 0, sizeof(fates));
	made = taken = produced = done = waiting = hits = virtual_ones = begins = ends = 0;
	is_let_go = waits = false;
}

static void use(enum wp_strategy_mode mode, void (*runs_it)(void *, void *))
{
	wp_strategy_init(&strategy, &(wp_strategy_config){.mode = mode,
							  .produce = produce,
							  .kind = kind_of,
							  .run = runs_it,
							  .execute = execute,
							  .reject = reject,
							  .start = start,
							  .try_start = try_start});
}

static uint64_t count(enum wp_consumed how)
{
	return wp_strategy_count(&strategy, how);
}

static void await_idle(void)
{
	AWAIT(wp_strategy_is_idle(&strategy), "that nobody produces");
}

static void close_over(enum pools kind, uint32_t tasks)
{
	await(&done, tasks, "tasks");
	await_idle();
	close_pool();
	if (kind == WITH_VIRTUAL) {
		check(wp_group_close(group, patience(), false, NULL, NULL) == WP_OK,
		      "the close of a group");
		wp_group_free(group);
	}
	check(count(WP_CONSUMED) + count(WP_EXECUTED) + count(WP_HANDED_OVER) == tasks,
	      "that each task is counted");
}

/* How tasks that block are run, by mode and pool. */
static void check_counts(enum wp_strategy_mode mode, enum pools kind)
{
	check(mode != WP_PRODUCE_CONSUME || count(WP_CONSUMED) == TASKS,
	      "that the producer runs all");
	check(mode != WP_PRODUCE_EXECUTE_CONSUME || count(WP_EXECUTED) == TASKS,
	      "that the pool runs all");
	check(mode != WP_ADAPTIVE || count(WP_CONSUMED) == 0,
	      "that no producer runs what may block");
	check(mode != WP_ADAPTIVE || kind == WITH_RESERVED || count(WP_EXECUTED) == TASKS,
	      "that without reserved threads nobody executes, produces and consumes");
	check((wp_load_relaxed(&hits) > 0) == (mode == WP_ADAPTIVE && kind == WITH_RESERVED),
	      "that with reserved threads one is taken");
	check(wp_load_relaxed(&hits) <= count(WP_HANDED_OVER),
	      "that who has one started runs its task");
	check(kind != WITH_VIRTUAL || wp_load_relaxed(&virtual_ones) == count(WP_EXECUTED),
	      "that virtual threads run what is executed");
}

static void run_all(enum wp_strategy_mode mode, enum pools kind)
{
	uint32_t many = 0;

	open_over(kind, 8);
	use(mode, run);
	wp_strategy_produce(&strategy);
	check(wp_load_relaxed(&produced) > 0 && wp_strategy_is_idle(&strategy), "that it is idle");
	if (mode == WP_ADAPTIVE && kind == WITH_RESERVED) {
		check(!wp_pool_try_execute(pool, &one), "a miss");
		await_reserved(1);
	}
	for (; many < TASKS; many++) {
		wp_fetch_add_release(&made, 1);
		if (many % 2 == 0 ||
		    (mode == WP_ADAPTIVE && kind != WITH_RESERVED)) /* no start is under way */
			wp_strategy_produce(&strategy);
		else
			check(wp_strategy_dispatch(&strategy) == WP_OK, "a dispatch");
	}
	close_over(kind, TASKS);
	check_counts(mode, kind);
}

CASE(modes)
{
	for (enum wp_strategy_mode mode = WP_PRODUCE_CONSUME; mode <= WP_ADAPTIVE; mode++)
		for (enum pools kind = PLAIN; kind < POOLS; kind++)
			run_all(mode, kind);
}

/* A producer that waits for another offer. */
CASE(offered)
{
	for (enum wp_strategy_mode mode = WP_PRODUCE_CONSUME; mode <= WP_ADAPTIVE; mode++)
		for (enum pools kind = PLAIN; kind < POOLS; kind++) {
			open_over(kind, 8);
			use(mode, run);
			waits = true;
			wp_parker_init(&offered);
			check(wp_strategy_dispatch(&strategy) == WP_OK, "a dispatch");
			for (uint32_t many = 1; many <= OFFERED; many++) {
				wp_fetch_add_release(&made, 1);
				wp_parker_unpark(&offered);
				if (many % 16 == 0)
					await(&done, many, "that all so far have run");
			}
			close_over(kind, OFFERED);
		}
}

/* As many tasks as the pool has threads wait for one that is still to be produced. */
static void block_all(enum wp_strategy_mode mode, enum pools kind)
{
	open_over(kind, BLOCKED);
	use(mode, run_and_wait);
	wp_store_release(&made, BLOCKED + 1);
	check(wp_strategy_dispatch(&strategy) == WP_OK, "a dispatch");
	if (mode == WP_EXECUTE_PRODUCE_CONSUME) {
		await(&waiting, BLOCKED, "that all threads wait");
		check(counts().queued >= 1 && wp_load_relaxed(&taken) == BLOCKED,
		      "that nobody is left to produce"); /* it is not promised */
		wp_strategy_produce(&strategy);
	}
	close_over(kind, BLOCKED + 1);
}

CASE(blocked)
{
	for (enum pools kind = PLAIN; kind < POOLS; kind++) {
		block_all(WP_PRODUCE_EXECUTE_CONSUME, kind);
		block_all(WP_ADAPTIVE, kind);
	}
	block_all(WP_EXECUTE_PRODUCE_CONSUME, PLAIN);
}
