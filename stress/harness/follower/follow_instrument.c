/* SPDX-License-Identifier: Apache-2.0
 * follow_instrument.c - the calls of the compiled kernel: each operation stops its actor, and is
 * then done on the real memory.
 *
 * Spec      none.
 * Evidence  tests/judge/test_paths.py. */
#include "follow.h"

#include <string.h>

enum { EVENTS = 16, STATE_MOST = EXPLORE_ARENA - 4096 }; /* as in explorer/compiled.h */

follow_actor follow_actors[STRESS_ACTORS];
int follow_running = FOLLOW_NOBODY;
int follow_events;

/* Memory. */

uint64_t follow_read(const char *at, unsigned size)
{
	uint64_t value = 0;

	memcpy(&value, at, size); /* little-endian */
	return value;
}

void follow_write(char *at, unsigned size, uint64_t value)
{
	memcpy(at, &value, size);
}

uint64_t follow_do(const follow_operation *wants)
{
	uint64_t old = wants->place ? follow_read(wants->place, wants->size) : 0;
	uint64_t new = old;

	switch (wants->kind) {
	case EXPLORE_STORE:
	case EXPLORE_PLAIN_STORE:
	case EXPLORE_EXCHANGE:
		new = wants->operand;
		break;
	case EXPLORE_ADD:
		new = old + wants->operand;
		break;
	case EXPLORE_OR:
		new = old | wants->operand;
		break;
	case EXPLORE_AND:
		new = old & wants->operand;
		break;
	case EXPLORE_CAS:
		new = old == wants->expected ? wants->operand : old;
		break;
	case EXPLORE_HEAVY_FENCE:
		return 1;
	default:
		break;
	}
	if (new != old)
		follow_write(wants->place, wants->size, new);
	return wants->kind == EXPLORE_STORE || wants->kind == EXPLORE_PLAIN_STORE ? 0 : old;
}

/* The instrumented operations. */

static uint64_t cut(unsigned size, uint64_t value)
{
	return size >= 8 ? value : value & ((UINT64_C(1) << 8 * size) - 1);
}

uint64_t wp__explore(int kind, const volatile void *at, unsigned size, int order, uint64_t operand,
		     uint64_t expected, const wp__explore_site *site)
{
	follow_operation wants = {kind, (char *)(uintptr_t)at, size, operand, expected, *site};

	if (kind != EXPLORE_WAIT && kind != EXPLORE_WAKE && size) {
		wants.operand = cut(size, operand);
		wants.expected = cut(size, expected);
	}
	if (follow_running == FOLLOW_NOBODY || kind == EXPLORE_PLAIN_STORE)
		return follow_do(&wants);
	follow_actors[follow_running].wants = wants;
	explore_pause();
	return follow_actors[follow_running].given;
}

_Bool wp__explore_cas(const volatile void *at, unsigned size, int order, int fail_order,
		      void *expected, uint64_t desired, _Bool is_weak, const wp__explore_site *site)
{
	uint64_t wanted = follow_read(expected, size), old;

	(void)fail_order, (void)is_weak;
	old = wp__explore(EXPLORE_CAS, at, size, order, desired, wanted, site);
	if (old != wanted)
		follow_write(expected, size, old);
	return old == wanted;
}

int wp__explore_event_open(void)
{
	return follow_events < EVENTS ? follow_events++ : -1;
}

uint64_t wp__explore_event(int event, _Bool takes, const wp__explore_site *site)
{
	return wp__explore(takes ? EXPLORE_EXCHANGE : EXPLORE_ADD,
			   EXPLORE_BASE + STATE_MOST + event * 64, 8, 0, takes ? 0 : 1, 0, site);
}

void wp__explore_yield(void)
{
}

/* Called by -fsanitize=thread: plain accesses happen directly, and writes to the state are
 * noted. */
static void wrote(void *at, unsigned size)
{
	char *place = at;

	if (follow_running == FOLLOW_NOBODY || place < EXPLORE_BASE ||
	    place >= EXPLORE_BASE + STATE_MOST)
		return;
	for (unsigned from = 0; from < size; from += 8)
		follow_touch(place + from, size - from < 8 ? size - from : 8);
}

#define TSAN_READ(place, size, is_volatile)
#define TSAN_WRITE(place, size, is_volatile) wrote(place, (unsigned)(size))
#include "explorer/tsan_hooks.h"

/* Copies too; judge/explore/explored.py gives them these names. */
#define COPY(name, call)                                            \
	void *name(void *to, const void *from, unsigned long size); \
	void *name(void *to, const void *from, unsigned long size)  \
	{                                                           \
		wrote(to, (unsigned)size);                          \
		return call(to, from, size);                        \
	}
#define SET(name)                                           \
	void *name(void *to, int byte, unsigned long size); \
	void *name(void *to, int byte, unsigned long size)  \
	{                                                   \
		wrote(to, (unsigned)size);                  \
		return memset(to, byte, size);              \
	}
COPY(wp__explored_memcpy, memcpy)
COPY(wp__explored_memmove, memmove)
COPY(__tsan_memcpy, memcpy)
COPY(__tsan_memmove, memmove)
SET(wp__explored_memset)
SET(__tsan_memset)
