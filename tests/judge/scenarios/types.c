/* Atomics of types other than unsigned integers: each keeps its value through every operation. */
#include "litmus.h"
#include "stress.h"

struct pair {
	uint16_t low, high;
};

struct state {
	wp_atomic(uint32_t) ready;
	wp_atomic(double) real;
	wp_atomic(float) small;
	wp_atomic(bool) flag;
	wp_atomic(int8_t) negative;
	wp_atomic(struct state *) pointer;
	wp_atomic(struct pair) pair;
};

STRESS_INIT(init)
{
	wp_init(&state->real, 0.5);
	wp_init(&state->flag, false);
	wp_init(&state->negative, -3);
}

STRESS_ACTOR(write)
{
	double expected = 0.5;

	result->r[0] = litmus_cas(&state->real, &expected, 2.5, relaxed, relaxed);
	result->r[1] = (int64_t)(10 * litmus_exchange(&state->small, 1.25f, relaxed));
	wp_store_relaxed(&state->flag, 4);
	wp_fetch_add_relaxed(&state->negative, -4);
	wp_store_relaxed(&state->pointer, state);
	wp_store_relaxed(&state->pair, ((struct pair){7, 9}));
	wp_store_release(&state->ready, 1);
}

STRESS_ACTOR(read)
{
	struct pair pair;

	if (!wp_load_acquire(&state->ready))
		return;
	pair = wp_load_relaxed(&state->pair);
	result->r[2] = (int64_t)(10 * wp_load_relaxed(&state->real));
	result->r[3] = (int64_t)(100 * wp_load_relaxed(&state->small));
	result->r[4] = wp_load_relaxed(&state->flag);
	result->r[5] = wp_load_relaxed(&state->negative);
	result->r[6] = wp_load_relaxed(&state->pointer) == state;
	result->r[7] = pair.low * 10 + pair.high;
}

STRESS_TEST(types_keep, .claim = "What was stored is loaded.", .upholds = "Mpsc!NoLoss",
	    .state_size = sizeof(struct state), .init = init, .actors = {write, read}, .results = 8,
	    .outcomes = {
		    {"1,0,0,0,0,0,0,0", ACCEPTABLE, "early"},
		    {"1,0,25,125,1,-7,1,79", ACCEPTABLE, "late"},
	    });
