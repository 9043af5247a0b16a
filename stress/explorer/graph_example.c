/* SPDX-License-Identifier: Apache-2.0
 * graph_example.c - one execution as a list of steps that a reader can follow.
 *
 * Why it works  A step is listed after the steps that it reads from. Program order and reads-from
 *               have no cycle, so every step gets listed. Among the steps that are ready, one whose
 *               turn it is in modification order is preferred, so that an execution that is an
 *               interleaving looks like one. As in the state engine, a wait stands where the thread
 *               falls asleep, and its value tells how the wait ends (UINT64_MAX: never). A wait
 *               that ends by itself stands there, too.
 * Spec          none.
 * Evidence      tests/corpus/litmus. */
#include "graph_list.h"

#include <stdlib.h>
#include <string.h>

#include "report.h"

/* Most executions of one size for which an order with the fewest switches is sought. Of more, the
 * best of these is shown. */
enum { ORDERED_MOST = 2000 };

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

explore_block explore_next_block(const explore_list *list, int t)
{
	explore_block block = {t, list->done[t], list->done[t]};

	if (block.first == list->graph->threads[t].count)
		return block;
	do
		block.end++;
	while (block.end < list->graph->threads[t].count &&
	       !begins_block(explore_nth(list->graph, t, block.end)));
	return block;
}

static bool is_done(const explore_list *list, const explore_node *node)
{
	return node->index < list->done[node->thread];
}

/* Are all nodes that stand lower in modification order listed? */
static bool is_its_turn(const explore_list *list, const explore_node *node,
			const explore_block *block)
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

enum explore_readiness explore_readiness(const explore_list *list, const explore_block *block)
{
	enum explore_readiness readiness = IN_TURN;

	if (block->first == block->end)
		return NOT_READY;
	for (int i = block->first; i < block->end; i++) {
		const explore_node *node = explore_nth(list->graph, block->thread, i);

		if (node->source >= 0 && !is_done(list, &list->graph->nodes[node->source]))
			return NOT_READY;
		if (!is_its_turn(list, node, block))
			readiness = READY;
	}
	return readiness;
}

static void add_source(const explore_list *list, explore_event *event, const explore_node *node)
{
	event->value = node->value;
	event->read_from = node->source < 0 ? -1 : list->event_of[node->source];
}

/* Writes into the event in which this node's thread fell asleep how the sleep ended. */
static uint64_t end_of_sleep(const explore_list *list, const explore_node *node)
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

static void add_part(const explore_list *list, explore_event *event, const explore_node *node)
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
		event->value = node->value; /* the sleepers, until the queue write is added */
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
	case PART_LINK:
		event->value = node->value;
		break;
	default:
		event->value = end_of_sleep(list, node);
	}
}

static void add_block(explore_list *list, const explore_block *block)
{
	explore_event *event = &list->events[list->count];
	explore_program *program = list->search->program;
	explore_position position = explore_nth(list->graph, block->thread, block->first)->position;

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

/* Adds a block of the thread that is closest to ready; of equals, this thread comes first. */
static bool add_next(explore_list *list, int *thread)
{
	explore_block best;
	int best_readiness = 0;

	for (int i = 0; i < EXPLORE_THREADS; i++) {
		explore_block block = explore_next_block(list, (*thread + i) % EXPLORE_THREADS);
		int ready = (int)explore_readiness(list, &block);

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

static void add_failures(explore_list *list)
{
	explore_program *program = list->search->program;

	for (int t = 0; t < program->threads; t++)
		if (list->graph->threads[t].status == THREAD_FAILED)
			list->events[list->count++] = (explore_event){
				.thread = t,
				.step = *program->at(program, t, list->graph->threads[t].position),
				.read_from = -2};
	if (program->failed)
		list->events[list->count++] = (explore_event){
			.thread = program->threads, .step = *program->failed, .read_from = -2};
}

static int event_of(const explore_list *list, const explore_node *node)
{
	return list->event_of[list->graph->numbers[node->thread][node->index]];
}

/* Marks the two accesses of a race. Of several races, takes the one that is complete first. */
static void mark_race(const explore_list *list)
{
	int first = -1, second = list->count;

	for (int n = 0; n < list->graph->count; n++) {
		const explore_node *plain = &list->graph->nodes[n], *other;

		if (!plain->is_plain)
			continue;
		for (int m = list->graph->places[plain->place].newest; m >= 0; m = other->older) {
			int a = event_of(list, plain), b;

			other = &list->graph->nodes[m];
			b = event_of(list, other);
			if (!explore_conflict(plain, other) || (a > b ? a : b) >= second)
				continue;
			first = a < b ? a : b;
			second = a < b ? b : a;
		}
	}
	if (first >= 0)
		list->events[first].is_racing = list->events[second].is_racing = true;
}

/* The cost of an example: by threads, then by events, then by switches. */
static uint64_t cost_of(const explore_graph *graph, bool is_minimal)
{
	uint64_t threads = 0;

	for (int t = 0; t < EXPLORE_THREADS && is_minimal; t++)
		threads += graph->threads[t].count > 0;
	return threads << 40 | (uint64_t)count_events(graph) << 20;
}

static void fill(explore_list *list, explore_outcome *outcome, const uint8_t *order, uint64_t cost)
{
	explore_example *example = &outcome->example;
	int thread = 0;

	list->events = malloc(((size_t)count_events(list->graph) + 2) * sizeof(*list->events));
	if (!list->events)
		return; /* the outcome then has no example */
	for (int i = 0; order; i++) {
		explore_block block = explore_next_block(list, order[i]);

		if (block.first == block.end)
			break;
		add_block(list, &block);
	}
	while (add_next(list, &thread))
		;
	add_failures(list);
	if (outcome->verdict == EXPLORE_RACE)
		mark_race(list);
	free(example->events);
	example->events = list->events;
	example->events_count = list->count;
	example->spinning = 0;
	for (int t = 0; t < EXPLORE_THREADS; t++)
		if (list->graph->threads[t].status == THREAD_SPINNING)
			example->spinning |= 1u << t;
	example->cost = cost;
	example->item = list->search->items;
	example->verdict = outcome->verdict;
	for (int i = 0; i < EXPLORE_TEXT; i++)
		example->outcome[i] = outcome->text[i];
}

/* Replaces the example if this execution is smaller, or can be listed with fewer switches. */
static void show_smaller(explore_search *search, const explore_graph *graph,
			 explore_outcome *outcome)
{
	explore_list list = {.search = search, .graph = graph};
	uint8_t order[EXPLORE_NODES + 1];
	uint64_t cost = cost_of(graph, true), best = outcome->example.cost;
	bool is_smaller = !outcome->example.events || cost >> 20 < best >> 20;
	int below = is_smaller ? EXPLORE_ORDER_MOST : (int)(best & 0xfffff), switches;

	if (!is_smaller && (cost >> 20 > best >> 20 || below < (int)(cost >> 40) ||
			    search->ordered == ORDERED_MOST))
		return; /* n threads need at least n - 1 switches */
	search->ordered++;
	switches = explore_order(&list, below, order);
	if (switches >= 0)
		fill(&list, outcome, order, cost | (uint64_t)switches);
	else if (is_smaller)
		fill(&list, outcome, NULL, cost | EXPLORE_ORDER_MOST);
}

void explore_show(explore_search *search, const explore_graph *graph, explore_outcome *outcome)
{
	const char *minimal = search->options->minimal;
	explore_list list = {.search = search, .graph = graph};
	explore_graph *part;

	if (!explore_shows_examples)
		return;
	if (!minimal || strcmp(minimal, outcome->text) != 0) {
		uint64_t cost = cost_of(graph, false);

		if (!outcome->example.events || cost < outcome->example.cost)
			fill(&list, outcome, NULL, cost);
		return;
	}
	part = explore_shrunk(search, graph, outcome->verdict);
	show_smaller(search, part ? part : graph, outcome);
	if (part)
		explore_give_back(search);
}
