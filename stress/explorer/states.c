/* SPDX-License-Identifier: Apache-2.0
 * states.c - every state that a program can reach, breadth first, and every edge between them.
 *
 *   take the oldest state whose edges are not known; unpack it
 *   nobody can move: an outcome
 *   each choice: take it, pack what it changed, look the record up; new: to the end of the queue
 *
 * Why it works  No two states are told apart that behave alike, none are confused, and no edge is
 *               left out: what follows holds for the program, not for a sample of it. A state is
 *               met first on a shortest way, so the edge it was first reached by is all that a
 *               counterexample needs. The queue is the table of states itself.
 * Counts        Steps and drains are edges; a wake is one edge per set of sleepers, and makes them
 *               run on at once: their return from the wait is no step of its own (so that the
 *               numbers in VERIFICATION.md 3.5 come out).
 * Spec          VERIFICATION.md 4.7. Evidence  tests/test_explore_engines.py. */
#include "states.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"
#include "state_known.h"
#include "state_space.h"

enum { HEIGHT_MOST = 9, HEIGHT_STEP = 5, STATES_PER_LOOK = 1024,
       MERGED_FIRST = 1 << 14, MERGED_FACTOR = 4 };

/* Why the exploration cannot go on, in the report. */
static void explain(const explore_space *space, explore_report *report)
{
	if (space->machine.error)
		snprintf(report->error, sizeof(report->error), "%s", space->machine.error);
	else if (space->budget.is_failed)
		snprintf(report->error, sizeof(report->error), "out of memory at %u states",
			 space->states.count);
	else if (space->budget.is_spent)
		report->stopped = "max_bytes";
	else if (!space->is_too_low)
		report->stopped = "max_executions";
}

/* If the loaded state is an end, counts it. */
static void count_outcome(explore_space *space, uint32_t state, explore_report *report)
{
	char text[EXPLORE_TEXT];
	enum explore_verdict verdict;
	explore_outcome *outcome;

	switch (explore_machine_standing(&space->machine, space->choices, space->choices_count,
					 &verdict)) {
	case EXPLORE_GOES_ON:
		return;
	case EXPLORE_IS_ABANDONED:
		report->blocked++;
		return;
	case EXPLORE_IS_OVER:
		break;
	}
	report->executions += verdict == EXPLORE_ENDED;
	explore_machine_outcome(&space->machine, verdict, text);
	outcome = explore_count(report, text, verdict);
	if (outcome->count == 1)
		explore_space_example(space, state, NULL, outcome);
}

static bool may_add(const explore_space *space)
{
	uint64_t most = space->machine.options->max_executions;

	return (!most || space->states.count < most) &&
	       (!space->most || space->states.count < space->most);
}

/* Finds where each choice leads; `next_level` is the first state that is farther from the start. */
static bool expand(explore_space *space, uint32_t state, uint32_t next_level,
		   explore_report *report)
{
	for (int i = 0; i < space->choices_count; i++) {
		uint32_t count = space->states.count;
		uint32_t to = explore_space_follow(space, i, may_add(space));

		if (to == EXPLORE_NONE)
			return false;
		if (to == count && !explore_space_note(space, to, state, i))
			return false;
		explore_machine_undo(&space->machine);
		space->has_back_edges |= to < next_level;
		report->edges++;
	}
	return true;
}

static bool is_late(const explore_space *space, double start)
{
	double most = space->machine.options->max_seconds;

	return most > 0 && explore_cpu_seconds() - start > most;
}

static void search(explore_space *space, double start, explore_report *report)
{
	uint32_t next_level = 1;

	for (uint32_t state = 0; state < space->states.count; state++) {
		if (state == next_level) {
			next_level = space->states.count;
			explore_levels_add(&space->levels, next_level - state);
			report->depth++;
		}
		if (state % STATES_PER_LOOK == STATES_PER_LOOK - 1) {
			report->states = space->states.count;
			if (explore_is_due()) {
				explore_estimate(
					explore_levels_size(&space->levels, report->states));
				explore_progress(report);
			}
			if (is_late(space, start)) {
				report->stopped = "max_seconds";
				return;
			}
		}
		explore_space_load(space, state);
		count_outcome(space, state, report);
		if (space->machine.error || !expand(space, state, next_level, report)) {
			explain(space, report);
			return;
		}
		space->expanded = state + 1;
	}
}

static void forget(explore_report *report)
{
	explore_report_free(report);
	report->executions = report->blocked = report->edges = report->depth = 0;
}

static int height_of(int locations)
{
	int height = 0;

	while (1 << height < locations)
		height++;
	return height;
}

/* A program may find locations while it runs. If the memory's tree is too low for them, the search
 * begins again; what the program has said is kept, so this costs little. */
static void search_all(explore_space *space, double start, explore_report *report)
{
	int height = height_of(space->machine.locations);

	for (;;) {
		if (!explore_space_begin(space, height)) {
			explain(space, report);
			return;
		}
		search(space, start, report);
		if (!space->is_too_low)
			return;
		forget(report);
		height = height_of(space->machine.locations);
		if (height < HEIGHT_STEP)
			height = HEIGHT_STEP;
		else if (height < HEIGHT_MOST)
			height++;
	}
}

/* What a compiled thread no longer needs is still on its stack, and tells positions apart that
 * behave equally. So a part is explored, such positions become one, and so on: until all is explored
 * and what was learned on the way makes no more of them one, nor fewer. */
static void search_merged(explore_space *space, double start, explore_report *report)
{
	for (space->most = MERGED_FIRST;; space->most *= MERGED_FACTOR) {
		bool is_complete, has_changed;

		search_all(space, start, report);
		is_complete = space->states.count < space->most;
		if (space->machine.error || (is_complete && report->stopped))
			return;
		has_changed = explore_machine_merge(&space->machine);
		if (space->machine.error)
			explain(space, report);
		if (space->machine.error || (is_complete && !has_changed))
			return;
		forget(report);
		report->stopped = NULL;
	}
}

void explore_space_search(explore_space *space, explore_program *program,
			  const explore_options *options, explore_report *report)
{
	double start = explore_cpu_seconds();

	*report = (explore_report){.engine = "states", .preemptions = options->preemptions};
	if (!explore_space_init(space, program, options))
		explain(space, report);
	else if (options->replay)
		explore_space_replay(space, report);
	else if (options->sample)
		explore_space_sample(space, report);
	else {
		if (options->merges_positions)
			search_merged(space, start, report);
		else
			search_all(space, start, report);
		report->states = space->states.count;
		if (report->stopped)
			report->size = explore_levels_size(&space->levels, report->states);
		if (!report->error[0] && space->has_back_edges &&
		    (!report->stopped || strcmp(report->stopped, "max_seconds") != 0))
			explore_space_cycles(space, report);
	}
	if (!report->stopped && space->is_cut)
		report->stopped = "preemptions";
	if (!report->stopped && space->machine.is_bounded)
		report->stopped = "buffers";
	report->is_exhaustive = !report->stopped && !report->error[0];
	report->bytes = space->budget.used;
}

void explore_states(explore_program *program, const explore_options *options,
		    explore_report *report)
{
	explore_space *space;

	if (options->grows) {
		explore_states_growing(program, options, report);
		return;
	}
	space = malloc(sizeof(*space));
	if (!space) {
		*report = (explore_report){.engine = "states", .error = "out of memory"};
		return;
	}
	explore_space_search(space, program, options, report);
	explore_space_fini(space);
	free(space);
}
