/* SPDX-License-Identifier: Apache-2.0
 * graph_threads.c - what a thread of a graph does after its last node.
 *
 *   step            parts, in this order
 *   load, store     read | write
 *   update          read; if the update takes place, its write at once
 *   fence           fence
 *   wait            [fence,] compare, then queue read and queue write at once; a sleeper goes on
 *                   with a token, or with leave read and leave write at once
 *   wake            [fence,] queue read, queue write at once
 *   choice          choice
 *   create, begin   link; the begin follows the create
 *   end, join       link; the join follows the end
 *
 * Why it works  The position of a thread and its next part follow from its last node, so nothing is
 *               replayed. A sleeper can go on as soon as a write of its queue no longer contains
 *               it. It stays able to while the graph grows, because queue writes form a chain.
 * Spinning      A thread that returns to a position after reads alone would repeat itself. It is
 *               blocked. The graph without that pass is explored as well, because later writes can
 *               revisit the reads of the pass.
 * Spec          none.
 * Evidence      tests/corpus/litmus. */
#include "graph.h"

static int first_part(const explore_search *search, int kind)
{
	switch (kind) {
	case EXPLORE_STORE:
	case EXPLORE_PLAIN_STORE:
		return PART_WRITE;
	case EXPLORE_FENCE:
	case EXPLORE_LIGHT_FENCE:
	case EXPLORE_HEAVY_FENCE:
		return PART_FENCE;
	case EXPLORE_WAIT:
		return search->options->linux_futex ? PART_FENCE : PART_COMPARE;
	case EXPLORE_WAKE:
		return search->options->linux_futex ? PART_FENCE : PART_QUEUE_READ;
	case EXPLORE_CHOOSE:
		return PART_CHOICE;
	case EXPLORE_CREATE:
	case EXPLORE_BEGIN:
	case EXPLORE_JOIN:
	case EXPLORE_END:
		return PART_LINK;
	default:
		return PART_READ;
	}
}

static bool has_effect(const explore_node *node)
{
	return node->part == PART_WRITE || node->kind == EXPLORE_WAIT || node->kind == EXPLORE_WAKE;
}

/* Was this thread at this position before? */
static void look_for_loop(const explore_search *search, explore_graph *graph, int t)
{
	explore_thread *thread = &graph->threads[t];
	bool has_changed = false;
	int visits = 0;

	if (!explore_has_seen(thread, thread->position))
		return;
	for (int i = thread->count - 1; i >= 0; i--) {
		const explore_node *node = explore_nth(graph, t, i);

		has_changed |= has_effect(node);
		if (!node->is_first || node->position != thread->position)
			continue;
		if (!has_changed) {
			thread->status = THREAD_SPINNING;
			thread->spins_from = (int16_t)i;
			return;
		}
		visits++;
	}
	if (search->options->loop_bound && visits > search->options->loop_bound)
		thread->status = THREAD_BOUNDED;
}

/* Passes steps that touch no memory. False: they never end. */
static bool skip_local(explore_search *search, explore_thread *thread, int t)
{
	explore_program *program = search->program;
	explore_position mark = thread->position;
	uint64_t steps = 0, most = 1;

	while (program->at(program, t, thread->position)->kind == EXPLORE_LOCAL &&
	       !program->error) {
		thread->position = program->next(program, t, thread->position, 0, false);
		if (thread->position == mark)
			return false;
		if (++steps < most)
			continue;
		mark = thread->position;
		most *= 2;
		steps = 0;
	}
	return true;
}

static void arrive(explore_search *search, explore_graph *graph, int t)
{
	explore_program *program = search->program;
	explore_thread *thread = &graph->threads[t];
	const explore_step *step;
	int kind;

	thread->spins_from = thread->count;
	thread->phase = PART_READ;
	if (program->error || !skip_local(search, thread, t)) {
		thread->status = THREAD_SPINNING;
		return;
	}
	step = program->at(program, t, thread->position);
	kind = step->kind;
	thread->joins = (int8_t)(kind == EXPLORE_JOIN ? step->operand : 0);
	thread->is_at_lock = step->is_lock;
	thread->status = kind == EXPLORE_END
				 ? program->creates_threads ? THREAD_READY : THREAD_ENDED
			 : kind == EXPLORE_BEGIN   ? THREAD_UNBORN
			 : kind == EXPLORE_JOIN    ? THREAD_JOINING
			 : kind == EXPLORE_ABANDON ? THREAD_ABANDONED
			 : kind == EXPLORE_FAIL    ? THREAD_FAILED
						   : THREAD_READY;
	thread->phase = (uint8_t)first_part(search, kind);
	if (thread->status == THREAD_READY)
		look_for_loop(search, graph, t);
}

void explore_start_thread(explore_search *search, explore_graph *graph, int t)
{
	graph->threads[t] = (explore_thread){.last = NOWHERE};
	if (graph->threads_count <= t)
		graph->threads_count = t + 1;
	search->program->graph = graph;
	graph->threads[t].position = search->program->start(search->program, t);
	arrive(search, graph, t);
}

/* The step is done and has returned `value`. */
static void end_step(explore_search *search, explore_graph *graph, const explore_node *node,
		     uint64_t value)
{
	explore_thread *thread = &graph->threads[node->thread];

	search->program->graph = graph;
	thread->position = search->program->next(search->program, node->thread, node->position,
						 value, node->has_failed);
	arrive(search, graph, node->thread);
}

static void after_queue_write(explore_search *search, explore_graph *graph,
			      const explore_node *node)
{
	explore_thread *thread = &graph->threads[node->thread];
	uint64_t before = node->before < 0 ? 0 : graph->nodes[node->before].written;

	if (node->kind == EXPLORE_WAKE) {
		end_step(search, graph, node,
			 (uint64_t)__builtin_popcountll(before & ~node->written));
	} else if (!(node->written >> node->thread & 1)) {
		end_step(search, graph, node, EXPLORE_AGAIN);
	} else if (node->choice == SLEEPS_UNTIL_WOKEN) {
		thread->status = THREAD_ASLEEP;
		thread->phase = PART_TOKEN;
	} else {
		thread->phase = PART_LEAVE_READ;
	}
}

/* How the wait to which this node belongs sleeps. */
static int sleep_of(const explore_graph *graph, const explore_node *node)
{
	int i = node->index;

	while (explore_nth(graph, node->thread, i)->part != PART_QUEUE_WRITE)
		i--;
	return explore_nth(graph, node->thread, i)->choice;
}

static void after_leave(explore_search *search, explore_graph *graph, const explore_node *node)
{
	explore_thread *thread = &graph->threads[node->thread];

	if (node->part == PART_LEAVE_WRITE) {
		bool is_late = sleep_of(graph, node) == SLEEPS_UNTIL_DEADLINE;

		end_step(search, graph, node, is_late ? EXPLORE_TIMED_OUT : EXPLORE_WOKEN);
	} else if (node->value >> node->thread & 1) {
		thread->phase = PART_LEAVE_WRITE;
	} else { /* it was woken first: another graph has this execution */
		thread->status = THREAD_ABANDONED;
	}
}

/* The lock was taken: another graph has the execution in which this read finds it free. */
static void wait_for_lock(explore_thread *thread, const explore_node *node)
{
	thread->status = THREAD_SPINNING;
	thread->spins_from = node->index;
}

void explore_go_on(explore_search *search, explore_graph *graph, int t)
{
	explore_thread *thread = &graph->threads[t];
	const explore_node *node = &graph->nodes[thread->last];

	thread->position = node->position;
	thread->status = THREAD_READY;
	switch (node->part) {
	case PART_READ:
		if (node->is_followed)
			thread->phase = PART_WRITE;
		else if (node->is_lock)
			wait_for_lock(thread, node);
		else
			end_step(search, graph, node, node->value);
		break;
	case PART_WRITE:
		end_step(search, graph, node,
			 node->is_update ? explore_nth(graph, t, node->index - 1)->value : 0);
		break;
	case PART_FENCE:
		if (node->kind == EXPLORE_WAIT)
			thread->phase = PART_COMPARE;
		else if (node->kind == EXPLORE_WAKE)
			thread->phase = PART_QUEUE_READ;
		else
			end_step(search, graph, node, node->kind == EXPLORE_HEAVY_FENCE);
		break;
	case PART_COMPARE:
		thread->phase = PART_QUEUE_READ;
		break;
	case PART_QUEUE_READ:
		thread->phase = PART_QUEUE_WRITE;
		break;
	case PART_QUEUE_WRITE:
		after_queue_write(search, graph, node);
		break;
	case PART_TOKEN:
		end_step(search, graph, node, EXPLORE_WOKEN);
		break;
	case PART_CHOICE:
		end_step(search, graph, node, (uint64_t)node->choice);
		break;
	case PART_LINK:
		if (node->kind == EXPLORE_END)
			thread->status = THREAD_ENDED;
		else
			end_step(search, graph, node, 0);
		break;
	default:
		after_leave(search, graph, node);
	}
}

/* The next thread. */

int explore_waker(const explore_graph *graph, int t)
{
	int write = graph->nodes[graph->threads[t].last].after;

	while (write >= 0 && graph->nodes[write].written >> t & 1)
		write = graph->nodes[write].after;
	return write;
}

int explore_linked(const explore_graph *graph, int t)
{
	const explore_thread *thread = &graph->threads[t];

	return thread->status == THREAD_UNBORN    ? graph->creates[t]
	       : thread->status == THREAD_JOINING ? graph->ends[thread->joins]
						  : NOWHERE;
}

bool explore_can_go_on(const explore_graph *graph, int t)
{
	return graph->threads[t].status == THREAD_READY ||
	       (graph->threads[t].status == THREAD_ASLEEP && explore_waker(graph, t) >= 0) ||
	       explore_linked(graph, t) >= 0;
}

bool explore_is_urgent(const explore_graph *graph, int t)
{
	const explore_thread *thread = &graph->threads[t];
	const explore_node *last = thread->last < 0 ? NULL : &graph->nodes[thread->last];

	if (thread->status != THREAD_READY || !last)
		return false;
	return (last->part == PART_READ && last->is_followed) || last->part == PART_QUEUE_READ ||
	       last->part == PART_COMPARE || last->part == PART_LEAVE_READ;
}

/* Would the next step of the thread find its lock taken, by the newest write? */
static bool is_shut_out(const explore_search *search, const explore_graph *graph, int t)
{
	const explore_thread *thread = &graph->threads[t];
	const explore_step *step;
	int place, last;

	if (!thread->is_at_lock || thread->status != THREAD_READY)
		return false;
	step = search->program->at(search->program, t, thread->position);
	place = search->place_of[step->location];
	if (place == NOWHERE || place >= graph->places_count)
		return false;
	last = graph->places[place].last;
	return last >= 0 &&
	       !explore_takes_place(step, explore_cut(step, graph->nodes[last].written));
}

/* Who waits for a lock goes on last: it would be blocked, and again in each graph that follows. */
int explore_next_thread(const explore_search *search, const explore_graph *graph)
{
	int next = NOWHERE, last = NOWHERE;

	for (int t = graph->threads_count - 1; t >= 0; t--) {
		if (explore_is_urgent(graph, t))
			return t;
		if (!explore_can_go_on(graph, t))
			continue;
		if (is_shut_out(search, graph, t))
			last = t;
		else
			next = t;
	}
	return next >= 0 ? next : last;
}
