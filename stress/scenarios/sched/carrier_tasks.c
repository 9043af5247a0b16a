/* SPDX-License-Identifier: Apache-2.0
 * carrier_tasks.c - a close waits for accepted tasks or hands them back; stolen tasks return home.
 *
 *   starter, carrier            closer
 *   start                       shut
 *   accepted: poll, run: done   wait until the list is empty
 *
 * Result        `carrier_tasks_shut`: "accepted, ran at the end".
 * Why it works  After its wait the close reads a plain word that the task writes.
 * Spec          specs/sched/Group.tla. */
#include "sched/carrier_tasks.h"
#include "sched/run_queues.h"
#include "base/error.h"
#include "stress.h"
#include "sched/vthread_start.h"

struct state {
	wp_carrier_tasks homes[2];
	wp_domain domain;
	wp_carrier *carriers[2];
	wp_task task;
	uint32_t runs; /* plain: each run hands it to the next, or to the close */
};

/* Finds the state by the task's place in it. */
static struct state *state_of(wp_task *task)
{
	return (struct state *)(void *)((char *)task - offsetof(struct state, task));
}

static enum wp_step run_once(wp_task *task)
{
	state_of(task)->runs++;
	return WP_STEP_DONE;
}

STRESS_INIT(init)
{
	wp_carrier_tasks_init(&state->homes[0], NULL, 0);
	wp_task_init(&state->task, run_once, "task");
}

static void poll_and_run(wp_carrier_tasks *home)
{
	wp_mpsc_node *node = wp_carrier_poll(&home->carrier);

	if (node != NULL)
		wp_carrier_tasks_run(home, (wp_task *)(void *)node);
}

STRESS_ACTOR(starter)
{
	if (wp_carrier_tasks_start(&state->homes[0], &state->homes[0], &state->task) != WP_OK)
		return;
	result->r[0] = 1;
	poll_and_run(&state->homes[0]);
}

STRESS_ACTOR(closer)
{
	wp__carrier_tasks_shut(&state->homes[0]);
	wp__carrier_tasks_wait(&state->homes[0], WP_FOREVER);
	result->r[1] = state->runs;
}

STRESS_TEST(carrier_tasks_shut, .claim = "A close waits for each accepted task, and no longer.",
	    .upholds = "Group!CloserIsWoken", .state_size = sizeof(struct state), .init = init,
	    .actors = {starter, closer}, .results = 2, .blocking = 1,
	    .outcomes = {
		    {"0,0", ACCEPTABLE, "the close came first: the start was refused"},
		    {"1,1", ACCEPTABLE, "the task was accepted, and the close waited for it"},
		    {"asleep", FORBIDDEN, "lost wakeup: the close sleeps, and no task is listed"},
		    {"*,*", FORBIDDEN, "the task was accepted, and the close did not wait for it"},
	    });

/* One task is started from outside while the close shuts the list. Another is started from a home
 * that the close waits for, as a running task does. Result: "accepted after the shut, listed but
 * not accepted". */
struct gate {
	wp_carrier_tasks home;
	wp_task early, late;
	wp_atomic(uint32_t) is_accepted;
};

STRESS_INIT_OF(gate, init_gate)
{
	wp_carrier_tasks_init(&state->home, NULL, 0);
	wp_task_init(&state->early, run_once, "early");
	wp_task_init(&state->late, run_once, "late");
}

STRESS_ACTOR_OF(gate, gate_starter)
{
	if (wp_carrier_tasks_start(&state->home, NULL, &state->early) == WP_OK)
		wp_store_relaxed(&state->is_accepted, 1);
}

STRESS_ACTOR_OF(gate, gate_closer)
{
	wp__carrier_tasks_shut(&state->home);
	result->r[0] = wp_carrier_tasks_start(&state->home, &state->home, &state->late) == WP_OK;
}

STRESS_ACTOR_OF(gate, count_listed)
{
	result->r[1] = (int64_t)wp_carrier_tasks_count(&state->home) -
		       (int64_t)wp_load_relaxed(&state->is_accepted);
}

STRESS_TEST(carrier_tasks_gate, .claim = "A list that was shut accepts no more tasks.",
	    .upholds = "Group!AcceptsWhileOpen", .state_size = sizeof(struct gate),
	    .init = init_gate, .actors = {gate_starter, gate_closer}, .arbiter = count_listed,
	    .results = 2, .blocking = 1,
	    .outcomes = {
		    {"0,0", REQUIRED, "the start after the shut is refused"},
		    {"asleep", FORBIDDEN, "the lock is never released"},
		    {"*,*", FORBIDDEN,
		     "a task was accepted after the shut, or was refused and is listed"},
	    });

/* Home 1 steals home 0's task, which yields there, and ends in its second run. Result: "runs, in
 * the thief's queue". */
static enum wp_step yield_once(wp_task *task)
{
	return state_of(task)->runs++ == 0 ? WP_STEP_YIELD : WP_STEP_DONE;
}

STRESS_INIT(init_two)
{
	wp_domain_init(&state->domain, state->carriers, 2);
	for (uint32_t index = 0; index < 2; index++)
		wp_carrier_tasks_init(&state->homes[index], &state->domain, index);
	wp_task_init(&state->task, yield_once, "task");
	wp_carrier_tasks_start(&state->homes[0], NULL, &state->task);
}

STRESS_ACTOR_CALL(owner, poll_and_run(&state->homes[0]))

STRESS_ACTOR(thief)
{
	wp_mpsc_node *node = wp_carrier_steal(&state->homes[0].carrier);

	if (node != NULL)
		wp_carrier_tasks_run(&state->homes[1], (wp_task *)(void *)node);
}

STRESS_ACTOR(come_home)
{
	result->r[1] = !wp_mpsc_is_quiescent(&state->homes[1].carrier.queue);
	poll_and_run(&state->homes[0]);
	poll_and_run(&state->homes[0]);
	poll_and_run(&state->homes[1]);
	result->r[0] = state->runs;
}

STRESS_TEST(carrier_tasks_return, .claim = "A stolen task that yields resumes at home.",
	    .upholds = "Group!HomeReturn", .state_size = sizeof(struct state), .init = init_two,
	    .actors = {owner, thief}, .arbiter = come_home, .results = 2,
	    .outcomes = {
		    {"2,0", ACCEPTABLE,
		     "the task ran twice, on whichever carrier, and was queued at home"},
		    {"*,*", FORBIDDEN, "the task stays with the thief, or runs too often"},
	    });

/* Tasks that a carrier without siblings starts itself are in its private FIFO. The carrier runs
 * those, and tasks from outside, before it sleeps. Result: "ran". */
struct both {
	wp_carrier_tasks home;
	wp_task own, other;
};

static enum wp_step end_at_once(wp_task *task)
{
	return WP_STEP_DONE;
}

STRESS_INIT_OF(both, init_both)
{
	wp_carrier_tasks_init(&state->home, NULL, 0);
	wp_task_init(&state->own, end_at_once, "own");
	wp_task_init(&state->other, end_at_once, "other");
}

static void lone_carrier(void *at, stress_result *result)
{
	wp_carrier_tasks *home = &((struct both *)at)->home;

	wp_carrier_tasks_start(home, home, &((struct both *)at)->own);
	while (result->r[0] < 2) {
		wp_mpsc_node *node = wp_carrier_poll(&home->carrier);

		if (node == NULL) {
			wp_carrier_park(&home->carrier);
			continue;
		}
		wp_carrier_tasks_run(home, (wp_task *)(void *)node);
		result->r[0]++;
	}
}

STRESS_ACTOR_OF(both, outsider)
{
	wp_carrier_tasks_start(&state->home, NULL, &state->other);
}

STRESS_TEST(carrier_tasks_private,
	    .claim = "A carrier sleeps only when its private FIFO and its queues are empty.",
	    .upholds = "Group!NoTaskLost", .state_size = sizeof(struct both), .init = init_both,
	    .actors = {lone_carrier, outsider}, .results = 1, .blocking = 1,
	    .outcomes = {
		    {"2", ACCEPTABLE, "the carrier ran its own task, and the one from outside"},
		    {"asleep", FORBIDDEN, "the carrier sleeps beside a task in its private FIFO"},
		    {"*", FORBIDDEN, "a task ran twice"},
	    });

/* The carrier has left two parked tasks, and one in its private FIFO. While the close hands tasks
 * back, one thread unparks a task and another starts a fourth one. Result: "accepted, handed back,
 * of these too late, still listed". */
struct rest {
	wp_carrier_tasks home;
	wp_task parked, unparked, queued, started;
	bool is_over; /* plain: belongs to the close, then to the arbiter */
};

static enum wp_step park_at_once(wp_task *task)
{
	return WP_STEP_PARK;
}

STRESS_INIT_OF(rest, init_rest)
{
	wp_carrier_tasks_init(&state->home, NULL, 0);
	wp_task_init(&state->parked, park_at_once, "parked");
	wp_task_init(&state->unparked, park_at_once, "unparked");
	wp_task_init(&state->queued, park_at_once, "queued");
	wp_task_init(&state->started, park_at_once, "started");
	wp_carrier_tasks_start(&state->home, &state->home, &state->parked);
	wp_carrier_tasks_start(&state->home, &state->home, &state->unparked);
	poll_and_run(&state->home);
	poll_and_run(&state->home);
	wp_carrier_tasks_start(&state->home, &state->home, &state->queued);
}

STRESS_ACTOR_OF(rest, outside_starter)
{
	result->r[0] = wp_carrier_tasks_start(&state->home, NULL, &state->started) == WP_OK;
}

/* As wp_task_unpark. */
STRESS_ACTOR_OF(rest, outside_unparker)
{
	if (wp__task_notify(&state->unparked))
		wp__carrier_tasks_push(NULL, &state->unparked);
}

/* Counts the tries that return a task. The other tries come before a task is queued, or find none
 * left. */
static int hand_back(struct rest *rest, int tries)
{
	bool was_parked;
	int count = 0;

	while (tries-- > 0)
		count += wp__carrier_tasks_hand_back(&rest->home, &was_parked) != NULL;
	return count;
}

STRESS_ACTOR_OF(rest, hander)
{
	wp__carrier_tasks_shut(&state->home);
	result->r[1] = hand_back(state, 3);
	state->is_over = wp_carrier_tasks_count(&state->home) == 0;
}

STRESS_ACTOR_OF(rest, hand_back_rest)
{
	int more = hand_back(state, 3);

	result->r[1] += more;
	result->r[2] = state->is_over ? more : 0;
	result->r[3] = (int64_t)wp_carrier_tasks_count(&state->home);
}

STRESS_TEST(carrier_tasks_closed, .claim = "A close hands back each accepted task once.",
	    .upholds = "Group!NoTaskLost", .state_size = sizeof(struct rest), .init = init_rest,
	    .actors = {hander, outside_starter, outside_unparker}, .arbiter = hand_back_rest,
	    .results = 4, .blocking = 1,
	    .outcomes = {
		    {"0,3,0,0", ACCEPTABLE,
		     "the close came first: the three earlier tasks are handed back"},
		    {"1,4,0,0", ACCEPTABLE, "all four tasks are handed back"},
		    {"asleep", FORBIDDEN, "the lock is never released"},
		    {"*,*,*,*", FORBIDDEN,
		     "a task is lost, handed back twice, or handed back after the close"},
	    });

/* A step submits a task and yields to it; meanwhile that task's scheduler starts two others. A
 * sibling steals. Result: "runs of that task, of the others". */
struct keeping {
	wp_carrier_tasks homes[2];
	wp_local_queue_carrier bounded[2];
	wp_domain domain;
	wp_carrier *carriers[2];
	wp_task yields, next, others[2];
	wp_atomic(uint32_t) begun, runs[2]; /* of next; of the others */
};

static struct keeping *keeping_of(wp_task *yields)
{
	return (struct keeping *)(void *)((char *)yields - offsetof(struct keeping, yields));
}

static enum wp_step submit_and_yield(wp_task *task)
{
	struct keeping *keeping = keeping_of(task);
	wp_carrier_tasks *self = &keeping->homes[0];

	if (wp_fetch_add_relaxed(&keeping->begun, 1) != 0)
		return WP_STEP_DONE;
	self->keeps = &keeping->next;
	wp_carrier_tasks_start(self, self, &keeping->next);
	for (int other = 0; other < 2; other++)
		wp_carrier_tasks_start(self, self, &keeping->others[other]);
	self->keeps = NULL;
	return WP_STEP_YIELD;
}

STRESS_INIT_OF(keeping, init_keeping)
{
	wp_domain_init(&state->domain, state->carriers, 2);
	for (uint32_t index = 0; index < 2; index++) {
		wp_carrier_tasks_init(&state->homes[index], &state->domain, index);
		wp_local_queue_carrier_init(&state->homes[index].carrier, &state->bounded[index]);
	}
	wp_init(&state->begun, 0);
	wp_init(&state->runs[0], 0);
	wp_init(&state->runs[1], 0);
	wp_task_init(&state->yields, submit_and_yield, "yields");
	wp_task_init(&state->next, end_at_once, "next");
	for (int other = 0; other < 2; other++)
		wp_task_init(&state->others[other], end_at_once, "other");
	/* It runs at home, because the ring that it pushes to belongs to its carrier. */
	state->yields.is_pinned = true;
	wp_carrier_tasks_start(&state->homes[0], NULL, &state->yields);
}

static void run_kept(struct keeping *keeping, uint32_t index, wp_mpsc_node *node)
{
	wp_task *task = (wp_task *)(void *)node;

	if (task != &keeping->yields)
		wp_fetch_add_relaxed(&keeping->runs[task != &keeping->next], 1);
	wp_carrier_tasks_run(&keeping->homes[index], task);
}

STRESS_ACTOR_OF(keeping, yielding)
{
	wp_mpsc_node *node = wp_carrier_poll(&state->homes[0].carrier);

	if (node != NULL)
		run_kept(state, 0, node);
}

STRESS_ACTOR_OF(keeping, sibling)
{
	wp_mpsc_node *node = wp__local_queue_carrier_steal(&state->homes[1].carrier, 0);

	if (node != NULL)
		run_kept(state, 1, node);
}

STRESS_ACTOR_OF(keeping, run_the_rest)
{
	wp_mpsc_node *node;

	for (uint32_t turn = 0; turn < 2; turn++)
		for (uint32_t index = 0; index < 2; index++)
			while ((node = wp_carrier_poll(&state->homes[index].carrier)) != NULL)
				run_kept(state, index, node);
	result->r[0] = wp_load_relaxed(&state->runs[0]);
	result->r[1] = wp_load_relaxed(&state->runs[1]);
}

STRESS_TEST(carrier_tasks_keeps,
	    .claim = "Tasks that a step starts beside the task that it yields to are queued.",
	    .upholds = "LocalQueue!NothingLost", .state_size = sizeof(struct keeping),
	    .init = init_keeping, .actors = {yielding, sibling}, .arbiter = run_the_rest,
	    .results = 2, .blocking = 1,
	    .outcomes = {
		    {"1,2", ACCEPTABLE, "each task runs once"},
		    {"asleep", FORBIDDEN, "a lock is never released"},
		    {"*,*", FORBIDDEN, "a task is lost, or runs twice"},
	    });

/* A scheduler runs a virtual thread on an OS thread of its own; the thread parks as the close hands
 * tasks back. Result: "handed back". */
struct given {
	wp_carrier_tasks home;
	wp_vthread thread;
};

static void take_it(void *arg, wp_vthread *thread)
{
}

static const wp_scheduler scheduler = {.submit = take_it};

STRESS_INIT_OF(given, init_given)
{
	wp_carrier_tasks_init(&state->home, NULL, 0);
	wp__vthread_init(&state->thread, NULL);
	state->thread.scheduler = &scheduler;
	wp_carrier_tasks_start(&state->home, NULL, &state->thread.task);
	wp__carrier_tasks_shut(&state->home);
}

static void scheduler_parks(void *at, stress_result *result)
{
	wp__carrier_tasks_after(NULL, &((struct given *)at)->thread.task, WP_STEP_PARK);
}

static void given_hander(void *at, stress_result *result)
{
	wp_carrier_tasks *home = &((struct given *)at)->home;
	bool was_parked;

	wp__carrier_tasks_wait_given(home, WP_FOREVER);
	result->r[0] = wp__carrier_tasks_hand_back(home, &was_parked) != NULL;
}

STRESS_TEST(
	carrier_tasks_given,
	.claim = "A close that waits for a scheduler sees that the scheduler's thread has parked.",
	.upholds = "GroupClose!SleepsForHeld", .state_size = sizeof(struct given),
	.init = init_given, .actors = {scheduler_parks, given_hander}, .results = 1, .blocking = 1,
	.outcomes = {
		{"1", ACCEPTABLE, "the thread is handed back"},
		{"asleep", FORBIDDEN,
		 "lost wakeup: the close sleeps beside a thread that it could hand back"},
		{"*", FORBIDDEN, "the close returns while the thread runs"},
	});

/* The scheduler has two threads, and only the other one parks. */
struct given_two {
	struct given given; /* must be first: the actors are carrier_tasks_given's */
	wp_vthread other;
};

STRESS_INIT_OF(given_two, init_given_two)
{
	wp_carrier_tasks_init(&state->given.home, NULL, 0);
	for (int one = 0; one < 2; one++) {
		wp_vthread *thread = one == 0 ? &state->other : &state->given.thread;

		wp__vthread_init(thread, NULL);
		thread->scheduler = &scheduler;
		wp_carrier_tasks_start(&state->given.home, NULL, &thread->task);
	}
	wp__carrier_tasks_shut(&state->given.home);
}

STRESS_TEST(carrier_tasks_given_two,
	    .claim = "A close waits for schedulers only as long as they have every thread.",
	    .upholds = "GroupClose!SleepsForHeld", .state_size = sizeof(struct given_two),
	    .init = init_given_two, .actors = {scheduler_parks, given_hander}, .results = 1,
	    .blocking = 1,
	    .outcomes = {
		    {"1", ACCEPTABLE, "the thread that has parked is handed back"},
		    {"asleep", FORBIDDEN,
		     "lost wakeup: the close sleeps beside a thread that it could hand back"},
		    {"*", FORBIDDEN, "the close returns while both threads run"},
	    });

/* A thread of another carrier arms a timer here, while this carrier goes to sleep. Result: "would
 * sleep, knows the deadline, was woken". */
struct armed {
	wp_carrier_tasks homes[2];
	wp_timer timer;
};

enum { DEADLINE_NS = 3 };

STRESS_INIT_OF(armed, init_homes)
{
	for (uint16_t index = 0; index < 2; index++)
		wp_carrier_tasks_init(&state->homes[index], NULL, index);
	wp_timer_init(&state->timer, NULL);
}

STRESS_ACTOR_OF(armed, arms)
{
	wp_carrier_tasks_arm(&state->homes[0], &state->homes[1], &state->timer, DEADLINE_NS);
}

STRESS_ACTOR_OF(armed, goes_to_sleep)
{
	wp_mpsc_node *stolen;

	result->r[0] = wp_carrier_advertise(&state->homes[0].carrier, WP_PARKED_FUTEX, &stolen);
	result->r[1] = wp_timers_earliest(&state->homes[0].timers) == DEADLINE_NS;
}

STRESS_ACTOR_OF(armed, read_word)
{
	result->r[2] = wp_load_relaxed(&state->homes[0].carrier.word) == WP_WAKING;
}

STRESS_TEST(carrier_tasks_arm,
	    .claim = "A carrier knows of a timer that another carrier arms on it, or is woken.",
	    .upholds = "Timer!NoOversleep", .state_size = sizeof(struct armed), .init = init_homes,
	    .actors = {goes_to_sleep, arms}, .arbiter = read_word, .results = 3,
	    .outcomes = {
		    {"1,1,0", ACCEPTABLE, "the carrier read the deadline, and sleeps until then"},
		    {"1,0,1", ACCEPTABLE, "the carrier was to sleep on, and is woken"},
		    {"1,1,1", ACCEPTABLE, "both"},
		    {"*,*,*", FORBIDDEN, "lost wakeup: the carrier sleeps past the deadline"},
	    });
