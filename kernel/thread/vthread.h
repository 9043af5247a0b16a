/* SPDX-License-Identifier: Apache-2.0
 * vthread.h - a virtual thread's word: its state, its one permit, and the number of its park.
 *
 *   runner                                            unparker, canceller, joiner
 *   [vthread.2] PARKED: the park is over: BUSY,       [vthread.1] give the permit; had none and was
 *               no permit, the next number                        PARKED: push it home
 *   run it, until it                                              PINNED: wake its carrier
 *     parks    [vthread.4] takes the permit,          [vthread.5] the same, but for park k alone:
 *                          continues                              a timer (LATE, not PERMIT), or
 *              [vthread.3] BUSY to PARKED;                        a waker of a queue
 *                          else as vthread.4          [vthread.8] PARKED, no permit: CANCELLED
 *     is pinned and parks                             [vthread.9] DONE?
 *              [vthread.6] PINNED, sleeps below it    interrupt:
 *     yields   push it home                           [vthread.12] set its flag, then [vthread.1]
 *     ends     [vthread.7] DONE
 *
 *   word             meaning                                       may be touched by
 *   PARKED           It is in no queue, and no thread runs it.     the thread that moves it on
 *   PARKED | PERMIT  The giver of the permit pushes it.            the giver, its queue, its popper
 *   BUSY             It is queued, or it runs.                     its queue or its runner
 *   BUSY | PINNED    It sleeps, and its carrier with it.           its runner
 *   | PERMIT         Its next park will return at once.            as without the bit
 *   | LATE           The same: the time of that park is over.      as without the bit
 *   the other bits   They count the parks that have returned.
 *
 * Why it works  The permit is taken where the number changes, and nowhere else: at the end of a
 *               park (vthread.2, vthread.3, vthread.4, vthread.6), never by a start or a yield.
 *               Park and unpark meet in the word: one of them comes second and sees the other. A
 *               thread that waits to end one certain park gives the number of that park. So,
 *               however late it comes, it can neither wake a later park nor leave it a permit. A
 *               timer has a bit of its own, so a park reports a timeout only if it was not
 *               unparked.
 * Not promised  That a park returns only for a permit: the parked thread checks its condition
 *               again. More than one permit. vthread.5 mistakes a park for the one 2^27 parks
 *               later.
 * Prior art     The permit of Java's LockSupport, and the states of its virtual threads (parked,
 *               pinned).
 * Spec          specs/thread/VThread.tla: NoConcurrentMount, HappensBeforeRun,
 *               SubmitOncePerRunnable, UnparkNotLost, PermitOnlyConsumedByPark,
 *               ParkedImpliesNoPermit, PinnedUnparkReachesCarrier, StaleTimerHarmless,
 *               InterruptNotLost, TerminationVisible.
 * Evidence      make check-specs T=VThread, make stress T=vthread. */
#ifndef WP_VTHREAD_H
#define WP_VTHREAD_H

#include "base/error.h"
#include "base/futex.h"
#include "thread/task.h"

/* Values of the word, in addition to those of task.h. */
enum {
	WP_VTHREAD_PERMIT = WP_TASK_NOTIFIED,
	WP_VTHREAD_PINNED = 8, /* a bit, with BUSY */
	WP_VTHREAD_STATE = 11, /* mask */
	WP_VTHREAD_LATE = 16,
	WP_VTHREAD_ENDS = 20,   /* mask: PERMIT, LATE */
	WP_VTHREAD_NUMBER = 32, /* adds one park */
	WP_VTHREAD_STACK = 2,   /* task.is_virtual of a thread with a stack; 1: without */
};

/* What the caller of an unpark must do next. */
enum wp_owed {
	WP_OWES_NOTHING,
	WP_OWES_PUSH, /* to its home, or to its scheduler */
	WP_OWES_WAKE, /* at the word, where its carrier sleeps */
};

struct wp_scheduler;
struct wp_mutex;
struct wp_waiter;
struct wp_wakers;

/* task.word is written by vthread.1 to vthread.8, vthread.11 and vthread.17 in place of task.1 to
 * task.6; interrupted by vthread.12; given by vthread.14 and vthread.15; let_go by vthread.16;
 * was_unparked, task.home and task.is_pinned by its runner; scheduler by its maker; listed by the
 * thread that starts it; waits and held by its runner and, once it runs no more, by the close of
 * its group. */
typedef struct wp_vthread {
	wp_task task;
	wp_atomic(uint32_t) interrupted;
	wp_atomic(uint32_t) given;  /* its scheduler has it and has not run it yet */
	wp_atomic(uint32_t) let_go; /* its runner or its maker is done with it */
	bool was_unparked;          /* how the last park ended; false: its time was over */
	const struct wp_scheduler *scheduler; /* NULL: its home's carrier */
	struct wp_carrier_tasks *listed; /* the home where it is listed, wherever it runs later */
	/* its wait in a queue, also if just granted; NULL: none (wait_queue.h) */
	struct wp_waiter *waits;
	struct wp_wakers *wakers; /* of its group (wakers.h) */
	struct wp_mutex *held;    /* the mutexes that it holds, the last one first (mutex.h) */
} wp_vthread;

/* Reads the word, perhaps outdated. [any thread, while its memory is there | wait-free] */
WP_INLINE uint32_t wp__vthread_look(wp_vthread *thread)
{
	/* [vthread.10] relaxed: stale costs a compare-and-swap that fails, or a switch, never a
	 * wake, because what follows compares. State and number are the runner's own; pairs
	 * vthread.1, vthread.5; upholds VThread!UnparkNotLost. */
	return wp_load_relaxed(&thread->task.word);
}

/* The number of the park that comes next, or is in progress. [its runner | wait-free] */
WP_INLINE uint32_t wp__vthread_number(wp_vthread *thread)
{
	return wp__vthread_look(thread) / WP_VTHREAD_NUMBER;
}

WP_INLINE enum wp_owed wp__vthread_owed(uint32_t old)
{
	if (old & WP_VTHREAD_ENDS)
		return WP_OWES_NOTHING;
	switch (old & WP_VTHREAD_STATE) {
	case WP_TASK_PARKED:
		return WP_OWES_PUSH;
	case WP_TASK_BUSY:
		return WP_OWES_NOTHING;
	case WP_TASK_BUSY | WP_VTHREAD_PINNED:
		return WP_OWES_WAKE;
	default:
		return WP_OWES_NOTHING;
	}
}

/* Gives the permit. [any thread, while it lives | wait-free] */
WP_INLINE enum wp_owed wp__vthread_notify(wp_vthread *thread)
{
	/* [vthread.1] acq_rel; pairs vthread.1, vthread.2, vthread.3, vthread.4, vthread.5,
	 * vthread.6, vthread.10, vthread.11; upholds VThread!UnparkNotLost: it releases what the
	 * caller wrote to the end of the park, and acquires the park, so the carrier has done with
	 * the node. */
	return wp__vthread_owed(wp_fetch_or_acq_rel(&thread->task.word, WP_VTHREAD_PERMIT));
}

/* Sets the interrupt flag and gives the permit. [any thread, while it lives | wait-free] */
WP_INLINE enum wp_owed wp__vthread_interrupt(wp_vthread *thread)
{
	/* [vthread.12] relaxed: ordered by vthread.1, which follows; pairs vthread.13, vthread.18;
	 * upholds VThread!InterruptNotLost. */
	wp_store_relaxed(&thread->interrupted, 1);
	return wp__vthread_notify(thread);
}

/* True if it is interrupted. A thread that is about to park checks it after it has checked for a
 * permit. [any thread, while it lives | wait-free] */
WP_API_INLINE bool wp_vthread_is_interrupted(wp_vthread *thread)
{
	/* [vthread.13] relaxed: stale costs a park that is refused, or that ends, as vthread.3 or
	 * vthread.2 sees the permit that comes with the flag; pairs vthread.12; upholds
	 * VThread!InterruptNotLost. */
	return wp_load_relaxed(&thread->interrupted) != 0;
}

/* Clears the interrupt flag. True if it was set. [its runner | wait-free] */
WP_INLINE bool wp__vthread_clear_interrupt(wp_vthread *thread)
{
	if (!wp_vthread_is_interrupted(thread))
		return false;
	/* [vthread.18] relaxed: atomicity is enough, as one answer serves all interrupts before it;
	 * pairs vthread.12; upholds VThread!InterruptNotLost. */
	wp_store_relaxed(&thread->interrupted, 0);
	return true;
}

/* Sets PERMIT or LATE only if the thread is in the park `number`, or before it.
 * [any thread, while its memory is there | lock-free: retries when the word has changed] */
WP_INLINE enum wp_owed wp__vthread_end_park(wp_vthread *thread, uint32_t number, uint32_t bit)
{
	uint32_t word = wp__vthread_look(thread);

	do {
		bool is_over = word / WP_VTHREAD_NUMBER != number;

		if (is_over || word & WP_VTHREAD_ENDS)
			return WP_OWES_NOTHING;
		/* [vthread.5] acq_rel; pairs vthread.1, vthread.2, vthread.3, vthread.4, vthread.6,
		 * vthread.10, vthread.11, vthread.17; upholds VThread!UnparkNotLost: as
		 * vthread.1. */
	} while (!wp_cas_acq_rel(&thread->task.word, &word, word | bit));
	return wp__vthread_owed(word);
}

/* The unpark by a waker of a queue. [as wp__vthread_end_park] */
WP_INLINE enum wp_owed wp__vthread_notify_park(wp_vthread *thread, uint32_t number)
{
	return wp__vthread_end_park(thread, number, WP_VTHREAD_PERMIT);
}

/* The timeout by its timer. [as wp__vthread_end_park] */
WP_INLINE enum wp_owed wp__vthread_time_out(wp_vthread *thread, uint32_t number)
{
	return wp__vthread_end_park(thread, number, WP_VTHREAD_LATE);
}

/* The word for BUSY in the next park, without a permit. */
WP_INLINE uint32_t wp__vthread_next(uint32_t word)
{
	return word / WP_VTHREAD_NUMBER * WP_VTHREAD_NUMBER + WP_VTHREAD_NUMBER + WP_TASK_BUSY;
}

/* Notes how a park ended. [its runner | wait-free] */
WP_INLINE void wp__vthread_ended(wp_vthread *thread, uint32_t word)
{
	thread->was_unparked = (word & WP_VTHREAD_PERMIT) != 0;
}

/* Call before each run. [the thread that popped it | wait-free] */
WP_INLINE void wp__vthread_begin(wp_vthread *thread)
{
	uint32_t word = wp__vthread_look(thread);

	if ((word & WP_VTHREAD_STATE) != WP_TASK_PARKED)
		return; /* it was started, or yielded, or its park was refused */
	/* [vthread.2] acquire; pairs vthread.1, vthread.3, vthread.5, snapshot.2; upholds
	 * VThread!HappensBeforeRun: what the last run and all unparkers before this one wrote is
	 * seen. It is an exchange, not a store, because it also acquires from an unparker that
	 * found the permit there already. */
	word = wp_exchange_acquire(&thread->task.word, wp__vthread_next(word));
	wp__vthread_ended(thread, word);
}

/* Takes the permit if there is one: then a park returns at once. [its runner | wait-free] */
WP_INLINE bool wp__vthread_take(wp_vthread *thread)
{
	uint32_t word = wp__vthread_look(thread);

	if (!(word & WP_VTHREAD_ENDS))
		return false;
	/* [vthread.4] acquire; pairs vthread.1, vthread.5; upholds VThread!HappensBeforeRun: as
	 * vthread.2. */
	word = wp_exchange_acquire(&thread->task.word, wp__vthread_next(word));
	wp__vthread_ended(thread, word);
	return true;
}

/* Call after the thread has left its stack to park. True if it is parked, and not the caller's any
 * more. False if the permit was there, and is now taken: then the caller must push the thread.
 * [the thread that ran it | wait-free] */
WP_INLINE bool wp__vthread_park(wp_vthread *thread)
{
	uint32_t word = wp__vthread_look(thread) & ~(uint32_t)WP_VTHREAD_ENDS;
	uint32_t parked = word - WP_TASK_BUSY + WP_TASK_PARKED;

	/* [vthread.3] release; pairs vthread.1, vthread.2, vthread.5, vthread.8, snapshot.1;
	 * upholds VThread!UnparkNotLost: the thread that takes it on sees what this run wrote. */
	if (wp_cas_release(&thread->task.word, &word, parked))
		return true;
	wp__vthread_take(thread);
	return false;
}

/* Parks without leaving the carrier. [its runner | blocks] */
WP_INLINE void wp__vthread_park_pinned(wp_vthread *thread, int64_t deadline_ns)
{
	uint32_t word = wp__vthread_look(thread) & ~(uint32_t)WP_VTHREAD_ENDS;
	uint32_t pinned = word | WP_VTHREAD_PINNED;

	/* [vthread.6] relaxed: atomicity is enough, as it hands nothing on; pairs vthread.1,
	 * vthread.5; upholds VThread!PinnedUnparkReachesCarrier. */
	if (wp_cas_relaxed(&thread->task.word, &word, pinned)) {
		while (wp__vthread_look(thread) == pinned)
			if (wp_futex_wait(&thread->task.word, pinned, deadline_ns) == WP_TIMEOUT)
				break;
	}
	/* [vthread.11] acquire; pairs vthread.1, vthread.5; upholds VThread!HappensBeforeRun: as
	 * vthread.2. */
	word = wp_exchange_acquire(&thread->task.word, wp__vthread_next(word));
	wp__vthread_ended(thread, word);
}

/* The beginning and the end of the word, and the hand-overs in between: to a scheduler, to a close,
 * or to the next thread in its memory.
 *
 *   runner                                maker, joiner, close, scheduler
 *   [vthread.7] DONE                      [vthread.9] done?
 *   [vthread.16] lets go                  [vthread.16] lets go; the second: [vthread.17] reuse
 *                                         [vthread.8] PARKED, unparked by nobody: CANCELLED
 *   [vthread.14] gives it to a scheduler  [vthread.15] claims it, once, and runs it
 *
 * Why it works  Each step is one read-modify-write, or a store that its one reader waits for. */

/* Makes a thread in state BUSY, as wp_task_init. Its memory may have been another thread's, and a
 * late waker of that one may still read the word. So the numbers go on.
 * [before it is shared | wait-free] */
WP_INLINE void wp__vthread_init(wp_vthread *thread, enum wp_step (*step)(wp_task *task))
{
	uint32_t word = wp__vthread_next(wp__vthread_look(thread));

	/* Not the whole task at once, because the word would be 0 for a moment, which is a park
	 * that a waker may name. */
	thread->task.is_pinned = 0;
	thread->task.is_virtual = 1;
	thread->task.step = step;
	thread->task.ended = NULL;
	thread->task.home = NULL;
	thread->task.next = NULL;
	thread->task.back = NULL;
	thread->task.name = NULL;
	/* [vthread.17] relaxed: stale costs a compare-and-swap of vthread.5 that fails; pairs
	 * vthread.5; upholds VThread!StaleTimerHarmless. */
	wp_store_relaxed(&thread->task.word, word);
	wp_init(&thread->interrupted, 0);
	wp_init(&thread->given, 0);
	wp_init(&thread->let_go, 0);
	thread->scheduler = NULL;
	thread->waits = NULL;
	thread->held = NULL;
}

/* Ends the thread. A thread that sees the end may reuse the memory before this returns.
 * [the thread that ran it | wait-free] */
WP_INLINE void wp__vthread_finish(wp_vthread *thread)
{
	/* [vthread.7] release; pairs vthread.9; upholds VThread!TerminationVisible: a thread that
	 * sees it done sees what it did. It is a read-modify-write because late unparkers compare
	 * the number, which it keeps. */
	wp_fetch_add_release(&thread->task.word, WP_TASK_DONE - WP_TASK_BUSY);
}

/* True if the thread has ended by itself. [any thread, while it lives | wait-free] */
WP_API_INLINE bool wp_vthread_is_done(wp_vthread *thread)
{
	/* [vthread.9] acquire; pairs vthread.7; upholds VThread!TerminationVisible. */
	return (wp_load_acquire(&thread->task.word) & WP_VTHREAD_STATE) == WP_TASK_DONE;
}

/* True if it was parked and will now never run again. [any thread, while it lives | lock-free] */
WP_INLINE bool wp__vthread_cancel(wp_vthread *thread)
{
	uint32_t word = wp__vthread_look(thread);

	if (word & WP_VTHREAD_ENDS)
		return false;
	/* [vthread.8] acquire; pairs vthread.3; upholds VThread!SubmitOncePerRunnable: the thread
	 * that gets it back sees what it did. */
	return (word & WP_VTHREAD_STATE) == WP_TASK_PARKED &&
	       wp_cas_acquire(&thread->task.word, &word, word + WP_TASK_CANCELLED);
}

/* Call before it is given to its scheduler. [the thread that owes it | wait-free] */
WP_INLINE void wp__vthread_give(wp_vthread *thread)
{
	/* [vthread.14] release; pairs vthread.15; upholds VThread!HappensBeforeRun: what a run and
	 * the unparkers wrote is seen, even if the scheduler itself orders nothing. */
	wp_store_release(&thread->given, 1);
}

/* True if the caller, to which the scheduler gave the thread, may run it; true once.
 * [any thread, while its memory is there | wait-free] */
WP_INLINE bool wp__vthread_claim(wp_vthread *thread)
{
	/* [vthread.15] acquire; pairs vthread.14; upholds VThread!NoConcurrentMount: only one of
	 * the callers gets it. */
	return wp_exchange_acquire(&thread->given, 0) == 1;
}

/* Called by its runner when it has ended, and by its maker. True if the other one has called it
 * before. [its runner, its maker | wait-free] */
WP_INLINE bool wp__vthread_let_go(wp_vthread *thread)
{
	/* [vthread.16] acq_rel; pairs vthread.16; upholds VThread!TerminationVisible: the second
	 * caller may reuse the memory, whatever the first did to it. */
	return wp_exchange_acq_rel(&thread->let_go, 1) == 1;
}

#endif
