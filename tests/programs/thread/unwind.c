/* SPDX-License-Identifier: Apache-2.0
 * unwind.c CASE - a walk over frames that the case lays out, with rows that it writes; and a
 * function with a table entry for which a row has no room. Prints what is lost. */
#include "../case_main.h"
#include "thread/unwind.h"

enum {
	WORDS = 64,
	FRAMES = 4,
	ROOM = 8 /* words above those that a switch has left */,
	WORD = sizeof(uintptr_t)
};

/* The words that a switch leaves: fiber_*.S; and the DWARF number of a register that it saves. */
#if defined(__x86_64__)
enum { SWITCH = 8 };
#define REGISTER "3"
#else
enum { SWITCH = 22 };
#define REGISTER "19"
#endif

/* An address with a row of the case, and one in no function. */
static const uintptr_t known = 0x5000, nowhere = 16;

static uintptr_t words[WORDS + 1]; /* the words of the stack, and the one above its top */
static wp_unwind_rows rows;
static uintptr_t frames[FRAMES];

/* Every word is `known`, and every row is the same, so each lookup finds it. */
static void lay_out(const wp_unwind_row *row)
{
	for (int at = 0; at < WORDS; at++)
		words[at] = known;
	words[WORDS] = nowhere;
	for (int at = 0; at < WP_UNWIND_ROWS; at++)
		rows.rows[at] = *row;
}

static uint32_t walk(int from)
{
	return wp__unwind(&rows, (uintptr_t)&words[from], (uintptr_t)words,
			  (uintptr_t)&words[WORDS], frames, FRAMES);
}

/* The words that a switch leaves may be the lowest of a stack, and no lower. */
CASE(lowest)
{
	lay_out(&(wp_unwind_row){.pc = known, .is_end = true});
	check(walk(0) == 1 && frames[0] == known, "a frame at the lowest place");
	check(wp__unwind(&rows, (uintptr_t)words, (uintptr_t)&words[1], (uintptr_t)&words[WORDS],
			 frames, FRAMES) == 0,
	      "that a place below the stack is none of it");
	check(wp__unwind(&rows, (uintptr_t)words + 1, (uintptr_t)words, (uintptr_t)&words[WORDS],
			 frames, FRAMES) == 0,
	      "that a place is aligned");
}

/* The return address was saved `offset` words from the end of the frame, which is `above` words
 * from the top. */
static uint32_t depth(int above, int offset)
{
	wp_unwind_row row = {
		.pc = known, .cfa_register = WP_UNWIND_SP, .cfa_offset = (ROOM + above) * WORD};

	row.saved[WP_UNWIND_PC] = (int16_t)(offset * WORD);
	lay_out(&row);
	words[WORDS - 1] = nowhere;
	return walk(WORDS - ROOM - SWITCH);
}

CASE(highest)
{
	check(depth(0, -1) == 2 && frames[1] == nowhere, "the highest word of a stack");
	check(depth(-1, 1) == 1, "that what is above the top is none of it");
	check(depth(1, -2) == 1, "that a frame ends below the top");
}

/* Two functions that are never called: a register is saved near, or too far for a row. */
#define TABLED(name, offset)                                                                    \
	".globl " name "\n.type " name ", %function\n" name ":\n.cfi_startproc\n"               \
	".cfi_offset " REGISTER ", " offset "\nnop\nnop\n.cfi_endproc\n.size " name ", .-" name \
	"\n"

__asm__(".text\n" TABLED("saved_near", "-16") TABLED("saved_far", "-40000"));

extern const char saved_near[], saved_far[];

CASE(far)
{
	check(!wp__unwind_row((uintptr_t)saved_near + 1).is_end, "a row");
	check(wp__unwind_row((uintptr_t)saved_far + 1).is_end,
	      "that there is no way on from what a row does not hold");
}
