/* SPDX-License-Identifier: Apache-2.0
 * placement.c - the cost of a choice, by policy, among carriers as data.
 *
 * Each carrier has about four tasks, so least_loaded reads all loads. Each task that is placed is
 * counted, and one task ends, on the carriers in turn. `none` does this, too, and chooses nothing.
 * All by one thread, so no cache line is in another's cache.
 *
 *   sibling   how much longer a policy takes than `none`, by the number of carriers */
#include "policies.h"

enum { MOST = 256, NONE = -1 };

static wp_placement placement;
static wp_placement_slot slots[MOST];
static double none_ns;     /* each, of the latest `none` */
static double per_sibling; /* how much longer the latest run took */

/* No choice: only the counting. */
static uint32_t in_turn(uint64_t *random)
{
	return (uint32_t)(++*random % placement.count);
}

static double choose(uint32_t carriers, int policy, uint64_t ops)
{
	uint64_t random = 1, turn = 1;
	double begun, ns, took_ns;

	policy_init(&placement, slots, carriers, policy, false);
	for (uint32_t carrier = 0; carrier < carriers; carrier++)
		for (int task = 0; task < 4; task++)
			wp_placement_submitted(&placement, carrier);
	begun = bench_cpu_ns();
	for (uint64_t k = 0; k < ops; k++) {
		uint32_t home = in_turn(&turn), chosen = home;

		if (policy != NONE)
			chosen = wp_placement_choose(&placement, home, &random);
		wp_placement_submitted(&placement, chosen);
		wp_placement_ends(&placement, home);
	}
	ns = bench_cpu_ns() - begun;
	took_ns = ns / (double)ops;
	if (policy == NONE)
		none_ns = took_ns;
	per_sibling = (took_ns - none_ns) / placement.count;
	return ns;
}

#define ROW(carriers)                                                             \
	static double among_##carriers(int policy, bool at_dequeue, uint64_t ops) \
	{                                                                         \
		(void)at_dequeue;                                                 \
		return choose(carriers, policy, ops);                             \
	}

ROW(2)
ROW(4)
ROW(16)
ROW(64)
ROW(256)

#define SIDES(carriers)                                \
	{                                              \
		.name = "placement_" #carriers,        \
		.of_policy = among_##carriers,         \
		.own = {{"none", NONE}},               \
		.counts = {{"sibling", &per_sibling}}, \
	}

const bench_row bench_placement[] = {SIDES(2),  SIDES(4),   SIDES(16),
				     SIDES(64), SIDES(256), {.name = NULL}};
