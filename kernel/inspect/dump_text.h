/* SPDX-License-Identifier: Apache-2.0
 * dump_text.h - the output of a dump: it collects text in a page and writes whole pages, and it
 * finds the names of addresses.
 *
 * For dump_text.c and dump_write.c only. */
#ifndef WP_DUMP_TEXT_H
#define WP_DUMP_TEXT_H

#include "inspect/dump.h"

enum {
	WP_DUMP_PAGE = 8192,    /* bytes written at once */
	WP_DUMP_SYMBOL = 128,   /* bytes of a frame's text, with its end; longer ones are cut */
	WP_DUMP_SYMBOLS = 1024, /* names kept, one for each hash */
};

typedef struct wp_dump_symbol {
	uintptr_t address;
	char text[WP_DUMP_SYMBOL];
} wp_dump_symbol;

/* The output of one dump. */
typedef struct wp_dump_out {
	const wp_dump_config *config;
	bool has_failed; /* `error` is its errno; no more is written */
	int error;
	uint64_t bytes; /* so far */
	size_t count;
	char page[WP_DUMP_PAGE];
	wp_dump_symbol symbols[WP_DUMP_SYMBOLS];
} wp_dump_out;

/* Writes what is left on the page. */
void wp__dump_flush(wp_dump_out *out);
/* Like printf, for at most one line. */
void wp__dump_print(wp_dump_out *out, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Prints a JSON string; bytes that are not UTF-8 become U+FFFD. */
void wp__dump_quote(wp_dump_out *out, const char *text);
/* Returns "function+0x12 (file)" or "file+0x1234", or only the address. */
const char *wp__dump_symbol(wp_dump_out *out, uintptr_t address);

#endif
