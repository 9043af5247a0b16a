/* SPDX-License-Identifier: Apache-2.0
 * graph_verdict.c - what a finished graph shows: an outcome, a race, or a thread that waits for
 * ever.
 *
 *   all threads ended                               the outcome of the program
 *   a thread spins on a value that is not newest    blocked: in another graph it reads the newest
 *   no such thread, but one spins or sleeps         stuck; asleep or lost_wakeup
 *   no thread can go on, one joins another          stuck
 *
 * Why it works  A finished graph cannot grow. No wake will come for a sleeper. A spinning thread
 *               has read the newest values, and no thread is left to write others.
 * Paper         Await termination as in VSync: Oberhauser et al., ASPLOS 2021.
 * Spec          none.
 * Evidence      tests/corpus/litmus. */
#include "graph.h"
#include "report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Duplicates. */

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * UINT64_C(0xff51afd7ed558ccd);
	return hash ^ hash >> 29;
}

/* A name of the node that does not depend on the path by which the search reached it. */
static uint64_t name_of(const explore_graph *graph, int node)
{
	return node < 0 ? (uint64_t)(-node)
			: 16 + (uint64_t)graph->nodes[node].thread * EXPLORE_NODES +
				  (uint64_t)graph->nodes[node].index;
}

static uint64_t hash_of(const explore_graph *graph)
{
	uint64_t hash = 0;

	for (int n = 0; n < graph->count; n++) {
		const explore_node *node = &graph->nodes[n];
		uint64_t own = mix(0x9e3779b97f4a7c15, name_of(graph, n));

		own = mix(own, (uint64_t)node->part << 32 | (uint64_t)node->choice << 1 |
				       node->has_failed);
		own = mix(own, name_of(graph, node->source));
		if (explore_is_write(node))
			own = mix(own, name_of(graph, node->before));
		hash += mix(own, node->position);
	}
	return hash ? hash : 1;
}

static bool more_room(explore_search *search)
{
	uint64_t room = search->seen_room ? 2 * search->seen_room : 1024;
	uint64_t *seen = calloc(room, sizeof(*seen));

	if (!seen)
		return explore_fail(search, "out of memory");
	for (uint64_t i = 0; i < search->seen_room; i++) {
		uint64_t slot = search->seen[i] & (room - 1);

		if (!search->seen[i])
			continue;
		while (seen[slot])
			slot = (slot + 1) & (room - 1);
		seen[slot] = search->seen[i];
	}
	search->bytes += (room - search->seen_room) * sizeof(*seen);
	free(search->seen);
	search->seen = seen;
	search->seen_room = room;
	return true;
}

static void check_duplicate(explore_search *search, const explore_graph *graph)
{
	uint64_t hash = hash_of(graph), slot;

	if (2 * search->seen_count >= search->seen_room && !more_room(search))
		return;
	for (slot = hash & (search->seen_room - 1); search->seen[slot];
	     slot = (slot + 1) & (search->seen_room - 1))
		if (search->seen[slot] == hash) {
			search->report->duplicates++;
			return;
		}
	search->seen[slot] = hash;
	search->seen_count++;
}

/* Verdicts. */

enum ending { COUNTED, BLOCKED, CUT };

/* Could this spinning thread still read another value? */
bool explore_is_stale(const explore_graph *graph, int t)
{
	for (int i = graph->threads[t].spins_from; i < graph->threads[t].count; i++) {
		const explore_node *node = explore_nth(graph, t, i);

		if (explore_is_read(node) &&
		    (node->has_failed || node->source != graph->places[node->place].last))
			return true;
	}
	return false;
}

static const explore_step *step_of(const explore_search *search, const explore_graph *graph, int t)
{
	return search->program->at(search->program, t, graph->threads[t].position);
}

static uint64_t final_value(const explore_search *search, const explore_graph *graph, int location)
{
	int place = search->place_of[location];

	if (place == NOWHERE || place >= graph->places_count || graph->places[place].last < 0)
		return search->program->initial[location];
	return graph->nodes[graph->places[place].last].written;
}

/* Does the word still hold the value that the sleeper expects? */
static bool is_as_expected(const explore_search *search, const explore_graph *graph,
			   const explore_step *step)
{
	return explore_cut(step, final_value(search, graph, step->location)) ==
	       explore_cut(step, step->expected);
}

static enum explore_verdict failure_in(const explore_search *search, const explore_graph *graph)
{
	int t = 0;

	while (graph->threads[t].status != THREAD_FAILED)
		t++;
	return explore_failure(step_of(search, graph, t));
}

/* The process ends when its main thread does, whatever the others wait for. */
static bool is_over(const explore_search *search, const explore_graph *graph)
{
	return search->program->creates_threads && graph->threads[0].status == THREAD_ENDED;
}

static bool waits(int status)
{
	return status == THREAD_SPINNING || status == THREAD_ASLEEP || status == THREAD_JOINING;
}

static enum ending ending_of(const explore_search *search, const explore_graph *graph,
			     enum explore_verdict *verdict)
{
	bool has[THREAD_ENDED + 1] = {false}, is_lost = false, is_blocked = false;

	for (int t = 0; t < search->program->threads; t++) {
		int status = graph->threads[t].status;

		if (is_over(search, graph) && waits(status))
			continue;
		has[status] = true;
		if (status == THREAD_SPINNING)
			is_blocked |= explore_is_stale(graph, t);
		if (status == THREAD_ASLEEP) {
			const explore_step *step = step_of(search, graph, t);

			is_lost |= !is_as_expected(search, graph, step);
			is_blocked |= search->options->timeouts && step->has_deadline;
		}
	}
	*verdict = explore_is_race(graph) ? EXPLORE_RACE
		   : has[THREAD_FAILED]   ? failure_in(search, graph)
		   : has[THREAD_SPINNING] ? EXPLORE_STUCK
		   : is_lost              ? EXPLORE_LOST_WAKEUP
		   : has[THREAD_ASLEEP]   ? EXPLORE_ASLEEP
		   : has[THREAD_JOINING]  ? EXPLORE_STUCK
					  : EXPLORE_ENDED;
	if (*verdict == EXPLORE_RACE || explore_is_failure(*verdict))
		return COUNTED;
	if (has[THREAD_BOUNDED])
		return CUT;
	return is_blocked || has[THREAD_ABANDONED] ? BLOCKED : COUNTED;
}

static void write_outcome(const explore_search *search, const explore_graph *graph,
			  char text[EXPLORE_TEXT])
{
	uint64_t values[EXPLORE_LOCATIONS];
	explore_position ends[EXPLORE_THREADS];

	for (int l = 0; l < search->program->locations; l++)
		values[l] = final_value(search, graph, l);
	for (int t = 0; t < search->program->threads; t++)
		ends[t] = graph->threads[t].position;
	search->program->graph = graph;
	search->program->outcome(search->program, values, ends, text);
}

static void count(explore_search *search, const explore_graph *graph, enum explore_verdict verdict)
{
	static const char *const texts[EXPLORE_VERDICTS] = {
		"", "asleep", "asleep", "stuck", "race", "assertion", "crash",
	};
	char text[EXPLORE_TEXT];
	explore_outcome *outcome;

	search->program->failed = NULL;
	if (verdict == EXPLORE_ENDED)
		write_outcome(search, graph, text);
	if (search->program->failed)
		verdict = explore_failure(search->program->failed);
	if (verdict == EXPLORE_ENDED)
		search->report->executions++;
	else
		snprintf(text, sizeof(text), "%s", texts[verdict]);
	search->counted++;
	outcome = explore_count(search->report, text, verdict);
	if (outcome->count == 1)
		outcome->first = search->items << 16 | (uint64_t)search->report->outcomes_count;
	explore_show(search, graph, outcome);
}

void explore_finish(explore_search *search, explore_graph *graph)
{
	const explore_options *options = search->options;
	enum explore_verdict verdict;
	enum ending ending = ending_of(search, graph, &verdict);

	if (search->probe) {
		explore_probe_end(search, ending == COUNTED && verdict == EXPLORE_ENDED);
		return;
	}
	if (search->ends_most && search->ends++ == search->ends_most) {
		explore_stop(search, "max_ends");
		return;
	}
	if (ending == COUNTED && !explore_share_has_more(search)) {
		explore_stop(search, "max_executions");
		return;
	}
	explore_share_tell(search);
	if (explore_is_due()) {
		if (!options->sample)
			explore_estimate_more(search, search->report->executions);
		explore_progress(search->report);
	}
	if (options->check_duplicates && !options->sample)
		check_duplicate(search, graph);
	if (ending == COUNTED)
		count(search, graph, verdict);
	else if (ending == CUT)
		search->report->bounded++;
	else
		search->report->blocked++;
}
