/* SPDX-License-Identifier: Apache-2.0
 * task.h - a stackless task: one word says whether it is parked, and who must queue it.
 *
 *   carrier                                  unparker
 *   pop it                                   [task.1] or NOTIFIED into the word
 *   [task.2] word := BUSY, without NOTIFIED       it was PARKED: push it home
 *   run one step, which says:                     else: whoever has it runs it once more
 *     yield   push it home
 *     park    [task.3] BUSY to PARKED; NOTIFIED meanwhile: push it home
 *     done    [task.4] word := DONE          canceller
 *                                            [task.6] PARKED to CANCELLED
 *
 *   word              means                      may be touched by
 *   PARKED            in no queue, in no hand    whoever moves it on
 *   PARKED | NOTIFIED an unparker pushes it      that unparker
 *   BUSY              queued, or run             its queue or its runner
 *   BUSY | NOTIFIED   the same, and its next park is refused
 *   DONE, CANCELLED   ended                      its user
 *
 * Why it works  One thread at a time owes the task: who started it, who popped it, or the one
 *               unparker that found it parked and not notified. A park and an unpark meet in the
 *               word: one of them comes second and sees the other. All changes but the last are
 *               read-modify-writes, so a run acquires what the last run and every unparker before
 *               it released.
 * Not promised  One run for each unpark: those before the same run are one.
 * Spec          specs/thread/Task.tla: OneCarrier, UnparkNotLost, HappensBeforeRun, CancelIsAlone.
 * Evidence      make check-specs T=Task, make stress T=task. */
#ifndef WP_TASK_H
#define WP_TASK_H

#include "base/order.h"
#include "queue/mpsc.h"

struct wp_carrier_tasks;

/* cdef: begin */
/* What a step says. */
enum wp_step {
	WP_STEP_DONE = 0,
	WP_STEP_YIELD = 1, /* run me again, after the others */
	WP_STEP_PARK = 2,  /* run me again when somebody unparks me */
	WP_STEP_POLL = 3,  /* a poller's: run me again at the next turn of its carrier */
};
/* cdef: end */

/* Values of the word. */
enum {
	WP_TASK_PARKED = 0,
	WP_TASK_BUSY = 1,
	WP_TASK_DONE = 2,
	WP_TASK_CANCELLED = 3,
	WP_TASK_NOTIFIED = 4, /* a bit */
};

/* 64 bytes, embedded in what it works on. node: its queue. word: task.1..K6. next, back: its home's
 * list, under its lock. home: whoever owes it. The rest: who makes it, before it starts. */
typedef struct wp_task {
	wp_mpsc_node node;
	wp_atomic(uint32_t) word;
	uint8_t is_pinned;  /* only its home may run it */
	uint8_t is_virtual; /* vthread.h: vthread.1.. in place of task.1.. */
	/* the number of the home where it started, if homes have numbers (carrier_tasks.h) */
	uint16_t listed;
	enum wp_step (*step)(struct wp_task *task);
	void (*ended)(struct wp_task *task); /* the last that is done with it; NULL: [task.4] is */
	struct wp_carrier_tasks *home;
	struct wp_task *next, **back;
	const char *name; /* or NULL; outlives it */
} wp_task;

_Static_assert(sizeof(void *) != 8 || sizeof(wp_task) == 64, "a task is a line");

/* BUSY: whoever starts it pushes it. [before it is shared | wait-free] */
WP_API_INLINE void wp_task_init(wp_task *task, enum wp_step (*step)(struct wp_task *),
				const char *name)
{
	wp_init(&task->word, WP_TASK_BUSY);
	task->is_pinned = 0;
	task->is_virtual = 0;
	task->step = step;
	task->ended = NULL;
	task->home = NULL;
	task->name = name;
}

/* True: the caller must push it to its home. [any thread, while the task lives | wait-free] */
WP_INLINE bool wp__task_notify(wp_task *task)
{
	/* [task.1] acq_rel; pairs task.1, task.2, task.3; upholds Task!UnparkNotLost: release what
	 * the caller wrote to the run, acquire the park, whose carrier has done with the node. */
	uint32_t old = wp_fetch_or_acq_rel(&task->word, WP_TASK_NOTIFIED);

	return old == WP_TASK_PARKED;
}

/* Before each step. [who popped it | wait-free] */
WP_INLINE void wp__task_begin(wp_task *task)
{
	/* [task.2] acquire; pairs task.1, task.3; upholds Task!HappensBeforeRun: what the last run
	 * and all unparkers before this one wrote is seen. An exchange, not a store: an unparker
	 * whose notification it takes away is one of them. */
	wp_exchange_acquire(&task->word, WP_TASK_BUSY);
}

/* After a step that says park. True: parked, and not the caller's any more. False: it was unparked
 * meanwhile, and the caller must push it to its home. [who ran it | wait-free] */
WP_INLINE bool wp__task_park(wp_task *task)
{
	uint32_t busy = WP_TASK_BUSY;

	/* [task.3] release; pairs task.1, task.2, task.6; upholds Task!UnparkNotLost: whoever takes
	 * it on sees what this run wrote. */
	return wp_cas_release(&task->word, &busy, WP_TASK_PARKED);
}

/* After a step that says done. The task may be gone when this returns. [who ran it | wait-free] */
WP_INLINE void wp__task_finish(wp_task *task)
{
	/* [task.4] release; pairs task.5; upholds Task!HappensBeforeRun: who sees it done sees what
	 * it did. */
	wp_store_release(&task->word, WP_TASK_DONE);
}

/* [any thread | wait-free] */
WP_API_INLINE bool wp_task_is_done(wp_task *task)
{
	/* [task.5] acquire; pairs task.4; upholds Task!HappensBeforeRun. */
	return (wp_load_acquire(&task->word) & ~(uint32_t)WP_TASK_NOTIFIED) == WP_TASK_DONE;
}

/* True: it was parked and will never run again. False: it runs, is queued or is about to be, or has
 * ended. [any thread, while the task lives | wait-free] */
WP_INLINE bool wp__task_cancel(wp_task *task)
{
	uint32_t parked = WP_TASK_PARKED;

	/* [task.6] acquire; pairs task.3; upholds Task!CancelIsAlone: who gets the task back sees
	 * what it did. */
	return (parked & ~(uint32_t)WP_TASK_NOTIFIED) == WP_TASK_PARKED &&
	       wp_cas_acquire(&task->word, &parked, WP_TASK_CANCELLED);
}

#endif
