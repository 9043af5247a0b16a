/* SPDX-License-Identifier: Apache-2.0
 * state_table.h - hash consing: records of 32-bit words, each kept once and named by a number.
 *
 *   explore_table_put(words) -> number        number -> explore_table_at(number) -> words
 *
 * Why it works  Two numbers are equal iff their records are equal, so a record may contain the
 *               numbers of other records. A pair of pairs of values is a whole memory, and two
 *               memories that differ in one place share everything but the path to it. Records are
 *               compared, not only their hashes, so restoring is exact.
 * Spec          none.
 * Evidence      tests/judge/explore/test_engines.py. */
#ifndef WP_EXPLORER_STATE_TABLE_H
#define WP_EXPLORER_STATE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXPLORE_NONE UINT32_MAX

/* The memory that all tables of an exploration may use together. */
typedef struct explore_budget {
	uint64_t used, most; /* bytes; most 0: no bound */
	/* Gives back what the search can do without. NULL: nothing. */
	void (*give_up)(struct explore_budget *budget);
	bool is_spent;  /* an allocation would have exceeded `most` */
	bool is_failed; /* the system had no more memory */
} explore_budget;

typedef struct explore_table {
	explore_budget *budget;
	uint32_t *words; /* `width` words per record */
	uint32_t *slots; /* number + 1; open addressing */
	uint32_t width, count, room, slots_mask;
} explore_table;

/* As realloc, within the budget. NULL: refused, and `old` is unchanged. */
void *explore_budget_resize(explore_budget *budget, void *old, size_t old_bytes, size_t new_bytes);

bool explore_table_init(explore_table *table, explore_budget *budget, uint32_t width);
void explore_table_fini(explore_table *table);

/* The number of the record. EXPLORE_NONE: it is new and may not be added, or there is no room. A
 * new record gets the value that `count` had as its number. */
uint32_t explore_table_put(explore_table *table, const uint32_t *words, bool may_add);

/* As explore_table_put, for a hash that explore_table_hash has computed. */
uint64_t explore_table_hash(const uint32_t *words, uint32_t width);
uint32_t explore_table_put_hashed(explore_table *table, const uint32_t *words, uint64_t hash,
				  bool may_add);

/* The number of the record. EXPLORE_NONE: it is not in the table. */
uint32_t explore_table_find(const explore_table *table, const uint32_t *words, uint64_t hash);

static inline const uint32_t *explore_table_at(const explore_table *table, uint32_t number)
{
	return table->words + (size_t)number * table->width;
}

/* GCC leaves out a call of a function that only fetches, because nothing is changed. */
static inline void explore_prefetch(const void *at)
{
	__builtin_prefetch(at);
	__asm__ volatile("");
}

/* Call this some time before the record with that hash is looked up. */
static inline void explore_table_prefetch(const explore_table *table, uint64_t hash)
{
	explore_prefetch(&table->slots[hash & table->slots_mask]);
}

/* The same, some time after explore_table_prefetch. */
static inline void explore_table_prefetch_record(const explore_table *table, uint64_t hash)
{
	uint32_t number = table->slots[hash & table->slots_mask];

	if (number)
		explore_prefetch(explore_table_at(table, number - 1));
}

#endif
