/* SPDX-License-Identifier: Apache-2.0
 * worker.c - a carrier's loop. Not explored, because it never ends;
 * stress/scenarios/sched/carrier_tasks.c has the functions that it calls. */
#define _GNU_SOURCE
#include "sched/worker.h"

#include <stdio.h>

#include "base/error.h"
#include "sched/placement/group_placement.h"
#include "sched/poller_turn.h"
#include "sched/run_queues.h"
#include "sched/worker_trace.h"

enum {
	RUNS_PER_LOOK = 16, /* a look at the clock takes 27 ns, and comes in every 16 steps */
	WORTH_NS = 2000,    /* a wake costs its waker that much */
	FIRST_DELAY_NS = 4000,
	LAST_DELAY_NS = 50000 /* about as long as a sleeping CPU takes to come */
};

_Thread_local wp_worker *wp__worker_here __attribute__((tls_model("initial-exec")));

static void run_traced(wp_worker *mine, wp_task *task)
{
	wp_trace_event event = {
		.begin_ns = wp_clock_ns(), .kind = WP_TRACE_RUN, .a = wp__worker_home_of(task)};

	/* This comes before the run, because afterwards the task may belong to another thread. */
	wp__trace_of(&event, task);
	wp_carrier_tasks_run(&mine->home, task);
	wp__worker_trace(mine, event);
}

/* From now on stack overflows are reported. If that cannot be set up, they are not reported, and
 * all else works. */
static void watch(wp_worker *mine)
{
	mine->watching->is_on = wp_stack_watch_begin(&mine->watching->watch) == WP_OK;
}

static inline void run_uncounted(wp_worker *mine, wp_mpsc_node *node)
{
	wp_task *task = (wp_task *)(void *)node;

	if (task->is_virtual == WP_VTHREAD_STACK && !mine->watching->is_on)
		watch(mine);
	wp__count(&mine->runs);
	wp__worker_runs(mine, task);
	mine->runs_for = task->home;
	if (wp__worker_is_traced(mine))
		run_traced(mine, task);
	else
		wp_carrier_tasks_run(&mine->home, task);
	if (wp__poller_is_aside(&mine->poller))
		wp__poller_unpark(mine);
}

static inline void run_one(wp_worker *mine, wp_mpsc_node *node)
{
	if (mine->home.carrier.is_placed)
		wp__group_placement_begins(mine);
	run_uncounted(mine, node);
	if (mine->home.carrier.is_placed)
		wp__group_placement_ended(mine);
}

/* Runs the task to which the step has yielded, then the one to which that task yields, and so on;
 * no other task comes before these. It stops after RUNS_PER_LOOK, because the loop has other
 * duties. */
static void run_next(wp_worker *mine)
{
	wp_carrier *carrier = &mine->home.carrier;
	wp_mpsc_node *node;

	for (int most = RUNS_PER_LOOK; (node = wp__local_queue_carrier_next(carrier)) != NULL;
	     most--) {
		if (most == 0) {
			wp_carrier_submit_internal(carrier, node);
			return;
		}
		if (carrier->is_placed)
			wp__group_placement_polled(mine, node);
		run_one(mine, node);
	}
}

static inline void run(wp_worker *mine, wp_mpsc_node *node)
{
	run_one(mine, node);
	if (mine->home.carrier.bounded != NULL)
		run_next(mine);
}

/* Runs a task of a blocked carrier, if there is one. That task comes before the carrier's own
 * tasks, because a waker may rely on it. [the owner | as the task] */
static bool run_moved(wp_worker *mine)
{
	wp_mpsc_node *node = NULL;

	if (mine->home.carrier.is_placed && !mine->has_stop)
		node = wp__group_placement_take(mine);
	if (node != NULL)
		run(mine, node);
	return node != NULL;
}

/* Runs the tasks of the own queues, for about yield_us. Returns true if the stop was among them.
 * [the owner | as the tasks] */
static bool drain(wp_worker *mine, bool *did)
{
	wp_trace_event event = {.begin_ns = wp__worker_now_ns(mine),
				.kind = WP_TRACE_RUNS,
				.b = wp__worker_depth(mine, &mine->home)};
	int64_t until_ns = 0;
	bool has_stop = false;
	wp_mpsc_node *node;

	while (wp__role_polls(mine->has_stop) &&
	       (node = wp_carrier_poll(&mine->home.carrier)) != NULL) {
		int64_t look_ns;

		has_stop = node == &mine->stop;
		if (has_stop)
			break;
		if (mine->home.carrier.is_placed)
			wp__group_placement_polled(mine, node);
		run(mine, node);
		event.a++;
		if (--mine->turns != 0)
			continue;
		mine->turns = RUNS_PER_LOOK;
		look_ns = wp_clock_ns();
		/* Timers are fired here, too, and not only between two drains. Otherwise, with a
		 * queue that is never empty and a long yield_us, due timers would wait for that
		 * time. */
		wp__carrier_tasks_fire(&mine->home, look_ns);
		if (wp__worker_is_called(mine))
			break;
		if (until_ns == 0)
			until_ns = look_ns + (int64_t)mine->group->config.yield_us * 1000;
		else if (look_ns >= until_ns)
			break;
	}
	*did = event.a != 0;
	if (!*did)
		return has_stop;
	wp__count(&mine->drains);
	event.c = wp__worker_depth(mine, &mine->home);
	if (wp__worker_is_traced(mine))
		wp__worker_trace(mine, event);
	return has_stop;
}

/* Fires due timers. [the owner | as wp__carrier_tasks_fire; does not read the clock if no timer is
 * armed] */
static void fire(wp_worker *mine)
{
	if (wp_timers_earliest(&mine->home.timers) != WP_FOREVER)
		wp__carrier_tasks_fire(&mine->home, wp_clock_ns());
}

/* Learns for how long to put off the next steal. A steal in vain doubles the delay, and one that was
 * worth a wake ends it. [the owner | wait-free] */
static void learn(wp_worker *mine, bool was_worth)
{
	wp_carrier *carrier = &mine->home.carrier;
	int64_t delay_ns = 2 * carrier->delay_ns + FIRST_DELAY_NS;

	if (was_worth || carrier->domain == NULL || carrier->bounded != NULL)
		carrier->delay_ns = 0;
	else
		carrier->delay_ns = delay_ns < LAST_DELAY_NS ? delay_ns : LAST_DELAY_NS;
}

/* Runs a stolen task. [the owner | as the task] */
static void run_stolen(wp_worker *mine, wp_mpsc_node *node)
{
	int64_t begin_ns = wp_clock_ns();

	run(mine, node);
	learn(mine, wp_clock_ns() - begin_ns >= WORTH_NS);
}

/* Called after a wake that brought nothing. Returns true if the wake was useless: it was not for a
 * timer that was armed meanwhile. [the owner | wait-free] */
static bool is_useless(wp_worker *mine)
{
	return mine->home.carrier.left >= WP_WAKING &&
	       wp_timers_earliest(&mine->home.timers) >= mine->until_ns;
}

/* Runs the poller, if there is one, and returns whether it did. [the owner | as the poller] */
static bool take_turn(wp_worker *mine)
{
	wp_task *poller = wp__poller_turn(mine);

	if (poller != NULL)
		run_uncounted(mine, &poller->node);
	return poller != NULL;
}

/* The loop. Returns true if the carrier has ended, and false if the role was given up. [the role's
 * holder | blocks] */
static bool carry(wp_worker *mine)
{
	wp_mpsc_node *node;
	bool did, ran, woke = false; /* it left a park with no task, and no task ran since */

	for (;;) {
		fire(mine);
		if (mine->role.is_wanted) {
			wp__spare_thread_give(mine);
			return false;
		}
		/* Another thread may have read the stop, while this one had lent the role. */
		if (mine->has_stop && !wp__poller_stays(mine)) {
			wp__poller_leave_behind(mine);
			return wp__spare_thread_stop(mine);
		}
		ran = run_moved(mine);
		if (drain(mine, &did)) {
			mine->has_stop = true;
			continue;
		}
		did = take_turn(mine) || did || ran;
		woke = woke && !did;
		if (did)
			continue;
		if (woke && is_useless(mine))
			wp__count(&mine->useless_wakes);
		/* Either the push that woke this carrier is stalled, or its task is gone. Yield, so
		 * that a stalled producer can run. */
		if (woke)
			wp_yield();
		node = woke || mine->has_stop ? NULL : wp__worker_probe(mine);
		if (node == NULL)
			node = wp__worker_park(mine);
		woke = node == NULL;
		if (node != NULL)
			run_stolen(mine, node);
		else if (mine->home.carrier.left >= WP_SEARCHING)
			learn(mine, false);
	}
}

/* The carrier's last step: the close, which waits for all carriers, may then join their threads.
 * [the last holder of the role | a system call] */
static void say_exited(wp_worker *mine)
{
	/* [worker.3] relaxed: ordered by the join, which follows; pairs group.1; upholds
	 * Group!NothingRunsAfterClose. */
	wp_store_relaxed(&mine->exited, 1);
	wp_futex_wake(&mine->exited, 1);
}

void wp__worker_mount(wp_worker *mine, wp_watching *watching)
{
	wp_group_config *config = &mine->group->config;
	char name[16];

	wp__worker_here = mine;
	mine->watching = watching;
	/* A thread that continues now does not pass to another one: it leaves through the loop. */
	mine->turns = 1;
	snprintf(name, sizeof(name), "carrier-%u", mine->index);
	pthread_setname_np(pthread_self(), name);
	if (config->bind != NULL && mine->index < mine->group->size)
		config->bind(config->arg, mine->index);
}

void wp__worker_carry(wp_group *group, wp_worker *mine)
{
	wp_watching watching = {.is_on = false};

	wp_fiber_thread(&watching.under);
	wp__vthread_mount_from(&watching.under);
	for (; mine != NULL; mine = wp__spare_thread_next(group)) {
		wp__worker_mount(mine, &watching);
		if (carry(mine))
			say_exited(mine);
		wp__worker_here = NULL;
	}
	if (watching.is_on)
		wp_stack_watch_end(&watching.watch);
}

void *wp__worker_begin(void *arg)
{
	wp_worker *mine = arg;

	wp__worker_carry(mine->group, mine);
	return NULL;
}

__attribute__((noinline)) wp_worker *wp__worker_self(void)
{
	__asm__ __volatile__("" ::: "memory"); /* a virtual thread may change its OS thread */
	return wp__worker_here;
}

bool wp__wakers_are_mine(const wp_wakers *wakers)
{
	wp_worker *mine = wp__worker_self();

	return mine != NULL && &mine->group->wakers == wakers;
}
