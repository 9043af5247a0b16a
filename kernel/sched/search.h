/* SPDX-License-Identifier: Apache-2.0
 * search.h - the search tokens (nSearching) of a steal domain. A search is the attempt to wake an
 * idle carrier so that it steals from a busy one, the victim. A thread needs a token for it, so at
 * most `limit` searches are in flight: half of the domain's carriers.
 *
 *   searcher                                      searcher that finds all tokens taken
 *   [search.5] compare-and-swap(taken, n, n + 1)  [search.5] taken = limit: leave the task to the
 *   [search.6] taken -= 1, when no carrier was               holders of the tokens, each of which
 *              found or the steal is done                    looks again after search.6 ([search.7]
 *                                                            in carrier.c)
 *
 * Why it works  The tokens limit how many carriers are woken at a time, so a burst of submissions
 *               does not wake every carrier. This is safe only because every release of a token is
 *               followed by fence [search.7] and a look at all queues of the domain. One holder that
 *               looks again is enough, so the number of tokens does not matter to the proof. A token
 *               travels with the wake: a carrier that is woken as SEARCHING holds one and releases
 *               it. A carrier that puts off a steal holds a token while it sleeps. If it is sent to
 *               a second victim meanwhile it has two, and releases one when it wakes; it looks
 *               at all queues after the release of the other.
 * Prior art     Go limits its spinning Ms (sched.nmspinning) and rechecks after one stops spinning;
 *               Tokio counts its searching workers.
 * Spec          specs/sched/Search.tla: EveryStartSearchMatchedByOneStop, SearchingImpliesToken.
 * Evidence      make check-specs T=Search, make stress T=search. */
#ifndef WP_SEARCH_H
#define WP_SEARCH_H

#include <stddef.h>

#include "base/counters.h"
#include "base/order.h"
#include "queue/idle_set.h"

struct wp_carrier;

/* A steal domain is a set of carriers that steal from one another and from no others. The tokens and
 * the idle set have cache lines of their own; `carriers`, `count` and `limit` are written before the
 * domain is shared. For `counts` see counters.h. */
typedef struct wp_domain {
	/* Tokens that are taken. Writers: search.5, search.6. */
	_Alignas(WP_LINE) wp_atomic(uint32_t) searching;
	wp_idle_set idle;
	_Alignas(WP_LINE) struct wp_carrier **carriers; /* by index */
	uint32_t count;
	uint32_t limit; /* of tokens, 1 or more */
	wp_search_counts counts;
} wp_domain;

_Static_assert(offsetof(wp_domain, idle) - offsetof(wp_domain, searching) >= WP_LINE,
	       "token shares a line");

/* Makes an empty domain. `carriers` has room for `count` <= WP_IDLESET_MEMBERS entries;
 * wp_carrier_init enters each carrier. [before it is shared | wait-free] */
WP_INLINE void wp_domain_init(wp_domain *domain, struct wp_carrier **carriers, uint32_t count)
{
	wp_init(&domain->searching, 0);
	wp_idle_set_init(&domain->idle);
	domain->carriers = carriers;
	domain->count = count;
	domain->limit = count < 4 ? 1 : count / 2;
	wp__counted(domain->counts = (wp_search_counts){0});
}

/* Takes a token, unless all are taken. Returns true if the caller now holds one, and must release it
 * or pass it on. [any thread | lock-free] */
WP_INLINE bool wp_search_start(wp_domain *domain)
{
	uint32_t taken = 0;

	do {
		/* [search.5] acquire; pairs search.6; upholds
		 * Search!EveryStartSearchMatchedByOneStop. It is a strong compare-and-swap, because a
		 * spurious failure would leave the task to a holder that does not exist. */
		if (wp_cas_acquire(&domain->searching, &taken, taken + 1))
			return true;
	} while (taken < domain->limit);
	return false;
}

/* Releases a token. The caller must look at all queues afterwards ([search.7]), or after the release
 * of another one that it holds. [a holder | wait-free] */
WP_INLINE void wp_search_stop(wp_domain *domain)
{
	/* [search.6] release; pairs search.5; upholds
	 * Search!EveryStartSearchMatchedByOneStop; fence [search.7] orders this release before the
	 * look at the queues. */
	wp_fetch_add_release(&domain->searching, (uint32_t)-1);
}

/* Wakes one idle carrier to steal from the victim, a carrier's index, unless all tokens are taken.
 * [any thread | one system call at the most] */
void wp_search(wp_domain *domain, uint32_t victim);

/* Looks for work after the release of a token. Returns true if carrier *victim has work and another
 * carrier is idle; the caller must then search. [any thread | wait-free] */
bool wp__search_recheck(wp_domain *domain, uint32_t *victim);

/* Finds the nearest sibling of `carrier` that has something to take. Returns false if none has.
 * [its owner | wait-free] */
bool wp__search_around(struct wp_carrier *carrier, uint32_t *victim);

#endif
