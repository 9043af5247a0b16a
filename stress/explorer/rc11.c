/* SPDX-License-Identifier: Apache-2.0
 * rc11.c - the order of seq_cst accesses and fences in RC11: acyclic(psc).
 *
 *   scb       po | po;hb;po | hb at one place | mo | fr           (paper: po between two places)
 *   psc_base  ([SC] | [F];hb?) ; scb ; ([SC] | hb?;[F])
 *   psc_F     [F] ; (hb | hb;eco;hb) ; [F]                         F: seq_cst, heavy, light fences
 *
 * Why it works  If a precedes b, every seq_cst node before a in a's thread precedes b as well,
 *               because scb contains po. This holds for fences and accesses alike. So the nodes
 *               that must come before a node are again one number per thread. The relation is
 *               acyclic iff all threads can be walked to their ends in some order, and a greedy
 *               walk finds such an order.
 *               The rest of RC11 (coherence, and no cycle of po and rf) holds by construction.
 * Light fences  Only strong nodes must come before a light fence, so strong nodes have a number of
 *               their own.
 * Paper         RC11: Lahav, Vafeiadis, Kang, Hur, Dreyer, "Repairing sequential consistency in
 *               C/C++11", PLDI 2017.
 * Spec          none.
 * Evidence      tests/corpus/litmus. */
#include "graph.h"

#include <string.h>

/* The nodes that must come before a node: for each thread the last strong one, and the last light
 * fence. */
typedef struct needs {
	explore_clock strong, light;
} needs;

typedef struct order {
	const explore_graph *graph;
	int threads;
	bool is_paper, has_fences, has_lights;
	int16_t heights[EXPLORE_NODES];
	/* The needs of a fence that this node, or an earlier one of its thread, happens before. */
	needs to_fence[EXPLORE_NODES];
} order;

static void raise(explore_clock *clock, int thread, int16_t count)
{
	if (clock->at[thread] < count)
		clock->at[thread] = count;
}

/* The fences that happen before a node, itself included. */
static void add_fences(const order *order, const explore_node *node, needs *needs)
{
	if (order->has_fences)
		explore_join(&needs->strong, &node->heavies);
	if (order->has_lights)
		explore_join(&needs->light, &node->lights);
}

/* Adds scb from this node and from every earlier one of its thread. */
static void add_up_to(const order *order, const explore_node *node, needs *needs)
{
	raise(&needs->strong, node->thread, node->strong);
	raise(&needs->light, node->thread, node->light);
	if (node->part == PART_COMPARE) { /* the compare orders nothing after it */
		if (!node->index)
			return;
		node = explore_nth(order->graph, node->thread, node->index - 1);
	}
	add_fences(order, node, needs);
}

/* Adds scb from this node. */
static void add_one(const order *order, const explore_node *node, needs *needs)
{
	if (node->is_strong)
		raise(&needs->strong, node->thread, (int16_t)(node->index + 1));
	add_fences(order, node, needs);
}

/* Adds po;hb;po. */
static void add_around(const order *order, const explore_node *node, needs *needs)
{
	int inner = order->is_paper ? node->elsewhere : node->index;
	const explore_node *last;

	if (!inner)
		return;
	last = explore_nth(order->graph, node->thread, inner - 1);
	for (int t = 0; t < order->threads; t++) {
		int count = explore_kept(last)->at[t];

		if (t == node->thread || !count)
			continue;
		count = order->is_paper ? explore_nth(order->graph, t, count - 1)->elsewhere
					: count - 1;
		if (count)
			add_up_to(order, explore_nth(order->graph, t, count - 1), needs);
	}
}

/* Collects all of scb that ends at this node. */
static void find_before(const order *order, int number, needs *needs)
{
	const explore_graph *graph = order->graph;
	const explore_node *node = &graph->nodes[number];
	bool is_write = explore_is_write(node);

	memset(needs, 0, sizeof(*needs));
	if (node->index)
		add_up_to(order, explore_nth(graph, node->thread, node->index - 1), needs);
	add_around(order, node, needs);
	if (node->place == NOWHERE)
		return;
	for (int n = graph->places[node->place].newest; n >= 0; n = graph->nodes[n].older)
		if (n != number && ((is_write && order->heights[n] < order->heights[number]) ||
				    explore_holds(&node->ordered, &graph->nodes[n])))
			add_one(order, &graph->nodes[n], needs);
}

/* Adds fences before the source of this node, and before all nodes at that place that are lower in
 * modification order. A token reads from the wake, and no node is ordered after the token by it. */
static void add_lower_fences(const order *order, int number, needs *needs)
{
	const explore_graph *graph = order->graph;
	const explore_node *node = &graph->nodes[number];
	int place = node->part == PART_TOKEN ? graph->nodes[node->source].place : node->place;

	if (place == NOWHERE || explore_is_write(node))
		return; /* for a write, scb has these */
	for (int n = graph->places[place].newest; n >= 0; n = graph->nodes[n].older)
		if (order->heights[n] < order->heights[number])
			add_fences(order, &graph->nodes[n], needs);
}

static void join(needs *into, const needs *other)
{
	explore_join(&into->strong, &other->strong);
	explore_join(&into->light, &other->light);
}

/* Computes to_fence for each node that happens before some fence. */
static void find_before_fences(order *order)
{
	const explore_graph *graph = order->graph;
	explore_clock used = {{0}};

	for (int n = 0; n < graph->count; n++)
		if (graph->nodes[n].part == PART_FENCE)
			explore_join(&used, &graph->nodes[n].ordered);
	for (int t = 0; t < order->threads; t++)
		for (int i = 0; i < used.at[t]; i++) {
			int number = graph->numbers[t][i];
			needs *needs = &order->to_fence[number];

			find_before(order, number, needs);
			add_lower_fences(order, number, needs);
			if (i)
				join(needs, &order->to_fence[graph->numbers[t][i - 1]]);
		}
}

static void find_before_fence(const order *order, const explore_node *fence, needs *needs)
{
	memset(needs, 0, sizeof(*needs));
	add_fences(order, fence, needs);
	needs->strong.at[fence->thread] = needs->light.at[fence->thread] = 0; /* the fence itself */
	for (int t = 0; t < order->threads; t++) {
		int count = fence->ordered.at[t];

		if (count)
			join(needs, &order->to_fence[order->graph->numbers[t][count - 1]]);
	}
	if (fence->kind == EXPLORE_LIGHT_FENCE)
		memset(&needs->light, 0, sizeof(needs->light));
}

/* The walk. */

static bool is_met(const needs *needs, const int16_t *done, int threads)
{
	for (int t = 0; t < threads; t++)
		if (needs->strong.at[t] > done[t] || needs->light.at[t] > done[t])
			return false;
	return true;
}

static bool is_ordered(const explore_node *node)
{
	return node->is_strong || node->kind == EXPLORE_LIGHT_FENCE;
}

/* A thread on its walk, and the needs of its next node, once they are computed. */
typedef struct walker {
	needs needs;
	bool is_known;
} walker;

/* Walks a thread as far as it goes. Returns the number of nodes walked. */
static int walk_thread(const order *order, int t, walker *walker, int16_t *done)
{
	int start = done[t];

	for (; done[t] < order->graph->threads[t].count; done[t]++) {
		const explore_node *node = explore_nth(order->graph, t, done[t]);

		if (!is_ordered(node))
			continue;
		if (!walker->is_known && node->part == PART_FENCE)
			find_before_fence(order, node, &walker->needs);
		else if (!walker->is_known)
			find_before(order, order->graph->numbers[t][done[t]], &walker->needs);
		walker->is_known = !is_met(&walker->needs, done, order->threads);
		if (walker->is_known)
			break;
	}
	return done[t] - start;
}

static void begin(const explore_search *search, const explore_graph *graph, order *order)
{
	order->graph = graph;
	order->threads = search->program->threads;
	order->is_paper = search->options->paper_scb;
	order->has_lights = graph->light_count > 0;
	order->has_fences = false;
	for (int n = 0; n < graph->count; n++) {
		const explore_node *node = &graph->nodes[n];

		order->has_fences |= node->part == PART_FENCE && is_ordered(node);
		order->heights[n] = node->source == FROM_NOTHING && !explore_is_write(node)
					    ? 0
					    : (int16_t)explore_height(graph, node);
	}
	if (order->has_fences)
		find_before_fences(order);
}

bool explore_is_rc11(explore_search *search, const explore_graph *graph)
{
	order order;
	walker walkers[EXPLORE_THREADS];
	int16_t done[EXPLORE_THREADS] = {0};
	int left = graph->count, walked;

	if (graph->strong_count + graph->light_count < 2)
		return true;
	begin(search, graph, &order);
	for (int t = 0; t < order.threads; t++)
		walkers[t].is_known = false;
	do {
		walked = 0;
		for (int t = 0; t < order.threads; t++)
			walked += walk_thread(&order, t, &walkers[t], done);
		left -= walked;
	} while (walked && left);
	return !left;
}
