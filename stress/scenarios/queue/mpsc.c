/* SPDX-License-Identifier: Apache-2.0
 * mpsc.c - the run queue loses and reorders nothing, even between the two steps of a push.
 *
 *   producer a        producer b     consumer
 *   push 1, push 2    push 9         pop, three times
 *
 * Result        `mpsc`, `mpsc_many`: "nodes taken, in order".
 * Why it works  The arbiter takes what the consumer left, so a lost node shows. The value in a node
 *               is written before its push and read after its pop.
 * Spec          specs/queue/Mpsc.tla. */
#include "queue/mpsc.h"
#include "stress.h"

enum { NODES = 3, ENOUGH = 8 };

struct item {
	wp_mpsc_node node;
	uint32_t value;
};

struct state {
	wp_mpsc queue;
	struct item items[NODES];
	uint32_t last_of_a;
};

STRESS_INIT(init)
{
	wp_mpsc_init(&state->queue);
}

static void push(struct state *state, int item, uint32_t value)
{
	state->items[item].value = value;
	wp_mpsc_push(&state->queue, &state->items[item].node);
}

STRESS_ACTOR(producer_a)
{
	push(state, 0, 1);
	push(state, 1, 2);
}

STRESS_ACTOR_CALL(producer_b, push(state, 2, 9))

/* Counts the node and checks its value: 1 comes before 2, 9 anywhere. */
static void take(struct state *state, wp_mpsc_node *node, stress_result *result)
{
	uint32_t value = ((struct item *)(void *)node)->value;

	result->r[0]++;
	if (value != 9 && value != ++state->last_of_a)
		result->r[1] = 0;
}

STRESS_ACTOR(consumer)
{
	result->r[1] = 1;
	for (int tries = 0; tries < NODES; tries++) {
		wp_mpsc_node *node = wp_mpsc_pop(&state->queue);

		if (node != NULL)
			take(state, node, result);
	}
}

STRESS_ACTOR(take_rest)
{
	wp_mpsc_node *node;

	/* A broken queue may be a cycle, so the loop is bounded. */
	for (int most = 0; most < ENOUGH && (node = wp_mpsc_pop(&state->queue)) != NULL; most++)
		take(state, node, result);
}

STRESS_TEST(mpsc,
	    .claim = "Every pushed node is taken once, and each producer's nodes in its order.",
	    .upholds = "Mpsc!NoLoss", .state_size = sizeof(struct state), .init = init,
	    .actors = {producer_a, producer_b, consumer}, .arbiter = take_rest, .results = 2,
	    .outcomes = {
		    {"3,1", ACCEPTABLE, "all three nodes were taken, in order"},
		    {"3,0", FORBIDDEN,
		     "nodes came out of order, or with a value from before the push"},
		    {"*,*", FORBIDDEN, "a node was lost or taken twice"},
	    });

/* The same with a consumer that takes several in one call: it leaves the last one, and comes again.
 */
STRESS_ACTOR(consumer_of_many)
{
	wp_mpsc_node *nodes[NODES];

	result->r[1] = 1;
	for (int tries = 0; tries < 2; tries++) {
		size_t count = wp_mpsc_pop_many(&state->queue, nodes, NODES);

		for (size_t at = 0; at < count; at++)
			take(state, nodes[at], result);
	}
}

STRESS_TEST(mpsc_many, .claim = "So it is for a consumer that takes several nodes in one call.",
	    .upholds = "Mpsc!NoLoss", .state_size = sizeof(struct state), .init = init,
	    .actors = {producer_a, producer_b, consumer_of_many}, .arbiter = take_rest,
	    .results = 2,
	    .outcomes = {
		    {"3,1", ACCEPTABLE, "all three nodes were taken, in order"},
		    {"3,0", FORBIDDEN,
		     "nodes came out of order, or with a value from before the push"},
		    {"*,*", FORBIDDEN, "a node was lost or taken twice"},
	    });

/* One push is watched from both ends of the queue. Result: "reserved, published, taken". */
STRESS_ACTOR_CALL(one_push, push(state, 0, 1))

STRESS_ACTOR(observer)
{
	result->r[0] = !wp_mpsc_is_quiescent(&state->queue);
	result->r[1] = wp_mpsc_has_published(&state->queue);
	result->r[2] = wp_mpsc_pop(&state->queue) != NULL;
}

STRESS_TEST(mpsc_bubble, .claim = "A published node can be taken; a reserved one perhaps not yet.",
	    .upholds = "Mpsc!EmptyIsTrue", .state_size = sizeof(struct state), .init = init,
	    .actors = {one_push, observer}, .results = 3, .min_samples = 500000,
	    .outcomes = {
		    {"0,0,0", ACCEPTABLE, "both checks came before the push"},
		    {"1,0,0", REQUIRED,
		     "the bubble: the push has reserved its cell, and not yet published it"},
		    {"1,0,1", ACCEPTABLE, "the bubble closed before the pop"},
		    {"0,0,1", ACCEPTABLE, "the push came after both checks"},
		    {"0,1,1", ACCEPTABLE, "the push came between the two checks"},
		    {"1,1,1", ACCEPTABLE, "both checks came after the push"},
		    {"*,1,0", FORBIDDEN, "the node is published, and cannot be taken"},
	    });

/* One node is in the queue while another is pushed. Result: "first pop got one, taken in all". */
STRESS_INIT(init_one)
{
	init(state);
	push(state, 1, 1);
}

STRESS_ACTOR_CALL(pop_once, result->r[0] = result->r[1] = wp_mpsc_pop(&state->queue) != NULL)

STRESS_ACTOR(count_rest)
{
	while (wp_mpsc_pop(&state->queue) != NULL)
		result->r[1]++;
}

STRESS_TEST(mpsc_hostage,
	    .claim = "The last node stays until its successor is published (a stalled push).",
	    .upholds = "Mpsc!NoLoss", .state_size = sizeof(struct state), .init = init_one,
	    .actors = {one_push, pop_once}, .arbiter = count_rest, .results = 2,
	    .min_samples = 500000,
	    .outcomes = {
		    {"1,2", ACCEPTABLE, "a node was taken at once"},
		    {"0,2", REQUIRED, "a stalled push: its cell was reserved and not yet written"},
		    {"*,*", LOST_WORK, "a node was lost"},
	    });

/* Two nodes are in the queue, and one is taken. Result: "taken; some node is published all the
 * time". */
STRESS_INIT(init_pair)
{
	init(state);
	push(state, 0, 1);
	push(state, 1, 2);
}

STRESS_ACTOR_CALL(take_first, result->r[0] = wp_mpsc_pop(&state->queue) != NULL)
STRESS_ACTOR_CALL(asks, result->r[1] = wp_mpsc_has_published(&state->queue))

STRESS_TEST(mpsc_asked, .claim = "A queue that holds a node never looks empty.",
	    .upholds = "Mpsc!EmptyIsTrue", .state_size = sizeof(struct state), .init = init_pair,
	    .actors = {take_first, asks}, .results = 2,
	    .outcomes = {
		    {"1,1", REQUIRED, "one node is taken, and the other is seen"},
		    {"*,*", FORBIDDEN, "a node is there, and a carrier may go to sleep beside it"},
	    });
