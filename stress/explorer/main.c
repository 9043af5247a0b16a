/* SPDX-License-Identifier: Apache-2.0
 * main.c - the explorer's command line; one line of JSON per program, model and engine.
 *
 *   --program FILE|-     programs as text (data.c), separated by lines `end`
 *   --list, --test NAME  the scenario that was linked, compiled
 *   --model sc,tso,rc11  or all                --engine auto|graphs|states|both
 *   --dump FILE          the graph of states (dump.h), of the states engine
 *
 * Why it works  A program is made anew for each model and engine, so none sees what another left.
 *               Whatever a program shows, the exit code is 0: the reader grades outcomes. A program
 *               that cannot be explored has its `error` in its line. 2: the request makes no sense.
 * Spec          none. Evidence  tests/test_explore_cli.py. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "dump.h"
#include "joins.h"
#include "overrides.h"
#include "report.h"
#include "scenario.h"

enum engine { AUTO, GRAPHS, STATES, BOTH };
enum { MODELS = 3, ALL_MODELS = (1 << MODELS) - 1, NAME = 64, SAMPLES = 20000 };

struct command {
	const char *file, *test, *progress;
	bool lists, is_whole;
	unsigned models; /* bit per enum explore_model */
	enum engine engine;
	explore_options options;
};

/* A program's origin: `text`, or the linked scenario's `test`. */
struct origin {
	const char *text;
	int line; /* of the file, at which the text begins */
	const stress_test *test;
	bool is_whole; /* however large it is */
	char name[NAME];
};

static const char *dump_file; /* of the states engine; NULL: none */
explore_override explore_overrides[EXPLORE_OVERRIDES];
int explore_overrides_count;
uint64_t explore_turns_most;

/* In a build for programs as text there is no compiled.c. */
__attribute__((weak)) explore_program *explore_compiled(const stress_test *test, char error[256])
{
	snprintf(error, 256, "%s: compiled code cannot be explored by this build", test->name);
	return NULL;
}

/* Options. */

static _Noreturn void refuse(const char *option, const char *value, const char *allowed)
{
	fprintf(stderr, "explore: %s %s: %s\n", option, value, allowed);
	exit(2);
}

static uint64_t number(const char *option, const char *text, uint64_t most)
{
	char *end, allowed[64];
	uint64_t value;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno || end == text || *end || *text < '0' || *text > '9' || value > most) {
		snprintf(allowed, sizeof(allowed), "want a number from 0 to %llu",
			 (unsigned long long)most);
		refuse(option, text, allowed);
	}
	return value;
}

/* The place of `text` among `count` words. */
static int choice(const char *option, const char *text, const char *const *words, int count)
{
	char allowed[160] = "want one of";

	for (int i = 0; i < count; i++) {
		if (!strcmp(text, words[i]))
			return i;
		strncat(allowed, " ", sizeof(allowed) - strlen(allowed) - 1);
		strncat(allowed, words[i], sizeof(allowed) - strlen(allowed) - 1);
	}
	refuse(option, text, allowed);
}

static unsigned models_of(const char *option, const char *text)
{
	static const char *const words[] = {"sc", "tso", "rc11", "all"};
	char copy[64], *rest = NULL;
	unsigned models = 0;

	snprintf(copy, sizeof(copy), "%s", text);
	for (char *word = strtok_r(copy, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
		int model = choice(option, word, words, MODELS + 1);

		models |= model == MODELS ? (unsigned)ALL_MODELS : 1u << model;
	}
	if (!models)
		refuse(option, text, "want sc, tso, rc11 or all");
	return models;
}

/* FILE:LINE=ORDER; the text is the command line's own and stays. */
static void add_override(const char *option, char *text)
{
	static const char *const words[] = {"plain",   "relaxed", "acquire",
					    "release", "acq_rel", "seq_cst"};
	char *equals = strchr(text, '='), *colon = strrchr(text, ':');
	explore_override *into = &explore_overrides[explore_overrides_count];

	if (explore_overrides_count == EXPLORE_OVERRIDES)
		refuse(option, text, "more than 64 overrides");
	if (!equals || !colon || colon > equals || colon == text)
		refuse(option, text, "want FILE:LINE=ORDER");
	*equals = *colon = '\0';
	into->file = text;
	into->line = (int)number(option, colon + 1, 1000000);
	into->order = (enum explore_order)choice(option, equals + 1, words, 6);
	explore_overrides_count++;
}

/* Options whose value is a number, and where it goes. */
static const struct {
	const char *name;
	enum { WIDE, INT, SECONDS } kind;
	uint64_t most;
	size_t place;
} numbers[] = {
	{"--loop-bound", INT, 1000000, offsetof(explore_options, loop_bound)},
	{"--preemptions", INT, 1000, offsetof(explore_options, preemptions)},
	{"--spurious", INT, 100, offsetof(explore_options, spurious)},
	{"--pct", INT, 100, offsetof(explore_options, pct_depth)},
	{"--sample", WIDE, UINT64_MAX, offsetof(explore_options, sample)},
	{"--seed", WIDE, UINT64_MAX, offsetof(explore_options, seed)},
	{"--max-executions", WIDE, UINT64_MAX, offsetof(explore_options, max_executions)},
	{"--max-bytes", WIDE, UINT64_MAX, offsetof(explore_options, max_bytes)},
	{"--max-seconds", SECONDS, 0, offsetof(explore_options, max_seconds)},
};

static bool set_number(explore_options *options, const char *option, const char *value)
{
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		char *place = (char *)options + numbers[i].place, *end;

		if (strcmp(numbers[i].name, option))
			continue;
		if (numbers[i].kind == WIDE) {
			*(uint64_t *)(void *)place = number(option, value, numbers[i].most);
		} else if (numbers[i].kind == INT) {
			*(int *)(void *)place = (int)number(option, value, numbers[i].most);
		} else {
			double seconds = strtod(value, &end);

			if (end == value || *end || !(seconds >= 0 && seconds < 1e7))
				refuse(option, value, "want seconds, from 0 to 10000000");
			*(double *)(void *)place = seconds;
		}
		return true;
	}
	return false;
}

static bool set_flag(struct command *command, const char *option)
{
	if (!strcmp(option, "--list"))
		command->lists = true;
	else if (!strcmp(option, "--whole"))
		command->is_whole = true;
	else if (!strcmp(option, "--timeouts"))
		command->options.timeouts = true;
	else if (!strcmp(option, "--any-spurious"))
		command->options.any_spurious = true;
	else if (!strcmp(option, "--check-duplicates"))
		command->options.check_duplicates = true;
	else if (!strcmp(option, "--no-examples"))
		explore_shows_examples = false;
	else if (!strcmp(option, "--sites"))
		explore_shows_sites = true;
	else
		return false;
	return true;
}

static void set_option(struct command *command, const char *option, char *value)
{
	static const char *const engines[] = {"auto", "graphs", "states", "both"};
	static const char *const futexes[] = {"none", "linux"};
	static const char *const sequences[] = {"c++20", "c11"};
	static const char *const scbs[] = {"genmc", "paper"};

	if (!strcmp(option, "--program"))
		command->file = value;
	else if (!strcmp(option, "--test"))
		command->test = value;
	else if (!strcmp(option, "--progress"))
		command->progress = value;
	else if (!strcmp(option, "--model"))
		command->models = models_of(option, value);
	else if (!strcmp(option, "--engine"))
		command->engine = (enum engine)choice(option, value, engines, 4);
	else if (!strcmp(option, "--dump"))
		dump_file = value;
	else if (!strcmp(option, "--futex"))
		command->options.linux_futex = choice(option, value, futexes, 2);
	else if (!strcmp(option, "--release-sequence"))
		command->options.c11_release_sequence = choice(option, value, sequences, 2);
	else if (!strcmp(option, "--scb"))
		command->options.paper_scb = choice(option, value, scbs, 2);
	else if (!strcmp(option, "--join") && !explore_join(value))
		refuse(option, value, "want FILE:LINE=FILE:LINE, 4096 at the most");
	else if (!strcmp(option, "--wrap") && !explore_wrap(value))
		refuse(option, value, "want NAME=BITS, 8 at the most");
	else if (!strcmp(option, "--join") || !strcmp(option, "--wrap"))
		return;
	else if (!strcmp(option, "--order"))
		add_override(option, value);
	else if (!set_number(&command->options, option, value))
		refuse(option, "", "is no option");
}

static void check(const struct command *command)
{
	bool needs_states = command->options.preemptions >= 0;

	if (command->lists + !!command->file + !!command->test != 1)
		refuse("explore", "", "give one of --list, --program FILE, --test NAME");
	if (command->engine == STATES && command->models & 1u << EXPLORE_RC11)
		refuse("--engine", "states", "has no RC11: give --model sc,tso");
	if (needs_states && command->engine == GRAPHS)
		refuse("--preemptions", "", "needs --engine states: graphs have no preemptions");
	if (command->options.pct_depth && !command->options.sample)
		refuse("--pct", "", "needs --sample N");
}

/* Running. */

static double seconds_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static explore_program *make(const struct origin *origin, char error[256])
{
	explore_program *program;
	char why[256];

	if (origin->test)
		return explore_compiled(origin->test, error);
	program = explore_parse(origin->text, why);
	if (!program && origin->line > 1)
		snprintf(error, 256, "in the program from line %d on: %.200s", origin->line, why);
	else if (!program)
		memcpy(error, why, sizeof(why));
	return program;
}

/* Once more as long as the program learns something that changes it. */
static void explore(explore_program *program, const explore_options *options,
		    explore_report *report, bool by_states)
{
	explore_turns_most = (uint64_t)options->loop_bound;
	for (;;) {
		explore_estimate(0);
		if (by_states && dump_file)
			explore_dump(program, options, dump_file, report);
		else if (by_states)
			explore_states(program, options, report);
		else
			explore_graphs(program, options, report);
		if (!program->error || !program->restart ||
		    strcmp(program->error, EXPLORE_START_AGAIN))
			break;
		explore_report_free(report);
		program->restart(program);
	}
	if (program->error && !*report->error)
		snprintf(report->error, sizeof(report->error), "%s", program->error);
	if (program->is_bounded && report->is_exhaustive) {
		report->is_exhaustive = false;
		report->stopped = "loop_bound";
	}
}

/* What a scenario that is too large asks for, unless the command line asks for something else. */
static explore_options fitted(const struct origin *origin, explore_options options, bool by_states)
{
	int preemptions = origin->test ? origin->test->preemptions : 0;

	if (!preemptions || origin->is_whole || options.preemptions >= 0 || options.sample)
		return options;
	if (by_states) /* buffers multiply the states: one preemption less */
		options.preemptions = preemptions - (options.model == EXPLORE_TSO);
	else
		options.sample = SAMPLES;
	return options;
}

static void run_engine(const struct origin *origin, const explore_options *wanted, bool by_states)
{
	explore_options fits = fitted(origin, *wanted, by_states), *options = &fits;
	explore_report report = {.engine = by_states ? "states" : "graphs"};
	explore_program nameless = {.name = origin->name};
	explore_program *program = make(origin, report.error);
	double start = seconds_now();

	if (program)
		explore(program, options, &report, by_states);
	if (report.seconds <= 0)
		report.seconds = seconds_now() - start;
	explore_print(program ? program : &nameless, options, &report);
	explore_report_free(&report);
	if (program)
		program->destroy(program);
}

/* Auto: states where they know the model, as they visit each once and see every loop; graphs for
 * RC11. A line per model and engine, always in the same order. */
static void run(const struct command *command, const struct origin *origin)
{
	explore_options options = command->options;

	for (int model = 0; model < MODELS; model++) {
		bool has_states = model != EXPLORE_RC11;

		if (!(command->models >> model & 1))
			continue;
		options.model = (enum explore_model)model;
		if (command->engine == GRAPHS || command->engine == BOTH || !has_states)
			run_engine(origin, &options, false);
		if (command->engine != GRAPHS && has_states)
			run_engine(origin, &options, true);
	}
}

static char *read_all(const char *file)
{
	FILE *stream = strcmp(file, "-") ? fopen(file, "r") : stdin;
	size_t room = 1 << 16, length = 0, got;
	char *text = malloc(room);

	if (!stream)
		refuse("--program", file, strerror(errno));
	while (text && (got = fread(text + length, 1, room - length - 1, stream)) > 0) {
		length += got;
		if (room - length < 2)
			text = realloc(text, room *= 2);
	}
	if (!text || ferror(stream))
		refuse("--program", file, "cannot be read");
	if (stream != stdin)
		fclose(stream);
	text[length] = '\0';
	return text;
}

/* Past the next line that is `end`, which becomes the end of the text before it; `lines` counts. */
static char *cut_at_end(char *text, int *lines)
{
	while (*text) {
		char *line = text;
		size_t length = strcspn(text, "\n"), blank = strspn(line, " \t");

		text += length + (text[length] == '\n');
		++*lines;
		if (!strncmp(line + blank, "end", 3) &&
		    blank + 3 + strspn(line + blank + 3, " \t\r") == length) {
			*line = '\0';
			return text;
		}
	}
	return text;
}

static void run_programs(const struct command *command)
{
	char *all = read_all(command->file), *rest;
	int lines = 0, count = 0;

	for (char *text = all; *text; text = rest) {
		struct origin origin = {.text = text, .line = lines + 1};
		const char *name;

		rest = cut_at_end(text, &lines);
		if (!text[strspn(text, " \t\r\n")])
			continue;
		name = strstr(text, "program ");
		if (!name || sscanf(name, "program %63s", origin.name) != 1)
			snprintf(origin.name, sizeof(origin.name), "program %d", count + 1);
		count++;
		run(command, &origin);
	}
	free(all);
	if (!count)
		refuse("--program", command->file, "holds no program");
}

static void run_test(const struct command *command)
{
	struct origin origin = {.test = explore_find_test(command->test),
				.is_whole = command->is_whole};

	if (!origin.test)
		refuse("--test", command->test, "no such scenario in this file; --list shows them");
	snprintf(origin.name, sizeof(origin.name), "%s", command->test);
	run(command, &origin);
}

static void start_progress(const char *where)
{
	FILE *stream = stderr;

	if (where && strcmp(where, "none"))
		stream = fopen(where, "a");
	else if (where)
		return;
	if (!stream)
		refuse("--progress", where, strerror(errno));
	explore_progress_to(stream);
}

int main(int argc, char **argv)
{
	struct command command = {.models = ALL_MODELS, .options = {.preemptions = -1, .seed = 1}};

	for (int i = 1; i < argc; i++) {
		if (set_flag(&command, argv[i]))
			continue;
		if (i + 1 == argc)
			refuse(argv[i], "", "this option needs a value, or is none");
		set_option(&command, argv[i], argv[i + 1]);
		i++;
	}
	check(&command);
	start_progress(command.progress);
	if (command.lists)
		explore_print_list();
	else if (command.file)
		run_programs(&command);
	else
		run_test(&command);
	return fflush(stdout) ? 3 : 0;
}
