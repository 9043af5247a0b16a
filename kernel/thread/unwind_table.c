/* SPDX-License-Identifier: Apache-2.0
 * unwind_table.c - makes a row from a function's table (.eh_frame, as in DWARF 4, 6.4): see
 * unwind.h. Not explored: it reads tables of the program. */
#include "thread/unwind.h"

#include <string.h>

enum { REMEMBERED = 4, TOP_BITS = 6 };

/* From libgcc: the table of the function at pc, or NULL. */
struct dwarf_eh_bases {
	void *text, *data, *function;
};
const void *_Unwind_Find_FDE(void *pc, struct dwarf_eh_bases *bases);

typedef struct reader {
	const uint8_t *at, *end;
} reader;

/* The state while a table is read up to a row. */
typedef struct table {
	reader common, own; /* instructions: common ones (CIE), and the function's own (FDE) */
	uint64_t code_unit;
	int64_t data_unit;
	uintptr_t place, wanted;
	bool is_bad;
	int depth;
	wp_unwind_row row, first, remembered[REMEMBERED];
} table;

static uint64_t fixed(reader *in, size_t bytes)
{
	uint64_t value = 0;

	if ((size_t)(in->end - in->at) < bytes) {
		in->at = in->end;
		return 0;
	}
	memcpy(&value, in->at, bytes); /* both machines put the low byte first */
	in->at += bytes;
	return value;
}

/* Reads a LEB128 number, signed or unsigned. */
static uint64_t number(reader *in, bool has_sign)
{
	uint64_t value = 0;
	unsigned shift = 0;
	uint8_t byte;

	do {
		byte = (uint8_t)fixed(in, 1);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	if (has_sign && byte & 0x40 && shift < 64)
		value |= ~(uint64_t)0 << shift;
	return value;
}

static uint64_t natural(reader *in)
{
	return number(in, false);
}

static int64_t whole(reader *in)
{
	return (int64_t)number(in, true);
}

/* Returns the size of a pointer in that encoding; 0 if the encoding is not supported. */
static size_t pointer_bytes(uint8_t encoding)
{
	static const size_t bytes[] = {8, 0, 2, 4, 8, 0, 0, 0};

	return encoding == 0xff || (encoding & 0x70) == 0x50 ? 0 : bytes[encoding & 7];
}

/* Reads the part that several tables share (CIE). Returns false if its kind is not known. */
static bool read_common(table *made, const uint8_t *common, uint8_t *encoding)
{
	reader in = {common + 4, common + 4};
	const char *extras;
	uint32_t bytes;
	uint64_t version;

	memcpy(&bytes, common, 4);
	in.end += bytes;
	fixed(&in, 4);
	version = fixed(&in, 1);
	extras = (const char *)in.at;
	in.at += strlen(extras) + 1;
	made->code_unit = natural(&in);
	made->data_unit = whole(&in);
	if ((version == 1 ? fixed(&in, 1) : natural(&in)) != WP_UNWIND_PC || *extras != 'z')
		return false;
	made->common = (reader){in.at, in.end};
	bytes = (uint32_t)natural(&made->common);
	made->common.at += bytes;
	natural(&in);
	for (extras++; *extras != '\0'; extras++)
		if (*extras == 'R')
			*encoding = (uint8_t)fixed(&in, 1);
		else if (*extras == 'P')
			in.at += pointer_bytes((uint8_t)fixed(&in, 1));
		else if (*extras == 'L')
			fixed(&in, 1);
	return version == 1 || version == 3;
}

/* Finds the table of the function at `pc`. Returns false if there is none, or if it is not
 * understood. */
static bool find(table *made, uintptr_t pc)
{
	struct dwarf_eh_bases bases;
	const uint8_t *own = _Unwind_Find_FDE((void *)pc, &bases);
	uint8_t encoding = 0;
	uint32_t bytes, back;

	if (own == NULL)
		return false;
	memcpy(&bytes, own, 4);
	memcpy(&back, own + 4, 4);
	if (bytes == UINT32_MAX || !read_common(made, own + 4 - back, &encoding) ||
	    pointer_bytes(encoding) == 0)
		return false;
	made->own = (reader){own + 8, own + 4 + bytes};
	made->own.at += 2 * pointer_bytes(encoding);
	bytes = (uint32_t)natural(&made->own);
	made->own.at += bytes;
	made->place = (uintptr_t)bases.function;
	made->wanted = pc;
	return true;
}

static void set(table *made, uint64_t reg, int64_t offset)
{
	if (reg < WP_UNWIND_REGISTERS && offset >= INT16_MIN && offset <= INT16_MAX)
		made->row.saved[reg] = (int16_t)offset;
	else if (reg < WP_UNWIND_REGISTERS)
		made->is_bad = true;
}

static void restore(table *made, uint64_t reg)
{
	if (reg < WP_UNWIND_REGISTERS)
		made->row.saved[reg] = made->first.saved[reg];
}

static void set_cfa(table *made, uint64_t reg, int64_t offset)
{
	made->is_bad |= reg >= WP_UNWIND_REGISTERS || offset < 0 || offset > INT32_MAX;
	made->row.cfa_register = (uint8_t)reg;
	made->row.cfa_offset = (int32_t)offset;
}

/* Runs an instruction about the frame's end (DW_CFA_..., by number). Returns false if it is of
 * another kind. */
static bool about_cfa(table *made, reader *in, uint8_t code)
{
	uint64_t reg = made->row.cfa_register;

	switch (code) {
	case 0x0c: /* def_cfa */
		reg = natural(in);
		set_cfa(made, reg, (int64_t)natural(in));
		return true;
	case 0x0d: /* def_cfa_register */
		set_cfa(made, natural(in), made->row.cfa_offset);
		return true;
	case 0x0e: /* def_cfa_offset */
		set_cfa(made, reg, (int64_t)natural(in));
		return true;
	case 0x12: /* def_cfa_sf */
		reg = natural(in);
		set_cfa(made, reg, whole(in) * made->data_unit);
		return true;
	case 0x13: /* def_cfa_offset_sf */
		set_cfa(made, reg, whole(in) * made->data_unit);
		return true;
	default:
		return false;
	}
}

/* Runs an instruction about the place of a register. Returns false if it is of another kind. */
static bool about_register(table *made, reader *in, uint8_t code)
{
	uint64_t reg;

	if (code < 0x05 || (code > 0x08 && code != 0x11))
		return false;
	reg = natural(in);
	if (code == 0x05) /* offset_extended */
		set(made, reg, (int64_t)natural(in) * made->data_unit);
	else if (code == 0x11) /* offset_extended_sf */
		set(made, reg, whole(in) * made->data_unit);
	else if (code == 0x06) /* restore_extended */
		restore(made, reg);
	else if (code == 0x08) /* same_value */
		set(made, reg, 0);
	else /* undefined: for the return address, this marks the outermost function */
		made->row.is_end |= reg == WP_UNWIND_PC;
	return true;
}

/* Runs an instruction that is encoded in the low bits alone. */
static void extended(table *made, reader *in, uint8_t code)
{
	if (about_cfa(made, in, code) || about_register(made, in, code))
		return;
	if (code >= 0x02 && code <= 0x04) /* advance_loc1, 2, 4 */
		made->place += fixed(in, (size_t)1 << (code - 2)) * made->code_unit;
	else if (code == 0x0a && made->depth < REMEMBERED) /* remember_state */
		made->remembered[made->depth++] = made->row;
	else if (code == 0x0b && made->depth > 0) /* restore_state */
		made->row = made->remembered[--made->depth];
	else if (code == 0x2e) /* GNU_args_size */
		natural(in);
	else if (code != 0x00 && code != 0x2d) /* nop; AARCH64_negate_ra_state */
		made->is_bad = true; /* expressions, and instructions that compilers do not emit */
}

/* Runs instructions up to the place that is wanted. */
static void run(table *made, reader in)
{
	while (in.at < in.end && !made->is_bad) {
		uint8_t code = (uint8_t)fixed(&in, 1);
		uint64_t low = code & ((1u << TOP_BITS) - 1);

		switch (code >> TOP_BITS) {
		case 1: /* advance_loc */
			made->place += low * made->code_unit;
			break;
		case 2: /* offset */
			set(made, low, (int64_t)natural(&in) * made->data_unit);
			break;
		case 3: /* restore */
			restore(made, low);
			break;
		default:
			extended(made, &in, code);
		}
		if (made->place > made->wanted)
			return;
	}
}

wp_unwind_row wp__unwind_row(uintptr_t pc)
{
	table made = {.is_bad = false};

	if (find(&made, pc - 1)) {
		run(&made, made.common);
		made.first = made.row;
		run(&made, made.own);
	} else {
		made.is_bad = true;
	}
	made.row.pc = pc;
	made.row.is_end |= made.is_bad || made.row.saved[WP_UNWIND_PC] == 0;
	return made.row;
}
