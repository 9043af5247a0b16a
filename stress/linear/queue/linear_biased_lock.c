/* SPDX-License-Identifier: Apache-2.0
 * linear_biased_lock.c - histories of the ticket: calls and returns.
 *
 *   owner, 2 rounds                     stealer, 2 rounds
 *   call acquire, acquire, return       call try, try, return the result
 *   call release, release, return       if taken: call release, release, return
 *
 * Why it works  Calls and returns are steps that touch no memory, so the graph of states contains
 *               every history of these rounds.
 * Spec          judge/linear/objects.py: biased_lock. Checked by wakeproof linear -t
 *               biased_lock. */
#include "litmus.h"
#include "stress.h"
#include "queue/biased_lock.h"

enum { ROUNDS = 2 };

struct state {
	wp_biased_lock ticket;
};

STRESS_INIT(init)
{
	wp_biased_lock_init(&state->ticket);
}

static void release(struct state *state, uint64_t my)
{
	litmus_call(release, 0);
	/* The twin releases the lock to a ticket number that nobody has drawn. */
	wp_biased_lock_release(&state->ticket, wp_twin(linear_skips_number) ? my + 1 : my);
	litmus_return(release, 0);
}

STRESS_ACTOR(owner)
{
	for (int round = 0; round < ROUNDS; round++) {
		uint64_t my;

		litmus_call(acquire, 0);
		my = wp_biased_lock_acquire(&state->ticket);
		litmus_return(acquire, 0);
		release(state, my);
	}
}

STRESS_ACTOR(stealer)
{
	for (int round = 0; round < ROUNDS; round++) {
		uint64_t my;
		bool is_mine;

		litmus_call(try, 0);
		is_mine = wp_biased_lock_try_acquire(&state->ticket, &my);
		litmus_return(try, is_mine);
		if (is_mine)
			release(state, my);
	}
}

STRESS_TEST(linear_biased_lock,
	    .claim = "The lock is acquired and released at linearization points inside the calls.",
	    .upholds = "BiasedLock!SingleConsumer", .state_size = sizeof(struct state),
	    .init = init, .actors = {owner, stealer, stealer}, .results = 1,
	    .outcomes = {{"0", ACCEPTABLE, "every history runs to its end"}});
