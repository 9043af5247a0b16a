/* SPDX-License-Identifier: Apache-2.0
 * spread.c - costs of tasks, and how evenly they were spread; see policies.h. */
#include <stdlib.h>

#include "policies.h"

enum { OCTAVES = 8, CLUSTER = 8 };

spread spread_found;
static double half_ns, most_ns;

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
	*random ^= *random << 13;
	*random ^= *random >> 7;
	*random ^= *random << 17;
	return *random >> 16; /* the lowest bits are the poorest */
}

uint32_t spread_units(uint64_t *random)
{
	return 1u << __builtin_ctzll(spread_random(random) | 1u << OCTAVES);
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double spread_waits(double *ns, uint32_t many)
{
	qsort(ns, many, sizeof(*ns), by_size);
	half_ns = ns[many / 2];
	most_ns = ns[many - 1];
	return ns[(many * 99 - 1) / 100];
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

double spread_queue(void)
{
	return spread_found.queue;
}

double spread_work(void)
{
	return spread_found.work;
}

double spread_half_us(void)
{
	return half_ns / 1e3;
}

double spread_most_us(void)
{
	return most_ns / 1e3;
}
