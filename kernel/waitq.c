/* SPDX-License-Identifier: Apache-2.0
 * waitq.c - see waitq.h. */
#include "waitq.h"

#ifdef WP_EXPLORE
#define wp_vthread_current() ((wp_vthread *)NULL) /* scenarios step theirs by hand */
#define wp_vthread_park_until(deadline_ns) ((void)(deadline_ns), WP_FORBIDDEN)
#endif

int wp__waiter_park(wp_waiter *waiter, int64_t deadline_ns)
{
	int rc;

	if (waiter->thread != NULL)
		return wp_vthread_park_until(deadline_ns);
	rc = wp_futex_wait(&waiter->state, WP_WAITER_WAITS, deadline_ns);
	return rc == WP_TIMEOUT || rc == WP_INTERRUPTED ? rc : WP_OK;
}

void wp__waiter_init_self(wp_waiter *waiter)
{
	wp__waiter_init(waiter, wp_vthread_current());
}

bool wp__waiter_check(wp_lock *lock, wp_waiter *waiter)
{
	bool is_in_line;

	if (wp__waiter_is_granted(waiter))
		return true;
	if (waiter->thread == NULL)
		return false; /* it has no number to renew */
	wp_lock_acquire(lock);
	is_in_line = waiter->line != NULL;
	if (is_in_line)
		wp__waiter_renew(waiter);
	wp_lock_release(lock);
	if (!is_in_line)
		wp__waiter_await(waiter);
	return !is_in_line;
}

bool wp__waiter_cancel(wp_lock *lock, wp_waiter *waiter)
{
	bool is_in_line;

	wp_lock_acquire(lock);
	is_in_line = waiter->line != NULL;
	if (is_in_line)
		wp__waitq_remove(waiter);
	wp_lock_release(lock);
	if (!is_in_line)
		wp__waiter_await(waiter);
	return is_in_line || wp_twin(waitq_grant_ignored);
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

/* Stand-ins until vthread.c is linked; a scenario has its own push. */
#ifndef WP_EXPLORE
__attribute__((weak)) wp_vthread *wp_vthread_current(void)
{
	return NULL;
}

__attribute__((weak)) int wp_vthread_park_until(int64_t deadline_ns)
{
	(void)deadline_ns;
	return WP_FORBIDDEN;
}
#endif

__attribute__((weak)) void wp__vthread_push(wp_vthread *thread)
{
	(void)thread;
}
