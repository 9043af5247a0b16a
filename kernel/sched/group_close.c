/* SPDX-License-Identifier: Apache-2.0
 * group_close.c - the closes of a group, one after the other. See group_close.h. */
#include "sched/group_close.h"

#include "base/error.h"

/* Waits until no list has a task. Returns WP_OK, or the code of a wait that failed. [the close that
 * is inside | blocks] */
static int wait_all(wp_close *close)
{
	uint32_t count = close->count;
	int code = WP_OK;

	for (uint32_t index = 0; index < count && code == WP_OK; index++)
		code = wp__carrier_tasks_wait(close->home(close, index), close->deadline_ns);
	return code;
}

/* Takes back all tasks, when no carrier runs any more. It visits the homes in turn, because a task
 * that is in the list of one home may be queued at another. Returns WP_OK if all lists are empty.
 * Returns WP_TIMEOUT or WP_INTERRUPTED if schedulers still hold tasks. [the close that is inside |
 * waits for pushes that are on their way, and for schedulers] */
static int take_all_back(wp_close *close)
{
	int64_t given_ns = close->given_ns;
	int code = WP_OK;

	while (close->take_back(close) != 0) {
		if (code != WP_OK)
			return code;
		for (uint32_t index = 0; index < close->count && code == WP_OK; index++)
			code = wp__carrier_tasks_wait_given(close->home(close, index), given_ns);
		wp_yield();
	}
	return WP_OK;
}

/* Waits for the turn, until turn_ns at most. [any thread | blocks] */
static int enter(wp_closing *closing, const wp_close *close)
{
	int code = WP_OK;

	wp_lock_acquire(&closing->lock);
	while (closing->is_inside && code == WP_OK)
		code = wp_cond_wait(&closing->left, &closing->lock, close->turn_ns);
	if (code == WP_OK)
		closing->is_inside = true;
	wp_lock_release(&closing->lock);
	return code;
}

static void leave(wp_closing *closing)
{
	wp_lock_acquire(&closing->lock);
	closing->is_inside = false;
	wp_cond_signal(&closing->left);
	wp_lock_release(&closing->lock);
}

/* Does a whole close. [the close that is inside | blocks] */
static int close_once(wp_closing *closing, wp_close *close)
{
	bool waits = !close->cancels;
	int code;

	close->shut(close);
	/* Once the stops are sent, carriers leave tasks behind, so a wait for the tasks would not
	 * end. */
	if (waits && !closing->is_stopping && wait_all(close) == WP_INTERRUPTED)
		return WP_INTERRUPTED;
	closing->is_stopping = true;
	code = close->join(close);
	if (code != WP_OK)
		return code;
	code = take_all_back(close);
	if (code != WP_OK)
		return code;
	close->hand_back(close);
	closing->is_closed = true;
	return WP_OK;
}

int wp__close(wp_closing *closing, wp_close *close)
{
	int code = enter(closing, close);

	if (code != WP_OK)
		return code;
	if (!closing->is_closed)
		code = close_once(closing, close);
	leave(closing);
	return code;
}
