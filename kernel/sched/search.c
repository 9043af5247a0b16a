/* SPDX-License-Identifier: Apache-2.0
 * search.c - finds an idle carrier that steals from a victim, and looks again after each release of
 * a token. The essay on the three fences is in carrier.h. */
#include "sched/search.h"

#include "base/futex.h"
#include "sched/poller.h"
#include "sched/run_queues.h"

void wp__carrier_wake(wp_carrier *carrier, uint32_t place)
{
	if (place == WP_PARKED_POLLER)
		wp__poller_wake(carrier->poller);
	else
		wp_futex_wake(&carrier->word, 1);
}

/* Wakes a carrier for the search. Returns true if the carrier was idle and will come; the token
 * then goes with the wake. [a token's holder] */
static bool recruit(wp_carrier *helper, uint32_t victim)
{
	/* [search.2] relaxed: ordered by idle_set.3, [carrier.7] or [search.7]; pairs carrier.1;
	 * upholds Search!WorkConservation. */
	uint32_t word = wp_load_relaxed(&helper->word), place = word;

	/* [search.1] acq_rel; pairs carrier.1, carrier.2, carrier.5, carrier.8; upholds
	 * Search!SearchingImpliesToken: the carrier that reads the victim at its exit holds the
	 * token; for the rest as carrier.3. */
	if (!wp__is_parked(word) || !wp_cas_acq_rel(&helper->word, &word, WP_SEARCHING + victim))
		return false;
	wp__carrier_wake(helper, place);
	return true;
}

/* Tries the idle carriers `from` to end - 1. [a token's holder | as recruit_any] */
static bool recruit_among(wp_domain *domain, uint32_t victim, uint32_t from, uint32_t end)
{
	for (uint32_t first = from - from % WP_IDLESET_BITS; first < end;
	     first += WP_IDLESET_BITS) {
		uint64_t bits = wp_idle_set_word(&domain->idle, first / WP_IDLESET_BITS);

		for (; bits != 0; bits &= bits - 1) {
			uint32_t index = first + (uint32_t)__builtin_ctzll(bits);

			if (index >= from && index < end && index != victim &&
			    recruit(domain->carriers[index], victim))
				return true;
		}
	}
	return false;
}

/* Tries the idle carriers, the victim's cluster first. [a token's holder | one system call if a
 * carrier is woken] */
static bool recruit_any(wp_domain *domain, uint32_t victim)
{
	uint32_t nearest = domain->carriers[victim]->near_first;

	return recruit_among(domain, victim, nearest, domain->count) ||
	       recruit_among(domain, victim, 0, nearest);
}

/* Returns true if the carrier's idle bit is set and its word says parked, too. With the bit alone,
 * a lone searcher could spin for ever. [any thread | wait-free] */
static bool is_idle(wp_domain *domain, uint32_t index)
{
	/* [search.4] relaxed: ordered by [search.7]; pairs carrier.1; upholds
	 * Search!SubmitTerminates. */
	return wp__is_parked(wp_load_relaxed(&domain->carriers[index]->word));
}

bool wp__search_recheck(wp_domain *domain, uint32_t *victim)
{
	uint32_t idle = 0, last_idle = 0;

	/* [search.7] seq_cst fence; pairs carrier.7, carrier.6; upholds Search!WorkConservation:
	 * this token is free before the look. */
	wp_fence_seq_cst();
	for (uint32_t first = 0; first < domain->count && idle < 2; first += WP_IDLESET_BITS) {
		uint64_t bits = wp_idle_set_word(&domain->idle, first / WP_IDLESET_BITS);

		for (; bits != 0 && idle < 2; bits &= bits - 1) {
			uint32_t index = first + (uint32_t)__builtin_ctzll(bits);

			if (is_idle(domain, index)) {
				last_idle = index;
				idle++;
			}
		}
	}
	for (uint32_t index = 0; idle > 0 && index < domain->count; index++) {
		if ((idle > 1 || index != last_idle) &&
		    wp__carrier_is_hit(domain->carriers[index], true)) {
			*victim = index;
			return true;
		}
	}
	return false;
}

/* Returns the siblings of a carrier in the order of distance, for step = 1, 2 and so on. First come
 * those of its cluster, from the one after itself on; then come the others, from the one after its
 * cluster on. [any thread | wait-free] */
static uint32_t sibling_at(wp_carrier *carrier, uint32_t step)
{
	uint32_t first = carrier->near_first, near = carrier->near_end - first;

	if (step < near)
		return first + (carrier->index - first + step) % near;
	return (first + step) % carrier->domain->count;
}

bool wp__search_around(wp_carrier *carrier, uint32_t *victim)
{
	wp_domain *domain = carrier->domain;

	for (uint32_t step = 1; step < domain->count; step++) {
		uint32_t sibling = sibling_at(carrier, step);

		if (wp__carrier_is_hit(domain->carriers[sibling], true)) {
			*victim = sibling;
			return true;
		}
	}
	return false;
}

void wp_search(wp_domain *domain, uint32_t victim)
{
	do {
		if (!wp_search_start(domain)) {
			wp__counted(wp__count_denied(&domain->counts, victim));
			return;
		}
		wp__counted(wp__count_search(&domain->counts, victim));
		if (recruit_any(domain, victim))
			return;
		wp__counted(wp__count_shared(&domain->counts.no_idle));
		wp_search_stop(domain);
	} while (wp__search_recheck(domain, &victim));
}
