/* SPDX-License-Identifier: Apache-2.0
 * placement_clusters.c - carrier 0 is in a cluster of its own, the lesser one, and is marked.
 *
 *   carrier 0                    submitter                    result: "chosen, it knew"
 *   mark; says so                knows? weigh both clusters
 *                                choose in the lesser one
 *
 * Why it works  The other cluster has a carrier that nobody marks, so one is to be had at all
 *               times.
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
	    .claim = "Nobody of a cluster is to be had: one of another is chosen.",
	    .upholds = "Placement!BlockingNeverTargeted", .state_size = sizeof(struct state),
	    .init = init, .actors = {marks, chooses}, .results = 2,
	    .outcomes = {
		    {"0,0", ACCEPTABLE, "it was not marked yet"},
		    {"1,*", ACCEPTABLE, "the one that is not marked"},
		    {"*", FORBIDDEN, "one that was marked, or none"},
	    });
