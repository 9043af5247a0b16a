/* SPDX-License-Identifier: Apache-2.0
 * state_known.c - the step of a thread at a position, and the position to which a value leads; each
 * is computed once.
 *
 *   position -> step, {value -> next position}
 *
 * Why it works  Equal positions behave equally for ever, so an answer stays valid. Few values are
 *               read at one position; beyond EXPLORE_WAYS_MOST the program is asked again.
 * Spec          none.
 * Evidence      tests/judge/explore/test_engines.py. */
#include <stdlib.h>
#include <string.h>

#include "room.h"
#include "state_races.h"

typedef explore_known known;
typedef explore_way way;

#define UNKNOWN "a view was asked for what is not known"

bool explore_machine_give_up(explore_machine *machine, const char *error)
{
	if (!machine->error)
		machine->error = machine->program->error ? machine->program->error : error;
	return false;
}

/* The answers of the program, each asked for once. */

static known *known_at(explore_machine *machine, int thread, explore_position position)
{
	uint32_t room = machine->known_room[thread];
	known *known = machine->known[thread];

	if (position < room)
		return &known[position];
	if (position >= EXPLORE_POSITIONS) {
		explore_machine_give_up(machine, "a thread has more than 2^24 positions");
		return NULL;
	}
	for (room = room ? room : 64; room <= position;)
		room *= 2;
	known = realloc(known, room * sizeof(*known));
	if (!known) {
		explore_machine_give_up(machine, "no memory for positions");
		return NULL;
	}
	memset(known + machine->known_room[thread], 0,
	       (room - machine->known_room[thread]) * sizeof(*known));
	machine->known[thread] = known;
	machine->known_room[thread] = room;
	return &known[position];
}

/* Adds locations that were just found. No thread has written them before. */
static void adopt_locations(explore_machine *machine)
{
	const explore_program *program = machine->program;

	for (; machine->locations < program->locations; machine->locations++)
		machine->values[machine->locations] = program->initial[machine->locations];
}

const explore_step *explore_machine_step(explore_machine *machine, int thread)
{
	static const explore_step none = {.kind = EXPLORE_ABANDON, .location = -1};
	explore_position position = machine->actors[thread].position;
	known *known;

	if (machine->is_view) {
		if (position < machine->known_room[thread] &&
		    machine->known[thread][position].is_met)
			return &machine->known[thread][position].step;
		explore_machine_give_up(machine, UNKNOWN);
		return &none;
	}
	known = known_at(machine, thread, position);
	if (!known)
		return &none;
	if (!known->is_known) {
		explore_program *program = machine->program;

		known->step = *program->at(program, thread, position);
		known->is_known = true;
		adopt_locations(machine);
		if (program->error || known->step.location >= program->locations ||
		    known->step.location >= EXPLORE_LOCATIONS)
			explore_machine_give_up(machine, "a step at a location that there is not");
	}
	known->is_met |= !machine->is_asking;
	return &known->step;
}

static void keep_way(explore_machine *machine, known *known, way way_out)
{
	machine->met += way_out.is_met;
	if (known->ways_count == EXPLORE_WAYS_MOST) {
		known->has_more_ways = true;
		return;
	}
	if (!explore_has_room(known->ways, known->ways_count, known->ways_room, 2))
		return; /* it will be asked again */
	known->ways[known->ways_count++] = way_out;
}

static explore_position met(explore_machine *machine, int thread, way *way)
{
	machine->met += !machine->is_asking && !way->is_met;
	way->is_met |= !machine->is_asking;
	return explore_stands_for(machine, thread, way->next);
}

/* As explore_machine_next, for a view. */
static explore_position seen(explore_machine *machine, int thread, uint64_t value, bool is_failed)
{
	explore_position position = machine->actors[thread].position;
	const known *known = &machine->known[thread][position];

	for (int i = 0; !machine->error && i < known->ways_count; i++)
		if (known->ways[i].value == value && known->ways[i].is_failed == is_failed &&
		    known->ways[i].is_met)
			return explore_stands_for(machine, thread, known->ways[i].next);
	explore_machine_give_up(machine, UNKNOWN);
	return position;
}

explore_position explore_machine_next(explore_machine *machine, int thread, uint64_t value,
				      bool is_failed)
{
	explore_program *program = machine->program;
	explore_position position = machine->actors[thread].position, next;
	known *known = &machine->known[thread][position];

	if (machine->is_view)
		return seen(machine, thread, value, is_failed);
	for (int i = 0; i < known->ways_count; i++)
		if (known->ways[i].value == value && known->ways[i].is_failed == is_failed)
			return met(machine, thread, &known->ways[i]);
	next = program->next(program, thread, position, value, is_failed);
	adopt_locations(machine);
	if (program->error)
		explore_machine_give_up(machine, program->error);
	else
		keep_way(machine, known, (way){value, next, is_failed, !machine->is_asking});
	return explore_stands_for(machine, thread, next);
}

bool explore_machine_ask(explore_machine *machine, int thread, explore_position position,
			 const way *value)
{
	explore_actor *actor = &machine->actors[thread];
	const known *known;

	machine->is_asking = true;
	actor->position = position;
	explore_machine_next(machine, thread, value->value, value->is_failed);
	known = &machine->known[thread][position];
	if (!machine->error && known->ways_count) {
		actor->position = known->ways[known->ways_count - 1].next;
		explore_machine_step(machine, thread);
	}
	machine->is_asking = false;
	return !machine->error;
}

/* Beginning and end. */

bool explore_machine_init(explore_machine *machine, explore_program *program,
			  const explore_options *options)
{
	memset(machine, 0, sizeof(*machine));
	machine->program = program;
	machine->options = options;
	if (program->error)
		return explore_machine_give_up(machine, program->error);
	if (options->model == EXPLORE_RC11)
		return explore_machine_give_up(machine, "the state engine knows sc and tso only");
	if (program->threads < 1 || program->threads > EXPLORE_THREADS)
		return explore_machine_give_up(machine, "between 1 and 16 threads");
	if (!options->ignores_races) {
		machine->segments = calloc(EXPLORE_THREADS, sizeof(*machine->segments));
		if (!machine->segments)
			return explore_machine_give_up(machine, "no memory for plain accesses");
	}
	explore_machine_reset(machine);
	return !machine->error;
}

bool explore_machine_view(explore_machine *view, const explore_machine *machine)
{
	view->is_view = true;
	view->program = machine->program;
	view->options = machine->options;
	view->locations = machine->locations;
	memcpy(view->values, machine->program->initial, sizeof(view->values));
	memcpy(view->known, machine->known, sizeof(view->known));
	memcpy(view->known_room, machine->known_room, sizeof(view->known_room));
	return explore_races_view(view, machine);
}

void explore_machine_view_fini(explore_machine *view)
{
	free(view->undo);
	explore_races_view_fini(view);
}

void explore_machine_fini(explore_machine *machine)
{
	for (int t = 0; t < EXPLORE_THREADS; t++) {
		for (uint32_t p = 0; p < machine->known_room[t]; p++)
			free(machine->known[t][p].ways);
		free(machine->known[t]);
	}
	free(machine->undo);
	explore_races_fini(machine);
}
