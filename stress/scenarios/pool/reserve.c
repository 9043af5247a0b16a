/* SPDX-License-Identifier: Apache-2.0
 * reserve.c - a reserved thread is taken once, by who has a task, by the stop, or by itself.
 *
 *   thread                      trier                     stopper       `reserve`: "handed, run"
 *   offer; wait; run            try: hand it the task     stop
 *
 * Why it works  The task is a plain word: who runs it before it is handed over is a race. All
 *               really sleep. `starts` is the pool: nobody comes for them.
 * Spec          specs/pool/Reserve.tla. */
#include "pool/reserve.h"
#include "stress.h"

struct state {
	wp_reserve reserve;
	wp_reserve_slot slots[1];
	wp_reserved self;
	uint32_t slot;
	uint32_t task, other; /* plain */
	wp_atomic(uint32_t) starts, refusals;
};

static int start(void *arg)
{
	struct state *state = arg;
	uint32_t refusals = wp_load_relaxed(&state->refusals);

	while (refusals > 0)
		if (wp_cas_relaxed(&state->refusals, &refusals, refusals - 1))
			return WP_CLOSED;
	wp_fetch_add_relaxed(&state->starts, 1);
	return WP_OK;
}

STRESS_INIT(init)
{
	wp_reserve_init(&state->reserve,
			&(wp_reserve_config){
				.capacity = 1, .idle_ns = WP_FOREVER, .start = start, .arg = state},
			state->slots);
	wp_parker_init(&state->self.parker);
}

/* 1: it has run the task; 0: it was sent away, or left. */
static uint32_t waits(struct state *state)
{
	uint32_t *task = wp__reserve_wait(&state->reserve, &state->self, state->slot);

	return task == NULL ? 0 : *task;
}

STRESS_ACTOR(thread)
{
	result->r[1] =
		wp__reserve_offer(&state->reserve, &state->self, &state->slot) ? waits(state) : 0;
}

static uint32_t try(struct state *state, uint32_t *task)
{
	*task = 1;
	return wp_reserve_try(&state->reserve, task);
}

STRESS_ACTOR(trier)
{
	result->r[0] = try(state, &state->task);
}

STRESS_ACTOR(stopper)
{
	wp_reserve_stop(&state->reserve);
}

STRESS_TEST(reserve, .claim = "Who is offered is handed a task, or sent away.",
	    .upholds = "Reserve!StopTerminates", .state_size = sizeof(struct state), .init = init,
	    .actors = {thread, trier, stopper}, .results = 2, .blocking = 1,
	    .outcomes = {
		    {"1,1", ACCEPTABLE, "the task was handed over, and run"},
		    {"0,0", ACCEPTABLE, "nobody was there; the stop sent it away"},
		    {"asleep", FORBIDDEN, "it waits, and the stop has been there"},
		    {"*,*", LOST_WORK, "handed over, and not run"},
	    });

/* It is offered, and leaves when it likes. Result: "handed, run". */
STRESS_INIT(init_offered)
{
	init(state);
	wp__reserve_offer(&state->reserve, &state->self, &state->slot);
}

STRESS_ACTOR(leaves)
{
	result->r[1] =
		wp__reserve_leave(&state->reserve, &state->self, state->slot) ? 0 : waits(state);
}

STRESS_TEST(reserve_leave, .claim = "Who was taken while it left waits for the task.",
	    .upholds = "Reserve!TakenImpliesRun", .state_size = sizeof(struct state),
	    .init = init_offered, .actors = {leaves, trier}, .results = 2, .blocking = 1,
	    .outcomes = {
		    {"1,1", ACCEPTABLE, "taken, and run"},
		    {"0,0", ACCEPTABLE, "it has left"},
		    {"asleep", FORBIDDEN, "it waits for what nobody hands it"},
		    {"*,*", LOST_WORK, "handed over, and not run"},
	    });

/* Nobody has a task for it. Result: "run". */
STRESS_ACTOR(rests)
{
	result->r[0] = waits(state);
}

STRESS_TEST(reserve_dismissed, .claim = "The stop sends away who rests.",
	    .upholds = "Reserve!StopEnds", .state_size = sizeof(struct state), .init = init_offered,
	    .actors = {rests, stopper}, .results = 1, .blocking = 1,
	    .outcomes = {
		    {"0", REQUIRED, "it was sent away"},
		    {"asleep", FORBIDDEN, "it rests, and nobody will come"},
		    {"*", FORBIDDEN, "it has run what nobody gave it"},
	    });

/* Two tasks, one thread. Result: "handed, handed". */
STRESS_ACTOR(other_trier)
{
	result->r[1] = try(state, &state->other);
}

STRESS_TEST(reserve_take, .claim = "One of two tasks gets the thread.",
	    .upholds = "Reserve!ReservedThreadExclusive", .state_size = sizeof(struct state),
	    .init = init_offered, .actors = {trier, other_trier}, .results = 2,
	    .outcomes = {
		    {"1,0", ACCEPTABLE, "the first"},
		    {"0,1", ACCEPTABLE, "the second"},
		    {"*,*", FORBIDDEN, "both, or nobody"},
	    });

/* Nobody is there: two misses, and one start at the most. Result: "handed, handed, starts,
 * pending". */
STRESS_ACTOR(read_starts)
{
	result->r[2] = wp_load_relaxed(&state->starts);
	result->r[3] = wp_load_relaxed(&state->reserve.pending);
}

STRESS_TEST(reserve_start, .claim = "No more starts are under way than admitted.",
	    .upholds = "Reserve!PendingBound", .state_size = sizeof(struct state), .init = init,
	    .actors = {trier, other_trier}, .arbiter = read_starts, .results = 4,
	    .outcomes = {
		    {"0,0,1,1", REQUIRED, "one starts one"},
		    {"*,*,*,*", FORBIDDEN, "two starts, or none"},
	    });

/* The pool refuses one. */
STRESS_INIT(init_refusing)
{
	init(state);
	wp_init(&state->refusals, 1);
}

STRESS_TEST(reserve_refused, .claim = "A refused start is not under way.",
	    .upholds = "Reserve!PendingBound", .state_size = sizeof(struct state),
	    .init = init_refusing, .actors = {trier, other_trier}, .arbiter = read_starts,
	    .results = 4,
	    .outcomes = {
		    {"0,0,1,1", ACCEPTABLE, "one was refused, then one started"},
		    {"0,0,0,0", ACCEPTABLE, "the second came while the first was being refused"},
		    {"*,*,*,*", FORBIDDEN, "what was refused is counted"},
	    });
