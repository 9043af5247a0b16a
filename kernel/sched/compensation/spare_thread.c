/* SPDX-License-Identifier: Apache-2.0
 * spare_thread.c - see spare_thread.h. Not explored, because it makes threads:
 * stress/scenarios/sched/compensation/spare_thread.c has the functions that it calls. */
#include "sched/compensation/spare_thread.h"

#include <stddef.h>

#include "sched/run_queues.h"
#include "sched/worker_trace.h"

static void *begin(void *arg)
{
	wp_group *group = arg;

	wp__worker_carry(group, wp__spare_thread_next(group));
	return NULL;
}

/* Starts a spare thread, if one may be started. [under the lock | system calls] */
static bool start(void *arg)
{
	wp_group *group = arg;
	wp_spare_threads *spares = &group->spares;

	if (spares->started == spares->most ||
	    pthread_create(&spares->threads[spares->started], NULL, begin, group) != 0)
		return false;
	spares->started++;
	return true;
}

void wp__spare_thread_lend(wp_loan *loan)
{
	wp_worker *mine = wp__worker_self();

	*loan = (wp_loan){.of = mine};
	if (mine == NULL)
		return;
	wp__poller_unpark(mine); /* the next holder of the role finds it RUNNING */
	wp__count(&mine->pinned);
	loan->watching = mine->watching;
	loan->mounted = wp__worker_mounted(mine);
	loan->runs_for = mine->runs_for;
	loan->begin_ns = wp__worker_now_ns(mine);
	if (mine->group->spares.most != 0)
		loan->is_lent =
			wp__role_lend(&mine->group->spares.roles, &mine->role, start, mine->group);
}

/* Runs when the timer of a request fires, and records the request. [the role's holder, at a turn of
 * its loop | wait-free] */
static wp_task *asked(wp_timer *timer)
{
	wp_loan *loan = (wp_loan *)(void *)((char *)timer - offsetof(wp_loan, timer));

	wp__role_asked(&loan->of->role);
	return NULL;
}

/* Asks for the role by a timer that is due, which the role's holder fires. [the lender | blocks
 * briefly] */
static void ask(void *arg)
{
	wp_loan *loan = arg;

	wp_carrier_tasks_arm(&loan->of->home, NULL, &loan->timer, 0);
}

static void take_back(wp_loan *loan)
{
	wp_timer_init(&loan->timer, asked);
	wp__role_take_back(&loan->of->group->spares.roles, &loan->of->role, ask, loan);
	wp_timer_cancel(&loan->timer);
	wp__worker_mount(loan->of, loan->watching);
}

void wp__spare_thread_return(wp_loan *loan, wp_task *task)
{
	wp_worker *mine = loan->of;

	if (mine == NULL)
		return;
	if (loan->is_lent)
		take_back(loan);
	mine->runs_for = loan->runs_for;
	wp__worker_runs(mine, loan->mounted);
	if (wp__worker_is_traced(mine)) {
		wp_trace_event event = {.begin_ns = loan->begin_ns,
					.kind = WP_TRACE_PINNED,
					.a = wp__worker_home_of(task)};

		wp__trace_of(&event, task);
		wp__worker_trace(mine, event);
	}
}

void wp__spare_thread_give(wp_worker *mine)
{
	wp_carrier *carrier = &mine->home.carrier;

	/* The thread that gets the role polls nothing before it continues its task. */
	if (wp__carrier_has_some(carrier))
		wp_carrier_get_help(carrier);
	wp__role_give(&mine->group->spares.roles, &mine->role);
}

bool wp__spare_thread_stop(wp_worker *mine)
{
	wp_spare_threads *spares = &mine->group->spares;

	return spares->most == 0 || wp__role_stop(&spares->roles, &mine->role);
}

wp_worker *wp__spare_thread_next(wp_group *group)
{
	wp_role *role = group->spares.most == 0 ? NULL : wp__role_next(&group->spares.roles);

	return role == NULL ? NULL
			    : (wp_worker *)(void *)((char *)role - offsetof(wp_worker, role));
}

void wp__spare_threads_end(wp_spare_threads *spares)
{
	wp__roles_end(&spares->roles);
	for (; spares->started != 0; spares->started--)
		pthread_join(spares->threads[spares->started - 1], NULL);
}
