/* SPDX-License-Identifier: Apache-2.0
 * group_close.h - one close of a group after the other: its turn, its waits, and what it does
 * between.
 *
 *   enter: wait for the turn            another close, a signal handler, a deadline
 *   shut every list
 *   wait for every list, or not (any longer); not when stops were sent before
 *   send the stops, join; not all have ended: leave
 *   take back, until no list has a task; a scheduler has some: sleep, then leave
 *   leave: wake one that waits for its turn
 *
 * Why it works  The turn is a flag under a lock, and who leaves wakes one: who was woken and finds
 *               another inside waits again, and that one wakes it when it leaves. All else of a
 *               close is done by who is inside. A carrier that has read its stop leaves tasks
 *               behind, so nobody waits for these once a stop may be out.
 * Spec          specs/sched/GroupClose.tla: TurnIsPassedOn, WaitsForWhatRuns, WaitsForAll,
 *               OneConsumer, Returns; specs/sched/Group.tla: WaitsForAll, NothingRunsAfterClose.
 * Evidence      make check-specs T='Group|GroupClose', make stress T=group_close, wakeproof conform
 *               -t close. */
#ifndef WP_GROUP_CLOSE_H
#define WP_GROUP_CLOSE_H

#include "sched/carrier_tasks.h"

/* lock: also of what its group says. The rest: who is inside. Zeroed is open. */
typedef struct wp_closing {
	wp_lock lock;
	wp_cond left;     /* a close has returned */
	bool is_inside;   /* one is; under the lock */
	bool is_stopping; /* the stops are sent */
	bool is_closed;
} wp_closing;

/* One close, by its caller. ..._ns: deadlines, for its turn, for the tasks, for what schedulers
 * have. */
typedef struct wp_close {
	int64_t turn_ns, deadline_ns, given_ns;
	bool cancels;
	uint32_t count; /* homes */
	wp_carrier_tasks *(*home)(struct wp_close *close, uint32_t index);
	/* No list takes a task from now on; sets given_ns. */
	void (*shut)(struct wp_close *close);
	/* Sends the stops that are not sent; WP_OK: all carriers have ended; WP_TIMEOUT,
	 * WP_INTERRUPTED. */
	int (*join)(struct wp_close *close);
	/* What is queued or parked; says how many tasks are listed still. */
	uint64_t (*take_back)(struct wp_close *close);
	/* All lists are empty: tells the user what was taken. */
	void (*hand_back)(struct wp_close *close);
} wp_close;

/* WP_OK: it is closed. WP_TIMEOUT, WP_INTERRUPTED: not yet. [any thread | blocks] */
int wp__close(wp_closing *closing, wp_close *close);

#endif
