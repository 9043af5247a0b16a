/* SPDX-License-Identifier: Apache-2.0
 * graph_shrink.c - the part of an execution that its outcome needs.
 *
 *   race        the causes of the two accesses; of several races, the one with the fewest threads,
 *               and of these the one with the fewest nodes
 *   assertion   the causes of the last step of the thread that failed
 *   others      everything: the outcome says how all threads ended, or that none can go on
 *
 * Why it works  The predecessors of a node by program order and reads-from can be executed without
 *               the rest, as in graph_copy.c. A step that was begun is kept to its end.
 * Spec          none.
 * Evidence      tests/judge/explore/test_minimal.py. */
#include "graph_list.h"

static bool is_in_the_middle(const explore_node *node)
{
	return (node->part == PART_READ && node->is_followed) || node->part == PART_COMPARE ||
	       node->part == PART_QUEUE_READ || node->part == PART_LEAVE_READ;
}

static void end_steps(const explore_graph *graph, explore_clock *kept)
{
	bool has_changed = true;

	while (has_changed) {
		has_changed = false;
		for (int t = 0; t < EXPLORE_THREADS; t++) {
			int count = kept->at[t];

			if (!count || count == graph->threads[t].count ||
			    !is_in_the_middle(explore_nth(graph, t, count - 1)))
				continue;
			explore_join(kept, &explore_nth(graph, t, count)->causes);
			has_changed = true;
		}
	}
}

/* The size of a part: by threads, then by nodes. */
static int size_of(const explore_clock *kept)
{
	int threads = 0, nodes = 0;

	for (int t = 0; t < EXPLORE_THREADS; t++) {
		threads += kept->at[t] > 0;
		nodes += kept->at[t];
	}
	return threads * EXPLORE_NODES + nodes;
}

static void choose(const explore_graph *graph, explore_clock kept, explore_clock *best)
{
	end_steps(graph, &kept);
	if (!size_of(best) || size_of(&kept) < size_of(best))
		*best = kept;
}

static void find_race(const explore_graph *graph, explore_clock *best)
{
	for (int n = 0; n < graph->count; n++) {
		const explore_node *plain = &graph->nodes[n], *other;

		if (!plain->is_plain)
			continue;
		for (int m = graph->places[plain->place].newest; m >= 0; m = other->older) {
			explore_clock kept = plain->causes;

			other = &graph->nodes[m];
			explore_join(&kept, &other->causes);
			if (explore_conflict(plain, other))
				choose(graph, kept, best);
		}
	}
}

static void find_failure(const explore_graph *graph, explore_clock *best)
{
	for (int t = 0; t < EXPLORE_THREADS; t++)
		if (graph->threads[t].status == THREAD_FAILED && graph->threads[t].count)
			choose(graph, graph->nodes[graph->threads[t].last].causes, best);
}

explore_graph *explore_shrunk(explore_search *search, const explore_graph *graph,
			      enum explore_verdict verdict)
{
	explore_clock kept = {{0}};
	bool keeps[EXPLORE_NODES];
	int16_t numbers[EXPLORE_NODES];
	explore_graph *part;

	if (verdict == EXPLORE_RACE)
		find_race(graph, &kept);
	else if (explore_is_failure(verdict))
		find_failure(graph, &kept);
	part = size_of(&kept) ? explore_take(search) : NULL;
	if (!part)
		return NULL;
	for (int n = 0; n < graph->count; n++)
		keeps[n] = explore_holds(&kept, &graph->nodes[n]);
	explore_cut_down(search, graph, part, keeps, numbers);
	return part;
}
