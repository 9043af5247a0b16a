/* SPDX-License-Identifier: Apache-2.0
 * group_close.h - the closes of a group, one after the other: a close's turn, its waits, and what
 * it does between them.
 *
 *   enter: wait for the turn            until another close leaves, a signal handler, a deadline
 *   shut every list
 *   wait until every list is empty, or time is over; not if stops were sent before
 *   send the stops, join; not all have ended: leave
 *   take back, until no list has a task; a scheduler holds some: sleep, then leave
 *   leave: wake one close that waits for its turn
 *
 * Why it works  The turn is a flag under a lock, and a close that leaves wakes one waiting close. A
 *               woken close that finds another one inside waits again, and is woken when that one
 *               leaves. The close that is inside does all the rest. A carrier that has read its
 *               stop leaves tasks behind, so no close waits for tasks once a stop may be out.
 * Spec          specs/sched/GroupClose.tla: TurnIsPassedOn, WaitsForWhatRuns, WaitsForAll,
 *               OneConsumer, Returns; specs/sched/Group.tla: WaitsForAll, NothingRunsAfterClose.
 * Evidence      make check-specs T='Group|GroupClose', make stress T=group_close, wakeproof conform
 *               -t close. */
#ifndef WP_GROUP_CLOSE_H
#define WP_GROUP_CLOSE_H

#include "sched/carrier_tasks.h"

/* The closes of one group. Zeroed: open. lock: is_inside, and what the group keeps under it. The
 * rest: the close that is inside. */
typedef struct wp_closing {
	wp_lock lock;
	wp_cond left;     /* signalled when a close has left */
	bool is_inside;   /* a close has the turn; under the lock */
	bool is_stopping; /* the stops have been sent */
	bool is_closed;
} wp_closing;

/* One close, made by its caller. turn_ns, deadline_ns, given_ns: the deadlines for its turn, for
 * the tasks, and for tasks that schedulers hold. The functions are called by the close that is
 * inside. */
typedef struct wp_close {
	int64_t turn_ns, deadline_ns, given_ns;
	bool cancels;
	uint32_t count; /* of homes */
	wp_carrier_tasks *(*home)(struct wp_close *close, uint32_t index);
	/* Makes every list refuse starts, and sets given_ns. */
	void (*shut)(struct wp_close *close);
	/* Sends the stops that are not sent yet, and waits for the carriers. WP_OK: all have ended;
	 * WP_TIMEOUT, WP_INTERRUPTED. */
	int (*join)(struct wp_close *close);
	/* Takes what is queued or parked off the lists; returns how many tasks are still listed. */
	uint64_t (*take_back)(struct wp_close *close);
	/* Hands what was taken to the user, when all lists are empty. */
	void (*hand_back)(struct wp_close *close);
} wp_close;

/* Closes. WP_OK: closed. WP_TIMEOUT, WP_INTERRUPTED: not yet. [any thread | blocks] */
int wp__close(wp_closing *closing, wp_close *close);

#endif
