/* SPDX-License-Identifier: Apache-2.0
 * wakers.h - counts the threads that touch a group from outside, so that the group is deallocated
 * only when none of them is left.
 *
 *   granter (wait_queue.h), or a thread that   thread that frees the group, after
 *   runs a thread for a scheduler; it is no    the close
 *   carrier of the group
 *     [wakers.1] add 1 to the count            [wakers.3] the count is 0: done
 *     let the thread see its grant; or         else
 *       run it to its end                        [wakers.4] SLEEPS, unless the count
 *     touch the thread, its carrier, its                    has changed; sleep
 *       group
 *     [wakers.2] subtract 1; the last one,
 *       if SLEEPS: wake, by address
 *
 * Why it works  A group cannot be closed before each of its threads has ended or was taken out of
 *               the line in which it stands. A thread cannot end before it has seen its grant, or
 *               was run, and wakers.1 comes before that. A thread leaves its line under the
 *               object's lock, and there wakers.1 is done under that lock. So the thread that frees
 *               the group, which comes after the close, finds the count. A carrier of the group
 *               need not count itself, because the close waits for the end of each carrier.
 * Group close   When the carriers have ended, a close visits each line in which an unfinished
 *               thread stands, and takes it out of the line as a timeout would. If such a thread
 *               has already got a grant, the grant goes to the next waiter, or back to the object.
 *               Then the close hands the threads back: it returns them to its caller.
 * Not promised  A user's wp_vthread_unpark, _interrupt, _start or wp_task_unpark is not counted:
 *               the thread that frees the group must know that these calls have returned. A free
 *               inside the `left` of one of the group's own threads, or inside wp_vthread_run,
 *               never ends, because it waits for its own caller.
 * Spec          specs/thread/WaitQueueLeave.tla: NoDeadGrant, PassedOn, NoLostWake,
 *               NoTouchAfterFree, NoTouchAfterLeave, FreeEnds.
 * Evidence      make check-specs T=WaitQueueLeave, make stress T=wait_queue_leave,
 *               tests/thread/test_wakers.py. */
#ifndef WP_WAKERS_H
#define WP_WAKERS_H

#include "base/futex.h"
#include "base/order.h"
#include "thread/hooks.h"

/* A bit of the count: the thread that frees the group sleeps. */
#define WP_WAKERS_SLEEPS 0x80000000u

/* The number of threads inside one group. Zeroed: none. `count` is written by wakers.1, wakers.2
 * and wakers.4. */
typedef struct wp_wakers {
	wp_atomic(uint32_t) count;
} wp_wakers;

/* Counts the caller as inside, and returns what to pass to wp__wakers_exit; NULL if the caller need
 * not be counted. `wakers` is that of the thread's group, or NULL. [before the thread can see its
 * grant or be run, or under the lock of its line | wait-free] */
WP_INLINE wp_wakers *wp__wakers_enter(wp_wakers *wakers)
{
	if (wakers == NULL || wp__wakers_are_mine(wakers))
		return NULL;
	/* [wakers.1] relaxed: ordered by the grant or the release of the lock that follows, because
	 * the free comes after the effects of that; pairs wakers.2, wakers.3, wakers.4; upholds
	 * WaitQueueLeave!NoTouchAfterFree. */
	wp_fetch_add_relaxed(&wakers->count, 1);
	return wakers;
}

/* Ends the count of the caller. The group may be gone when this returns. [the thread that has
 * entered | a system call if the thread that frees the group sleeps] */
WP_INLINE void wp__wakers_exit(wp_wakers *wakers)
{
	if (wakers == NULL)
		return;
	/* [wakers.2] release; pairs wakers.1, wakers.3, wakers.4; upholds
	 * WaitQueueLeave!NoTouchAfterFree: all that the caller did inside comes before the free. */
	if (wp_fetch_add_release(&wakers->count, 0u - 1) == WP_WAKERS_SLEEPS + 1)
		wp_futex_wake(&wakers->count, 1);
}

/* Waits until no thread is inside. [the thread that frees the group, once | blocks] */
void wp__wakers_wait(wp_wakers *wakers);

#endif
