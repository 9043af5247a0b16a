/* SPDX-License-Identifier: Apache-2.0
 * carrier_tasks.h - the home of a task: the carrier where the task starts, to whose queue it is
 * pushed whenever it becomes runnable, and in whose list it stands until it ends.
 *
 *   start of a task                runner                        the close
 *   lock; shut? refuse it          [task.2] run a step           lock; shut
 *         else enter the list      yields, is unparked: push     until the list is empty:
 *   push; on the own carrier,        it home                       sleep
 *   without a domain:              done: lock; leave the list;   hand back what is left; while a
 *     to the private FIFO            shut and empty: wake the      scheduler holds a task: sleep
 *                                    close
 *                                  parks, run for a scheduler:
 *                                    lock; [vthread.3]; shut:
 *                                    wake the close
 *
 * Why it works  The list and is_shut change under one lock. A start that the close does not see is
 *               refused, and a start that it sees is in the list. A task leaves the list when no
 *               thread runs it any more.
 *               The thread that owes a task a push (task.h) pushes it to its home, so a stolen task
 *               runs elsewhere for one step only. A virtual thread may settle on the carrier that
 *               runs it: that carrier becomes its home, and only that carrier runs it from then on.
 *               The thread stays in the list that it is in, so no close misses it. The thread that
 *               owes a parked task a push may also choose a new home for it, because no other
 *               thread reads its home. A plain task has the number of the home that lists it.
 *               It chooses the waker's carrier if the home sleeps and may steal from there. That
 *               saves a wake if the waker soon waits itself. If it runs on, its push has woken a
 *               sibling that steals.
 *               A scheduler of the user may run a thread that it holds on any OS thread, at any
 *               time. Therefore a close that hands back sleeps until such a thread has ended or
 *               parked. Both happen under the lock of the list, so the close sees it, and the group
 *               is not freed before.
 *               Nobody steals from a carrier without a domain. What such a carrier pushes to itself
 *               goes to its private FIFO, which nobody else reads (run_queues.h).
 *               A step that submits a task and yields to it keeps only that one task. If the task
 *               has a scheduler, the scheduler may start others meanwhile, and these are queued.
 * Not promised  Starts and ends are not wait-free, because they share the lock. To resume a task
 *               does not take it.
 * Spec          specs/sched/Group.tla: OneCarrier, HomeReturn, StaysSettled, HomeStaysSettled,
 *               NoTaskLost, BackIsLeftAlone, WaitsForAll, CloserIsWoken;
 *               specs/queue/LocalQueue.tla: NothingLost; specs/sched/GroupClose.tla: SleepsForHeld.
 * Evidence      make check-specs T=Group, make stress T=carrier_tasks. */
#ifndef WP_CARRIER_TASKS_H
#define WP_CARRIER_TASKS_H

#include "base/futex.h"
#include "sched/run_queues.h"
#include "sched/timer.h"
#include "thread/task.h"
#include "thread/vthread.h"

/* Counts of one home: how many tasks were queued, and how many have begun a step. */
typedef struct wp_tally {
	wp_atomic(uint64_t) pushed, begun;
} wp_tally;

/* `carrier` and `timers` are written as carrier.h and timer.h say; `own`, `keeps` and `kept` by the
 * carrier; `others` by any other thread that pushes or runs its tasks; `number` and `all` before
 * the home is shared; the other fields under the lock. */
typedef struct wp_carrier_tasks {
	wp_carrier carrier;
	_Alignas(WP_LINE) wp_tally others;
	_Alignas(WP_LINE) wp_tally own;
	/* The task that the running step starts or unparks now, and is about to yield to. */
	const wp_task *keeps;
	wp_task *kept; /* that task, until the step has ended */
	_Alignas(WP_LINE) wp_lock lock;
	wp_cond ended;  /* signalled when the home is shut and its list is empty */
	bool is_shut;   /* starts are refused */
	wp_task *tasks; /* the list: accepted tasks that have not ended */
	uint64_t count; /* the length of the list */
	/* All homes by number, if the group chooses where a resumed task continues; else NULL. */
	struct wp_carrier_tasks *const *all;
	uint16_t number;
	wp_timers timers;
} wp_carrier_tasks;

/* As wp_carrier_init. [before it is shared | wait-free] */
void wp_carrier_tasks_init(wp_carrier_tasks *home, wp_domain *domain, uint32_t index);

/* Starts a task that wp_task_init has made and that has no home yet. `self` is the calling carrier,
 * or NULL. Returns WP_OK, or WP_CLOSED if the start was refused. [any thread | blocks briefly] */
int wp_carrier_tasks_start(wp_carrier_tasks *home, wp_carrier_tasks *self, wp_task *task);

/* Returns true if the group counts the tasks that are pushed to this home. [any thread | wait-free]
 */
WP_INLINE bool wp__carrier_tasks_is_placed(const wp_carrier_tasks *home)
{
	return home->carrier.is_placed;
}
/* Counts a push to this home (group_placement.h). [the thread that pushed | may move the queue] */
void wp__group_placement_pushed(wp_carrier_tasks *home);
/* Chooses a new home for a task that is about to continue. [the thread that owes the task a push |
 * wait-free] */
void wp__group_placement_resumes(wp_task *task);
/* Returns true if a thread that may run again had better continue on `self` than at home: its home
 * sleeps, and may steal from here. [the thread that owes the task a push | wait-free] */
WP_INLINE bool wp__carrier_tasks_moves(const wp_carrier_tasks *self, const wp_task *task)
{
	const wp_carrier *home = &task->home->carrier;

	if (self == NULL || self == task->home || !task->is_virtual || task->is_pinned ||
	    ((const wp_vthread *)(const void *)task)->scheduler != NULL)
		return false;
	/* [carrier_tasks.1] relaxed: a word that is stale costs a wake, or the way to another
	 * carrier; pairs carrier.1; upholds Search!WorkConservation, wherever the task is pushed. */
	return home->domain != NULL && home->domain == self->carrier.domain &&
	       wp__is_parked(wp_load_relaxed(&home->word));
}

/* Chooses where a task continues that is about to be pushed: as the group is configured, or on the
 * calling carrier, `self`, if that saves a wake. [the thread that owes the task a push | wait-free]
 */
WP_INLINE void wp__carrier_tasks_resumes(wp_carrier_tasks *self, wp_task *task)
{
	if (task->home->all != NULL)
		wp__group_placement_resumes(task);
	else if (wp__carrier_tasks_moves(self, task))
		task->home = self;
}
/* Gives the thread to its scheduler. [the thread that owes it a push | as the scheduler's submit]
 */
void wp__vthread_submit(wp_vthread *thread);
/* Returns the task that has just left its stack. That is the task that was mounted, or the last one
 * in a chain of tasks that passed to one another. The first task of the chain may no longer exist.
 * [its runner | wait-free] */
wp_task *wp__vthread_left(void);

/* Pushes a task home, after wp__task_notify has returned true. [any thread | as wp_carrier_submit]
 */
void wp__carrier_tasks_push(wp_carrier_tasks *self, wp_task *task);

/* Called for a task that `self` runs and that leaves its stack. Returns the task that runs next. A
 * task that yields is queued, and may be returned itself. Returns NULL if nothing was done, and the
 * loop has to poll. [its carrier | wait-free] */
WP_INLINED wp_task *wp__carrier_tasks_pass(wp_carrier_tasks *self, wp_task *task, bool yields)
{
	wp_carrier *carrier = &self->carrier;
	wp_task *next = (wp_task *)(void *)carrier->private_fifo.first;

	if (next == NULL ? !yields : next->is_virtual != WP_VTHREAD_STACK)
		return NULL;
	if (task->home != self || !wp__carrier_has_private_fifo(carrier) ||
	    wp__carrier_has_pushed(carrier))
		return NULL;
	if (yields) {
		wp__counted(wp__count(&self->own.pushed));
		wp_private_fifo_push(&carrier->private_fifo, &task->node);
	}
	next = (wp_task *)(void *)wp_private_fifo_pop(&carrier->private_fifo);
	wp__counted(wp__count(&self->own.begun));
	return next;
}

/* Takes a finished task off its list and ends it. The task may no longer exist afterwards. [its
 * runner | blocks briefly] */
void wp__carrier_tasks_end(wp_task *task);

/* Arms a timer of this home, and shortens the sleep of its carrier if that is another one. `self`
 * is the calling carrier, or NULL. [the timer's user, any thread | blocks briefly] */
void wp_carrier_tasks_arm(wp_carrier_tasks *home, wp_carrier_tasks *self, wp_timer *timer,
			  int64_t deadline_ns);

/* timers that one call fires, so that a million due timers do not keep tasks from running */
enum { WP_HOME_FIRED = 64 };

/* Fires the timers that are due at now_ns, and pushes the tasks that they resume. It fires
 * WP_HOME_FIRED at the most; the next call fires others. [its carrier | blocks briefly] */
void wp__carrier_tasks_fire(wp_carrier_tasks *self, int64_t now_ns);

/* Does what the result of a step asks for: end, queue or park the task. [its runner | blocks
 * briefly if the task ends] */
void wp__carrier_tasks_after(wp_carrier_tasks *self, wp_task *task, enum wp_step said);

/* Runs one step of a task that `self` has popped or stolen, and does what its result asks for. It
 * is inlined into the carrier's loop, because the processor mispredicts a return behind a switch of
 * stacks. [a carrier's thread | blocks briefly if the task ends] */
WP_INLINE void wp_carrier_tasks_run(wp_carrier_tasks *self, wp_task *task)
{
	bool is_virtual = task->is_virtual;
	enum wp_step said;

	wp__counted(wp__count_by(task->home == self, &task->home->own.begun,
				 &task->home->others.begun));
	if (is_virtual)
		wp__vthread_begin((wp_vthread *)(void *)task);
	else
		wp__task_begin(task);
	said = task->step(task);
	wp__carrier_tasks_after(self, is_virtual ? wp__vthread_left() : task, said);
}

/* Makes `self`, which runs the thread now, the thread's home and the only carrier that may run it.
 * [its runner | wait-free] */
WP_INLINE void wp__carrier_tasks_settle(wp_carrier_tasks *self, wp_vthread *thread)
{
	thread->task.home = self;
	thread->task.is_pinned = true;
}

/* Returns true if only its home runs the task. [the thread that owes the task a push | wait-free]
 */
WP_INLINE bool wp__carrier_tasks_stays(const wp_task *task)
{
	return task->is_pinned;
}

/* Makes `home` the home of the task, to which it is pushed next. [the thread that owes the task a
 * push | wait-free] */
WP_INLINE void wp__carrier_tasks_resume(wp_carrier_tasks *home, wp_task *task)
{
	if (!wp__carrier_tasks_stays(task))
		task->home = home;
}

/* Returns the home that lists the task, or NULL if the task is a poller. [the task's starter, its
 * runner, or the close that hands it back | wait-free] */
WP_INLINE wp_carrier_tasks *wp__carrier_tasks_listed(wp_task *task)
{
	wp_carrier_tasks *home = task->home;

	if (task->is_virtual)
		return ((wp_vthread *)(void *)task)->listed;
	return home->all == NULL ? home : home->all[task->listed];
}

/* Returns the approximate number of tasks that are queued here; some may be on their way. [any
 * thread | wait-free] */
uint64_t wp_carrier_tasks_runnable(wp_carrier_tasks *home);

/* Returns the number of accepted tasks that have not ended. [any thread | blocks briefly] */
uint64_t wp_carrier_tasks_count(wp_carrier_tasks *home);

/* Refuses all starts from now on. [any thread | blocks briefly] */
void wp__carrier_tasks_shut(wp_carrier_tasks *home);

/* Makes the carrier stop: submits a node that only this carrier takes. [the close | as
 * wp_carrier_submit_pinned] */
WP_INLINE void wp__carrier_tasks_stop(wp_carrier_tasks *home, wp_mpsc_node *stop)
{
	wp_carrier_submit_pinned(&home->carrier, stop);
}

/* Sleeps until no task is listed. If the home is shut, that is final. Returns WP_OK, WP_TIMEOUT or
 * WP_INTERRUPTED. [the close, after the shut | blocks] */
int wp__carrier_tasks_wait(wp_carrier_tasks *home, int64_t deadline_ns);

/* Takes one unfinished task off its list: the next task that is queued here, or one that is listed
 * here, parked and not unparked. No carrier of the group may run. A task that was queued keeps its
 * word, so an unparker does not push it again. Returns NULL if there is no such task now. If a list
 * is still not empty then, some thread is about to queue a task, or has queued it at another home.
 * [the close | blocks briefly] */
wp_task *wp__carrier_tasks_hand_back(wp_carrier_tasks *home, bool *was_parked);

/* Sleeps while a scheduler holds every task that is listed here. No carrier of the group may run.
 * Returns WP_OK if some listed task is not held by a scheduler, or if no task is listed; else
 * WP_TIMEOUT or WP_INTERRUPTED. [the close | blocks] */
int wp__carrier_tasks_wait_given(wp_carrier_tasks *home, int64_t deadline_ns);

/* Takes the task off its list. [the lock's holder | wait-free] */
WP_INLINE void wp__carrier_tasks_unlist(wp_carrier_tasks *home, wp_task *task)
{
	*task->back = task->next;
	if (task->next != NULL)
		task->next->back = task->back;
	home->count--;
}

#endif
