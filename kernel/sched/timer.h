/* SPDX-License-Identifier: Apache-2.0
 * timer.h - the deadlines of one carrier: pairing heaps under a lock, and the earliest deadline in
 * a word that is read without the lock.
 *
 *   armer, on any carrier                       the carrier
 *   lock; [timer.1] into a heap                 [timer.8] earliest <= now? fire what is due, each:
 *   [timer.2] the first: earliest := it            lock; off its heap; due; [timer.7] armed := NULL
 *   unlock                                         [timer.3] earliest := the first; unlock; push
 *   it was the first, and another's:            [carrier.1] word := PARKED
 *   [timer.9] fence                             [carrier.6] fence
 *   [timer.10] [timer.11] word PARKED: WAKING,  [timer.8] sleep until earliest
 *              and one wake
 *
 *   canceller                                   the close: [timer.12] all off
 *   [timer.4] armed = NULL? it has fired, and nobody touches it
 *   lock; [timer.5] still armed? [timer.6] off its heap; [timer.3]; unlock
 *
 * Why it works  timer.9 and carrier.6 are ordered: the carrier reads the new deadline before it
 *               sleeps, or the armer sees it parked. `due` runs under the lock, and timer.7 is the
 *               last access to the timer. So a cancel that has returned leaves the timer to its
 *               owner alone, and the timer may lie on a stack. The links are in the timer, so
 *               arming never fails.
 *               The armer's wake is spurious: it brings no task. A search copes with that, because
 *               a woken carrier may find its task stolen anyway, and every park looks everywhere
 *               again (carrier.h). A submitter that finds the carrier WAKING leaves it one task,
 *               which the carrier polls before anything else.
 * Not promised  An order among timers of one deadline. That a sleep lasts until its deadline: the
 *               timer that was the first may be cancelled. That a timer fires on time: its carrier
 *               may be inside a long step, and no other carrier fires for it.
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

/* 48 bytes, owned by its user. armed: timer.1, timer.6, timer.7. due: its user, before it is armed.
 * The rest: under the lock of the timers in which it is armed. child: the first of the timers below
 * it in its pairing heap; next: its next sibling; back: the link that points to it. */
typedef struct wp_timer {
	struct wp_timer *child, *next, **back;
	int64_t deadline_ns;
	wp_atomic(struct wp_timers *) armed; /* in which timers; NULL: it is not armed */
	/* Called when its time has come: returns the task that must now be pushed to its home, or
	 * NULL. It must not arm or cancel a timer. [the carrier, under the lock | lock-free] */
	wp_task *(*due)(struct wp_timer *timer);
} wp_timer;

enum { WP_TIMER_HEAPS = 32 }; /* each is empty, or about twice as large as the one before */

/* The timers of one carrier, three cache lines. earliest_ns: timer.2, timer.3; WP_FOREVER: no timer
 * is armed, or only for ever. The rest: under the lock. first: the earliest, or NULL; heaps from
 * `count` on are empty. */
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

/* Arms a timer that is not armed; it must stay in place until it has fired or been cancelled.
 * Returns true if it is the first now, and a caller other than the carrier of these timers must
 * call wp_timers_nudge. [its user, any thread | blocks shortly] */
bool wp_timer_arm(wp_timers *timers, wp_timer *timer, int64_t deadline_ns);

/* Cancels a timer. Returns true if it was armed, and will not fire. Returns false if it has fired,
 * or was never armed. In both cases nobody touches it after the return; if no other canceller is
 * inside, its memory is free. [any thread, while it is there | blocks shortly; wait-free if it is
 * not armed] */
bool wp_timer_cancel(wp_timer *timer);

/* Wakes a carrier that may sleep for too long because it has read `earliest` too soon. Returns true
 * if it was parked. [any thread, after an arm that returned true | a system call if it sleeps] */
bool wp_timers_nudge(wp_carrier *carrier);
/* The same, after a fence of the caller's own. */
bool wp__timers_end_sleep(wp_carrier *carrier);

/* Fires due timers until one returns a task, which the caller must push to its home. Returns NULL
 * if no more timers are due. [the carrier | blocks shortly; wait-free if none is due] */
wp_task *wp_timers_due(wp_timers *timers, int64_t now_ns);

/* Cancels all timers that are armed. [the close | blocks shortly] */
void wp_timers_clear(wp_timers *timers);

/* The earliest deadline; WP_FOREVER: none. [any thread | wait-free] */
WP_INLINE int64_t wp_timers_earliest(wp_timers *timers)
{
	/* [timer.8] relaxed: ordered by [carrier.6] before a sleep; elsewhere stale costs a turn;
	 * pairs timer.2, timer.3; upholds Timer!NoOversleep. */
	return wp_load_relaxed(&timers->earliest_ns);
}

/* The deadline `duration_ns` from now. Now, if the duration is not positive; WP_FOREVER, if there
 * is no such time. [any thread | wait-free] */
WP_INLINE int64_t wp_deadline_in(int64_t duration_ns)
{
	int64_t now_ns = wp_clock_ns();

	if (duration_ns <= 0)
		return now_ns;
	return duration_ns < WP_FOREVER - now_ns ? now_ns + duration_ns : WP_FOREVER;
}

#endif
