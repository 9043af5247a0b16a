/* SPDX-License-Identifier: Apache-2.0
 * policy.c - see policy.h. */
#include "sched/placement/policy.h"

#include <stddef.h>

/* Carriers to choose from. members NULL: they are the first so many. */
typedef struct some {
	const uint32_t *members;
	uint32_t count;
} some;

static uint32_t carrier_at(some among, uint32_t place)
{
	return among.members == NULL ? place : among.members[place];
}

/* What a load is compared by: more than any, if marked, or dormant. [any thread | wait-free] */
static uint32_t weight(const wp_placement *placement, uint32_t carrier)
{
	uint64_t word = wp__placement_look(placement, carrier);
	bool is_unwanted = (word & WP_PLACEMENT_UNWANTED) != 0;

	return is_unwanted ? UINT32_MAX : wp__placement_high(word);
}

/* [any thread | wait-free] */
static some all_of(const wp_placement *placement)
{
	/* [RP7] relaxed: stale costs a worse choice; pairs RP6; upholds
	 * Replacement!RetiredIsEmpty: PL2 looks again. */
	return (some){NULL, wp_load_relaxed(&placement->reach)};
}

/* xorshift64 [the state's owner | wait-free] */
static uint32_t draw(uint64_t *random, uint32_t below)
{
	*random ^= *random << 13;
	*random ^= *random >> 7;
	*random ^= *random << 17;
	return (uint32_t)((*random >> 32) * below >> 32);
}

/* Another one than `first`, of two at least. */
static uint32_t draw_other(uint64_t *random, uint32_t below, uint32_t first)
{
	uint32_t second = draw(random, below - 1);

	return second + (second >= first);
}

/* The least from `first` on, the first of equals; or the first that weighs no more than `enough`.
 * [any thread | wait-free] */
static uint32_t scan(const wp_placement *placement, some among, uint32_t first, uint32_t enough)
{
	uint32_t least = UINT32_MAX, found = WP_PLACE_GLOBAL;
	uint32_t place = first < among.count ? first : 0;

	for (uint32_t seen = 0; seen < among.count; seen++) {
		uint32_t carrier = carrier_at(among, place), here = weight(placement, carrier);

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

/* [any thread | wait-free] */
static uint32_t choose_of_two(const wp_placement *placement, some among, uint64_t *random)
{
	uint32_t first = draw(random, among.count), second, of_first, of_second;

	if (among.count == 1)
		return scan(placement, among, 0, 0);
	second = draw_other(random, among.count, first);
	of_first = weight(placement, carrier_at(among, first));
	of_second = weight(placement, carrier_at(among, second));
	if (of_first == UINT32_MAX && of_second == UINT32_MAX)
		return scan(placement, among, first, UINT32_MAX - 1);
	return carrier_at(among, of_second < of_first ? second : first);
}

static some members_of(const wp_placement *placement, uint32_t cluster)
{
	uint32_t first = cluster == 0 ? 0 : placement->ends[cluster - 1];

	return (some){placement->members + first, placement->ends[cluster] - first};
}

/* Of those that are not marked: how many, and their loads. [any thread | wait-free] */
static uint32_t weigh(const wp_placement *placement, some among, uint64_t *load)
{
	uint32_t count = 0;

	*load = 0;
	for (uint32_t place = 0; place < among.count; place++) {
		uint32_t here = weight(placement, among.members[place]);

		if (here != UINT32_MAX)
			*load += here;
		count += here != UINT32_MAX;
	}
	return count;
}

/* [any thread | wait-free] */
static uint32_t choose_in_cluster(const wp_placement *placement, some all, uint64_t *random)
{
	uint32_t first = draw(random, placement->clusters), chosen, many, many_other;
	some among = members_of(placement, first), other;
	uint64_t load, load_other;

	other = members_of(placement, draw_other(random, placement->clusters, first));
	many = weigh(placement, among, &load);
	many_other = weigh(placement, other, &load_other);
	if (many == 0 || load_other * many < load * many_other)
		among = other;
	chosen = choose_of_two(placement, among, random);
	if (chosen == WP_PLACE_GLOBAL)
		return scan(placement, all, draw(random, all.count), UINT32_MAX - 1);
	return chosen;
}

void wp_placement_clusters(wp_placement *placement, const uint32_t *members, const uint32_t *ends,
			   uint32_t clusters)
{
	placement->members = members;
	placement->ends = ends;
	placement->clusters = clusters;
}

uint32_t wp_placement_choose(const wp_placement *placement, uint32_t home, uint64_t *random)
{
	some all = all_of(placement);

	switch (placement->policy) {
	case WP_PLACE_HOME:
		return scan(placement, all, home, UINT32_MAX - 1);
	case WP_PLACE_LEAST_LOADED:
		return scan(placement, all, draw(random, all.count), 0);
	case WP_PLACE_CLUSTER_TWO_CHOICES:
		if (placement->clusters > 1)
			return choose_in_cluster(placement, all, random);
		/* fall through */
	default:
		return choose_of_two(placement, all, random);
	}
}
