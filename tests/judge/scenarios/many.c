/* Three and four actors on whatever CPUs there are; an arbiter; numbers above the direct table. */
#include "stress.h"

struct state {
	wp_atomic(uint32_t) count;
};

STRESS_ACTOR_CALL(add, result->r[0] = wp_fetch_add_relaxed(&state->count, 1) + 1)

STRESS_ACTOR(add_split)
{
	uint32_t seen = wp_load_relaxed(&state->count);

	result->r[1] = 1;
	wp_store_relaxed(&state->count, seen + 1);
}

STRESS_ACTOR_CALL(total, result->r[1] = (int64_t)wp_load_relaxed(&state->count) * 1000 - 7)

STRESS_TEST(many_three, .claim = "Three increments give three.", .upholds = "Mpsc!NoLoss",
	    .state_size = sizeof(struct state), .actors = {add, add, add}, .arbiter = total,
	    .results = 2,
	    .outcomes = {
		    {"6,2993", ACCEPTABLE, "1 + 2 + 3, and three at the end"},
		    {"*", FORBIDDEN, "an increment was lost"},
	    });

STRESS_TEST(many_four, .claim = "Four increments by load and store may give less.",
	    .upholds = "Mpsc!NoLoss", .state_size = sizeof(struct state),
	    .actors = {add_split, add_split, add_split, add_split}, .arbiter = total, .results = 2,
	    .outcomes = {
		    {"0,3993", ACCEPTABLE, "one after the other"},
		    {"0,*", INTERESTING, "an increment was lost"},
	    });
