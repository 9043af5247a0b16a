/* SPDX-License-Identifier: Apache-2.0
 * submit.c - how tasks and virtual threads of a group are started, unparked and pushed home. See
 * group.h. Not explored, because its results depend on the carrier that calls:
 * stress/scenarios/sched/carrier_tasks.c has the functions that it calls. */
#include "base/error.h"
#include "sched/group.h"
#include "sched/placement/group_placement.h"
#include "sched/worker.h"

/* Returns the home whose carrier the calling thread runs, or NULL. [any thread | wait-free] */
static wp_carrier_tasks *calling(void)
{
	wp_worker *self = wp__worker_self();

	return self == NULL ? NULL : &self->home;
}

static void add_submit(wp_worker *home, wp_task *task, bool is_unpark)
{
	wp_trace_event event = {.begin_ns = wp_clock_ns(),
				.kind = WP_TRACE_SUBMIT,
				.a = home->index,
				.b = (uint32_t)wp_carrier_tasks_runnable(&home->home),
				.c = is_unpark};

	wp__trace_of(&event, task);
	wp__trace_add_here(home->group, &event);
}

/* Writes the event. This comes before the push, because the task may no longer exist afterwards.
 * [any thread | as wp__trace_add] */
static inline void trace_submit(wp_worker *home, wp_task *task, bool is_unpark)
{
	if (wp_event_ring_is_on(&home->group->tracing.on))
		add_submit(home, task, is_unpark);
}

int wp__group_start(wp_carrier_tasks *home, wp_task *task)
{
	trace_submit((wp_worker *)(void *)home, task, false);
	return wp_carrier_tasks_start(home, calling(), task);
}

int wp_group_start(wp_group *group, uint32_t index, wp_task *task)
{
	return wp__group_start(&group->workers[index].home, task);
}

wp_carrier_tasks *wp__group_home(wp_group *group, uint32_t index)
{
	return &group->workers[index].home;
}

uint32_t wp__group_next(wp_group *group)
{
	/* [submit.1] relaxed: atomicity is enough; pairs submit.1; upholds Group!NoTaskLost: any
	 * carrier will do. */
	return wp_fetch_add_relaxed(&group->next, 1) % group->size;
}

uint32_t wp__group_choose(wp_group *group)
{
	int running = wp_group_running(group);
	uint32_t here = running >= 0 ? (uint32_t)running : wp__group_next(group);

	return group->placed == NULL ? here : wp__group_placement_choose(group->placed, here);
}

int wp_group_submit(wp_group *group, wp_task *task)
{
	return wp_group_start(group, wp__group_choose(group), task);
}

void wp_task_unpark(wp_task *task)
{
	wp_carrier_tasks *self;

	/* The task does not belong to the caller: another thread may just be pushing it to its
	 * home. */
	if (!wp__task_notify(task))
		return;
	self = calling();
	wp__carrier_tasks_resumes(self, task);
	trace_submit((wp_worker *)(void *)task->home, task, true);
	wp__carrier_tasks_push(self, task);
}

void wp__vthread_push(wp_vthread *thread)
{
	wp_carrier_tasks *self = calling();

	wp__carrier_tasks_resumes(self, &thread->task);
	trace_submit((wp_worker *)(void *)thread->task.home, &thread->task, true);
	wp__carrier_tasks_push(self, &thread->task);
}

void wp__vthread_pay(wp_vthread *thread, enum wp_owed owed)
{
	if (owed == WP_OWES_PUSH)
		wp__vthread_push(thread);
	else if (owed == WP_OWES_WAKE)
		wp_futex_wake(&thread->task.word, 1);
}

void wp_vthread_unpark(wp_vthread *thread)
{
	wp__vthread_pay(thread, wp__vthread_notify(thread));
}

/* Starts the thread, or unparks it if it was started. [any thread | as wp_vthread_start] */
static int start_or_unpark(wp_vthread *thread)
{
	if (!wp__body_of(thread)->is_started)
		return wp_vthread_start(thread);
	wp_vthread_unpark(thread);
	return WP_OK;
}

int wp_vthread_submit_and_yield(wp_vthread *thread)
{
	wp_vthread *own = wp_vthread_current();
	wp_carrier_tasks *self = calling();
	bool yields = own != NULL && own->pins == 0 && own->has_stack;
	int code;

	if (self == NULL || !yields)
		return start_or_unpark(thread);
	self->keeps = &thread->task;
	code = start_or_unpark(thread);
	self->keeps = NULL;
	if (code == WP_OK)
		wp_vthread_yield();
	return code;
}

void wp_vthread_interrupt(wp_vthread *thread)
{
	wp__vthread_pay(thread, wp__vthread_interrupt(thread));
}

int wp_group_running(const wp_group *group)
{
	wp_worker *self = wp__worker_self();

	return self != NULL && self->group == group ? (int)self->index : -1;
}

int wp_group_home(const wp_group *group)
{
	wp_worker *self = wp__worker_self();

	if (self == NULL || self->group != group || self->runs_for == NULL)
		return -1;
	return (int)((wp_worker *)(void *)self->runs_for)->index;
}
