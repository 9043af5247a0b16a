/* SPDX-License-Identifier: Apache-2.0
 * shown.c - the names in a counterexample, for tests/judge/explore/test_shown.py: two variables
 * that the code spells alike, actors, both lines of a race, and the line that ends a process. */
#include <assert.h>
#include <stdlib.h>

#include "litmus.h"
#include "stress.h"

struct box {
	wp_atomic(uint32_t) full;
};

struct state {
	struct box mine, yours[2];
	uint32_t plain;
	wp_atomic(uint32_t) tasks, done;
};

static void put(struct box *box)
{
	litmus_store(&box->full, 1, relaxed);
}

static uint32_t look(struct box *box)
{
	return litmus_load(&box->full, relaxed);
}

STRESS_ACTOR(giver)
{
	put(&state->mine);
	result->r[0] = look(&state->yours[1]);
}

STRESS_ACTOR(taker)
{
	put(&state->yours[1]);
	result->r[1] = look(&state->mine);
}

#define SHOWN(name_, ...)                                                          \
	STRESS_TEST(name_, .claim = "None.", .upholds = "None!None", .results = 2, \
		    .state_size = sizeof(struct state), __VA_ARGS__)
#define ANY .outcomes = {{"*", ACCEPTABLE, "any"}}
SHOWN(shown_names, .actors = {giver, taker},
      .outcomes = {{"0,0", FORBIDDEN, "both were early"}, {"*", ACCEPTABLE, "any"}});

/* The race is between the first accesses. The later ones are ordered, and longer. */
STRESS_ACTOR(racer)
{
	state->plain = 1; /* shown: racer */
	litmus_store(&state->tasks, 1, release);
	litmus_store(&state->done, 1, release);
}

STRESS_ACTOR(reader)
{
	result->r[0] = state->plain; /* shown: reader */
	result->r[1] = litmus_load(&state->done, acquire) + litmus_load(&state->tasks, acquire);
}

SHOWN(shown_race, ANY, .actors = {racer, reader});

STRESS_ACTOR(asserts)
{
	assert(!look(&state->mine)); /* shown: assert */
}

STRESS_ACTOR(aborts)
{
	if (look(&state->mine))
		abort(); /* shown: abort */
}

STRESS_ACTOR(divides)
{
	result->r[0] = 7 / (1 - (int)look(&state->mine)); /* shown: divide */
}

STRESS_ACTOR(strays)
{
	if (look(&state->mine))
		result->r[0] = *(volatile int *)8; /* shown: stray */
}

STRESS_ACTOR(far)
{
	if (look(&state->mine))
		result->r[0] = *(volatile int *)0x7000000000; /* shown: far */
}

STRESS_ACTOR(sure)
{
	assert(look(&state->mine) + look(&state->yours[1]) < 2); /* shown: arbiter */
}

SHOWN(shown_assert, ANY, .actors = {giver, asserts});
SHOWN(shown_abort, ANY, .actors = {giver, aborts});
SHOWN(shown_divide, ANY, .actors = {giver, divides});
SHOWN(shown_stray, ANY, .actors = {giver, strays});
SHOWN(shown_far, ANY, .actors = {giver, far});
SHOWN(shown_arbiter, ANY, .actors = {giver, taker}, .arbiter = sure);

/* Both look, then count, so one task is lost. */
STRESS_ACTOR_CALL(worker,
		  litmus_store(&state->done, litmus_load(&state->done, seq_cst) + 1, seq_cst))
STRESS_ACTOR_CALL(all_done, result->r[0] = litmus_load(&state->done, relaxed))

STRESS_TEST(shown_lost_work, .claim = "Both tasks are done.", .upholds = "None!None", .results = 1,
	    .state_size = sizeof(struct state), .actors = {worker, worker}, .arbiter = all_done,
	    .outcomes = {{"2", ACCEPTABLE, "both"}, {"1", LOST_WORK, "one of them is not"}});
