/* SPDX-License-Identifier: Apache-2.0
 * wakers.c - how the thread that frees a group waits for the threads inside it. See wakers.h. */
#include "thread/wakers.h"

void wp__wakers_wait(wp_wakers *wakers)
{
	for (;;) {
		/* [wakers.3] acquire; pairs wakers.1, wakers.2; upholds
		 * WaitQueueLeave!NoTouchAfterFree: what the threads inside did comes before the
		 * free. */
		uint32_t count = wp_load_acquire(&wakers->count);

		if (count % WP_WAKERS_SLEEPS == 0)
			return;
		/* [wakers.4] relaxed: atomicity is enough, because either the last thread inside
		 * finds SLEEPS, or this step fails; pairs wakers.1, wakers.2; upholds
		 * WaitQueueLeave!FreeEnds. */
		if (count >= WP_WAKERS_SLEEPS ||
		    wp_cas_relaxed(&wakers->count, &count, count + WP_WAKERS_SLEEPS))
			wp_futex_wait(&wakers->count, count | WP_WAKERS_SLEEPS, WP_FOREVER);
	}
}
