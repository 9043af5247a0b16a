/* SPDX-License-Identifier: Apache-2.0
 * spare_carrier.h - compensation: spare carriers stand in for blocked ones (placement.h), so that
 * as many carriers as configured are eligible for tasks.
 *
 *   a thread that blocked or unblocked one        a spare carrier
 *   lock                                          [spare_carrier.1] idle spare: it takes no task
 *   [spare_carrier.2] too few are eligible:         of the group's queue, passes a wake for
 *     an idle spare: its thread is started,         one on, and sleeps whatever is there
 *     if it has none; [spare_carrier.3] it is     else: as any other
 *     eligible; wake it
 *   too many: [spare_carrier.4] one becomes an
 *     idle spare; move its queue; wake it
 *   until neither is so; unlock
 *
 * Why it works  Every thread that changes a word decides afterwards, under the lock, so the last
 *               thread that decides has seen what all of them have changed. A decision that is
 *               wrong because a word has changed since is followed by the decision of the thread
 *               which changed it. An idle spare is treated as a blocked carrier: a thread that
 *               pushes to it moves its queue on. Fences order the idle flag and the word of the
 *               park: [timer.9] and [spare_carrier.5] on the waker's side, [carrier.6] on that of
 *               the parking carrier.
 * Not promised  That another carrier takes over what a blocked one keeps: its pinned tasks, timers
 *               and poller. That an idle spare runs nothing: it runs its pinned tasks and its
 *               timers. That the number of eligible carriers is always exact: it is off until a
 *               thread is started, or a step ends. That a thread which could not be started is
 *               tried again before the next block.
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
/* Counts of a group's spare carriers; the last three only grow. */
typedef struct wp_spare_carrier_group {
	uint32_t most, active; /* how many there may be; how many are not idle */
	uint32_t started;      /* threads started */
	uint64_t reused;       /* times that an idle spare with a thread was activated */
	uint64_t refused;      /* times that a thread could not be started */
} wp_spare_carrier_group;
/* cdef: end */

/* The spare carriers of one group. All fields are under the lock, except the functions and the two
 * that init sets. Spare carriers are the placement's carriers from `carriers` on; the first of them
 * have threads. */
typedef struct wp_spare_carriers {
	wp_lock lock;
	wp_placement *placement;
	uint32_t carriers;
	bool is_over;
	wp_spare_carrier_group counts;
	int (*start)(void *arg, uint32_t carrier); /* starts its thread: 0, or an errno */
	void (*move)(void *arg, uint32_t carrier); /* moves its queue */
	void (*wake)(void *arg, uint32_t carrier); /* wakes it, if it sleeps */
	void *arg;
} wp_spare_carriers;

/* Call it when the functions are set; all carriers from `carriers` on become idle spares. [before
 * it is shared | wait-free] */
void wp_spare_carriers_init(wp_spare_carriers *all, wp_placement *placement, uint32_t carriers);

/* Activates or retires spare carriers after a carrier was blocked or unblocked. [any thread |
 * blocks shortly, may start a thread] */
void wp_spare_carriers_settle(wp_spare_carriers *all);

/* Starts no more threads from now on. [the close | blocks shortly] */
void wp_spare_carriers_end(wp_spare_carriers *all);

/* The counts. [any thread | blocks shortly] */
wp_spare_carrier_group wp_spare_carriers_counts(wp_spare_carriers *all);

/* Returns true if it is an idle spare, and takes no task of the group's queue. [any thread |
 * wait-free] */
bool wp_spare_carrier_is_dormant(const wp_placement *placement, uint32_t carrier);

/* Stands between counting a task in the group's queue and looking for a carrier to wake that is not
 * an idle spare. [any thread | wait-free] */
void wp_spare_carrier_fence(void);

#endif
