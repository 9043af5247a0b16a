/* SPDX-License-Identifier: Apache-2.0
 * state_space.c - packs states into records and unpacks them again.
 *
 *   memory of 4 locations, x1 = 7 and the rest as at first:
 *
 *              (4, 0)                  numbers of pairs; (0, 0) has the number 0, so what nobody
 *              /    \                  has written costs nothing
 *         (0, 8)    0
 *         /    \
 *   x0   0      8   x1: the value + 1; large values are pairs themselves, marked by the top bit
 *
 * Why it works  A step changes a value or two, so a new memory shares all but one path with the old
 *               one: a state costs one record of threads + 1 words and now and then a pair. Packing
 *               follows what the machine says it changed, unpacking goes down only where two trees
 *               differ. Both ways are exact.
 * Spec          none. Evidence  tests/test_explore_engines.py. */
#include "state_space.h"

#include <stdlib.h>
#include <string.h>

#define MARK UINT32_C(0x80000000) /* the rest is the number of a pair */

enum { ASLEEP = EXPLORE_POSITIONS, LAST_BITS = 8 };

/* Values. */

static uint32_t pair_of(explore_space *space, uint32_t a, uint32_t b)
{
	uint32_t number;

	if ((a | b) == 0)
		return 0;
	number = explore_table_put(&space->pairs, (uint32_t[]){a, b}, true);
	if (number != EXPLORE_NONE && number >= MARK) {
		space->budget.is_failed = true;
		return EXPLORE_NONE;
	}
	return number;
}

static uint32_t word_of(explore_space *space, uint64_t value)
{
	return value < MARK - 1 ? (uint32_t)value + 1
				: MARK | pair_of(space, (uint32_t)(value >> 32), (uint32_t)value);
}

static uint64_t value_of(const explore_space *space, uint32_t word)
{
	const uint32_t *pair;

	if (!(word & MARK))
		return word - 1;
	pair = explore_table_at(&space->pairs, word & ~MARK);
	return (uint64_t)pair[0] << 32 | pair[1];
}

/* Memory. */

static uint32_t with_leaf(explore_space *space, uint32_t root, int location, uint32_t leaf)
{
	uint32_t siblings[16], node = root;

	for (int level = space->height - 1; level >= 0; level--) {
		const uint32_t *pair = explore_table_at(&space->pairs, node);
		int side = location >> level & 1;

		siblings[level] = pair[!side];
		node = pair[side];
	}
	if (node == leaf)
		return root;
	node = leaf;
	for (int level = 0; level < space->height && node != EXPLORE_NONE; level++)
		node = location >> level & 1 ? pair_of(space, siblings[level], node)
					     : pair_of(space, node, siblings[level]);
	return node;
}

static uint32_t with_value(explore_space *space, uint32_t root, int location)
{
	uint64_t value = space->machine.values[location];
	uint32_t leaf = 0;

	if (value != space->machine.program->initial[location])
		leaf = word_of(space, value);
	return leaf == EXPLORE_NONE ? EXPLORE_NONE : with_leaf(space, root, location, leaf);
}

/* Turns the values under `old` into those under `new`. */
static void unpack_memory(explore_space *space, uint32_t old, uint32_t new, int level, int first)
{
	explore_machine *machine = &space->machine;

	if (old == new)
		return;
	if (level == 0) {
		machine->values[first] = new ? value_of(space, new)
					     : machine->program->initial[first];
		return;
	}
	for (int side = 0; side < 2; side++)
		unpack_memory(space, explore_table_at(&space->pairs, old)[side],
			      explore_table_at(&space->pairs, new)[side], level - 1,
			      first + (side << (level - 1)));
}

/* Threads. */

static uint32_t pack_actor(explore_space *space, const explore_actor *actor)
{
	uint32_t word = actor->position | (actor->is_asleep ? ASLEEP : 0), buffer = 0;

	if (!actor->buffered && !actor->spurious)
		return word;
	for (int i = actor->buffered - 1; i >= 0 && buffer != EXPLORE_NONE; i--) {
		uint32_t value = word_of(space, actor->buffer[i].value);
		uint32_t store = pair_of(space, (uint32_t)actor->buffer[i].location + 1, value);

		buffer = pair_of(space, store, buffer);
	}
	word = pair_of(space, word, actor->spurious_at | (uint32_t)actor->spurious << 24);
	return MARK | pair_of(space, word, buffer);
}

static void unpack_actor(const explore_space *space, uint32_t word, explore_actor *actor)
{
	const explore_table *pairs = &space->pairs;
	uint32_t spurious = 0, buffer = 0;

	if (word & MARK) {
		buffer = explore_table_at(pairs, word & ~MARK)[1];
		word = explore_table_at(pairs, word & ~MARK)[0];
		spurious = explore_table_at(pairs, word)[1];
		word = explore_table_at(pairs, word)[0];
	}
	actor->position = word & (EXPLORE_POSITIONS - 1);
	actor->is_asleep = word & ASLEEP;
	actor->spurious = (uint8_t)(spurious >> 24);
	actor->spurious_at = spurious & (EXPLORE_POSITIONS - 1);
	for (actor->buffered = 0; buffer; actor->buffered++) {
		const uint32_t *list = explore_table_at(pairs, buffer);
		const uint32_t *store = explore_table_at(pairs, list[0]);

		actor->buffer[actor->buffered] = (explore_buffered){
			(int)store[0] - 1, -1, value_of(space, store[1])};
		buffer = list[1];
	}
}

/* Preemptions: the last word is who ran last, plus one, and how many there have been. */

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

/* Whom the choice would stop although he can go on. */
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

/* A thread whose step has changed nothing spins: to run somebody else then is free. */
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

	unpack_memory(space, space->loaded[0], words[0], space->height, 0);
	for (int t = 0; t < machine->program->threads; t++)
		unpack_actor(space, words[t + 1], &machine->actors[t]);
	memcpy(space->loaded, words, space->states.width * sizeof(*words));
	space->choices_count = explore_machine_choices(machine, space->choices);
	if (is_bounded(space))
		drop_preempting(space);
}

static bool is_lost(const explore_space *space)
{
	return space->budget.is_spent || space->budget.is_failed || space->machine.error;
}

/* Puts in what the machine says has changed since the load. */
static uint32_t pack(explore_space *space, const explore_choice *choice, bool may_add)
{
	const explore_machine *machine = &space->machine;
	uint32_t words[EXPLORE_STATE_WORDS];

	memcpy(words, space->loaded, sizeof(words));
	for (int i = 0; i < machine->undo_count && words[0] != EXPLORE_NONE; i++)
		words[0] = with_value(space, words[0], machine->undo[i].location);
	for (int t = 0; machine->touched >> t; t++)
		if (machine->touched >> t & 1)
			words[t + 1] = pack_actor(space, &machine->actors[t]);
	if (is_bounded(space) && choice)
		count_preemption(space, *choice, words);
	return is_lost(space) ? EXPLORE_NONE : explore_table_put(&space->states, words, may_add);
}

uint32_t explore_space_follow(explore_space *space, int choice, bool may_add)
{
	explore_machine *machine = &space->machine;

	if (!explore_machine_take(machine, space->choices[choice]))
		return EXPLORE_NONE;
	if (machine->locations > 1 << space->height) {
		space->is_too_low = true;
		return EXPLORE_NONE;
	}
	return pack(space, &space->choices[choice], may_add);
}

bool explore_space_note(explore_space *space, uint32_t state, uint32_t parent, int choice)
{
	if (state >= space->ways_room) {
		uint32_t old = space->ways_room, room = space->states.room;
		void *parents = explore_budget_resize(&space->budget, space->parents,
						      old * sizeof(uint32_t),
						      room * sizeof(uint32_t));
		void *taken;

		if (!parents)
			return false;
		space->parents = parents;
		taken = explore_budget_resize(&space->budget, space->taken,
					      old * sizeof(uint16_t), room * sizeof(uint16_t));
		if (!taken)
			return false;
		space->taken = taken;
		space->ways_room = room;
	}
	space->parents[state] = parent;
	space->taken[state] = (uint16_t)choice;
	return true;
}

/* Beginning and end. */

bool explore_space_init(explore_space *space, explore_program *program,
			const explore_options *options)
{
	memset(space, 0, sizeof(*space));
	space->budget.most = options->max_bytes;
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
	space->ways_room = 0;
	space->budget.used = 0;
}

void explore_space_fini(explore_space *space)
{
	space->pairs.budget = space->states.budget = &space->budget;
	empty(space);
	explore_machine_fini(&space->machine);
}

bool explore_space_begin(explore_space *space, int height)
{
	explore_machine *machine = &space->machine;
	uint32_t width = (uint32_t)machine->program->threads + 1 + is_bounded(space);
	uint32_t root = 0;

	space->pairs.budget = space->states.budget = &space->budget;
	empty(space);
	space->height = height;
	space->is_too_low = space->is_cut = space->has_back_edges = false;
	space->expanded = 0;
	memset(space->loaded, 0, sizeof(space->loaded));
	if (!explore_table_init(&space->pairs, &space->budget, 2) ||
	    !explore_table_init(&space->states, &space->budget, width) ||
	    explore_table_put(&space->pairs, (uint32_t[]){0, 0}, true) != 0)
		return false;
	explore_machine_reset(machine);
	for (int l = 0; l < machine->locations && root != EXPLORE_NONE; l++)
		root = with_value(space, root, l);
	space->loaded[0] = root;
	machine->touched = (1u << machine->program->threads) - 1;
	if (pack(space, NULL, true) == EXPLORE_NONE)
		return false;
	machine->touched = 0;
	return explore_space_note(space, 0, EXPLORE_NONE, 0);
}
