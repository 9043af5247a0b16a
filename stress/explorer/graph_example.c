/* SPDX-License-Identifier: Apache-2.0
 * graph_example.c - one execution as a list of steps that a reader can follow.
 *
 * Why it works  Steps are listed when what they read from is listed: program order and reads-from
 *               have no cycle, so this gets to the end. Of those it prefers one whose turn it is in
 *               modification order, so that an execution that could be an interleaving looks like
 *               one. As in the state engine, a wait stands where it falls asleep, and its value
 *               says how it ends (UINT64_MAX: never); one that ends by itself stands there too.
 * Spec          none.  Evidence  tests/explorer/litmus. */
#include "graph.h"

#include <stdlib.h>

/* Nodes first .. end - 1 of a thread: one event of the example. */
typedef struct block {
	int thread, first, end;
} block;

typedef struct list {
	const explore_search *search;
	const explore_graph *graph;
	int16_t done[EXPLORE_THREADS];
	int16_t event_of[EXPLORE_NODES];
	explore_event *events;
	int count;
} list;

static bool begins_block(const explore_node *node)
{
	return node->is_first || node->part == PART_TOKEN || node->part == PART_LEAVE_READ;
}

static int count_events(const explore_graph *graph)
{
	int count = 0;

	for (int n = 0; n < graph->count; n++)
		count += begins_block(&graph->nodes[n]) && graph->nodes[n].part != PART_TOKEN;
	for (int t = 0; t < EXPLORE_THREADS; t++)
		count += graph->threads[t].status == THREAD_FAILED;
	return count;
}

static block block_of(const list *list, int t)
{
	block block = {t, list->done[t], list->done[t]};

	if (block.first == list->graph->threads[t].count)
		return block;
	do
		block.end++;
	while (block.end < list->graph->threads[t].count &&
	       !begins_block(explore_nth(list->graph, t, block.end)));
	return block;
}

static bool is_done(const list *list, const explore_node *node)
{
	return node->index < list->done[node->thread];
}

/* Is all that stands lower in modification order done? */
static bool is_its_turn(const list *list, const explore_node *node, const block *block)
{
	const explore_graph *graph = list->graph;

	if (node->place == NOWHERE)
		return true;
	for (int n = graph->places[node->place].newest; n >= 0; n = graph->nodes[n].older) {
		const explore_node *other = &graph->nodes[n];
		bool is_inside = other->thread == block->thread && other->index < block->end;

		if (!is_inside && !is_done(list, other) &&
		    explore_height(graph, other) < explore_height(graph, node))
			return false;
	}
	return true;
}

/* 0: not yet; 1: its sources are there; 2: and it is its turn. */
static int readiness(const list *list, const block *block)
{
	int readiness = 2;

	if (block->first == block->end)
		return 0;
	for (int i = block->first; i < block->end; i++) {
		const explore_node *node = explore_nth(list->graph, block->thread, i);

		if (node->source >= 0 && !is_done(list, &list->graph->nodes[node->source]))
			return 0;
		if (!is_its_turn(list, node, block))
			readiness = 1;
	}
	return readiness;
}

static void add_source(const list *list, explore_event *event, const explore_node *node)
{
	event->value = node->value;
	event->read_from = node->source < 0 ? -1 : list->event_of[node->source];
}

/* Tells the event in which this node's thread fell asleep how that ended. */
static uint64_t end_of_sleep(const list *list, const explore_node *node)
{
	const explore_node *asleep;
	explore_event *event;
	int i = node->index;

	do
		asleep = explore_nth(list->graph, node->thread, --i);
	while (asleep->part != PART_QUEUE_WRITE);
	event = &list->events[list->event_of[list->graph->numbers[node->thread][i]]];
	event->value = asleep->choice == SLEEPS_UNTIL_DEADLINE ? EXPLORE_TIMED_OUT : EXPLORE_WOKEN;
	return event->value;
}

static void add_part(const list *list, explore_event *event, const explore_node *node)
{
	uint64_t me = UINT64_C(1) << node->thread;

	switch (node->part) {
	case PART_READ:
	case PART_COMPARE:
		add_source(list, event, node);
		break;
	case PART_WRITE:
		event->has_written = true;
		event->written = node->written;
		break;
	case PART_QUEUE_READ:
		event->value = node->value; /* the sleepers, for now */
		break;
	case PART_QUEUE_WRITE:
		if (node->kind == EXPLORE_WAKE)
			event->value =
				(uint64_t)__builtin_popcountll(event->value & ~node->written);
		else
			event->value = node->written & me ? UINT64_MAX : EXPLORE_AGAIN;
		break;
	case PART_FENCE:
		event->value = node->kind == EXPLORE_HEAVY_FENCE;
		break;
	case PART_CHOICE:
		event->value = (uint64_t)node->choice;
		break;
	default:
		event->value = end_of_sleep(list, node);
	}
}

static void add_block(list *list, const block *block)
{
	explore_event *event = &list->events[list->count];
	explore_program *program = list->search->program;
	explore_position position =
		explore_nth(list->graph, block->thread, block->first)->position;

	*event = (explore_event){.thread = block->thread,
				 .step = *program->at(program, block->thread, position),
				 .read_from = -2};
	for (int i = block->first; i < block->end; i++) {
		list->event_of[list->graph->numbers[block->thread][i]] = (int16_t)list->count;
		add_part(list, event, explore_nth(list->graph, block->thread, i));
	}
	list->done[block->thread] = (int16_t)block->end;
	list->count += explore_nth(list->graph, block->thread, block->first)->part != PART_TOKEN;
}

/* The readiest thread, this one before others. */
static bool add_next(list *list, int *thread)
{
	block best;
	int best_readiness = 0;

	for (int i = 0; i < EXPLORE_THREADS; i++) {
		block block = block_of(list, (*thread + i) % EXPLORE_THREADS);
		int ready = readiness(list, &block);

		if (ready > best_readiness) {
			best_readiness = ready;
			best = block;
		}
	}
	if (!best_readiness)
		return false;
	*thread = best.thread;
	add_block(list, &best);
	return true;
}

static void add_failures(list *list)
{
	explore_program *program = list->search->program;

	for (int t = 0; t < program->threads; t++)
		if (list->graph->threads[t].status == THREAD_FAILED)
			list->events[list->count++] = (explore_event){
				.thread = t,
				.step = *program->at(program, t, list->graph->threads[t].position),
				.read_from = -2};
}

void explore_show(explore_search *search, const explore_graph *graph, explore_outcome *outcome)
{
	list list = {.search = search, .graph = graph};
	int count = count_events(graph), thread = 0;
	explore_example *example = &outcome->example;

	if (!explore_wants_example(outcome, count))
		return;
	list.events = malloc(((size_t)count + 1) * sizeof(*list.events));
	if (!list.events) {
		explore_fail(search, "out of memory");
		return;
	}
	while (add_next(&list, &thread))
		;
	add_failures(&list);
	free(example->events);
	example->events = list.events;
	example->events_count = list.count;
	example->cost = (uint64_t)list.count;
	example->item = search->items;
	example->verdict = outcome->verdict;
	for (int i = 0; i < EXPLORE_TEXT; i++)
		example->outcome[i] = outcome->text[i];
}
