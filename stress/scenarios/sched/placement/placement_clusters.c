/* SPDX-License-Identifier: Apache-2.0
 * placement_clusters.c - carrier 0, alone in the less loaded cluster, is marked as blocked.
 *
 *   carrier 0                    submitter
 *   mark; publish it             knows? compare the clusters
 *                                choose in the less loaded one
 *
 * Result        "chosen, it knew".
 * Why it works  The other cluster has a carrier that is never marked, so a carrier is always
 *               available.
 * Spec          specs/sched/placement/Placement.tla: Choose. */
#include "sched/placement/placement.h"
#include "stress.h"

enum { CARRIERS = 3, CLUSTERS = 2 };

struct state {
	wp_placement placement;
	wp_placement_slot slots[CARRIERS];
	uint32_t members[CARRIERS], ends[CLUSTERS];
	wp_atomic(uint32_t) is_marked;
};

STRESS_INIT(init)
{
	wp_placement_init(&state->placement, state->slots, CARRIERS, WP_PLACE_CLUSTER_TWO_CHOICES,
			  false);
	for (uint32_t carrier = 0; carrier < CARRIERS; carrier++)
		state->members[carrier] = carrier;
	state->ends[0] = 1;
	state->ends[1] = CARRIERS;
	wp_placement_clusters(&state->placement, state->members, state->ends, CLUSTERS);
	wp_init(&state->slots[1].word, (uint64_t)4 << 32);
	wp_placement_mark(&state->placement, 2);
	wp_init(&state->is_marked, 0);
}

STRESS_ACTOR(marks)
{
	wp_placement_mark(&state->placement, 0);
	wp_store_release(&state->is_marked, 1);
}

STRESS_ACTOR(chooses)
{
	uint64_t random = 1;

	result->r[1] = wp_load_acquire(&state->is_marked);
	result->r[0] = wp_placement_choose(&state->placement, 0, &random);
}

STRESS_TEST(placement_cluster,
	    .claim = "If no carrier of a cluster is available, one of another cluster is chosen.",
	    .upholds = "Placement!BlockingNeverTargeted", .state_size = sizeof(struct state),
	    .init = init, .actors = {marks, chooses}, .results = 2,
	    .outcomes = {
		    {"0,0", ACCEPTABLE, "carrier 0 was not marked yet"},
		    {"1,*", ACCEPTABLE, "a carrier that is not blocked was chosen"},
		    {"*", FORBIDDEN, "a blocked carrier was chosen, or none"},
	    });
