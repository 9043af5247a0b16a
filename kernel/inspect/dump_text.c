/* SPDX-License-Identifier: Apache-2.0
 * dump_text.c - see dump_text.h. Not explored, because it makes system calls. */
#define _GNU_SOURCE
#include "inspect/dump_text.h"

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"

enum { LINE = 256, SPREAD = 4 }; /* bytes of a line; the low bits of addresses that differ little */

/* Returns 0, or -1 and sets errno. */
static int write_all(int fd, const char *text, size_t bytes)
{
	while (bytes > 0) {
		ssize_t took = write(fd, text, bytes);

		if (took < 0 && errno != EINTR)
			return -1;
		if (took > 0) {
			text += took;
			bytes -= (size_t)took;
		}
	}
	return 0;
}

void wp__dump_flush(wp_dump_out *out)
{
	const wp_dump_config *config = out->config;
	int code;

	if (out->has_failed || out->count == 0)
		return;
	errno = ECANCELED; /* unless `write` sets another */
	code = config->write != NULL ? config->write(config->arg, out->page, out->count)
				     : write_all(config->fd, out->page, out->count);
	if (code != 0) {
		out->has_failed = true;
		out->error = errno;
	}
	out->count = 0;
}

static void put(wp_dump_out *out, const char *text, size_t bytes)
{
	if (out->count + bytes > WP_DUMP_PAGE)
		wp__dump_flush(out);
	memcpy(out->page + out->count, text, bytes);
	out->count += bytes;
	out->bytes += bytes;
}

void wp__dump_print(wp_dump_out *out, const char *format, ...)
{
	char line[LINE];
	va_list arguments;
	int bytes;

	va_start(arguments, format);
	bytes = vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	put(out, line, bytes < LINE ? (size_t)bytes : LINE - 1);
}

/* Returns the length in bytes of the UTF-8 character that begins here; 0 if there is none. */
static size_t character(const unsigned char *text)
{
	size_t bytes = text[0] < 0x80   ? 1
		       : text[0] < 0xc2 ? 0
		       : text[0] < 0xe0 ? 2
		       : text[0] < 0xf0 ? 3
		       : text[0] < 0xf5 ? 4
					: 0;

	for (size_t at = 1; at < bytes; at++)
		if ((text[at] & 0xc0) != 0x80)
			return 0;
	if ((text[0] == 0xe0 && text[1] < 0xa0) || (text[0] == 0xed && text[1] > 0x9f) ||
	    (text[0] == 0xf0 && text[1] < 0x90) || (text[0] == 0xf4 && text[1] > 0x8f))
		return 0; /* overlong, a surrogate, or beyond U+10FFFF */
	return bytes;
}

void wp__dump_quote(wp_dump_out *out, const char *text)
{
	put(out, "\"", 1);
	while (*text != '\0') {
		size_t bytes = character((const unsigned char *)text);

		if (bytes == 0)
			put(out, "\\ufffd", 6);
		else if (*text == '"' || *text == '\\')
			wp__dump_print(out, "\\%c", *text);
		else if ((unsigned char)*text < ' ' || *text == 0x7f)
			wp__dump_print(out, "\\u%04x", (unsigned)*text);
		else
			put(out, text, bytes);
		text += bytes == 0 ? 1 : bytes;
	}
	put(out, "\"", 1);
}

static void name_it(wp_dump_symbol *symbol, uintptr_t address)
{
	/* This looks one byte before the return address, because the call may be a function's last
	 * instruction. */
	uintptr_t call = address - 1;
	const char *file;
	Dl_info found;

	symbol->address = address;
	if (dladdr((void *)call, &found) == 0 || found.dli_fname == NULL) {
		snprintf(symbol->text, sizeof(symbol->text), "0x%" PRIxPTR, address);
		return;
	}
	file = strrchr(found.dli_fname, '/');
	file = file == NULL ? found.dli_fname : file + 1;
	if (found.dli_sname != NULL)
		snprintf(symbol->text, sizeof(symbol->text), "%s+0x%" PRIxPTR " (%s)",
			 found.dli_sname, address - (uintptr_t)found.dli_saddr, file);
	else
		snprintf(symbol->text, sizeof(symbol->text), "%s+0x%" PRIxPTR, file,
			 address - (uintptr_t)found.dli_fbase);
}

const char *wp__dump_symbol(wp_dump_out *out, uintptr_t address)
{
	wp_dump_symbol *symbol = &out->symbols[(address ^ address >> SPREAD * 2) % WP_DUMP_SYMBOLS];

	if (symbol->address != address)
		name_it(symbol, address);
	return symbol->text;
}
