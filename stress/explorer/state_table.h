/* SPDX-License-Identifier: Apache-2.0
 * state_table.h - records of 32-bit words, each kept once and named by a number.
 *
 *   explore_table_put(words) -> number        number -> explore_table_at(number) -> words
 *
 * Why it works  Equal numbers are equal records and the other way round, so a record may hold other
 *               records' numbers: a pair of pairs of values is a whole memory, and two memories
 *               that differ in one place share all but the path to it. Nothing is hashed away:
 *               restoring is exact.
 * Spec          none. Evidence  tests/judge/explore/test_engines.py. */
#ifndef WP_EXPLORER_STATE_TABLE_H
#define WP_EXPLORER_STATE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXPLORE_NONE UINT32_MAX

/* What all tables of an exploration may use together. */
typedef struct explore_budget {
	uint64_t used, most; /* bytes; most 0: no bound */
	bool is_spent;       /* somebody wanted more than `most` */
	bool is_failed;      /* the system had no more */
} explore_budget;

typedef struct explore_table {
	explore_budget *budget;
	uint32_t *words; /* width words per record */
	uint32_t *slots; /* open addressing: number + 1 */
	uint32_t width, count, room, slots_mask;
} explore_table;

/* Like realloc, within the budget. NULL: refused, and `old` is as it was. */
void *explore_budget_resize(explore_budget *budget, void *old, size_t old_bytes, size_t new_bytes);

bool explore_table_init(explore_table *table, explore_budget *budget, uint32_t width);
void explore_table_fini(explore_table *table);

/* The record's number; EXPLORE_NONE: it is not there and may not be added, or there is no room. A
 * new record has the number that `count` was. */
uint32_t explore_table_put(explore_table *table, const uint32_t *words, bool may_add);

static inline const uint32_t *explore_table_at(const explore_table *table, uint32_t number)
{
	return table->words + (size_t)number * table->width;
}

#endif
