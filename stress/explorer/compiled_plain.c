/* SPDX-License-Identifier: Apache-2.0
 * compiled_plain.c - plain accesses, as the compiler reports them: hooks of -fsanitize=thread.
 *
 * Why it works  A location that no actor writes is not worth a step: its loads are answered with
 *               the initial value. If somebody writes it after all, the exploration starts again,
 *               knowing that (EXPLORE_START_AGAIN).
 * Spec          none. Evidence  tests/test_explore_engines.py. */
#include <string.h>

#include "compiled.h"

static void plain(char *place, unsigned size, bool writes, const void *from)
{
	if (compiled_actor == NOTHING || compiled_is_own_stack(place))
		return;
	if (!compiled_is_shared(place)) {
		extern char __data_start, end;

		if (writes || (place >= &__data_start && place < &end))
			compiled_fail("actor %d of %s %s memory outside its state, at %p, in @%lx",
				      compiled_actor, compiled_now->test->name,
				      writes ? "writes" : "reads", (void *)place,
				      (unsigned long)(uintptr_t)from);
		else if (place >= EXPLORE_BASE && place < explore_stack_end(EXPLORE_THREADS - 1))
			compiled_fail("actor %d of %s reads another's stack", compiled_actor,
				      compiled_now->test->name);
		return;
	}
	if (!compiled_check_inside(compiled_actor, place, size))
		return;
	if (!writes && !compiled_is_written(place, size)) {
		compiled_assume(place, size);
		return;
	}
	compiled_asked = (asked){
		.step = {.kind = writes ? EXPLORE_PLAIN_STORE : EXPLORE_PLAIN_LOAD,
			 .size = (uint8_t)size,
			 .location = NOTHING},
		.place = place,
		.from = from};
	explore_pause();
}

static void plain_long(char *place, unsigned size, bool writes, const void *from)
{
	if (compiled_actor == NOTHING || compiled_is_own_stack(place))
		return;
	if (writes && compiled_is_shared(place)) {
		compiled_fail("actor %d of %s writes %u bytes of its state at once", compiled_actor,
			      compiled_now->test->name, size);
		return;
	}
	for (unsigned at = 0, part; at < size; at += part) {
		part = size - at >= 8 ? 8 : size - at >= 4 ? 4 : size - at >= 2 ? 2 : 1;
		plain(place + at, part, writes, from);
	}
}

#define FROM __builtin_return_address(0)
#define HOOK(name, call)          \
	void name(void *place);   \
	void name(void *place)    \
	{                         \
		call;             \
	}
#define HOOKS(size)                                                            \
	HOOK(__tsan_read##size, plain(place, size, false, FROM))               \
	HOOK(__tsan_write##size, plain(place, size, true, FROM))               \
	HOOK(__tsan_unaligned_read##size, plain(place, size, false, FROM))     \
	HOOK(__tsan_unaligned_write##size, plain(place, size, true, FROM))
HOOKS(1)
HOOKS(2)
HOOKS(4)
HOOKS(8)
HOOK(__tsan_read16, plain_long(place, 16, false, FROM))
HOOK(__tsan_write16, plain_long(place, 16, true, FROM))
HOOK(__tsan_func_entry, (void)place)

void __tsan_init(void);
void __tsan_func_exit(void);
void __tsan_read_range(void *place, unsigned long size);
void __tsan_write_range(void *place, unsigned long size);
void *__tsan_memcpy(void *to, const void *from, unsigned long size);
void *__tsan_memmove(void *to, const void *from, unsigned long size);
void *__tsan_memset(void *to, int byte, unsigned long size);

void __tsan_init(void)
{
}

void __tsan_func_exit(void)
{
}

void __tsan_read_range(void *place, unsigned long size)
{
	plain_long(place, (unsigned)size, false, FROM);
}

void __tsan_write_range(void *place, unsigned long size)
{
	plain_long(place, (unsigned)size, true, FROM);
}

/* clang calls these from version 15 on; others call memcpy, memmove, memset. */
void *__tsan_memcpy(void *to, const void *from, unsigned long size)
{
	return __tsan_memmove(to, from, size);
}

void *__tsan_memmove(void *to, const void *from, unsigned long size)
{
	plain_long((char *)(uintptr_t)from, (unsigned)size, false, FROM);
	plain_long(to, (unsigned)size, true, FROM);
	return memmove(to, from, size);
}

void *__tsan_memset(void *to, int byte, unsigned long size)
{
	plain_long(to, (unsigned)size, true, FROM);
	return memset(to, byte, size);
}
