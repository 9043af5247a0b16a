/* SPDX-License-Identifier: Apache-2.0
 * scale.c - the cost of a yield and of a hand-over among few virtual threads of a carrier, and
 * among a million.
 *
 *   conductor                          member, of as many as the row says
 *   unparks them; notes the time       parks; yields as often as it should
 *   parks                              the last one unparks the conductor
 *   or unparks the first; parks        or parks; unparks the next of the ring; parks ..
 *
 * A yield is one run of a member. In each round all members run in turn, so each finds its stack as
 * the caches have left it. A hand-over is an unpark and the park that follows. Members that a row
 * does not need stay parked. The time is the CPU time of the carrier, on which all run; what they
 * share needs no atomics. */
#include "threads.h"

enum { MILLION = 1000000 };

static wp_vthread *members[MILLION], *conductor;
static uint32_t made, many;
static uint64_t yields_each, left;
static double ns;

static int member(void *arg)
{
	uintptr_t next = (uintptr_t)arg + 1;

	for (;;) {
		wp_vthread_park_until(WP_FOREVER);
		for (uint64_t k = 0; k < yields_each; k++)
			wp_vthread_yield();
		if (--left == 0)
			wp_vthread_unpark(conductor);
		else if (yields_each == 0)
			wp_vthread_unpark(members[next < many ? next : 0]);
	}
	return 0;
}

static int conducts(void *arg)
{
	double begun;

	for (uint32_t k = 0; k < (yields_each > 0 ? many : 1); k++)
		wp_vthread_unpark(members[k]);
	begun = bench_cpu_ns();
	wp_vthread_park_until(WP_FOREVER);
	ns = bench_cpu_ns() - begun;
	return arg != NULL;
}

/* Places the first `count` members, and lets the conductor make them run `each` times, or pass a
 * turn on `runs` times. */
static double conduct(uint32_t count, uint64_t each, uint64_t runs)
{
	wp_group *group = carriers_of_one();

	for (; made < count; made++) {
		members[made] = threads_new(group, 0, member, (void *)(uintptr_t)made);
		threads_start(members[made]);
	}
	many = count;
	yields_each = each;
	left = runs;
	conductor = threads_new(group, 0, conducts, NULL);
	threads_start(conductor);
	threads_join(conductor);
	return ns;
}

static double yield_among(uint32_t most, uint64_t ops)
{
	uint32_t count = ops < most ? (uint32_t)ops : most;
	uint64_t runs = ops / count > 2 ? ops / count : 2;

	return conduct(count, runs - 1, count) * (double)ops / (double)(runs * count);
}

static double turn_among(uint32_t most, uint64_t ops)
{
	return conduct(ops < most ? (uint32_t)ops : most, 0, ops);
}

BENCH_SIDE(yield_1, yield_among(1, ops))
BENCH_SIDE(yield_1k, yield_among(1000, ops))
BENCH_SIDE(yield_100k, yield_among(100000, ops))
BENCH_SIDE(yield_1m, yield_among(MILLION, ops))

/* Limit: one cache line of each member; its address is known when the line before has been read. */
static double line_1m(uint64_t ops)
{
	uint32_t count = ops < MILLION ? (uint32_t)ops : MILLION;
	uint64_t at = 0;
	double begun;

	conduct(count, 1, count);
	begun = bench_cpu_ns();
	for (uint64_t k = 0; k < ops; k++)
		at += 1 + (*(volatile uint64_t *)(void *)members[at % count] == UINT64_MAX);
	return bench_cpu_ns() - begun;
}

BENCH_SIDE(turn_2, turn_among(2, ops))
BENCH_SIDE(turn_1k, turn_among(1000, ops))
BENCH_SIDE(turn_100k, turn_among(100000, ops))
BENCH_SIDE(turn_1m, turn_among(MILLION, ops))

const bench_row bench_scale[] = {
	{.name = "scale_yield",
	 .sides = {{"1", yield_1},
		   {"1k", yield_1k},
		   {"100k", yield_100k},
		   {"1m", yield_1m},
		   {"line", line_1m}}},
	{.name = "scale_turn",
	 .sides = {{"1", turn_2}, {"1k", turn_1k}, {"100k", turn_100k}, {"1m", turn_1m}}},
	{.name = NULL},
};
