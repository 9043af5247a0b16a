/* SPDX-License-Identifier: Apache-2.0
 * carrier_tasks.h - a carrier with its tasks: they start here, come back here, are listed until
 * they end.
 *
 *   whoever starts a task          whoever runs it               the close
 *   lock; shut? refused            [task.2] run a step           lock; shut
 *         else on the list         yield, unparked: push home    until the list is empty:
 *   push; on the own carrier,      done: lock; off the list;          sleep on it
 *   without a domain:                shut and empty: wake the close
 *     private FIFO                 run for a scheduler, parks:   hand back: what a scheduler has
 *                                    lock; [vthread.3]; shut:      is not the close's: sleep
 *                                    wake
 *
 * Why it works  The list and its gate change under one lock: a start that the close does not see is
 *               refused, and one that it sees is listed. A task leaves the list when nothing runs
 *               it any more. Whoever owes a task (task.h) pushes it to its home, so a stolen one
 *               runs elsewhere for one step. A virtual thread may settle where it runs: home is
 *               then that carrier, alone; it stays on the list that it is on, so no close misses
 *               it. So may whoever owes a task that was parked choose where it goes on: nobody else
 *               reads its home. A plain task has a number for the list that it stays on.
 *               A thread that a scheduler has is run on any OS thread, when its scheduler likes: a
 *               close that hands back sleeps, until one of them has ended or parked. Both are under
 *               the lock of the list, so the close sees it, and the group is not freed before.
 *               Of a carrier without a domain nobody steals. What it pushes to itself goes to its
 *               private FIFO, which nobody else reads (run_queues.h).
 *               A step that submits a task and yields to it keeps that one, alone: if the task has
 *               a scheduler, that may start others meanwhile, and these are queued.
 * Not promised  Wait-freedom of starts and ends: they share the lock. Resuming a task does not.
 * Spec          specs/sched/Group.tla: OneCarrier, HomeReturn, StaysSettled, HomeStaysSettled,
 *               NoTaskLost, BackIsLeftAlone, WaitsForAll, CloserIsWoken;
 *               specs/queue/LocalQueue.tla: NothingLost; specs/sched/GroupClose.tla: SleepsForHeld.
 * Evidence      make check-specs T=Group, make stress T=carrier_tasks. */
#ifndef WP_CARRIER_TASKS_H
#define WP_CARRIER_TASKS_H

#include "base/futex.h"
#include "sched/carrier.h"
#include "sched/timer.h"
#include "thread/task.h"
#include "thread/vthread.h"

/* Tasks of a home that were queued, and that have begun a step. */
typedef struct wp_tally {
	wp_atomic(uint64_t) pushed, begun;
} wp_tally;

/* carrier, timers: as carrier.h and timer.h say. own, keeps, kept: its carrier; others: whoever
 * else pushes or runs its tasks. The rest: under the lock. */
typedef struct wp_carrier_tasks {
	wp_carrier carrier;
	_Alignas(WP_LINE) wp_tally others;
	_Alignas(WP_LINE) wp_tally own;
	/* the step that runs is to yield to that one, which it starts or unparks now */
	const wp_task *keeps;
	wp_task *kept; /* that task, until the step has ended */
	_Alignas(WP_LINE) wp_lock lock;
	wp_cond ended;  /* shut, and the list is empty */
	bool is_shut;   /* no start is accepted */
	wp_task *tasks; /* accepted, and not ended */
	uint64_t count; /* of those */
	struct wp_carrier_tasks *const
		*all; /* where tasks go on is chosen: homes by number; or NULL */
	uint16_t number;
	wp_timers timers;
} wp_carrier_tasks;

/* [before it is shared | wait-free] As wp_carrier_init. */
void wp_carrier_tasks_init(wp_carrier_tasks *home, wp_domain *domain, uint32_t index);

/* Starts a task that is made (wp_task_init) and has no home: WP_OK, or WP_CLOSED: it was not
 * accepted. `self`: the calling carrier, or NULL. [any thread | blocks shortly] */
int wp_carrier_tasks_start(wp_carrier_tasks *home, wp_carrier_tasks *self, wp_task *task);

/* Whether its group counts what is pushed there. [any thread | wait-free] */
WP_INLINE bool wp__carrier_tasks_is_placed(const wp_carrier_tasks *home)
{
	return home->carrier.is_placed;
}
/* Something was pushed there: group_placement.h. [who has pushed it | may move the queue] */
void wp__group_placement_pushed(wp_carrier_tasks *home);
/* It goes on where its group chooses, if that is to. [who owes it | wait-free] */
void wp__group_placement_resumes(wp_task *task);
/* Gives it to its scheduler. [who owes it | as that does] */
void wp__vthread_submit(wp_vthread *thread);
/* Who has left its stack: who was mounted, or the last of those who were passed to; the first may
 * be gone. [who ran it | wait-free] */
wp_task *wp__vthread_left(void);

/* Pushes it home: who was told to by wp__task_notify. [any thread | as wp_carrier_submit] */
void wp__carrier_tasks_push(wp_carrier_tasks *self, wp_task *task);

/* For a task that `self` runs, and that leaves its stack: who goes on is given. If it yields it is
 * queued, and may be that itself. NULL: nothing was done, a poll has to say it. [its carrier |
 * wait-free] */
wp_task *wp__carrier_tasks_pass(wp_carrier_tasks *self, wp_task *task, bool yields);

/* It is done: off the list, then ended: after that it may be gone. [who ran it | blocks shortly] */
void wp__carrier_tasks_end(wp_task *task);

/* Arms a timer here, and shortens the sleep of its carrier where it is another's. `self`: the
 * calling carrier, or NULL. [the timer's user, any thread | blocks shortly] */
void wp_carrier_tasks_arm(wp_carrier_tasks *home, wp_carrier_tasks *self, wp_timer *timer,
			  int64_t deadline_ns);

enum { WP_HOME_FIRED = 64 }; /* at once: a million that are due keep nobody from running */

/* Fires what is due by then, and pushes whom that resumes: so many at the most, the others at the
 * next call. [its carrier | blocks shortly] */
void wp__carrier_tasks_fire(wp_carrier_tasks *self, int64_t now_ns);

/* What follows from a step. [who ran it | blocks shortly at its end] */
void wp__carrier_tasks_after(wp_carrier_tasks *self, wp_task *task, enum wp_step said);

/* One step of a task that `self` has popped or stolen, and what follows from it. In one piece with
 * a carrier's loop: a return behind a switch of stacks is mispredicted. [a carrier's thread |
 * blocks shortly at its end] */
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

/* From now on `self` alone runs it, which does so now. [its runner | wait-free] */
WP_INLINE void wp__carrier_tasks_settle(wp_carrier_tasks *self, wp_vthread *thread)
{
	thread->task.home = self;
	thread->task.is_pinned = true;
}

/* Only its home runs it. [who owes it | wait-free] */
WP_INLINE bool wp__carrier_tasks_stays(const wp_task *task)
{
	return task->is_pinned;
}

/* That is its home from now on, where it is pushed next. [who owes it | wait-free] */
WP_INLINE void wp__carrier_tasks_resume(wp_carrier_tasks *home, wp_task *task)
{
	if (!wp__carrier_tasks_stays(task))
		task->home = home;
}

/* Whose list it is on; NULL: it is a poller. [who starts it, runs it, or hands it back |
 * wait-free] */
WP_INLINE wp_carrier_tasks *wp__carrier_tasks_listed(wp_task *task)
{
	wp_carrier_tasks *home = task->home;

	if (task->is_virtual)
		return ((wp_vthread *)(void *)task)->listed;
	return home->all == NULL ? home : home->all[task->listed];
}

/* Tasks that are queued here, about: some may be on their way. [any thread | wait-free] */
uint64_t wp_carrier_tasks_runnable(wp_carrier_tasks *home);

/* Tasks that are accepted and have not ended. [any thread | blocks shortly] */
uint64_t wp_carrier_tasks_count(wp_carrier_tasks *home);

/* No task is accepted from now on. [any thread | blocks shortly] */
void wp__carrier_tasks_shut(wp_carrier_tasks *home);

/* Tells its carrier to stop: a node that it alone takes. [the close | as
 * wp_carrier_submit_pinned] */
WP_INLINE void wp__carrier_tasks_stop(wp_carrier_tasks *home, wp_mpsc_node *stop)
{
	wp_carrier_submit_pinned(&home->carrier, stop);
}

/* Sleeps until no task is listed, which never changes again. WP_OK, WP_TIMEOUT or WP_INTERRUPTED.
 * [who shut it | blocks] */
int wp__carrier_tasks_wait(wp_carrier_tasks *home, int64_t deadline_ns);

/* Takes an unfinished task off its list, when no carrier of the group runs: the next one that is
 * queued here, or listed here, parked and not unparked. One that was queued keeps its word, so
 * nobody who unparks it owes a push. NULL: there is none now; if a list is not empty, somebody is
 * about to queue one, or has done so at another home.
 * [the close | blocks shortly] */
wp_task *wp__carrier_tasks_hand_back(wp_carrier_tasks *home, bool *was_parked);

/* When no carrier of the group runs: sleeps while all that is listed here is a scheduler's, to run
 * or running. WP_OK: something else is listed, or nothing; WP_TIMEOUT, WP_INTERRUPTED. [the close |
 * blocks] */
int wp__carrier_tasks_wait_given(wp_carrier_tasks *home, int64_t deadline_ns);

/* Off its list. [the lock's holder | wait-free] */
WP_INLINE void wp__carrier_tasks_unlist(wp_carrier_tasks *home, wp_task *task)
{
	*task->back = task->next;
	if (task->next != NULL)
		task->next->back = task->back;
	home->count--;
}

#endif
