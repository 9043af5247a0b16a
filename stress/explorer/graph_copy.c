/* SPDX-License-Identifier: Apache-2.0
 * graph_copy.c - memory for graphs, and copies of the nodes that a change keeps.
 *
 *   take -> cut_down -> ... -> give_back     the copies on the path of the search form a stack
 *
 * Why it works  The kept nodes are downward closed under program order and reads-from, so their
 *               clocks stay valid. Only the numbers change, because a number says when its node was
 *               added.
 * Spec          none.
 * Evidence      tests/corpus/litmus. */
#include "graph.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_ROOM = 64 };

bool explore_fail(explore_search *search, const char *format, ...)
{
	va_list arguments;

	search->is_over = true;
	if (*search->report->error)
		return false;
	va_start(arguments, format);
	vsnprintf(search->report->error, sizeof(search->report->error), format, arguments);
	va_end(arguments);
	return false;
}

bool explore_make_room(explore_search *search, explore_graph *graph, int room)
{
	explore_node *nodes = realloc(graph->nodes, (size_t)room * sizeof(*nodes));

	if (!nodes)
		return explore_fail(search, "out of memory");
	graph->nodes = nodes;
	for (int t = 0; t < search->program->threads; t++) {
		int16_t *numbers = realloc(graph->numbers[t], (size_t)room * sizeof(*numbers));

		if (!numbers)
			return explore_fail(search, "out of memory");
		graph->numbers[t] = numbers;
	}
	search->bytes += (uint64_t)(room - graph->room) *
			 (sizeof(*nodes) + (size_t)search->program->threads * sizeof(int16_t));
	graph->room = room;
	return true;
}

static bool more_graphs(explore_search *search)
{
	int room = search->graphs_room ? 2 * search->graphs_room : 16;
	explore_graph **graphs = realloc(search->graphs, (size_t)room * sizeof(*graphs));

	if (!graphs)
		return explore_fail(search, "out of memory");
	search->graphs = graphs;
	memset(graphs + search->graphs_room, 0,
	       (size_t)(room - search->graphs_room) * sizeof(*graphs));
	search->graphs_room = room;
	return true;
}

explore_graph *explore_take(explore_search *search)
{
	explore_graph **at;

	if (search->graphs_count == search->graphs_room && !more_graphs(search))
		return NULL;
	at = &search->graphs[search->graphs_count];
	if (!*at) {
		*at = calloc(1, sizeof(**at));
		if (!*at) {
			explore_fail(search, "out of memory");
			return NULL;
		}
		search->bytes += sizeof(**at);
		if (!explore_make_room(search, *at, FIRST_ROOM))
			return NULL;
	}
	search->graphs_count++;
	explore_reset(*at);
	return *at;
}

void explore_reset(explore_graph *graph)
{
	graph->count = graph->places_count = graph->threads_count = 0;
	graph->strong_count = graph->light_count = graph->plain_count = graph->heavy_count = 0;
	for (int t = 0; t < EXPLORE_THREADS; t++) { /* also threads that the program lacks */
		graph->threads[t] = (explore_thread){.last = NOWHERE, .status = THREAD_ENDED};
		graph->creates[t] = graph->ends[t] = NOWHERE;
	}
}

void explore_give_back(explore_search *search)
{
	search->graphs_count--;
}

/* Copies. */

/* Nodes are copied in runs: the compiler copies one node by an instruction that takes longer to start
 * than to copy. */
static void copy_nodes(const explore_graph *from, explore_graph *to, const bool *keeps,
		       int16_t *numbers)
{
	for (int i = 0, first; i < from->count;) {
		for (; i < from->count && !keeps[i]; i++)
			numbers[i] = NOWHERE;
		for (first = i; i < from->count && keeps[i]; i++)
			numbers[i] = (int16_t)(to->count + i - first);
		memcpy(&to->nodes[to->count], &from->nodes[first],
		       (size_t)(i - first) * sizeof(*to->nodes));
		to->count += i - first;
	}
}

/* Sets what depends on the numbers of nodes, and counts them. */
static void number_nodes(explore_graph *to, const int16_t *numbers)
{
	for (int i = 0; i < to->count; i++) {
		explore_node *node = &to->nodes[i];

		if (node->source >= 0)
			node->source = numbers[node->source];
		explore_count_node(to, node, 1);
		explore_note_link(to, node, i);
		to->numbers[node->thread][node->index] = (int16_t)i;
		if (node->place != NOWHERE) {
			node->older = to->places[node->place].newest;
			to->places[node->place].newest = (int16_t)i;
		}
	}
}

static void copy_order(const explore_graph *from, explore_graph *to, const int16_t *numbers)
{
	for (int p = 0; p < from->places_count; p++) {
		int after = FROM_INITIAL;

		for (int w = from->places[p].first; w >= 0; w = from->nodes[w].after)
			if (numbers[w] >= 0) {
				to->nodes[numbers[w]].after = NOWHERE;
				explore_insert(to, numbers[w], after);
				after = numbers[w];
			}
	}
}

static void copy_threads(const explore_graph *from, explore_graph *to, int threads,
			 const bool *keeps)
{
	for (int t = 0; t < threads; t++) {
		explore_thread *thread = &to->threads[t];
		const explore_node *lost = NULL;
		int kept = 0;

		while (kept < from->threads[t].count && keeps[from->numbers[t][kept]])
			kept++;
		*thread = from->threads[t];
		if (kept == thread->count) {
			thread->last = kept ? to->numbers[t][kept - 1] : NOWHERE;
			continue;
		}
		lost = explore_nth(from, t, kept);
		*thread = (explore_thread){
			.position = lost->position,
			.count = (int16_t)kept,
			.last = kept ? to->numbers[t][kept - 1] : NOWHERE,
			.status = lost->part == PART_TOKEN      ? THREAD_ASLEEP
				  : lost->kind == EXPLORE_BEGIN ? THREAD_UNBORN
				  : lost->kind == EXPLORE_JOIN  ? THREAD_JOINING
								: THREAD_READY,
			.phase = lost->part,
			.joins = lost->part == PART_LINK ? (int8_t)lost->value : 0,
			.is_at_lock = lost->is_lock,
		};
		memcpy(thread->seen, from->threads[t].seen, sizeof(thread->seen));
	}
}

bool explore_cut_down(explore_search *search, const explore_graph *from, explore_graph *to,
		      const bool *keeps, int16_t *numbers)
{
	if (to->room < from->room && !explore_make_room(search, to, from->room))
		return false;
	while (to->places_count < from->places_count)
		to->places[to->places_count++] =
			(explore_place){.first = NOWHERE, .last = NOWHERE, .newest = NOWHERE};
	copy_nodes(from, to, keeps, numbers);
	number_nodes(to, numbers);
	copy_order(from, to, numbers);
	to->threads_count = from->threads_count;
	copy_threads(from, to, from->threads_count, keeps);
	return true;
}
