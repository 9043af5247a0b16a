/* SPDX-License-Identifier: Apache-2.0
 * options.c - see options.h. */
#include "options.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *program;

void options_refuse(const char *format, ...)
{
	va_list values;

	fprintf(stderr, "%s: ", program);
	va_start(values, format);
	vfprintf(stderr, format, values);
	va_end(values);
	fputc('\n', stderr);
	exit(2);
}

/* Prints "off, on", or "1 to 9", or "TEXT". */
static void print_allowed(FILE *file, const cli_option *option)
{
	if (option->words != NULL)
		for (int at = 0; option->words[at] != NULL; at++)
			fprintf(file, "%s%s", at == 0 ? "" : ", ", option->words[at]);
	else if (option->most != 0)
		fprintf(file, "%u to %u", option->least, option->most);
}

static const cli_option *find(const cli_option *options, size_t count, const char *name)
{
	for (size_t one = 0; one < count; one++)
		if (strcmp(options[one].name, name) == 0)
			return &options[one];
	return NULL;
}

/* Prints "--mode unified, split". */
static void print_with(FILE *file, const cli_option *option, const cli_option *with)
{
	const char *before = " ";

	fprintf(file, "%s", with->name);
	for (uint32_t at = 0; with->words[at] != NULL; at++) {
		if ((option->with_words & 1u << at) == 0)
			continue;
		fprintf(file, "%s%s", before, with->words[at]);
		before = ", ";
	}
}

/* Refuses an option that would be ignored. */
static void check_with(const cli_option *options, size_t count, const cli_option *given)
{
	const cli_option *with = given->with == NULL ? NULL : find(options, count, given->with);

	if (with == NULL || (given->with_words & 1u << *with->number) != 0)
		return;
	fprintf(stderr, "%s: %s: not with %s %s: allowed with ", program, given->name, with->name,
		with->words[*with->number]);
	print_with(stderr, given, with);
	fputc('\n', stderr);
	exit(2);
}

static _Noreturn void refuse_value(const cli_option *option, const char *value)
{
	fprintf(stderr, "%s: %s %s: allowed is ", program, option->name, value);
	print_allowed(stderr, option);
	fputc('\n', stderr);
	exit(2);
}

static void take(const cli_option *option, const char *value)
{
	unsigned long number;
	char *end;

	if (option->text != NULL) {
		*option->text = value;
		return;
	}
	if (option->words != NULL) {
		for (uint32_t at = 0; option->words[at] != NULL; at++)
			if (strcmp(option->words[at], value) == 0) {
				*option->number = at;
				return;
			}
		refuse_value(option, value);
	}
	errno = 0;
	number = strtoul(value, &end, 10);
	if (*value < '0' || *value > '9' || *end != '\0' || errno != 0 || number < option->least ||
	    number > option->most)
		refuse_value(option, value);
	*option->number = (uint32_t)number;
}

static void print_help(const cli_option *options, size_t count, const char *usage,
		       const char *examples)
{
	printf("%s\n\n", usage);
	for (size_t at = 0; at < count; at++) {
		printf("  %-14s %s", options[at].name, options[at].help);
		if (options[at].words != NULL || options[at].most != 0) {
			printf(" (");
			print_allowed(stdout, &options[at]);
			putchar(')');
		}
		if (options[at].with != NULL) {
			printf("; with ");
			print_with(stdout, &options[at], find(options, count, options[at].with));
		}
		putchar('\n');
	}
	printf("  %-14s this\n\n%s\n", "--help", examples);
	exit(0);
}

void options_read(int argc, char **argv, const cli_option *options, size_t count, const char *usage,
		  const char *examples)
{
	uint32_t given = 0; /* one bit each: there are fewer than 32 */

	program = strrchr(argv[0], '/') != NULL ? strrchr(argv[0], '/') + 1 : argv[0];
	for (int at = 1; at < argc; at++) {
		const cli_option *found = find(options, count, argv[at]);

		if (strcmp(argv[at], "--help") == 0)
			print_help(options, count, usage, examples);
		if (found == NULL)
			options_refuse("%s: no such option; see --help", argv[at]);
		given |= 1u << (found - options);
		if (found->flag != NULL) {
			*found->flag = true;
			continue;
		}
		if (at + 1 == argc)
			options_refuse("%s: it takes a value; see --help", argv[at]);
		take(found, argv[++at]);
	}
	for (size_t one = 0; one < count; one++)
		if ((given & 1u << one) != 0)
			check_with(options, count, &options[one]);
}
