/* SPDX-License-Identifier: Apache-2.0
 * carrier_tasks_once.c - a task has one carrier at a time, runs after each unpark, and ends and is
 * handed back once.
 *
 *   owner        thief          unparker
 *   poll, run    steal, run     unpark, push
 *
 * Result        `carrier_tasks_hands`: "two ran it at once, runs".
 * Why it works  The thread that has a task in its hands is the only one that may queue it (task.h).
 *               carrier_tasks_hands detects two such threads by a counter that each step raises and
 *               lowers.
 * Spec          specs/sched/Group.tla. */
#include "base/error.h"
#include "sched/carrier_tasks.h"
#include "sched/run_queues.h"
#include "stress.h"

enum { TASKS = 2 };

/* What the words from runs to told count depends on the scenario. */
struct state {
	wp_carrier_tasks homes[2];
	wp_domain domain;
	wp_carrier *carriers[2];
	wp_task tasks[TASKS];
	wp_mpsc_node stop;
	wp_task *in_hand;
	wp_atomic(uint32_t) runs[TASKS], inside, have_met, told;
	uint32_t back[TASKS]; /* plain: belongs to the close, then to the arbiter */
};

/* Finds the state by the place of its first task. */
static struct state *state_of(wp_task *task)
{
	return (struct state *)(void *)((char *)task - offsetof(struct state, tasks));
}

static void make(struct state *state, enum wp_step (*first)(wp_task *),
		 enum wp_step (*second)(wp_task *))
{
	wp_domain_init(&state->domain, state->carriers, 2);
	for (uint32_t index = 0; index < 2; index++)
		wp_carrier_tasks_init(&state->homes[index], &state->domain, index);
	wp_task_init(&state->tasks[0], first, "first");
	wp_task_init(&state->tasks[1], second, "second");
}

static void run(struct state *state, uint32_t by, wp_mpsc_node *node)
{
	if (node != NULL && node != &state->stop)
		wp_carrier_tasks_run(&state->homes[by], (wp_task *)(void *)node);
}

STRESS_ACTOR_CALL(owner, run(state, 0, wp_carrier_poll(&state->homes[0].carrier)))
STRESS_ACTOR_CALL(thief, run(state, 1, wp_carrier_steal(&state->homes[0].carrier)))

/* As wp_task_unpark. */
static void unpark(struct state *state, int task)
{
	if (wp__task_notify(&state->tasks[task]))
		wp__carrier_tasks_push(NULL, &state->tasks[task]);
}

STRESS_ACTOR_CALL(unparker, unpark(state, 0))

static void run_rest(struct state *state)
{
	for (uint32_t turn = 0; turn < 6; turn++)
		run(state, turn % 2, wp_carrier_poll(&state->homes[turn % 2].carrier));
}

/* The task parks once. Where two carriers run it, its end may come early. */
static enum wp_step park_once(wp_task *task)
{
	struct state *state = state_of(task);
	uint32_t before;

	if (wp_fetch_add_relaxed(&state->inside, 1) != 0)
		wp_store_relaxed(&state->have_met, 1);
	before = wp_fetch_add_relaxed(&state->runs[0], 1);
	wp_fetch_add_relaxed(&state->inside, (uint32_t)-1);
	return before == 0 ? WP_STEP_PARK : WP_STEP_DONE;
}

STRESS_INIT(init_hands)
{
	make(state, park_once, park_once);
	wp_carrier_tasks_start(&state->homes[0], NULL, &state->tasks[0]);
}

STRESS_ACTOR(look_at_hands)
{
	run_rest(state);
	result->r[0] = wp_load_relaxed(&state->have_met);
	result->r[1] = wp_load_relaxed(&state->runs[0]);
}

STRESS_TEST(carrier_tasks_hands,
	    .claim = "A task is with one carrier or in one queue, whichever thread unparks it.",
	    .upholds = "Group!OneCarrier", .state_size = sizeof(struct state), .init = init_hands,
	    .actors = {owner, thief, unparker}, .arbiter = look_at_hands, .results = 2,
	    .blocking = 1,
	    .outcomes = {
		    {"0,1", ACCEPTABLE, "the task was unparked before its run, and parked"},
		    {"0,2", ACCEPTABLE,
		     "the task was unparked later, and run by one carrier after the other"},
		    {"asleep", FORBIDDEN, "a lock is never released"},
		    {"*,*", FORBIDDEN, "two carriers run the task at once, or it runs too often"},
	    });

/* The task ends if a word is set, and else parks. The thread that sets the word unparks the task
 * afterwards. Result: "ended". */
static enum wp_step park_until_told(wp_task *task)
{
	return wp_load_relaxed(&state_of(task)->told) ? WP_STEP_DONE : WP_STEP_PARK;
}

STRESS_INIT(init_told)
{
	make(state, park_until_told, park_once);
	wp_carrier_tasks_start(&state->homes[0], NULL, &state->tasks[0]);
}

STRESS_ACTOR(tell)
{
	wp_store_relaxed(&state->told, 1);
	unpark(state, 0);
}

STRESS_ACTOR(look_at_end)
{
	run_rest(state);
	result->r[0] = wp_task_is_done(&state->tasks[0]);
}

STRESS_TEST(carrier_tasks_told,
	    .claim = "A task that was unparked runs again, and sees the reason.",
	    .upholds = "Group!UnparkNotLost", .state_size = sizeof(struct state), .init = init_told,
	    .actors = {owner, thief, tell}, .arbiter = look_at_end, .results = 1, .blocking = 1,
	    .outcomes = {
		    {"1", ACCEPTABLE, "the task has ended"},
		    {"asleep", FORBIDDEN, "a lock is never released"},
		    {"0", LOST_WORK, "lost wakeup: the task was unparked, and is parked"},
	    });

/* One task is queued, and a second one is started. Result: "runs of the first, of the second",
 * where 2 stands for more than one. */
static enum wp_step end_first(wp_task *task)
{
	wp_fetch_add_relaxed(&state_of(task)->runs[0], 1);
	return WP_STEP_DONE;
}

static enum wp_step end_second(wp_task *task)
{
	wp_fetch_add_relaxed(&state_of(task - 1)->runs[1], 1);
	return WP_STEP_DONE;
}

STRESS_INIT(init_runs)
{
	make(state, end_first, end_second);
	wp_carrier_tasks_start(&state->homes[0], NULL, &state->tasks[0]);
}

STRESS_ACTOR_CALL(starter, wp_carrier_tasks_start(&state->homes[0], NULL, &state->tasks[1]))

STRESS_ACTOR(count_runs)
{
	run_rest(state);
	for (int task = 0; task < TASKS; task++) {
		uint32_t runs = wp_load_relaxed(&state->runs[task]);

		result->r[task] = runs > 1 ? 2 : runs;
	}
}

STRESS_TEST(carrier_tasks_runs,
	    .claim = "A task that ends in its first step runs once, wherever it runs.",
	    .upholds = "Group!EachRunsOnce", .state_size = sizeof(struct state), .init = init_runs,
	    .actors = {owner, thief, starter}, .arbiter = count_runs, .results = 2, .blocking = 1,
	    .outcomes = {
		    {"1,1", REQUIRED, "each task ran once"},
		    {"asleep", FORBIDDEN, "a lock is never released"},
		    {"*,*", FORBIDDEN, "a task is lost, or runs twice"},
	    });

/* The first task is in its carrier's hands, and ends there while another thread unparks it.
 * Meanwhile a second task is started. Result: "listed, the first is queued". */
STRESS_INIT(init_ends)
{
	init_runs(state);
	state->in_hand = (wp_task *)(void *)wp_carrier_poll(&state->homes[0].carrier);
}

STRESS_ACTOR_CALL(runner, wp_carrier_tasks_run(&state->homes[0], state->in_hand))

STRESS_ACTOR(look_at_list)
{
	result->r[0] = (int64_t)wp_carrier_tasks_count(&state->homes[0]);
	for (int turn = 0; turn < 3; turn++)
		if (wp_carrier_poll(&state->homes[0].carrier) == &state->tasks[0].node)
			result->r[1] = 1;
}

STRESS_TEST(carrier_tasks_ends, .claim = "A task that has ended is in no list and no queue.",
	    .upholds = "Group!EndIsFinal", .state_size = sizeof(struct state), .init = init_ends,
	    .actors = {runner, unparker, starter}, .arbiter = look_at_list, .results = 2,
	    .blocking = 1,
	    .outcomes = {
		    {"1,0", REQUIRED, "the second task is listed"},
		    {"asleep", FORBIDDEN, "a lock is never released"},
		    {"*,*", FORBIDDEN,
		     "the first task is listed or queued, or the second is not listed"},
	    });

/* The carrier has left one task parked and one queued. Another thread unparks both while they are
 * handed back. Result: "times the first was handed back, the second". */
static enum wp_step park_at_once(wp_task *task)
{
	return WP_STEP_PARK;
}

STRESS_INIT(init_back)
{
	make(state, park_at_once, park_at_once);
	wp_carrier_tasks_start(&state->homes[0], NULL, &state->tasks[0]);
	run(state, 0, wp_carrier_poll(&state->homes[0].carrier));
	wp_carrier_tasks_start(&state->homes[0], NULL, &state->tasks[1]);
	wp__carrier_tasks_shut(&state->homes[0]);
}

static void take_back(struct state *state)
{
	bool was_parked;

	for (int turn = 0; turn < 3; turn++) {
		wp_task *task = wp__carrier_tasks_hand_back(&state->homes[0], &was_parked);

		if (task != NULL)
			state->back[task - state->tasks]++;
	}
}

STRESS_ACTOR_CALL(hander, take_back(state))

STRESS_ACTOR(unpark_both)
{
	unpark(state, 1);
	unpark(state, 0);
}

STRESS_ACTOR(count_back)
{
	take_back(state);
	result->r[0] = state->back[0];
	result->r[1] = state->back[1];
}

STRESS_TEST(carrier_tasks_back,
	    .claim = "No unpark queues a task that was handed back to its user.",
	    .upholds = "Group!BackIsLeftAlone", .state_size = sizeof(struct state),
	    .init = init_back, .actors = {hander, unpark_both}, .arbiter = count_back, .results = 2,
	    .blocking = 1,
	    .outcomes = {
		    {"1,1", REQUIRED, "each task was handed back once"},
		    {"asleep", FORBIDDEN, "a lock is never released"},
		    {"*,*", FORBIDDEN, "a task is lost, or is queued after it was handed back"},
	    });

/* A carrier is sent a stop while its sibling steals. Result: "its owner has it, the sibling has
 * it". */
STRESS_INIT(init_stop)
{
	make(state, end_first, end_second);
}

STRESS_ACTOR_CALL(stopper, wp__carrier_tasks_stop(&state->homes[0], &state->stop))
STRESS_ACTOR_CALL(stopped, result->r[0] = wp_carrier_poll(&state->homes[0].carrier) == &state->stop)
STRESS_ACTOR_CALL(steals_stop,
		  result->r[1] = wp_carrier_steal(&state->homes[0].carrier) == &state->stop)

STRESS_ACTOR(poll_stop)
{
	if (wp_carrier_poll(&state->homes[0].carrier) == &state->stop)
		result->r[0]++;
}

STRESS_TEST(carrier_tasks_stop, .claim = "Only the carrier itself takes its stop.",
	    .upholds = "Group!StopsItself", .state_size = sizeof(struct state), .init = init_stop,
	    .actors = {stopper, stopped, steals_stop}, .arbiter = poll_stop, .results = 2,
	    .outcomes = {
		    {"1,0", REQUIRED, "the owner took its stop, once"},
		    {"*,*", FORBIDDEN,
		     "a sibling took the stop, or it was taken twice, or not at all"},
	    });
