/* SPDX-License-Identifier: Apache-2.0
 * timer.h - the deadlines of one carrier: heaps under a lock, and the earliest where it is read.
 *
 *   who arms, on any carrier                    the carrier
 *   lock; [timer.1] into a heap                 [timer.8] earliest <= now? fire what is due, one by one:
 *   [timer.2] the first: earliest := it                   lock; off its heap; due; [timer.7] armed := NULL
 *   unlock                                           [timer.3] earliest := the first; unlock; push
 *   it was the first, and another's:            [carrier.1] word := PARKED
 *   [timer.9] fence                             [carrier.6] fence
 *   [timer.10] [timer.11] word PARKED: WAKING,  [timer.8] sleep until earliest
 *              and one wake
 *
 *   who cancels
 *   [timer.4] armed = NULL? it has fired, and nobody touches it
 *   lock; [timer.5] still armed? [timer.6] off its heap; [timer.3]; unlock  the close: [timer.12] all off
 *
 * Why it works  timer.9 and carrier.6 are ordered: the carrier reads the new deadline before it sleeps, or
 *               the armer sees it parked. `due` runs under the lock and timer.7 is the last that
 *               touches the timer, so a cancel that has returned leaves it to its owner alone: it
 *               may lie on a stack. Links are in the timer: arming never fails.
 *               A nudge is a wake without a task. That is no news to a search: a woken carrier may
 *               find its task stolen, and every park looks everywhere again (carrier.h). Whoever
 *               finds it WAKING leaves it one task, which it polls before anything else.
 * Not promised  An order among timers of one deadline. That a sleep ends at its deadline and not
 *               before: a timer that was the first may be cancelled. That a timer fires on time:
 *               its carrier may be inside a long step, and no other one fires for it.
 * Time          CLOCK_MONOTONIC, absolute, in ns. Deadlines are compared and never subtracted, so
 *               nothing can wrap; wp_deadline_in, the one sum, saturates.
 * Spec          specs/sched/Timer.tla: NoOversleep, NeverEarly, DueOnce, CancelIsFinal,
 *               StaleTimerHarmless, Fires, Resumes; specs/sched/search_nudged.models.toml: Search
 *               with nudges.
 * Evidence      make check-specs T=Timer, make stress T=timer. */
#ifndef WP_TIMER_H
#define WP_TIMER_H

#include "base/futex.h"
#include "sched/carrier.h"
#include "thread/task.h"

struct wp_timers;

/* 48 bytes, its user's. armed: timer.1, timer.6, timer.7. The rest: under the lock of the timers in
 * which it is armed; `due` is its user's to set before that. child: the first of the timers below
 * it in its pairing heap; next: its next sibling; back: the link that points to it. */
typedef struct wp_timer {
	struct wp_timer *child, *next, **back;
	int64_t deadline_ns;
	wp_atomic(struct wp_timers *) armed; /* where; NULL: it is not */
	/* Its time has come: the task that must be pushed to its home now, or NULL. It arms and
	 * cancels nothing. [the carrier, under the lock | lock-free] */
	wp_task *(*due)(struct wp_timer *timer);
} wp_timer;

enum { WP_TIMER_HEAPS = 32 }; /* they double in size, or are empty */

/* Three lines. earliest_ns: timer.2, timer.3; WP_FOREVER: none is armed, or for ever. The rest:
 * under the lock; first: the earliest, or NULL; heaps from `count` on are empty. */
typedef struct wp_timers {
	_Alignas(WP_LINE) wp_atomic(int64_t) earliest_ns;
	wp_lock lock;
	uint32_t count;
	wp_timer *first;
	wp_timer *heaps[WP_TIMER_HEAPS];
} wp_timers;

void wp_timers_init(wp_timers *timers); /* [before it is shared | wait-free] */

/* [before it is shared | wait-free] */
WP_INLINE void wp_timer_init(wp_timer *timer, wp_task *(*due)(wp_timer *timer))
{
	wp_init(&timer->armed, NULL);
	timer->due = due;
}

/* True: it is the first now, and whoever is not the carrier of these timers must nudge that. The
 * timer is not armed, and stays where it is until it has fired or been cancelled. [its user, any
 * thread | blocks shortly] */
bool wp_timer_arm(wp_timers *timers, wp_timer *timer, int64_t deadline_ns);

/* True: it was armed, and will not fire. False: it has fired, or never was armed. In both cases
 * nobody touches it after the return; with no other canceller inside, its memory is free.
 * [any thread, while it is there | blocks shortly; wait-free if it is not armed] */
bool wp_timer_cancel(wp_timer *timer);

/* Ends the sleep of a carrier that may have read `earliest` too soon. True: it was parked.
 * [any thread, after an arm that said so | a system call if it sleeps] */
bool wp_timers_nudge(wp_carrier *carrier);
/* The same, after a fence of the caller's. */
bool wp__timers_end_sleep(wp_carrier *carrier);

/* Fires what is due until one gives a task, which the caller must push to its home; NULL: no more
 * is due. [the carrier | blocks shortly; wait-free if none is due] */
wp_task *wp_timers_due(wp_timers *timers, int64_t now_ns);

/* All that is armed will not fire: as if it were cancelled. [who closes them | blocks shortly] */
void wp_timers_clear(wp_timers *timers);

/* The earliest deadline; WP_FOREVER: none. [any thread | wait-free] */
WP_INLINE int64_t wp_timers_earliest(wp_timers *timers)
{
	/* [timer.8] relaxed: ordered by [carrier.6] before a sleep; elsewhere stale costs a turn;
	 * pairs timer.2, timer.3; upholds Timer!NoOversleep. */
	return wp_load_relaxed(&timers->earliest_ns);
}

/* The deadline that is so far from now; at once, if that is none; WP_FOREVER, if there is no such
 * time. [any thread | wait-free] */
WP_INLINE int64_t wp_deadline_in(int64_t duration_ns)
{
	int64_t now_ns = wp_clock_ns();

	if (duration_ns <= 0)
		return now_ns;
	return duration_ns < WP_FOREVER - now_ns ? now_ns + duration_ns : WP_FOREVER;
}

#endif
