/* SPDX-License-Identifier: Apache-2.0
 * vthread_park.c - how a virtual thread parks, sleeps, yields and pins itself. See vthread_start.h.
 */
#include "base/error.h"
#include "sched/vthread_pass.h"
#include "sched/vthread_stackful.h"
#include "sched/worker.h"

/* A part of a park that most parks do not have. It is a call of its own, so that the others need not
 * save its registers. */
#define RARE __attribute__((noinline))

/* Leaves the stack. Returns what the next run passes. It must be the caller's last call (fiber.h).
 */
static int leave(wp_body *body, enum wp_step said)
{
	wp__body_leaves(body);
	return (int)wp_fiber_switch(&body->thread.fiber, body->thread.under, said);
}

/* Parks the thread that has left its stack. [its carrier, on the stack of the next thread |
 * wait-free] */
static void left_to_park(void *arg)
{
	wp_body *body = arg;

	wp__body_check(body);
	if (!wp__vthread_park(&body->thread))
		wp__vthread_push(&body->thread);
}

static inline int leave_parking(wp_body *body)
{
	wp_body *next = wp__vthread_pass(body, false);

	if (next == NULL)
		return leave(body, WP_STEP_PARK);
	return (int)wp_fiber_switch_then(&body->thread.fiber, &next->thread.fiber,
					 (uintptr_t)wp__vthread_why(next), left_to_park, body);
}

bool wp_vthread_clear_interrupt(void)
{
	wp_vthread *thread = wp_vthread_current();

	return thread != NULL && wp__vthread_clear_interrupt(thread);
}

static wp_task *due(wp_timer *timer)
{
	wp_body_rare *rare = (wp_body_rare *)(void *)timer; /* its first member */
	wp_vthread *thread = &rare->body->thread;

	return wp__vthread_time_out(thread, rare->armed_for) == WP_OWES_PUSH ? &thread->task : NULL;
}

/* Arms the timer of the current park, with the carrier of the thread's group that runs the thread.
 * If another OS thread runs it, the timer goes to the thread's home, because that OS thread may
 * belong to a group that is closed earlier. */
static void arm(wp_body *body, int64_t deadline_ns)
{
	wp_worker *self = wp__worker_self();
	wp_carrier_tasks *mine = self != NULL && self->group == body->group ? &self->home : NULL;

	body->thread.is_timed = true;
	wp_timer_init(&body->rare->timer, due);
	body->rare->body = body;
	body->rare->armed_for = wp__vthread_number(&body->thread);
	wp_carrier_tasks_arm(mine != NULL ? mine : body->thread.task.home, mine, &body->rare->timer,
			     deadline_ns);
}

static RARE void add_wait(wp_body *body, enum wp_wait why, uint32_t on)
{
	body->rare->waits_for = why;
	body->rare->waits_on = on;
	body->thread.waits_since_ns = wp_clock_ns();
}

/* Records a wait, for its event, before the thread parks. [its runner | wait-free] */
static inline void waits(wp_body *body, enum wp_wait why, uint32_t on)
{
	if (wp_event_ring_is_on(&body->group->tracing.on))
		add_wait(body, why, on);
}

/* Arms the timer of a park with a deadline. Returns as `begin`. */
static RARE int begin_timed(wp_vthread *thread, int64_t deadline_ns)
{
	if (deadline_ns <= wp_clock_ns())
		return WP_TIMEOUT;
	arm(wp__body_of(thread), deadline_ns);
	return WP_MUST_PARK;
}

/* The first half of a park. Returns WP_MUST_PARK if the thread has to park. */
static inline int begin(wp_vthread *thread, int64_t deadline_ns)
{
	if (wp__vthread_take(thread))
		return wp_vthread_is_interrupted(thread) ? WP_INTERRUPTED : WP_OK;
	if (wp_vthread_is_interrupted(thread))
		return WP_INTERRUPTED;
	return deadline_ns == WP_FOREVER ? WP_MUST_PARK : begin_timed(thread, deadline_ns);
}

int wp__vthread_park_begin_for(int64_t deadline_ns, enum wp_wait why, uint32_t on)
{
	wp_vthread *thread = wp_vthread_current();
	int code = thread == NULL ? WP_FORBIDDEN : begin(thread, deadline_ns);

	if (code == WP_MUST_PARK)
		waits(wp__body_of(thread), why, on);
	return code;
}

int wp__vthread_park_begin(int64_t deadline_ns)
{
	return wp__vthread_park_begin_for(deadline_ns, WP_WAIT_PARK, 0);
}

/* Parks and blocks the carrier, unless the permit is there already or a spare thread runs the
 * carrier meanwhile. */
static RARE int park_mounted(wp_vthread *thread, int64_t deadline_ns, enum wp_wait why, uint32_t on)
{
	if (!wp__vthread_take(thread) && !wp_vthread_is_interrupted(thread)) {
		wp_loan loan;

		waits(wp__body_of(thread), why, on);
		wp__spare_thread_lend(&loan);
		wp__vthread_park_pinned(thread, deadline_ns);
		wp__spare_thread_return(&loan, &thread->task);
	}
	return wp__vthread_park_end();
}

OF_THIS_OS_THREAD int wp__vthread_park_for(int64_t deadline_ns, enum wp_wait why, uint32_t on)
{
	wp_vthread *thread = wp__vthread_here;
	wp_body *body = wp__body_of(thread);
	int code;

	if (thread == NULL)
		return WP_FORBIDDEN;
	if (body->thread.pins != 0 || !body->thread.has_stack)
		return park_mounted(thread, deadline_ns, why, on);
	code = begin(thread, deadline_ns);
	if (code != WP_MUST_PARK)
		return code;
	waits(body, why, on);
	return leave_parking(body);
}

int wp_vthread_park_until(int64_t deadline_ns)
{
	return wp__vthread_park_for(deadline_ns, WP_WAIT_PARK, 0);
}

int wp_vthread_sleep_until(int64_t deadline_ns)
{
	wp_vthread *thread = wp_vthread_current();
	bool had_permit = false;
	int code;

	while ((code = wp__vthread_park_for(deadline_ns, WP_WAIT_SLEEP, 0)) == WP_OK)
		had_permit = true;
	if (had_permit)
		wp__vthread_notify(thread); /* it runs, so nothing is owed */
	return code == WP_TIMEOUT ? WP_OK : code;
}

OF_THIS_OS_THREAD void wp_vthread_yield(void)
{
	wp_vthread *thread = wp__vthread_here;
	wp_body *body = wp__body_of(thread), *next;

	if (thread == NULL || body->thread.pins != 0 || !body->thread.has_stack)
		return;
	next = wp__vthread_pass(body, true);
	if (next == NULL) {
		leave(body, WP_STEP_YIELD);
	} else if (next != body) {
		wp__body_check(body); /* that of a thread that parks is checked after it has left */
		wp_fiber_switch(&body->thread.fiber, &next->thread.fiber,
				(uintptr_t)wp__vthread_why(next));
	}
}

int wp_vthread_settle(void)
{
	wp_vthread *thread = wp_vthread_current();
	wp_worker *self = wp__worker_self();

	if (thread == NULL || thread->scheduler != NULL || self == NULL ||
	    self->group != wp__body_of(thread)->group)
		return WP_FORBIDDEN;
	wp__carrier_tasks_settle(&self->home, thread);
	self->runs_for = &self->home;
	return (int)self->index;
}

void wp_vthread_pin(void)
{
	wp_vthread *thread = wp_vthread_current();

	if (thread != NULL)
		thread->pins++;
}

void wp_vthread_unpin(void)
{
	wp_vthread *thread = wp_vthread_current();

	if (thread != NULL && thread->pins > 0)
		thread->pins--;
}
