/* SPDX-License-Identifier: Apache-2.0
 * policy.h - placement policies. A policy chooses the carrier for a task by the loads and flags
 * that it reads at that time (placement.h).
 *
 * A policy      is one file, policy_<name>.h, one constant here, and one entry in the table of
 *               policy.c.
 * Not promised  The chosen carrier may not have the least load, because other threads choose, too.
 * Spec          specs/sched/placement/Placement.tla: Choose. Evidence as placement.h. */
#ifndef WP_POLICY_H
#define WP_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/order.h"

/* cdef: begin */
/* HOME                  the home, or the next carrier that is eligible
 * TWO_CHOICES           the less loaded of two carriers drawn at random
 * LEAST_LOADED          the least loaded of all
 * CLUSTER_TWO_CHOICES   two clusters are drawn, and in the one with the lower load per carrier two
 *                       carriers: the less loaded of these
 * A carrier is eligible if it is neither blocked nor an idle spare. */
enum wp_placement_policy {
	WP_PLACE_HOME = 0,
	WP_PLACE_TWO_CHOICES = 1,
	WP_PLACE_LEAST_LOADED = 2,
	WP_PLACE_CLUSTER_TWO_CHOICES = 3,
	WP_PLACE_POLICIES = 4, /* how many there are */
};

/* Returns the name of a policy, as users type it, or NULL if there is no such policy. [any thread |
 * wait-free] */
const char *wp_placement_policy_name(uint32_t policy);
/* cdef: end */

#define WP_PLACE_GLOBAL UINT32_MAX /* no carrier: all are blocked */
#define WP_PLACEMENT_MARKS ((uint64_t)3)
#define WP_PLACE_DORMANT ((uint64_t)4) /* an idle spare carrier: spare_carrier.h */
#define WP_PLACEMENT_UNWANTED (WP_PLACEMENT_MARKS | WP_PLACE_DORMANT)

/* Counts of a group (group_placement.h), which zeroes them. */
typedef struct wp_placement_tally {
	wp_atomic(uint64_t) home, other, nowhere, marks, suspects, moved, taken;
} wp_placement_tally;

/* One cache line per carrier: submitters write to it, and read those of others. */
typedef struct wp_placement_slot {
	/* The high half is the load. The low half has flags: 1 and 2: blocked, set by its task or
	 * by the monitor; 4: an idle spare. */
	_Alignas(WP_LINE) wp_atomic(uint64_t) word;
	wp_placement_tally tally;
} wp_placement_slot;

_Static_assert(sizeof(wp_placement_slot) == WP_LINE, "a load shares its line");

typedef struct wp_placement {
	_Alignas(WP_LINE) wp_atomic(uint64_t) global; /* tasks; may be below 0 */
	_Alignas(WP_LINE) wp_placement_slot *slots;   /* by carrier */
	uint32_t count, clusters;
	wp_atomic(uint32_t) reach; /* carriers from here on are idle spares */
	/* the carriers, cluster by cluster; and for each cluster where the next one begins */
	const uint32_t *members, *ends;
	enum wp_placement_policy policy;
	bool at_dequeue;
	bool is_watched; /* there is a monitor, whose flag the end of a step must see */
} wp_placement;

/* Returns the word of a carrier: load and flags. [any thread | wait-free] */
WP_INLINE uint64_t wp__placement_look(const wp_placement *placement, uint32_t carrier)
{
	/* [policy.1] relaxed: a value that is stale costs a worse choice, or a queue that is moved
	 * once more; pairs placement.1, placement.2, placement.3, placement.4, placement.13;
	 * upholds Placement!BlockingNeverTargeted: placement.1 looks again. */
	return wp_load_relaxed(&placement->slots[carrier].word);
}

/* The load in a word; a load below 0 counts as 0. */
WP_INLINE uint32_t wp__placement_high(uint64_t word)
{
	int32_t high = (int32_t)(uint32_t)(word >> 32);

	return high > 0 ? (uint32_t)high : 0;
}

/* Sets the clusters. `members` lists the carriers of one cluster after the other, and `ends` has
 * for each cluster the place where the next one begins. Both arrays must outlive the placement.
 * [before it is shared | wait-free] */
void wp_placement_clusters(wp_placement *placement, const uint32_t *members, const uint32_t *ends,
			   uint32_t clusters);

/* Chooses a carrier that was eligible when its word was read, or returns WP_PLACE_GLOBAL. *random
 * is the caller's xorshift64 state, not 0. [any thread | wait-free] */
uint32_t wp_placement_choose(const wp_placement *placement, uint32_t home, uint64_t *random);

#endif
