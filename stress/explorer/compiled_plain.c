/* SPDX-License-Identifier: Apache-2.0
 * compiled_plain.c - plain accesses, reported by the hooks of -fsanitize=thread.
 *
 *   clang   read hook, load          write hook, store        a copy: memcpy
 *   gcc     the same; a copy: write hook, read hook, then the copy, inline or by memcpy
 *
 * Why it works  A location that no actor writes is not worth a step: its loads are answered with
 *               the initial value. If an actor writes it after all, the exploration starts again
 *               with that knowledge (EXPLORE_START_AGAIN).
 *               A plain store becomes steps at the actor's next hook or operation, because its
 *               value is in the state by then. Until then it is noted at the end of the actor's
 *               stack. A read of the same number of bytes may be the other half of a copy by gcc:
 *               it then comes first. If the store was done already, its value is put back after the
 *               read. It was not done if its place still holds the pattern of the run. A value may
 *               equal one pattern by chance, but not the pattern of every run.
 *               No other thread can observe in which order two plain accesses of one thread were
 *               made.
 * Volatile      Volatile accesses have hooks of their own. Each is a step of its own and is never
 *               answered from another one. In C11 it is a plain access, so it can race.
 * Copies        compiled_copies.c.
 * Spec          none.
 * Evidence      tests/judge/explore/test_code.py. */
#include <stdio.h>
#include <string.h>

#include "compiled.h"

bool compiled_has_guessed;

static struct { /* the bytes that the last read has left in the state, until it is filled again */
	const char *place;
	unsigned size;
} found;

enum { NULL_MOST = 1 << 16 }; /* no program has memory below this address */

_Noreturn static void touch_null(const char *place, bool writes, const void *from)
{
	char text[64];

	snprintf(text, sizeof(text), "%s memory that is not there, at 0x%lx",
		 writes ? "writes" : "reads", (unsigned long)(uintptr_t)place);
	compiled_end(text, true, from, NULL);
}

bool compiled_is_state(const char *place, unsigned long size, bool writes, const void *from)
{
	if (!size || compiled_actor == NOTHING || compiled_is_own_stack(place))
		return false;
	if ((uintptr_t)place < NULL_MOST)
		touch_null(place, writes, from);
	if (!compiled_is_shared(place)) {
		extern char __data_start, end;

		if (writes || (place >= &__data_start && place < &end))
			compiled_fail("actor %d of %s %s memory outside its state, at %p, in @%lx",
				      compiled_actor, compiled_now->test->name,
				      writes ? "writes" : "reads", (const void *)place,
				      (unsigned long)(uintptr_t)from);
		else if (place >= EXPLORE_BASE && place < explore_stack_end(EXPLORE_THREADS - 1))
			compiled_fail("actor %d of %s reads another's stack", compiled_actor,
				      compiled_now->test->name);
		return false;
	}
	if (size > COPY_MOST) {
		compiled_fail("actor %d of %s copies or sets %lu bytes of its state at once: up to "
			      "%d are explored",
			      compiled_actor, compiled_now->test->name, size, COPY_MOST);
		return false;
	}
	return compiled_check_inside(compiled_actor, place, (unsigned)size);
}

static void ask(int kind, char *place, unsigned size, uint64_t value, const void *from,
		bool is_volatile)
{
	compiled_asked = (asked){.step = {.kind = (uint8_t)kind,
					  .size = (uint8_t)size,
					  .is_volatile = is_volatile,
					  .operand = value,
					  .location = NOTHING},
				 .place = place,
				 .from = from};
	explore_pause();
}

void compiled_load(char *place, unsigned size, char *bytes, const void *from, bool is_volatile)
{
	if (!is_volatile && place == found.place && size == found.size) {
		memcpy(bytes, place, size);
		return;
	}
	for (unsigned at = 0, part; at < size; at += part) {
		part = compiled_part(place + at, size - at);
		if (is_volatile || compiled_is_written(place + at, part))
			ask(EXPLORE_PLAIN_LOAD, place + at, part, 0, from, is_volatile);
		else
			compiled_assume(place + at, part);
		memcpy(bytes + at, place + at, part);
	}
	compiled_put_bytes(place, bytes, size); /* each pause has filled the state */
	found.place = place;
	found.size = size;
}

void compiled_found_nothing(void)
{
	found.size = 0;
}

void compiled_store(char *place, unsigned size, const char *bytes, const void *from,
		    bool is_volatile)
{
	for (unsigned at = 0, part; at < size; at += part) {
		part = compiled_part(place + at, size - at);
		ask(EXPLORE_PLAIN_STORE, place + at, part, compiled_read(bytes + at, part), from,
		    is_volatile);
	}
}

static void settle_long(written written)
{
	char bytes[COPY_MOST] = {0};

	memcpy(bytes, written.place, written.size);
	compiled_put_bytes(written.place, bytes, written.size);
	compiled_store(written.place, written.size, bytes, written.from, written.is_volatile);
}

void compiled_settle(void)
{
	written *at = &compiled_top()->written, written = *at;

	*at = (struct written){0};
	if (written.size > 8) {
		settle_long(written);
	} else if (written.size) {
		uint64_t value = compiled_read(written.place, written.size);

		compiled_put(written.place, written.size, value);
		compiled_store(written.place, written.size, (char *)&value, written.from,
			       written.is_volatile);
	}
}

bool compiled_is_announced(const char *place, unsigned long size)
{
	const written *written = &compiled_top()->written;

	return size && written->place == place && written->size == size;
}

static bool is_unwritten(const char *place, unsigned size)
{
	bool is = compiled_is_unput(place, size);

	compiled_has_guessed |= is;
	return is;
}

/* False: the announced store comes before this read. */
static bool is_copied(const char *place, unsigned size, bool is_volatile)
{
	const written *written = &compiled_top()->written;

	if (written->size != size || written->is_volatile || is_volatile)
		return false;
	if (written->place == place)
		return is_unwritten(place, size); /* a copy onto itself */
	return written->place + size <= place || place + size <= written->place;
}

/* Reads, and puts back the value of an announced store that was done already. */
static void load_beside(char *place, unsigned size, char *bytes, char *kept, const void *from,
			bool is_volatile)
{
	const written *written = &compiled_top()->written;
	bool was_done = written->size && !is_unwritten(written->place, size);

	if (was_done) {
		memcpy(kept, written->place, size);
		compiled_put_bytes(written->place, kept, size);
	}
	compiled_load(place, size, bytes, from, is_volatile);
	if (was_done)
		compiled_put_bytes(written->place, kept, size);
}

static void load_long(char *place, unsigned size, const void *from, bool is_volatile)
{
	char bytes[COPY_MOST] = {0}, kept[COPY_MOST] = {0};

	load_beside(place, size, bytes, kept, from, is_volatile);
}

static void plain_read(char *place, unsigned long size, const void *from, bool is_volatile)
{
	uint64_t value = 0, kept = 0;

	if (!compiled_is_state(place, size, false, from))
		return;
	if (!is_copied(place, (unsigned)size, is_volatile))
		compiled_settle();
	if (size > sizeof(value))
		load_long(place, (unsigned)size, from, is_volatile);
	else
		load_beside(place, (unsigned)size, (char *)&value, (char *)&kept, from,
			    is_volatile);
}

static void plain_write(char *place, unsigned long size, const void *from, bool is_volatile)
{
	if (!compiled_is_state(place, size, true, from))
		return;
	compiled_settle();
	compiled_found_nothing();
	compiled_unput(place, (unsigned)size);
	compiled_top()->written = (written){place, (unsigned)size, is_volatile, from};
}

#define FROM __builtin_return_address(0)
#define TSAN_READ(place, size, is_volatile) plain_read(place, size, FROM, is_volatile)
#define TSAN_WRITE(place, size, is_volatile) plain_write(place, size, FROM, is_volatile)
#include "tsan_hooks.h"
