/* SPDX-License-Identifier: Apache-2.0
 * graph_clocks.c - what precedes a node, as clocks: causes, happens-before, releases, fences.
 *
 *   begin_clocks, set_marks    from its thread's previous node
 *   set_released               what an acquiring reader of a write gets
 *   set_fences                 which fences happen before it
 *
 * Why it works  A node's clocks are functions of nodes that were there before it, so they are set
 *               once it is there, or reads from another source, and never undone.
 * Spec          none: RC11, PLDI 2017.  Evidence  tests/corpus/litmus. */
#include "graph.h"

#include <string.h>

/* Before a source is known: as its thread's previous node, and itself. */
void explore_begin_clocks(const explore_graph *graph, explore_node *node)
{
	const explore_node *previous = explore_previous(graph, node);

	if (previous) {
		node->causes = previous->causes;
		node->ordered = *explore_kept(previous);
		node->pending = previous->pending;
	} else {
		memset(&node->causes, 0, sizeof(node->causes));
		memset(&node->ordered, 0, sizeof(node->ordered));
		memset(&node->pending, 0, sizeof(node->pending));
	}
	node->causes.at[node->thread] = (int16_t)(node->index + 1);
	node->ordered.at[node->thread] = (int16_t)(node->index + 1);
}

/* C11: a release write is continued by later writes of its thread. */
static void continue_release(const explore_graph *graph, explore_node *write)
{
	for (int i = write->index - 1; i >= 0; i--) {
		const explore_node *head = explore_nth(graph, write->thread, i);

		if (head->place == write->place && explore_is_write(head) && !head->is_plain &&
		    explore_releases(head->order)) {
			explore_join(&write->released, &head->ordered);
			return; /* earlier ones are ordered before it */
		}
	}
}

/* What an acquiring reader of this write gets. */
void explore_set_released(const explore_search *search, const explore_graph *graph,
			  explore_node *write)
{
	const explore_node *read = explore_previous(graph, write);

	memset(&write->released, 0, sizeof(write->released));
	if (write->is_plain)
		return;
	if (write->part != PART_WRITE || explore_releases(write->order))
		write->released = write->ordered;
	else if (write->release_fence)
		write->released =
			explore_nth(graph, write->thread, write->release_fence - 1)->ordered;
	if (search->options->c11_release_sequence && write->part == PART_WRITE)
		continue_release(graph, write);
	if (!write->is_update)
		return;
	if (read->source >= 0)
		explore_join(&write->released, &graph->nodes[read->source].released);
}

/* What its thread has done so far, as far as the order of seq_cst wants to know it. */
void explore_set_marks(const explore_graph *graph, explore_node *node)
{
	const explore_node *previous = explore_previous(graph, node);
	int16_t here = (int16_t)(node->index + 1);
	bool is_fence = node->part == PART_FENCE;

	node->release_fence = previous ? previous->release_fence : 0;
	node->strong = previous ? previous->strong : 0;
	node->heavy = previous ? previous->heavy : 0;
	node->light = previous ? previous->light : 0;
	node->elsewhere = previous && previous->place == node->place && node->place != NOWHERE
				  ? previous->elsewhere
				  : node->index;
	if (is_fence && node->kind != EXPLORE_LIGHT_FENCE && explore_releases(node->order))
		node->release_fence = here;
	if (node->is_strong)
		node->strong = here;
	if (node->is_strong && is_fence)
		node->heavy = here;
	if (is_fence && node->kind == EXPLORE_LIGHT_FENCE)
		node->light = here;
}

/* The fences of its clock. */
void explore_set_fences(const explore_search *search, const explore_graph *graph,
			explore_node *node)
{
	if (search->options->model != EXPLORE_RC11 || !search->has_fences)
		return;
	for (int t = 0; t < EXPLORE_THREADS; t++) {
		int count = node->ordered.at[t];
		const explore_node *last = count ? explore_nth(graph, t, count - 1) : NULL;

		if (t == node->thread)
			last = node; /* may not be in the list yet */
		node->heavies.at[t] = last ? last->heavy : 0;
		node->lights.at[t] = last ? last->light : 0;
	}
}
