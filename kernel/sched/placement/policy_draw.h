/* SPDX-License-Identifier: Apache-2.0
 * policy_draw.h - what placement policies share: sets of carriers to choose from, draws, scans. */
#ifndef WP_POLICY_DRAW_H
#define WP_POLICY_DRAW_H

#include <stddef.h>

#include "sched/placement/policy.h"

/* A set of carriers to choose from. If `members` is NULL, it is the first `count` carriers. */
typedef struct wp__among {
	const uint32_t *members;
	uint32_t count;
} wp__among;

WP_INLINE uint32_t wp__among_at(wp__among among, uint32_t place)
{
	return among.members == NULL ? place : among.members[place];
}

/* Returns the load by which carriers are compared; UINT32_MAX for a carrier that is not eligible.
 * [any thread | wait-free] */
WP_INLINE uint32_t wp__place_weight(const wp_placement *placement, uint32_t carrier)
{
	uint64_t word = wp__placement_look(placement, carrier);
	bool is_unwanted = (word & WP_PLACEMENT_UNWANTED) != 0;

	return is_unwanted ? UINT32_MAX : wp__placement_high(word);
}

/* Returns the set of all carriers except the idle spares at the end. [any thread | wait-free] */
WP_INLINE wp__among wp__among_all(const wp_placement *placement)
{
	/* [policy_draw.1] relaxed: a value that is stale costs a worse choice; pairs
	 * spare_carrier.6; upholds SpareCarrier!RetiredIsEmpty: placement.1 looks again. */
	return (wp__among){NULL, wp_load_relaxed(&placement->reach)};
}

/* Returns a random number below `below`, by xorshift64. [the state's owner | wait-free] */
WP_INLINE uint32_t wp__place_draw(uint64_t *random, uint32_t below)
{
	*random ^= *random << 13;
	*random ^= *random >> 7;
	*random ^= *random << 17;
	return (uint32_t)((*random >> 32) * below >> 32);
}

/* Returns a random number other than `first`, below `below` >= 2. */
WP_INLINE uint32_t wp__place_draw_other(uint64_t *random, uint32_t below, uint32_t first)
{
	uint32_t second = wp__place_draw(random, below - 1);

	return second + (second >= first);
}

/* Scans from `first` on for the carrier with the least load, and among equals for the first one. It
 * stops at a carrier with a load of no more than `enough`. Returns WP_PLACE_GLOBAL if none is
 * eligible. [any thread | wait-free] */
WP_INLINE uint32_t wp__place_scan(const wp_placement *placement, wp__among among, uint32_t first,
				  uint32_t enough)
{
	uint32_t least = UINT32_MAX, found = WP_PLACE_GLOBAL;
	uint32_t place = first < among.count ? first : 0;

	for (uint32_t seen = 0; seen < among.count; seen++) {
		uint32_t carrier = wp__among_at(among, place),
			 here = wp__place_weight(placement, carrier);

		if (here < least) {
			least = here;
			found = carrier;
			if (here <= enough)
				break;
		}
		if (++place == among.count)
			place = 0;
	}
	return found;
}

/* Returns the less loaded of two carriers that are drawn at random; if neither is eligible, the
 * next one that is. [any thread | wait-free] */
WP_INLINE uint32_t wp__place_of_two(const wp_placement *placement, wp__among among,
				    uint64_t *random)
{
	uint32_t first = wp__place_draw(random, among.count), second, of_first, of_second;

	if (among.count == 1)
		return wp__place_scan(placement, among, 0, 0);
	second = wp__place_draw_other(random, among.count, first);
	of_first = wp__place_weight(placement, wp__among_at(among, first));
	of_second = wp__place_weight(placement, wp__among_at(among, second));
	if (of_first == UINT32_MAX && of_second == UINT32_MAX)
		return wp__place_scan(placement, among, first, UINT32_MAX - 1);
	return wp__among_at(among, of_second < of_first ? second : first);
}

#endif
