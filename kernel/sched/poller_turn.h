/* SPDX-License-Identifier: Apache-2.0
 * poller_turn.h - how a poller and the loop of its carrier work together, turn by turn. Only
 * poller.c and worker.c use it.
 *
 *   the loop                                the poller
 *   drain; then a turn: take its slot       has_private? yield; no: try_park
 *   it came off the carrier, parked?        may_sleep? block in the system
 *     leave for it, and run the others      leave
 *
 * Why it works  Each step is one look at data that only the poller's own carrier writes. So these
 *               steps are in one file, apart from stacks, counts and events, and scenarios run them
 *               as the loop does.
 * Spec          specs/sched/Poller.tla: PinnedPollerUnique, PollerRuns, StolenIsKept,
 *               NoMissedSubmission, PollerParkPaired, RunsOnlyWhenRunning.
 * Evidence      make stress T=poller, stress/scenarios/sched/poller_turn.c. */
#ifndef WP_POLLER_TURN_H
#define WP_POLLER_TURN_H

#include "base/error.h"
#include "sched/carrier_tasks.h"
#include "sched/poller.h"
#include "sched/run_queues.h"

/* Registers that thread as the carrier's poller. Returns WP_OK; WP_CLOSED; WP_ALREADY if the
 * carrier has a poller; WP_FORBIDDEN if the carrier has none, but `may` is false. [any thread |
 * blocks briefly] */
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

/* Returns true if the poller may block. The poller calls this right before its system call. [the
 * poller | wait-free] */
WP_INLINE bool wp__poller_may_sleep(wp_poller *poller, wp_carrier_tasks *home)
{
	return wp__poller_may_block(poller, &home->carrier) &&
	       !wp__carrier_has_runnable(&home->carrier);
}

/* Ends the poller's park. Returns true if the poller was parked; *stolen is then what
 * wp_carrier_leave returned. [the carrier | wakes one carrier at the most] */
WP_INLINE bool wp__poller_leave(wp_poller *poller, wp_carrier *carrier, wp_mpsc_node **stolen)
{
	if (!poller->is_parked)
		return false;
	*stolen = wp_carrier_leave(carrier);
	return true;
}

/* Called after each run. Returns true if the poller ran, parked its carrier, and was descheduled.
 * The loop must then end the park for it before it runs other tasks. [the carrier | wait-free] */
WP_INLINE bool wp__poller_is_aside(const wp_poller *poller)
{
	return poller->is_parked;
}

#endif
