/* SPDX-License-Identifier: Apache-2.0
 * biased_lock.c - the biased consumer lock has one holder, serves its owner, and never lets a
 * stealer wait.
 *
 *   owner             stealer
 *   acquire           try
 *   inside := 1 ...   inside := 1 ...
 *   release           release
 *
 * Result        `biased_lock`: "crossings seen, stealer got it, owner got it".
 * Why it works  `inside` is raised and lowered without a read-modify-write, so two holders at once
 *               leave a trace.
 * Spec          specs/queue/BiasedLock.tla. */
#include "queue/biased_lock.h"
#include "stress.h"

struct state {
	wp_biased_lock ticket;
	wp_atomic(uint32_t) inside;
};

STRESS_INIT(init)
{
	wp_biased_lock_init(&state->ticket);
}

/* 1: another thread was inside at the same time. */
static int cross(struct state *state)
{
	int crossings = wp_load_relaxed(&state->inside) != 0;

	wp_store_relaxed(&state->inside, 1);
	wp_pause();
	crossings |= wp_load_relaxed(&state->inside) != 1;
	wp_store_relaxed(&state->inside, 0);
	return crossings;
}

STRESS_ACTOR(owner)
{
	uint64_t ticket = wp_biased_lock_acquire(&state->ticket);

	result->r[0] = cross(state);
	wp_biased_lock_release(&state->ticket, ticket);
	result->r[2] = 1;
}

static bool steal(struct state *state, stress_result *result)
{
	uint64_t ticket;

	if (!wp_biased_lock_try_acquire(&state->ticket, &ticket))
		return false;
	result->r[0] = cross(state);
	wp_biased_lock_release(&state->ticket, ticket);
	return true;
}

STRESS_ACTOR_CALL(stealer, result->r[1] = steal(state, result))

STRESS_TEST(biased_lock,
	    .claim = "Owner and stealers are never inside together, and the owner gets in.",
	    .upholds = "BiasedLock!SingleConsumer", .state_size = sizeof(struct state),
	    .init = init, .actors = {owner, stealer}, .results = 3, .min_samples = 200000,
	    .outcomes = {
		    {"0,1,1", REQUIRED, "the stealer found the lock free"},
		    {"0,0,1", REQUIRED, "the stealer gave up"},
		    {"*,*,*", FORBIDDEN,
		     "two consumers were inside at once, or the owner never got the lock"},
	    });

/* Two stealers, no owner. Result: "crossings seen, stealers that got the lock". */
STRESS_TEST(biased_lock_stealers, .claim = "Where two stealers meet, one of them gives up.",
	    .upholds = "BiasedLock!SingleConsumer", .state_size = sizeof(struct state),
	    .init = init, .actors = {stealer, stealer}, .results = 2, .min_samples = 200000,
	    .outcomes = {
		    {"0,2", REQUIRED, "one stealer came after the other"},
		    {"0,1", REQUIRED, "the stealers met, and one gave up"},
		    {"*,*", FORBIDDEN, "two consumers were inside at once, or none got in"},
	    });
