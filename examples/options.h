/* SPDX-License-Identifier: Apache-2.0
 * options.h - the command line of an example: a table, its help, errors that say what is allowed. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* words: one of these, and *number is which; else least .. most, if most; else text; else a flag,
 * which takes no value. with: it means something only with these words of that option, a bit each;
 * elsewhere it is refused. */
typedef struct cli_option {
	const char *name, *help;
	const char *const *words; /* NULL at its end */
	uint32_t *number;
	uint32_t least, most;
	const char **text;
	bool *flag;
	const char *with; /* NULL: always */
	uint32_t with_words;
} cli_option;

/* Reads them all, prints the help and exits with 0, or exits with 2 when one is wrong. `help`: what
 * stands around the options. */
void options_read(int argc, char **argv, const cli_option *options, size_t count, const char *usage,
		  const char *examples);

/* One line on stderr; exits with 2: what was asked for cannot be. */
_Noreturn void options_refuse(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
