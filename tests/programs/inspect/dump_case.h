/* SPDX-License-Identifier: Apache-2.0
 * dump_case.h - threads that park in ways that their stacks show; for dump.c. Functions are
 * exported, so that frames have names. */
#include "inspect/dump.h"
#include "../vthreads_case.h"

#define FRAME __attribute__((noinline))
/* Prevents a tail call, so that the frame of the function exists. */
#define STAY() __asm__ __volatile__("" ::: "memory")

enum { BITS = 11 };

int parks_here(void *arg);
int parks_deep(int depth);
int parks_below(void *arg);
int goes_left(int bits, int left);
int goes_right(int bits, int left);

FRAME int parks_here(void *arg)
{
	int code;

	wp_fetch_add_relaxed(&count, 1);
	code = wp_vthread_park_until(WP_FOREVER);
	STAY();
	return arg == NULL ? code : 0;
}

/* The size of its frame is not known at compile time, so a register holds the end of the frame. */
FRAME int parks_deep(int depth)
{
	volatile char room[16 + depth];
	int code;

	room[depth] = 1;
	code = depth == 0 ? parks_here(&code) : parks_deep(depth - room[depth]);
	STAY();
	return code;
}

FRAME int parks_below(void *arg)
{
	int code = parks_deep(2);

	STAY();
	return arg == NULL ? code : 0;
}

/* One stack for each number: its bits say which of the two functions called which. */
static int goes(int bits, int left)
{
	if (left == 0)
		return parks_here(&bits);
	return bits & 1 ? goes_left(bits >> 1, left - 1) : goes_right(bits >> 1, left - 1);
}

FRAME int goes_left(int bits, int left)
{
	int code = goes(bits, left);

	STAY();
	return code;
}

FRAME int goes_right(int bits, int left)
{
	int code = goes(bits, left);

	STAY();
	return code;
}

static int goes_its_way(void *arg)
{
	int code = goes((int)(intptr_t)arg, BITS);

	STAY();
	return code != WP_OK;
}

static int parks_pinned(void *arg)
{
	wp_vthread_pin();
	parks_here(arg);
	wp_vthread_unpin();
	return 0;
}

static int spins(void *arg)
{
	wp_fetch_add_relaxed(&count, 1);
	while (wp_load_acquire(&ready) == 0)
		continue;
	return 0;
}

static wp_vthread *named(const char *name, int (*run)(void *), int carrier)
{
	wp_vthread_config config = {.name = name, .run = run, .carrier = carrier};

	return start_as(&config);
}

static void end(wp_vthread *thread)
{
	wp_vthread_unpark(thread);
	join(thread, "one that was dumped");
}
