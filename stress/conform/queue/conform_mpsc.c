/* SPDX-License-Identifier: Apache-2.0
 * conform_mpsc.c - the threads of specs/queue/Mpsc.tla: three producers, a consumer and a sibling.
 *
 *   producer, for ever          consumer, for ever       sibling, for ever
 *   take any free node, push    pop; free the node       how much is published?
 *
 * Why it works  A word per node says whether the node is free, so a producer that pushes a node has
 *               it to itself.
 * Spec          specs/queue/Mpsc.tla. Compared by wakeproof conform -t mpsc. */
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

STRESS_ACTOR(producer)
{
	for (;;) {
		unsigned node = litmus_choose(NODES); /* [Node] */
		uint64_t no = 0;

		if (litmus_cas(&state->is_used[node], &no, 1, relaxed, relaxed)) /* [Own] */
			wp_mpsc_push(&state->queue, &state->nodes[node]);
	}
}

STRESS_ACTOR(consumer)
{
	for (;;) {
		wp_mpsc_node *node = wp_mpsc_pop(&state->queue);

		if (node == NULL)
			continue;
		litmus_store(&state->is_used[node - state->nodes], 0, relaxed); /* [GiveAway] */
	}
}

STRESS_ACTOR(sibling)
{
	for (;;)
		wp_mpsc_published(&state->queue);
}

STRESS_TEST(conform_mpsc, .claim = "The compiled queue is the specified one.",
	    .upholds = "Mpsc!Fifo", .state_size = sizeof(struct state), .init = init,
	    .actors = {consumer, sibling, producer, producer, producer}, .results = 1,
	    .outcomes = {{"stuck", ACCEPTABLE, "they go on for ever"}});
STRESS_TEST(conform_mpsc_two, .claim = "So it is with two producers.", .upholds = "Mpsc!Fifo",
	    .state_size = sizeof(struct state), .init = init,
	    .actors = {consumer, sibling, producer, producer}, .results = 1,
	    .outcomes = {{"stuck", ACCEPTABLE, "they go on for ever"}});
