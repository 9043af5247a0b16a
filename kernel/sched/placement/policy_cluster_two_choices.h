/* SPDX-License-Identifier: Apache-2.0
 * policy_cluster_two_choices.h - a placement policy. It draws two clusters at random and takes the
 * one with the lower load per carrier; in it, it draws two carriers and chooses the less loaded
 * one. With one cluster it is policy_two_choices.h.
 *
 * The load of a cluster is the sum over its eligible carriers, divided by their number. A cluster
 * without eligible carriers is passed over. If all carriers of the chosen cluster have become
 * blocked meanwhile, any eligible carrier is taken. */
#ifndef WP_POLICY_CLUSTER_TWO_CHOICES_H
#define WP_POLICY_CLUSTER_TWO_CHOICES_H

#include "sched/placement/policy_draw.h"

WP_INLINE wp__among wp__among_of(const wp_placement *placement, uint32_t cluster)
{
	uint32_t first = cluster == 0 ? 0 : placement->ends[cluster - 1];

	return (wp__among){placement->members + first, placement->ends[cluster] - first};
}

/* Returns the number of eligible carriers of a cluster, and the sum of their loads. [any thread |
 * wait-free] */
WP_INLINE uint32_t wp__among_weigh(const wp_placement *placement, wp__among among, uint64_t *load)
{
	uint32_t count = 0;

	*load = 0;
	for (uint32_t place = 0; place < among.count; place++) {
		uint32_t here = wp__place_weight(placement, among.members[place]);

		if (here != UINT32_MAX)
			*load += here;
		count += here != UINT32_MAX;
	}
	return count;
}

/* The choice, if there are several clusters. [any thread | wait-free] */
WP_INLINE uint32_t wp__place_in_cluster(const wp_placement *placement, wp__among all,
					uint64_t *random)
{
	uint32_t first = wp__place_draw(random, placement->clusters), chosen, many, many_other;
	wp__among among = wp__among_of(placement, first), other;
	uint64_t load, load_other;

	other = wp__among_of(placement, wp__place_draw_other(random, placement->clusters, first));
	many = wp__among_weigh(placement, among, &load);
	many_other = wp__among_weigh(placement, other, &load_other);
	if (many == 0 || load_other * many < load * many_other)
		among = other;
	chosen = wp__place_of_two(placement, among, random);
	if (chosen == WP_PLACE_GLOBAL)
		return wp__place_scan(placement, all, wp__place_draw(random, all.count),
				      UINT32_MAX - 1);
	return chosen;
}

/* See wp__policy. */
WP_INLINE uint32_t wp__place_cluster_two_choices(const wp_placement *placement, wp__among all,
						 uint32_t home, uint64_t *random)
{
	(void)home;
	if (placement->clusters > 1)
		return wp__place_in_cluster(placement, all, random);
	return wp__place_of_two(placement, all, random);
}

#endif
