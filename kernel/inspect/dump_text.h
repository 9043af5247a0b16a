/* SPDX-License-Identifier: Apache-2.0
 * dump_text.h - what a dump writes with: text that goes out by the page, and names of addresses.
 * For dump_text.c and dump_write.c alone. */
#ifndef WP_DUMP_TEXT_H
#define WP_DUMP_TEXT_H

#include "inspect/dump.h"

enum {
	WP_DUMP_PAGE = 8192,    /* goes out at once */
	WP_DUMP_SYMBOL = 128,   /* bytes of a frame's text, with its end; longer ones are cut */
	WP_DUMP_SYMBOLS = 1024, /* that are kept, one for each hash */
};

typedef struct wp_dump_symbol {
	uintptr_t address;
	char text[WP_DUMP_SYMBOL];
} wp_dump_symbol;

/* The calling dump's. */
typedef struct wp_dump_out {
	const wp_dump_config *config;
	bool has_failed; /* errno says why; nothing is written any more */
	int error;
	uint64_t bytes; /* so far */
	size_t count;
	char page[WP_DUMP_PAGE];
	wp_dump_symbol symbols[WP_DUMP_SYMBOLS];
} wp_dump_out;

/* All that is left on the page goes out. */
void wp__dump_flush(wp_dump_out *out);
/* As printf, a line at the most. */
void wp__dump_print(wp_dump_out *out, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* In double quotes, as JSON has it: what is no UTF-8 becomes U+FFFD. */
void wp__dump_quote(wp_dump_out *out, const char *text);
/* "function+0x12 (file)" or "file+0x1234", or the address alone. */
const char *wp__dump_symbol(wp_dump_out *out, uintptr_t address);

#endif
