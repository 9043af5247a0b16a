/* SPDX-License-Identifier: Apache-2.0
 * compiled_positions.c - the two tables of an actor: positions by step and stack, and turns by
 * position and value.
 *
 * Why it works  Entries are compared byte by byte; a hash only selects the slot.
 * Spec          none.
 * Evidence      tests/judge/explore/test_engines.py. */
#include <stdlib.h>
#include <string.h>

#include "compiled.h"
#include "room.h"

static uint64_t hash_of(const explore_step *step, const char *stack, uint32_t used)
{
	uint64_t hash = step->kind ^ step->operand * 31 ^ step->expected * 37 ^
			(uint64_t)step->site * 41 ^ (uint64_t)(step->location + 1) * 43;

	for (uint32_t i = 0; i + 8 <= used; i += 8) {
		hash = (hash ^ compiled_read(stack + i, 8)) * UINT64_C(0x9e3779b97f4a7c15);
		hash ^= hash >> 29;
	}
	return hash;
}

static bool is_same_step(const explore_step *a, const explore_step *b)
{
	return a->kind == b->kind && a->order == b->order && a->fail_order == b->fail_order &&
	       a->size == b->size && a->is_weak == b->is_weak &&
	       a->has_deadline == b->has_deadline && a->location == b->location &&
	       a->site == b->site && a->operand == b->operand && a->expected == b->expected;
}

static void rehash(actor *actor)
{
	actor->buckets_count = actor->buckets_count ? actor->buckets_count * 2 : 256;
	free(actor->buckets);
	actor->buckets = calloc(actor->buckets_count, sizeof(*actor->buckets));
	for (uint32_t p = 0; p < actor->count; p++) {
		position *at = &actor->positions[p];
		uint64_t hash = hash_of(&at->step, at->stack, at->used);
		explore_position *bucket = &actor->buckets[hash & (actor->buckets_count - 1)];

		at->same_hash = *bucket;
		*bucket = p + 1;
	}
}

explore_position compiled_number(actor *actor, const explore_step *step, const char *stack,
				 uint32_t used)
{
	position *fresh;
	uint64_t slot;

	if (actor->count >= actor->buckets_count)
		rehash(actor);
	slot = hash_of(step, stack, used) & (actor->buckets_count - 1);
	for (explore_position p = actor->buckets[slot]; p; p = actor->positions[p - 1].same_hash) {
		const position *at = &actor->positions[p - 1];

		if (at->used == used && is_same_step(&at->step, step) &&
		    !memcmp(at->stack, stack, used))
			return p - 1;
	}
	if (!explore_has_room(actor->positions, actor->count, actor->room, 256))
		abort();
	fresh = &actor->positions[actor->count];
	*fresh = (position){.step = *step, .used = used, .stack = malloc(used)};
	memcpy(fresh->stack, stack, used);
	fresh->same_hash = actor->buckets[slot];
	actor->buckets[slot] = ++actor->count;
	return actor->count - 1;
}

static turn *find_turn(actor *actor, explore_position from, uint64_t value, bool failed)
{
	uint64_t slot = (from * UINT64_C(0x9e3779b97f4a7c15)) ^
			(value + failed) * UINT64_C(0xff51afd7ed558ccd);

	for (slot ^= slot >> 31;; slot++) {
		turn *turn = &actor->turns[slot & (actor->turns_room - 1)];

		if (!turn->is_used ||
		    (turn->from == from && turn->value == value && turn->failed == failed))
			return turn;
	}
}

static void grow_turns(actor *actor)
{
	turn *old = actor->turns;
	uint32_t room = actor->turns_room;

	actor->turns_room = room ? room * 2 : 1024;
	actor->turns = calloc(actor->turns_room, sizeof(*actor->turns));
	for (uint32_t i = 0; i < room; i++)
		if (old[i].is_used)
			*find_turn(actor, old[i].from, old[i].value, old[i].failed) = old[i];
	free(old);
}

turn *compiled_turn(actor *actor, explore_position from, uint64_t value, bool failed)
{
	if (2 * (actor->turns_count + 1) > actor->turns_room)
		grow_turns(actor);
	return find_turn(actor, from, value, failed);
}

void compiled_forget(actor *actor)
{
	for (uint32_t p = 0; p < actor->count; p++)
		free(actor->positions[p].stack);
	free(actor->positions);
	free(actor->buckets);
	free(actor->turns);
	*actor = (struct actor){0};
}
