/* SPDX-License-Identifier: Apache-2.0
 * carrier_tasks.c - start, run, unpark and end of tasks; the list that a close waits for. */
#include "sched/carrier_tasks.h"

#include "base/error.h"

void wp_carrier_tasks_init(wp_carrier_tasks *home, wp_domain *domain, uint32_t index)
{
	wp_init(&home->others.pushed, 0);
	wp_init(&home->others.begun, 0);
	wp_init(&home->own.pushed, 0);
	wp_init(&home->own.begun, 0);
	home->keeps = NULL;
	home->kept = NULL;
	home->lock = (wp_lock){0};
	home->ended = (wp_cond){0};
	home->is_shut = false;
	home->tasks = NULL;
	home->count = 0;
	home->all = NULL;
	home->number = 0;
	wp_timers_init(&home->timers);
	wp_carrier_init(&home->carrier, domain, index);
}

/* Puts the task on the list. [the lock's holder | wait-free] */
static void list_add(wp_carrier_tasks *home, wp_task *task)
{
	task->next = home->tasks;
	task->back = &home->tasks;
	if (task->next != NULL)
		task->next->back = &task->next;
	home->tasks = task;
	home->count++;
}

/* Returns true if the running step is about to yield to this task. [its carrier | wait-free] */
static bool is_to_keep(const wp_carrier_tasks *home, const wp_task *task)
{
	return home->keeps == task;
}

/* Pushes a task to its home. `again` is true if the caller has just run the task. [the thread that
 * owes the task a push | as wp_carrier_submit] */
static __attribute__((noinline)) void push(wp_carrier_tasks *self, wp_task *task, bool again)
{
	wp_carrier_tasks *home = task->home;
	bool is_own = home == self;

	if (task->is_virtual && ((wp_vthread *)(void *)task)->scheduler != NULL) {
		wp__vthread_submit((wp_vthread *)(void *)task);
		return;
	}
	wp__counted(wp__count_by(is_own, &home->own.pushed, &home->others.pushed));
	if (is_own && is_to_keep(home, task) && !task->is_pinned && home->carrier.bounded != NULL)
		home->kept = task;
	else if (is_own && wp__carrier_has_private_fifo(&home->carrier))
		wp_private_fifo_push(&home->carrier.private_fifo, &task->node);
	else if (task->is_pinned)
		wp_carrier_submit_pinned(&home->carrier, &task->node);
	else if (is_own && again)
		wp_carrier_reenqueue(&home->carrier, &task->node);
	else if (is_own)
		wp_carrier_submit_internal(&home->carrier, &task->node);
	else
		wp_carrier_submit(&home->carrier, &task->node);
	if (wp__carrier_tasks_is_placed(home))
		wp__group_placement_pushed(home);
}

/* Like push. The usual case comes first, and calls nothing: a carrier pushes a task to its own private
 * FIFO. */
static inline void queue(wp_carrier_tasks *self, wp_task *task, bool again)
{
	bool is_given = task->is_virtual && ((wp_vthread *)(void *)task)->scheduler != NULL;

	if (task->home != self || is_given || !wp__carrier_has_private_fifo(&self->carrier) ||
	    wp__carrier_tasks_is_placed(self)) {
		push(self, task, again);
		return;
	}
	wp__counted(wp__count(&self->own.pushed));
	wp_private_fifo_push(&self->carrier.private_fifo, &task->node);
}

int wp_carrier_tasks_start(wp_carrier_tasks *home, wp_carrier_tasks *self, wp_task *task)
{
	bool is_shut;

	task->home = home;
	task->listed = home->number;
	if (task->is_virtual)
		((wp_vthread *)(void *)task)->listed = home;
	wp_lock_acquire(&home->lock);
	is_shut = home->is_shut;
	if (!is_shut)
		list_add(home, task);
	wp_lock_release(&home->lock);
	if (is_shut)
		return WP_CLOSED;
	queue(self, task, false);
	return WP_OK;
}

void wp__carrier_tasks_push(wp_carrier_tasks *self, wp_task *task)
{
	queue(self, task, false);
}

void wp_carrier_tasks_arm(wp_carrier_tasks *home, wp_carrier_tasks *self, wp_timer *timer,
			  int64_t deadline_ns)
{
	if (wp_timer_arm(&home->timers, timer, deadline_ns) && home != self)
		wp_timers_nudge(&home->carrier);
}

void wp__carrier_tasks_fire(wp_carrier_tasks *self, int64_t now_ns)
{
	for (int count = 0; count < WP_HOME_FIRED; count++) {
		wp_task *task = wp_timers_due(&self->timers, now_ns);

		if (task == NULL)
			return;
		wp__carrier_tasks_resumes(self, task);
		queue(self, task, false);
	}
}

/* Parks a thread that was run for its scheduler; a close may sleep until then. It does so under the
 * lock, because the group may be freed as soon as the thread is parked. [its runner | blocks
 * briefly] */
static bool park_given(wp_vthread *thread)
{
	wp_carrier_tasks *home = thread->listed;
	bool is_parked;

	wp_lock_acquire(&home->lock);
	is_parked = wp__vthread_park(thread);
	if (is_parked && home->is_shut)
		wp_cond_signal(&home->ended);
	wp_lock_release(&home->lock);
	return is_parked;
}

/* Parks the task. Returns true if the task is parked; it then no longer belongs to the caller. [its
 * runner | wait-free, without a scheduler] */
static bool park(wp_task *task)
{
	wp_vthread *thread = (wp_vthread *)(void *)task;

	if (!task->is_virtual)
		return wp__task_park(task);
	return thread->scheduler != NULL ? park_given(thread) : wp__vthread_park(thread);
}

void wp__carrier_tasks_end(wp_task *task)
{
	wp_carrier_tasks *home = wp__carrier_tasks_listed(task);

	if (home != NULL) {
		wp_lock_acquire(&home->lock);
		wp__carrier_tasks_unlist(home, task);
		if (home->is_shut && home->tasks == NULL)
			wp_cond_signal(&home->ended);
		wp_lock_release(&home->lock);
	}
	if (task->ended != NULL)
		task->ended(task);
	else
		wp__task_finish(task);
}

/* Queues the task that the step has kept: in front of all others, if the step yields to it. [its
 * carrier | as push] */
static void give_kept(wp_carrier_tasks *self, enum wp_step said)
{
	wp_mpsc_node *node = &self->kept->node;

	self->kept = NULL;
	if (said == WP_STEP_YIELD)
		wp__local_queue_carrier_keep(&self->carrier, node);
	else
		wp_carrier_submit_internal(&self->carrier, node);
}

void wp__carrier_tasks_after(wp_carrier_tasks *self, wp_task *task, enum wp_step said)
{
	/* self is NULL if a scheduler runs the task on another OS thread */
	if (self != NULL && self->kept != NULL)
		give_kept(self, said);
	if (said == WP_STEP_DONE)
		wp__carrier_tasks_end(task);
	else if (said == WP_STEP_POLL)
		self->carrier.slot = task;
	else if (said == WP_STEP_YIELD || !park(task))
		queue(self, task, true);
}

uint64_t wp_carrier_tasks_runnable(wp_carrier_tasks *home)
{
	uint64_t pushed = wp__count_read(&home->own.pushed) + wp__count_read(&home->others.pushed);
	uint64_t begun = wp__count_read(&home->own.begun) + wp__count_read(&home->others.begun);

	return pushed > begun ? pushed - begun : 0;
}

uint64_t wp_carrier_tasks_count(wp_carrier_tasks *home)
{
	uint64_t count;

	wp_lock_acquire(&home->lock);
	count = home->count;
	wp_lock_release(&home->lock);
	return count;
}

void wp__carrier_tasks_shut(wp_carrier_tasks *home)
{
	wp_lock_acquire(&home->lock);
	home->is_shut = true;
	wp_lock_release(&home->lock);
}

int wp__carrier_tasks_wait(wp_carrier_tasks *home, int64_t deadline_ns)
{
	int code = WP_OK;

	wp_lock_acquire(&home->lock);
	while (home->tasks != NULL && code == WP_OK)
		code = wp_cond_wait(&home->ended, &home->lock, deadline_ns);
	if (home->tasks == NULL)
		code = WP_OK;
	wp_lock_release(&home->lock);
	return code;
}

/* Cancels a task that is queued or parked, for a close that hands it back. */

static bool cancel(wp_task *task)
{
	return task->is_virtual ? wp__vthread_cancel((wp_vthread *)(void *)task)
				: wp__task_cancel(task);
}

/* Takes a parked task off the list, if no thread is about to push it. [the close | blocks briefly]
 */
static wp_task *cancel_parked(wp_carrier_tasks *home)
{
	wp_task *task;

	wp_lock_acquire(&home->lock);
	task = home->tasks;
	while (task != NULL && !cancel(task))
		task = task->next;
	if (task != NULL)
		wp__carrier_tasks_unlist(home, task);
	wp_lock_release(&home->lock);
	return task;
}

/* Returns true if a scheduler holds the task. The task then runs, or will run, on any thread. [the
 * lock's holder | wait-free] */
static bool is_given(wp_task *task)
{
	wp_vthread *thread = (wp_vthread *)(void *)task;
	uint32_t word;

	if (!task->is_virtual || thread->scheduler == NULL)
		return false;
	word = wp__vthread_look(thread);
	return (word & WP_VTHREAD_STATE) != WP_TASK_PARKED || (word & WP_VTHREAD_ENDS) != 0;
}

static bool are_all_given(wp_carrier_tasks *home)
{
	wp_task *task = home->tasks;

	while (task != NULL && is_given(task))
		task = task->next;
	return home->tasks != NULL && task == NULL;
}

int wp__carrier_tasks_wait_given(wp_carrier_tasks *home, int64_t deadline_ns)
{
	int code = WP_OK;

	wp_lock_acquire(&home->lock);
	while (code == WP_OK && are_all_given(home))
		code = wp_cond_wait(&home->ended, &home->lock, deadline_ns);
	if (!are_all_given(home))
		code = WP_OK;
	wp_lock_release(&home->lock);
	return code;
}

wp_task *wp__carrier_tasks_hand_back(wp_carrier_tasks *home, bool *was_parked)
{
	wp_task *task = (wp_task *)(void *)wp__carrier_take_left(&home->carrier);
	wp_carrier_tasks *listed;

	*was_parked = false;
	if (task == NULL) {
		task = cancel_parked(home);
		*was_parked = task != NULL;
		return task;
	}
	listed = wp__carrier_tasks_listed(task);
	wp_lock_acquire(&listed->lock);
	wp__carrier_tasks_unlist(listed, task);
	wp_lock_release(&listed->lock);
	return task;
}
