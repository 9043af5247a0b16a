/* SPDX-License-Identifier: Apache-2.0
 * states.c - explicit-state search: every state that a program can reach, breadth first, and every
 * edge between states.
 *
 *   take the oldest state without known edges, and unpack it
 *   no thread can move: count an outcome
 *   otherwise, for each choice: take it, pack what it changed, look the record up; a new record
 *   goes to the end of the queue
 *
 * Why it works  States that behave alike are not told apart, states that differ are not confused,
 *               and no edge is left out. So the results hold for the program, not for a sample of
 *               its executions. A state is first met on a shortest path, so a counterexample needs
 *               only the edge by which each state was first reached. The table of states is itself
 *               the queue.
 * Counts        Steps and drains are edges. A wake is one edge per set of sleepers. It also lets
 *               them run on: their return from the wait is no step of its own. The counts of
 *               tests/corpus/litmus are made this way.
 * Spec          none.
 * Evidence      tests/judge/explore/test_engines.py. */
#include "states.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"
#include "state_ahead.h"
#include "state_known.h"

enum {
	HEIGHT_MOST = 9,
	HEIGHT_STEP = 5,
	STATES_PER_LOOK = 1024,
	MERGED_FIRST = 1 << 14,
	LOOKS_FIRST = 1 << 12,
	AGAIN_MOST = 8,
	AGAIN_MOST_GRAPH = 200,
	WALKS_IDLE = 10000,
	WALK_MOST = 2000,
	WALKED_MOST = 1 << 21
};

/* Writes into the report why the exploration cannot go on. */
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

/* A question may have reached a thread that was cut off after its turns, without any state that
 * contains it. So the program is told when a state does. */
static void note_turns(explore_machine *machine)
{
	for (int t = 0; t < machine->program->threads; t++) {
		const explore_step *step = explore_machine_step(machine, t);

		machine->program->is_bounded |= step->kind == EXPLORE_ABANDON && step->operand;
	}
}

/* Counts the loaded state if it is an end. */
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
		note_turns(&space->machine);
		return;
	case EXPLORE_IS_OVER:
		break;
	}
	explore_machine_outcome(&space->machine, &verdict, text);
	report->executions += verdict == EXPLORE_ENDED;
	outcome = explore_count(report, text, verdict);
	if (outcome->count == 1)
		explore_space_example(space, state, NULL, outcome);
}

/* Counts the race in the initial state, or the race to which the choice leads. */
static void count_race(explore_space *space, uint32_t state, const explore_choice *choice,
		       explore_report *report)
{
	explore_outcome *outcome = explore_count(report, "race", EXPLORE_RACE);
	explore_choice last = choice ? *choice : (explore_choice){0};
	explore_route on = {.choices = &last, .count = choice != NULL, .leads_on = true};

	if (outcome->count == 1)
		explore_space_example(space, state, &on, outcome);
}

static bool may_add(const explore_space *space)
{
	uint64_t most = space->machine.options->max_executions;

	return (!most || space->states.count < most) &&
	       (!space->most || space->states.count < space->most);
}

/* Counts the edge by the choice to state `to`. `known` states were known before. */
static bool add_edge(explore_space *space, uint32_t to, uint32_t known, uint32_t state, int choice,
		     bool is_promised, uint32_t next_level, explore_report *report)
{
	if (to == EXPLORE_NONE || (to == known && !explore_space_note(space, to, state, choice)))
		return false;
	space->has_back_edges |= to < next_level;
	report->edges++;
	if (is_promised)
		explore_space_keep(space, to);
	return true;
}

/* Adds what was foreseen of a state, as `expand` would. */
static bool commit(explore_space *space, uint32_t state, const explore_foreseen *foreseen,
		   uint32_t next_level, explore_report *report)
{
	const uint32_t *words = foreseen->words;

	space->is_cut |= foreseen->is_cut;
	if (foreseen->is_end) {
		explore_space_load(space, state);
		count_outcome(space, state, report);
	}
	for (int i = 0; i < foreseen->edges && !space->machine.error; i++) {
		uint32_t known = space->states.count;
		explore_edge edge = explore_ahead_edge(space, &words);

		if (edge.to == EXPLORE_NONE)
			edge.to = explore_table_put_hashed(&space->states, edge.record, edge.hash,
							   may_add(space));
		if (!add_edge(space, edge.to, known, state, i, edge.is_promised, next_level,
			      report))
			return false;
	}
	return !space->machine.error;
}

/* Finds where each choice leads. `next_level` is the first state of the next level. */
static bool expand(explore_space *space, uint32_t state, uint32_t next_level,
		   explore_report *report)
{
	explore_space_load(space, state);
	count_outcome(space, state, report);
	for (int i = 0; i < space->choices_count && !space->machine.error; i++) {
		uint32_t known = space->states.count;
		uint32_t to = explore_space_follow(space, i, may_add(space));

		if (to == EXPLORE_NONE && space->machine.is_raced && !space->machine.error &&
		    !space->is_too_low) {
			explore_choice choice = space->choices[i];

			explore_machine_undo(&space->machine);
			count_race(space, state, &choice, report);
			report->edges++;
			continue;
		}
		if (!add_edge(space, to, known, state, i, explore_is_promised(space->choices[i]),
			      next_level, report))
			return false;
		explore_machine_undo(&space->machine);
	}
	return !space->machine.error;
}

static bool is_late(const explore_space *space, double start)
{
	double most = space->machine.options->max_seconds;

	return most > 0 && explore_cpu_seconds() - start > most;
}

/* Checks from time to time whether merged positions were merged rightly. If not, the search
 * explores states that do not exist, and could take long. */
static bool still_right(explore_space *space)
{
	if (!space->most || space->states.count < space->looks_at)
		return true;
	space->looks_at *= 2;
	space->is_wrong = !explore_machine_verify(&space->machine);
	return !space->is_wrong;
}

static void search(explore_space *space, double start, explore_report *report)
{
	uint32_t next_level = 1;
	explore_foreseen foreseen;

	if (space->is_raced) {
		count_race(space, 0, NULL, report);
		return;
	}
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
		if (!still_right(space))
			return;
		if (explore_ahead_of(space, state, &foreseen)
			    ? !commit(space, state, &foreseen, next_level, report)
			    : !expand(space, state, next_level, report)) {
			explain(space, report);
			return;
		}
		space->expanded = state + 1;
		explore_space_kept(space);
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

/* A program may reveal locations while it runs. If the tree of the memory has no leaf for them, the
 * search starts again. The answers of the program are kept, so this costs little. */
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

/* Forgets what was explored, and explores with the positions as they are merged now. */
static void search_again(explore_space *space, double start, explore_report *report)
{
	forget(report);
	report->error[0] = '\0';
	report->stopped = NULL;
	space->machine.program->is_bounded = space->machine.is_bounded = false;
	space->is_wrong = false;
	space->looks_at = LOOKS_FIRST;
	search_all(space, start, report);
}

/* Were positions merged rightly, by all that was met? If not, the search has met states that do not
 * exist, and an error in one of them means nothing. */
static bool is_right(explore_space *space)
{
	explore_machine *machine = &space->machine;
	const char *error = machine->error, *said = machine->program->error;
	bool is_right;

	if (space->is_wrong)
		return false;
	if (error && said && !strcmp(said, EXPLORE_START_AGAIN))
		return true;
	machine->error = machine->program->error = NULL;
	is_right = explore_machine_verify(machine);
	if (is_right && error) {
		machine->error = error;
		machine->program->error = said;
	}
	return is_right;
}

static bool is_cut_short(const explore_report *report)
{
	return report->stopped && strcmp(report->stopped, "max_executions") != 0;
}

/* A choice of the thread, or `other` if it has none. */
static int choice_of(const explore_choice *choices, int count, int thread, int other)
{
	for (int i = 0; i < count; i++)
		if (choices[i].thread == thread)
			return i;
	return other;
}

/* Walks at random, with all positions apart, until walks meet nothing new. Positions that are
 * merged after that are seldom wrong. */
static void walk(explore_space *space, uint64_t *seed)
{
	explore_machine *machine = &space->machine;
	uint64_t random = *seed, met = 0;
	int steps = 0, last = 0;

	for (int idle = 0; idle < WALKS_IDLE && steps < WALKED_MOST && !machine->error; idle++) {
		explore_machine_reset(machine);
		for (int step = 0; step < WALK_MOST && !machine->error; step++, steps++) {
			int count = explore_machine_choices(machine, space->choices), choice;

			if (!count)
				break;
			random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
			choice = (int)((random >> 33) % (unsigned)count);
			if (random >> 62) /* mostly the same thread goes on */
				choice = choice_of(space->choices, count, last, choice);
			last = space->choices[choice].thread;
			explore_machine_take(machine, space->choices[choice]);
			if (machine->is_raced)
				break;
		}
		if (machine->met != met)
			idle = 0;
		met = machine->met;
	}
	*seed = random;
}

/* The stack of a compiled thread still holds bytes that it no longer needs, and these tell
 * positions apart that behave equally. So a part is explored, and random walks go beyond it.
 * Positions that behave equally by what was met are merged, and everything is explored. If that
 * meets a value that tells merged positions apart, it is learned, and everything is explored again.
 * If this does not come to an end, no positions are merged. */
static void search_merged(explore_space *space, double start, explore_report *report)
{
	/* A graph that is compared with another graph has to be merged: states kept apart would
	 * differ. */
	int most = space->machine.options->loses_outcomes ? AGAIN_MOST_GRAPH : AGAIN_MOST;
	uint64_t seed = 1;
	bool is_part;

	space->machine.asks_elsewhere = space->machine.options->loses_outcomes;
	space->most = MERGED_FIRST;
	search_again(space, start, report);
	is_part = space->states.count >= space->most;
	if (space->machine.error || is_cut_short(report))
		return;
	if (is_part)
		walk(space, &seed);
	space->most = UINT64_MAX;
	for (int again = 0; again < most; again++) {
		bool was_right;

		if (space->machine.error) {
			explain(space, report);
			return;
		}
		if (!explore_machine_merge(&space->machine, is_part) && !is_part)
			return;
		search_again(space, start, report);
		was_right = is_right(space);
		is_part = !was_right;
		if (!was_right && is_cut_short(report))
			break;
		if (!was_right) {
			explore_machine_unmerge(&space->machine);
			walk(space, &seed);
		}
		if (was_right && (report->error[0] || report->stopped))
			return;
		/* All is known: now merge as far as possible. */
		if (was_right && space->machine.asks_elsewhere)
			space->machine.asks_elsewhere = false;
		else if (was_right && space->states.count > MERGED_FIRST)
			return;
	}
	if (is_part) {
		space->machine.error = space->machine.program->error = NULL;
		explore_machine_unmerge(&space->machine);
		space->most = 0;
		search_again(space, explore_cpu_seconds(), report);
	}
}

/* Programs given as text are explored as they stand, because published counts are those of their
 * positions. With a bound on preemptions, too few paths lead to a position for merging to gain more
 * than a tenth. */
static bool merges(const explore_space *space)
{
	const explore_options *options = space->machine.options;

	if (options->keeps_positions)
		return false;
	return options->loses_outcomes ||
	       (space->machine.program->compare_ends && options->preemptions < 0);
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
		if (merges(space))
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
