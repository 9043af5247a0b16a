/* SPDX-License-Identifier: Apache-2.0
 * search.h - the search token (nSearching) of a steal domain: at most one search is in flight.
 *
 *   searcher                                      somebody who is refused
 *   [search.5] compare-and-swap(token, 0, 1)      [search.5] fails: leaves its task to the holder, who
 *   [search.6] token := 0, when nobody was found             looks again after search.6 ([search.7] in carrier.c)
 *              or the steal is done
 *
 * Why it works  The token limits wake-ups to one at a time, so a burst of submissions does not
 *               wake everybody. That is safe only because every release is followed by fence
 *               [search.7] and a look at all queues of the domain. The token travels with the wake:
 *               who is woken as SEARCHING releases it.
 * Spec          specs/sched/Search.tla: EveryStartSearchMatchedByOneStop, SearchingImpliesToken.
 * Evidence      make check-specs T=Search, make stress T=search. */
#ifndef WP_SEARCH_H
#define WP_SEARCH_H

#include <stddef.h>

#include "base/counters.h"
#include "base/order.h"
#include "queue/idle_set.h"

struct wp_carrier;

/* Who may steal from whom. Token and idle set on lines of their own; carriers, count: written
 * before it is shared. counts: counters.h. */
typedef struct wp_domain {
	_Alignas(WP_LINE) wp_atomic(uint32_t) searching; /* 0 or 1. Writers: search.5, search.6. */
	wp_idle_set idle;
	_Alignas(WP_LINE) struct wp_carrier **carriers; /* by index */
	uint32_t count;
	wp_search_counts counts;
} wp_domain;

_Static_assert(offsetof(wp_domain, idle) - offsetof(wp_domain, searching) >= WP_LINE,
	       "token shares a line");

/* `carriers` has room for `count` <= WP_IDLESET_MEMBERS; carriers enter themselves by
 * wp_carrier_init. [before it is shared | wait-free] */
WP_INLINE void wp_domain_init(wp_domain *domain, struct wp_carrier **carriers, uint32_t count)
{
	wp_init(&domain->searching, 0);
	wp_idle_set_init(&domain->idle);
	domain->carriers = carriers;
	domain->count = count;
	wp__counted(domain->counts = (wp_search_counts){0});
}

/* True: the caller holds the token and must stop or hand it on. [any thread | wait-free] */
WP_INLINE bool wp_search_start(wp_domain *domain)
{
	uint32_t none = 0;

	/* [search.5] acquire; pairs search.6; upholds Search!EveryStartSearchMatchedByOneStop.
	 * Strong: a spurious failure would leave the task to a holder who does not exist. */
	return wp_cas_acquire(&domain->searching, &none, 1);
}

/* Gives the token back. A re-check ([search.7]) must follow. [the holder | wait-free] */
WP_INLINE void wp_search_stop(wp_domain *domain)
{
	/* [search.6] release; pairs search.5; upholds Search!EveryStartSearchMatchedByOneStop;
	 * [search.7] orders it before the re-check. */
	wp_store_release(&domain->searching, 0);
}

/* Sends one idle carrier to the victim, a carrier's index, unless a search is in flight. [any
 * thread | one system call at the most] */
void wp_search(wp_domain *domain, uint32_t victim);

/* After each release of the token. True: *victim has work and somebody else is idle: search for it.
 * [any thread | wait-free] */
bool wp__search_recheck(wp_domain *domain, uint32_t *victim);

/* The nearest other than `carrier` that has something to take. False: none has. [its owner |
 * wait-free] */
bool wp__search_around(struct wp_carrier *carrier, uint32_t *victim);

#endif
