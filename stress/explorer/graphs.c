/* SPDX-License-Identifier: Apache-2.0
 * graphs.c - the graph engine: every execution of a program, each once (TruSt).
 *
 *   next node     a read: from every write; a write: at every place in modification order
 *   then          a write goes back: earlier reads at its place, not among its causes, read from it
 *                 instead, and what came after them (but for the write's causes) is forgotten
 *
 * Why it works  A forgotten node would come again, and with it the same graph: so a write goes back
 *               only where all that is forgotten, and the read itself, were added in the way that
 *               counts as canonical: reading from, or standing at, the end of modification order as
 *               it was then, read by nobody, choosing first. Each graph is reached in one way, and
 *               the memory is that of the graphs on the path.
 * Updates       An update whose source another update has read cannot stand; but its write still
 *               goes back to that other update, which is how the other order is found.
 * Spec          none: TruSt, POPL 2022.  Evidence  tests/corpus/litmus, check_duplicates. */
#include "graph.h"

enum { DEPTH_MOST = 10000 }; /* of visits inside each other: about 6 MB of stack */

static void visit(explore_search *search, explore_graph *graph);

/* Writes. */

/* With the write at one place. `read`: that went back to read it, or NOWHERE. */
static void visit_placed(explore_search *search, explore_graph *graph, int write, int read)
{
	int writer = graph->nodes[write].thread;
	int reader = read < 0 ? writer : graph->nodes[read].thread;
	explore_thread before_writer = graph->threads[writer];
	explore_thread before_reader = graph->threads[reader];

	if (!explore_may_stand(search, graph, write) ||
	    (read >= 0 && !explore_may_read(search, graph, read)))
		return;
	explore_go_on(search, graph, writer);
	if (read >= 0)
		explore_go_on(search, graph, reader);
	visit(search, graph);
	graph->threads[reader] = before_reader;
	graph->threads[writer] = before_writer;
}

/* At every place in modification order, from the end. */
static void place(explore_search *search, explore_graph *graph, int write, int read)
{
	int at = graph->nodes[write].place, bound = explore_bound(search, graph, write);
	bool is_update = graph->nodes[write].is_update;
	int source = is_update ? explore_must_follow(graph, &graph->nodes[write]) : NOWHERE;
	int after = graph->places[at].last;

	for (;; after = graph->nodes[after].before) {
		if (explore_rank(graph, after) < bound || search->is_over)
			return;
		if ((!is_update || after == source) &&
		    !explore_has_update_after(graph, at, after)) {
			explore_insert(graph, write, after);
			visit_placed(search, graph, write, read);
			explore_remove(graph, write);
		}
		if (after == FROM_INITIAL)
			return;
	}
}

static void go_back(explore_search *search, const explore_graph *graph, int read, int write)
{
	explore_graph *copy = explore_gone_back(search, graph, &read, &write);
	const explore_node *node;
	explore_step step;

	if (!copy)
		return;
	node = &copy->nodes[read];
	step = *search->program->at(search->program, node->thread, node->position);
	for (int failed = 0; failed < 2 && !search->is_over; failed++)
		if (explore_set_source(search, copy, read, write, &step, failed))
			place(search, copy, write, read);
	explore_give_back(search);
}

static void visit_write(explore_search *search, explore_graph *graph, int thread,
			const explore_step *step)
{
	explore_thread before = graph->threads[thread];
	int choices = explore_choices(graph, thread, step);

	for (int choice = 0; choice < choices && !search->is_over; choice++) {
		int write;

		if (!explore_may_choose(search, graph, thread, step, choice))
			continue;
		write = explore_append(search, graph, thread, step, choice);
		if (write < 0)
			return;
		place(search, graph, write, NOWHERE);
		for (int n = graph->nodes[write].older; n >= 0 && !search->is_over;
		     n = graph->nodes[n].older)
			go_back(search, graph, n, write);
		explore_drop(graph);
		graph->threads[thread] = before;
	}
}

/* Reads, and what has no choice. */

static void visit_read_from(explore_search *search, explore_graph *graph, int read, int source,
			    const explore_step *step)
{
	int thread = graph->nodes[read].thread;
	explore_thread before = graph->threads[thread];

	for (int failed = 0; failed < 2 && !search->is_over; failed++) {
		if (!explore_set_source(search, graph, read, source, step, failed) ||
		    !explore_may_read(search, graph, read))
			continue;
		explore_go_on(search, graph, thread);
		visit(search, graph);
		graph->threads[thread] = before;
	}
}

static void visit_read(explore_search *search, explore_graph *graph, int thread,
		       const explore_step *step)
{
	explore_thread before = graph->threads[thread];
	int read = explore_append(search, graph, thread, step, 0), source;

	if (read < 0)
		return;
	source = graph->places[graph->nodes[read].place].last;
	for (;; source = graph->nodes[source].before) {
		visit_read_from(search, graph, read, source, step);
		if (source == FROM_INITIAL || search->is_over)
			break;
	}
	explore_drop(graph);
	graph->threads[thread] = before;
}

static void visit_other(explore_search *search, explore_graph *graph, int thread,
			const explore_step *step)
{
	explore_thread before = graph->threads[thread];
	int waker = before.phase == PART_TOKEN ? explore_waker(graph, thread) : NOWHERE;
	int choices = explore_choices(graph, thread, step);

	for (int choice = 0; choice < choices && !search->is_over; choice++) {
		int node = explore_append(search, graph, thread, step, choice);

		if (node < 0)
			return;
		if (waker >= 0)
			explore_set_waker(graph, node, waker);
		explore_go_on(search, graph, thread);
		visit(search, graph);
		explore_drop(graph);
		graph->threads[thread] = before;
	}
}

/* The search. */

static void take_part(explore_search *search, explore_graph *graph, int thread)
{
	explore_step step =
		*search->program->at(search->program, thread, graph->threads[thread].position);

	if (explore_part_reads(graph->threads[thread].phase))
		visit_read(search, graph, thread, &step);
	else if (explore_part_writes(graph->threads[thread].phase))
		visit_write(search, graph, thread, &step);
	else
		visit_other(search, graph, thread, &step);
}

static void visit(explore_search *search, explore_graph *graph)
{
	int thread = explore_next_thread(graph);

	if (explore_is_over(search) || (search->share && !explore_enters(search, thread < 0)) ||
	    (search->probe && !explore_probe_leave(search, graph, thread)))
		return;
	if (thread < 0)
		explore_finish(search, graph);
	else
		explore_visit_next(search, graph);
}

void explore_visit_next(explore_search *search, explore_graph *graph)
{
	if (graph->count == EXPLORE_NODES || search->depth == DEPTH_MOST) {
		explore_fail(search,
			     graph->count == EXPLORE_NODES
				     ? "an execution has more than %d events"
				     : "the search goes back more than %d times",
			     graph->count == EXPLORE_NODES ? EXPLORE_NODES : DEPTH_MOST);
		return;
	}
	search->depth++;
	take_part(search, graph, explore_next_thread(graph));
	search->depth--;
}

void explore_visit_all(explore_search *search)
{
	explore_graph *graph = explore_take(search);

	if (!graph)
		return;
	for (int t = 0; t < search->program->threads; t++)
		explore_start_thread(search, graph, t);
	visit(search, graph);
	explore_give_back(search);
}
