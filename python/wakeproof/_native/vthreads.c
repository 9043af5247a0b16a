/* SPDX-License-Identifier: Apache-2.0
 * vthreads.c - virtual threads, and pollers, whose step is a Python callable; see binding.h. */
#include "binding.h"

#include "kept.h"
#include "sched/placement/group_placement.h"
#include "sched/poller_turn.h"
#include "sched/run_queues.h"
#include "sched/vthread_stackful.h"
#include "sched/vthread_start.h"
#include "sched/worker.h"
#include "sched/worker_trace.h"

/* Written at import, before there is a thread. */
static int (*step_of)(uint64_t number);
static void (*wakeup_of)(uint64_t number), (*left_of)(uint64_t number);
static void (*given_of)(uint64_t number);

void wp__vthread_steps(int (*step)(uint64_t number))
{
	step_of = step;
}

static enum wp_step call(wp_task *task)
{
	return (enum wp_step)step_of(wp__vthread_id((wp_vthread *)(void *)task));
}

wp_vthread *wp__vthread_new(wp_group *group, uint64_t number, const char *name, int carrier,
			    bool is_pinned, bool has_no_locals, const void *scheduler)
{
	wp_vthread_config config = {.name = name,
				    .step = call,
				    .arg = (void *)(uintptr_t)number,
				    .carrier = carrier,
				    .is_pinned = is_pinned,
				    .has_no_locals = has_no_locals,
				    .scheduler = scheduler};
	wp_vthread *thread = NULL;

	use_kept(&group->bodies);
	return wp_vthread_new(group, &config, &thread) == WP_OK ? thread : NULL;
}

void wp__group_free(wp_group *group)
{
	wp__wakers_wait(&group->wakers);
	keep(&group->bodies);
	wp_group_free(group);
}

uint32_t wp__kept(void)
{
	return __atomic_load_n(&kept.count, __ATOMIC_RELAXED) * WP_BODY_CHUNK;
}

static void give(void *arg, wp_vthread *thread)
{
	(void)arg;
	given_of(wp__vthread_id(thread));
}

const void *wp__scheduler(void (*given)(uint64_t number))
{
	static const wp_scheduler python = {give, NULL};

	given_of = given;
	return &python;
}

bool wp__vthread_is_interrupted(wp_vthread *thread)
{
	return wp_vthread_is_interrupted(thread);
}

int wp__vthread_run(wp_vthread *thread)
{
	return wp_vthread_run(thread);
}

int wp__vthread_submit_next(wp_vthread *thread, bool starts)
{
	wp_worker *self = wp__worker_self();
	int code = WP_OK;

	if (self != NULL)
		self->home.keeps = &thread->task;
	if (starts)
		code = wp_vthread_start(thread);
	else
		wp_vthread_unpark(thread);
	if (self != NULL)
		self->home.keeps = NULL;
	return code;
}

bool wp__worker_has_none(void)
{
	wp_worker *self = wp__worker_self();

	return self != NULL && !wp__carrier_has_runnable(&self->home.carrier);
}

/* Whether all that the carrier's loop would do now is to run its next task. */
static bool only_runs(wp_worker *self)
{
	wp_carrier *carrier = &self->home.carrier;

	if (self->has_stop || carrier->is_placed || carrier->bounded != NULL ||
	    wp__worker_is_traced(self) || wp__poller_is_aside(&self->poller))
		return false;
	/* In its last turn it looks at the clock as well, and then its poller has a turn. */
	return self->turns > 1 || (carrier->slot == NULL && !wp__worker_is_called(self) &&
				   wp_timers_earliest(&self->home.timers) == WP_FOREVER);
}

static bool is_of_python(wp_body *body)
{
	return body->step == call && body->left == NULL && body->thread.scheduler == NULL;
}

/* The next task, if it is a thread of Python; else it stays the next. */
static wp_task *take_next(wp_worker *self)
{
	wp_mpsc_node *node = wp_carrier_poll(&self->home.carrier);
	wp_task *task = (wp_task *)(void *)node;

	if (node == NULL ||
	    (node != &self->stop && task->is_virtual && is_of_python((wp_body *)(void *)task)))
		return task;
	self->home.carrier.next = node;
	return NULL;
}

int wp__vthread_then(int said)
{
	wp_worker *self = wp__worker_self();
	wp_task *task = NULL;

	if (self != NULL && is_of_python(wp__body_of(wp_vthread_current())) && only_runs(self))
		task = take_next(self);
	if (task == NULL)
		return -1;
	wp__carrier_tasks_after(&self->home, wp__vthread_left(), (enum wp_step)said);
	self->turns -= self->turns > 1;
	self->runs_for = task->home;
	wp__count(&self->runs);
	wp__worker_runs(self, task);
	wp__counted(wp__count_by(task->home == &self->home, &task->home->own.begun,
				 &task->home->others.begun));
	wp__vthread_begin((wp_vthread *)(void *)task);
	return (int)task->step(task);
}

uint64_t wp__vthread_id(wp_vthread *thread)
{
	return (uintptr_t)wp_vthread_arg(thread);
}

int wp__vthread_placed(wp_vthread *thread)
{
	wp__vthread_place(thread);
	return wp__vthread_home(thread);
}

int wp__vthread_home(wp_vthread *thread)
{
	/* Another thread may place it meanwhile: once, one or the other. */
	wp_carrier_tasks *home = *(wp_carrier_tasks *volatile *)&thread->task.home;

	return (int)((wp_worker *)(void *)home)->index;
}

int wp__vthread_state(wp_vthread *thread)
{
	uint32_t word = wp__vthread_look(thread);
	uint32_t state = word & WP_VTHREAD_STATE;

	return (int)(state == WP_TASK_PARKED && word & WP_VTHREAD_ENDS ? WP_TASK_BUSY : state);
}

bool wp__vthread_is_timed(wp_vthread *thread)
{
	return *(volatile bool *)&thread->is_timed;
}

int64_t wp__vthread_park_number(void)
{
	wp_vthread *thread = wp_vthread_current();

	return thread == NULL ? -1 : (int64_t)wp__vthread_number(thread);
}

void wp__vthread_unpark_if(wp_vthread *thread, uint32_t number)
{
	wp__vthread_pay(thread, wp__vthread_notify_park(thread, number));
}

void wp__poller_hooks(void (*wakeup)(uint64_t number), void (*left)(uint64_t number))
{
	wakeup_of = wakeup;
	left_of = left;
}

static void wake(void *arg)
{
	wakeup_of((uintptr_t)arg);
}

static void left(wp_vthread *thread)
{
	left_of(wp__vthread_id(thread));
}

int wp__poller_register(wp_group *group, uint32_t carrier, uint64_t number, const char *name,
			bool blocks, wp_vthread **thread)
{
	wp_poller_config config = {.name = name,
				   .step = call,
				   .wakeup = wake,
				   .left = left,
				   .arg = (void *)(uintptr_t)number,
				   .blocks = blocks};
	wp_vthread *made = NULL;
	int code = wp_poller_register(group, carrier, &config, &made);

	if (code == WP_OK)
		*thread = made;
	return code;
}

uint64_t wp__poller_number(wp_group *group, uint32_t carrier)
{
	wp_poller *poller = &group->workers[carrier].poller;
	uint64_t number = 0;

	wp_lock_acquire(&group->closing.lock);
	if (poller->registered != NULL && poller->config.step == call)
		number = wp__vthread_id(poller->registered);
	wp_lock_release(&group->closing.lock);
	return number;
}
