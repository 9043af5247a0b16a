/* SPDX-License-Identifier: Apache-2.0
 * graph_choices.c - the ways to take a part that has several: choices, how to sleep, whom to wake.
 *
 *   choice            0 .. operand - 1
 *   queueing          until woken | until the deadline | until a spurious wakeup
 *   waking            each set of as many sleepers as may be woken
 *
 * Spec  none.  Evidence  tests/corpus/litmus. */
#include "graph.h"

/* Of the waits just before, at the same position: more would let it loop for ever. */
static int spurious_so_far(const explore_graph *graph, int t)
{
	int count = 0;

	for (int i = graph->threads[t].count - 1; i >= 0; i--) {
		const explore_node *node = explore_nth(graph, t, i);

		if (node->part != PART_QUEUE_WRITE || node->kind != EXPLORE_WAIT)
			continue;
		if (node->choice != SLEEPS_UNTIL_SPURIOUS ||
		    node->position != graph->threads[t].position)
			break;
		count++;
	}
	return count;
}

static int ways_to_choose(int from, int many)
{
	int ways = 1;

	for (int i = 1; i <= many; i++)
		ways = ways * (from - many + i) / i;
	return ways;
}

static bool is_queueing(const explore_graph *graph, int t)
{
	return graph->threads[t].phase == PART_QUEUE_WRITE;
}

int explore_choices(const explore_graph *graph, int t, const explore_step *step)
{
	const explore_node *last = &graph->nodes[graph->threads[t].last];
	int sleepers;

	if (step->kind == EXPLORE_CHOOSE)
		return step->operand < INT16_MAX ? (int)step->operand : INT16_MAX;
	if (!is_queueing(graph, t))
		return 1;
	if (step->kind == EXPLORE_WAIT)
		return SLEEPS_UNTIL_SPURIOUS + 1;
	sleepers = __builtin_popcountll(last->value);
	return ways_to_choose(sleepers,
			      step->operand < (uint64_t)sleepers ? (int)step->operand : sleepers);
}

bool explore_may_choose(const explore_search *search, const explore_graph *graph, int t,
			const explore_step *step, int choice)
{
	if (!choice || !is_queueing(graph, t) || step->kind == EXPLORE_WAKE)
		return true;
	if (explore_nth(graph, t, graph->threads[t].count - 2)->value !=
	    explore_cut(step, step->expected))
		return false; /* does not sleep */
	return choice == SLEEPS_UNTIL_DEADLINE
		       ? search->options->timeouts && step->has_deadline
		       : search->options->spurious > spurious_so_far(graph, t);
}

/* The `choice`th set of `most` sleepers, in the order of their masks; all of them if fewer. */
uint64_t explore_choose_woken(uint64_t sleepers, uint64_t most, int choice)
{
	if ((uint64_t)__builtin_popcountll(sleepers) <= most)
		return sleepers;
	for (uint64_t set = 0;; set = (set - sleepers) & sleepers) /* subsets, in order */
		if ((uint64_t)__builtin_popcountll(set) == most && choice-- == 0)
			return set;
}
