/* SPDX-License-Identifier: Apache-2.0
 * vthread_data.c - a run sees what the last one wrote, and the end of a park what was written before
 * each unpark that it answers; who queues the thread has its node alone.
 *
 *   unparker, timer             carrier               `vthread_both`: "permit left, ran, seen"
 *   work |= 1                   pop; run: look at work
 *   unpark; owed: push
 *
 * Why it works  The arbiter orders everything, so what counts is read before it.
 * Spec          specs/thread/VThread.tla. */
#include "vthread_run.h"
#include "stress.h"

/* It has the thread in its hands. */
static void carrier(void *at, stress_result *result)
{
	(void)result;
	run(at);
	park(at);
}

static void unparker(void *at, stress_result *result)
{
	struct state *state = at;

	(void)result;
	wp_store_relaxed(&state->work, 1);
	pay(state, wp__vthread_notify(&state->thread));
}

/* The second carrier of the same queue. */
static void sibling(void *at, stress_result *result)
{
	struct state *state = at;

	(void)result;
	if (wp_mpsc_pop(&state->queue) != NULL) {
		run(state);
		park(state);
	}
}

static void run_rest(void *at, stress_result *result)
{
	struct state *state = at;

	for (int most = 3; most > 0 && wp_mpsc_pop(&state->queue) != NULL; most--)
		run(state);
	result->r[0] = state->returned;
	result->r[1] = state->seen;
}

STRESS_TEST(vthread_carriers, .claim = "A run on another carrier sees what the last one wrote.",
	.upholds = "VThread!HappensBeforeRun", .state_size = sizeof(struct state), .init = init,
	.actors = {carrier, unparker, sibling}, .arbiter = run_rest, .results = 2,
	.min_samples = 200000, .outcomes = {
		{"1,1", REQUIRED, "unparked: the park returned, on either"},
		{"*,*", FORBIDDEN, "lost, or a park too many"},
	});

STRESS_TWIN(vthread_park_mounted, .of = "vthread_carriers",
	.defect = "it is parked before it has left its stack", .shows = "0,1",
	.seen_by = SEEN_CHECK | SEEN_STRESS | SEEN_DELAYED | SEEN_SC | SEEN_TSO | SEEN_RC11);

/* Parked, and unparked by two. Result: "a permit is left, a run, what it saw": if none is left, the
 * one park has answered both. */
static void init_parked(void *at)
{
	init(at);
	carrier(at, NULL);
}

static void another(void *at, stress_result *result)
{
	struct state *state = at;

	(void)result;
	wp_store_relaxed(&state->more, 1);
	pay(state, wp__vthread_notify(&state->thread));
}

/* A waker of a queue. */
static void granter(void *at, stress_result *result)
{
	struct state *state = at;

	(void)result;
	wp_store_relaxed(&state->more, 1);
	pay(state, wp__vthread_notify_park(&state->thread, 0));
}

static void look(void *at, stress_result *result)
{
	struct state *state = at;

	if (wp_mpsc_pop(&state->queue) == NULL)
		return;
	run(state);
	result->r[1] = 1;
	result->r[2] = state->seen;
}

static void count_permit(void *at, stress_result *result)
{
	struct state *state = at;

	result->r[0] = state->returned == 1 && wp__vthread_take(&state->thread);
}

STRESS_TEST(vthread_both, .claim = "The end of a park sees what came before each of its unparks.",
	.upholds = "VThread!HappensBeforeRun", .state_size = sizeof(struct state),
	.init = init_parked, .actors = {unparker, another, look}, .arbiter = count_permit,
	.results = 3, .min_samples = 200000, .outcomes = {
		{"0,0,0", ACCEPTABLE, "nobody had queued it"},
		{"0,1,3", REQUIRED, "one park for both"},
		{"1,1,*", ACCEPTABLE, "one of them comes after the park"},
		{"*,*,*", FORBIDDEN, "both are answered, and one is not seen"},
	});

/* Result: "0, the park was refused or ended, what its carrier saw then". */
static void park_and_look(void *at, stress_result *result)
{
	carrier(at, result);
	look(at, result);
}

STRESS_TEST(vthread_granted, .claim = "A park that a waker of a queue ends sees what it wrote.",
	.upholds = "VThread!HappensBeforeRun", .state_size = sizeof(struct state), .init = init,
	.actors = {park_and_look, granter}, .results = 3, .min_samples = 200000, .outcomes = {
		{"0,0,0", ACCEPTABLE, "parked"},
		{"0,1,2", REQUIRED, "ended"},
		{"*,*,*", FORBIDDEN, "ended, and not seen"},
	});

/* The thread's node was in a queue, with another one behind it, and goes into a queue again. Result:
 * "nodes at the end". */
static void pop_and_park(void *at, stress_result *result)
{
	struct state *state = at;

	if (wp_mpsc_pop(&state->queue) == NULL)
		return; /* hostage of the other push */
	result->r[0]--;
	run(state);
	result->r[0] += park(state);
}

static void push_behind(void *at, stress_result *result)
{
	(void)result;
	wp_mpsc_push(&((struct state *)at)->queue, &((struct state *)at)->behind);
}

static void push_again(void *at, stress_result *result)
{
	result->r[0] = pay(at, wp__vthread_notify(&((struct state *)at)->thread));
}

static void grant_again(void *at, stress_result *result)
{
	result->r[0] = pay(at, wp__vthread_notify_park(&((struct state *)at)->thread, 0));
}

static void init_queued(void *at)
{
	init(at);
	push(at);
}

static void count_nodes(void *at, stress_result *result)
{
	result->r[0] += 2;
	for (int most = 4; most > 0 && wp_mpsc_pop(&((struct state *)at)->queue) != NULL; most--)
		result->r[0]--;
}

STRESS_TEST(vthread_node, .claim = "Who queues the thread again owns its node alone.",
	.upholds = "VThread!SubmitOncePerRunnable", .state_size = sizeof(struct state),
	.init = init_queued, .actors = {pop_and_park, push_behind, push_again},
	.arbiter = count_nodes, .results = 1, .outcomes = {
		{"0", ACCEPTABLE, "as many nodes as were pushed"},
		{"*", FORBIDDEN, "a node is lost, or in the queue twice"},
	});

STRESS_TEST(vthread_node_granted, .claim = "So does a waker of a queue.",
	.upholds = "VThread!SubmitOncePerRunnable", .state_size = sizeof(struct state),
	.init = init_queued, .actors = {pop_and_park, push_behind, grant_again},
	.arbiter = count_nodes, .results = 1, .outcomes = {
		{"0", ACCEPTABLE, "as many nodes as were pushed"},
		{"*", FORBIDDEN, "a node is lost, or in the queue twice"},
	});

/* Result: "done, and what it did is seen". */
static void finisher(void *at, stress_result *result)
{
	(void)result;
	run(at);
	wp__vthread_finish(&((struct state *)at)->thread);
}

static void joiner(void *at, stress_result *result)
{
	struct state *state = at;

	result->r[0] = wp_vthread_is_done(&state->thread);
	result->r[1] = result->r[0] ? state->runs : 0;
}

STRESS_TEST(vthread_done, .claim = "Who sees the thread done sees what it did.",
	.upholds = "VThread!TerminationVisible", .state_size = sizeof(struct state), .init = init,
	.actors = {finisher, unparker, joiner}, .results = 2, .outcomes = {
		{"0,0", ACCEPTABLE, "not done yet"},
		{"1,1", ACCEPTABLE, "done, and seen"},
		{"*,*", FORBIDDEN, "done, and not seen"},
	});

/* A scheduler is given it twice, and three threads try to run it. Result: "runs". */
static void giver(void *at, stress_result *result)
{
	struct state *state = at;

	(void)result;
	state->runs = 1;
	wp__vthread_give(&state->thread);
}

static void claimer(void *at, stress_result *result)
{
	struct state *state = at;

	if (!wp__vthread_claim(&state->thread))
		return;
	result->r[0] = 1;
	state->runs++;
}

static void count_runs(void *at, stress_result *result)
{
	result->r[1] = ((struct state *)at)->runs;
}

STRESS_TEST(vthread_given, .claim = "A thread that a scheduler was given runs once for it.",
	.upholds = "VThread!NoConcurrentMount", .state_size = sizeof(struct state),
	.init = init, .actors = {giver, claimer, claimer}, .arbiter = count_runs,
	.results = 2, .outcomes = {
		{"0,1", ACCEPTABLE, "both came too soon"},
		{"1,2", ACCEPTABLE, "one runs it, and sees what came before"},
		{"*,*", FORBIDDEN, "two run it, or without what came before"},
	});

STRESS_TWIN(vthread_claimed_twice, .of = "vthread_given",
	.defect = "whoever was given a thread runs it, as often as he likes", .shows = "2,*",
	.seen_by = SEEN_STRESS | SEEN_DELAYED | SEEN_SC | SEEN_TSO | SEEN_RC11);

/* Its runner and its maker let go. Result: "who may reuse it, and both had done". */
static void let_go(void *at, stress_result *result)
{
	struct state *state = at;

	if (wp__vthread_let_go(&state->thread)) {
		result->r[0] = 1;
		result->r[1] = state->seen + state->runs;
	}
}

static void runner(void *at, stress_result *result)
{
	((struct state *)at)->seen = 1;
	let_go(at, result);
}

static void maker(void *at, stress_result *result)
{
	((struct state *)at)->runs = 1;
	let_go(at, result);
}

STRESS_TEST(vthread_let_go, .claim = "The second of two that let go reuses the memory.",
	.upholds = "VThread!TerminationVisible", .state_size = sizeof(struct state),
	.init = init, .actors = {runner, maker}, .results = 2, .outcomes = {
		{"1,2", ACCEPTABLE, "one of them does, and sees the other one's last writes"},
		{"*,*", FORBIDDEN, "both, none, or too early"},
	});
