/* SPDX-License-Identifier: Apache-2.0
 * graphs.c - the graph engine: visits every consistent execution graph of a program exactly once,
 * without storing those that it has visited. The algorithm is TruSt.
 *
 *   add a node    a read: once from every write; a write: once at each place in modification order
 *   revisit       an earlier read at the place of the new write, unless it is a cause of the write,
 *                 reads from the write instead; the nodes after the read that are no causes of the
 *                 write are removed
 *
 * For example, let thread 0 be `x = 1; r0 = y` and thread 1 `y = 1; r1 = x`. The search adds W(x),
 * R(y) from the initial value, W(y), and R(x) from each of its two sources. Then it lets W(y)
 * revisit R(y), and adds R(x) again. These are four graphs; SC forbids r0 = r1 = 0.
 *
 * Why it works  A removed node would be added again, and with it the same graph. A write therefore
 *               revisits a read only if the read and all removed nodes were added in the canonical
 *               way: they read from, or stand at, the end of modification order as it was then, no
 *               earlier node reads from them, and they made the first choice. So each graph is
 *               reached in exactly one way, and the search needs memory only for the graphs on its
 *               current path.
 * Updates       Two updates that read from the same source are inconsistent. The write of the
 *               second still revisits the first: so the opposite order is found.
 * Paper         TruSt: Kokologiannakis, Marmanis, Gladstein, Vafeiadis, "Truly stateless, optimal
 *               dynamic partial order reduction", POPL 2022.
 * Spec          none.
 * Evidence      tests/corpus/litmus, check_duplicates. */
#include "graph.h"

enum { DEPTH_MOST = 10000 }; /* of nested visits: about 6 MB of stack */

static void visit(explore_search *search, explore_graph *graph);

/* Writes. */

/* Goes on with the write where it stands. `read`: the node that it has revisited, or NOWHERE. */
static void visit_placed(explore_search *search, explore_graph *graph, int write, int read)
{
	int writer = graph->nodes[write].thread;
	int reader = read < 0 ? writer : graph->nodes[read].thread;
	explore_thread before_writer = graph->threads[writer];
	explore_thread before_reader = graph->threads[reader];

	if (!explore_may_stand(search, graph, write) ||
	    (read >= 0 && !explore_may_read(search, graph, read)))
		return;
	if (read >= 0)
		graph->threads[reader].position = EXPLORE_UNKNOWN; /* it reads another value now */
	explore_go_on(search, graph, writer);
	if (read >= 0)
		explore_go_on(search, graph, reader);
	visit(search, graph);
	graph->threads[reader] = before_reader;
	graph->threads[writer] = before_writer;
}

static void place_after(explore_search *search, explore_graph *graph, int write, int read,
			int after)
{
	explore_insert(graph, write, after);
	visit_placed(search, graph, write, read);
	explore_remove(graph, write);
}

static void place_update(explore_search *search, explore_graph *graph, int write, int read)
{
	int place = graph->nodes[write].place;
	int source = explore_must_follow(graph, &graph->nodes[write]);

	if (!explore_has_update_after(graph, place, source) &&
	    (source == graph->places[place].last ||
	     explore_rank(graph, source) >= explore_bound(search, graph, write)))
		place_after(search, graph, write, read, source);
}

/* Tries every place in modification order, from the end. */
static void place(explore_search *search, explore_graph *graph, int write, int read)
{
	int at = graph->nodes[write].place, after = graph->places[at].last, bound;

	if (graph->nodes[write].is_update) {
		place_update(search, graph, write, read);
		return;
	}
	bound = explore_bound(search, graph, write);
	for (; explore_rank(graph, after) >= bound; after = graph->nodes[after].before) {
		if (!explore_has_update_after(graph, at, after))
			place_after(search, graph, write, read, after);
		if (after == FROM_INITIAL || search->is_over)
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

static void go_back_to_all(explore_search *search, const explore_graph *graph, int write)
{
	const explore_clock *causes = &graph->nodes[write].causes;
	int n = graph->nodes[write].older, fixed = NOWHERE;
	bool is_first = true;

	for (; n > fixed && !search->is_over; n = graph->nodes[n].older) {
		if (!explore_is_read(&graph->nodes[n]) || explore_holds(causes, &graph->nodes[n]))
			continue;
		if (is_first)
			fixed = explore_first_fixed(graph, write);
		is_first = false;
		if (n > fixed)
			go_back(search, graph, n, write);
	}
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
		go_back_to_all(search, graph, write);
		explore_drop(graph);
		graph->threads[thread] = before;
	}
}

/* Reads, and parts without a choice. */

/* Does it find a lock taken that the graph shows to be given back? No write revisits such a read, as
 * it was not added in the canonical way. */
static bool waits_in_vain(const explore_graph *graph, int read, const explore_step *step)
{
	const explore_node *node = &graph->nodes[read];

	return step->is_lock && !node->is_followed &&
	       node->source != graph->places[node->place].last;
}

static void visit_read_from(explore_search *search, explore_graph *graph, int read, int source,
			    const explore_step *step)
{
	int thread = graph->nodes[read].thread;
	explore_thread before = graph->threads[thread];

	for (int failed = 0; failed < 2 && !search->is_over; failed++) {
		if (!explore_set_source(search, graph, read, source, step, failed) ||
		    waits_in_vain(graph, read, step) || !explore_may_see(search, graph, read))
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
	int read = explore_append(search, graph, thread, step, 0), source, bound = 0;

	if (read < 0)
		return;
	source = graph->places[graph->nodes[read].place].last;
	if (source != FROM_INITIAL && graph->nodes[read].index) /* else nothing precedes it */
		bound = explore_bound(search, graph, read);
	for (; explore_rank(graph, source) >= bound; source = graph->nodes[source].before) {
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
	int linked = explore_linked(graph, thread);
	int choices = explore_choices(graph, thread, step);

	for (int choice = 0; choice < choices && !search->is_over; choice++) {
		int node = explore_append(search, graph, thread, step, choice);

		if (node < 0)
			return;
		if (waker >= 0)
			explore_set_waker(graph, node, waker);
		if (linked >= 0)
			explore_set_link(search, graph, node, linked);
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
	int thread = explore_next_thread(search, graph);

	if (explore_is_over(search) || (search->split && !explore_enters(search, thread < 0)) ||
	    (search->probe && !explore_probe_leave(search, graph, thread)))
		return;
	if (thread < 0)
		explore_finish(search, graph);
	else
		explore_visit_thread(search, graph, thread);
}

void explore_visit_thread(explore_search *search, explore_graph *graph, int thread)
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
	take_part(search, graph, thread);
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
