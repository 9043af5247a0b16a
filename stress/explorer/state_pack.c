/* SPDX-License-Identifier: Apache-2.0
 * state_pack.c - packs memory and threads into words, and unpacks them again.
 *
 *   a memory of 4 locations, in which x1 = 7 and the others have their initial values:
 *
 *              (4, 0)                  numbers of pairs; (0, 0) has the number 0, so locations
 *              /    \                  without a written value cost nothing
 *         (0, 8)    0
 *         /    \
 *   x0   0      8   x1: the value + 1; large values are pairs themselves, marked by the top bit
 *
 * Why it works  A step changes one or two values, so a new memory shares all but one path with the
 *               old one. Unpacking descends only where two trees differ. Both directions are exact.
 * Spec          none.
 * Evidence      tests/judge/explore/test_engines.py. */
#include "state_space.h"

#define MARK UINT32_C(0x80000000) /* the other bits are the number of a pair */

/* The word of a thread: its position, whether it sleeps, and the number of its last segment if that
 * is small. */
enum { ASLEEP = EXPLORE_POSITIONS, SEGMENT_AT = 25, SEGMENTS = 1 << 6 };

/* Values. */

static uint32_t pair_of(explore_space *space, uint32_t a, uint32_t b)
{
	uint32_t number;

	if ((a | b) == 0)
		return 0;
	if (space->is_view) {
		const uint32_t pair[] = {a, b};

		number = explore_table_find(&space->pairs, pair, explore_table_hash(pair, 2));
		space->is_unknown |= number == EXPLORE_NONE;
		return number;
	}
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

uint32_t explore_pack_value(explore_space *space, uint32_t root, int location)
{
	uint64_t value = space->machine.values[location];
	uint32_t leaf = 0;

	if (value != space->machine.program->initial[location])
		leaf = word_of(space, value);
	return leaf == EXPLORE_NONE ? EXPLORE_NONE : with_leaf(space, root, location, leaf);
}

/* Turns the values under `old` into those under `new`. */
void explore_unpack_memory(explore_space *space, uint32_t old, uint32_t new, int level, int first)
{
	explore_machine *machine = &space->machine;

	if (old == new)
		return;
	if (level == 0) {
		machine->values[first] =
			new ? value_of(space, new) : machine->program->initial[first];
		return;
	}
	for (int side = 0; side < 2; side++)
		explore_unpack_memory(space, explore_table_at(&space->pairs, old)[side],
				      explore_table_at(&space->pairs, new)[side], level - 1,
				      first + (side << (level - 1)));
}

/* Threads. */

uint32_t explore_pack_actor(explore_space *space, const explore_actor *actor)
{
	uint32_t word = actor->position | (actor->is_asleep ? ASLEEP : 0), buffer = 0;

	if (actor->segment < SEGMENTS)
		word |= actor->segment << SEGMENT_AT;
	else
		word = MARK | pair_of(space, word, actor->segment);
	if (!actor->buffered && !actor->spurious && actor->segment < SEGMENTS)
		return word;
	for (int i = actor->buffered - 1; i >= 0 && buffer != EXPLORE_NONE; i--) {
		uint32_t value = word_of(space, actor->buffer[i].value);
		uint32_t store = pair_of(space, (uint32_t)actor->buffer[i].location + 1, value);

		buffer = pair_of(space, store, buffer);
	}
	word = pair_of(space, word, actor->spurious_at | (uint32_t)actor->spurious << 24);
	return MARK | pair_of(space, word, buffer);
}

void explore_unpack_actor(const explore_space *space, uint32_t word, explore_actor *actor)
{
	const explore_table *pairs = &space->pairs;
	uint32_t spurious = 0, buffer = 0;

	if (word & MARK) {
		buffer = explore_table_at(pairs, word & ~MARK)[1];
		word = explore_table_at(pairs, word & ~MARK)[0];
		spurious = explore_table_at(pairs, word)[1];
		word = explore_table_at(pairs, word)[0];
	}
	actor->segment = word >> SEGMENT_AT & (SEGMENTS - 1);
	if (word & MARK) {
		actor->segment = explore_table_at(pairs, word & ~MARK)[1];
		word = explore_table_at(pairs, word & ~MARK)[0];
	}
	actor->position = word & (EXPLORE_POSITIONS - 1);
	actor->is_asleep = word & ASLEEP;
	actor->spurious = (uint8_t)(spurious >> 24);
	actor->spurious_at = spurious & (EXPLORE_POSITIONS - 1);
	for (actor->buffered = 0; buffer; actor->buffered++) {
		const uint32_t *list = explore_table_at(pairs, buffer);
		const uint32_t *store = explore_table_at(pairs, list[0]);

		actor->buffer[actor->buffered] =
			(explore_buffered){(int)store[0] - 1, -1, value_of(space, store[1])};
		buffer = list[1];
	}
}
