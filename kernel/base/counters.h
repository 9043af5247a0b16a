/* SPDX-License-Identifier: Apache-2.0
 * counters.h - statistics of carriers and searches, and approximate queue lengths.
 *
 *   one writer at a time                            any writer
 *   [counters.1] [counters.2] load, store one more  [counters.4] fetch_add, off the hot path
 *
 *   thread that takes a search token      thread that finds all tokens taken
 *   [counters.5] victim of the last one   [counters.6] is that another victim than mine?
 *
 * Why it works  No protocol reads the counters. Only people read them, and so does the choice of
 *               the queue to probe (carrier_tasks.h). A carrier's own counters have one writer.
 *               Everything else is counted off the hot path: a submission that finds no idle carrier
 *               touches no counter.
 * Not promised  Counts that are read together do not belong to one moment.
 * Explored      The explorer and the recorder (instrument.h) build this library without counts,
 *               because counts would multiply the states.
 * Spec          None.
 * Evidence      tests/base/test_counters.py; tests/programs/sched/soak.h checks that the counts
 *               balance. */
#ifndef WP_COUNTERS_H
#define WP_COUNTERS_H

#include "base/order.h"

/* One cache line. Any thread writes it. */
typedef struct wp_search_counts {
	_Alignas(WP_LINE) wp_atomic(uint64_t) started;
	wp_atomic(uint64_t) no_idle;
	wp_atomic(uint64_t) denied, denied_other;
	wp_atomic(uint64_t) lost_tickets;
	wp_atomic(uint32_t) victim;
} wp_search_counts;

/* Adds `more` to a counter that has one writer at a time. [its current writer | wait-free] */
WP_INLINE void wp__count_many(wp_atomic(uint64_t) *counter, uint64_t more)
{
	/* [counters.1] relaxed: a value that is stale costs a number, never a task; pairs
	 * counters.2; upholds Group!EachRunsOnce. */
	uint64_t now = wp_load_relaxed(counter);

	/* [counters.2] relaxed: a value that is stale costs a number, never a task; pairs
	 * counters.1, counters.3; upholds Group!EachRunsOnce. */
	wp_store_relaxed(counter, now + more);
}

/* Adds one. [its current writer | wait-free] */
WP_INLINE void wp__count(wp_atomic(uint64_t) *counter)
{
	wp__count_many(counter, 1);
}

/* Adds `more` to a counter that any thread may write. [any thread | wait-free] */
WP_INLINE void wp__count_shared_many(wp_atomic(uint64_t) *counter, uint64_t more)
{
	/* [counters.4] relaxed: atomicity is enough, the value is only a number; pairs counters.3;
	 * upholds Group!EachRunsOnce. */
	wp_fetch_add_relaxed(counter, more);
}

/* Adds one. [any thread | wait-free] */
WP_INLINE void wp__count_shared(wp_atomic(uint64_t) *counter)
{
	wp__count_shared_many(counter, 1);
}

/* Adds one to the owner's counter, or to the counter that all other threads share.
 * [any thread | wait-free] */
WP_INLINE void wp__count_by(bool is_owner, wp_atomic(uint64_t) *own, wp_atomic(uint64_t) *others)
{
	if (is_owner)
		wp__count(own);
	else
		wp__count_shared(others);
}

/* Reads a counter; the value may be outdated. [any thread | wait-free] */
WP_INLINE uint64_t wp__count_read(wp_atomic(uint64_t) *counter)
{
	/* [counters.3] relaxed: a value that is stale costs a number, never a task; pairs
	 * counters.2, counters.4; upholds Group!EachRunsOnce. */
	return wp_load_relaxed(counter);
}

/* Counts the start of a search for work of `victim`. [a token's holder | wait-free] */
WP_INLINE void wp__count_search(wp_search_counts *counts, uint32_t victim)
{
	wp__count_shared(&counts->started);
	/* [counters.5] relaxed: a value that is stale costs a number, never a task; pairs
	 * counters.6; upholds Group!EachRunsOnce. */
	wp_store_relaxed(&counts->victim, victim);
}

/* Counts a search for work of `victim` that found all tokens taken, and whether the last search was
 * for another victim. [any thread | wait-free] */
WP_INLINE void wp__count_denied(wp_search_counts *counts, uint32_t victim)
{
	wp__count_shared(&counts->denied);
	/* [counters.6] relaxed: a value that is stale costs a number, never a task; pairs
	 * counters.5; upholds Group!EachRunsOnce. */
	if (wp_load_relaxed(&counts->victim) != victim)
		wp__count_shared(&counts->denied_other);
}

#define wp__counted(count) WP__COUNTED(count)

#endif
