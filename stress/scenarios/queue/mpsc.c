/* SPDX-License-Identifier: Apache-2.0
 * mpsc.c - the run queue: nothing lost, nothing reordered, and the two states between its steps.
 *
 *   producer a        producer b     consumer             `mpsc`: "nodes taken, in order"
 *   push 1, push 2    push 9         pop, three times
 *
 * Why it works  The arbiter takes what the consumer left, so every node that is lost is missed. The
 *               value in a node is written before its push and read after its pop.
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

STRESS_ACTOR(producer_b)
{
	push(state, 2, 9);
}

/* Counts the node and looks at its value: 1 before 2, 9 anywhere. */
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

	/* A broken queue may be a ring. */
	for (int most = 0; most < ENOUGH && (node = wp_mpsc_pop(&state->queue)) != NULL; most++)
		take(state, node, result);
}

STRESS_TEST(mpsc, .claim = "Every node pushed is taken once, each producer's in its order.",
	    .upholds = "Mpsc!NoLoss", .state_size = sizeof(struct state), .init = init,
	    .actors = {producer_a, producer_b, consumer}, .arbiter = take_rest, .results = 2,
	    .outcomes = {
		    {"3,1", ACCEPTABLE, "all three, in order"},
		    {"3,0", FORBIDDEN, "out of order, or a value from before the push"},
		    {"*,*", FORBIDDEN, "a node was lost or taken twice"},
	    });

/* One push, watched from its two ends. Result: "reserved, published, taken". */
STRESS_ACTOR(one_push)
{
	push(state, 0, 1);
}

STRESS_ACTOR(observer)
{
	result->r[0] = !wp_mpsc_is_quiescent(&state->queue);
	result->r[1] = wp_mpsc_has_published(&state->queue);
	result->r[2] = wp_mpsc_pop(&state->queue) != NULL;
}

STRESS_TEST(mpsc_bubble, .claim = "Published means that it can be taken; reserved does not.",
	    .upholds = "Mpsc!EmptyIsTrue", .state_size = sizeof(struct state), .init = init,
	    .actors = {one_push, observer}, .results = 3, .min_samples = 500000,
	    .outcomes = {
		    {"0,0,0", ACCEPTABLE, "before the push"},
		    {"1,0,0", REQUIRED, "the bubble: between reserve and publish"},
		    {"1,0,1", ACCEPTABLE, "the bubble burst before the pop"},
		    {"0,0,1", ACCEPTABLE, "pushed while it was watched"},
		    {"0,1,1", ACCEPTABLE, "pushed between the two questions"},
		    {"1,1,1", ACCEPTABLE, "after the push"},
		    {"*,1,0", FORBIDDEN, "published, and not there"},
	    });

/* One node is there, another is pushed. Result: "first pop got one, taken in all". */
STRESS_INIT(init_one)
{
	init(state);
	push(state, 1, 1);
}

STRESS_ACTOR(pop_once)
{
	result->r[0] = result->r[1] = wp_mpsc_pop(&state->queue) != NULL;
}

STRESS_ACTOR(count_rest)
{
	while (wp_mpsc_pop(&state->queue) != NULL)
		result->r[1]++;
}

STRESS_TEST(mpsc_hostage, .claim = "A hostage is kept until its successor is published.",
	    .upholds = "Mpsc!NoLoss", .state_size = sizeof(struct state), .init = init_one,
	    .actors = {one_push, pop_once}, .arbiter = count_rest, .results = 2,
	    .min_samples = 500000,
	    .outcomes = {
		    {"1,2", ACCEPTABLE, "taken at once"},
		    {"0,2", REQUIRED, "hostage: its cell was handed out and not yet written"},
		    {"*,*", LOST_WORK, "a node was lost"},
	    });

/* Two nodes are there, and one is taken. Result: "taken; something is published all the time". */
STRESS_INIT(init_pair)
{
	init(state);
	push(state, 0, 1);
	push(state, 1, 2);
}

STRESS_ACTOR(take_first)
{
	result->r[0] = wp_mpsc_pop(&state->queue) != NULL;
}

STRESS_ACTOR(asks)
{
	result->r[1] = wp_mpsc_has_published(&state->queue);
}

STRESS_TEST(mpsc_asked, .claim = "A queue that holds a node never looks empty.",
	    .upholds = "Mpsc!EmptyIsTrue", .state_size = sizeof(struct state), .init = init_pair,
	    .actors = {take_first, asks}, .results = 2,
	    .outcomes = {
		    {"1,1", REQUIRED, "one is taken, and the other is seen"},
		    {"*,*", FORBIDDEN, "a node is there, and a carrier may go to sleep beside it"},
	    });
