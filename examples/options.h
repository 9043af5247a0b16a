/* SPDX-License-Identifier: Apache-2.0
 * options.h - the command line of an example: a table of options, its help, and errors that say
 * what is allowed. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* words: the value is one of these, and *number receives its index. Without words, the value is a
 * number from least to most, if most is not 0, or else a text, if text is set. Otherwise the option
 * is a flag without a value. with: the option is valid only with these words of that option, one
 * bit each; it is refused elsewhere. */
typedef struct cli_option {
	const char *name, *help;
	const char *const *words; /* ends with NULL */
	uint32_t *number;
	uint32_t least, most;
	const char **text;
	bool *flag;
	const char *with; /* NULL: always valid */
	uint32_t with_words;
} cli_option;

/* Reads all options. Prints the help and exits with 0, or exits with 2 if an option is wrong.
 * `help`: the text around the options. */
void options_read(int argc, char **argv, const cli_option *options, size_t count, const char *usage,
		  const char *examples);

/* Prints one line on stderr and exits with 2, because the request cannot be fulfilled. */
_Noreturn void options_refuse(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
