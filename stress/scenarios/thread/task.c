/* SPDX-License-Identifier: Apache-2.0
 * task.c - a task runs after each unpark, on one carrier at a time.
 *
 *   carrier                 unparker
 *   run: work? ; park       work := 1
 *   refused: push           unpark; owed: push
 *
 * Result        `task`: "the work was seen, runs".
 * Why it works  The arbiter runs the task if it is queued at the end. A run that begins after an
 *               unpark must see what the unparker wrote. Runs write plain memory, so two runs at
 *               once are a data race.
 * Spec          specs/thread/Task.tla. */
#include "thread/task.h"
#include "stress.h"

struct state {
	wp_mpsc queue;
	wp_task task;
	wp_mpsc_node behind; /* another task */
	wp_atomic(uint32_t) work;
	uint32_t seen, runs; /* plain: each run hands them to the next */
};

STRESS_INIT(init)
{
	wp_mpsc_init(&state->queue);
	wp_task_init(&state->task, NULL, NULL);
}

static void run(struct state *state)
{
	wp__task_begin(&state->task);
	state->runs++;
	state->seen |= wp_load_relaxed(&state->work);
}

/* 1: the caller has to push the task. */
static int park(struct state *state)
{
	if (wp__task_park(&state->task))
		return 0;
	wp_mpsc_push(&state->queue, &state->task.node);
	return 1;
}

static int unpark(struct state *state)
{
	if (!wp__task_notify(&state->task))
		return 0;
	wp_mpsc_push(&state->queue, &state->task.node);
	return 1;
}

/* This carrier has the task in its hands. */
STRESS_ACTOR(carrier)
{
	run(state);
	park(state);
}

STRESS_ACTOR(unparker)
{
	wp_store_relaxed(&state->work, 1);
	unpark(state);
}

/* The second carrier of the same queue. */
STRESS_ACTOR(sibling)
{
	if (wp_mpsc_pop(&state->queue) != NULL) {
		run(state);
		park(state);
	}
}

STRESS_ACTOR(run_rest)
{
	while (wp_mpsc_pop(&state->queue) != NULL)
		run(state);
	result->r[0] = state->seen;
	result->r[1] = state->runs;
}

STRESS_TEST(task, .claim = "A run begins after the unpark, and sees the unparker's earlier writes.",
	    .upholds = "Task!UnparkNotLost", .state_size = sizeof(struct state), .init = init,
	    .actors = {carrier, unparker}, .arbiter = run_rest, .results = 2, .min_samples = 200000,
	    .outcomes = {
		    {"1,1", REQUIRED, "the task was unparked before the run"},
		    {"1,2", REQUIRED,
		     "the task was unparked while it ran or was parked, and runs again"},
		    {"*,*", FORBIDDEN,
		     "lost wakeup: the unpark has no effect; or the task runs too often"},
	    });

STRESS_TEST(task_carriers, .claim = "A run on another carrier sees what the last run wrote.",
	    .upholds = "Task!HappensBeforeRun", .state_size = sizeof(struct state), .init = init,
	    .actors = {carrier, unparker, sibling}, .arbiter = run_rest, .results = 2,
	    .min_samples = 200000,
	    .outcomes = {
		    {"1,1", REQUIRED, "the task was unparked before the run"},
		    {"1,2", REQUIRED, "the task runs again, on either carrier"},
		    {"*,*", FORBIDDEN, "the unpark is lost, or the task runs too often"},
	    });

/* The task's last run meets an unpark, which may come after it. Result: "runs". */
STRESS_ACTOR(last_carrier)
{
	run(state);
	wp__task_finish(&state->task);
}

STRESS_ACTOR(run_queued)
{
	run_rest(state, result);
	result->r[0] = result->r[1];
}

STRESS_TEST(task_end, .claim = "No unpark queues a task that has ended.",
	    .upholds = "Task!EndIsFinal", .state_size = sizeof(struct state), .init = init,
	    .actors = {last_carrier, unparker}, .arbiter = run_queued, .results = 1,
	    .min_samples = 200000,
	    .outcomes = {
		    {"1", REQUIRED, "the unpark does nothing, before the end or after it"},
		    {"*", FORBIDDEN, "the task has ended, and runs again"},
	    });

/* Two threads unpark the task. Result: "pushes owed". */
STRESS_ACTOR(count_park)
{
	run(state);
	result->r[0] = park(state);
}

STRESS_ACTOR_CALL(count_unpark, result->r[0] = wp__task_notify(&state->task))

STRESS_TEST(task_once, .claim = "Of all unparkers and the carrier, one queues the task.",
	    .upholds = "Task!OneCarrier", .state_size = sizeof(struct state), .init = init,
	    .actors = {count_park, count_unpark, count_unpark}, .results = 1, .min_samples = 200000,
	    .outcomes = {
		    {"0", REQUIRED, "both unparks came before the run"},
		    {"1", REQUIRED, "one thread queues the task"},
		    {"*", FORBIDDEN, "the task is queued twice, so two carriers would run it"},
	    });

/* The task is parked, unparked and cancelled. Result: "pushes owed, cancelled". */
STRESS_ACTOR(canceller)
{
	if (!wp__task_cancel(&state->task))
		return;
	result->r[1] = 1;
	state->runs++; /* it belongs to the canceller now */
}

STRESS_TEST(task_cancel, .claim = "A task that a thread is about to queue is not cancelled.",
	    .upholds = "Task!CancelIsAlone", .state_size = sizeof(struct state), .init = init,
	    .actors = {count_park, count_unpark, canceller}, .results = 2, .min_samples = 200000,
	    .outcomes = {
		    {"0,0", ACCEPTABLE,
		     "the task was unparked before the run, and the cancel came too early"},
		    {"1,0", REQUIRED, "the task was queued, and not cancelled"},
		    {"0,1", REQUIRED, "the task was cancelled while it was parked"},
		    {"*,*", FORBIDDEN, "the task was cancelled, and queued"},
	    });

/* The task's node was in a queue, with another one behind it, and goes into a queue again. Result:
 * "nodes at the end". */
STRESS_ACTOR(pop_and_park)
{
	if (wp_mpsc_pop(&state->queue) == NULL)
		return; /* stalled behind the other push */
	result->r[0]--;
	run(state);
	result->r[0] += park(state);
}

STRESS_ACTOR_CALL(push_behind, wp_mpsc_push(&state->queue, &state->behind))
STRESS_ACTOR_CALL(push_again, result->r[0] = unpark(state))

STRESS_INIT(init_queued)
{
	init(state);
	wp_mpsc_push(&state->queue, &state->task.node);
}

STRESS_ACTOR(count_nodes)
{
	result->r[0] += 2;
	for (int most = 4; most > 0 && wp_mpsc_pop(&state->queue) != NULL; most--)
		result->r[0]--;
}

STRESS_TEST(task_node, .claim = "The thread that queues the task again owns its node alone.",
	    .upholds = "Task!OneCarrier", .state_size = sizeof(struct state), .init = init_queued,
	    .actors = {pop_and_park, push_behind, push_again}, .arbiter = count_nodes, .results = 1,
	    .outcomes = {
		    {"0", ACCEPTABLE, "as many nodes came out as were pushed"},
		    {"*", FORBIDDEN, "a node is lost, or in the queue twice"},
	    });

/* Result: "done, and what it did is seen". */
STRESS_ACTOR(finisher)
{
	run(state);
	wp__task_finish(&state->task);
}

STRESS_ACTOR(joiner)
{
	result->r[0] = wp_task_is_done(&state->task);
	result->r[1] = result->r[0] ? state->runs : 0;
}

STRESS_TEST(task_done, .claim = "A thread that sees the task done sees what the task did.",
	    .upholds = "Task!HappensBeforeRun", .state_size = sizeof(struct state), .init = init,
	    .actors = {finisher, unparker, joiner}, .results = 2,
	    .outcomes = {
		    {"0,0", ACCEPTABLE, "the task is not done yet"},
		    {"1,1", ACCEPTABLE, "the task is done, and its writes are seen"},
		    {"*,*", FORBIDDEN, "the task is done, and its writes are not seen"},
	    });
