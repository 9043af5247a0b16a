/* SPDX-License-Identifier: Apache-2.0
 * vthread_data.c - a run sees what the last run wrote; the end of a park sees the writes before
 * each unpark that it answers; a thread that queues the virtual thread owns its node.
 *
 *   unparker, timer             carrier
 *   work |= 1                   pop; run: read work
 *   unpark; owed: push
 *
 * Result        `vthread_both`: "permit left, ran, seen".
 * Why it works  The arbiter orders everything, so the result is read before the arbiter runs.
 * Spec          specs/thread/VThread.tla. */
#include "vthread_actors.h"

STRESS_TEST(vthread_carriers, .claim = "A run on another carrier sees what the last run wrote.",
	    .upholds = "VThread!HappensBeforeRun", .state_size = sizeof(struct state), .init = init,
	    .actors = {carrier, unparker, sibling}, .arbiter = run_rest, .results = 2,
	    .min_samples = 200000,
	    .outcomes = {
		    {"1,1", REQUIRED,
		     "the thread was unparked, and the park returned, on either carrier"},
		    {"*,*", FORBIDDEN, "the unpark is lost, or a park too many returned"},
	    });

STRESS_TWIN(vthread_park_mounted, .of = "vthread_carriers",
	    .defect = "The thread is parked before it has left its stack.", .shows = "0,1",
	    .seen_by = SEEN_ALL);

/* The thread is parked, and two threads unpark it. Result: "a permit is left, a run, what it saw".
 * If no permit is left, one park has answered both unparks. */
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

/* Grants the wait, as a wait queue does. */
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

STRESS_ACTOR_CALL(count_permit,
		  result->r[0] = state->returned == 1 && wp__vthread_take(&state->thread))

STRESS_TEST(vthread_both,
	    .claim = "A park that ends sees the writes before each unpark that it answers.",
	    .upholds = "VThread!HappensBeforeRun", .state_size = sizeof(struct state),
	    .init = init_parked, .actors = {unparker, another, look}, .arbiter = count_permit,
	    .results = 3, .min_samples = 200000,
	    .outcomes = {
		    {"0,0,0", ACCEPTABLE, "no thread had queued it"},
		    {"0,1,3", REQUIRED, "one park answered both unparks"},
		    {"1,1,*", ACCEPTABLE, "one unpark came after the park"},
		    {"*,*,*", FORBIDDEN,
		     "one park answered both unparks, and does not see one of them"},
	    });

/* Result: "0, the park was refused or ended, what its carrier saw then". */
STRESS_ACTOR(park_and_look)
{
	carrier(state, result);
	look(state, result);
}

STRESS_TEST(vthread_granted,
	    .claim = "A park that a wait queue's grant ends sees the granter's writes.",
	    .upholds = "VThread!HappensBeforeRun", .state_size = sizeof(struct state), .init = init,
	    .actors = {park_and_look, granter}, .results = 3, .min_samples = 200000,
	    .outcomes = {
		    {"0,0,0", ACCEPTABLE, "parked"},
		    {"0,1,2", REQUIRED, "ended"},
		    {"*,*,*", FORBIDDEN, "the park ended, and the granter's writes are not seen"},
	    });

/* The thread's node was in a queue, with another one behind it, and goes into a queue again.
 * Result: "nodes at the end". */
STRESS_ACTOR(pop_and_park)
{
	if (wp_mpsc_pop(&state->queue) == NULL)
		return; /* stalled behind the other push */
	result->r[0]--;
	run(state);
	result->r[0] += park(state);
}

STRESS_ACTOR_CALL(push_behind, wp_mpsc_push(&state->queue, &state->behind))
STRESS_ACTOR_CALL(push_again, result->r[0] = pay(state, wp__vthread_notify(&state->thread)))
STRESS_ACTOR_CALL(grant_again,
		  result->r[0] = pay(state, wp__vthread_notify_park(&state->thread, 0)))

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

STRESS_TEST(vthread_node,
	    .claim = "A thread that queues the virtual thread again owns its node alone.",
	    .upholds = "VThread!SubmitOncePerRunnable", .state_size = sizeof(struct state),
	    .init = init_queued, .actors = {pop_and_park, push_behind, push_again},
	    .arbiter = count_nodes, .results = 1,
	    .outcomes = {
		    {"0", ACCEPTABLE, "as many nodes came out as were pushed"},
		    {"*", FORBIDDEN, "a node is lost, or in the queue twice"},
	    });

STRESS_TEST(vthread_node_granted,
	    .claim = "A granter that queues the virtual thread owns its node alone, too.",
	    .upholds = "VThread!SubmitOncePerRunnable", .state_size = sizeof(struct state),
	    .init = init_queued, .actors = {pop_and_park, push_behind, grant_again},
	    .arbiter = count_nodes, .results = 1,
	    .outcomes = {
		    {"0", ACCEPTABLE, "as many nodes came out as were pushed"},
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

STRESS_TEST(vthread_done,
	    .claim = "An observer that sees the thread done sees what the thread did.",
	    .upholds = "VThread!TerminationVisible", .state_size = sizeof(struct state),
	    .init = init, .actors = {finisher, unparker, joiner}, .results = 2,
	    .outcomes = {
		    {"0,0", ACCEPTABLE, "the thread is not done yet"},
		    {"1,1", ACCEPTABLE, "the thread is done, and its writes are seen"},
		    {"*,*", FORBIDDEN, "the thread is done, and its writes are not seen"},
	    });

/* A scheduler is given the thread twice, and three OS threads try to run it. Result: "runs". */
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

STRESS_ACTOR_CALL(count_runs, result->r[1] = state->runs)

STRESS_TEST(vthread_given,
	    .claim = "A thread runs once for each time that it is given to a scheduler.",
	    .upholds = "VThread!NoConcurrentMount", .state_size = sizeof(struct state),
	    .init = init, .actors = {giver, claimer, claimer}, .arbiter = count_runs, .results = 2,
	    .outcomes = {
		    {"0,1", ACCEPTABLE, "both tries came too early"},
		    {"1,2", ACCEPTABLE, "one OS thread runs it, and sees the earlier writes"},
		    {"*,*", FORBIDDEN, "two OS threads run it, or the earlier writes are not seen"},
	    });

/* The thread's runner and its creator release it. Result: "threads that may reuse it, last
 * writes that they see". */
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

STRESS_TEST(vthread_let_go,
	    .claim = "Of two threads that release the memory, the second may reuse it.",
	    .upholds = "VThread!TerminationVisible", .state_size = sizeof(struct state),
	    .init = init, .actors = {runner, maker}, .results = 2,
	    .outcomes = {
		    {"1,2", ACCEPTABLE,
		     "one of them reuses it, and sees the other one's last writes"},
		    {"*,*", FORBIDDEN, "both reuse it, or neither, or one reuses it too early"},
	    });
