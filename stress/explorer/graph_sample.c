/* SPDX-License-Identifier: Apache-2.0
 * graph_sample.c - random execution graphs, for programs that are too large to explore
 * exhaustively.
 *
 *   next thread    any thread that can go on; PCT: the one with the highest priority, which drops
 *                  at random steps
 *   a read         any consistent write, with equal probability
 *   a write        any consistent place in modification order
 *
 * Why it works  Every consistent graph can be built in some order that respects program order and
 *               reads-from. So every graph has a chance, including weak behaviour. Nothing prevents
 *               a graph from being drawn twice, and nothing promises that all are drawn:
 *               `is_exhaustive` is false.
 * Spinning      A pass of a loop that changed nothing is taken back, where the search would block
 *               the thread. The pass is tried again, with the newest values, once there are newer
 *               ones.
 * PCT           The priority of the running thread drops at d - 1 steps. These are drawn among k
 *               steps, where k is the length of a first run that is not counted. PCT's bound on the
 *               probability of finding a bug is not claimed for graphs.
 * Paper         PCT: Burckhardt, Kothari, Musuvathi, Nagarakatte, ASPLOS 2010.
 * Spec          none.
 * Evidence      tests/corpus/litmus. */
#include "graph.h"

#include <string.h>

enum { CHANGES = 32 };

typedef struct sampler {
	explore_search *search;
	explore_graph *graph, *spare;
	int newest_only[EXPLORE_THREADS]; /* number of reads to come that take the newest write */
	uint64_t priorities[EXPLORE_THREADS];
	uint64_t changes[CHANGES]; /* steps before which the priority of the running thread drops */
	uint64_t steps, length;    /* of this run; of the first run */
} sampler;

typedef struct option { /* one way to read */
	int16_t at;
	bool has_failed;
} option;

uint64_t explore_random(explore_search *search, uint64_t below)
{
	/* splitmix64 (Steele, Lea, Flood, OOPSLA 2014). */
	uint64_t z = search->random += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return (z ^ z >> 31) % below;
}

/* Writes. */

static bool may_place(explore_search *search, explore_graph *graph, int write, int after)
{
	bool is_allowed;

	if (explore_rank(graph, after) < explore_bound(search, graph, write) ||
	    explore_has_update_after(graph, graph->nodes[write].place, after))
		return false;
	explore_insert(graph, write, after);
	is_allowed = explore_may_stand(search, graph, write);
	explore_remove(graph, write);
	return is_allowed;
}

static int choose_choice(const sampler *sampler, int thread, const explore_step *step)
{
	int choices = explore_choices(sampler->graph, thread, step), choice;

	do
		choice = (int)explore_random(sampler->search, (uint64_t)choices);
	while (!explore_may_choose(sampler->search, sampler->graph, thread, step, choice));
	return choice;
}

static void sample_write(sampler *sampler, int thread, const explore_step *step)
{
	explore_graph *graph = sampler->graph;
	int choice = choose_choice(sampler, thread, step);
	int write = explore_append(sampler->search, graph, thread, step, choice), after, count = 0;
	int16_t places[EXPLORE_NODES];

	if (write < 0)
		return;
	if (graph->nodes[write].is_update) {
		explore_insert(graph, write, explore_must_follow(graph, &graph->nodes[write]));
		return;
	}
	after = graph->places[graph->nodes[write].place].last;
	for (;; after = graph->nodes[after].before) {
		if (may_place(sampler->search, graph, write, after))
			places[count++] = (int16_t)after;
		if (after == FROM_INITIAL)
			break;
	}
	explore_insert(graph, write, places[explore_random(sampler->search, (uint64_t)count)]);
}

/* Reads. */

/* Could the node that comes at once after this read be added: the write of an update, or the queue
 * read of a wait? */
static bool may_follow(sampler *sampler, int read, int phase, const explore_step *step)
{
	explore_search *search = sampler->search;
	explore_graph *graph = sampler->graph;
	int thread = graph->nodes[read].thread, source = graph->nodes[read].source, next;
	explore_thread before = graph->threads[thread];
	bool is_allowed;

	graph->threads[thread].phase = (uint8_t)phase;
	next = explore_append(search, graph, thread, step, 0);
	if (next < 0)
		return false;
	if (phase == PART_WRITE)
		is_allowed = may_place(search, graph, next, source);
	else
		is_allowed = explore_set_source(search, graph, next,
						graph->places[graph->nodes[next].place].last, step,
						false) &&
			     explore_may_read(search, graph, next);
	explore_drop(graph);
	graph->threads[thread] = before;
	return is_allowed;
}

static bool may_read(sampler *sampler, int read, option option, const explore_step *step)
{
	explore_search *search = sampler->search;
	explore_graph *graph = sampler->graph;

	if (!explore_set_source(search, graph, read, option.at, step, option.has_failed) ||
	    !explore_may_read(search, graph, read))
		return false;
	if (graph->nodes[read].part == PART_COMPARE)
		return may_follow(sampler, read, PART_QUEUE_READ, step);
	return !graph->nodes[read].is_followed || may_follow(sampler, read, PART_WRITE, step);
}

static void sample_read(sampler *sampler, int thread, const explore_step *step)
{
	explore_graph *graph = sampler->graph;
	int read = explore_append(sampler->search, graph, thread, step, 0), count = 0, source;
	bool is_newest = sampler->newest_only[thread] > 0;
	option options[2 * EXPLORE_NODES];

	if (read < 0)
		return;
	sampler->newest_only[thread] -= is_newest;
	is_newest |= graph->nodes[read].part == PART_QUEUE_READ ||
		     graph->nodes[read].part == PART_LEAVE_READ;
	source = graph->places[graph->nodes[read].place].last;
	for (;; source = graph->nodes[source].before) {
		for (int failed = 0; failed < 2 - is_newest; failed++) {
			option option = {(int16_t)source, failed};

			if (may_read(sampler, read, option, step))
				options[count++] = option;
		}
		if (source == FROM_INITIAL || (is_newest && count))
			break;
	}
	source = (int)explore_random(sampler->search, (uint64_t)count);
	explore_set_source(sampler->search, graph, read, options[source].at, step,
			   options[source].has_failed);
}

static void sample_other(sampler *sampler, int thread, const explore_step *step)
{
	explore_graph *graph = sampler->graph;
	bool is_token = graph->threads[thread].phase == PART_TOKEN;
	int waker = is_token ? explore_waker(graph, thread) : NOWHERE;
	int linked = explore_linked(graph, thread);
	int choice = choose_choice(sampler, thread, step);
	int node = explore_append(sampler->search, graph, thread, step, choice);

	if (node >= 0 && is_token)
		explore_set_waker(graph, node, waker);
	if (node >= 0 && linked >= 0)
		explore_set_link(sampler->search, graph, node, linked);
}

/* Threads. */

/* Takes back the pass of the loop that changed nothing. */
static void take_back(sampler *sampler, int thread)
{
	explore_graph *from = sampler->graph;
	bool keeps[EXPLORE_NODES];
	int16_t numbers[EXPLORE_NODES];
	int first = from->threads[thread].spins_from;

	for (int n = 0; n < from->count; n++)
		keeps[n] = from->nodes[n].thread != thread || from->nodes[n].index < first;
	sampler->newest_only[thread] = from->threads[thread].count - first;
	explore_reset(sampler->spare);
	if (!explore_cut_down(sampler->search, from, sampler->spare, keeps, numbers))
		return;
	sampler->graph = sampler->spare;
	sampler->spare = from;
}

static bool can_run(const sampler *sampler, int t)
{
	const explore_thread *thread = &sampler->graph->threads[t];

	if (thread->status == THREAD_SPINNING)
		return thread->spins_from < thread->count && explore_is_stale(sampler->graph, t);
	return explore_can_go_on(sampler->graph, t);
}

static int choose_thread(sampler *sampler)
{
	int able[EXPLORE_THREADS], count = 0, best = 0;

	for (int t = 0; t < sampler->search->program->threads; t++)
		if (can_run(sampler, t))
			able[count++] = t;
	if (!count)
		return NOWHERE;
	if (!sampler->length) /* not PCT, or its first run */
		return able[explore_random(sampler->search, (uint64_t)count)];
	for (int i = 1; i < count; i++)
		if (sampler->priorities[able[i]] > sampler->priorities[able[best]])
			best = i;
	for (int c = 0; c < sampler->search->options->pct_depth - 1 && c < CHANGES; c++)
		if (sampler->changes[c] == sampler->steps) {
			sampler->changes[c] = 0; /* this change is done */
			sampler->priorities[able[best]] = (uint64_t)c;
			return choose_thread(sampler);
		}
	return able[best];
}

static void plan_priorities(sampler *sampler)
{
	uint64_t threads = (uint64_t)sampler->search->program->threads;

	for (uint64_t t = 0; t < threads; t++) {
		uint64_t other = explore_random(sampler->search, t + 1);

		sampler->priorities[t] = sampler->priorities[other];
		sampler->priorities[other] = CHANGES + t;
	}
	for (int c = 0; c < CHANGES; c++)
		sampler->changes[c] = 1 + explore_random(sampler->search, sampler->length);
}

static void take_part(sampler *sampler, int thread)
{
	explore_program *program = sampler->search->program;
	const explore_thread *state = &sampler->graph->threads[thread];
	explore_step step = *program->at(program, thread, state->position);

	if (explore_part_reads(state->phase))
		sample_read(sampler, thread, &step);
	else if (explore_part_writes(state->phase))
		sample_write(sampler, thread, &step);
	else
		sample_other(sampler, thread, &step);
	if (!sampler->search->is_over)
		explore_go_on(sampler->search, sampler->graph, thread);
}

/* Draws one execution. False: it has too many events, or the search is over. */
static bool run(sampler *sampler)
{
	explore_search *search = sampler->search;
	int thread;

	explore_reset(sampler->graph);
	memset(sampler->newest_only, 0, sizeof(sampler->newest_only));
	for (int t = 0; t < search->program->threads; t++)
		explore_start_thread(search, sampler->graph, t);
	for (sampler->steps = 1; (thread = choose_thread(sampler)) >= 0; sampler->steps++) {
		if (sampler->graph->threads[thread].status == THREAD_SPINNING)
			take_back(sampler, thread);
		do {
			if (explore_is_over(search) || sampler->graph->count == EXPLORE_NODES)
				return false;
			take_part(sampler, thread);
		} while (explore_is_urgent(sampler->graph, thread));
	}
	return true;
}

void explore_sample(explore_search *search)
{
	sampler sampler = {.search = search};

	sampler.graph = explore_take(search);
	sampler.spare = explore_take(search);
	if (!sampler.graph || !sampler.spare)
		return;
	if (search->options->pct_depth) {
		run(&sampler);
		sampler.length = sampler.steps;
	}
	for (uint64_t i = 0; i < search->options->sample && !search->is_over; i++) {
		if (sampler.length)
			plan_priorities(&sampler);
		if (run(&sampler))
			explore_finish(search, sampler.graph);
		else if (!search->is_over)
			search->report->bounded++;
	}
	if (!search->report->stopped)
		search->report->stopped = "sample";
}
