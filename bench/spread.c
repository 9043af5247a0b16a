/* SPDX-License-Identifier: Apache-2.0
 * spread.c - the costs of tasks, and how evenly they were spread; see policies.h. */
#include "policies.h"

enum { OCTAVES = 8, CLUSTER = 8 };

spread spread_found;

void policy_init(wp_placement *placement, wp_placement_slot *slots, uint32_t carriers, int policy,
		 bool at_dequeue)
{
	int known = policy < 0 ? WP_PLACE_HOME : policy;

	static uint32_t members[SPREAD_CARRIERS], ends[SPREAD_CARRIERS];
	uint32_t clusters = 0;

	wp_placement_init(placement, slots, carriers, (enum wp_placement_policy)known, at_dequeue);
	for (uint32_t index = 0; index < carriers; index++)
		members[index] = index;
	for (uint32_t end = CLUSTER; end <= carriers; end += CLUSTER)
		ends[clusters++] = end;
	if (clusters > 1)
		wp_placement_clusters(placement, members, ends, clusters);
}

uint64_t spread_random(uint64_t *random)
{
	return bench_random(random) >> 16; /* the lowest bits are the least random */
}

uint32_t spread_units(uint64_t *random)
{
	return 1u << __builtin_ctzll(spread_random(random) | 1u << OCTAVES);
}

double spread_waits(double *ns, uint32_t many)
{
	double p99_ns = bench_p99(ns, many);

	spread_found.half_us = ns[many / 2] / 1e3;
	spread_found.most_us = ns[many - 1] / 1e3;
	return p99_ns;
}

double spread_of(const double *values, uint32_t many)
{
	double most = 0, sum = 0;

	for (uint32_t k = 0; k < many; k++) {
		most = values[k] > most ? values[k] : most;
		sum += values[k];
	}
	return sum > 0 ? most * many / sum : 1;
}
