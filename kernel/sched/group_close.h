/* SPDX-License-Identifier: Apache-2.0
 * group_close.h - how a group is closed. Several threads may close it; they take turns. This file
 * has the turn of a close, its waits, and what it does between them.
 *
 *   enter: wait for the turn, until another close leaves, a signal handler runs, or the deadline
 *   shut every list
 *   wait until every list is empty, or time is over; not if stops were sent before
 *   send the stops to the carriers, join them; if not all have ended: leave
 *   take tasks back, until no list has a task; if a scheduler holds some: sleep, then leave
 *   leave: wake one close that waits for its turn
 *
 * Why it works  The turn is a flag under a lock, and a close that leaves wakes one waiting close.
 *               If a woken close finds another one inside, it waits again, and is woken when that
 *               one leaves. The close that is inside does all the rest. A carrier that has read its
 *               stop leaves tasks behind, so no close waits for tasks once a stop may have been
 *               sent.
 * Spec          specs/sched/GroupClose.tla: TurnIsPassedOn, WaitsForWhatRuns, WaitsForAll,
 *               OneConsumer, Returns; specs/sched/Group.tla: WaitsForAll, NothingRunsAfterClose.
 * Evidence      make check-specs T='Group|GroupClose', make stress T=group_close, wakeproof conform
 *               -t close. */
#ifndef WP_GROUP_CLOSE_H
#define WP_GROUP_CLOSE_H

#include "sched/carrier_tasks.h"

/* The closes of one group. Zeroed: the group is open. `lock` protects is_inside, and what the group
 * keeps under it. The close that is inside writes the other fields. */
typedef struct wp_closing {
	wp_lock lock;
	wp_cond left;     /* signalled when a close has left */
	bool is_inside;   /* a close has the turn; under the lock */
	bool is_stopping; /* the stops have been sent */
	bool is_closed;
} wp_closing;

/* One close, made by its caller. turn_ns, deadline_ns and given_ns are the deadlines for its turn,
 * for the tasks, and for tasks that schedulers hold. The functions are called by the close that is
 * inside. */
typedef struct wp_close {
	int64_t turn_ns, deadline_ns, given_ns;
	bool cancels;
	uint32_t count; /* the number of homes */
	wp_carrier_tasks *(*home)(struct wp_close *close, uint32_t index);
	/* Makes every list refuse starts, and sets given_ns. */
	void (*shut)(struct wp_close *close);
	/* Sends the stops that are not sent yet, and waits for the carriers. Returns WP_OK if all
	 * carriers have ended, else WP_TIMEOUT or WP_INTERRUPTED. */
	int (*join)(struct wp_close *close);
	/* Takes what is queued or parked off the lists. Returns how many tasks are still listed. */
	uint64_t (*take_back)(struct wp_close *close);
	/* Hands what was taken to the user, when all lists are empty. */
	void (*hand_back)(struct wp_close *close);
} wp_close;

/* Closes the group. Returns WP_OK if the group is closed, else WP_TIMEOUT or WP_INTERRUPTED. [any
 * thread | blocks] */
int wp__close(wp_closing *closing, wp_close *close);

#endif
