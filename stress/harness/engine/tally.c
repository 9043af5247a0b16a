/* SPDX-License-Identifier: Apache-2.0
 * tally.c - counts outcomes that do not fit the direct table of loops.h. */
#include "engine.h"

static stress_wide *place_of(stress_tally *tally, const int64_t *r)
{
	uint64_t hash = 0x9e3779b97f4a7c15u;
	size_t at;

	for (int i = 0; i < STRESS_RESULTS; i++)
		hash = (hash ^ (uint64_t)r[i]) * 0xff51afd7ed558ccdu, hash ^= hash >> 32;
	at = hash % STRESS_WIDE;
	while (tally->wide[at].count &&
	       memcmp(tally->wide[at].r, r, sizeof(tally->wide[at].r)) != 0)
		at = (at + 1) % STRESS_WIDE;
	return &tally->wide[at];
}

static void add(stress_tally *tally, const int64_t *r, uint64_t count)
{
	stress_wide *place = place_of(tally, r);

	if (!place->count) {
		if (tally->wide_used == STRESS_WIDE / 2) {
			tally->uncounted += count;
			return;
		}
		tally->wide_used++;
		memcpy(place->r, r, sizeof(place->r));
	}
	place->count += count;
}

void stress_count_wide(stress_tally *tally, const stress_result *result, int results)
{
	int64_t r[STRESS_RESULTS] = {0};

	memcpy(r, result->r, sizeof(r[0]) * (size_t)results);
	add(tally, r, 1);
}

void stress_merge(stress_tally *into, const stress_tally *from)
{
	for (int i = 0; i < STRESS_DIRECT; i++)
		into->direct[i] += from->direct[i];
	for (int i = 0; i < STRESS_WIDE; i++)
		if (from->wide[i].count)
			add(into, from->wide[i].r, from->wide[i].count);
	into->uncounted += from->uncounted;
}
