/* SPDX-License-Identifier: Apache-2.0
 * dialog.c - answers questions about a program, for a search that is not in C (--dialog).
 *
 *   start THREAD                            the first position of a thread
 *   next THREAD POSITION VALUE FAILED       where it is after its step there gave the value
 *   outcome N VALUES.. ENDS..               what an execution with these final values shows
 *
 * Each question is a line, each answer one line of JSON. A position comes with its step, as an
 * event has it. "again": what was learned has changed the program, so all positions are void.
 *
 * Spec  none: the search is judge/explore/enumerated.py. Evidence  tests/judge/explore/
 * test_enumerated.py. */
#include "dialog.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/engine/json.h"
#include "report.h"

enum { LINE = 1 << 15 };

static void print_step(const explore_program *program, int thread, const explore_step *step)
{
	explore_event event = {.thread = thread, .step = *step, .read_from = -1};
	explore_example example = {.events = &event, .events_count = 1, .cycle_from = -1};

	explore_print_example(program, &example);
}

/* True: the program is to be run from the start, or cannot be run. */
static bool print_error(explore_program *program)
{
	bool is_again =
		program->error && program->restart && !strcmp(program->error, EXPLORE_START_AGAIN);

	if (!program->error)
		return false;
	printf("{");
	json_field("error", is_again ? "" : program->error);
	printf("\"again\":%s}\n", is_again ? "true" : "false");
	if (is_again)
		program->restart(program);
	return true;
}

static void answer_position(explore_program *program, int thread, explore_position position)
{
	const explore_step *step;

	if (print_error(program))
		return;
	step = program->at(program, thread, position);
	printf("{\"position\":%" PRIu32 ",\"fail_order\":%d,\"weak\":%s,\"initial\":%" PRIu64
	       ",\"bounded\":%s,\"step\":",
	       position, step->fail_order, step->is_weak ? "true" : "false",
	       step->location >= 0 ? program->initial[step->location] : 0,
	       program->is_bounded ? "true" : "false");
	print_step(program, thread, step);
	printf("}\n");
}

static void answer_outcome(explore_program *program, char *rest)
{
	uint64_t values[EXPLORE_LOCATIONS] = {0};
	explore_position ends[EXPLORE_THREADS] = {0};
	char text[EXPLORE_TEXT] = "";
	long count = strtol(rest, &rest, 10);

	memcpy(values, program->initial, sizeof(values));
	for (long l = 0; l < count && l < EXPLORE_LOCATIONS; l++)
		values[l] = strtoull(rest, &rest, 10);
	for (int t = 0; t < program->threads; t++)
		ends[t] = (explore_position)strtoul(rest, &rest, 10);
	program->failed = NULL;
	program->outcome(program, values, ends, text);
	if (print_error(program))
		return;
	printf("{");
	json_field("text", text);
	printf("\"failed\":");
	if (program->failed)
		print_step(program, 0, program->failed);
	else
		printf("null");
	printf("}\n");
}

static void answer(explore_program *program, char *line)
{
	char *rest = line + strcspn(line, " ");
	bool is_start = !strncmp(line, "start ", 6), is_next = !strncmp(line, "next ", 5);
	long thread;
	explore_position from;
	uint64_t value;

	if (!strncmp(line, "outcome ", 8)) {
		answer_outcome(program, rest);
		return;
	}
	thread = strtol(rest, &rest, 10);
	if ((!is_start && !is_next) || thread < 0 || thread >= program->threads) {
		printf("{\"error\":\"no such question\",\"again\":false}\n");
		return;
	}
	if (is_start) {
		answer_position(program, (int)thread, program->start(program, (int)thread));
		return;
	}
	from = (explore_position)strtoul(rest, &rest, 10);
	value = strtoull(rest, &rest, 10);
	answer_position(program, (int)thread,
			program->next(program, (int)thread, from, value, strtol(rest, NULL, 10)));
}

void explore_converse(explore_program *program)
{
	static char line[LINE];

	printf("{\"threads\":%d,\"state_size\":%zu,\"actors\":[", program->threads,
	       program->state_size);
	for (int i = 0; program->code && i < program->threads; i++)
		printf("%s\"@%lx\"", i ? "," : "", (unsigned long)(uintptr_t)program->code[i]);
	printf("]}\n");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		answer(program, line);
		fflush(stdout);
	}
}
