/* SPDX-License-Identifier: Apache-2.0
 * poller_turn.h - the duties of a poller and of its carrier's loop towards one another, turn by
 * turn. For poller.c and worker.c alone.
 *
 *   the loop                                the poller
 *   drain; then a turn: take its slot       has_private? yield; no: try_park
 *   it came off the carrier, parked?        may_sleep? block in the system
 *     leave for it, and run the others      leave
 *
 * Why it works  Each step is one look at data that only the poller's own carrier writes. So these
 *               steps stand in one place, apart from stacks, counts and events, and scenarios run
 *               them as the loop does.
 * Spec          specs/sched/Poller.tla: PinnedPollerUnique, PollerRuns, StolenIsKept,
 *               NoMissedSubmission, PollerParkPaired, RunsOnlyWhenRunning.
 * Evidence      make stress T=poller, stress/scenarios/sched/poller_turn.c. */
#ifndef WP_POLLER_TURN_H
#define WP_POLLER_TURN_H

#include "base/error.h"
#include "sched/carrier_tasks.h"
#include "sched/poller.h"
#include "sched/run_queues.h"

/* Registers that thread as the carrier's poller. WP_OK; WP_CLOSED; WP_ALREADY: the carrier has one;
 * WP_FORBIDDEN: it has none, but `may` is false. [any thread | blocks shortly] */
WP_INLINE int wp__poller_enter(wp_poller *poller, wp_carrier_tasks *home,
			       const wp_poller_config *config, struct wp_vthread *thread, bool may)
{
	int code;

	wp_lock_acquire(&home->lock);
	code = home->is_shut                ? WP_CLOSED
	       : poller->registered != NULL ? WP_ALREADY
	       : may                        ? WP_OK
					    : WP_FORBIDDEN;
	if (code == WP_OK) {
		poller->config = *config;
		poller->registered = thread;
	}
	wp_lock_release(&home->lock);
	return code;
}

/* True: the poller may block; asked right before its system call. [the poller | wait-free] */
WP_INLINE bool wp__poller_may_sleep(wp_poller *poller, wp_carrier_tasks *home)
{
	return wp__poller_may_block(poller, &home->carrier) &&
	       !wp__carrier_has_runnable(&home->carrier);
}

/* Ends its park. True: it was parked, and *stolen is what wp_carrier_leave returned. [the carrier |
 * wakes one carrier at the most] */
WP_INLINE bool wp__poller_leave(wp_poller *poller, wp_carrier *carrier, wp_mpsc_node **stolen)
{
	if (!poller->is_parked)
		return false;
	*stolen = wp_carrier_leave(carrier);
	return true;
}

/* Asked after each run. True: the poller ran, parked its carrier, and was descheduled; the loop has
 * to leave the park for it before it runs the others. [the carrier | wait-free] */
WP_INLINE bool wp__poller_is_aside(const wp_poller *poller)
{
	return poller->is_parked;
}

#endif
