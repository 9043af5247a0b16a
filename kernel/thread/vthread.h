/* SPDX-License-Identifier: Apache-2.0
 * vthread.h - the word of a virtual thread. It holds the thread's state, its one permit (unpark
 * gives it, and park takes it or waits for it), and the number of its park.
 *
 *   runner                                            unparker, canceller, joiner
 *   [vthread.2] PARKED: the park is over: BUSY,       [vthread.1] give the permit; if there was
 *               no permit, the next number                        none, and the thread was
 *   run it, until it                                                PARKED: push it home
 *     parks    [vthread.4] takes the permit,                        PINNED: wake its carrier
 *                          continues                  [vthread.5] the same, but for park k alone:
 *              [vthread.3] BUSY to PARKED;                        by a timer (LATE in place of
 *                          else as vthread.4                      PERMIT), or a waker of a queue
 *     is pinned and parks                             [vthread.8] PARKED, no permit: CANCELLED
 *              [vthread.6] PINNED; the carrier        [vthread.9] DONE?
 *                          sleeps with it             interrupt:
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
 *               park (vthread.2, vthread.3, vthread.4, vthread.6), never by a start or a yield. A
 *               park and an unpark meet in the word: one of them comes second and sees the other. A
 *               thread that wants to end one certain park gives the number of that park. So,
 *               however late it comes, it can neither wake a later park nor leave it a permit. A
 *               timer sets a bit of its own, so a park reports a timeout only if it was not
 *               unparked.
 * Not promised  A park may return although no permit was meant for it, so the thread checks its
 *               condition again. There is at most one permit. vthread.5 mistakes a park for the one
 *               2^27 parks later.
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
#include "thread/fiber.h"
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

/* task.word is written by vthread.1 to vthread.8, vthread.11 and vthread.17, in place of task.1 to
 * task.6; `interrupted` by vthread.12; `given` by vthread.14 and vthread.15; `let_go` by
 * vthread.16; `was_unparked`, task.home and task.is_pinned by the thread that runs it, its runner;
 * `scheduler` by its maker; `listed` by the thread that starts it; `waits` and `held` by its runner
 * and, once it runs no more, by the close of its group. */
typedef struct wp_vthread {
	/* This line and the next one have what a switch to and from the thread uses. */
	wp_task task;
	wp_atomic(uint32_t) interrupted;
	wp_atomic(uint32_t) given;  /* its scheduler has it and has not run it yet */
	wp_atomic(uint32_t) let_go; /* its runner or its maker no longer uses it */
	uint32_t pins;
	const struct wp_scheduler *scheduler; /* NULL: the carrier of its home runs it */
	wp_fiber fiber;
	/* the fiber to which it switches when it leaves its stack: the one that mounted it, or the
	 * thread that passed to it */
	wp_fiber *under;
	int64_t waits_since_ns; /* for an event; 0: no wait, or no tracing */
	bool was_unparked;      /* how the last park ended; false: by its deadline */
	bool is_timed;          /* a timer was armed for the current park */
	bool has_stack;
	bool keeps_rounding; /* it has control words of its own (rounding.h) */
	bool has_canary;     /* its stack must be checked whenever it leaves it */
	/* its wait in a queue, also one that was just granted; NULL: it does not wait
	 * (wait_queue.h) */
	struct wp_waiter *waits;
	struct wp_carrier_tasks *listed; /* the home where it is listed, wherever it runs later */
	struct wp_wakers *wakers;        /* of its group (wakers.h) */
	struct wp_mutex *held; /* the mutexes that it holds, the last one first (mutex.h) */
} wp_vthread;

/* Reads the word; the value may be outdated. [any thread, while its memory is there | wait-free] */
WP_INLINE uint32_t wp__vthread_look(wp_vthread *thread)
{
	/* [vthread.10] relaxed: a word that is stale costs a compare-and-swap that fails, or a
	 * switch, never a wake, because what follows compares. State and number are the runner's
	 * own; pairs vthread.1, vthread.5; upholds VThread!UnparkNotLost. */
	return wp_load_relaxed(&thread->task.word);
}

/* Returns the number of the park that comes next, or is in progress. [its runner | wait-free] */
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
	 * caller wrote to the end of the park, and acquires the park, so the carrier no longer uses
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

/* Returns true if the thread is interrupted. A thread that is about to park first checks for a
 * permit, and then calls this. [any thread, while it lives | wait-free] */
WP_API_INLINE bool wp_vthread_is_interrupted(wp_vthread *thread)
{
	/* [vthread.13] relaxed: a flag that is stale costs a park that is refused, or that ends,
	 * because vthread.3 or vthread.2 sees the permit that comes with the flag; pairs
	 * vthread.12; upholds VThread!InterruptNotLost. */
	return wp_load_relaxed(&thread->interrupted) != 0;
}

/* Clears the interrupt flag. Returns true if it was set. [its runner | wait-free] */
WP_INLINE bool wp__vthread_clear_interrupt(wp_vthread *thread)
{
	if (!wp_vthread_is_interrupted(thread))
		return false;
	/* [vthread.18] relaxed: atomicity is enough, because one answer serves all interrupts
	 * before it; pairs vthread.12; upholds VThread!InterruptNotLost. */
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
		 * vthread.10, vthread.11, vthread.17; upholds VThread!UnparkNotLost: as vthread.1.
		 */
	} while (!wp_cas_acq_rel(&thread->task.word, &word, word | bit));
	return wp__vthread_owed(word);
}

/* The unpark by a thread that serves a queue (wait_queue.h). [as wp__vthread_end_park] */
WP_INLINE enum wp_owed wp__vthread_notify_park(wp_vthread *thread, uint32_t number)
{
	return wp__vthread_end_park(thread, number, WP_VTHREAD_PERMIT);
}

/* The timeout, by the thread's timer. [as wp__vthread_end_park] */
WP_INLINE enum wp_owed wp__vthread_time_out(wp_vthread *thread, uint32_t number)
{
	return wp__vthread_end_park(thread, number, WP_VTHREAD_LATE);
}

/* Returns the word for BUSY in the next park, without a permit. */
WP_INLINE uint32_t wp__vthread_next(uint32_t word)
{
	return word / WP_VTHREAD_NUMBER * WP_VTHREAD_NUMBER + WP_VTHREAD_NUMBER + WP_TASK_BUSY;
}

/* Records how a park ended. [its runner | wait-free] */
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
	 * VThread!HappensBeforeRun: the run sees what the last run and all unparkers before this
	 * one wrote. It is an exchange, not a store, because it also acquires from an unparker that
	 * found the permit there already. */
	word = wp_exchange_acquire(&thread->task.word, wp__vthread_next(word));
	wp__vthread_ended(thread, word);
}

/* Takes the permit if there is one. Returns true if it did; the park then returns at once. [its
 * runner | wait-free] */
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

/* Call after the thread has left its stack to park. Returns true if the thread is parked; it then
 * no longer belongs to the caller. Returns false if the permit was there, and is now taken; the
 * caller must then push the thread. [the thread that ran it | wait-free] */
WP_INLINE bool wp__vthread_park(wp_vthread *thread)
{
	uint32_t word = wp__vthread_look(thread) & ~(uint32_t)WP_VTHREAD_ENDS;
	uint32_t parked = word - WP_TASK_BUSY + WP_TASK_PARKED;

	/* [vthread.3] release; pairs vthread.1, vthread.2, vthread.5, vthread.8, snapshot.1;
	 * upholds VThread!UnparkNotLost: the thread that runs or cancels it next sees what this run
	 * wrote. */
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

	/* [vthread.6] relaxed: atomicity is enough, because this step passes no data to another
	 * thread; pairs vthread.1, vthread.5; upholds VThread!PinnedUnparkReachesCarrier. */
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

/* How the word begins and ends, and how a thread is handed over: to a scheduler, to the close of
 * its group, or to the next thread that uses its memory.
 *
 *   runner                                maker, joiner, close, scheduler
 *   [vthread.7] DONE                      [vthread.9] done?
 *   [vthread.16] needs it no more         [vthread.16] needs it no more; the second of the two
 *                                                      may reuse the memory: [vthread.17]
 *                                         [vthread.8] PARKED, without a permit: CANCELLED
 *   [vthread.14] gives it to a scheduler  [vthread.15] claims it, once, and runs it
 *
 * Why it works  Each step is one read-modify-write, or a store that its one reader waits for. */

/* Makes a thread in state BUSY, as wp_task_init does. Its memory may have been another thread's,
 * and a late waker of that thread may still read the word. So the numbers of parks continue.
 * [before it is shared | wait-free] */
WP_INLINE void wp__vthread_init(wp_vthread *thread, enum wp_step (*step)(wp_task *task))
{
	uint32_t word = wp__vthread_next(wp__vthread_look(thread));

	/* The fields are set one by one, and the word is not set to 0: a word of 0 is a park that a
	 * late waker could name. */
	thread->task.is_pinned = 0;
	thread->task.is_virtual = 1;
	thread->task.step = step;
	thread->task.ended = NULL;
	thread->task.home = NULL;
	thread->task.next = NULL;
	thread->task.back = NULL;
	thread->task.name = NULL;
	/* [vthread.17] relaxed: a word that is stale costs a failed compare-and-swap at vthread.5;
	 * pairs vthread.5; upholds VThread!StaleTimerHarmless. */
	wp_store_relaxed(&thread->task.word, word);
	wp_init(&thread->interrupted, 0);
	wp_init(&thread->given, 0);
	wp_init(&thread->let_go, 0);
	thread->scheduler = NULL;
	thread->waits = NULL;
	thread->held = NULL;
}

/* Ends the thread. Another thread that sees the end may reuse the memory before this returns. [the
 * thread that ran it | wait-free] */
WP_INLINE void wp__vthread_finish(wp_vthread *thread)
{
	/* [vthread.7] release; pairs vthread.9; upholds VThread!TerminationVisible: a thread that
	 * sees this thread done sees what it did. It is a read-modify-write because late unparkers
	 * compare the number, which must stay. */
	wp_fetch_add_release(&thread->task.word, WP_TASK_DONE - WP_TASK_BUSY);
}

/* Returns true if the thread has ended by itself. [any thread, while it lives | wait-free] */
WP_API_INLINE bool wp_vthread_is_done(wp_vthread *thread)
{
	/* [vthread.9] acquire; pairs vthread.7; upholds VThread!TerminationVisible. */
	return (wp_load_acquire(&thread->task.word) & WP_VTHREAD_STATE) == WP_TASK_DONE;
}

/* Cancels the thread if it is parked and has no permit. Returns true if it did: the thread will
 * then never run again. [any thread, while it lives | lock-free] */
WP_INLINE bool wp__vthread_cancel(wp_vthread *thread)
{
	uint32_t word = wp__vthread_look(thread);

	if (word & WP_VTHREAD_ENDS)
		return false;
	/* [vthread.8] acquire; pairs vthread.3; upholds VThread!SubmitOncePerRunnable: the
	 * canceller sees what the thread did. */
	return (word & WP_VTHREAD_STATE) == WP_TASK_PARKED &&
	       wp_cas_acquire(&thread->task.word, &word, word + WP_TASK_CANCELLED);
}

/* Call before the thread is given to its scheduler. [the thread that owes it a push | wait-free] */
WP_INLINE void wp__vthread_give(wp_vthread *thread)
{
	/* [vthread.14] release; pairs vthread.15; upholds VThread!HappensBeforeRun: the next run
	 * sees what this run and the unparkers wrote, even if the scheduler itself orders nothing.
	 */
	wp_store_release(&thread->given, 1);
}

/* The scheduler has given the thread to the caller. Returns true if the caller may run it. Returns
 * true only once. [any thread, while its memory is there | wait-free] */
WP_INLINE bool wp__vthread_claim(wp_vthread *thread)
{
	/* [vthread.15] acquire; pairs vthread.14; upholds VThread!NoConcurrentMount: only one of
	 * the callers gets it. */
	return wp_exchange_acquire(&thread->given, 0) == 1;
}

/* Called by the runner when the thread has ended, and by the maker when it no longer needs the
 * thread. Returns true if the other one of the two has called it before. [its runner, its maker |
 * wait-free] */
WP_INLINE bool wp__vthread_let_go(wp_vthread *thread)
{
	/* [vthread.16] acq_rel; pairs vthread.16; upholds VThread!TerminationVisible: the second
	 * caller may reuse the memory, whatever the first did to it. */
	return wp_exchange_acq_rel(&thread->let_go, 1) == 1;
}

#endif
