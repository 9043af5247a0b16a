/* SPDX-License-Identifier: Apache-2.0
 * short_lock.h - a lock for critical sections of a few instructions. Its release is a plain store.
 *
 *   acquire                                     release
 *   [short_lock.1] until state was 0:           [short_lock.2] state := 0
 *                  compare-and-swap(0, 1)
 *                  else pause, then yield, then sleep
 *
 * Usage         wp_short_lock_acquire(&lock);
 *               change_two_fields();             no system call, and no other lock
 *               wp_short_lock_release(&lock);
 *
 * Why it works  The release of a lock for which threads sleep (futex.h) has to learn whether one
 *               sleeps, in the same atomic step: that is a second locked instruction. Here no
 *               thread sleeps until it is woken, so the release need not know. A thread that finds
 *               the lock held waits for a few instructions of the holder, or, if the holder has
 *               lost its CPU, until it has one again. It sleeps for 50 us at a time then, because
 *               a holder of a lower real-time priority on the same CPU does not run otherwise.
 * Not promised  Newcomers barge, so a wait for the lock has no bound.
 * Prior art     Test-and-set locks; Boost.Fiber's channels have one as well.
 * Spec          specs/sync/Channel.tla contains the acquisition as one step, with what is done under
 *               the lock, and the release as another; MutexCore.tla has a step for each.
 * Evidence      make stress T=channel, wakeproof explore -t channel; twins channel_unlock_relaxed
 *               and channel_lock_relaxed. */
#ifndef WP_SHORT_LOCK_H
#define WP_SHORT_LOCK_H

#include "base/order.h"

/* 4 bytes. A zeroed lock is free. 0: free. 1: held. */
typedef struct wp_short_lock {
	wp_atomic(uint32_t) state;
} wp_short_lock;

/* Takes the lock. [any thread | waits for the holder] */
WP_INLINE void wp_short_lock_acquire(wp_short_lock *lock)
{
	uint32_t free = 0;
	unsigned turns = 0;

	/* [short_lock.1] acquire; pairs short_lock.2; upholds Channel!NothingLost: the new holder
	 * sees what the last one wrote. */
	while (!wp_cas_acquire(&lock->state, &free, 1)) {
		free = 0;
		wp_wait_a_turn(&turns);
	}
}

/* Releases the lock, and touches it for the last time. [the holder | wait-free] */
WP_INLINE void wp_short_lock_release(wp_short_lock *lock)
{
	/* [short_lock.2] release; pairs short_lock.1; upholds Channel!NothingLost: the next holder
	 * sees what was written under the lock. */
	wp_store_release(&lock->state, 0);
}

#endif
