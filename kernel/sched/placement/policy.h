/* SPDX-License-Identifier: Apache-2.0
 * policy.h - which carrier a task is to go to, by loads and marks as they are read
 * (placement.h).
 *
 * A policy      is one file, policy_<name>.h, one constant here and one entry in the table of policy.c.
 * Not promised  That a chosen carrier has the least load: others choose, too.
 * Spec          specs/sched/placement/Placement.tla: Choose. Evidence  as placement.h. */
#ifndef WP_POLICY_H
#define WP_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/order.h"

/* cdef: begin */
/* The home, or the next one that is not marked; the lesser of two that are drawn; the least; the
 * lesser of two that are drawn in the lesser of two clusters. */
enum wp_placement_policy {
	WP_PLACE_HOME = 0,
	WP_PLACE_TWO_CHOICES = 1,
	WP_PLACE_LEAST_LOADED = 2,
	WP_PLACE_CLUSTER_TWO_CHOICES = 3,
	WP_PLACE_POLICIES = 4, /* how many there are */
};

/* As users type it; NULL: there is no such policy. [any thread | wait-free] */
const char *wp_placement_policy_name(uint32_t policy);
/* cdef: end */

#define WP_PLACE_GLOBAL UINT32_MAX /* no carrier: each is marked */
#define WP_PLACEMENT_MARKS ((uint64_t)3)
#define WP_PLACE_DORMANT ((uint64_t)4) /* a spare carrier that is not needed: spare_carrier.h */
#define WP_PLACEMENT_UNWANTED (WP_PLACEMENT_MARKS | WP_PLACE_DORMANT)

/* What groups count (group_placement.h); zeroed by whoever counts. */
typedef struct wp_placement_tally {
	wp_atomic(uint64_t) home, other, nowhere, marks, suspects, moved, taken;
} wp_placement_tally;

/* A line: submitters write to it, and read those of others. */
typedef struct wp_placement_slot {
	/* high half: load; low half: 1, 2: marked, by its task, by others; 4: dormant */
	_Alignas(WP_LINE) wp_atomic(uint64_t) word;
	wp_placement_tally tally;
} wp_placement_slot;

_Static_assert(sizeof(wp_placement_slot) == WP_LINE, "a load shares its line");

typedef struct wp_placement {
	_Alignas(WP_LINE) wp_atomic(uint64_t) global; /* tasks; may be below 0 */
	_Alignas(WP_LINE) wp_placement_slot *slots;   /* by carrier */
	uint32_t count, clusters;
	wp_atomic(uint32_t) reach;      /* nobody from here on is to be chosen: they are dormant */
	const uint32_t *members, *ends; /* cluster after cluster; of each: where the next begins */
	enum wp_placement_policy policy;
	bool at_dequeue;
	bool is_watched; /* whose mark is another's needs to know of it at its end */
} wp_placement;

/* [any thread | wait-free] */
WP_INLINE uint64_t wp__placement_look(const wp_placement *placement, uint32_t carrier)
{
	/* [policy.1] relaxed: stale costs a worse choice, or a queue that is moved once more; pairs
	 * placement.1, placement.2, placement.3, placement.4, placement.13; upholds
	 * Placement!BlockingNeverTargeted: placement.1 looks again. */
	return wp_load_relaxed(&placement->slots[carrier].word);
}

/* The high half of a word, which may be below 0. */
WP_INLINE uint32_t wp__placement_high(uint64_t word)
{
	int32_t high = (int32_t)(uint32_t)(word >> 32);

	return high > 0 ? (uint32_t)high : 0;
}

/* It has so many clusters: which carriers, one after the other, and, of each, where in `members`
 * the next begins. Both outlive it. [before it is shared | wait-free] */
void wp_placement_clusters(wp_placement *placement, const uint32_t *members, const uint32_t *ends,
			   uint32_t clusters);

/* A carrier that was not marked when it was read; or WP_PLACE_GLOBAL. *random: xorshift64 of the
 * caller, not 0. [any thread | wait-free] */
uint32_t wp_placement_choose(const wp_placement *placement, uint32_t home, uint64_t *random);

#endif
