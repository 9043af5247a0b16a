/* SPDX-License-Identifier: Apache-2.0
 * dump.c - the cost of a dump for each parked thread that it looks at, lists or counts.
 *
 * CPU time of the thread that dumps; the carrier sleeps. The memory of all stacks was touched long
 * ago, as in a program with threads that wait. */
#include "inspect/dump.h"
#include "threads.h"

enum { THREADS = 50000 };

static wp_vthread *threads[THREADS];
static wp_atomic(uint32_t) parked;

static int parks(void *arg)
{
	if (wp_fetch_add_relaxed(&parked, 1) + 1 == THREADS)
		carriers_count(&carriers_ended);
	return wp_vthread_park_until(WP_FOREVER) != WP_OK && arg != NULL;
}

static wp_group *park_all(void)
{
	wp_group_config many = {.carriers = 1, .yield_us = 50, .max_stacks = THREADS};
	wp_vthread_config config = {.name = "parked", .run = parks};
	wp_group *group;

	if (wp_group_new(&group, &many) != WP_OK)
		bench_fail("no group");
	wp_init(&parked, 0);
	wp_init(&carriers_ended, 0);
	for (uint32_t at = 0; at < THREADS; at++) {
		if (wp_vthread_new(group, &config, &threads[at]) != WP_OK)
			bench_fail("no virtual thread");
		threads_start(threads[at]);
	}
	carriers_await(&carriers_ended, 1);
	return group;
}

static void end_all(wp_group *group)
{
	for (uint32_t at = 0; at < THREADS; at++)
		wp_vthread_unpark(threads[at]);
	for (uint32_t at = 0; at < THREADS; at++)
		threads_join(threads[at]);
	wp_group_close(group, WP_FOREVER, false, NULL, NULL);
	wp_group_free(group);
}

static int drop(void *arg, const char *text, size_t bytes)
{
	return arg == NULL && text != NULL && bytes > 0 ? 0 : -1;
}

static void dump(wp_group *group, enum wp_dump_format format)
{
	wp_dump_config config = {.format = format, .write = drop};

	if (wp_dump(group, &config) != WP_OK)
		bench_fail("no dump");
}

static double in_format(uint64_t ops, enum wp_dump_format format)
{
	uint64_t rounds = (ops + THREADS - 1) / THREADS;
	wp_group *group = park_all();
	double begun, ns;

	begun = bench_cpu_ns();
	for (uint64_t round = 0; round < rounds; round++)
		dump(group, format);
	ns = bench_cpu_ns() - begun;
	end_all(group);
	return ns * (double)ops / (double)(rounds * THREADS);
}

BENCH_SIDE(as_text, in_format(ops, WP_DUMP_TEXT))
BENCH_SIDE(as_json, in_format(ops, WP_DUMP_JSON))

const bench_row bench_dump[] = {
	{.name = "dump", .sides = {{"text", as_text}, {"json", as_json}, {"5us", .goal_ns = 5000}}},
	{.name = NULL},
};
