/* SPDX-License-Identifier: Apache-2.0
 * unwind.h - from where each function on a stack that is not in use was called, by the tables that
 * compilers write for exceptions and debuggers (.eh_frame).
 *
 *   registers at some place in a function       its table's row for that place
 *   the frame's end, CFA := register + offset   which register, which offset
 *   caller's sp := CFA; its other registers,    where below CFA each was saved
 *   and the place that is returned to
 *
 * Why it works  A row says where things are, so the code needs no frame pointers, and a run pays
 *               nothing. Words are read from the stack alone, below CFA, and CFA only rises: the
 *               walk ends.
 *               Rows are kept, one for each hash of a place: stacks that are alike cost a few
 *               nanoseconds a frame, a table a microsecond.
 * Not promised  To go on past a function without a table (-fno-asynchronous-unwind-tables, code
 *               that is made at run time), with a frame that only an expression finds (one that
 *               aligns its stack), or with a signed return address (AArch64, pac-ret): the frames
 *               end there. That a library may be unloaded meanwhile.
 * Spec          none: what is read is one thread's, or is thrown away (snapshot.h).
 * Evidence      tests/inspect/test_dump.py, tests/thread/test_unwind.py. */
#ifndef WP_UNWIND_H
#define WP_UNWIND_H

#include <stddef.h>
#include <stdint.h>

#include "base/order.h"

/* DWARF's numbers; and what a switch leaves at sp, see fiber_*.S: registers, then the place. */
#if defined(__x86_64__)
enum { WP_UNWIND_REGISTERS = 17, WP_UNWIND_SP = 7, WP_UNWIND_PC = 16 };
#elif defined(__aarch64__)
enum { WP_UNWIND_REGISTERS = 32, WP_UNWIND_SP = 31, WP_UNWIND_PC = 30 };
#endif

enum { WP_UNWIND_ROWS = 128 };

typedef struct wp_unwind_row {
	uintptr_t pc; /* 0: none */
	int32_t cfa_offset;
	uint8_t cfa_register;
	bool is_end;                        /* there is no way on */
	int16_t saved[WP_UNWIND_REGISTERS]; /* below CFA; 0: it is as it was */
} wp_unwind_row;

/* 11 KiB at the most. Zeroed is empty. */
typedef struct wp_unwind_rows {
	wp_unwind_row rows[WP_UNWIND_ROWS];
} wp_unwind_rows;

/* The addresses that are returned to, the innermost first, of a stack from `low` to `top` that a
 * switch has left at `sp`; and how many, `most` at the most. What it reads may be written
 * meanwhile: then they mean nothing. [any thread | looks for tables] */
uint32_t wp__unwind(wp_unwind_rows *rows, uintptr_t sp, uintptr_t low, uintptr_t top,
		    uintptr_t *frames, uint32_t most);

/* Of the call whose return address that is. [any thread | looks for its table] */
wp_unwind_row wp__unwind_row(uintptr_t pc);

#endif
