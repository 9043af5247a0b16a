/* SPDX-License-Identifier: Apache-2.0
 * search.h - the search token (nSearching) of a steal domain. A search is the attempt to wake an
 * idle carrier so that it steals from a busy one, the victim. A thread needs the token for it, so
 * at most one search is in flight.
 *
 *   searcher                                      searcher that finds the token taken
 *   [search.5] compare-and-swap(token, 0, 1)      [search.5] fails: leave the task to the holder
 *   [search.6] token := 0, when no carrier was               of the token, which looks again after
 *              found or the steal is done                    search.6 ([search.7] in carrier.c)
 *
 * Why it works  The token limits wakeups to one at a time, so a burst of submissions does not wake
 *               every carrier. This is safe only because every release of the token is followed by
 *               fence [search.7] and a look at all queues of the domain. The token travels with the
 *               wake: a carrier that is woken as SEARCHING holds the token and releases it.
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

/* A steal domain is a set of carriers that steal from one another and from no others. The token and
 * the idle set have cache lines of their own; `carriers` and `count` are written before the domain
 * is shared. For `counts` see counters.h. */
typedef struct wp_domain {
	_Alignas(WP_LINE) wp_atomic(uint32_t) searching; /* 0 or 1. Writers: search.5, search.6. */
	wp_idle_set idle;
	_Alignas(WP_LINE) struct wp_carrier **carriers; /* by index */
	uint32_t count;
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
	wp__counted(domain->counts = (wp_search_counts){0});
}

/* Takes the token if it is free. Returns true if the caller now holds it, and must release it or
 * pass it on. [any thread | wait-free] */
WP_INLINE bool wp_search_start(wp_domain *domain)
{
	uint32_t none = 0;

	/* [search.5] acquire; pairs search.6; upholds Search!EveryStartSearchMatchedByOneStop. It
	 * is a strong compare-and-swap, because a spurious failure would leave the task to a holder
	 * that does not exist. */
	return wp_cas_acquire(&domain->searching, &none, 1);
}

/* Releases the token. The caller must look at all queues afterwards ([search.7]). [the holder |
 * wait-free] */
WP_INLINE void wp_search_stop(wp_domain *domain)
{
	/* [search.6] release; pairs search.5; upholds Search!EveryStartSearchMatchedByOneStop;
	 * fence [search.7] orders this store before the look at the queues. */
	wp_store_release(&domain->searching, 0);
}

/* Wakes one idle carrier to steal from the victim, a carrier's index, unless a search is in flight.
 * [any thread | one system call at the most] */
void wp_search(wp_domain *domain, uint32_t victim);

/* Looks for work after a release of the token. Returns true if carrier *victim has work and another
 * carrier is idle; the caller must then search. [any thread | wait-free] */
bool wp__search_recheck(wp_domain *domain, uint32_t *victim);

/* Finds the nearest sibling of `carrier` that has something to take. Returns false if none has.
 * [its owner | wait-free] */
bool wp__search_around(struct wp_carrier *carrier, uint32_t *victim);

#endif
