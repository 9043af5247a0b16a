/* SPDX-License-Identifier: Apache-2.0
 * graph_clocks.c - the predecessors of a node as vector clocks: causes, happens-before, release
 * sequences, fences.
 *
 *   begin_clocks, set_marks    from the previous node of the thread
 *   set_released               the clock that an acquiring reader of a write joins
 *   set_fences                 the fences that happen before the node
 *
 * Why it works  The clocks of a node are functions of older nodes. They are set when the node is
 *               added or is given another source, and never undone.
 * Paper         RC11: Lahav, Vafeiadis, Kang, Hur, Dreyer, PLDI 2017.
 * Spec          none.
 * Evidence      tests/corpus/litmus. */
#include "graph.h"

#include <string.h>

/* The clocks before a source is known: those of the previous node of the thread, and the node
 * itself. */
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

/* C11: later writes of the same thread continue the release sequence of a release write. */
static void continue_release(const explore_graph *graph, explore_node *write)
{
	for (int i = write->index - 1; i >= 0; i--) {
		const explore_node *head = explore_nth(graph, write->thread, i);

		if (head->place == write->place && explore_is_write(head) && !head->is_plain &&
		    explore_releases(head->order)) {
			explore_join(&write->released, &head->ordered);
			return; /* earlier heads happen before this one */
		}
	}
}

/* The clock that an acquiring reader of this write joins. */
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

/* Numbers of the thread's last fences and strong nodes, as the order of seq_cst needs them. */
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

/* The fences among the nodes of the clock. */
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
