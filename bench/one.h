/* SPDX-License-Identifier: Apache-2.0
 * one.h - the three patterns of row 1 over any queue. It is included by files that differ in the
 * queue. */
#ifndef WP_BENCH_ONE_H
#define WP_BENCH_ONE_H

#include "bench.h"
#include "task.h"

enum { DEPTH = 64 };

typedef void push_task(bench_task *task);
typedef bench_task *pop_task(void);

/* Our queue with mpsc.2 as a plain load and store: see push_pop_unlocked.c. */
double batch_unlocked(uint64_t ops);
double turn_unlocked(uint64_t ops);

static bench_task tasks[DEPTH];

static void run_task(bench_task *task)
{
	task->runs++;
}

static void prepare_tasks(void)
{
	static bool is_prepared;

	if (is_prepared)
		return;
	is_prepared = true;
	for (size_t k = 0; k < DEPTH; k++)
		tasks[k].run = run_task;
}

BENCH_INLINE bench_task *must_pop(pop_task *pop)
{
	bench_task *task = pop();

	if (task == NULL)
		bench_fail("a pushed task is missing");
	bench_apart();
	return task;
}

BENCH_INLINE double batches(push_task *push, pop_task *pop, size_t depth, uint64_t ops)
{
	double start;

	prepare_tasks();
	start = bench_cpu_ns();
	for (uint64_t done = 0; done < ops; done += depth) {
		for (size_t k = 0; k < depth; k++) {
			push(&tasks[k]);
			bench_apart();
		}
		for (size_t k = 0; k < depth; k++)
			must_pop(pop)->runs++;
	}
	return bench_cpu_ns() - start;
}

BENCH_INLINE double turns(push_task *push, pop_task *pop, uint64_t ops)
{
	double start, ns;

	prepare_tasks();
	for (size_t k = 0; k < DEPTH; k++)
		push(&tasks[k]);
	start = bench_cpu_ns();
	for (uint64_t done = 0; done < ops; done++) {
		bench_task *task = must_pop(pop);

		task->run(task);
		push(task);
		bench_apart();
	}
	ns = bench_cpu_ns() - start;
	while (pop() != NULL)
		continue;
	return ns;
}

/* The patterns over push_WHAT and pop_WHAT, one side each. */
#define ONE_SIDES(what)                                                        \
	BENCH_SIDE(batch_##what, batches(push_##what, pop_##what, DEPTH, ops)) \
	BENCH_SIDE(turn_##what, turns(push_##what, pop_##what, ops))           \
	BENCH_SIDE(ping_##what, batches(push_##what, pop_##what, 1, ops))

#endif
