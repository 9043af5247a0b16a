/* SPDX-License-Identifier: Apache-2.0
 * fiber.c - a fiber and the thread that runs it, in turn: `fiber CASE`. Prints what is lost; exit
 * code 1 if anything is.
 *
 * Why it works  Both sides put values of their own into every register that a call preserves,
 *               switch, and look. So a register that is not restored shows the value of the other
 *               side.
 * Evidence      tests/thread/test_fiber.py, which also takes out one register at a time. */
#define _GNU_SOURCE
#include <execinfo.h>
#include <setjmp.h>

#include "../case.h"
#include "thread/fiber.h"
#include "fiber_keep.h"

enum { BYTES = 65536, JUNK = 4, TURNS = 50000, LIVES = 1000, LEFT = 100, THREADS = 8, DEPTH = 16 };

void wp__fiber_begin(void);
static _Alignas(16) char memory[BYTES + JUNK * sizeof(void *)];
static wp_fiber thread, fiber;
static bool is_inside; /* on the fiber */
static uintptr_t go(uintptr_t value)
{
	is_inside = !is_inside;
	return is_inside ? wp_fiber_switch(&thread, &fiber, value)
			 : wp_fiber_switch(&fiber, &thread, value);
}

void turn(void);
void turn(void)
{
	go(0);
}

static void begin(void (*entry)(void *))
{
	wp_fiber_init(&fiber, memory, BYTES, entry, &failures);
}

/* To the other side and back, with values of this side in all registers. */
static void go_and_look(uint64_t side)
{
	uint64_t put[REGISTERS], found[REGISTERS];

	for (uint64_t k = 0; k < REGISTERS; k++)
		put[k] = side * 1000 + k;
	keep(put, found);
	for (uint64_t k = 0; k < REGISTERS; k++)
		check(put[k] == found[k], names[k]);
}

static void look_for_ever(void *arg)
{
	if (arg != &failures)
		printf("lost the argument\n");
	for (;;)
		go_and_look(2);
}

CASE(registers)
{
	begin(look_for_ever);
	for (int k = 0; k < 3; k++)
		go_and_look(1);
}

static void count(void *arg)
{
	for (uintptr_t value = go(0);;)
		value = go(value + 1);
}

CASE(many)
{
	begin(count);
	go(0);
	for (uintptr_t k = 0; k < TURNS; k++)
		check(go(k) == k + 1, "a value");
}

static void leave_now(void)
{
	is_inside = false;
	wp_fiber_leave(&fiber, &thread, 7);
}

/* By a pointer: the compiler must not see that no frame here ever ends. */
static void (*volatile end)(void) = leave_now;

__attribute__((noinline)) static int leave_below(int frames)
{
	int below = 0;

	if (frames == 0)
		end();
	else
		below = leave_below(frames - 1);
	__asm__ __volatile__("" : "+r"(below)); /* prevents a loop in its place */
	return below + 1;
}

static void leave(void *arg)
{
	*(int *)arg += leave_below(LEFT);
}

/* Each leaves frames behind on the one stack, and in the records of a sanitizer unless it is
 * informed. */
CASE(lives)
{
	for (int k = 0; k < LIVES; k++) {
		begin(leave);
		check(go(0) == 7, "the last value");
		wp_fiber_fini(&fiber);
	}
}

/* A jump out of nested frames, on the fiber. AddressSanitizer then clears the memory that it takes
 * for the stack. */
static void jump_out(void *arg)
{
	jmp_buf place;

	for (;;) {
		volatile char local[64] = {0};

		local[0] = 1;
		if (setjmp(place) == 0)
			longjmp(place, local[0]);
		go(0);
	}
}

CASE(jumps)
{
	begin(jump_out);
	for (int k = 0; k < 3; k++)
		go(0);
}

/* Called between the two: on the stack of the side that goes on, when the other one is left. */
static void note(void *arg)
{
	char here;

	*(bool *)arg = thread.sp != NULL && (void *)&here > (void *)memory &&
		       (void *)&here < (void *)(memory + BYTES);
}

static void note_here(void *arg)
{
	*(bool *)arg = true;
}

static void leave_then(void *arg)
{
	for (int k = 0; k < 2; k++)
		go(0);
	is_inside = false;
	wp_fiber_leave_then(&fiber, &thread, 9, note_here, arg);
}

CASE(then)
{
	bool is_noted = false;

	wp_fiber_init(&fiber, memory, BYTES, leave_then, &is_noted);
	for (int k = 0; k < 2; k++) { /* at its entry, and in the middle */
		is_noted = is_inside = false;
		wp_fiber_thread(&thread);
		is_inside = true;
		wp_fiber_switch_then(&thread, &fiber, 0, note, &is_noted);
		check(is_noted, "the call on the other stack");
	}
	is_noted = false;
	check(go(0) == 9, "the last value");
	check(is_noted, "the call of who left for good");
	wp_fiber_fini(&fiber);
}

static void *run_here(void *unused)
{
	wp_fiber_thread(&thread);
	for (uintptr_t k = 0; k < 100; k++)
		check(go(k) == k + 1, "a value");
	return unused;
}

CASE(moved)
{
	pthread_t other;

	begin(count);
	go(0);
	for (int k = 0; k < THREADS; k++) {
		pthread_create(&other, NULL, run_here, NULL);
		pthread_join(other, NULL);
	}
	wp_fiber_thread(&thread);
	run_here(NULL);
}

__attribute__((noinline)) void deepest(void);
__attribute__((noinline)) void deepest(void)
{
	void *frames[DEPTH];
	int found = backtrace(frames, DEPTH);
	uintptr_t begin_at = (uintptr_t)wp__fiber_begin, last = (uintptr_t)frames[found - 1];

	check(last > begin_at && last < begin_at + 64, "the end of the backtrace");
	printf("%d frames\n", found);
}

__attribute__((noinline)) static void nested(void)
{
	deepest();
	__asm__ __volatile__("" ::: "memory"); /* no tail call */
}

static void show_frames(void *arg)
{
	nested();
	go(0);
}

/* Above the fiber's first frame lies a word that looks like a return address. */
CASE(frames)
{
	void (*back)(void) = turn;

	for (size_t k = 0; k < JUNK; k++)
		memcpy(memory + BYTES + k * sizeof(back), &back, sizeof(back));
	begin(show_frames);
	go(0);
}

int main(int argc, char **argv)
{
	wp_fiber_thread(&thread);
	return run_case(argc, argv);
}
