/* SPDX-License-Identifier: Apache-2.0
 * wakers.h - who is inside a group from outside: its free waits for them.
 *
 *   granter, or who runs a thread of its     the free, after the close
 *   scheduler's, on no carrier of the group  [wakers.3] nobody is inside: done
 *     [wakers.1] one more is inside                     else sleep
 *     let the thread see its grant; or let   [wakers.4] SLEEPS, unless somebody came or went
 *       it run to its end
 *     touch thread, carrier, group
 *     [wakers.2] one less; the last, and SLEEPS:
 *                wake, by address
 *
 * Why it works  A thread cannot end, and so its group cannot be closed, before it has seen its
 *               grant, or was run; or it stands in line, and leaves that under the object's lock.
 *               wakers.1 comes before that, or is under that lock, so the free that comes after the
 *               close finds it counted. A carrier of the group need not count: the close joins it.
 * What a close does about lines (wait_queue.h): when its carriers have ended, it leaves each line
 * in which
 *               an unfinished thread stands, as that would leave if it were too late; and what such
 *               a thread has been granted already goes to the next, or back. Then it hands threads
 *               back.
 * Not promised  That a user's wp_vthread_unpark, _interrupt, _start or wp_task_unpark is counted:
 *               who frees the group has ended these. That a free inside one of its threads' `left`,
 *               or inside wp_vthread_run, ends: it waits for its caller.
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

/* Those inside one group. Zeroed: nobody. count: wakers.1..LV4. */
typedef struct wp_wakers {
	wp_atomic(uint32_t) count;
} wp_wakers;

/* Counts the caller in: it gives that to the exit; NULL: it need not be counted. `wakers`: of the
 * thread's group, or NULL. [who is about to let the thread go on, or holds the lock of its line |
 * wait-free] */
WP_INLINE wp_wakers *wp__wakers_enter(wp_wakers *wakers)
{
	if (wakers == NULL || wp__wakers_are_mine(wakers))
		return NULL;
	/* [wakers.1] relaxed: ordered by the grant, or the lock, that follows, and the free comes
	 * after what comes of that; pairs wakers.2, wakers.3, wakers.4; upholds
	 * WaitQueueLeave!NoTouchAfterFree. */
	wp_fetch_add_relaxed(&wakers->count, 1);
	return wakers;
}

/* The group may be gone when this returns. [who has entered | a system call if the free sleeps] */
WP_INLINE void wp__wakers_exit(wp_wakers *wakers)
{
	if (wakers == NULL)
		return;
	/* [wakers.2] release; pairs wakers.1, wakers.3, wakers.4; upholds
	 * WaitQueueLeave!NoTouchAfterFree: all that the caller did inside comes before the free. */
	if (wp_fetch_add_release(&wakers->count, 0u - 1) == WP_WAKERS_SLEEPS + 1)
		wp_futex_wake(&wakers->count, 1);
}

/* Until nobody is inside. [who frees the group, once | blocks] */
void wp__wakers_wait(wp_wakers *wakers);

#endif
