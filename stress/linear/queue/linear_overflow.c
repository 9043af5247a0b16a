/* SPDX-License-Identifier: Apache-2.0
 * linear_overflow.c - histories of the bounded run queue where it overflows into the global one.
 *
 *   owner                  thief            global queue's consumer
 *   push, three times      steal            take
 *   pop
 *
 * Why it works  As in linear_local_queue.c. The ring has two slots, so only the third push can find
 *               it full. Moving one task makes room, so the global queue never holds two.
 * Spec          judge/linear/objects.py: overflowing. Checked by wakeproof linear -t overflow. */
enum { NODES = 3 };
#include "numbered.h"

STRESS_ACTOR(owner)
{
	unsigned taken;

	for (unsigned node = 1; node <= NODES; node++) {
		uint32_t moved;

		litmus_call(push, node);
		moved = wp_local_queue_push(&state->local, &state->nodes[node - 1], &state->global);
		litmus_return(push, moved);
	}
	litmus_call(pop, 0);
	taken = number(state, wp_local_queue_pop(&state->local));
	litmus_return(pop, taken);
}

STRESS_ACTOR(thief)
{
	wp_mpsc_node *first = NULL;
	unsigned taken;

	litmus_call(steal, 0);
	wp_local_queue_steal(&state->local, &state->own, &first);
	taken = number(state, first);
	litmus_return(steal, taken);
}

STRESS_ACTOR(server)
{
	unsigned taken;

	litmus_call(take, 0);
	taken = number(state, wp_mpsc_pop(&state->global));
	litmus_return(take, taken);
}

STRESS_TEST(linear_overflow,
	    .claim = "A push that overflows the ring takes effect inside its call, too.",
	    .upholds = "LocalQueue!OverflowMovesHalf", .state_size = sizeof(struct state),
	    .init = init, .actors = {owner, thief, server}, .results = 1,
	    .outcomes = {{"0", ACCEPTABLE, "every history runs to its end"}});
