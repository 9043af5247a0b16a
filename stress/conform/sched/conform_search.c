/* SPDX-License-Identifier: Apache-2.0
 * conform_search.c - the threads of specs/sched/Search.tla: carriers and submitters.
 *
 *   carrier, for ever                           submitter, once
 *   poll; nothing: park, until its word is      submit a task to either carrier
 *   not PARKED, or spuriously; run a task,      or pin a task to one
 *   which may submit another, or yield, once
 *
 * Why it works  A carrier in a task that never ends has no thread. A sleep that ends spuriously
 *               stands for a poller that has input. The futex is compared by Carrier.
 * Spec          specs/sched/Search.tla. Compared by wakeproof conform -t search. */
#include "sched/search.h"
#include "sched/run_queues.h"
#include "litmus.h"
#include "stress.h"

enum { CARRIERS = 2, TASKS = 2 };
#include "scenarios/sched/cluster.h"

STRESS_INIT(init)
{
	cluster_init(state, CARRIERS);
}

STRESS_INIT(init_two_tokens)
{
	init(state);
	state->domain.limit = 2;
}

/* Sleeps until it is woken, or leaves spuriously. */
static void sleep(wp_carrier *carrier)
{
	for (;;) {
		bool is_woken = litmus_choose(2) == 0;                /* [Sleep] */
		uint32_t word = litmus_load(&carrier->word, relaxed); /* [Word] */

		if (is_woken == (word != WP_PARKED_FUTEX))
			return;
	}
}

static wp_mpsc_node *park(wp_carrier *carrier)
{
	wp_mpsc_node *stolen;

	if (!wp_carrier_advertise(carrier, WP_PARKED_FUTEX, &stolen))
		return stolen;
	sleep(carrier);
	return wp_carrier_leave(carrier);
}

_Noreturn static void live(wp_carrier *carrier)
{
	for (;;) {
		wp_mpsc_node *task = wp_carrier_poll(carrier);

		if (task == NULL)
			task = park(carrier);
		if (task != NULL)
			litmus_step(); /* [End] */
	}
}

STRESS_ACTOR_CALL(carrier_1, live(&state->carriers[0]))

/* These carriers start in a task, or without one. */
STRESS_ACTOR(busy_1)
{
	if (litmus_choose(2) == 1) /* [Start] */
		litmus_step();     /* [End] */
	live(&state->carriers[0]);
}

STRESS_ACTOR(busy_2)
{
	if (litmus_choose(2) == 1) /* [Start] */
		litmus_step();     /* [End] */
	live(&state->carriers[1]);
}

STRESS_INIT(init_spawns)
{
	init(state);
	wp_init(&state->spawns, 1);
}

STRESS_INIT(init_yields)
{
	init(state);
	wp_init(&state->yields, 1);
}

/* The running task submits another one, if it may. False: the task ends. */
static bool spawns(struct state *state, wp_carrier *carrier)
{
	if (litmus_choose(2) == 0) /* [Spawn] */
		return false;
	if (litmus_exchange(&state->spawns, 0, relaxed) == 0) /* [Left] */
		return false;
	wp_carrier_submit_internal(carrier, &state->tasks[0]);
	return true;
}

_Noreturn static void spawner(struct state *state, uint32_t index)
{
	wp_carrier *carrier = &state->carriers[index];
	bool has_task = litmus_choose(2) == 1; /* [Start] */

	for (;;) {
		while (has_task && spawns(state, carrier))
			continue;
		has_task = wp_carrier_poll(carrier) != NULL || park(carrier) != NULL;
	}
}

STRESS_ACTOR_CALL(spawner_1, spawner(state, 0))
STRESS_ACTOR_CALL(spawner_2, spawner(state, 1))

/* The running task yields, if it may, or ends. */
static void yields(struct state *state, wp_carrier *carrier, wp_mpsc_node *task)
{
	if (litmus_choose(2) == 1 &&                          /* [Yield] */
	    litmus_exchange(&state->yields, 0, relaxed) != 0) /* [Left] */
		wp_carrier_reenqueue(carrier, task);
}

_Noreturn static void yielder(struct state *state, uint32_t index)
{
	wp_carrier *carrier = &state->carriers[index];
	wp_mpsc_node *task = litmus_choose(2) == 1 ? &state->tasks[index] : NULL; /* [Start] */

	for (;;) {
		if (task != NULL)
			yields(state, carrier, task);
		task = wp_carrier_poll(carrier);
		if (task == NULL)
			task = park(carrier);
	}
}

STRESS_ACTOR_CALL(yielder_1, yielder(state, 0))
STRESS_ACTOR_CALL(yielder_2, yielder(state, 1))

static void submit(struct state *state, uint32_t task)
{
	uint32_t to = litmus_choose(CARRIERS); /* [To] */

	cluster_submit(state, to, task);
}

STRESS_ACTOR_CALL(submitter_1, submit(state, 0))
STRESS_ACTOR_CALL(submitter_2, submit(state, 1))

/* The twin gives no signal: it neither wakes the carrier nor searches for a helper. */
static void pin(struct state *state, uint32_t to, uint32_t task)
{
	wp_carrier *carrier = &state->carriers[to];

	if (wp_twin(conform_pin_silent))
		wp_mpsc_push(&carrier->inbox, &state->tasks[task]);
	else
		wp_carrier_submit_pinned(carrier, &state->tasks[task]);
}

STRESS_ACTOR(pinner_1)
{
	uint32_t to = litmus_choose(CARRIERS); /* [Pin] */

	pin(state, to, 0);
}

STRESS_ACTOR(pinner_2)
{
	uint32_t to = 1 + litmus_choose(1); /* [Pin] */

	pin(state, to, 1);
}

/* Carrier 2 is in a long task. */
STRESS_TEST(conform_search_long, .claim = "The compiled search is the specified one.",
	    .upholds = "Search!WorkConservation", .state_size = sizeof(struct state), .init = init,
	    .actors = {carrier_1, submitter_1, submitter_2}, .results = 1, .blocking = 1,
	    .outcomes = {{"stuck", ACCEPTABLE, "it goes on for ever"}});
STRESS_TEST(conform_search_two_tokens, .claim = "So it is with two tokens.",
	    .upholds = "Search!EveryStartSearchMatchedByOneStop",
	    .state_size = sizeof(struct state), .init = init_two_tokens,
	    .actors = {carrier_1, submitter_1, submitter_2}, .results = 1, .blocking = 1,
	    .outcomes = {{"stuck", ACCEPTABLE, "it goes on for ever"}});
STRESS_TEST(conform_search, .claim = "So it is with two carriers that run.",
	    .upholds = "Search!WorkConservation", .state_size = sizeof(struct state), .init = init,
	    .actors = {busy_1, busy_2, submitter_1}, .results = 1, .blocking = 1,
	    .outcomes = {{"stuck", ACCEPTABLE, "they go on for ever"}});
STRESS_TEST(conform_search_pinned, .claim = "So it is where the task is pinned.",
	    .upholds = "Search!WorkConservation", .state_size = sizeof(struct state), .init = init,
	    .actors = {busy_1, busy_2, pinner_1}, .results = 1, .blocking = 1,
	    .outcomes = {{"stuck", ACCEPTABLE, "they go on for ever"}});
STRESS_TEST(conform_search_pinned_long, .claim = "So it is where carrier 2 has a pinned task.",
	    .upholds = "Search!WorkConservation", .state_size = sizeof(struct state), .init = init,
	    .actors = {carrier_1, submitter_1, pinner_2}, .results = 1, .blocking = 1,
	    .outcomes = {{"stuck", ACCEPTABLE, "it goes on for ever"}});
STRESS_TEST(conform_search_spawn, .claim = "So it is where a task submits another.",
	    .upholds = "Search!WorkConservation", .state_size = sizeof(struct state),
	    .init = init_spawns, .actors = {spawner_1, spawner_2}, .results = 1, .blocking = 1,
	    .outcomes = {{"stuck", ACCEPTABLE, "they go on for ever"}});
STRESS_TEST(conform_search_yield, .claim = "So it is where a task yields.",
	    .upholds = "Search!LoneYieldWakesNobody", .state_size = sizeof(struct state),
	    .init = init_yields, .actors = {yielder_1, yielder_2}, .results = 1, .blocking = 1,
	    .outcomes = {{"stuck", ACCEPTABLE, "they go on for ever"}});
