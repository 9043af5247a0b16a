/* SPDX-License-Identifier: Apache-2.0
 * armv8.c - litmus tests as scenarios for the model ARMv8. */
#include "base/futex.h"
#include "litmus.h"
#include "stress.h"

struct state {
	wp_atomic(uint32_t) x, y;
	uint32_t plain;
};

STRESS_ACTOR(first)
{
	result->r[0] = litmus_load(&state->x, relaxed);
	litmus_store(&state->y, 1, relaxed);
}

STRESS_ACTOR(second)
{
	result->r[1] = litmus_load(&state->y, relaxed);
	litmus_store(&state->x, 1, relaxed);
}

STRESS_ACTOR(second_in_order)
{
	result->r[1] = litmus_load(&state->y, acquire);
	litmus_store(&state->x, 1, relaxed);
}

STRESS_ACTOR(first_in_order)
{
	result->r[0] = litmus_load(&state->x, relaxed);
	litmus_store(&state->y, 1, release);
}

#define OUTCOMES                                                                \
	.results = 2, .outcomes = {                                             \
			      {"1,1", FORBIDDEN, "both read what comes later"}, \
			      {"*,*", ACCEPTABLE, "in turn"},                   \
	}

STRESS_TEST(buffering, .claim = "Nothing comes early.", .state_size = sizeof(struct state),
	    .actors = {first, second}, OUTCOMES);

STRESS_TEST(in_order, .claim = "Nothing comes early.", .state_size = sizeof(struct state),
	    .actors = {first_in_order, second_in_order}, OUTCOMES);

STRESS_ACTOR(publisher)
{
	state->plain = 1;
	litmus_store(&state->x, 1, relaxed);
}

STRESS_ACTOR(reader)
{
	if (litmus_load(&state->x, relaxed))
		result->r[0] = state->plain;
}

STRESS_TEST(unpublished, .claim = "Nothing races.", .state_size = sizeof(struct state),
	    .actors = {publisher, reader}, .results = 1, .outcomes = {{"*", ACCEPTABLE, "any"}});

STRESS_ACTOR(sleeper)
{
	wp_futex_wait(&state->x, 0, WP_FOREVER);
}

STRESS_ACTOR(waker)
{
	litmus_store(&state->x, 1, release);
	wp_futex_wake(&state->x, 1);
}

STRESS_TEST(sleeping, .claim = "It wakes.", .state_size = sizeof(struct state),
	    .actors = {sleeper, waker}, .results = 1, .outcomes = {{"*", ACCEPTABLE, "any"}});

STRESS_ACTOR(counter)
{
	for (uint32_t i = 0; i < 40; i++)
		litmus_store(&state->x, i, relaxed);
}

STRESS_TEST(endless, .claim = "It is short.", .state_size = sizeof(struct state),
	    .actors = {counter, reader}, .results = 1, .outcomes = {{"*", ACCEPTABLE, "any"}});
