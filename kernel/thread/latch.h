/* SPDX-License-Identifier: Apache-2.0
 * latch.h - one event that any number of threads wait for: shut, then open for good.
 *
 *   opener                               waiter
 *   [latch.1] nobody waits: OPEN, done   [latch.2] OPEN: done
 *   [latch.3] LOCKED                     [latch.3] LOCKED, unless OPEN
 *   [latch.4] the list is its own: OPEN  [latch.5] in the list, unlocked
 *   grant each of them                   park; granted (wait_queue.h): done
 *                                        too late: [latch.3] [latch.5] out of the list;
 *                                          OPEN: wait for the grant
 *
 *   word             means
 *   0                shut, nobody waits
 *   a waiter         shut; the newest, the others behind it
 *   | LOCKED         a waiter gets in or out, or the opener comes
 *   OPEN             for good
 *
 * Why it works  One word is the event, the list and its lock. Opening takes list and lock and
 *               publishes the event in one step, and nothing of the latch is touched after it: who
 *               finds it open may free it, though others are still being granted.
 * Not promised  That LOCKED is short, if its holder has lost its CPU.
 * Spec          specs/thread/Latch.tla: TerminationVisible, NoLostWaiter, UntouchedAfterOpen,
 *               Served.
 * Evidence      make check-specs T=Latch, make stress T=latch, wakeproof conform -t latch. */
#ifndef WP_LATCH_H
#define WP_LATCH_H

#include "thread/wait_queue.h"

/* Values of the word. */
enum { WP_LATCH_OPEN = 1, WP_LATCH_LOCKED = 2 };

/* 8 bytes. Zeroed is shut. Writers: latch.1, latch.3, latch.4, latch.5. */
typedef struct wp_latch {
	wp_atomic(uintptr_t) word;
} wp_latch;

/* [before it is shared | wait-free] */
WP_API_INLINE void wp_latch_init(wp_latch *latch)
{
	wp_init(&latch->word, 0);
}

/* Who waits is woken: latch.1 found that somebody does. */
void wp__latch_open_queued(wp_latch *latch);

/* Once. The latch may be gone when this returns. [one thread | blocks shortly] */
WP_API_INLINE void wp_latch_open(wp_latch *latch)
{
	uintptr_t shut = 0;

	/* [latch.1] release; pairs latch.2, latch.5; upholds Latch!TerminationVisible: who finds it
	 * open sees what came before. */
	if (!wp_cas_release(&latch->word, &shut, WP_LATCH_OPEN))
		wp__latch_open_queued(latch);
}

/* [any thread | wait-free] */
WP_API_INLINE bool wp_latch_is_open(wp_latch *latch)
{
	/* [latch.2] acquire; pairs latch.1, latch.4; upholds Latch!TerminationVisible. */
	return wp_load_acquire(&latch->word) == WP_LATCH_OPEN;
}

/* True: it is open; false: in line, park. [any thread | blocks shortly] */
bool wp__latch_begin(wp_latch *latch, wp_waiter *waiter);

/* As wp__waiter_check and wp__waiter_cancel. [the waiter's thread | blocks shortly] */
bool wp__latch_check(wp_latch *latch, wp_waiter *waiter);
bool wp__latch_cancel(wp_latch *latch, wp_waiter *waiter);

/* The three as one: WP_OK: it is open; WP_TIMEOUT, WP_INTERRUPTED. [any thread | blocks] */
int wp__latch_wait(wp_latch *latch, wp_waiter *waiter, int64_t deadline_ns);
/* Waits until it is open: WP_OK; WP_TIMEOUT, WP_INTERRUPTED. [any thread | blocks] */
WP_API int wp_latch_wait_until(wp_latch *latch, int64_t deadline_ns);
/* The same, and what the latch stands for: for an event. */
int wp__latch_wait_for(wp_latch *latch, int64_t deadline_ns, enum wp_wait why, uint32_t on);

#endif
