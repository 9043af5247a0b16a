/* SPDX-License-Identifier: Apache-2.0
 * condition.c - see condition.h. While a waiter is in line, its value is its mutex; then NULL. */
#include "condition.h"

void wp_condition_init(wp_condition *condition)
{
	wp_init(&condition->waiting, 0);
	wp_init(&condition->lock.state, 0);
	condition->line.first = condition->line.last = NULL;
}

/* Under the lock. */
static void say_who_waits(wp_condition *condition)
{
	/* [YN2] relaxed: ordered by the mutex, under which a waiter gets in line; pairs YN1; upholds
	 * Condition!NoLostSignal. */
	wp_store_relaxed(&condition->waiting, condition->line.first != NULL);
}

void wp__condition_begin(wp_condition *condition, wp_mutex *mutex, wp_waiter *waiter)
{
	if (wp_twin(condition_unlocks_first))
		wp_mutex_unlock(mutex);
	wp__waiter_renew(waiter);
	waiter->value = mutex;
	wp_lock_acquire(&condition->lock);
	wp__waitq_add(&condition->line, waiter);
	say_who_waits(condition);
	wp_lock_release(&condition->lock);
	if (!wp_twin(condition_unlocks_first))
		wp_mutex_unlock(mutex);
}

/* Up to `most` of the line, which get the mutex or stand in its line. */
static void signal(wp_condition *condition, uint32_t most)
{
	wp_waiter *first, *granted = NULL, **end = &granted;

	/* [YN1] relaxed: ordered by the mutex: who waited before holds it no more; pairs YN2; upholds
	 * Condition!NoLostSignal. */
	if (wp_load_relaxed(&condition->waiting) == 0)
		return;
	wp_lock_acquire(&condition->lock);
	for (; most > 0 && (first = condition->line.first) != NULL; most--) {
		wp_mutex *mutex = first->value;

		wp__waitq_remove(first);
		first->value = NULL;
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
	signal(condition, 1);
}

void wp_condition_broadcast(wp_condition *condition)
{
	signal(condition, wp_twin(condition_wakes_one) ? 1 : UINT32_MAX);
}

/* Under the lock: whether the waiter is in this line. */
static bool is_in_line(const wp_waiter *waiter)
{
	return waiter->value != NULL;
}

bool wp__condition_check(wp_condition *condition, wp_mutex *mutex, wp_waiter *waiter)
{
	bool is_waiting;

	if (wp__waiter_is_granted(waiter))
		return true;
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
		wp__waitq_remove(waiter);
		say_who_waits(condition);
	}
	wp_lock_release(&condition->lock);
	return is_waiting || wp_twin(condition_swallows);
}

/* It is in the mutex's line, or has it; its last park is over, or it has not parked there yet. */
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

	wp__waiter_init_self(&waiter);
	return wp__condition_wait(condition, mutex, &waiter, deadline_ns);
}
