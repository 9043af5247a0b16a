/* SPDX-License-Identifier: Apache-2.0
 * graph_revisit.c - the revisit of TruSt: a new write becomes the source of an earlier read.
 *
 *   kept      the nodes that were there when the read was added, and the causes of the write
 *   removed   all others; only if these, and the read, were added in the canonical way
 *
 * Why it works  See graphs.c.
 * Paper         TruSt: Kokologiannakis, Marmanis, Gladstein, Vafeiadis, POPL 2022.
 * Spec          none.
 * Evidence      tests/corpus/litmus, check_duplicates. */
#include "graph.h"

#include <string.h>

/* Was `node` there when `at` was added, or is it a cause of `write`? */
static bool is_earlier(const explore_graph *graph, int node, int at, const explore_node *write)
{
	return node <= at || explore_holds(&write->causes, &graph->nodes[node]);
}

/* Were all writes that follow this one in modification order added later? */
static bool is_end(const explore_graph *graph, int place, int last, int at,
		   const explore_node *write)
{
	int next = last < 0 ? graph->places[place].first : graph->nodes[last].after;

	while (next >= 0 && !is_earlier(graph, next, at, write))
		next = graph->nodes[next].after;
	return next < 0;
}

static bool is_canonical(const explore_graph *graph, int at, const explore_node *write)
{
	const explore_node *node = &graph->nodes[at];

	if (node->has_failed || node->choice)
		return false;
	if (node->place == NOWHERE)
		return true;
	if (explore_is_read(node))
		return (node->source < 0 || is_earlier(graph, node->source, at, write)) &&
		       is_end(graph, node->place, node->source, at, write);
	for (int n = graph->places[node->place].newest; n >= 0; n = graph->nodes[n].older)
		if (graph->nodes[n].source == at && is_earlier(graph, n, at, write))
			return false;
	return is_end(graph, node->place, at, at, write);
}

int explore_first_fixed(const explore_graph *graph, int number)
{
	const explore_node *write = &graph->nodes[number];
	int n = number - 1;

	while (n >= 0 &&
	       (explore_holds(&write->causes, &graph->nodes[n]) || is_canonical(graph, n, write)))
		n--;
	return n;
}

explore_graph *explore_gone_back(explore_search *search, const explore_graph *graph, int *read,
				 int *write)
{
	const explore_clock *causes = &graph->nodes[*write].causes;
	bool keeps[EXPLORE_NODES];
	int16_t numbers[EXPLORE_NODES];
	explore_graph *copy = explore_take(search);

	memset(keeps, true, (size_t)*read + 1);
	for (int n = *read + 1; n < graph->count; n++)
		keeps[n] = explore_holds(causes, &graph->nodes[n]);
	if (!copy || !explore_cut_down(search, graph, copy, keeps, numbers))
		return NULL;
	*read = numbers[*read];
	*write = numbers[*write];
	return copy;
}
