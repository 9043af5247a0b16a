/* SPDX-License-Identifier: Apache-2.0
 * poller_turn.h - what a poller and its carrier's loop owe one another, turn by turn. For poller.c
 * and worker.c alone.
 *
 *   the loop                                the poller
 *   drain; then a turn: take its slot       has_private? yield; no: try_park
 *   it came off the carrier, parked?        may_sleep? block in the system
 *     leave for it, and run the others      leave
 *
 * Why it works  Each is one look at what its own carrier alone writes, so it is in one place, apart
 *               from stacks, counts and events: scenarios run it as the loop does.
 * Spec          specs/sched/Poller.tla: PinnedPollerUnique, PollerRuns, StolenIsKept,
 *               NoMissedSubmission, PollerParkPaired, RunsOnlyWhenRunning.
 * Evidence      make stress T=poller, stress/scenarios/sched/poller_turn.c. */
#ifndef WP_POLLER_TURN_H
#define WP_POLLER_TURN_H

#include "base/error.h"
#include "sched/carrier_tasks.h"
#include "sched/poller.h"
#include "sched/run_queues.h"

/* WP_OK: the carrier's poller is that thread. WP_CLOSED; WP_ALREADY: it has one; WP_FORBIDDEN: it
 * might be, but may not. [any thread | blocks shortly] */
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

/* Right before its system call. [the poller | wait-free] */
WP_INLINE bool wp__poller_may_sleep(wp_poller *poller, wp_carrier_tasks *home)
{
	return wp__poller_may_block(poller, &home->carrier) &&
	       !wp__carrier_has_runnable(&home->carrier);
}

/* True: it was parked, and no more: *stolen as wp_carrier_leave gives. [the carrier | wakes
 * somebody at the most] */
WP_INLINE bool wp__poller_leave(wp_poller *poller, wp_carrier *carrier, wp_mpsc_node **stolen)
{
	if (!poller->is_parked)
		return false;
	*stolen = wp_carrier_leave(carrier);
	return true;
}

/* Something has run: if that was the poller, it parked its carrier, and was descheduled. True: the
 * loop is to leave for it, before it runs the others. [the carrier | wait-free] */
WP_INLINE bool wp__poller_is_aside(const wp_poller *poller)
{
	return poller->is_parked;
}

#endif
