/* SPDX-License-Identifier: Apache-2.0
 * explored.c - the scenario of the explorer's rows: the run queue, two producers and a consumer.
 *
 *   producer a          producer b          consumer          result: "nodes taken"
 *   push, three times   push, three times   pop, six times
 *
 * It is larger than stress/scenarios/queue/mpsc.c, so that the time is spent on graphs and not on
 * the first run of the code. */
#include "queue/mpsc.h"
#include "stress.h"

enum { EACH = 3, NODES = 2 * EACH };

struct state {
	wp_mpsc queue;
	wp_mpsc_node nodes[NODES];
};

static void init(void *at)
{
	wp_mpsc_init(&((struct state *)at)->queue);
}

static void push_all(struct state *state, int first)
{
	for (int i = first; i < first + EACH; i++)
		wp_mpsc_push(&state->queue, &state->nodes[i]);
}

static void producer_a(void *at, stress_result *result)
{
	(void)result;
	push_all(at, 0);
}

static void producer_b(void *at, stress_result *result)
{
	(void)result;
	push_all(at, EACH);
}

static void consumer(void *at, stress_result *result)
{
	for (int tries = 0; tries < NODES; tries++)
		result->r[0] += wp_mpsc_pop(&((struct state *)at)->queue) != NULL;
}

STRESS_TEST(explored, .claim = "None: this one measures the explorer.", .upholds = "none",
	    .state_size = sizeof(struct state), .init = init,
	    .actors = {producer_a, producer_b, consumer}, .results = 1,
	    .outcomes = {{"*", ACCEPTABLE, "so many were there in time"}});
