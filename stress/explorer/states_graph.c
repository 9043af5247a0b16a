/* SPDX-License-Identifier: Apache-2.0
 * states_graph.c - calls back for every state and every edge, once all are known; see states.h.
 *
 * Spec      none.
 * Evidence  tests/judge/conform/test_conform.py. */
#include "states.h"

#include <stdlib.h>

#include "state_known.h"
#include "state_space.h"

static void show_state(explore_space *space, uint32_t state, explore_on_state *call, void *own)
{
	explore_machine *machine = &space->machine;
	explore_view view = {.values = machine->values, .locations = machine->locations};

	for (int t = 0; t < machine->program->threads; t++) {
		const explore_actor *actor = &machine->actors[t];

		view.positions[t] = actor->position;
		view.asleep_on[t] =
			actor->is_asleep ? explore_machine_step(machine, t)->location : -1;
		view.buffered[t] = actor->buffered;
		view.buffers[t] = actor->buffer;
	}
	call(own, state, &view);
}

static void show_edges(explore_space *space, uint32_t state, explore_on_edge *call, void *own)
{
	for (int i = 0; i < space->choices_count; i++) {
		explore_choice choice = space->choices[i];
		const explore_actor *actor = &space->machine.actors[choice.thread];
		bool is_drain = choice.kind == EXPLORE_DRAIN;
		explore_step step = {.kind = EXPLORE_STORE, .order = EXPLORE_RELAXED, .size = 8};
		uint32_t to;

		if (is_drain) {
			step.location = actor->buffer[0].location;
			step.operand = actor->buffer[0].value;
		} else
			step = *explore_machine_step(&space->machine, choice.thread);
		to = explore_space_follow(space, i, false);
		call(own, state, to, choice.thread, &step, space->machine.given, is_drain);
		explore_machine_undo(&space->machine);
	}
}

void explore_states_graph(explore_program *program, const explore_options *options,
			  explore_on_state *state, explore_on_edge *edge, void *own,
			  explore_report *report)
{
	explore_space *space = malloc(sizeof(*space));
	explore_options alike = *options;

	if (!space) {
		*report = (explore_report){.engine = "states", .error = "out of memory"};
		return;
	}
	/* So the plain accesses of a thread make no states of their own. */
	alike.ignores_races = true;
	explore_space_search(space, program, &alike, report);
	for (uint32_t s = 0; report->is_exhaustive && s < space->states.count; s++) {
		explore_space_load(space, s);
		show_state(space, s, state, own);
		show_edges(space, s, edge, own);
	}
	explore_space_fini(space);
	free(space);
}
