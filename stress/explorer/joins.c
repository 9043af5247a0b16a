/* SPDX-License-Identifier: Apache-2.0
 * joins.c - see joins.h. */
#include "joins.h"

#include <stdlib.h>
#include <string.h>

enum { JOINS = 4096, WRAPS = 8 };

typedef struct place {
	const char *file; /* base name */
	int line;
} place;

static struct {
	place from, to;
} joins[JOINS];
int explore_joins_count;
static struct {
	const char *name;
	uint64_t mask;
} wraps[WRAPS];
int explore_wraps_count;

/* Splits "FILE:LINE". */
static bool read_place(char *text, place *into)
{
	char *colon = strrchr(text, ':'), *end;

	if (!colon || colon == text)
		return false;
	*colon = '\0';
	*into = (place){text, (int)strtol(colon + 1, &end, 10)};
	return into->line > 0 && !*end;
}

bool explore_join(char *text)
{
	char *equals = strchr(text, '=');

	if (!equals || explore_joins_count == JOINS)
		return false;
	*equals = '\0';
	if (!read_place(text, &joins[explore_joins_count].from) ||
	    !read_place(equals + 1, &joins[explore_joins_count].to))
		return false;
	explore_joins_count++;
	return true;
}

static bool is_at(const explore_site *site, const place *place)
{
	return site->line == place->line && !strcmp(site->file, place->file);
}

bool explore_are_joined(const explore_program *program, uint32_t from, uint32_t to)
{
	for (int i = 0; i < explore_joins_count; i++)
		if (is_at(&program->sites[from], &joins[i].from) &&
		    is_at(&program->sites[to], &joins[i].to))
			return true;
	return false;
}

bool explore_wrap(char *text)
{
	char *equals = strrchr(text, '=');
	long bits = equals ? strtol(equals + 1, NULL, 10) : 0;

	if (bits < 1 || bits > 63 || explore_wraps_count == WRAPS)
		return false;
	*equals = '\0';
	wraps[explore_wraps_count].name = text;
	wraps[explore_wraps_count++].mask = (UINT64_C(1) << bits) - 1;
	return true;
}

uint64_t explore_wrapped(const explore_program *program, int location, uint64_t value)
{
	for (int i = 0; i < explore_wraps_count; i++)
		if (strstr(program->location_names[location], wraps[i].name))
			value &= wraps[i].mask;
	return value;
}
