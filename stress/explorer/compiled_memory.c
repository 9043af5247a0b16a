/* SPDX-License-Identifier: Apache-2.0
 * compiled_memory.c - the state: which bytes are locations, what an actor may find there, and what
 * it must leave there.
 *
 * Why it works  Before a step the arena holds a pattern, and another pattern in the second run. A
 *               read of bytes that were not put there differs between the runs, and a write that
 *               was not reported destroys the pattern.
 * Spec          none.
 * Evidence      tests/judge/explore/test_engines.py. */
#include "compiled.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BEHIND = 256 }; /* bytes behind the state that no actor may write */

static char shadow[EXPLORE_ARENA]; /* what the arena must hold when the actor pauses */
static unsigned char filled_with;

bool compiled_is_shared(const volatile char *place)
{
	return place >= EXPLORE_BASE && place < EXPLORE_BASE + EXPLORE_ARENA;
}

bool compiled_is_own_stack(const volatile char *place)
{
	char *end = explore_stack_end(compiled_actor);

	return place >= end - EXPLORE_STACK && place < end;
}

bool compiled_check_inside(int which, const char *place, unsigned size)
{
	size_t offset = (size_t)(place - EXPLORE_BASE), room = compiled_now->test->state_size;

	if (offset + size <= room || offset >= STATE_MOST)
		return true;
	compiled_fail("actor %d of %s touches %u bytes at state+%zu: its state has %zu bytes "
		      "(state_size)",
		      which, compiled_now->test->name, size, offset, room);
	return false;
}

bool compiled_check_image(void)
{
	for (size_t at = compiled_now->test->state_size; at < STATE_MOST; at++)
		if (compiled_now->image[at]) {
			compiled_fail("init of %s writes at state+%zu: its state has %zu bytes "
				      "(state_size)",
				      compiled_now->test->name, at, compiled_now->test->state_size);
			return false;
		}
	return true;
}

static void name_location(int location, uint32_t offset, const char *what)
{
	char *name = compiled_now->names[location];

	if (strncmp(what, "plain", 5))
		snprintf(name, NAME, "%s", what);
	else
		snprintf(name, NAME, "state+%u", offset);
	compiled_now->program.location_names[location] = name;
	compiled_now->program.location_offsets[location] = offset;
}

unsigned compiled_part(const char *place, unsigned size)
{
	const bool *cuts = compiled_now->is_cut + (place - EXPLORE_BASE);
	unsigned part = 8;

	while (part > size || (uintptr_t)place % part || memchr(cuts + 1, true, part - 1))
		part /= 2;
	return part;
}

/* From now on no word of a plain access spans one of its ends. */
static void cut(const word *word)
{
	compiled_now->is_cut[word->offset] = true;
	compiled_now->is_cut[word->offset + word->size] = true;
}

/* Can a plain word be taken in parts, so that it no longer partly overlaps the other one? */
static bool can_cut(const word *plain, const word *other)
{
	bool has_other = plain->offset <= other->offset &&
			 other->offset + other->size <= plain->offset + plain->size;

	return !plain->is_atomic && (!other->is_atomic || has_other);
}

static void resolve_overlap(const word *new, const char *what, int location)
{
	const word *old = &compiled_now->places[location];

	if (can_cut(new, old) || can_cut(old, new)) {
		cut(new);
		cut(old);
		compiled_now->program.error = EXPLORE_START_AGAIN;
		return;
	}
	compiled_fail("%u bytes at state+%u (%s) overlap %u bytes at state+%u (%s): accesses of "
		      "mixed size are not explored",
		      (unsigned)new->size, new->offset, compiled_bare(what), (unsigned)old->size,
		      old->offset, compiled_bare(compiled_now->names[location]));
}

int compiled_location(const char *place, unsigned size, const char *what, bool is_atomic)
{
	word word = {(uint32_t)(place - EXPLORE_BASE), (uint8_t)size, is_atomic};
	int16_t *at = &compiled_now->location_at[word.offset];
	int location = compiled_now->program.locations;

	if (*at > 0 && compiled_now->places[*at - 1].size == size) {
		compiled_now->places[*at - 1].is_atomic |= is_atomic;
		return *at - 1;
	}
	for (unsigned i = 0; i < size; i++)
		if (at[i]) {
			resolve_overlap(&word, what, abs(at[i]) - 1);
			return NOTHING;
		}
	if (location == EXPLORE_LOCATIONS) {
		compiled_fail("more than %d locations", EXPLORE_LOCATIONS);
		return NOTHING;
	}
	for (unsigned i = 0; i < size; i++)
		at[i] = (int16_t)(i ? -(location + 1) : location + 1);
	compiled_now->places[location] = word;
	name_location(location, word.offset, what);
	compiled_now->program.initial[location] =
		compiled_read(compiled_now->image + word.offset, size);
	return compiled_now->program.locations++;
}

/* The number of bytes that are filled and checked. */
static size_t watched(void)
{
	size_t size = compiled_now->test->state_size + BEHIND;

	return size < STATE_MOST ? size : STATE_MOST;
}

void compiled_fill(unsigned char pattern)
{
	filled_with = pattern;
	memset(EXPLORE_BASE, pattern, watched());
	memset(shadow, pattern, watched());
	compiled_found_nothing();
}

void compiled_put_bytes(char *place, const char *bytes, unsigned size)
{
	memcpy(place, bytes, size);
	memcpy(shadow + (place - EXPLORE_BASE), bytes, size);
}

void compiled_put(char *place, unsigned size, uint64_t value)
{
	compiled_put_bytes(place, (char *)&value, size); /* little-endian, as in compiled_read */
}

void compiled_unput(char *place, unsigned size)
{
	memset(place, filled_with, size);
	memset(shadow + (place - EXPLORE_BASE), filled_with, size);
}

bool compiled_is_unput(const char *place, unsigned size)
{
	for (unsigned at = 0; at < size; at++)
		if ((unsigned char)place[at] != filled_with)
			return false;
	return true;
}

void compiled_assume(char *place, unsigned size)
{
	ptrdiff_t offset = place - EXPLORE_BASE;

	memset(compiled_now->is_assumed + offset, true, size);
	compiled_put(place, size, compiled_read(compiled_now->image + offset, size));
}

void compiled_check_untouched(int which)
{
	size_t size = compiled_now->test->state_size;

	if (compiled_now->program.error)
		return;
	if (memcmp(EXPLORE_BASE + size, shadow + size, watched() - size))
		compiled_fail("actor %d of %s writes beyond its state, which has %zu bytes "
			      "(state_size)",
			      which, compiled_now->test->name, size);
	if (memcmp(EXPLORE_BASE, shadow, size))
		compiled_fail("actor %d of %s writes its state in a way that the compiler does not "
			      "report",
			      which, compiled_now->test->name);
}

bool compiled_is_written(const char *place, unsigned size)
{
	return memchr(compiled_now->is_written + (place - EXPLORE_BASE), true, size) != NULL;
}

void compiled_note_written(const char *place, unsigned size)
{
	uint32_t offset = (uint32_t)(place - EXPLORE_BASE);

	memset(compiled_now->is_written + offset, true, size);
	if (memchr(compiled_now->is_assumed + offset, true, size))
		compiled_now->program.error = EXPLORE_START_AGAIN;
}
