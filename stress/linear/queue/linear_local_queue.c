/* SPDX-License-Identifier: Apache-2.0
 * linear_local_queue.c - histories of the bounded run queue: calls and returns.
 *
 *   owner, 2 rounds                         thief, once             sibling
 *   call push or keep, with a new node      call steal              call has
 *   push, keep; some with a fence            steal                   check
 *   return what was moved; kept or not      return what it took     return the answer
 *   or: call pop, pop, return what it took
 *
 * Why it works  Calls and returns are steps that touch no memory, so the graph of states contains
 *               every history of these rounds. Node n is the number n; 0 means no node. No push
 *               finds the ring full here: linear_overflow.c covers that case.
 * Spec          judge/linear/objects.py: local_queue. Checked by wakeproof linear -t
 *               local_queue. */
enum { NODES = 2, ROUNDS = 2, STEALS = 1 };
#include "numbered.h"

static void push(struct state *state, unsigned node, bool is_fenced)
{
	uint32_t moved;

	litmus_call(push, node);
	moved = wp_local_queue_push(&state->local, &state->nodes[node - 1], &state->global);
	if (is_fenced)
		wp_fence_seq_cst(); /* [Fence] */
	litmus_return(push, moved);
}

static void keep(struct state *state, unsigned node)
{
	bool kept;

	litmus_call(keep, node);
	kept = wp_local_queue_keep(&state->local, &state->nodes[node - 1]);
	litmus_return(keep, kept);
}

static void pop(struct state *state)
{
	unsigned node;

	litmus_call(pop, 0);
	node = number(state, wp_local_queue_pop(&state->local));
	litmus_return(pop, node);
}

/* Each round pushes or keeps a new node, or pops one. */
static void own(struct state *state, bool is_fenced)
{
	unsigned node = 0;

	for (int round = 0; round < ROUNDS; round++) {
		unsigned what = litmus_choose(3); /* [What] */

		if (what == 0)
			pop(state);
		else if (what == 1)
			push(state, ++node, is_fenced);
		else
			keep(state, ++node);
	}
}

STRESS_ACTOR_CALL(owner, own(state, false))
STRESS_ACTOR_CALL(fenced_owner, own(state, true))

STRESS_ACTOR(thief)
{
	for (int round = 0; round < STEALS; round++) {
		wp_mpsc_node *first = NULL;
		unsigned node;

		litmus_call(steal, 0);
		wp_local_queue_steal(&state->local, &state->own, &first);
		node = number(state, first);
		litmus_return(steal, node);
	}
}

STRESS_ACTOR(sibling)
{
	for (int round = 0; round < STEALS; round++) {
		bool answer;

		litmus_call(has, 0);
		answer = wp_local_queue_stealable(&state->local) > 0;
		litmus_return(has, answer);
	}
}

STRESS_TEST(
	linear_local_queue,
	.claim = "Pushes, pops and steals take effect at linearization points inside the calls.",
	.upholds = "LocalQueue!FifoPerOwner", .state_size = sizeof(struct state), .init = init,
	.actors = {owner, thief, thief}, .results = 1,
	.outcomes = {{"0", ACCEPTABLE, "every history runs to its end"}});
STRESS_TEST(linear_local_queue_fenced,
	    .claim = "Operations take effect inside their calls where a fence ends each push.",
	    .upholds = "LocalQueue!FifoPerOwner", .state_size = sizeof(struct state), .init = init,
	    .actors = {fenced_owner, thief, thief}, .results = 1,
	    .outcomes = {{"0", ACCEPTABLE, "every history runs to its end"}});
STRESS_TEST(linear_local_queue_asked,
	    .claim = "A sibling's check of the ring also takes effect inside its call.",
	    .upholds = "LocalQueue!EmptyIsTrue", .state_size = sizeof(struct state), .init = init,
	    .actors = {owner, thief, sibling}, .results = 1,
	    .outcomes = {{"0", ACCEPTABLE, "every history runs to its end"}});
