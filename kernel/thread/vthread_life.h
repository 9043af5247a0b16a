/* SPDX-License-Identifier: Apache-2.0
 * vthread_life.h - the beginning and the end of a virtual thread's word (vthread.h), and who has it
 * between: a scheduler, a close, whoever reuses its memory.
 *
 *   runner                          maker, joiner, close, scheduler
 *   [V7] DONE                       [V9] done?
 *   [V16] lets go                   [V16] lets go: the second reuses the memory, [V17]
 *                                   [V8] PARKED, unparked by nobody: CANCELLED
 *   [V14] gives it to a scheduler   [V15] claims it, once, and runs it
 *
 * Why it works  Each is one read-modify-write, or a store that one reads who waits for it.
 * Spec          specs/VThread.tla: NoConcurrentMount, SubmitOncePerRunnable, TerminationVisible.
 * Evidence      make check-specs T=VThread, make stress T=vthread. */
#ifndef WP_VTHREAD_LIFE_H
#define WP_VTHREAD_LIFE_H

#include "thread/vthread.h"

/* BUSY, as wp_task_init. Its memory may have been another's: a late waker of that one may still look
 * at the word, so the numbers go on. [before it is shared | wait-free] */
WP_INLINE void wp__vthread_init(wp_vthread *thread, enum wp_step (*step)(wp_task *task))
{
	uint32_t word = wp__vthread_next(wp__vthread_look(thread));

	/* Not the whole task at once: its word would be 0 on the way, a park that a waker may name. */
	thread->task.is_pinned = 0;
	thread->task.is_virtual = 1;
	thread->task.step = step;
	thread->task.ended = NULL;
	thread->task.home = NULL;
	thread->task.next = NULL;
	thread->task.back = NULL;
	thread->task.name = NULL;
	/* [V17] relaxed: stale costs a compare-and-swap of V5 that fails; pairs V5; upholds
	 * VThread!StaleTimerHarmless. */
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
	/* [V7] release; pairs V9; upholds VThread!TerminationVisible: who sees it done sees what it
	 * did. A read-modify-write keeps the number, which late unparkers compare. */
	wp_fetch_add_release(&thread->task.word, WP_TASK_DONE - WP_TASK_BUSY);
}

/* [any thread, while it lives | wait-free] */
WP_INLINE bool wp_vthread_is_done(wp_vthread *thread)
{
	/* [V9] acquire; pairs V7; upholds VThread!TerminationVisible. */
	return (wp_load_acquire(&thread->task.word) & WP_VTHREAD_STATE) == WP_TASK_DONE;
}

/* True: it was parked and will never run again. [any thread, while it lives | lock-free] */
WP_INLINE bool wp__vthread_cancel(wp_vthread *thread)
{
	uint32_t word = wp__vthread_look(thread);

	if (word & WP_VTHREAD_ENDS && !wp_twin(vthread_cancel_notified))
		return false;
	/* [V8] acquire; pairs V3; upholds VThread!SubmitOncePerRunnable: who gets the thread back
	 * sees what it did. */
	return (word & WP_VTHREAD_STATE) == WP_TASK_PARKED &&
	       wp_cas_acquire(&thread->task.word, &word, word + WP_TASK_CANCELLED);
}

/* Before its scheduler is given it. [who owes it | wait-free] */
WP_INLINE void wp__vthread_give(wp_vthread *thread)
{
	/* [V14] release; pairs V15; upholds VThread!HappensBeforeRun: what a run and the unparkers
	 * wrote, if the scheduler itself orders nothing. */
	wp_store_release(&thread->given, 1);
}

/* True: whoever was given it may run it, once. [any thread, while its memory is there | wait-free] */
WP_INLINE bool wp__vthread_claim(wp_vthread *thread)
{
	/* [V15] acquire; pairs V14; upholds VThread!NoConcurrentMount: one of those who try. */
	return wp_exchange_acquire(&thread->given, wp_twin(vthread_claimed_twice) ? 1 : 0) == 1;
}

/* By its runner when it has ended, and by its maker. True: the other one has done so before.
 * [either | wait-free] */
WP_INLINE bool wp__vthread_let_go(wp_vthread *thread)
{
	/* [V16] acq_rel; pairs V16; upholds VThread!TerminationVisible: the second one may reuse the
	 * memory, whatever the first did to it. */
	return wp_exchange_acq_rel(&thread->let_go, 1) == 1;
}

#endif
