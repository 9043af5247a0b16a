/* SPDX-License-Identifier: Apache-2.0
 * latch.h - one event that any number of threads wait for. A latch is shut at first, and once it is
 * opened it stays open.
 *
 *   opener                               waiter
 *   [latch.1] nobody waits: OPEN, done   [latch.2] OPEN: done
 *   [latch.3] set LOCKED                 [latch.3] set LOCKED, unless OPEN
 *   [latch.4] take the list, set OPEN    [latch.5] enter the list, clear LOCKED
 *   grant each waiter of the list        park; granted (wait_queue.h): done
 *                                        timeout: [latch.3] [latch.5] leave the list; if it is
 *                                          OPEN now: wait for the grant
 *
 *   Usage    waiter:   wp_latch_wait_until(&latch, WP_FOREVER);
 *            opener:   result = ...;
 *                      wp_latch_open(&latch);
 *
 *   word             meaning
 *   0                The latch is shut and nobody waits.
 *   a waiter         The latch is shut; this is the newest waiter, and the others are behind it.
 *   | LOCKED         A waiter enters or leaves the list, or the opener takes it.
 *   OPEN             The latch is open for good.
 *
 * Why it works  One word is the event, the list of waiters and the list's lock. In one step the
 *               opener takes the list, ends the lock and publishes the event, and it does not touch
 *               the latch after that step. So a thread that finds the latch open may deallocate it,
 *               even while the opener still grants other waiters.
 * Not promised  LOCKED may last long, if its holder has lost its CPU.
 * Prior art     Java's CountDownLatch(1), and the word of waiters and bits in WebKit's WordLock.
 * Spec          specs/thread/Latch.tla: TerminationVisible, NoLostWaiter, UntouchedAfterOpen,
 *               Served.
 * Evidence      make check-specs T=Latch, make stress T=latch, wakeproof conform -t latch. */
#ifndef WP_LATCH_H
#define WP_LATCH_H

#include "thread/wait_queue.h"

/* Values of the word. */
enum { WP_LATCH_OPEN = 1, WP_LATCH_LOCKED = 2 };

/* 8 bytes. A zeroed latch is shut. The word is written by latch.1, latch.3, latch.4 and latch.5. */
typedef struct wp_latch {
	wp_atomic(uintptr_t) word;
} wp_latch;

/* Makes a shut latch. [one thread, before the latch is shared | wait-free] */
WP_API_INLINE void wp_latch_init(wp_latch *latch)
{
	wp_init(&latch->word, 0);
}

/* Opens a latch that has waiters, as latch.1 found, and wakes them.
 * [the opener | blocks briefly] */
void wp__latch_open_queued(wp_latch *latch);

/* Opens the latch. Call it once. Another thread may deallocate the latch before this returns. [one
 * thread | blocks briefly] */
WP_API_INLINE void wp_latch_open(wp_latch *latch)
{
	uintptr_t shut = 0;

	/* [latch.1] release; pairs latch.2, latch.5; upholds Latch!TerminationVisible: a thread
	 * that finds the latch open sees what the opener did before. */
	if (!wp_cas_release(&latch->word, &shut, WP_LATCH_OPEN))
		wp__latch_open_queued(latch);
}

/* Returns true if the latch is open. [any thread | wait-free] */
WP_API_INLINE bool wp_latch_is_open(wp_latch *latch)
{
	/* [latch.2] acquire; pairs latch.1, latch.4; upholds Latch!TerminationVisible. */
	return wp_load_acquire(&latch->word) == WP_LATCH_OPEN;
}

/* Begins a wait. Returns true if the latch is open. Returns false if the waiter is in line now; its
 * thread must then park. [any thread | blocks briefly] */
bool wp__latch_begin(wp_latch *latch, wp_waiter *waiter);

/* As wp__waiter_check and wp__waiter_cancel. [the waiter's thread | blocks briefly] */
bool wp__latch_check(wp_latch *latch, wp_waiter *waiter);
bool wp__latch_cancel(wp_latch *latch, wp_waiter *waiter);

/* The complete wait: begins, and parks and checks in a loop. Returns WP_OK if the latch is open,
 * WP_TIMEOUT or WP_INTERRUPTED. [any thread | blocks] */
int wp__latch_wait(wp_latch *latch, wp_waiter *waiter, int64_t deadline_ns);
/* Waits until the latch is open: WP_OK, WP_TIMEOUT or WP_INTERRUPTED. [any thread | blocks] */
WP_API int wp_latch_wait_until(wp_latch *latch, int64_t deadline_ns);
/* Like wp_latch_wait_until, and also records for the event of the wait what the latch stands for.
 * [any thread | blocks] */
int wp__latch_wait_for(wp_latch *latch, int64_t deadline_ns, enum wp_wait why, uint32_t on);

#endif
