/* SPDX-License-Identifier: Apache-2.0
 * conform_biased_lock.c - the threads of specs/queue/BiasedLock.tla: an owner and two stealers, two
 * rounds each.
 *
 * Why it works  The counters of the code never return to an earlier value. So the rounds are
 *               bounded here, and in the generated module by the same number.
 * Spec          specs/queue/BiasedLock.tla. Compared by wakeproof conform -t biased_lock. */
#include "queue/biased_lock.h"
#include "stress.h"

enum { ROUNDS = 2 };

struct state {
	wp_biased_lock ticket;
};

STRESS_INIT(init)
{
	wp_biased_lock_init(&state->ticket);
}

STRESS_ACTOR(owner)
{
	for (int round = 0; round < ROUNDS; round++)
		wp_biased_lock_release(&state->ticket, wp_biased_lock_acquire(&state->ticket));
}

STRESS_ACTOR(stealer)
{
	uint64_t my;

	for (int round = 0; round < ROUNDS; round++)
		if (wp_biased_lock_try_acquire(&state->ticket, &my))
			wp_biased_lock_release(&state->ticket, my);
}

STRESS_TEST(conform_biased_lock, .claim = "The compiled ticket is the specified one.",
	    .upholds = "BiasedLock!SingleConsumer", .state_size = sizeof(struct state),
	    .init = init, .actors = {owner, stealer, stealer}, .results = 1,
	    .outcomes = {{"0", ACCEPTABLE, "all done"}});
