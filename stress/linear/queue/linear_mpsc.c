/* SPDX-License-Identifier: Apache-2.0
 * linear_mpsc.c - endless histories of the run queue: calls and returns.
 *
 *   producer                      consumer                sibling
 *   take any free node n          call pop                call is_published, or is_quiescent
 *   call push n                   pop                     check
 *   push; some producers          return what it took     return the answer
 *   add a fence                   its node is free again
 *   return
 *
 * Why it works  Calls and returns are steps that touch no memory, so the graph of states contains
 *               every history of these threads, of any length. Node n is the number n; 0 means no
 *               node.
 * Spec          judge/linear/objects.py: MPSC. Checked by wakeproof linear -t mpsc. */
#include "litmus.h"
#include "queue/mpsc.h"
#include "stress.h"

enum { NODES = 3 };

struct state {
	wp_mpsc queue;
	_Alignas(WP_LINE) wp_mpsc_node nodes[NODES];
	_Alignas(WP_LINE) wp_atomic(uint64_t) is_used[NODES];
};

STRESS_INIT(init)
{
	wp_mpsc_init(&state->queue);
}

/* Takes one of the first `nodes` nodes that is free, and returns its number; 0 if it was not
 * free. */
static unsigned own_any(struct state *state, unsigned nodes)
{
	unsigned node = litmus_choose(nodes); /* [Node] */
	uint64_t no = 0;
	bool is_ours = litmus_cas(&state->is_used[node], &no, 1, relaxed, relaxed); /* [Own] */

	return is_ours ? node + 1 : 0;
}

_Noreturn static void produce(struct state *state, unsigned nodes, bool is_fenced)
{
	for (;;) {
		unsigned node = own_any(state, nodes);

		if (!node)
			continue;
		litmus_call(push, node);
		wp_mpsc_push(&state->queue, &state->nodes[node - 1]);
		if (is_fenced)
			wp_fence_seq_cst(); /* [Fence] */
		litmus_return(push, 0);
	}
}

STRESS_ACTOR_CALL(producer, produce(state, NODES, false))
STRESS_ACTOR_CALL(producer_of_two, produce(state, 2, false))

/* Pushes with a fence, as a caller does that will check next whether a thread sleeps. */
STRESS_ACTOR_CALL(fenced_producer, produce(state, 2, true))

/* The twin reports an empty queue where more than one node waits. */
static wp_mpsc_node *pop(struct state *state)
{
	if (wp_twin(linear_shy_pop) && wp_mpsc_published(&state->queue) == 2)
		return NULL;
	return wp_mpsc_pop(&state->queue);
}

STRESS_ACTOR(consumer)
{
	for (;;) {
		wp_mpsc_node *node;
		uint64_t number;

		litmus_call(pop, 0);
		node = pop(state);
		number = node ? (uint64_t)(node - state->nodes) + 1 : 0;
		litmus_return(pop, number);
		if (node)
			litmus_store(&state->is_used[number - 1], 0, relaxed); /* [GiveAway] */
	}
}

STRESS_ACTOR(sibling)
{
	for (;;) {
		bool answer;

		litmus_call(is_published, 0);
		answer = wp_mpsc_has_published(&state->queue);
		litmus_return(is_published, answer);
		litmus_call(is_quiescent, 0);
		answer = wp_mpsc_is_quiescent(&state->queue);
		litmus_return(is_quiescent, answer);
	}
}

STRESS_TEST(linear_mpsc,
	    .claim = "Pushes and pops take effect at linearization points inside the calls.",
	    .upholds = "Mpsc!Fifo", .state_size = sizeof(struct state), .init = init,
	    .actors = {consumer, producer, producer}, .results = 1,
	    .outcomes = {{"stuck", ACCEPTABLE, "the threads go on for ever"}});
STRESS_TEST(linear_mpsc_two,
	    .claim = "Pushes and pops of two nodes take effect inside their calls.",
	    .upholds = "Mpsc!Fifo", .state_size = sizeof(struct state), .init = init,
	    .actors = {consumer, producer_of_two, producer_of_two}, .results = 1,
	    .outcomes = {{"stuck", ACCEPTABLE, "the threads go on for ever"}});
STRESS_TEST(linear_mpsc_fenced, .claim = "Pushes that a fence ends take effect inside their calls.",
	    .upholds = "Mpsc!Fifo", .state_size = sizeof(struct state), .init = init,
	    .actors = {consumer, fenced_producer, fenced_producer}, .results = 1,
	    .outcomes = {{"stuck", ACCEPTABLE, "the threads go on for ever"}});
STRESS_TEST(linear_mpsc_asked,
	    .claim = "A sibling's checks of the queue also take effect inside their calls.",
	    .upholds = "Mpsc!EmptyIsTrue", .state_size = sizeof(struct state), .init = init,
	    .actors = {consumer, producer_of_two, producer_of_two, sibling}, .results = 1,
	    .outcomes = {{"stuck", ACCEPTABLE, "the threads go on for ever"}});
