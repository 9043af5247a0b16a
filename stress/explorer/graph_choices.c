/* SPDX-License-Identifier: Apache-2.0
 * graph_choices.c - the ways to take a part that has several.
 *
 *   choice      0 .. operand - 1
 *   queueing    sleep until woken, until the deadline, or until a spurious wakeup
 *   waking      each subset of the sleepers, of the size that the wake asks for
 *
 * Spec      none.
 * Evidence  tests/corpus/litmus. */
#include "graph.h"

/* Spurious wakeups of the waits just before, at the same position. Without a bound on them the
 * thread would loop for ever. */
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
		return false; /* it does not sleep */
	return choice == SLEEPS_UNTIL_DEADLINE
		       ? search->options->timeouts && step->has_deadline
		       : search->options->spurious > spurious_so_far(graph, t);
}

/* The set number `choice` of `most` sleepers, in the order of their masks. All sleepers, if they
 * are no more than `most`. */
uint64_t explore_choose_woken(uint64_t sleepers, uint64_t most, int choice)
{
	if ((uint64_t)__builtin_popcountll(sleepers) <= most)
		return sleepers;
	/* subsets, in increasing order */
	for (uint64_t set = 0;; set = (set - sleepers) & sleepers)
		if ((uint64_t)__builtin_popcountll(set) == most && choice-- == 0)
			return set;
}
