/* SPDX-License-Identifier: Apache-2.0
 * vthread.h - a virtual thread's word: its state, its one permit, and the number of its park.
 *
 *   who runs it                                               unparker, canceller, who waits for its end
 *   [vthread.2] PARKED: the park is over: BUSY,               [vthread.1] give the permit; it had none, and was
 *               no permit, the next number                                PARKED: push it home
 *   run it, until it                                                      PINNED: wake its carrier
 *     parks    [vthread.4] takes the permit, goes on          [vthread.5] the same, but of park k alone: a timer
 *              [vthread.3] BUSY to PARKED, or: as vthread.4               (LATE, not PERMIT), a waker of a queue
 *     is pinned and parks                                     [vthread.8] PARKED, no permit: CANCELLED
 *              [vthread.6] PINNED, sleeps below it            [vthread.9] DONE?
 *     yields   push it home
 *     ends     [vthread.7] DONE                              an interrupt: [vthread.12] its flag, then [vthread.1]
 *
 *   word             means                        may be touched by
 *   PARKED           in no queue, in no hand      whoever moves it on
 *   PARKED | PERMIT  who gave it pushes it        who gave it, its queue, who pops it
 *   BUSY             queued, or run               its queue or its runner
 *   BUSY | PINNED    asleep, its carrier with it  its runner
 *   | PERMIT         its next park returns at once
 *   | LATE           the same, for the time of that park is over
 *   the rest: how many parks have returned
 *
 * Why it works  The permit is taken where the number changes, and nowhere else: by the end of a
 *               park (vthread.2, vthread.3, vthread.4, vthread.6), never by a start or a yield.
 *               Park and unpark meet in the word: one of them comes second and sees the other.
 *               Whoever waits to end one certain park names its number, so it can neither wake a
 *               later one nor leave it a permit, however late it comes. A timer has a bit of its
 *               own, so a park says that its time is over only if nobody unparked it.
 * Not promised  That a park returns for a permit alone: whoever parks looks again. More than one
 *               permit. vthread.5 mistakes a park for that 2^27 parks later.
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

/* Values of the word, beside those of task.h. */
enum {
	WP_VTHREAD_PERMIT = WP_TASK_NOTIFIED,
	WP_VTHREAD_PINNED = 8, /* a bit, with BUSY */
	WP_VTHREAD_STATE = 11, /* mask */
	WP_VTHREAD_LATE = 16,
	WP_VTHREAD_ENDS = 20,   /* mask: PERMIT, LATE */
	WP_VTHREAD_NUMBER = 32, /* one park */
	WP_VTHREAD_STACK = 2,   /* task.is_virtual: it has a stack; 1: it has none */
};

/* What an unpark owes. */
enum wp_owed {
	WP_OWES_NOTHING,
	WP_OWES_PUSH, /* to its home, or its scheduler */
	WP_OWES_WAKE, /* of its word: its carrier sleeps at it */
};

struct wp_scheduler;
struct wp_mutex;
struct wp_waiter;
struct wp_wakers;

/* task.word: vthread.1..V9 in place of task.1..K6. interrupted: vthread.12. given: vthread.14,
 * vthread.15. let_go: vthread.16. was_unparked: its runner. scheduler: who makes it. listed: who
 * starts it. task.home, task.is_pinned: its runner, too. waits, held: its runner; when it runs no
 * more, the close of its group. */
typedef struct wp_vthread {
	wp_task task;
	wp_atomic(uint32_t) interrupted;
	wp_atomic(uint32_t) given;  /* its scheduler has it, and has not run it */
	wp_atomic(uint32_t) let_go; /* its runner has, or who made it */
	bool was_unparked;          /* the park that returned last; or: its time was over */
	const struct wp_scheduler *scheduler; /* NULL: its home's carrier */
	struct wp_carrier_tasks *listed;      /* whose list it is on, wherever it has settled */
	/* in a line, or granted just now; NULL: it is not (wait_queue.h) */
	struct wp_waiter *waits;
	struct wp_wakers *wakers; /* of its group (wakers.h) */
	struct wp_mutex *held;    /* the mutexes that it has, the last first (mutex.h) */
} wp_vthread;

/* [any thread, while its memory is there | wait-free] */
WP_INLINE uint32_t wp__vthread_look(wp_vthread *thread)
{
	/* [vthread.10] relaxed: stale costs a compare-and-swap that fails, or a switch, never a
	 * wake: what follows compares. State and number are its runner's own; pairs vthread.1,
	 * vthread.5; upholds VThread!UnparkNotLost. */
	return wp_load_relaxed(&thread->task.word);
}

/* The park that comes next, or is. [its runner | wait-free] */
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

/* [any thread, while it lives | wait-free] */
WP_INLINE enum wp_owed wp__vthread_notify(wp_vthread *thread)
{
	/* [vthread.1] acq_rel; pairs vthread.1, vthread.2, vthread.3, vthread.4, vthread.5,
	 * vthread.6, vthread.10, vthread.11; upholds VThread!UnparkNotLost: release what the caller
	 * wrote to the end of the park, acquire the park, whose carrier has done with the node. */
	return wp__vthread_owed(wp_fetch_or_acq_rel(&thread->task.word, WP_VTHREAD_PERMIT));
}

/* [any thread, while it lives | wait-free] */
WP_INLINE enum wp_owed wp__vthread_interrupt(wp_vthread *thread)
{
	/* [vthread.12] relaxed: ordered by vthread.1, which follows; pairs vthread.13, vthread.18;
	 * upholds VThread!InterruptNotLost. */
	wp_store_relaxed(&thread->interrupted, 1);
	return wp__vthread_notify(thread);
}

/* Whoever is about to park looks, after it has looked for a permit. [any thread, while it lives |
 * wait-free] */
WP_API_INLINE bool wp_vthread_is_interrupted(wp_vthread *thread)
{
	/* [vthread.13] relaxed: stale costs a park that is refused, or ends: by vthread.3 or
	 * vthread.2 the permit is seen that comes with it; pairs vthread.12; upholds
	 * VThread!InterruptNotLost. */
	return wp_load_relaxed(&thread->interrupted) != 0;
}

/* True: it was set; it is not any more. [its runner | wait-free] */
WP_INLINE bool wp__vthread_clear_interrupt(wp_vthread *thread)
{
	if (!wp_vthread_is_interrupted(thread))
		return false;
	/* [vthread.18] relaxed: atomicity is enough: of two interrupts before it, it answers both;
	 * pairs vthread.12; upholds VThread!InterruptNotLost. */
	wp_store_relaxed(&thread->interrupted, 0);
	return true;
}

/* The same, if it is in that park, or before it. [any thread, while its memory is there |
 * lock-free: retries when the word has changed] */
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

/* What a waker of a queue does. [as above] */
WP_INLINE enum wp_owed wp__vthread_notify_park(wp_vthread *thread, uint32_t number)
{
	return wp__vthread_end_park(thread, number, WP_VTHREAD_PERMIT);
}

/* What its timer does. [as above] */
WP_INLINE enum wp_owed wp__vthread_time_out(wp_vthread *thread, uint32_t number)
{
	return wp__vthread_end_park(thread, number, WP_VTHREAD_LATE);
}

/* BUSY in the next park, without a permit. */
WP_INLINE uint32_t wp__vthread_next(uint32_t word)
{
	return word / WP_VTHREAD_NUMBER * WP_VTHREAD_NUMBER + WP_VTHREAD_NUMBER + WP_TASK_BUSY;
}

/* The end of a park. [its runner | wait-free] */
WP_INLINE void wp__vthread_ended(wp_vthread *thread, uint32_t word)
{
	thread->was_unparked = (word & WP_VTHREAD_PERMIT) != 0;
}

/* Before each run. [who popped it | wait-free] */
WP_INLINE void wp__vthread_begin(wp_vthread *thread)
{
	uint32_t word = wp__vthread_look(thread);

	if ((word & WP_VTHREAD_STATE) != WP_TASK_PARKED)
		return; /* it was started, or yielded, or its park was refused */
	/* [vthread.2] acquire; pairs vthread.1, vthread.3, vthread.5, snapshot.2; upholds
	 * VThread!HappensBeforeRun: what the last run and all unparkers before this one wrote is
	 * seen. An exchange, not a store: an unparker whose permit was there already is one of
	 * them. */
	word = wp_exchange_acquire(&thread->task.word, wp__vthread_next(word));
	wp__vthread_ended(thread, word);
}

/* A park that finds the permit returns at once. [its runner | wait-free] */
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

/* After it has left its stack to park. True: parked, and not the caller's any more. False: the
 * permit was there, and is taken: the caller must push it. [who ran it | wait-free] */
WP_INLINE bool wp__vthread_park(wp_vthread *thread)
{
	uint32_t word = wp__vthread_look(thread) & ~(uint32_t)WP_VTHREAD_ENDS;
	uint32_t parked = word - WP_TASK_BUSY + WP_TASK_PARKED;

	/* [vthread.3] release; pairs vthread.1, vthread.2, vthread.5, vthread.8, snapshot.1;
	 * upholds VThread!UnparkNotLost: whoever takes it on sees what this run wrote. */
	if (wp_cas_release(&thread->task.word, &word, parked))
		return true;
	wp__vthread_take(thread);
	return false;
}

/* Parks without leaving its carrier. [its runner | blocks] */
WP_INLINE void wp__vthread_park_pinned(wp_vthread *thread, int64_t deadline_ns)
{
	uint32_t word = wp__vthread_look(thread) & ~(uint32_t)WP_VTHREAD_ENDS;
	uint32_t pinned = word | WP_VTHREAD_PINNED;

	/* [vthread.6] relaxed: atomicity is enough: it hands nothing on; pairs vthread.1,
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

/* The beginning and the end of the word, and who has the thread between: a scheduler, a close, or
 * the next thread in its memory.
 *
 *   runner                                maker, joiner, close, scheduler
 *   [vthread.7] DONE                      [vthread.9] done?
 *   [vthread.16] lets go                  [vthread.16] lets go: the second reuses the memory, [vthread.17]
 *                                         [vthread.8] PARKED, unparked by nobody: CANCELLED
 *   [vthread.14] gives it to a scheduler  [vthread.15] claims it, once, and runs it
 *
 * Why it works  Each step is one read-modify-write, or a store that its one reader waits for. */

/* BUSY, as wp_task_init. Its memory may have been another's: a late waker of that one may still
 * look at the word, so the numbers go on. [before it is shared | wait-free] */
WP_INLINE void wp__vthread_init(wp_vthread *thread, enum wp_step (*step)(wp_task *task))
{
	uint32_t word = wp__vthread_next(wp__vthread_look(thread));

	/* Not the whole task at once: its word would be 0 on the way, a park that a waker may
	 * name. */
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

/* The end. Its memory may be reused when this returns, by whoever sees it. [who ran it |
 * wait-free] */
WP_INLINE void wp__vthread_finish(wp_vthread *thread)
{
	/* [vthread.7] release; pairs vthread.9; upholds VThread!TerminationVisible: who sees it
	 * done sees what it did. A read-modify-write keeps the number, which late unparkers
	 * compare. */
	wp_fetch_add_release(&thread->task.word, WP_TASK_DONE - WP_TASK_BUSY);
}

/* [any thread, while it lives | wait-free] */
WP_API_INLINE bool wp_vthread_is_done(wp_vthread *thread)
{
	/* [vthread.9] acquire; pairs vthread.7; upholds VThread!TerminationVisible. */
	return (wp_load_acquire(&thread->task.word) & WP_VTHREAD_STATE) == WP_TASK_DONE;
}

/* True: it was parked and will never run again. [any thread, while it lives | lock-free] */
WP_INLINE bool wp__vthread_cancel(wp_vthread *thread)
{
	uint32_t word = wp__vthread_look(thread);

	if (word & WP_VTHREAD_ENDS)
		return false;
	/* [vthread.8] acquire; pairs vthread.3; upholds VThread!SubmitOncePerRunnable: who gets the
	 * thread back sees what it did. */
	return (word & WP_VTHREAD_STATE) == WP_TASK_PARKED &&
	       wp_cas_acquire(&thread->task.word, &word, word + WP_TASK_CANCELLED);
}

/* Before its scheduler is given it. [who owes it | wait-free] */
WP_INLINE void wp__vthread_give(wp_vthread *thread)
{
	/* [vthread.14] release; pairs vthread.15; upholds VThread!HappensBeforeRun: what a run and
	 * the unparkers wrote, if the scheduler itself orders nothing. */
	wp_store_release(&thread->given, 1);
}

/* True: whoever was given it may run it, once. [any thread, while its memory is there |
 * wait-free] */
WP_INLINE bool wp__vthread_claim(wp_vthread *thread)
{
	/* [vthread.15] acquire; pairs vthread.14; upholds VThread!NoConcurrentMount: one of those
	 * who try. */
	return wp_exchange_acquire(&thread->given, 0) == 1;
}

/* By its runner when it has ended, and by its maker. True: the other one has done so before.
 * [either | wait-free] */
WP_INLINE bool wp__vthread_let_go(wp_vthread *thread)
{
	/* [vthread.16] acq_rel; pairs vthread.16; upholds VThread!TerminationVisible: the second
	 * one may reuse the memory, whatever the first did to it. */
	return wp_exchange_acq_rel(&thread->let_go, 1) == 1;
}

#endif
