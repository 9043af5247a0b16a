/* SPDX-License-Identifier: Apache-2.0
 * graph.c - the nodes of an execution graph: append, drop, choose a source, insert.
 *
 *   append -> set_source (a read) or insert (a write) -> ... -> remove -> drop
 *
 * Why it works  Undoing is the reverse of doing, because the newest node is always the last of its
 *               thread and of its place. Clocks need no undoing: they are functions of older nodes.
 * Spec          none.
 * Evidence      tests/corpus/litmus. */
#include "graph.h"

#include <string.h>

/* Places. */

static int place_of(explore_search *search, explore_graph *graph, int location, bool is_queue)
{
	int key = is_queue ? location + EXPLORE_LOCATIONS : location;

	if (location < 0)
		return NOWHERE;
	if (search->place_of[key] == NOWHERE) {
		search->location_of[search->places_count] = (int16_t)key;
		search->place_of[key] = (int16_t)search->places_count++;
	}
	while (graph->places_count <= search->place_of[key])
		graph->places[graph->places_count++] =
			(explore_place){.first = NOWHERE, .last = NOWHERE, .newest = NOWHERE};
	return search->place_of[key];
}

uint64_t explore_initial(const explore_search *search, int place)
{
	int location = search->location_of[place];

	return location < EXPLORE_LOCATIONS ? search->program->initial[location] : 0;
}

/* Appending. */

static void set_place(explore_search *search, explore_graph *graph, explore_node *node,
		      const explore_step *step)
{
	bool is_queue = node->part >= PART_QUEUE_READ;

	node->place = NOWHERE;
	if (!explore_part_reads(node->part) && !explore_part_writes(node->part))
		return;
	node->place = (int16_t)place_of(search, graph, step->location, is_queue);
	node->older = graph->places[node->place].newest;
	graph->places[node->place].newest = (int16_t)(graph->count);
}

static void set_order(explore_node *node, const explore_step *step)
{
	bool is_futex = step->kind == EXPLORE_WAIT || step->kind == EXPLORE_WAKE;

	node->is_lock = step->is_lock;
	node->is_plain = step->kind == EXPLORE_PLAIN_LOAD || step->kind == EXPLORE_PLAIN_STORE;
	node->order = step->order;
	if (is_futex)
		node->order = node->part == PART_FENCE ? EXPLORE_SEQ_CST : EXPLORE_RELAXED;
	if (step->kind == EXPLORE_HEAVY_FENCE || step->kind == EXPLORE_LIGHT_FENCE)
		node->order = EXPLORE_SEQ_CST;
	node->is_strong = node->order == EXPLORE_SEQ_CST && step->kind != EXPLORE_LIGHT_FENCE;
}

static uint64_t written_by(const explore_graph *graph, const explore_node *node,
			   const explore_step *step)
{
	uint64_t me = UINT64_C(1) << node->thread;
	const explore_node *previous = node->index ? explore_previous(graph, node) : node;

	switch (node->part) {
	case PART_WRITE:
		return node->is_update ? explore_updated(step, previous->value)
				       : explore_cut(step, step->operand);
	case PART_LEAVE_WRITE:
		return previous->value & ~me;
	default: /* PART_QUEUE_WRITE */
		if (step->kind == EXPLORE_WAKE)
			return previous->value &
			       ~explore_choose_woken(previous->value, step->operand, node->choice);
		return previous->value |
		       (explore_nth(graph, node->thread, node->index - 2)->value ==
					explore_cut(step, step->expected)
				? me
				: 0);
	}
}

static bool is_first_part(const explore_search *search, const explore_node *node)
{
	return node->part == PART_READ || node->part == PART_FENCE || node->part == PART_CHOICE ||
	       node->part == PART_LINK ||
	       (node->part == PART_WRITE && !explore_is_update(node->kind)) ||
	       (!search->options->linux_futex &&
		(node->part == PART_COMPARE ||
		 (node->part == PART_QUEUE_READ && node->kind == EXPLORE_WAKE)));
}

void explore_count_node(explore_graph *graph, const explore_node *node, int by)
{
	graph->plain_count += node->is_plain ? by : 0;
	graph->strong_count += node->is_strong ? by : 0;
	graph->light_count += node->kind == EXPLORE_LIGHT_FENCE ? by : 0;
	graph->heavy_count += node->kind == EXPLORE_HEAVY_FENCE ? by : 0;
}

void explore_note_link(explore_graph *graph, const explore_node *node, int number)
{
	if (node->part != PART_LINK)
		return;
	if (node->kind == EXPLORE_CREATE)
		graph->creates[node->value] = (int16_t)number;
	else if (node->kind == EXPLORE_END)
		graph->ends[node->thread] = (int16_t)number;
}

int explore_append(explore_search *search, explore_graph *graph, int thread,
		   const explore_step *step, int choice)
{
	explore_thread *owner = &graph->threads[thread];
	explore_node *node;

	if (graph->count == graph->room && !explore_make_room(search, graph, 2 * graph->room))
		return NOWHERE;
	node = &graph->nodes[graph->count];
	*node = (explore_node){.part = owner->phase,
			       .kind = step->kind,
			       .thread = (int8_t)thread,
			       .index = owner->count,
			       .source = FROM_NOTHING,
			       .before = NOWHERE,
			       .after = NOWHERE,
			       .older = NOWHERE,
			       .choice = (int16_t)choice,
			       .serial = ++search->serial,
			       .position = owner->position};
	node->is_first = is_first_part(search, node);
	if (node->is_first)
		owner->seen[node->position / 64 % 4] |= UINT64_C(1) << node->position % 64;
	set_order(node, step);
	set_place(search, graph, node, step);
	explore_begin_clocks(graph, node);
	explore_set_marks(graph, node);
	search->has_fences |= node->heavy || node->light;
	if (explore_is_write(node)) {
		node->is_update = node->part != PART_WRITE || explore_is_update(step->kind);
		node->written = written_by(graph, node, step);
		explore_set_released(search, graph, node);
	} else if (node->part == PART_FENCE && explore_acquires(node->order) &&
		   node->kind != EXPLORE_LIGHT_FENCE) {
		explore_join(&node->ordered, &node->pending);
	}
	explore_set_fences(search, graph, node);
	explore_count_node(graph, node, 1);
	if (node->part == PART_LINK)
		node->value = step->operand;
	explore_note_link(graph, node, graph->count);
	graph->numbers[thread][owner->count++] = owner->last = (int16_t)graph->count;
	return graph->count++;
}

void explore_drop(explore_graph *graph)
{
	explore_node *node = &graph->nodes[--graph->count];
	explore_thread *owner = &graph->threads[node->thread];

	explore_count_node(graph, node, -1);
	explore_note_link(graph, node, NOWHERE);
	if (node->place != NOWHERE)
		graph->places[node->place].newest = node->older;
	owner->count--;
	owner->last = owner->count ? graph->numbers[node->thread][owner->count - 1] : NOWHERE;
}

/* Sources and modification order. */

static void set_value(const explore_search *search, const explore_graph *graph, explore_node *read)
{
	read->value = read->source < 0 ? explore_initial(search, read->place)
				       : graph->nodes[read->source].written;
}

/* The compare of a wait happens under the lock of the queue that the wait reads. */
static void lock_compare(const explore_search *search, explore_graph *graph,
			 const explore_node *read, const explore_node *write)
{
	explore_node *compare = explore_nth(graph, read->thread, read->index - 1);

	compare->ordered = compare->released;
	if (write)
		explore_join(&compare->ordered, &write->released);
	explore_set_fences(search, graph, compare);
}

bool explore_set_source(explore_search *search, explore_graph *graph, int number, int source,
			const explore_step *step, bool has_failed)
{
	explore_node *read = &graph->nodes[number];
	const explore_node *write = source < 0 ? NULL : &graph->nodes[source];

	read->source = (int16_t)source;
	read->serial = ++search->serial;
	set_value(search, graph, read);
	if (read->part == PART_READ || read->part == PART_COMPARE)
		read->value = explore_cut(step, read->value);
	read->has_failed = has_failed;
	if (explore_is_update(step->kind)) {
		bool is_equal = explore_takes_place(step, read->value);

		if (has_failed && (!step->is_weak || !is_equal))
			return false;
		read->is_followed = is_equal && !has_failed;
		read->order = read->is_followed ? step->order : step->fail_order;
		graph->strong_count += (read->order == EXPLORE_SEQ_CST) - read->is_strong;
		read->is_strong = read->order == EXPLORE_SEQ_CST;
	} else if (has_failed) {
		return false;
	}
	explore_begin_clocks(graph, read);
	explore_set_marks(graph, read);
	if (read->part == PART_COMPARE)
		read->released = read->ordered;
	if (read->part == PART_QUEUE_READ && read->kind == EXPLORE_WAIT)
		lock_compare(search, graph, read, write);
	if (write)
		explore_join(&read->causes, &write->causes);
	if (write && read->part == PART_READ && !read->is_plain) {
		explore_join(&read->pending, &write->released);
		if (explore_acquires(read->order))
			explore_join(&read->ordered, &write->released);
	}
	explore_set_fences(search, graph, read);
	return true;
}

void explore_set_waker(explore_graph *graph, int token, int waker)
{
	graph->nodes[token].source = (int16_t)waker;
	explore_join(&graph->nodes[token].causes, &graph->nodes[waker].causes);
}

void explore_set_link(explore_search *search, explore_graph *graph, int link, int source)
{
	explore_node *node = &graph->nodes[link];

	node->source = (int16_t)source;
	explore_join(&node->causes, &graph->nodes[source].causes);
	explore_join(&node->ordered, &graph->nodes[source].ordered);
	explore_set_fences(search, graph, node);
}

void explore_insert(explore_graph *graph, int number, int after)
{
	explore_node *write = &graph->nodes[number];
	explore_place *place = &graph->places[write->place];
	int next = after < 0 ? place->first : graph->nodes[after].after;

	write->before = (int16_t)after;
	write->after = (int16_t)next;
	write->rank = (int16_t)(explore_rank(graph, after) + 1);
	if (after < 0)
		place->first = (int16_t)number;
	else
		graph->nodes[after].after = (int16_t)number;
	if (next < 0)
		place->last = (int16_t)number;
	else
		graph->nodes[next].before = (int16_t)number;
	for (; next >= 0; next = graph->nodes[next].after)
		graph->nodes[next].rank++;
	place->writes++;
}

void explore_remove(explore_graph *graph, int number)
{
	explore_node *write = &graph->nodes[number];
	explore_place *place = &graph->places[write->place];

	if (write->before < 0)
		place->first = write->after;
	else
		graph->nodes[write->before].after = write->after;
	if (write->after < 0)
		place->last = write->before;
	else
		graph->nodes[write->after].before = write->before;
	for (int next = write->after; next >= 0; next = graph->nodes[next].after)
		graph->nodes[next].rank--;
	place->writes--;
}
