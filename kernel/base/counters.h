/* SPDX-License-Identifier: Apache-2.0
 * counters.h - what carriers and searches came to: statistics, and how long a queue is, about.
 *
 *   one writer at a time                            any writer
 *   [counters.1] [counters.2] load, store one more  [counters.4] fetch_add, off the hot path of searches
 *
 *   the token's holder                           who is refused
 *   [counters.5] victim of the search in flight  [counters.6] another one than mine?
 *
 * Why it works  No protocol reads them; only which queue is probed (carrier_tasks.h) and people do.
 *               A carrier's own counts have one writer. Those of a search are written by the
 *               token's holder, and the token orders holders. All others are counted off the hot
 *               path: a submission that finds nobody idle touches none.
 * Not promised  That counts which are read together belong to one moment.
 * Explored      and recorded (instrument.h) nothing is counted: counts would multiply the states.
 * Spec          none. Evidence  tests/base/test_counters.py; they balance in
 *               tests/programs/sched/soak.h. */
#ifndef WP_COUNTERS_H
#define WP_COUNTERS_H

#include "base/order.h"

/* One line. started, no_idle, victim: the token's holder. The others: anybody. */
typedef struct wp_search_counts {
	_Alignas(WP_LINE) wp_atomic(uint64_t) started;
	wp_atomic(uint64_t) no_idle;
	wp_atomic(uint64_t) denied, denied_other;
	wp_atomic(uint64_t) lost_tickets;
	wp_atomic(uint32_t) victim;
} wp_search_counts;

/* So many more. [its only writer now | wait-free] */
WP_INLINE void wp__count_many(wp_atomic(uint64_t) *counter, uint64_t more)
{
	/* [counters.1] relaxed: stale costs a number, never a task; pairs counters.2; upholds
	 * Group!EachRunsOnce. */
	uint64_t now = wp_load_relaxed(counter);

	/* [counters.2] relaxed: stale costs a number, never a task; pairs counters.1, counters.3;
	 * upholds Group!EachRunsOnce. */
	wp_store_relaxed(counter, now + more);
}

/* One more. [its only writer now | wait-free] */
WP_INLINE void wp__count(wp_atomic(uint64_t) *counter)
{
	wp__count_many(counter, 1);
}

/* So many more. [any thread | wait-free] */
WP_INLINE void wp__count_shared_many(wp_atomic(uint64_t) *counter, uint64_t more)
{
	/* [counters.4] relaxed: atomicity is enough, a number; pairs counters.3; upholds
	 * Group!EachRunsOnce. */
	wp_fetch_add_relaxed(counter, more);
}

/* One more. [any thread | wait-free] */
WP_INLINE void wp__count_shared(wp_atomic(uint64_t) *counter)
{
	wp__count_shared_many(counter, 1);
}

/* One more, in the owner's counter or in that of all others. [any thread | wait-free] */
WP_INLINE void wp__count_by(bool is_owner, wp_atomic(uint64_t) *own, wp_atomic(uint64_t) *others)
{
	if (is_owner)
		wp__count(own);
	else
		wp__count_shared(others);
}

/* [any thread | wait-free] */
WP_INLINE uint64_t wp__count_read(wp_atomic(uint64_t) *counter)
{
	/* [counters.3] relaxed: stale costs a number, never a task; pairs counters.2, counters.4;
	 * upholds Group!EachRunsOnce. */
	return wp_load_relaxed(counter);
}

/* A search for that victim begins. [the token's holder | wait-free] */
WP_INLINE void wp__count_search(wp_search_counts *counts, uint32_t victim)
{
	wp__count(&counts->started);
	/* [counters.5] relaxed: stale costs a number, never a task; pairs counters.6; upholds
	 * Group!EachRunsOnce. */
	wp_store_relaxed(&counts->victim, victim);
}

/* A search for that victim is refused. [any thread | wait-free] */
WP_INLINE void wp__count_denied(wp_search_counts *counts, uint32_t victim)
{
	wp__count_shared(&counts->denied);
	/* [counters.6] relaxed: stale costs a number, never a task; pairs counters.5; upholds
	 * Group!EachRunsOnce. */
	if (wp_load_relaxed(&counts->victim) != victim)
		wp__count_shared(&counts->denied_other);
}

#define wp__counted(count) WP__COUNTED(count)

#endif
