/* SPDX-License-Identifier: Apache-2.0
 * dump.c - see dump.h. One line per item, with fields separated by spaces, in this order:
 *
 *   s ASLEEP P0 P1 ... V0 V1 ...              a state, numbered from 0: one bit per sleeping
 *                                             thread, the position of each thread, the value of
 *                                             each location
 *   e TO THREAD VALUE                         an edge out of it, and the value that the step
 *                                             returned
 *   d TO THREAD VALUE                         the same: a buffered store of the thread drains
 *   p THREAD POSITION KIND SITE LOCATION ...  the step of a thread at a position; then operand,
 *                                             expected value, memory order, order of the failure
 *   l LOCATION OFFSET NAME                    its place in the scenario's state
 *   i SITE FILE LINE WHAT
 *   end STATES EDGES                          the dump is complete
 *
 * Spec      none.
 * Evidence  tests/judge/conform/test_conform.py. */
#include "dump.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "states.h"

typedef struct dump {
	FILE *stream;
	explore_program *program;
	bool *is_known[EXPLORE_THREADS]; /* by position */
	uint32_t room[EXPLORE_THREADS];
	uint64_t states, edges;
} dump;

static bool is_new(dump *dump, int thread, explore_position position)
{
	uint32_t room = dump->room[thread];
	bool *known = dump->is_known[thread];

	if (position >= room) {
		room = 2 * position + 64;
		known = realloc(known, room);
		if (!known)
			return false; /* the reader notices that the line is missing */
		memset(known + dump->room[thread], 0, room - dump->room[thread]);
		dump->is_known[thread] = known;
		dump->room[thread] = room;
	}
	if (known[position])
		return false;
	return known[position] = true;
}

static void write_position(dump *dump, int thread, explore_position position)
{
	const explore_step *step = dump->program->at(dump->program, thread, position);

	fprintf(dump->stream, "p %d %" PRIu32 " %d %" PRIu32 " %d %" PRIu64 " %" PRIu64 " %d %d\n",
		thread, position, step->kind, step->site, step->location, step->operand,
		step->expected, step->order, step->fail_order);
}

static void write_state(void *own, uint32_t index, const explore_view *view)
{
	dump *dump = own;
	int threads = dump->program->threads;
	unsigned asleep = 0;

	for (int t = 0; t < threads; t++) {
		asleep |= (view->asleep_on[t] >= 0 ? 1u : 0u) << t;
		if (is_new(dump, t, view->positions[t]))
			write_position(dump, t, view->positions[t]);
	}
	fprintf(dump->stream, "s %u", asleep);
	for (int t = 0; t < threads; t++)
		fprintf(dump->stream, " %" PRIu32, view->positions[t]);
	for (int l = 0; l < view->locations; l++)
		fprintf(dump->stream, " %" PRIu64, view->values[l]);
	fputc('\n', dump->stream);
	dump->states++;
}

static void write_edge(void *own, uint32_t from, uint32_t to, int thread, const explore_step *step,
		       uint64_t value, bool is_drain)
{
	dump *dump = own;

	if (step->kind == EXPLORE_LOCAL)
		value = step->operand; /* the value that litmus_return gives */
	fprintf(dump->stream, "%c %" PRIu32 " %d %" PRIu64 "\n", is_drain ? 'd' : 'e', to, thread,
		value);
	dump->edges++;
}

static void write_names(dump *dump)
{
	const explore_program *program = dump->program;

	for (int l = 0; l < program->locations; l++)
		fprintf(dump->stream, "l %d %" PRIu32 " %s\n", l, program->location_offsets[l],
			program->location_names[l]);
	for (int s = 0; s < program->sites_count; s++)
		fprintf(dump->stream, "i %d %s %d %s\n", s, program->sites[s].file,
			program->sites[s].line, program->sites[s].what);
	fprintf(dump->stream, "end %" PRIu64 " %" PRIu64 "\n", dump->states, dump->edges);
}

void explore_dump(explore_program *program, const explore_options *options, const char *file,
		  explore_report *report)
{
	dump dump = {.program = program, .stream = fopen(file, "w")};
	const char *why = strerror(errno);
	explore_options options_merged = *options;

	if (!dump.stream) {
		*report = (explore_report){.engine = "states"};
		snprintf(report->error, sizeof(report->error), "%.200s: %s", file, why);
		return;
	}
	options_merged.loses_outcomes = true;
	explore_states_graph(program, &options_merged, write_state, write_edge, &dump, report);
	if (report->is_exhaustive)
		write_names(&dump);
	if (fclose(dump.stream) && !*report->error)
		snprintf(report->error, sizeof(report->error), "%.200s cannot be written", file);
	for (int t = 0; t < EXPLORE_THREADS; t++)
		free(dump.is_known[t]);
}
