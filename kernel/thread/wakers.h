/* SPDX-License-Identifier: Apache-2.0
 * wakers.h - counts the threads that touch a group from outside, so that its free waits for them.
 *
 *   granter, or a thread that runs a thread  the free, after the close
 *   for a scheduler, on no carrier of the    [wakers.3] nobody is inside: done
 *   group                                               else sleep
 *     [wakers.1] one more is inside          [wakers.4] SLEEPS, unless the count has changed
 *     let the thread see its grant; or
 *       run it to its end
 *     touch thread, carrier, group
 *     [wakers.2] one less; the last, and
 *                SLEEPS: wake, by address
 *
 * Why it works  A thread cannot end, and so its group cannot be closed, before it has seen its
 *               grant, or was run; or it stands in line, and leaves the line under the object's
 *               lock. wakers.1 comes before that, or is under that lock, so the free, which comes
 *               after the close, finds it counted. A carrier of the group need not count, because
 *               the close joins it.
 * Group close   When its carriers have ended, a close visits each line (wait_queue.h) in which an
 *               unfinished thread stands, and leaves it as that thread would after a timeout. A
 *               grant that such a thread has already got goes to the next waiter, or back to the
 *               object. Then the close hands the threads back.
 * Not promised  That a user's wp_vthread_unpark, _interrupt, _start or wp_task_unpark is counted:
 *               the thread that frees the group has ended these. That a free inside one of its
 *               threads' `left`, or inside wp_vthread_run, ends: it waits for its caller.
 * Spec          specs/thread/WaitQueueLeave.tla: NoDeadGrant, PassedOn, NoLostWake,
 *               NoTouchAfterFree, NoTouchAfterLeave, FreeEnds.
 * Evidence      make check-specs T=WaitQueueLeave, make stress T=wait_queue_leave,
 *               tests/thread/test_wakers.py. */
#ifndef WP_WAKERS_H
#define WP_WAKERS_H

#include "base/futex.h"
#include "base/order.h"
#include "thread/hooks.h"

/* A bit of the count: the free sleeps. */
#define WP_WAKERS_SLEEPS 0x80000000u

/* The number of threads inside one group. Zeroed: none. wakers.1, wakers.2 and wakers.4 write
 * count. */
typedef struct wp_wakers {
	wp_atomic(uint32_t) count;
} wp_wakers;

/* Counts the caller in, and returns what to pass to the exit; NULL if it need not be counted.
 * `wakers` is that of the thread's group, or NULL.
 * [before the thread is let go on, or under the lock of its line | wait-free] */
WP_INLINE wp_wakers *wp__wakers_enter(wp_wakers *wakers)
{
	if (wakers == NULL || wp__wakers_are_mine(wakers))
		return NULL;
	/* [wakers.1] relaxed: ordered by the grant, or the lock, that follows, and the free comes
	 * after the effects of that; pairs wakers.2, wakers.3, wakers.4; upholds
	 * WaitQueueLeave!NoTouchAfterFree. */
	wp_fetch_add_relaxed(&wakers->count, 1);
	return wakers;
}

/* Counts the caller out. The group may be gone when this returns.
 * [the thread that has entered | a system call if the free sleeps] */
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
