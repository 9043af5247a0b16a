/* SPDX-License-Identifier: Apache-2.0
 * graph_list.h - an execution as a list of steps, as far as it has been listed.
 *
 * Spec  none.  Evidence  tests/judge/explore/test_minimal.py. */
#ifndef WP_EXPLORER_GRAPH_LIST_H
#define WP_EXPLORER_GRAPH_LIST_H

#include "graph.h"

/* Nodes first .. end - 1 of a thread: one event of the example; a token is none. */
typedef struct explore_block {
	int thread, first, end;
} explore_block;

typedef struct explore_list {
	const explore_search *search;
	const explore_graph *graph;
	int16_t done[EXPLORE_THREADS]; /* nodes */
	int16_t event_of[EXPLORE_NODES];
	explore_event *events;
	int count;
} explore_list;

/* How a step may be listed next. */
enum explore_readiness { NOT_READY, READY, IN_TURN }; /* ready: what it reads from is listed */

explore_block explore_next_block(const explore_list *list, int thread); /* empty: none is left */
enum explore_readiness explore_readiness(const explore_list *list, const explore_block *block);

/* graph_order.c: threads in an order with the fewest switches, one per block, for a list that is
 * empty. Gives how many switches there are, and twice as many steps out of turn; -1: not fewer than
 * `below`, or not found. */
enum { EXPLORE_ORDER_MOST = 1024 };
int explore_order(const explore_list *list, int below, uint8_t order[EXPLORE_NODES + 1]);

/* graph_shrink.c: what of a race or a failed assertion is needed; NULL: all. To be given back. */
explore_graph *explore_shrunk(explore_search *search, const explore_graph *graph,
			      enum explore_verdict verdict);

#endif
