/* SPDX-License-Identifier: Apache-2.0
 * state_example.c - the path to a state, as events.
 *
 *   state -> its parent -> ... -> 0      the choices, backwards
 *   from the initial state, with history the same choices, forwards: which event read from which
 *
 * Why it works  A state does not say which event wrote its values, because it may have been reached
 *               on many paths. Executing one of these paths again does. */
#include <stdlib.h>
#include <string.h>

#include "room.h"
#include "state_space.h"

/* Events. */

explore_event *explore_history_add(explore_machine *machine, int thread, const explore_step *step,
				   uint64_t value)
{
	explore_history *history = machine->history;

	if (!history)
		return NULL;
	if (!explore_has_room(history->events, history->count, history->room, 64)) {
		explore_machine_give_up(machine, "no memory for a counterexample");
		return NULL;
	}
	history->events[history->count] =
		(explore_event){.thread = thread, .step = *step, .value = value, .read_from = -2};
	return &history->events[history->count++];
}

void explore_history_reset(explore_history *history)
{
	history->count = 0;
	memset(history->writers, -1, sizeof(history->writers));
	memset(history->waits, -1, sizeof(history->waits));
}

void explore_history_fail(explore_machine *machine)
{
	for (int t = 0; t < machine->program->threads; t++) {
		explore_step step = *explore_machine_step(machine, t);

		if (step.kind == EXPLORE_FAIL) {
			explore_history_add(machine, t, &step, 0);
			return;
		}
	}
	if (machine->program->failed)
		explore_history_add(machine, machine->program->threads, machine->program->failed,
				    0);
}

/* Paths. */

/* The choice by which the state was first reached. */
static explore_choice choice_into(explore_space *space, uint32_t state)
{
	explore_space_load(space, space->parents[state]);
	return space->choices[space->taken[state]];
}

static explore_choice *way_to(explore_space *space, uint32_t state, int *count)
{
	explore_choice *way;
	int steps = 0;

	for (uint32_t s = state; s != 0; s = space->parents[s])
		steps++;
	way = malloc(((size_t)steps + 1) * sizeof(*way));
	*count = steps;
	for (uint32_t s = state; way && s != 0; s = space->parents[s])
		way[--steps] = choice_into(space, s);
	return way;
}

static void run(explore_machine *machine, const explore_choice *way, int count)
{
	for (int i = 0; i < count; i++)
		explore_machine_take(machine, way[i]);
}

void explore_space_example(explore_space *space, uint32_t state, const explore_route *around,
			   explore_outcome *outcome)
{
	explore_history history = {0};
	int count;
	explore_choice *way = way_to(space, state, &count);

	if (!way)
		return; /* the outcome then has no example */
	space->machine.history = &history;
	explore_machine_reset(&space->machine);
	run(&space->machine, way, count);
	outcome->example.cycle_from = around && !around->leads_on ? history.count : -1;
	if (around)
		run(&space->machine, around->choices, around->count);
	if (explore_is_failure(outcome->verdict))
		explore_history_fail(&space->machine);
	space->machine.history = NULL;
	if (space->machine.is_raced)
		history.count = space->machine.events_raced;
	free(outcome->example.schedule);
	outcome->example.schedule = explore_schedule(way, count, around);
	free(way);
	outcome->example.verdict = outcome->verdict;
	memcpy(outcome->example.outcome, outcome->text, EXPLORE_TEXT);
	outcome->example.events = history.events;
	outcome->example.events_count = history.count;
	/* The machine is in a state that was not loaded, so it starts again from the initial
	 * state. */
	explore_machine_reset(&space->machine);
	memcpy(space->loaded, explore_table_at(&space->states, 0),
	       space->states.width * sizeof(uint32_t));
	explore_space_load(space, state);
}
