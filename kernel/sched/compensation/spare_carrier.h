/* SPDX-License-Identifier: Apache-2.0
 * spare_carrier.h - compensation. Spare carriers run tasks in place of blocked carriers
 * (placement.h), so that as many carriers as configured are eligible for tasks. A spare carrier is
 * active or idle.
 *
 *   a thread that blocked or unblocked one        a spare carrier
 *   lock                                          [spare_carrier.1] is it idle?
 *   [spare_carrier.2] too few are eligible:         yes: it takes no task of the group's queue,
 *     start the thread of an idle spare, if it        passes a wake for such a task on, and
 *     has none; [spare_carrier.3] make the spare      sleeps even if there are tasks
 *     eligible; wake it                             no: it works as any other carrier
 *   too many are eligible: [spare_carrier.4]
 *     make a spare idle; move its queue; wake it
 *   repeat until neither is so; unlock
 *
 * Why it works  Every thread that changes a word decides afterwards, under the lock. So the last
 *               thread that decides has seen what all of them have changed. A decision may be wrong
 *               because a word has changed since; then it is followed by the decision of the thread
 *               which changed the word. An idle spare is treated as a blocked carrier: a thread
 *               that pushes to it moves its queue to the group's. Fences order the idle flag and
 *               the word of the park: [timer.9] and [spare_carrier.5] on the waker's side,
 *               [carrier.6] on that of the parking carrier.
 * Not promised  No other carrier takes over what a blocked one keeps: its pinned tasks, timers and
 *               poller. An idle spare still runs its own pinned tasks and its timers. The number of
 *               eligible carriers is not always exact: it is wrong until a thread is started, or
 *               until a step ends. If a thread could not be started, the next attempt comes with
 *               the next block.
 * Prior art     Java's ForkJoinPool starts spare threads for blocked workers; Go's runtime starts
 *               Ms for the Ps of blocked threads.
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
/* Counts of a group's spare carriers. The last three only grow. */
typedef struct wp_spare_carrier_group {
	uint32_t most, active; /* how many there may be; how many are not idle */
	uint32_t started;      /* threads started */
	uint64_t reused;       /* times that an idle spare with a thread was activated */
	uint64_t refused;      /* times that a thread could not be started */
} wp_spare_carrier_group;
/* cdef: end */

/* The spare carriers of one group. All fields are under the lock, except the functions and the two
 * fields that init sets. Spare carriers are the placement's carriers from `carriers` on; the first
 * of them have threads. */
typedef struct wp_spare_carriers {
	wp_lock lock;
	wp_placement *placement;
	uint32_t carriers;
	bool is_over;
	wp_spare_carrier_group counts;
	int (*start)(void *arg, uint32_t carrier); /* starts its thread; returns 0, or an errno */
	void (*move)(void *arg, uint32_t carrier); /* moves its queue */
	void (*wake)(void *arg, uint32_t carrier); /* wakes it, if it sleeps */
	void *arg;
} wp_spare_carriers;

/* Makes all carriers from `carriers` on idle spares. Call it when the functions are set. [before it
 * is shared | wait-free] */
void wp_spare_carriers_init(wp_spare_carriers *all, wp_placement *placement, uint32_t carriers);

/* Activates or retires spare carriers after a carrier was blocked or unblocked. [any thread |
 * blocks briefly, may start a thread] */
void wp_spare_carriers_settle(wp_spare_carriers *all);

/* Starts no more threads from now on. [the close | blocks briefly] */
void wp_spare_carriers_end(wp_spare_carriers *all);

/* Returns the counts. [any thread | blocks briefly] */
wp_spare_carrier_group wp_spare_carriers_counts(wp_spare_carriers *all);

/* Returns true if the carrier is an idle spare, and takes no task of the group's queue. [any thread
 * | wait-free] */
bool wp_spare_carrier_is_dormant(const wp_placement *placement, uint32_t carrier);

/* The fence that a thread passes after it has counted a task in the group's queue, and before it
 * looks for a carrier to wake that is not an idle spare. [any thread | wait-free] */
void wp_spare_carrier_fence(void);

#endif
