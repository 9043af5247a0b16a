/* SPDX-License-Identifier: Apache-2.0
 * main.c - the explorer's command line. It prints one line of JSON per program, model and engine.
 *
 *   --program FILE|-     programs as text (data.c), separated by lines `end`
 *   --list, --test NAME  the scenario that was linked, compiled
 *   --model sc,tso,rc11  or all                --engine auto|graphs|states|both
 *   --dump FILE          the graph of states (dump.h), of the states engine
 *   --dialog             no search: answers questions about the one program (dialog.h)
 *
 * Why it works  The program is made anew for each model and engine, so no run sees the remains of
 *               another. The exit code is 0 whatever a program shows, because the reader grades
 *               outcomes. A program that cannot be explored has an `error` in its line. Exit code
 *               2: the request makes no sense.
 * Spec          none.
 * Evidence      tests/judge/explore/test_command.py. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "harness/engine/registry.h"
#include "dialog.h"
#include "dump.h"
#include "options.h"
#include "overrides.h"
#include "report.h"
#include "scenario.h"

enum { NAME = 64, SAMPLES = 20000 };

/* The origin of a program: `text`, or the `test` of the linked scenario. */
struct origin {
	const char *text;
	int line; /* the line of the file at which the text begins */
	const stress_test *test;
	bool is_whole; /* explore it whole, however large it is */
	/* A twin, or a scenario under the bounds with which its twins are explored. */
	bool is_bounded;
	char name[NAME];
};

static const char *dump_file; /* of the state engine; NULL: none */

/* A build for programs given as text contains no compiled.c. */
__attribute__((weak)) explore_program *explore_compiled(const stress_test *test, char error[256])
{
	snprintf(error, 256, "%s: compiled code cannot be explored by this build", test->name);
	return NULL;
}

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

static void bound(const explore_options *options)
{
	explore_turns_most = (uint64_t)options->loop_bound;
	explore_interrupts_most = (uint64_t)options->spurious;
	explore_failing_heavy_most = (uint64_t)options->failing_heavy;
	explore_waits_are_fences = options->model == EXPLORE_TSO || options->linux_futex;
}

/* Once more as long as the program learns something that changes it. */
static void explore(explore_program *program, const explore_options *options,
		    explore_report *report, bool by_states)
{
	bound(options);
	for (;;) {
		explore_estimate((explore_size){0});
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

/* Applies the bounds that a scenario declares. A scenario that is too large gets smaller ones,
 * unless the command line sets others. */
static explore_options fitted(const struct origin *origin, explore_options options, bool by_states)
{
	int preemptions = origin->test ? origin->test->preemptions : 0;

	if (origin->test && options.failing_heavy < origin->test->failing_heavy)
		options.failing_heavy = origin->test->failing_heavy;
	if (!preemptions || origin->is_whole || options.preemptions >= 0 || options.sample ||
	    options.parts)
		return options;
	if (by_states && !origin->is_bounded && !explore_overrides_count &&
	    origin->test->whole & (options.model == EXPLORE_SC ? SEEN_SC : SEEN_TSO))
		return options;
	if (by_states) /* buffers multiply the states, so one preemption less */
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
	report.seconds = seconds_now() - start;
	explore_print(program ? program : &nameless, options, &report);
	explore_report_free(&report);
	if (program)
		program->destroy(program);
}

static void converse(const struct origin *origin, const explore_options *wanted)
{
	explore_options fits = fitted(origin, *wanted, false);
	char error[256] = "";
	explore_program *program = make(origin, error);

	if (!program)
		explore_refuse("--dialog", origin->name, error);
	bound(&fits);
	explore_converse(program);
	program->destroy(program);
}

/* Auto: states where they know the model, as they visit each once and see every loop; graphs for
 * RC11. A line per model and engine, always in the same order. */
static void run(const explore_command *command, const struct origin *origin)
{
	enum explore_engine engine = command->engine;
	explore_options options = command->options;

	if (command->converses) {
		converse(origin, &options);
		return;
	}
	for (int model = 0; model < MODELS; model++) {
		bool has_states = model != EXPLORE_RC11;

		if (!(command->models >> model & 1))
			continue;
		options.model = (enum explore_model)model;
		if (engine == ENGINE_GRAPHS || engine == ENGINE_BOTH || !has_states)
			run_engine(origin, &options, false);
		if (engine != ENGINE_GRAPHS && has_states)
			run_engine(origin, &options, true);
	}
}

static char *read_all(const char *file)
{
	FILE *stream = strcmp(file, "-") ? fopen(file, "r") : stdin;
	size_t room = 1 << 16, length = 0, got;
	char *text = malloc(room);

	if (!stream)
		explore_refuse("--program", file, strerror(errno));
	while (text && (got = fread(text + length, 1, room - length - 1, stream)) > 0) {
		length += got;
		if (room - length < 2)
			text = realloc(text, room *= 2);
	}
	if (!text || ferror(stream))
		explore_refuse("--program", file, "cannot be read");
	if (stream != stdin)
		fclose(stream);
	text[length] = '\0';
	return text;
}

/* Goes past the next line that is `end`. That line becomes the end of the text before it. `lines`
 * counts lines. */
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

static void run_programs(const explore_command *command)
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
		explore_refuse("--program", command->file, "holds no program");
}

static void run_test(const explore_command *command)
{
	struct origin origin = {.test = stress_find_test(command->test),
				.is_whole = command->is_whole,
				.is_bounded = command->is_bounded};

	if (!origin.test)
		explore_refuse("--test", command->test,
			       "no such scenario in this file; --list shows them");
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
		explore_refuse("--progress", where, strerror(errno));
	explore_progress_to(stream);
}

int main(int argc, char **argv)
{
	explore_command command = explore_read_command(argc, argv);

	start_progress(command.progress);
	dump_file = command.dump;
	if (command.lists)
		stress_print_list();
	else if (command.file)
		run_programs(&command);
	else
		run_test(&command);
	return fflush(stdout) ? 3 : 0;
}
