/* SPDX-License-Identifier: Apache-2.0
 * own_main.c - the command line of an explored program: the options of the explorer, `--`, and the
 * program's own arguments. Prints one line of JSON per model, as main.c does.
 *
 * Spec          none.
 * Evidence      tests/judge/own. */
#include <dirent.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/single_threaded.h>
#include <time.h>
#include <unistd.h>

#include "own.h"
#include "options.h"
#include "overrides.h"
#include "report.h"

enum { TEXTS = 1 << 14, NAME = 24, FSGSBASE = 1 << 1, STD_CALLS = 1 << 12 };

#define NO_SITE UINT32_MAX

explore_program own_program;
int (*own_main)(int, char **, char **);
char **own_arguments;
bool own_volatile_is_relaxed, own_has_volatile, own_may_leak, own_is_sc;
const void *own_last;

const void *own_code[EXPLORE_THREADS];
static explore_site sites[OWN_SITES];
static char files[OWN_SITES][NAME];
static const void *from_of[OWN_SITES];
static char error[OWN_MESSAGE];

void own_refuse(const char *format, ...)
{
	va_list arguments;

	if (own_program.error)
		return;
	va_start(arguments, format);
	vsnprintf(error, sizeof(error), format, arguments);
	va_end(arguments);
	own_program.error = error;
}

const char *own_text(const char *format, ...)
{
	static const char *texts[TEXTS];
	static uint32_t count;
	char text[OWN_MESSAGE];
	va_list arguments;
	own_digest digest = {9, 10};
	uint32_t slot;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	for (const char *at = text; *at; at++)
		digest = own_mix(digest, (unsigned char)*at);
	for (slot = digest.a % TEXTS; texts[slot]; slot = (slot + 1) % TEXTS)
		if (!strcmp(texts[slot], text))
			return texts[slot];
	if (2 * count >= TEXTS) {
		own_refuse("more than %d different outcomes and messages", TEXTS / 2);
		return "";
	}
	count++;
	return texts[slot] = strdup(text);
}

uint32_t own_site(const void *from, const char *what)
{
	static uint16_t slots[OWN_SITES]; /* site + 1 */
	uint32_t slot = (uint32_t)((uintptr_t)from * 0x9e3779b1u >> 4) % OWN_SITES, site;

	if (!from)
		return NO_SITE;
	while (slots[slot] &&
	       (from_of[slots[slot] - 1] != from ||
		(sites[slots[slot] - 1].what != what && strcmp(sites[slots[slot] - 1].what, what))))
		slot = (slot + 1) % OWN_SITES;
	if (slots[slot])
		return slots[slot] - 1u;
	site = (uint32_t)own_program.sites_count;
	if (site + 1 == OWN_SITES) {
		own_refuse("more than %d different operations", OWN_SITES);
		return 0;
	}
	snprintf(files[site], NAME, "#%lx", (unsigned long)(uintptr_t)from);
	sites[site] = (explore_site){files[site], 0, what};
	from_of[site] = from;
	slots[slot] = (uint16_t)(site + 1);
	own_program.sites_count++;
	return site;
}

/* Where operations of the standard library are called: a table by address, from the file that lies
 * beside the program. */
static struct {
	const void *from;
	enum own_std kind;
} std_calls[STD_CALLS];

static uint32_t slot_of(const void *from)
{
	uint32_t slot = (uint32_t)((uintptr_t)from * 0x9e3779b1u >> 8) % STD_CALLS;

	while (std_calls[slot].from && std_calls[slot].from != from)
		slot = (slot + 1) % STD_CALLS;
	return slot;
}

bool own_is_std(enum own_std kind, const void *from)
{
	uint32_t slot = slot_of(from);

	return std_calls[slot].from && std_calls[slot].kind == kind;
}

static void read_std_calls(const char *program)
{
	static const char *const kinds[OWN_STDS] = {"lock", "unlock", "spin", "await"};
	char path[PATH_MAX], kind[8];
	unsigned long from;
	int count = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%s.calls", program);
	file = fopen(path, "r");
	while (file && fscanf(file, "%7s %lx", kind, &from) == 2) {
		const void *at = (const void *)from;
		uint32_t slot = slot_of(at);

		if (2 * ++count > STD_CALLS)
			own_refuse("more than %d calls of the standard library", STD_CALLS / 2);
		if (own_program.error)
			break;
		std_calls[slot].from = at;
		for (int k = 0; k < OWN_STDS; k++)
			if (!strcmp(kind, kinds[k]))
				std_calls[slot].kind = (enum own_std)k;
	}
	if (file)
		fclose(file);
}

/* The process must have one thread: another one would be none of the explorer's. */
static void check_alone(explore_report *report)
{
	DIR *tasks = opendir("/proc/self/task");
	int count = 0;

	while (tasks && readdir(tasks))
		count++;
	if (tasks)
		closedir(tasks);
	if (count > 3 && !*report->error) /* and . and .. */
		snprintf(report->error, sizeof(report->error),
			 "the program has made a thread that the explorer does not know");
}

static void explore(const explore_options *options)
{
	explore_report report = {.engine = "graphs"};
	struct timespec start, end;

	explore_failing_heavy_most = 0;
	own_is_sc = options->model == EXPLORE_SC;
	own_make_program(&own_program);
	clock_gettime(CLOCK_MONOTONIC, &start);
	explore_graphs(&own_program, options, &report);
	clock_gettime(CLOCK_MONOTONIC, &end);
	report.seconds =
		(double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec) / 1e9;
	if (own_program.error && !*report.error)
		snprintf(report.error, sizeof(report.error), "%s", own_program.error);
	check_alone(&report);
	explore_print(&own_program, options, &report);
	explore_report_free(&report);
}

/* Copies the arguments to the program's heap, where they have the same addresses in each process. */
static char **copied(int count, char **arguments)
{
	char **made = own_malloc_from(((size_t)count + 1) * sizeof(*made), 16, NULL);

	for (int i = 0; made && i < count; i++) {
		size_t size = strlen(arguments[i]) + 1;

		made[i] = own_malloc_from(size, 16, NULL);
		if (!made[i])
			return NULL;
		memcpy(made[i], arguments[i], size);
	}
	if (made)
		made[count] = NULL;
	return made;
}

/* Called by the program's start. */
int own_run(int (*main)(int, char **, char **), int argc, char **argv, bool has_bare_code);

int own_run(int (*main)(int, char **, char **), int argc, char **argv, bool has_bare_code)
{
	int own = 1;
	explore_command command;

	while (own < argc && strcmp(argv[own], "--") != 0)
		own++;
	command = explore_read_command(own, argv);
	read_std_calls(argv[0]);
	if (own_program.error)
		explore_refuse(command.test, own_program.error, "it cannot be explored");
	own_volatile_is_relaxed = getenv("WAKEPROOF_VOLATILE") != NULL;
	own_may_leak = getenv("WAKEPROOF_MAY_LEAK") != NULL;
	if (own == argc)
		argv[--own] = argv[0];
	else
		argv[own] = argv[0];
	unsetenv("RUST_BACKTRACE"); /* it would read files */
	__libc_single_threaded = 0; /* so that reference counts are atomic, as with threads */
	own_has_bare_code = has_bare_code;
	own_main = main;
	own_arguments = copied(argc - own, argv + own);
	own_program.name = command.test;
	own_program.sites = sites;
	own_program.code = own_code;
	memcpy(&own_code[0], &main, sizeof(main));
	if (command.progress && strcmp(command.progress, "none") != 0)
		explore_progress_to(fopen(command.progress, "a"));
	if (!(getauxval(AT_HWCAP2) & FSGSBASE)) {
		fprintf(stderr, "explore: the system does not let a program set its fs register\n");
		return 3;
	}
	if (!own_arguments || !own_keep_heap() || !own_make_fibers() || !own_make_memory()) {
		fprintf(stderr, "explore: no memory at the explorer's fixed addresses\n");
		return 3;
	}
	for (int model = 0; model < MODELS; model++) {
		if (!(command.models >> model & 1))
			continue;
		command.options.model = (enum explore_model)model;
		explore(&command.options);
	}
	fflush(stdout);
	_exit(0);
}
