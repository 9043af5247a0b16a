/* SPDX-License-Identifier: Apache-2.0
 * policy.c - see policy.h: the table of policies. */
#include "sched/placement/policy.h"

#include "sched/placement/policy_cluster_two_choices.h"
#include "sched/placement/policy_home.h"
#include "sched/placement/policy_least_loaded.h"
#include "sched/placement/policy_two_choices.h"

/* `choose` returns a carrier among `all` that was eligible when its word was read, or
 * WP_PLACE_GLOBAL. `home` is the caller's choice; *random is the caller's xorshift64 state, not 0.
 * [any thread | wait-free] */
typedef struct wp__policy {
	const char *name;
	uint32_t (*choose)(const wp_placement *placement, wp__among all, uint32_t home,
			   uint64_t *random);
} wp__policy;

static const wp__policy policies[] = {
	[WP_PLACE_HOME] = {"home", wp__place_home},
	[WP_PLACE_TWO_CHOICES] = {"two_choices", wp__place_two_choices},
	[WP_PLACE_LEAST_LOADED] = {"least_loaded", wp__place_least_loaded},
	[WP_PLACE_CLUSTER_TWO_CHOICES] = {"cluster_two_choices", wp__place_cluster_two_choices},
};

_Static_assert(sizeof(policies) / sizeof(policies[0]) == WP_PLACE_POLICIES,
	       "each policy has an entry in this table");

void wp_placement_clusters(wp_placement *placement, const uint32_t *members, const uint32_t *ends,
			   uint32_t clusters)
{
	placement->members = members;
	placement->ends = ends;
	placement->clusters = clusters;
}

const char *wp_placement_policy_name(uint32_t policy)
{
	return policy < WP_PLACE_POLICIES ? policies[policy].name : NULL;
}

uint32_t wp_placement_choose(const wp_placement *placement, uint32_t home, uint64_t *random)
{
	return policies[placement->policy].choose(placement, wp__among_all(placement), home,
						  random);
}
