/* SPDX-License-Identifier: Apache-2.0
 * task.h - a task without a stack of its own. It is run in steps: a carrier calls its function
 * `step` again and again. One word holds whether the task is parked, and which thread must queue
 * it.
 *
 *   carrier                                  unparker
 *   pop it                                   [task.1] set NOTIFIED in the word
 *   [task.2] word := BUSY, without NOTIFIED           the task was PARKED: push it home
 *   run one step, which returns:                      else: its runner runs it once more
 *     yield   push it home
 *     park    [task.3] BUSY to PARKED; NOTIFIED meanwhile: push it home
 *     done    [task.4] word := DONE          canceller
 *                                            [task.6] PARKED to CANCELLED
 *
 *   Usage    static enum wp_step step(wp_task *task)
 *            {
 *                    return has_input(task) ? WP_STEP_DONE : WP_STEP_PARK;
 *            }
 *            wp_task_init(&work->task, step, "reader");     then start it, and unpark it on input
 *
 *   word              meaning                                          may be touched by
 *   PARKED            It is in no queue, and no thread runs it.        the thread that moves it on
 *   PARKED | NOTIFIED The unparker that set the bit pushes it.         that unparker
 *   BUSY              It is queued, or it runs.                        its queue or its runner
 *   BUSY | NOTIFIED   As BUSY, and its next park will be refused.      its queue or its runner
 *   DONE, CANCELLED   It has ended.                                    its user
 *
 * Why it works  At each moment one thread at the most must push the task (it owes the task a push):
 *               the thread that started the task, the thread that popped it, or the unparker that
 *               found it parked and not notified. A park and an unpark meet in the word: one of
 *               them comes second and sees the other. All changes of the word but the last are
 *               read-modify-writes, so a run acquires all that the last run and every unparker
 *               before it released.
 * Not promised  There is not one run for each unpark: several unparks before the same run count as
 *               one.
 * Prior art     The NOTIFIED bit in the state of Tokio's tasks.
 * Spec          specs/thread/Task.tla: OneCarrier, UnparkNotLost, HappensBeforeRun, CancelIsAlone.
 * Evidence      make check-specs T=Task, make stress T=task. */
#ifndef WP_TASK_H
#define WP_TASK_H

#include "base/order.h"
#include "queue/mpsc.h"

struct wp_carrier_tasks;

/* cdef: begin */
/* What a step returns. */
enum wp_step {
	WP_STEP_DONE = 0,
	WP_STEP_YIELD = 1, /* run me again, after the others */
	WP_STEP_PARK = 2,  /* run me again when a thread unparks me */
	WP_STEP_POLL = 3,  /* for pollers: run me again at the next turn of its carrier */
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

/* 64 bytes, embedded in the object that the task works on. `node` is written by its queue; `word`
 * by task.1 to task.6; `next` and `back` (the list of its home, the carrier that queues it) under
 * the home's lock; `home` by the thread that owes the task a push; the other fields by its maker,
 * before it starts. */
typedef struct wp_task {
	wp_mpsc_node node;
	wp_atomic(uint32_t) word;
	uint8_t is_pinned;  /* only its home may run it */
	uint8_t is_virtual; /* not 0: a virtual thread; its word follows vthread.h */
	/* the number of the home where it started, if homes have numbers (carrier_tasks.h) */
	uint16_t listed;
	enum wp_step (*step)(struct wp_task *task);
	/* called as the last use of the task; NULL: task.4 is the last use */
	void (*ended)(struct wp_task *task);
	struct wp_carrier_tasks *home;
	struct wp_task *next, **back;
	const char *name; /* or NULL; outlives the task */
} wp_task;

_Static_assert(sizeof(void *) != 8 || sizeof(wp_task) == 64, "a task is a line");

/* Makes a task in state BUSY: the thread that starts it pushes it.
 * [before it is shared | wait-free] */
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

/* Unparks the task. Returns true if the caller must push it to its home. [any thread, while the
 * task lives | wait-free] */
WP_INLINE bool wp__task_notify(wp_task *task)
{
	/* [task.1] acq_rel; pairs task.1, task.2, task.3; upholds Task!UnparkNotLost: it releases
	 * what the caller wrote to the run, and acquires the park, so the carrier no longer uses
	 * the node. */
	uint32_t old = wp_fetch_or_acq_rel(&task->word, WP_TASK_NOTIFIED);

	return old == WP_TASK_PARKED;
}

/* Call before each step. [the thread that popped it | wait-free] */
WP_INLINE void wp__task_begin(wp_task *task)
{
	/* [task.2] acquire; pairs task.1, task.3; upholds Task!HappensBeforeRun: what the last run
	 * and all unparkers before this one wrote is seen. It is an exchange, not a store, because
	 * it also acquires from an unparker when it takes the notification away. */
	wp_exchange_acquire(&task->word, WP_TASK_BUSY);
}

/* Call after a step that returns WP_STEP_PARK. Returns true if the task is parked; it then no
 * longer belongs to the caller. Returns false if the task was unparked meanwhile; the caller must
 * then push it to its home. [the thread that ran it | wait-free] */
WP_INLINE bool wp__task_park(wp_task *task)
{
	uint32_t busy = WP_TASK_BUSY;

	/* [task.3] release; pairs task.1, task.2, task.6; upholds Task!UnparkNotLost: the thread
	 * that runs or cancels the task next sees what this run wrote. */
	return wp_cas_release(&task->word, &busy, WP_TASK_PARKED);
}

/* Call after a step that returns WP_STEP_DONE. The task may be gone when this returns. [the thread
 * that ran it | wait-free] */
WP_INLINE void wp__task_finish(wp_task *task)
{
	/* [task.4] release; pairs task.5; upholds Task!HappensBeforeRun: a thread that sees the
	 * task done sees what the task did. */
	wp_store_release(&task->word, WP_TASK_DONE);
}

/* Returns true if the task has ended by itself. [any thread | wait-free] */
WP_API_INLINE bool wp_task_is_done(wp_task *task)
{
	/* [task.5] acquire; pairs task.4; upholds Task!HappensBeforeRun. */
	return (wp_load_acquire(&task->word) & ~(uint32_t)WP_TASK_NOTIFIED) == WP_TASK_DONE;
}

/* Cancels the task if it is parked. Returns true if the task was parked and will now never run
 * again. Returns false if the task runs, is queued or is about to be, or has ended. [any thread,
 * while the task lives | wait-free] */
WP_INLINE bool wp__task_cancel(wp_task *task)
{
	uint32_t parked = WP_TASK_PARKED;

	/* [task.6] acquire; pairs task.3; upholds Task!CancelIsAlone: the thread that gets the task
	 * back sees what it did. */
	return (parked & ~(uint32_t)WP_TASK_NOTIFIED) == WP_TASK_PARKED &&
	       wp_cas_acquire(&task->word, &parked, WP_TASK_CANCELLED);
}

#endif
