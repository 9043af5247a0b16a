/* SPDX-License-Identifier: Apache-2.0
 * timer.h - the deadlines of one carrier: pairing heaps under a lock, and the earliest deadline in
 * a word that is read without the lock.
 *
 *   armer, on any carrier                       the carrier
 *   lock; [timer.1] put it into a heap          [timer.8] earliest <= now? for each due timer:
 *   [timer.2] it is the first: earliest := it      lock; take it off its heap; call `due`;
 *   unlock                                         [timer.7] armed := NULL; [timer.3] earliest :=
 *   it is the first, on another carrier:           the first; unlock; push the task
 *   [timer.9] fence                             [carrier.1] word := PARKED
 *   [timer.10] [timer.11] word PARKED: WAKING,  [carrier.6] fence
 *              and one wake                     [timer.8] sleep until earliest
 *
 *   canceller                                   the close: [timer.12] take all timers off
 *   [timer.4] armed = NULL? it has fired, and no thread touches it
 *   lock; [timer.5] still armed? [timer.6] take it off its heap; [timer.3]; unlock
 *
 * Why it works  timer.9 and carrier.6 are ordered: the carrier reads the new deadline before it
 *               sleeps, or the thread that arms the timer (the armer) sees the carrier parked.
 *               `due` runs under the lock, and timer.7 is the last access to the timer. So when a
 *               cancel has returned, only the owner of the timer touches it, and the timer may lie
 *               on a stack. The links are in the timer, so arming never fails.
 *               The wake by an armer brings no task. A search copes with that, because a woken
 *               carrier may find its task stolen anyway, and every park looks everywhere again
 *               (carrier.h). A submitter that finds the carrier WAKING leaves it one task, which
 *               the carrier polls before anything else.
 * Not promised  Timers with the same deadline may fire in any order. A sleep may end before the
 *               deadline, because the timer that was the first may be cancelled. A timer may fire
 *               late: its carrier may be inside a long step, and no other carrier fires its timers.
 * Time          CLOCK_MONOTONIC, absolute, in ns. Deadlines are compared and never subtracted, so
 *               nothing can wrap. wp_deadline_in, the only sum, saturates.
 * Prior art     Fredman, Sedgewick, Sleator and Tarjan's pairing heap; Go's timers, one heap per P.
 * Spec          specs/sched/Timer.tla: NoOversleep, NeverEarly, DueOnce, CancelIsFinal,
 *               StaleTimerHarmless, Fires, Resumes; specs/sched/search_nudged.models.toml: Search
 *               with spurious wakeups.
 * Evidence      make check-specs T=Timer, make stress T=timer. */
#ifndef WP_TIMER_H
#define WP_TIMER_H

#include "base/futex.h"
#include "sched/carrier.h"
#include "thread/task.h"

struct wp_timers;

/* 48 bytes, owned by its user. `armed` is written by timer.1, timer.6 and timer.7; `due` by its
 * user, before the timer is armed; the other fields under the lock of the timers in which it is
 * armed. `child` is the first of the timers below it in its pairing heap; `next` is its next
 * sibling there; `back` is the link that points to it. */
typedef struct wp_timer {
	struct wp_timer *child, *next, **back;
	int64_t deadline_ns;
	wp_atomic(struct wp_timers *) armed; /* where it is armed; NULL: it is not armed */
	/* Called when the deadline has passed. Returns the task that must now be pushed to its
	 * home, or NULL. It must not arm or cancel a timer. [the carrier, under the lock |
	 * lock-free] */
	wp_task *(*due)(struct wp_timer *timer);
} wp_timer;

enum { WP_TIMER_HEAPS = 32 }; /* each heap is empty, or about twice as large as the one before */

/* The timers of one carrier, three cache lines. earliest_ns is written by timer.2 and timer.3; it
 * is WP_FOREVER if no timer is armed, or only timers without an end. The other fields are written
 * under the lock. `first` is the earliest timer, or NULL; the heaps from `count` on are empty. */
typedef struct wp_timers {
	_Alignas(WP_LINE) wp_atomic(int64_t) earliest_ns;
	wp_lock lock;
	uint32_t count;
	wp_timer *first;
	wp_timer *heaps[WP_TIMER_HEAPS];
} wp_timers;

void wp_timers_init(wp_timers *timers); /* [before it is shared | wait-free] */

/* Makes a timer that calls `due`. [before it is shared | wait-free] */
WP_INLINE void wp_timer_init(wp_timer *timer, wp_task *(*due)(wp_timer *timer))
{
	wp_init(&timer->armed, NULL);
	timer->due = due;
}

/* Arms a timer that is not armed. The timer must stay in place until it has fired or has been
 * cancelled. Returns true if it is the first now; a caller other than the carrier of these timers
 * must then call wp_timers_nudge. [its user, any thread | blocks briefly] */
bool wp_timer_arm(wp_timers *timers, wp_timer *timer, int64_t deadline_ns);

/* Cancels a timer. Returns true if the timer was armed, and will not fire. Returns false if it has
 * fired, or was never armed. In both cases no thread touches it after the return; if no other
 * canceller is inside, its memory may be reused. [any thread, while it is there | blocks briefly;
 * wait-free if it is not armed] */
bool wp_timer_cancel(wp_timer *timer);

/* Wakes a carrier that may sleep for too long, because it has read `earliest` before it was
 * changed. Returns true if the carrier was parked. [any thread, after an arm that returned true | a
 * system call if the carrier sleeps] */
bool wp_timers_nudge(wp_carrier *carrier);
/* Like wp_timers_nudge, but the caller has passed a fence of its own. */
bool wp__timers_end_sleep(wp_carrier *carrier);

/* Fires due timers until one returns a task, which the caller must push to its home. Returns NULL
 * if no more timers are due. [the carrier | blocks briefly; wait-free if none is due] */
wp_task *wp_timers_due(wp_timers *timers, int64_t now_ns);

/* Cancels all timers that are armed. [the close | blocks briefly] */
void wp_timers_clear(wp_timers *timers);

/* Returns the earliest deadline, or WP_FOREVER if there is none. [any thread | wait-free] */
WP_INLINE int64_t wp_timers_earliest(wp_timers *timers)
{
	/* [timer.8] relaxed: ordered by [carrier.6] before a sleep; elsewhere a value that is stale
	 * costs a turn; pairs timer.2, timer.3; upholds Timer!NoOversleep. */
	return wp_load_relaxed(&timers->earliest_ns);
}

/* Returns the deadline that is `duration_ns` from now. That is now if the duration is not positive,
 * and WP_FOREVER if the sum is too large. [any thread | wait-free] */
WP_INLINE int64_t wp_deadline_in(int64_t duration_ns)
{
	int64_t now_ns = wp_clock_ns();

	if (duration_ns <= 0)
		return now_ns;
	return duration_ns < WP_FOREVER - now_ns ? now_ns + duration_ns : WP_FOREVER;
}

#endif
