/* SPDX-License-Identifier: Apache-2.0
 * state_table.c - records in one growing array, and a hash table of their numbers.
 *
 * Why it works  The array grows by a quarter, and in place where the system can: realloc moves
 *               pages, not bytes. The hash table is not copied when it grows, because it can be
 *               computed from the records, so no moment needs both tables. */
#include "state_table.h"

#include <stdlib.h>
#include <string.h>

enum { ROOM_FIRST = 256, SLOTS_FIRST = 512, AHEAD = 16 };

void *explore_budget_resize(explore_budget *budget, void *old, size_t old_bytes, size_t new_bytes)
{
	uint64_t used = budget->used - old_bytes + new_bytes;
	void *resized;

	if (budget->most && used > budget->most && budget->give_up) {
		budget->give_up(budget);
		used = budget->used - old_bytes + new_bytes;
	}
	if (budget->most && used > budget->most) {
		budget->is_spent = true;
		return NULL;
	}
	resized = realloc(old, new_bytes);
	if (!resized) {
		budget->is_failed = true;
		return NULL;
	}
	budget->used = used;
	return resized;
}

uint64_t explore_table_hash(const uint32_t *words, uint32_t width)
{
	uint64_t hash = width;

	for (; width > 1; words += 2, width -= 2) {
		hash = (hash ^ (words[0] | (uint64_t)words[1] << 32)) *
		       UINT64_C(0x9e3779b97f4a7c15);
		hash ^= hash >> 32;
	}
	if (width)
		hash = (hash ^ words[0]) * UINT64_C(0x9e3779b97f4a7c15);
	hash *= UINT64_C(0xff51afd7ed558ccd);
	return hash ^ hash >> 32;
}

/* The table is much larger than the caches: a slot is fetched some records before it is filled. */
static void fill_slots(explore_table *table)
{
	uint64_t hashes[AHEAD];

	memset(table->slots, 0, ((size_t)table->slots_mask + 1) * sizeof(*table->slots));
	for (uint64_t next = 0; next < (uint64_t)table->count + AHEAD; next++) {
		uint64_t *hash = &hashes[next % AHEAD], slot;

		if (next >= AHEAD) {
			for (slot = *hash & table->slots_mask; table->slots[slot];)
				slot = (slot + 1) & table->slots_mask;
			table->slots[slot] = (uint32_t)(next - AHEAD) + 1;
		}
		if (next >= table->count)
			continue;
		*hash = explore_table_hash(explore_table_at(table, (uint32_t)next), table->width);
		explore_table_prefetch(table, *hash);
	}
}

/* The table is at most two thirds full; beyond that, searches get long. */
static bool grow_slots(explore_table *table)
{
	size_t old = table->slots ? ((size_t)table->slots_mask + 1) * sizeof(uint32_t) : 0;
	size_t new = old ? 2 * old : SLOTS_FIRST * sizeof(uint32_t);
	uint32_t *slots = explore_budget_resize(table->budget, table->slots, old, new);

	if (!slots)
		return false;
	table->slots = slots;
	table->slots_mask = (uint32_t)(new / sizeof(uint32_t) - 1);
	fill_slots(table);
	return true;
}

static bool grow_words(explore_table *table)
{
	size_t bytes = (size_t)table->width * sizeof(uint32_t);
	uint64_t room = table->room ? table->room + (uint64_t)table->room / 4 : ROOM_FIRST;
	uint32_t *words;

	if (room >= EXPLORE_NONE)
		room = EXPLORE_NONE - 1;
	if (room == table->room) {
		table->budget->is_failed = true;
		return false;
	}
	words = explore_budget_resize(table->budget, table->words, table->room * bytes,
				      room * bytes);
	if (!words)
		return false;
	table->words = words;
	table->room = (uint32_t)room;
	return true;
}

bool explore_table_init(explore_table *table, explore_budget *budget, uint32_t width)
{
	*table = (explore_table){.budget = budget, .width = width};
	return grow_words(table) && grow_slots(table);
}

void explore_table_fini(explore_table *table)
{
	if (table->slots)
		table->budget->used -= ((uint64_t)table->slots_mask + 1) * sizeof(uint32_t);
	table->budget->used -= (uint64_t)table->room * table->width * sizeof(uint32_t);
	free(table->words);
	free(table->slots);
	*table = (explore_table){.budget = table->budget};
}

static bool is_equal(const uint32_t *a, const uint32_t *b, uint32_t width)
{
	for (uint32_t i = 0; i < width; i++)
		if (a[i] != b[i])
			return false;
	return true;
}

/* The slot of the record, or the free slot that it would get. */
static uint64_t slot_of(const explore_table *table, const uint32_t *words, uint64_t hash)
{
	uint64_t slot = hash & table->slots_mask;

	while (table->slots[slot] &&
	       !is_equal(explore_table_at(table, table->slots[slot] - 1), words, table->width))
		slot = (slot + 1) & table->slots_mask;
	return slot;
}

uint32_t explore_table_find(const explore_table *table, const uint32_t *words, uint64_t hash)
{
	return table->slots[slot_of(table, words, hash)] - 1; /* 0: there is none */
}

uint32_t explore_table_put(explore_table *table, const uint32_t *words, bool may_add)
{
	return explore_table_put_hashed(table, words, explore_table_hash(words, table->width),
					may_add);
}

uint32_t explore_table_put_hashed(explore_table *table, const uint32_t *words, uint64_t hash,
				  bool may_add)
{
	uint64_t slot = slot_of(table, words, hash);

	if (table->slots[slot])
		return table->slots[slot] - 1;
	if (!may_add || (table->count == table->room && !grow_words(table)))
		return EXPLORE_NONE;
	if (3 * ((uint64_t)table->count + 1) > 2 * ((uint64_t)table->slots_mask + 1)) {
		if (!grow_slots(table))
			return EXPLORE_NONE;
		for (slot = hash & table->slots_mask; table->slots[slot];)
			slot = (slot + 1) & table->slots_mask;
	}
	memcpy(table->words + (size_t)table->count * table->width, words,
	       table->width * sizeof(*words));
	table->slots[slot] = table->count + 1;
	return table->count++;
}
