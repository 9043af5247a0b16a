/* SPDX-License-Identifier: Apache-2.0
 * placement.c - what a choice costs, by policy, among carriers as data.
 *
 * Each carrier has about four tasks, so that least_loaded reads all. Each task that is chosen for
 * is counted, and one ends, on the carriers in turn: that is in `none`, too, which chooses nothing.
 * One thread: no line is in another's cache.
 *
 *   sibling   what least_loaded takes longer than `none`, by the number of carriers */
#include "placement.h"

#include "bench.h"

enum { MOST = 256 };

static wp_placement placement;
static wp_placement_slot slots[MOST];
static double least_ns, none_ns;

/* Nobody chooses: what is counted alone. */
static uint32_t in_turn(uint64_t *random)
{
	return (uint32_t)(++*random % placement.count);
}

static double choose(uint32_t carriers, int policy, uint64_t ops)
{
	uint64_t random = 1, turn = 1;
	double begun;

	wp_placement_init(&placement, slots, carriers,
			  policy < 0 ? WP_PLACE_HOME : (enum wp_placement_policy)policy, false);
	for (uint32_t carrier = 0; carrier < carriers; carrier++)
		for (int task = 0; task < 4; task++)
			wp_placement_submitted(&placement, carrier);
	begun = bench_cpu_ns();
	for (uint64_t k = 0; k < ops; k++) {
		uint32_t home = in_turn(&turn);

		if (policy >= 0)
			wp_placement_submitted(&placement,
					       wp_placement_choose(&placement, home, &random));
		else
			wp_placement_submitted(&placement, home);
		wp_placement_ends(&placement, home);
	}
	return bench_cpu_ns() - begun;
}

/* Of the run just made: what least_loaded took longer than no choice. */
static double per_sibling(void)
{
	return (least_ns - none_ns) / placement.count;
}

#define ROW(carriers)                                                               \
	static double none_##carriers(uint64_t ops)                                 \
	{                                                                           \
		double ns = choose(carriers, -1, ops);                              \
                                                                                    \
		none_ns = ns / (double)ops;                                         \
		return ns;                                                          \
	}                                                                           \
	static double home_##carriers(uint64_t ops)                                 \
	{                                                                           \
		return choose(carriers, WP_PLACE_HOME, ops);                        \
	}                                                                           \
	static double two_##carriers(uint64_t ops)                                  \
	{                                                                           \
		return choose(carriers, WP_PLACE_TWO_CHOICES, ops);                 \
	}                                                                           \
	static double least_##carriers(uint64_t ops)                                \
	{                                                                           \
		double ns = choose(carriers, WP_PLACE_LEAST_LOADED, ops);           \
                                                                                    \
		least_ns = ns / (double)ops;                                        \
		return ns;                                                          \
	}

ROW(2)
ROW(16)
ROW(64)
ROW(256)

#define SIDES(carriers)                                                             \
	{                                                                           \
		.name = "placement_" #carriers,                                     \
		.sides = {{"none", none_##carriers}, {"home", home_##carriers},     \
			  {"two", two_##carriers}, {"least", least_##carriers}},    \
		.counts = {{"sibling", per_sibling}},                               \
	}

const bench_row bench_placement[] = {SIDES(2), SIDES(16), SIDES(64), SIDES(256), {.name = NULL}};
