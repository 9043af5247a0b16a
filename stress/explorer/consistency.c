/* SPDX-License-Identifier: Apache-2.0
 * consistency.c - which graphs a memory model allows: coherence, SC, races.
 *
 *   every model   explore_bound: no node reads a write that is older than a visible one, and no
 *                 write is inserted before a visible one
 *   SC            acyclic(program order, reads-from, modification order, from-read)
 *   TSO, RC11     tso.c, rc11.c
 *
 * Why it works  A graph is SC iff its nodes can be executed in an order in which each read finds
 *               its source newest and each write comes at its turn in modification order. Executing
 *               one enabled node never disables another, so a greedy walk decides the question.
 *               A new node at the end of modification order precedes nothing and closes no cycle.
 *               Only other places need a check.
 * Paper         Axioms as in Alglave, Maranget, Tautschnig, "Herding cats", TOPLAS 2014.
 * Spec          none.
 * Evidence      tests/corpus/litmus. */
#include "graph.h"

#include <string.h>

/* Does the model order `other` before `node`, so that `node` must not read older writes? Under TSO a
 * write that another thread has read has left its buffer, and all earlier ones of its thread too. */
static bool is_visible(const explore_search *search, const explore_node *node,
		       const explore_node *other)
{
	if (search->options->model == EXPLORE_RC11)
		return explore_holds(&node->ordered, other);
	return explore_holds(&node->causes, other);
}

int explore_bound(const explore_search *search, const explore_graph *graph, int number)
{
	const explore_node *node = &graph->nodes[number];
	const explore_place *place = &graph->places[node->place];
	int bound = 0;

	for (int n = place->newest; n >= 0 && bound < place->writes; n = graph->nodes[n].older) {
		const explore_node *other = &graph->nodes[n];
		int rank;

		if (n == number || !is_visible(search, node, other))
			continue;
		rank = explore_height(graph, other) / 2;
		bound = rank > bound ? rank : bound;
	}
	return bound;
}

/* Updates. */

bool explore_has_update_after(const explore_graph *graph, int place, int write)
{
	int next = write < 0 ? graph->places[place].first : graph->nodes[write].after;

	return next >= 0 && graph->nodes[next].is_update;
}

/* The source of an update's read, which the update's write must directly follow. */
int explore_must_follow(const explore_graph *graph, const explore_node *write)
{
	int i = write->index - 1;

	while (explore_nth(graph, write->thread, i)->place != write->place)
		i--;
	return explore_nth(graph, write->thread, i)->source;
}

/* SC. */

typedef struct walk {
	int16_t done[EXPLORE_THREADS];
	/* The write that stands newest now: its rank, and its readers to come. */
	int16_t turn[EXPLORE_PLACES], readers[EXPLORE_PLACES];
	int16_t readers_of[EXPLORE_NODES];
} walk;

static void begin_walk(const explore_graph *graph, walk *walk)
{
	memset(walk->done, 0, sizeof(walk->done));
	memset(walk->turn, 0, (size_t)graph->places_count * sizeof(*walk->turn));
	memset(walk->readers, 0, (size_t)graph->places_count * sizeof(*walk->readers));
	memset(walk->readers_of, 0, (size_t)graph->count * sizeof(*walk->readers_of));
	for (int n = 0; n < graph->count; n++) {
		const explore_node *node = &graph->nodes[n];

		if (!explore_is_read(node))
			continue;
		if (node->source < 0)
			walk->readers[node->place]++;
		else
			walk->readers_of[node->source]++;
	}
}

static bool is_newest(const explore_graph *graph, const walk *walk, const explore_node *read)
{
	return walk->turn[read->place] == explore_rank(graph, read->source);
}

static bool do_node(const explore_graph *graph, walk *walk, int number)
{
	const explore_node *node = &graph->nodes[number];

	if (node->part == PART_FENCE || node->part == PART_CHOICE ||
	    (node->part == PART_LINK && node->source < 0))
		return true;
	if (node->part == PART_TOKEN || node->part == PART_LINK)
		return walk->done[graph->nodes[node->source].thread] >
		       graph->nodes[node->source].index;
	if (explore_is_write(node)) {
		if (walk->turn[node->place] != node->rank - 1 || walk->readers[node->place])
			return false;
		walk->turn[node->place]++;
		walk->readers[node->place] = walk->readers_of[number];
		return true;
	}
	if (!is_newest(graph, walk, node))
		return false;
	if (node->part == PART_COMPARE && node->index + 1 < graph->threads[node->thread].count &&
	    !is_newest(graph, walk, explore_nth(graph, node->thread, node->index + 1)))
		return false; /* the queue read happens together with the compare */
	walk->readers[node->place]--;
	return true;
}

static bool is_sc(const explore_graph *graph, int threads)
{
	walk walk;
	int done = 0, before;

	begin_walk(graph, &walk);
	do {
		before = done;
		for (int t = 0; t < threads; t++)
			while (walk.done[t] < graph->threads[t].count &&
			       do_node(graph, &walk, graph->numbers[t][walk.done[t]])) {
				walk.done[t]++;
				done++;
			}
	} while (done > before);
	return done == graph->count;
}

/* SC executions are also TSO and RC11. Most graphs are SC, so the cheap walk comes first. */
static bool is_consistent(explore_search *search, const explore_graph *graph)
{
	if (is_sc(graph, search->program->threads))
		return true;
	switch (search->options->model) {
	case EXPLORE_SC:
		return false;
	case EXPLORE_TSO:
		return explore_is_tso(search, graph);
	default:
		return explore_is_rc11(search, graph);
	}
}

bool explore_may_see(explore_search *search, const explore_graph *graph, int number)
{
	const explore_node *read = &graph->nodes[number], *compare;
	bool is_end = graph->places[read->place].last == read->source;

	/* The first step of a thread follows nothing but the write that it reads. So it adds no order
	 * between others, and the graph stays consistent. */
	if (!read->index)
		return true;
	/* The wait compares only now. */
	if (read->part == PART_QUEUE_READ && read->kind == EXPLORE_WAIT) {
		int before = graph->numbers[read->thread][read->index - 1];

		compare = &graph->nodes[before];
		if (explore_bound(search, graph, before) > explore_rank(graph, compare->source))
			return false;
		is_end &= graph->places[compare->place].last == compare->source;
	}
	return is_end || is_consistent(search, graph);
}

bool explore_may_read(explore_search *search, const explore_graph *graph, int number)
{
	const explore_node *read = &graph->nodes[number];

	/* Nothing is newer than the last write. */
	return (graph->places[read->place].last == read->source ||
		explore_bound(search, graph, number) <= explore_rank(graph, read->source)) &&
	       explore_may_see(search, graph, number);
}

bool explore_may_stand(explore_search *search, const explore_graph *graph, int write)
{
	return graph->places[graph->nodes[write].place].last == write ||
	       is_consistent(search, graph);
}

/* Races. */

bool explore_conflict(const explore_node *a, const explore_node *b)
{
	return a->thread != b->thread && (explore_is_write(a) || explore_is_write(b)) &&
	       !explore_holds(&a->ordered, b) && !explore_holds(&b->ordered, a);
}

static bool has_conflict(const explore_graph *graph, const explore_node *plain)
{
	for (int n = graph->places[plain->place].newest; n >= 0; n = graph->nodes[n].older)
		if (explore_conflict(plain, &graph->nodes[n]))
			return true;
	return false;
}

bool explore_is_race(const explore_graph *graph)
{
	if (!graph->plain_count)
		return false;
	for (int n = 0; n < graph->count; n++)
		if (graph->nodes[n].is_plain && has_conflict(graph, &graph->nodes[n]))
			return true;
	return false;
}
