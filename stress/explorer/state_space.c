/* SPDX-License-Identifier: Apache-2.0
 * state_space.c - states as records of words: load one, follow a choice, record how it was reached.
 *
 *   load(state) -> choices -> follow(choice) -> the state it leads to -> note(its parent)
 *
 * Why it works  The machine lists what a step has changed since the load, and only that is packed;
 *               see state_pack.c. A state costs one record of threads + 1 words, and occasionally a
 *               pair.
 * Spec          none.
 * Evidence      tests/judge/explore/test_engines.py. */
#include "state_ahead.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { LAST_BITS = 8 };

/* Preemptions: the last word holds the thread that ran last, plus one, and the number of
 * preemptions so far. */

static bool is_bounded(const explore_space *space)
{
	return space->machine.options->preemptions >= 0;
}

static uint32_t *run_of(const explore_space *space, uint32_t *words)
{
	return &words[space->machine.program->threads + 1];
}

static bool can_run(const explore_space *space, int thread)
{
	for (int i = 0; i < space->choices_count; i++) {
		explore_choice choice = space->choices[i];

		if (choice.thread == thread && choice.kind <= EXPLORE_TAKE_NOT)
			return true;
	}
	return false;
}

/* Does the choice stop a thread that could go on? */
static bool preempts(explore_space *space, explore_choice choice)
{
	int last = (int)(*run_of(space, space->loaded) & ((1 << LAST_BITS) - 1)) - 1;

	return choice.kind != EXPLORE_DRAIN && last >= 0 && last != choice.thread &&
	       can_run(space, last);
}

static void drop_preempting(explore_space *space)
{
	uint32_t used = *run_of(space, space->loaded) >> LAST_BITS;
	explore_choice kept[EXPLORE_CHOICES];
	int count = 0;

	if (used < (uint32_t)space->machine.options->preemptions)
		return;
	for (int i = 0; i < space->choices_count; i++)
		if (!preempts(space, space->choices[i]))
			kept[count++] = space->choices[i];
	space->is_cut |= count < space->choices_count;
	memcpy(space->choices, kept, (size_t)count * sizeof(kept[0]));
	space->choices_count = count;
}

/* A thread spins if its step has changed nothing. Running another thread then costs no
 * preemption. */
static void count_preemption(explore_space *space, explore_choice choice, uint32_t *words)
{
	uint32_t run = *run_of(space, words), used = run >> LAST_BITS;
	size_t rest = ((size_t)space->machine.program->threads + 1) * sizeof(*words);

	if (choice.kind == EXPLORE_DRAIN)
		return;
	if (preempts(space, choice))
		used++;
	run = memcmp(words, space->loaded, rest) ? choice.thread + 1u : 0;
	*run_of(space, words) = run | used << LAST_BITS;
}

/* States. */

void explore_space_load(explore_space *space, uint32_t state)
{
	explore_machine *machine = &space->machine;
	const uint32_t *words = explore_table_at(&space->states, state);

	explore_unpack_memory(space, space->loaded[0], words[0], space->height, 0);
	for (int t = 0; t < machine->program->threads; t++)
		explore_unpack_actor(space, words[t + 1], &machine->actors[t]);
	memcpy(space->loaded, words, space->states.width * sizeof(*words));
	space->choices_count = explore_machine_choices(machine, space->choices);
	if (is_bounded(space))
		drop_preempting(space);
}

static bool is_lost(const explore_space *space)
{
	return space->budget.is_spent || space->budget.is_failed || space->is_unknown ||
	       space->machine.error;
}

/* Packs what the machine has changed since the load. */
static bool pack(explore_space *space, const explore_choice *choice, uint32_t *words)
{
	const explore_machine *machine = &space->machine;

	memcpy(words, space->loaded, sizeof(space->loaded));
	for (int i = 0; i < machine->undo_count && words[0] != EXPLORE_NONE; i++)
		words[0] = explore_pack_value(space, words[0], machine->undo[i].location);
	for (int t = 0; machine->touched >> t; t++)
		if (machine->touched >> t & 1)
			words[t + 1] = explore_pack_actor(space, &machine->actors[t]);
	if (is_bounded(space) && choice)
		count_preemption(space, *choice, words);
	return !is_lost(space);
}

uint32_t explore_space_follow(explore_space *space, int choice, bool may_add)
{
	uint32_t record[EXPLORE_STATE_WORDS];

	return explore_space_foresee(space, choice, record)
		       ? explore_table_put(&space->states, record, may_add)
		       : EXPLORE_NONE;
}

bool explore_space_foresee(explore_space *space, int choice, uint32_t *record)
{
	explore_machine *machine = &space->machine;

	if (!explore_machine_take(machine, space->choices[choice]))
		return false;
	space->is_too_low |= machine->locations > 1 << space->height;
	return !space->is_too_low && !machine->is_raced &&
	       pack(space, &space->choices[choice], record);
}

bool explore_space_note(explore_space *space, uint32_t state, uint32_t parent, int choice)
{
	if (state >= space->ways_room) {
		uint32_t old = space->ways_room, room = space->states.room;
		void *parents =
			explore_budget_resize(&space->budget, space->parents,
					      old * sizeof(uint32_t), room * sizeof(uint32_t));
		void *taken;

		if (!parents)
			return false;
		space->parents = parents;
		taken = explore_budget_resize(&space->budget, space->taken, old * sizeof(uint16_t),
					      room * sizeof(uint16_t));
		if (!taken)
			return false;
		space->taken = taken;
		space->ways_room = room;
	}
	space->parents[state] = parent;
	space->taken[state] = (uint16_t)choice;
	return true;
}

/* Edges. */

static void forget_kept(explore_space *space)
{
	free(space->kept);
	free(space->kept_from);
	space->kept = space->kept_from = NULL;
	space->kept_count = space->kept_room = space->kept_states = space->kept_from_room = 0;
}

/* The tables need the memory of the edges. */
static void give_up_kept(explore_budget *budget)
{
	explore_space *space =
		(explore_space *)(void *)((char *)budget - offsetof(explore_space, budget));

	budget->used -= ((uint64_t)space->kept_room + space->kept_from_room) * sizeof(*space->kept);
	forget_kept(space);
	space->keeps_no_more = true;
}

static uint32_t *with_room(explore_space *space, uint32_t *items, uint32_t count, uint32_t *room)
{
	uint64_t wanted = *room + *room / 4 + 1024, most = space->budget.most;
	uint64_t more = (wanted - *room) * sizeof(*items);

	if (count < *room)
		return items;
	if (space->keeps_no_more || wanted > UINT32_MAX ||
	    (most && space->budget.used + more > most - most / 4)) {
		space->keeps_no_more = true;
		return NULL;
	}
	items = realloc(items, wanted * sizeof(*items));
	space->keeps_no_more = !items;
	space->budget.used += items ? more : 0;
	*room = items ? (uint32_t)wanted : *room;
	return items;
}

void explore_space_keep(explore_space *space, uint32_t to)
{
	uint32_t *kept = NULL;

	if (!space->keeps_no_more)
		kept = with_room(space, space->kept, space->kept_count, &space->kept_room);

	if (kept) {
		space->kept = kept;
		kept[space->kept_count++] = to;
	}
}

void explore_space_kept(explore_space *space)
{
	uint32_t *from =
		with_room(space, space->kept_from, space->kept_states + 1, &space->kept_from_room);

	if (!from || space->keeps_no_more)
		return;
	space->kept_from = from;
	from[0] = 0;
	from[++space->kept_states] = space->kept_count;
}

/* Beginning and end. */

bool explore_space_init(explore_space *space, explore_program *program,
			const explore_options *options)
{
	memset(space, 0, sizeof(*space));
	space->budget.most = options->max_bytes;
	space->budget.give_up = give_up_kept;
	return explore_machine_init(&space->machine, program, options);
}

static void empty(explore_space *space)
{
	explore_table_fini(&space->pairs);
	explore_table_fini(&space->states);
	free(space->parents);
	free(space->taken);
	space->parents = NULL;
	space->taken = NULL;
	forget_kept(space);
	space->keeps_no_more = false;
	space->ways_room = 0;
	space->budget.used = 0;
	explore_ahead_reset(space->ahead);
}

void explore_space_fini(explore_space *space)
{
	space->pairs.budget = space->states.budget = &space->budget;
	empty(space);
	explore_ahead_free(space->ahead);
	explore_machine_fini(&space->machine);
}

bool explore_space_begin(explore_space *space, int height)
{
	explore_machine *machine = &space->machine;
	uint32_t width = (uint32_t)machine->program->threads + 1 + is_bounded(space);
	uint32_t root = 0, record[EXPLORE_STATE_WORDS];

	space->pairs.budget = space->states.budget = &space->budget;
	empty(space);
	space->height = height;
	space->is_too_low = space->is_cut = space->has_back_edges = false;
	space->expanded = 0;
	space->levels = (explore_levels){0};
	memset(space->loaded, 0, sizeof(space->loaded));
	if (!explore_table_init(&space->pairs, &space->budget, 2) ||
	    !explore_table_init(&space->states, &space->budget, width) ||
	    explore_table_put(&space->pairs, (uint32_t[]){0, 0}, true) != 0)
		return false;
	explore_machine_reset(machine);
	space->is_raced = machine->is_raced;
	for (int l = 0; l < machine->locations && root != EXPLORE_NONE; l++)
		root = explore_pack_value(space, root, l);
	space->loaded[0] = root;
	machine->touched = (1u << machine->program->threads) - 1;
	if (!pack(space, NULL, record) ||
	    explore_table_put(&space->states, record, true) == EXPLORE_NONE)
		return false;
	machine->touched = 0;
	return explore_space_note(space, 0, EXPLORE_NONE, 0);
}
