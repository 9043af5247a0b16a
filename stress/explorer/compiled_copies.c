/* SPDX-License-Identifier: Apache-2.0
 * compiled_copies.c - memcpy, memmove and memset of scenario and kernel code. The compiler also
 * calls these for structs.
 *
 *   memcpy       wp__explored_memcpy: judge/explore/explored.py renames it in the objects
 *   __tsan_...   called by clang from version 15 on
 *
 * Why it works  Each is a plain load of every word, then a plain store of every word. Meanwhile the
 *               loaded bytes lie on the actor's stack, and so belong to its position. A copy that
 *               gcc has announced by hooks just before is carried out without further steps.
 * Spec          none.
 * Evidence      tests/judge/explore/test_code.py. */
#include <string.h>

#include "compiled.h"

static void copy_state(char *to, const char *from, unsigned size, bool reads, bool writes,
		       const void *at)
{
	char bytes[COPY_MOST] = {0};

	compiled_settle();
	if (reads)
		compiled_load((char *)(uintptr_t)from, size, bytes, at, false);
	else
		memcpy(bytes, from, size);
	if (writes)
		compiled_store(to, size, bytes, at, false);
	else
		memcpy(to, bytes, size);
}

static void *copy(char *to, const char *from, unsigned long size, const void *at)
{
	bool reads, writes;

	if (compiled_actor == NOTHING || compiled_is_announced(to, size))
		return memmove(to, from, size);
	writes = compiled_is_state(to, size, true, at);
	reads = compiled_is_state(from, size, false, at);
	if (compiled_now->program.error)
		return to;
	if (reads || writes)
		copy_state(to, from, (unsigned)size, reads, writes, at);
	else
		memmove(to, from, size);
	return to;
}

static void *set(char *to, int byte, unsigned long size, const void *at)
{
	char bytes[COPY_MOST] = {0};

	if (compiled_actor == NOTHING || compiled_is_announced(to, size))
		return memset(to, byte, size);
	if (!compiled_is_state(to, size, true, at))
		return compiled_now->program.error ? to : memset(to, byte, size);
	compiled_settle();
	memset(bytes, byte, size);
	compiled_store(to, (unsigned)size, bytes, at, false);
	return to;
}

#define FROM __builtin_return_address(0)
#define COPY(name)                                                  \
	void *name(char *to, const char *from, unsigned long size); \
	void *name(char *to, const char *from, unsigned long size)  \
	{                                                           \
		return copy(to, from, size, FROM);                  \
	}
#define SET(name)                                           \
	void *name(char *to, int byte, unsigned long size); \
	void *name(char *to, int byte, unsigned long size)  \
	{                                                   \
		return set(to, byte, size, FROM);           \
	}
COPY(wp__explored_memcpy)
COPY(wp__explored_memmove)
SET(wp__explored_memset)
COPY(__tsan_memcpy)
COPY(__tsan_memmove)
SET(__tsan_memset)
