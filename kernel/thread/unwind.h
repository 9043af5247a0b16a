/* SPDX-License-Identifier: Apache-2.0
 * unwind.h - finds the return addresses on a stack on which no thread runs now. It reads the tables
 * that compilers write for exceptions and debuggers (.eh_frame).
 *
 *   registers at some place in a function       its table's row for that place
 *   the frame's end, CFA := register + offset   which register, which offset
 *   caller's sp := CFA; its other registers,    where below CFA each was saved
 *   and the return address
 *
 * Why it works  A row describes where the frame and the saved registers are, so the code needs no
 *               frame pointers, and a run pays nothing. Words are read only from the stack, below
 *               CFA, and CFA only rises, so the walk ends.
 *               Rows are cached, one for each hash of a place in the code. So a frame that was seen
 *               before costs a few nanoseconds, and one that needs its table costs a microsecond.
 * Not promised  The walk ends at a function without a table (-fno-asynchronous-unwind-tables, or
 *               code that is made at run time), at a frame that only an expression finds (one that
 *               aligns its stack), and at a signed return address (AArch64, pac-ret). A library
 *               must not be unloaded during the walk.
 * Prior art     DWARF call frame information, as libgcc and libunwind read it.
 * Spec          None: what is read belongs to one thread, or is thrown away (snapshot.h).
 * Evidence      tests/inspect/test_dump.py, tests/thread/test_unwind.py. */
#ifndef WP_UNWIND_H
#define WP_UNWIND_H

#include <stddef.h>
#include <stdint.h>

#include "base/order.h"

/* DWARF's register numbers. A switch leaves the registers at sp, then the return address: see
 * fiber_*.S. */
#if defined(__x86_64__)
enum { WP_UNWIND_REGISTERS = 17, WP_UNWIND_SP = 7, WP_UNWIND_PC = 16 };
#elif defined(__aarch64__)
enum { WP_UNWIND_REGISTERS = 32, WP_UNWIND_SP = 31, WP_UNWIND_PC = 30 };
#endif

enum { WP_UNWIND_ROWS = 128 };

typedef struct wp_unwind_row {
	uintptr_t pc; /* 0: no row */
	int32_t cfa_offset;
	uint8_t cfa_register;
	bool is_end;                        /* the walk ends here */
	int16_t saved[WP_UNWIND_REGISTERS]; /* offset below CFA; 0: unchanged */
} wp_unwind_row;

/* At most 11 KiB. A zeroed cache is empty. */
typedef struct wp_unwind_rows {
	wp_unwind_row rows[WP_UNWIND_ROWS];
} wp_unwind_rows;

/* Writes the return addresses of a stack from `low` to `top` that a switch has left at `sp`. The
 * innermost comes first. Returns how many there are, at most `most`. The stack may be written while
 * it is read; then the addresses mean nothing. [any thread | looks for tables] */
uint32_t wp__unwind(wp_unwind_rows *rows, uintptr_t sp, uintptr_t low, uintptr_t top,
		    uintptr_t *frames, uint32_t most);

/* Returns the row of the call with that return address. [any thread | looks for its table] */
wp_unwind_row wp__unwind_row(uintptr_t pc);

#endif
