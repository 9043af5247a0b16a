/* SPDX-License-Identifier: Apache-2.0
 * vthread_data.c - a run sees what the last one wrote, and the end of a park what was written
 * before each unpark that it answers; who queues the thread has its node alone.
 *
 *   unparker, timer             carrier               `vthread_both`: "permit left, ran, seen"
 *   work |= 1                   pop; run: look at work
 *   unpark; owed: push
 *
 * Why it works  The arbiter orders everything, so what counts is read before it.
 * Spec          specs/thread/VThread.tla. */
#include "vthread_actors.h"

STRESS_TEST(vthread_carriers, .claim = "A run on another carrier sees what the last one wrote.",
	    .upholds = "VThread!HappensBeforeRun", .state_size = sizeof(struct state), .init = init,
	    .actors = {carrier, unparker, sibling}, .arbiter = run_rest, .results = 2,
	    .min_samples = 200000,
	    .outcomes = {
		    {"1,1", REQUIRED, "unparked: the park returned, on either"},
		    {"*,*", FORBIDDEN, "lost, or a park too many"},
	    });

STRESS_TWIN(vthread_park_mounted, .of = "vthread_carriers",
	    .defect = "it is parked before it has left its stack", .shows = "0,1",
	    .seen_by = SEEN_ALL);

/* Parked, and unparked by two. Result: "a permit is left, a run, what it saw": if none is left, the
 * one park has answered both. */
STRESS_INIT(init_parked)
{
	init(state);
	carrier(state, NULL);
}

STRESS_ACTOR(another)
{
	wp_store_relaxed(&state->more, 1);
	pay(state, wp__vthread_notify(&state->thread));
}

/* A waker of a queue. */
STRESS_ACTOR(granter)
{
	wp_store_relaxed(&state->more, 1);
	pay(state, wp__vthread_notify_park(&state->thread, 0));
}

STRESS_ACTOR(look)
{
	if (wp_mpsc_pop(&state->queue) == NULL)
		return;
	run(state);
	result->r[1] = 1;
	result->r[2] = state->seen;
}

STRESS_ACTOR(count_permit)
{
	result->r[0] = state->returned == 1 && wp__vthread_take(&state->thread);
}

STRESS_TEST(vthread_both, .claim = "The end of a park sees what came before each of its unparks.",
	    .upholds = "VThread!HappensBeforeRun", .state_size = sizeof(struct state),
	    .init = init_parked, .actors = {unparker, another, look}, .arbiter = count_permit,
	    .results = 3, .min_samples = 200000,
	    .outcomes = {
		    {"0,0,0", ACCEPTABLE, "nobody had queued it"},
		    {"0,1,3", REQUIRED, "one park for both"},
		    {"1,1,*", ACCEPTABLE, "one of them comes after the park"},
		    {"*,*,*", FORBIDDEN, "both are answered, and one is not seen"},
	    });

/* Result: "0, the park was refused or ended, what its carrier saw then". */
STRESS_ACTOR(park_and_look)
{
	carrier(state, result);
	look(state, result);
}

STRESS_TEST(vthread_granted, .claim = "A park that a waker of a queue ends sees what it wrote.",
	    .upholds = "VThread!HappensBeforeRun", .state_size = sizeof(struct state), .init = init,
	    .actors = {park_and_look, granter}, .results = 3, .min_samples = 200000,
	    .outcomes = {
		    {"0,0,0", ACCEPTABLE, "parked"},
		    {"0,1,2", REQUIRED, "ended"},
		    {"*,*,*", FORBIDDEN, "ended, and not seen"},
	    });

/* The thread's node was in a queue, with another one behind it, and goes into a queue again.
 * Result: "nodes at the end". */
STRESS_ACTOR(pop_and_park)
{
	if (wp_mpsc_pop(&state->queue) == NULL)
		return; /* hostage of the other push */
	result->r[0]--;
	run(state);
	result->r[0] += park(state);
}

STRESS_ACTOR(push_behind)
{
	wp_mpsc_push(&state->queue, &state->behind);
}

STRESS_ACTOR(push_again)
{
	result->r[0] = pay(state, wp__vthread_notify(&state->thread));
}

STRESS_ACTOR(grant_again)
{
	result->r[0] = pay(state, wp__vthread_notify_park(&state->thread, 0));
}

STRESS_INIT(init_queued)
{
	init(state);
	push(state);
}

STRESS_ACTOR(count_nodes)
{
	result->r[0] += 2;
	for (int most = 4; most > 0 && wp_mpsc_pop(&state->queue) != NULL; most--)
		result->r[0]--;
}

STRESS_TEST(vthread_node, .claim = "Who queues the thread again owns its node alone.",
	    .upholds = "VThread!SubmitOncePerRunnable", .state_size = sizeof(struct state),
	    .init = init_queued, .actors = {pop_and_park, push_behind, push_again},
	    .arbiter = count_nodes, .results = 1,
	    .outcomes = {
		    {"0", ACCEPTABLE, "as many nodes as were pushed"},
		    {"*", FORBIDDEN, "a node is lost, or in the queue twice"},
	    });

STRESS_TEST(vthread_node_granted, .claim = "So does a waker of a queue.",
	    .upholds = "VThread!SubmitOncePerRunnable", .state_size = sizeof(struct state),
	    .init = init_queued, .actors = {pop_and_park, push_behind, grant_again},
	    .arbiter = count_nodes, .results = 1,
	    .outcomes = {
		    {"0", ACCEPTABLE, "as many nodes as were pushed"},
		    {"*", FORBIDDEN, "a node is lost, or in the queue twice"},
	    });

/* Result: "done, and what it did is seen". */
STRESS_ACTOR(finisher)
{
	run(state);
	wp__vthread_finish(&state->thread);
}

STRESS_ACTOR(joiner)
{
	result->r[0] = wp_vthread_is_done(&state->thread);
	result->r[1] = result->r[0] ? state->runs : 0;
}

STRESS_TEST(vthread_done, .claim = "Who sees the thread done sees what it did.",
	    .upholds = "VThread!TerminationVisible", .state_size = sizeof(struct state),
	    .init = init, .actors = {finisher, unparker, joiner}, .results = 2,
	    .outcomes = {
		    {"0,0", ACCEPTABLE, "not done yet"},
		    {"1,1", ACCEPTABLE, "done, and seen"},
		    {"*,*", FORBIDDEN, "done, and not seen"},
	    });

/* A scheduler is given it twice, and three threads try to run it. Result: "runs". */
STRESS_ACTOR(giver)
{
	state->runs = 1;
	wp__vthread_give(&state->thread);
}

STRESS_ACTOR(claimer)
{
	if (!wp__vthread_claim(&state->thread))
		return;
	result->r[0] = 1;
	state->runs++;
}

STRESS_ACTOR(count_runs)
{
	result->r[1] = state->runs;
}

STRESS_TEST(vthread_given, .claim = "A thread that a scheduler was given runs once for it.",
	    .upholds = "VThread!NoConcurrentMount", .state_size = sizeof(struct state),
	    .init = init, .actors = {giver, claimer, claimer}, .arbiter = count_runs, .results = 2,
	    .outcomes = {
		    {"0,1", ACCEPTABLE, "both came too soon"},
		    {"1,2", ACCEPTABLE, "one runs it, and sees what came before"},
		    {"*,*", FORBIDDEN, "two run it, or without what came before"},
	    });

/* Its runner and its maker let go. Result: "who may reuse it, and both had done". */
STRESS_ACTOR(let_go)
{
	if (wp__vthread_let_go(&state->thread)) {
		result->r[0] = 1;
		result->r[1] = state->seen + state->runs;
	}
}

STRESS_ACTOR(runner)
{
	state->seen = 1;
	let_go(state, result);
}

STRESS_ACTOR(maker)
{
	state->runs = 1;
	let_go(state, result);
}

STRESS_TEST(vthread_let_go, .claim = "The second of two that let go reuses the memory.",
	    .upholds = "VThread!TerminationVisible", .state_size = sizeof(struct state),
	    .init = init, .actors = {runner, maker}, .results = 2,
	    .outcomes = {
		    {"1,2", ACCEPTABLE, "one of them does, and sees the other one's last writes"},
		    {"*,*", FORBIDDEN, "both, none, or too early"},
	    });
