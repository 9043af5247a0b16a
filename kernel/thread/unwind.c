/* SPDX-License-Identifier: Apache-2.0
 * unwind.c - the walk from frame to frame: see unwind.h. Not explored: it reads stacks. */
#include "thread/unwind.h"

/* Where the switch of fiber_*.S leaves each register, and how many bytes it uses. */
#if defined(__x86_64__)
static const uint8_t saved_at[][2] = {{12, 8}, {13, 16}, {14, 24}, {15, 32},
				      {3, 40}, {6, 48},  {16, 56}};
enum { SAVED = 64 };
#elif defined(__aarch64__)
static const uint8_t saved_at[][2] = {{19, 0},  {20, 8},  {21, 16}, {22, 24}, {23, 32}, {24, 40},
				      {25, 48}, {26, 56}, {27, 64}, {28, 72}, {29, 80}, {30, 88}};
enum { SAVED = 176 };
#endif
enum { WORD = sizeof(uintptr_t) };

static const wp_unwind_row *row_of(wp_unwind_rows *rows, uintptr_t pc)
{
	wp_unwind_row *row = &rows->rows[(pc ^ pc >> 8) % WP_UNWIND_ROWS];

	if (row->pc != pc)
		*row = wp__unwind_row(pc);
	return row;
}

/* Another thread may write to the stack, so ThreadSanitizer does not check these reads. The words
 * may be poisoned, so AddressSanitizer does not check them either. */
__attribute__((no_sanitize("address", "thread"))) static uintptr_t word_at(uintptr_t place)
{
	return *(const volatile uintptr_t *)place;
}

/* Replaces the registers by those of the function's caller. The frame must end below `top`. Returns
 * false if there is no caller. */
static bool step(const wp_unwind_row *row, uintptr_t *registers, uintptr_t top)
{
	uintptr_t sp = registers[WP_UNWIND_SP];
	uintptr_t cfa = registers[row->cfa_register] + (uintptr_t)row->cfa_offset;

	if (row->is_end || cfa % WORD != 0 || cfa <= sp || cfa > top)
		return false;
	for (int reg = 0; reg < WP_UNWIND_REGISTERS; reg++) {
		uintptr_t place = cfa + (uintptr_t)(intptr_t)row->saved[reg];

		if (row->saved[reg] == 0)
			continue;
		if (place % WORD != 0 || place < sp || place > top - WORD)
			return false;
		registers[reg] = word_at(place);
	}
	registers[WP_UNWIND_SP] = cfa;
	return registers[WP_UNWIND_PC] != 0;
}

uint32_t wp__unwind(wp_unwind_rows *rows, uintptr_t sp, uintptr_t low, uintptr_t top,
		    uintptr_t *frames, uint32_t most)
{
	uintptr_t registers[WP_UNWIND_REGISTERS] = {0};
	uint32_t depth = 0;

	if (sp % WORD != 0 || sp < low || sp > top - SAVED)
		return 0;
	for (size_t at = 0; at < sizeof(saved_at) / sizeof(saved_at[0]); at++)
		registers[saved_at[at][0]] = word_at(sp + saved_at[at][1]);
	registers[WP_UNWIND_SP] = sp + SAVED;
	do
		frames[depth++] = registers[WP_UNWIND_PC];
	while (depth < most && step(row_of(rows, registers[WP_UNWIND_PC]), registers, top));
	return depth;
}
