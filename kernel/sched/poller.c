/* SPDX-License-Identifier: Apache-2.0
 * poller.c - see poller.h. Not explored, because its results depend on the carrier that calls:
 * stress/scenarios/sched/poller.c has the functions that it calls. */
#include "sched/poller.h"

#include "base/error.h"
#include "sched/placement/group_placement.h"
#include "sched/poller_turn.h"
#include "sched/worker_trace.h"

enum { NAP_NS = 1000000 }; /* how long the end of a poller sleeps for a wakeup */

/* Returns the carrier that has the calling thread as its poller, or NULL. [any thread | wait-free]
 */
static wp_worker *calling(void)
{
	wp_worker *mine = wp__worker_self();

	return mine != NULL && mine->poller.thread != NULL &&
			       mine->poller.thread == wp_vthread_current()
		       ? mine
		       : NULL;
}

/* Returns true if something is queued, or the loop has something else to do. [the carrier |
 * wait-free] */
static bool is_wanted(wp_worker *mine)
{
	return wp__carrier_has_runnable(&mine->home.carrier) ||
	       wp_timers_earliest(&mine->home.timers) != WP_FOREVER || wp__worker_is_called(mine);
}

/* Leaves the stack until the poller's next turn. It must be the caller's last call (fiber.h). */
static int leave(wp_body *body)
{
	wp__body_leaves(body);
	return (int)wp_fiber_switch(&body->thread.fiber, body->thread.under, WP_STEP_POLL);
}

int wp__poller_yield_begin(bool had_io)
{
	wp_worker *mine = calling();

	if (mine == NULL)
		return WP_FORBIDDEN;
	wp__poller_unpark(mine);
	if (!had_io && !is_wanted(mine))
		mine->home.carrier.next = wp__worker_probe(mine);
	if (mine->poller.is_closing)
		return WP_CLOSED;
	if (!is_wanted(mine) || mine->poller.thread->pins != 0)
		return WP_IDLE;
	mine->poller.runs = wp__count_read(&mine->runs);
	return WP_OK;
}

int wp__poller_yield_end(void)
{
	wp_worker *mine = calling();

	if (mine == NULL)
		return WP_FORBIDDEN;
	if (mine->poller.is_closing)
		return WP_CLOSED;
	/* One of the counted runs is the poller's own. */
	return wp__count_read(&mine->runs) - mine->poller.runs > 1 ? WP_OK : WP_IDLE;
}

int wp_poller_maybe_yield(bool had_io)
{
	int code = wp__poller_yield_begin(had_io);

	if (code != WP_OK)
		return code;
	leave(wp__body_of(wp_vthread_current()));
	return wp__poller_yield_end();
}

int wp_poller_try_park(void)
{
	wp_worker *mine = calling();
	wp_mpsc_node *stolen;

	if (mine == NULL)
		return WP_FORBIDDEN;
	if (mine->poller.is_closing)
		return WP_CLOSED;
	if (mine->poller.is_parked)
		return WP_OK;
	/* A stolen task, and what its carrier has pushed to itself, come first: the recheck of a
	 * park does not look there. */
	if (wp__carrier_has_private(&mine->home.carrier) || mine->role.is_wanted)
		return WP_HAS_WORK;
	wp__count(&mine->parks);
	mine->poller.since_ns = wp__worker_now_ns(mine);
	if (wp__poller_park(&mine->poller, &mine->home.carrier, &stolen)) {
		/* If the poller is descheduled from now on, it leaves through the loop, and passes
		 * to no other thread. */
		mine->turns = 1;
		if (wp__group_placement_rest(mine))
			return WP_OK;
		wp__poller_unpark(mine);
		return WP_HAS_WORK;
	}
	mine->home.carrier.next = wp__worker_left(mine, stolen);
	return WP_HAS_WORK;
}

bool wp_poller_can_park(void)
{
	wp_worker *mine = calling();

	return mine != NULL && wp__poller_may_sleep(&mine->poller, &mine->home);
}

int64_t wp_poller_until(void)
{
	wp_worker *mine = calling();

	return mine == NULL ? WP_FOREVER : wp_timers_earliest(&mine->home.timers);
}

void wp__poller_unpark(wp_worker *mine)
{
	wp_mpsc_node *stolen;

	if (!wp__poller_leave(&mine->poller, &mine->home.carrier, &stolen))
		return;
	wp__worker_slept(mine, mine->poller.since_ns, stolen);
	mine->home.carrier.next = wp__worker_left(mine, stolen);
}

int wp_poller_unpark(void)
{
	wp_worker *mine = calling();

	if (mine == NULL)
		return WP_FORBIDDEN;
	wp__poller_unpark(mine);
	return WP_OK;
}

/* Called when the poller's body has returned. Returns true if no thread is inside its wakeup; its
 * carrier then has no poller any more. [the poller | blocks briefly] */
static bool has_left(wp_worker *mine)
{
	wp__poller_unpark(mine);
	if (!wp__poller_is_over(&mine->poller))
		return false;
	mine->poller.thread = NULL;
	mine->poller.has_returned = false;
	wp_lock_acquire(&mine->group->closing.lock);
	mine->group->blocking -= mine->poller.config.blocks;
	mine->poller.registered = NULL;
	wp_lock_release(&mine->group->closing.lock);
	return true;
}

/* Lets the other tasks run, and then sleeps if there is nothing more to run. [the poller | blocks]
 */
static void await_wakeup(wp_worker *mine)
{
	int64_t until_ns = wp_clock_ns() + NAP_NS,
		earliest = wp_timers_earliest(&mine->home.timers);

	if (!wp__carrier_has_runnable(&mine->home.carrier) && !wp__worker_is_called(mine))
		wp__poller_await(&mine->poller, earliest < until_ns ? earliest : until_ns);
}

/* The body of a poller's thread, with a stack. */
static int run(void *arg)
{
	wp_worker *mine = wp__worker_self();
	wp_body *body = wp__body_of(wp_vthread_current());
	int failure;

	mine->poller.thread = &body->thread;
	failure = mine->poller.config.run(arg);
	while (!has_left(mine)) {
		leave(body);
		await_wakeup(mine);
	}
	return failure;
}

/* The step of a poller's thread, without a stack. */
static enum wp_step step(wp_task *task)
{
	wp_worker *mine = wp__worker_self();
	enum wp_step said = WP_STEP_DONE;

	mine->poller.thread = (wp_vthread *)(void *)task;
	if (mine->poller.has_returned)
		await_wakeup(mine);
	else
		said = mine->poller.config.step(task);
	if (said != WP_STEP_DONE)
		return said;
	mine->poller.has_returned = true;
	return has_left(mine) ? WP_STEP_DONE : WP_STEP_POLL;
}

wp_task *wp__poller_turn(wp_worker *mine)
{
	wp_task *task = wp__poller_take_slot(&mine->home.carrier);
	wp_mpsc_node *node;

	if (task != NULL || !mine->has_stop || mine->poller.registered == NULL)
		return task;
	/* Nothing but the poller runs now; a close hands the other tasks back. */
	while ((node = wp_carrier_poll(&mine->home.carrier)) != NULL) {
		if (node == &mine->poller.registered->task.node)
			return &mine->poller.registered->task;
		wp_private_fifo_push(&mine->behind, node);
	}
	return NULL;
}

void wp__poller_leave_behind(wp_worker *mine)
{
	wp_mpsc_node *node;

	while ((node = wp_private_fifo_pop(&mine->behind)) != NULL)
		wp_private_fifo_push(&mine->home.carrier.private_fifo, node);
}

bool wp__poller_stays(wp_worker *mine)
{
	if (mine->poller.registered == NULL)
		return false;
	/* The interrupt ends the poller's wait, wherever that is. */
	if (!mine->poller.is_closing && mine->poller.thread != NULL)
		wp_vthread_interrupt(mine->poller.thread);
	mine->poller.is_closing = true;
	return true;
}

/* Registers a poller, and counts those that block. [any thread | blocks briefly] */
static int take(wp_worker *one, const wp_poller_config *config, wp_vthread *thread)
{
	wp_group *group = one->group;
	int code;

	wp_lock_acquire(&group->closing.lock);
	code = wp__poller_enter(&one->poller, &one->home, config, thread,
				!config->blocks || group->blocking + 1 < group->size);
	if (code == WP_OK)
		group->blocking += config->blocks;
	wp_lock_release(&group->closing.lock);
	return code;
}

int wp_poller_register(wp_group *group, uint32_t carrier, const wp_poller_config *config,
		       wp_vthread **thread)
{
	wp_worker *one = &group->workers[carrier];
	int code = wp_vthread_new(group,
				  &(wp_vthread_config){.name = config->name,
						       .run = run,
						       .step = config->step != NULL ? step : NULL,
						       .arg = config->arg,
						       .stack_bytes = config->stack_bytes,
						       .carrier = (int)carrier,
						       .is_pinned = true,
						       .left = config->left},
				  thread);

	if (code != WP_OK)
		return code;
	code = take(one, config, *thread);
	if (code != WP_OK) {
		wp_vthread_free(*thread);
		return code;
	}
	/* A poller is in no list, because a close first waits for the other tasks, which may need
	 * the poller. */
	(*thread)->listed = NULL;
	wp__body_of(*thread)->is_started = true;
	wp__vthread_push(*thread);
	return WP_OK;
}

uint32_t wp_poller_blocking(wp_group *group)
{
	uint32_t blocking;

	wp_lock_acquire(&group->closing.lock);
	blocking = group->blocking;
	wp_lock_release(&group->closing.lock);
	return blocking;
}
