/* SPDX-License-Identifier: Apache-2.0
 * spare_carrier.h - carriers that stand in for those that are marked (placement.h): as many as are
 * configured may be given tasks.
 *
 *   who has marked one, or taken a mark off       a spare carrier
 *   lock                                          [spare_carrier.1] dormant: it takes no task
 *   [spare_carrier.2] fewer may be given tasks:     of the group's queue, passes a wake for
 *     a dormant one: its thread is started,         one on, and sleeps whatever is there
 *     if it has none; [spare_carrier.3] it may    else: as any other
 *     be; wake it
 *   more: [spare_carrier.4] one is dormant; move
 *     its queue; wake it
 *   until neither is so; unlock
 *
 * Why it works  Whoever changes a word decides afterwards, so the last one who decides has seen
 *               what all have changed, by the lock; who decides wrongly, for a word has changed
 *               since, is followed by who has changed it. A dormant one is as a marked one: who
 *               pushes to it moves that on. Bit and word of the park are told in turn by who wakes
 *               it ([timer.9], [spare_carrier.5]) and who parks ([carrier.6]).
 * Not promised  That anybody takes over what a marked carrier keeps: its pinned tasks, timers and
 *               poller. That a dormant one runs nothing: what is pinned to it, and its timers, it
 *               runs. Exactly as many for a while: until a thread is started, or a step ends. That
 *               a refused thread is tried again before the next mark.
 * Spec          specs/sched/compensation/SpareCarrier.tla: EligibleKept, OneThread,
 *               TargetHasThread, RetiredIsEmpty, NoStrandedGlobal, StopReachesAll, OthersRun,
 *               AllRun.
 * Evidence      make check-specs T=SpareCarrier, make stress T=spare_carrier,
 *               tests/sched/compensation/test_spare_carrier.py. */
#ifndef WP_SPARE_CARRIER_H
#define WP_SPARE_CARRIER_H

#include "base/futex.h"
#include "sched/placement/placement.h"

/* cdef: begin */
/* Of a group's spare_carriers; the last three only grow. */
typedef struct wp_spare_carrier_group {
	uint32_t most, active; /* how many there may be; how many are not dormant */
	uint32_t started;      /* threads */
	uint64_t reused;       /* a dormant one that had a thread was activated */
	uint64_t refused;      /* a thread was not started */
} wp_spare_carrier_group;
/* cdef: end */

/* Of a group. All but the calls, and who is replaced: under the lock. Spare carriers are the
 * carriers of the placement from `carriers` on; those that have threads are the first. */
typedef struct wp_spare_carriers {
	wp_lock lock;
	wp_placement *placement;
	uint32_t carriers;
	bool is_over;
	wp_spare_carrier_group counts;
	int (*start)(void *arg, uint32_t carrier); /* its thread: 0, or why there is none */
	void (*move)(void *arg, uint32_t carrier); /* its queue */
	void (*wake)(void *arg, uint32_t carrier); /* if it sleeps */
	void *arg;
} wp_spare_carriers;

/* The calls are set; all beyond `carriers` are dormant. [before it is shared | wait-free] */
void wp_spare_carriers_init(wp_spare_carriers *all, wp_placement *placement, uint32_t carriers);

/* After a mark; or after its end. [any thread | blocks shortly, may start a thread] */
void wp_spare_carriers_settle(wp_spare_carriers *all);

/* No thread is started any more. [the close | blocks shortly] */
void wp_spare_carriers_end(wp_spare_carriers *all);

/* [any thread | blocks shortly] */
wp_spare_carrier_group wp_spare_carriers_counts(wp_spare_carriers *all);

/* It is to take no task of the group's. [any thread | wait-free] */
bool wp_spare_carrier_is_dormant(const wp_placement *placement, uint32_t carrier);

/* Between the count of a task of the group's and the look for somebody to wake, who is not dormant.
 * [any thread | wait-free] */
void wp_spare_carrier_fence(void);

#endif
