/* SPDX-License-Identifier: Apache-2.0
 * wait_queue.c - parking, checking and cancelling a wait. See wait_queue.h. */
#include "thread/wait_queue.h"

/* What an event records of a wait: the number of permits, or the descriptor. For other kinds of
 * wait it records 0, because there the amount is meant for the waker. */
static uint32_t on(const wp_waiter *waiter)
{
	return waiter->why == WP_WAIT_SEMAPHORE || waiter->why >= WP_WAIT_READ ? waiter->amount : 0;
}

int wp__waiter_park(wp_waiter *waiter, int64_t deadline_ns)
{
	int rc;

	if (waiter->thread != NULL) {
		rc = wp__vthread_park_for(deadline_ns, (enum wp_wait)waiter->why, on(waiter));
		if (rc != WP_OK)
			wp__waiter_refused(waiter);
		return rc;
	}
	rc = wp_futex_wait(&waiter->state, WP_WAITER_WAITS, deadline_ns);
	return rc == WP_TIMEOUT || rc == WP_INTERRUPTED ? rc : WP_OK;
}

bool wp__waiter_park_through(wp_waiter *waiter)
{
	return wp__waiter_park(waiter, WP_FOREVER) == WP_INTERRUPTED && waiter->thread != NULL &&
	       wp_vthread_clear_interrupt();
}

void wp__waiter_interrupt_again(wp_waiter *waiter, bool was_interrupted)
{
	if (was_interrupted)
		wp_vthread_interrupt(waiter->thread);
}

void wp__waiter_init_self(wp_waiter *waiter, enum wp_wait why)
{
	wp_vthread *self = wp_vthread_current();

	wp__waiter_init(waiter, self, wp__vthread_push);
	waiter->why = (uint16_t)why;
}

bool wp__waiter_check(wp_lock *lock, wp_waiter *waiter)
{
	bool is_in_line;

	if (wp__waiter_is_granted(waiter)) {
		wp__waiter_over(waiter);
		return true;
	}
	if (waiter->thread == NULL)
		return false; /* an OS thread has no number to renew */
	wp_lock_acquire(lock);
	is_in_line = waiter->line != NULL;
	if (is_in_line)
		wp__waiter_renew(waiter);
	wp_lock_release(lock);
	if (is_in_line)
		return false;
	wp__waiter_await(waiter);
	wp__waiter_over(waiter);
	return true;
}

bool wp__waiter_cancel(wp_lock *lock, wp_waiter *waiter)
{
	bool is_in_line;

	wp_lock_acquire(lock);
	is_in_line = waiter->line != NULL;
	if (is_in_line)
		wp__wait_queue_remove(waiter);
	wp_lock_release(lock);
	if (!is_in_line)
		wp__waiter_await(waiter);
	wp__waiter_over(waiter);
	return is_in_line;
}

int wp__waiter_wait(wp_lock *lock, wp_waiter *waiter, int64_t deadline_ns)
{
	int rc;

	do {
		rc = wp__waiter_park(waiter, deadline_ns);
		if (rc != WP_OK)
			return wp__waiter_cancel(lock, waiter) ? rc : WP_OK;
	} while (!wp__waiter_check(lock, waiter));
	return WP_OK;
}
