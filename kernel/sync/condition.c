/* SPDX-License-Identifier: Apache-2.0
 * condition.c - see condition.h. In a waiter of a condition, `value` is the mutex, and `amount`
 * tells where the waiter is. */
#include "sync/condition.h"

enum { OUT, IN_LINE, SIGNALLED, BROADCAST }; /* the last two: at the mutex, or holding it */

void wp_condition_init(wp_condition *condition)
{
	wp_init(&condition->waiting, 0);
	wp_init(&condition->lock.state, 0);
	condition->line.first = condition->line.last = NULL;
}

/* Publishes whether the queue is empty. [under the condition's lock] */
static void say_who_waits(wp_condition *condition)
{
	/* [condition.2] relaxed: ordered by the mutex, which the waiter holds while it joins the
	 * queue; pairs condition.1; upholds Condition!NoLostSignal. */
	wp_store_relaxed(&condition->waiting, condition->line.first != NULL);
}

/* The `leave` of a waiter (wait_queue.h). If a signal had woken this waiter, it goes to the next
 * waiter. A broadcast has reached all waiters already. */
static void leave(wp_waiter *waiter)
{
	wp_condition *condition = waiter->object;
	wp_mutex *mutex = waiter->value;
	bool has_mutex;

	if (wp__condition_cancel(condition, waiter))
		return;
	has_mutex = !wp__mutex_cancel(mutex, waiter);
	if (waiter->amount == SIGNALLED)
		wp_condition_signal(condition);
	if (has_mutex)
		wp_mutex_unlock(mutex);
}

void wp__condition_begin(wp_condition *condition, wp_mutex *mutex, wp_waiter *waiter)
{
	wp__waiter_stands(waiter, leave, condition);
	waiter->value = mutex;
	waiter->amount = IN_LINE;
	wp_lock_acquire(&condition->lock);
	wp__wait_queue_add(&condition->line, waiter);
	say_who_waits(condition);
	wp_lock_release(&condition->lock);
	wp_mutex_unlock(mutex);
}

/* Moves up to `most` waiters out of the queue. Each of them gets its mutex, or joins the queue of
 * the mutex. */
static void signal(wp_condition *condition, uint32_t most, uint32_t what)
{
	wp_waiter *first, *granted = NULL, **end = &granted;

	/* [condition.1] relaxed: ordered by the mutex, because a thread that began to wait earlier
	 * has unlocked it since; pairs condition.2; upholds Condition!NoLostSignal. */
	if (wp_load_relaxed(&condition->waiting) == 0)
		return;
	wp_lock_acquire(&condition->lock);
	for (; most > 0 && (first = condition->line.first) != NULL; most--) {
		wp_mutex *mutex = first->value;

		wp__wait_queue_remove(first);
		first->amount = what;
		if (wp__mutex_begin_for(mutex, first)) {
			*end = first;
			end = &first->next;
		}
	}
	say_who_waits(condition);
	wp_lock_release(&condition->lock);
	wp__waiter_grant_all(granted);
}

void wp_condition_signal(wp_condition *condition)
{
	signal(condition, 1, SIGNALLED);
}

void wp_condition_broadcast(wp_condition *condition)
{
	signal(condition, UINT32_MAX, BROADCAST);
}

/* Returns whether the waiter is in the condition's own queue. [under the condition's lock] */
static bool is_in_line(const wp_waiter *waiter)
{
	return waiter->amount == IN_LINE;
}

bool wp__condition_check(wp_condition *condition, wp_mutex *mutex, wp_waiter *waiter)
{
	bool is_waiting;

	if (wp__waiter_is_granted(waiter)) {
		wp__mutex_has(mutex, waiter);
		return true;
	}
	wp_lock_acquire(&condition->lock);
	is_waiting = is_in_line(waiter);
	if (is_waiting)
		wp__waiter_renew(waiter);
	wp_lock_release(&condition->lock);
	return !is_waiting && wp__mutex_check(mutex, waiter);
}

bool wp__condition_cancel(wp_condition *condition, wp_waiter *waiter)
{
	bool is_waiting;

	wp_lock_acquire(&condition->lock);
	is_waiting = is_in_line(waiter);
	if (is_waiting) {
		wp__wait_queue_remove(waiter);
		waiter->amount = OUT;
		wp__waiter_over(waiter);
		say_who_waits(condition);
	}
	wp_lock_release(&condition->lock);
	return is_waiting;
}

/* Waits until the waiter holds the mutex. The waiter is in the queue of the mutex, or has been
 * granted the mutex. `is_over` is true if the last park of its thread has ended, and false if the
 * thread has not parked for the mutex yet. */
static void relock(wp_mutex *mutex, wp_waiter *waiter, bool is_over)
{
	bool was_interrupted = !is_over && wp__waiter_park_through(waiter);

	while (!wp__mutex_check(mutex, waiter))
		was_interrupted |= wp__waiter_park_through(waiter);
	wp__waiter_interrupt_again(waiter, was_interrupted);
}

int wp__condition_wait(wp_condition *condition, wp_mutex *mutex, wp_waiter *waiter,
		       int64_t deadline_ns)
{
	int rc;

	wp__condition_begin(condition, mutex, waiter);
	do {
		rc = wp__waiter_park(waiter, deadline_ns);
		if (rc == WP_OK && wp__condition_check(condition, mutex, waiter))
			return WP_OK;
	} while (rc == WP_OK);
	if (!wp__condition_cancel(condition, waiter)) {
		relock(mutex, waiter, true);
		return WP_OK;
	}
	if (!wp__mutex_begin(mutex, waiter))
		relock(mutex, waiter, false);
	return rc;
}

int wp_condition_wait_until(wp_condition *condition, wp_mutex *mutex, int64_t deadline_ns)
{
	wp_waiter waiter;

	wp__waiter_init_self(&waiter, WP_WAIT_CONDITION);
	return wp__condition_wait(condition, mutex, &waiter, deadline_ns);
}
