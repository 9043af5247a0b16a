/* SPDX-License-Identifier: Apache-2.0
 * lock.c - a lock and a condition made of futexes. See futex.h. */
#include "base/error.h"
#include "base/futex.h"

void wp_lock_acquire(wp_lock *lock)
{
	uint32_t seen = 0;

	/* [lock.1] acquire; pairs lock.3; upholds Guard!NoLostWakeup: the new holder sees what the
	 * last one wrote. */
	if (wp_cas_acquire(&lock->state, &seen, 1))
		return;
	/* [lock.2] acquire; pairs lock.3; upholds Guard!NoLostWakeup: state 2 makes the holder wake
	 * a sleeper at its release. */
	while (wp_exchange_acquire(&lock->state, 2) != 0)
		wp_futex_wait(&lock->state, 2, WP_FOREVER);
}

void wp_lock_release(wp_lock *lock)
{
	/* [lock.3] release; pairs lock.1, lock.2; upholds Guard!NoLostWakeup: the next holder sees
	 * what was written under the lock. */
	if (wp_exchange_release(&lock->state, 0) == 2)
		wp_futex_wake(&lock->state, 1);
}

int wp_cond_wait(wp_cond *cond, wp_lock *lock, int64_t deadline_ns)
{
	/* [lock.4] relaxed: ordered by the lock, under which every signal is counted; pairs lock.5;
	 * upholds Guard!NoLostWakeup. */
	uint32_t seen = wp_load_relaxed(&cond->signals);
	int rc;

	wp_lock_release(lock);
	rc = wp_futex_wait(&cond->signals, seen, deadline_ns);
	wp_lock_acquire(lock);
	return rc == WP_TIMEOUT || rc == WP_INTERRUPTED ? rc : WP_OK;
}

void wp_cond_signal(wp_cond *cond)
{
	/* [lock.5] relaxed: ordered by the lock, which both sides hold; pairs lock.4; upholds
	 * Guard!NoLostWakeup. */
	wp_fetch_add_relaxed(&cond->signals, 1);
	wp_futex_wake(&cond->signals, 1);
}
