/* SPDX-License-Identifier: Apache-2.0
 * graph_list.h - an execution as a list of steps, while the list is being built.
 *
 * Spec      none.
 * Evidence  tests/judge/explore/test_minimal.py. */
#ifndef WP_EXPLORER_GRAPH_LIST_H
#define WP_EXPLORER_GRAPH_LIST_H

#include "graph.h"

/* Nodes first .. end - 1 of a thread. They are one event of the example; a token is no event. */
typedef struct explore_block {
	int thread, first, end;
} explore_block;

typedef struct explore_list {
	const explore_search *search;
	const explore_graph *graph;
	int16_t done[EXPLORE_THREADS]; /* nodes that are listed */
	int16_t event_of[EXPLORE_NODES];
	explore_event *events;
	int count;
} explore_list;

/* Whether a step may be listed next. */
/* READY: the nodes that it reads from are listed */
enum explore_readiness { NOT_READY, READY, IN_TURN };

explore_block explore_next_block(const explore_list *list, int thread); /* empty: none is left */
enum explore_readiness explore_readiness(const explore_list *list, const explore_block *block);

/* graph_order.c: writes an order of threads with the fewest switches, one thread per block, for a
 * list that is still empty. Returns the number of switches plus twice the number of steps out of
 * turn; -1: no order with a cost below `below` was found. */
enum { EXPLORE_ORDER_MOST = 1024 };
int explore_order(const explore_list *list, int below, uint8_t order[EXPLORE_NODES + 1]);

/* graph_shrink.c: the part of the graph that a race or a failed assertion needs. NULL: all of it.
 * The caller gives the graph back. */
explore_graph *explore_shrunk(explore_search *search, const explore_graph *graph,
			      enum explore_verdict verdict);

#endif
