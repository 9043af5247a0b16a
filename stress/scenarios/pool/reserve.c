/* SPDX-License-Identifier: Apache-2.0
 * reserve.c - a reserved thread is taken once: for a task, by the stop, or by itself to leave.
 *
 *   thread                      trier                     stopper
 *   offer; wait; run            try: hand it the task     stop
 *
 * Result        `reserve`: "handed, run".
 * Why it works  The task is a plain word, so a thread that runs it before the hand-over causes a
 *               data race. All threads really sleep. `starts` stands for the pool, and no thread is
 *               really started.
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

/* 1: the thread has run the task; 0: it was dismissed, or left. */
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

STRESS_ACTOR_CALL(trier, result->r[0] = try(state, &state->task))
STRESS_ACTOR_CALL(stopper, wp_reserve_stop(&state->reserve))

STRESS_TEST(reserve, .claim = "A reserved thread gets a task, or is dismissed.",
	    .upholds = "Reserve!StopTerminates", .state_size = sizeof(struct state), .init = init,
	    .actors = {thread, trier, stopper}, .results = 2, .blocking = 1,
	    .outcomes = {
		    {"1,1", ACCEPTABLE, "the task was handed over, and run"},
		    {"0,0", ACCEPTABLE, "no reserved thread was there; the stop dismissed it"},
		    {"asleep", FORBIDDEN, "lost wakeup: the thread waits after the stop"},
		    {"*,*", LOST_WORK, "lost task: it was handed over, and not run"},
	    });

/* The thread is reserved, and leaves when it likes. Result: "handed, run". */
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

STRESS_TEST(reserve_leave, .claim = "A thread that is taken while it leaves waits for its task.",
	    .upholds = "Reserve!TakenImpliesRun", .state_size = sizeof(struct state),
	    .init = init_offered, .actors = {leaves, trier}, .results = 2, .blocking = 1,
	    .outcomes = {
		    {"1,1", ACCEPTABLE, "the thread was taken, and has run the task"},
		    {"0,0", ACCEPTABLE, "the thread has left"},
		    {"asleep", FORBIDDEN,
		     "lost wakeup: the thread waits for a task that is never handed over"},
		    {"*,*", LOST_WORK, "lost task: it was handed over, and not run"},
	    });

/* There is no task for the thread. Result: "run". */
STRESS_ACTOR_CALL(rests, result->r[0] = waits(state))

STRESS_TEST(reserve_dismissed, .claim = "The stop dismisses idle reserved threads.",
	    .upholds = "Reserve!StopEnds", .state_size = sizeof(struct state), .init = init_offered,
	    .actors = {rests, stopper}, .results = 1, .blocking = 1,
	    .outcomes = {
		    {"0", REQUIRED, "the thread was dismissed"},
		    {"asleep", FORBIDDEN, "lost wakeup: the thread idles, and no task will come"},
		    {"*", FORBIDDEN, "the thread has run a task that was never handed over"},
	    });

/* Two tasks, one thread. Result: "handed, handed". */
STRESS_ACTOR_CALL(other_trier, result->r[1] = try(state, &state->other))

STRESS_TEST(reserve_take, .claim = "A reserved thread is taken for one of two tasks.",
	    .upholds = "Reserve!ReservedThreadExclusive", .state_size = sizeof(struct state),
	    .init = init_offered, .actors = {trier, other_trier}, .results = 2,
	    .outcomes = {
		    {"1,0", ACCEPTABLE, "the first task got the thread"},
		    {"0,1", ACCEPTABLE, "the second task got the thread"},
		    {"*,*", FORBIDDEN, "both tasks got the thread, or neither did"},
	    });

/* No thread is reserved: both tries miss, and start at most one thread. Result: "handed, handed,
 * starts, pending". */
STRESS_ACTOR(read_starts)
{
	result->r[2] = wp_load_relaxed(&state->starts);
	result->r[3] = wp_load_relaxed(&state->reserve.pending);
}

STRESS_TEST(reserve_start, .claim = "No more starts are pending than the limit admits.",
	    .upholds = "Reserve!PendingBound", .state_size = sizeof(struct state), .init = init,
	    .actors = {trier, other_trier}, .arbiter = read_starts, .results = 4,
	    .outcomes = {
		    {"0,0,1,1", REQUIRED, "the two tries start one thread"},
		    {"*,*,*,*", FORBIDDEN, "the tries start two threads, or none"},
	    });

/* The pool refuses one start. */
STRESS_INIT(init_refusing)
{
	init(state);
	wp_init(&state->refusals, 1);
}

STRESS_TEST(reserve_refused, .claim = "A refused start is not counted as pending.",
	    .upholds = "Reserve!PendingBound", .state_size = sizeof(struct state),
	    .init = init_refusing, .actors = {trier, other_trier}, .arbiter = read_starts,
	    .results = 4,
	    .outcomes = {
		    {"0,0,1,1", ACCEPTABLE, "one start was refused, then one succeeded"},
		    {"0,0,0,0", ACCEPTABLE,
		     "the second try came while the first start was being refused"},
		    {"*,*,*,*", FORBIDDEN, "the refused start is counted"},
	    });
