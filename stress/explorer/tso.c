/* SPDX-License-Identifier: Apache-2.0
 * tso.c - x86-TSO: can this graph be executed with a FIFO store buffer for each thread?
 *
 *   acyclic(ppo, reads-from between threads, modification order, from-read)
 *   ppo      program order without write to later read, unless a fence or a locked instruction is
 *            between them
 *   locked   updates (also a compare-and-swap that fails) and seq_cst stores; create, end, join
 *   fences   seq_cst, heavy
 *
 * For example, store buffering with relaxed accesses is TSO: both loads are issued while the stores
 * wait in their buffers. With a seq_cst fence between store and load it is not.
 *
 * Why it works  The walk holds two numbers for each thread: how many nodes it has issued, and how
 *               many of these are not in its buffer any more. A node can be executed when its
 *               source is newest or in the thread's own buffer, or when its turn in modification
 *               order has come. Executing one more node never disables another, so the greedy walk
 *               decides, unless a heavy fence is still to come.
 * Heavy fences  A heavy fence needs every buffer empty. A store therefore counts as issued only
 *               when a later node of its thread passes it. Passing is delayed as long as possible;
 *               where only passing is left, the walk tries each thread.
 * Paper         Sewell, Sarkar, Owens, Zappa Nardelli, Myreen, "x86-TSO", CACM 2010.
 * Spec          none.
 * Evidence      tests/corpus/litmus. */
#include "graph.h"

#include <stddef.h>
#include <string.h>

typedef struct walk {
	int16_t issued[EXPLORE_THREADS];  /* number of nodes */
	int16_t drained[EXPLORE_THREADS]; /* nodes before this one are not in the buffer */
	int16_t passed[EXPLORE_THREADS];  /* the last node that had to take effect at once, + 1 */
	int left, heavy_left;
	int16_t turn[EXPLORE_PLACES], initial_readers[EXPLORE_PLACES];
	int16_t last[EXPLORE_PLACES]; /* the write that is newest now */
	int16_t readers[EXPLORE_NODES];
} walk;

static bool is_buffered(const explore_node *node)
{
	return node->part == PART_WRITE && !node->is_update && !node->is_strong;
}

/* Must the node wait until the buffer of its thread is empty? */
static bool is_locked(const explore_node *node)
{
	if (node->part == PART_READ || node->part == PART_WRITE)
		return explore_is_update(node->kind) ||
		       (node->is_strong && node->part == PART_WRITE);
	if (node->part == PART_COMPARE || node->part == PART_QUEUE_READ)
		return true; /* the kernel locks the queue */
	if (node->part == PART_LINK)
		return true; /* a new thread finds what its creator has stored; and so on */
	return node->part == PART_FENCE && node->is_strong;
}

/* Does the node take effect at once, before stores that are in the buffer? */
static bool passes(const explore_node *node)
{
	return !is_buffered(node) && node->part != PART_FENCE && node->part != PART_CHOICE;
}

static void begin_walk(const explore_graph *graph, walk *walk)
{
	memset(walk, 0, offsetof(struct walk, turn));
	memset(walk->turn, 0, (size_t)graph->places_count * sizeof(*walk->turn));
	memset(walk->initial_readers, 0,
	       (size_t)graph->places_count * sizeof(*walk->initial_readers));
	memset(walk->readers, 0, (size_t)graph->count * sizeof(*walk->readers));
	for (int p = 0; p < graph->places_count; p++)
		walk->last[p] = FROM_INITIAL;
	walk->left = graph->count;
	walk->heavy_left = graph->heavy_count;
	for (int n = 0; n < graph->count; n++) {
		const explore_node *node = &graph->nodes[n];

		if (explore_is_read(node) && node->source < 0)
			walk->initial_readers[node->place]++;
		else if (explore_is_read(node))
			walk->readers[node->source]++;
	}
}

/* Skips nodes that never enter the buffer. */
static void skip_unbuffered(const explore_graph *graph, walk *walk, int t)
{
	while (walk->drained[t] < walk->issued[t] &&
	       !is_buffered(explore_nth(graph, t, walk->drained[t])))
		walk->drained[t]++;
}

static bool is_empty(const walk *walk, int t)
{
	return walk->drained[t] == walk->issued[t];
}

static bool write_now(const explore_graph *graph, walk *walk, const explore_node *node)
{
	int place = node->place, last = walk->last[place];

	if (walk->turn[place] != node->rank - 1 ||
	    (last < 0 ? walk->initial_readers[place] : walk->readers[last]))
		return false;
	walk->turn[place]++;
	walk->last[place] = graph->numbers[node->thread][node->index];
	return true;
}

/* The queue read of a wait takes place together with its compare. */
static bool is_queue_read_next(const explore_graph *graph, const walk *walk,
			       const explore_node *compare)
{
	const explore_node *read;

	if (compare->index + 1 == graph->threads[compare->thread].count)
		return true;
	read = explore_nth(graph, compare->thread, compare->index + 1);
	return walk->turn[read->place] == explore_rank(graph, read->source);
}

static bool read_now(const explore_graph *graph, walk *walk, const explore_node *node)
{
	const explore_node *source = node->source < 0 ? NULL : &graph->nodes[node->source];
	bool is_own = source && source->thread == node->thread && is_buffered(source) &&
		      source->index >= walk->drained[node->thread];

	if (!is_own && walk->turn[node->place] != explore_rank(graph, node->source))
		return false;
	if (node->part == PART_COMPARE && !is_queue_read_next(graph, walk, node))
		return false;
	if (source)
		walk->readers[node->source]--;
	else
		walk->initial_readers[node->place]--;
	return true;
}

/* Is a store in the buffer that a later node of its thread has passed? */
static bool is_behind(const explore_graph *graph, walk *walk, int t)
{
	skip_unbuffered(graph, walk, t);
	return walk->drained[t] < walk->passed[t];
}

static bool fence_now(const explore_graph *graph, walk *walk, const explore_node *node, int threads)
{
	if (node->kind != EXPLORE_HEAVY_FENCE)
		return true;
	for (int t = 0; t < threads; t++)
		if (is_behind(graph, walk, t))
			return false;
	walk->heavy_left--;
	return true;
}

static bool do_node(const explore_graph *graph, walk *walk, const explore_node *node, int threads)
{
	if (is_buffered(node) || node->part == PART_CHOICE ||
	    (node->part == PART_LINK && node->source < 0))
		return true;
	if (node->part == PART_FENCE)
		return fence_now(graph, walk, node, threads);
	if (node->part == PART_TOKEN || node->part == PART_LINK)
		return walk->issued[graph->nodes[node->source].thread] >
		       graph->nodes[node->source].index;
	return explore_is_write(node) ? write_now(graph, walk, node) : read_now(graph, walk, node);
}

/* Issues one node of a thread. `may_pass`: it may also pass buffered stores. */
static bool issue(const explore_graph *graph, walk *walk, int t, int threads, bool may_pass)
{
	const explore_node *node;

	if (walk->issued[t] == graph->threads[t].count)
		return false;
	node = explore_nth(graph, t, walk->issued[t]);
	skip_unbuffered(graph, walk, t);
	if (!is_empty(walk, t) && (is_locked(node) || (passes(node) && !may_pass)))
		return false;
	if (!do_node(graph, walk, node, threads))
		return false;
	walk->issued[t]++;
	if (passes(node))
		walk->passed[t] = walk->issued[t];
	if (!is_buffered(node))
		walk->left--;
	return true;
}

static bool drain(const explore_graph *graph, walk *walk, int t)
{
	skip_unbuffered(graph, walk, t);
	if (is_empty(walk, t) || !write_now(graph, walk, explore_nth(graph, t, walk->drained[t])))
		return false;
	walk->drained[t]++;
	walk->left--;
	return true;
}

static void walk_on(const explore_graph *graph, walk *walk, int threads)
{
	bool has_moved;

	do {
		has_moved = false;
		for (int t = 0; t < threads; t++)
			while (drain(graph, walk, t) ||
			       issue(graph, walk, t, threads, !walk->heavy_left))
				has_moved = true;
	} while (has_moved);
}

static bool can_end(const explore_graph *graph, walk *now, int threads)
{
	walk_on(graph, now, threads);
	if (!now->left)
		return true;
	for (int t = 0; t < threads && now->heavy_left; t++) {
		walk then = *now;

		if (issue(graph, &then, t, threads, true) && can_end(graph, &then, threads))
			return true;
	}
	return false;
}

bool explore_is_tso(explore_search *search, const explore_graph *graph)
{
	walk walk;

	begin_walk(graph, &walk);
	return can_end(graph, &walk, search->program->threads);
}
