/* SPDX-License-Identifier: Apache-2.0
 * vthread_start.c - see vthread_start.h. Not explored, because it switches stacks;
 * stress/scenarios/thread/vthread.c has the word. */
#include "sched/vthread_start.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "sched/vthread_pass.h"
#include "sched/vthread_stackful.h"
#include "sched/worker.h"

_Thread_local wp_vthread *wp__vthread_here __attribute__((tls_model("initial-exec")));

/* The fiber from which this OS thread mounts. */
static _Thread_local wp_fiber *under __attribute__((tls_model("initial-exec")));

/* The control words of this OS thread, for threads that keep none of their own. */
static _Thread_local uint64_t rounding __attribute__((tls_model("initial-exec")));

wp_fiber *wp__vthread_mount_from(wp_fiber *fiber)
{
	wp_fiber *before = under;

	under = fiber;
	rounding = wp__rounding();
	return before;
}

OF_THIS_OS_THREAD wp_vthread *wp_vthread_current(void)
{
	__asm__ __volatile__("" ::: "memory");
	return wp__vthread_here;
}

static OF_THIS_OS_THREAD void set_current(wp_vthread *thread)
{
	__asm__ __volatile__("" ::: "memory");
	wp__vthread_here = thread;
}

OF_THIS_OS_THREAD void wp__body_saves_rounding(wp_body *body)
{
	__asm__ __volatile__("" ::: "memory");
	body->rare->rounding = wp__rounding();
	wp__rounding_load(rounding);
}

OF_THIS_OS_THREAD void wp__body_check_rounding(wp_body *body)
{
	__asm__ __volatile__("" ::: "memory");
	if (wp__rounding() == rounding)
		return;
	fprintf(stderr,
		"wakeproof: virtual thread %s has changed the rounding mode or another control "
		"word of floating point, and its configuration does not say keeps_rounding\n",
		body->thread.task.name != NULL ? body->thread.task.name : "without a name");
	abort();
}

/* The words that a thread without its own has changed are put back at its end. */
static OF_THIS_OS_THREAD void end_rounding(wp_body *body)
{
	__asm__ __volatile__("" ::: "memory");
	wp__body_leaves(body);
	if (wp__rounding() != rounding)
		wp__rounding_load(rounding);
}

/* Mounts a thread with a stack: switches to its stack. The switch comes last (fiber.h). [an OS
 * thread that is about to run it | runs it] */
static enum wp_step mount(wp_task *task)
{
	wp_body *body = (wp_body *)(void *)task;

	wp__vthread_here = &body->thread;
	body->thread.under = under;
	wp__body_enters(body);
	return (enum wp_step)wp_fiber_switch(under, &body->thread.fiber,
					     (uintptr_t)wp__vthread_why(body));
}

/* Runs a step of a thread without a stack. [as mount] */
static enum wp_step call(wp_task *task)
{
	wp_body *body = (wp_body *)(void *)task;

	wp__vthread_here = &body->thread;
	return body->step(task);
}

wp_task *wp__vthread_left(void)
{
	wp_task *task = &wp__vthread_here->task;

	wp__vthread_here = NULL;
	wp__body_check((wp_body *)(void *)task);
	return task;
}

OF_THIS_OS_THREAD wp_body *wp__vthread_pass_on(wp_body *body)
{
	return wp__vthread_pass(body, false);
}

/* Ends the thread that has left its stack for the last time. [its carrier, on the stack of the next
 * thread | as wp__carrier_tasks_end] */
static void left_for_good(void *arg)
{
	wp__body_check(arg);
	wp__carrier_tasks_end(arg);
}

/* The first function on a stack. */
static void begin(void *arg)
{
	wp_body *body = arg, *next;

	body->failure = body->run(body->arg);
	wp__body_forget(body);
	end_rounding(body);
	next = wp__vthread_pass_on(body);
	if (next != NULL)
		wp_fiber_leave_then(&body->thread.fiber, &next->thread.fiber,
				    (uintptr_t)wp__vthread_why(next), left_for_good, body);
	wp_fiber_leave(&body->thread.fiber, body->thread.under, WP_STEP_DONE);
}

/* Called by the runner and by the maker when each needs the body no more. The second of the two
 * gives the body back. [its runner, its maker | as wp__body_give] */
static void let_go(wp_body *body)
{
	if (wp__vthread_let_go(&body->thread))
		wp__body_give(body);
}

/* Reports the end of the thread: calls `left`. If the thread has passed to another one, that one is
 * mounted already. [its runner, or the close | as left] */
static void tell(wp_body *body)
{
	wp_latch_open(&body->done);
	if (body->left != NULL) {
		wp_vthread *next = wp_vthread_current();

		set_current(NULL);
		body->left(&body->thread);
		set_current(next);
	}
}

/* Ends a thread that is off its home's list. [its runner | as left] */
static void ended(wp_task *task)
{
	wp_body *body = (wp_body *)(void *)task;

	if (body->thread.has_stack)
		wp_fiber_fini(&body->thread.fiber);
	else
		wp__body_forget(body);
	if (body->thread.held != NULL)
		wp__vthread_abandon_held(&body->thread);
	wp__vthread_finish(&body->thread);
	tell(body);
	let_go(body);
}

int wp_vthread_new(wp_group *group, const wp_vthread_config *config, wp_vthread **thread)
{
	wp_body *body = wp__body_take(group, config);

	if (body == NULL)
		return WP_SYSTEM;
	body->is_started = false; /* before the thread is visible to a dump */
	wp__vthread_init(&body->thread, config->step != NULL ? call : mount);
	if (config->step == NULL)
		body->thread.task.is_virtual = WP_VTHREAD_STACK;
	body->thread.scheduler = config->scheduler;
	body->thread.task.ended = ended;
	body->thread.task.is_pinned = config->is_pinned;
	wp_latch_init(&body->done);
	body->group = group;
	body->thread.wakers = &group->wakers;
	body->run = config->run;
	body->step = config->step;
	body->arg = config->arg;
	body->failure = 0;
	body->thread.pins = 0;
	body->thread.is_timed = false;
	body->thread.waits_since_ns = 0;
	body->has_no_locals = config->has_no_locals;
	body->thread.has_stack = config->step == NULL;
	body->thread.keeps_rounding = body->thread.has_stack && config->keeps_rounding;
	if (body->thread.keeps_rounding)
		body->rare->rounding = wp__rounding();
	body->thread.has_canary =
		body->thread.has_stack && wp_stack_of(body)->guard == WP_STACK_CANARY;
	body->left = config->left;
	body->scope = NULL;
	if (config->name != NULL) {
		strncpy(body->rare->name, config->name, WP_VTHREAD_NAME - 1);
		body->rare->name[WP_VTHREAD_NAME - 1] = '\0';
		body->thread.task.name = body->rare->name;
	}
	if (body->thread.has_stack)
		wp_fiber_init(&body->thread.fiber, wp_stack_of(body)->low,
			      wp_stack_bytes(wp_stack_of(body)), begin, body);
	body->is_placed = config->carrier == WP_VTHREAD_HERE && group->placed != NULL;
	body->thread.task.home = wp__group_home(
		group, config->carrier != WP_VTHREAD_HERE ? (uint32_t)config->carrier
		       : body->is_placed ? 0 /* chosen at the start, when loads are current */
					 : wp__group_choose(group));
	*thread = &body->thread;
	return WP_OK;
}

void wp__vthread_place(wp_vthread *thread)
{
	wp_body *body = wp__body_of(thread);

	if (body->is_placed)
		thread->task.home = wp__group_home(body->group, wp__group_choose(body->group));
	body->is_placed = false;
}

int wp_vthread_start(wp_vthread *thread)
{
	wp_body *body = wp__body_of(thread);
	int code;

	if (body->is_started)
		return WP_FORBIDDEN;
	body->is_started = true;
	wp__vthread_place(thread);
	code = wp__group_start(thread->task.home, &thread->task);
	if (code != WP_OK) /* in the other case it may have ended and be reused */
		body->is_started = false;
	return code;
}

void wp_vthread_free(wp_vthread *thread)
{
	wp_body *body = wp__body_of(thread);

	if (!body->is_started) {
		wp__vthread_finish(thread);
		if (body->thread.has_stack)
			wp_fiber_fini(&body->thread.fiber);
		wp__body_give(body);
	} else {
		let_go(body);
	}
}

int wp_vthread_join(wp_vthread *thread, int64_t deadline_ns, int *failure)
{
	wp_body *body = wp__body_of(thread);
	int code;

	if (thread == wp_vthread_current())
		return WP_FORBIDDEN;
	code = wp__latch_wait_for(&body->done, deadline_ns, WP_WAIT_JOIN, 0);
	if (code != WP_OK)
		return code;
	if (!wp_vthread_is_done(thread))
		return WP_CLOSED;
	*failure = body->failure;
	return WP_OK;
}

void wp__vthread_abandon(wp_vthread *thread)
{
	wp_body *body = wp__body_of(thread);

	tell(body);
	wp__body_drop(body);
}

/* Gives the thread to its scheduler. During the call the caller does not count as a virtual thread:
 * what the scheduler calls can neither park the caller nor take its permit. [the thread that owes
 * it a push | as the scheduler's submit] */
void wp__vthread_submit(wp_vthread *thread)
{
	wp_vthread *caller = wp_vthread_current();

	wp__vthread_give(thread);
	set_current(NULL);
	thread->scheduler->submit(thread->scheduler->arg, thread);
	set_current(caller);
}

int wp__vthread_park_end(void)
{
	return wp__vthread_why(wp__body_of(wp_vthread_current()));
}

int wp_vthread_run(wp_vthread *thread)
{
	wp_worker *self = wp__worker_self();
	wp_fiber here, *before;
	wp_wakers *wakers;

	if (wp_vthread_current() != NULL || !wp__vthread_claim(thread))
		return WP_FORBIDDEN;
	/* The thread has not ended, so its group still exists. */
	wakers = wp__wakers_enter(thread->wakers);
	wp_fiber_thread(&here);
	before = wp__vthread_mount_from(&here);
	wp_carrier_tasks_run(self == NULL ? NULL : &self->home, &thread->task);
	wp__vthread_mount_from(before);
	wp__wakers_exit(wakers);
	return WP_OK;
}
