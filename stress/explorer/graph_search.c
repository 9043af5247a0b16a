/* SPDX-License-Identifier: Apache-2.0
 * graph_search.c - starts a search of graphs, ends it at its limits, and starts it again.
 *
 *   a search by one process, for a moment -> complete, or shared by several (graph_share.c)
 *
 * Why it works  Most programs are explored sooner than another process would start. In that moment
 *               a program also reveals most of what makes the search start again, which is cheaper
 *               before several processes run.
 * Spec          none.
 * Evidence      tests/corpus/litmus, tests/judge/explore/test_parallel.py. */
#include "graph_share.h"
#include "report.h"

#include <stdlib.h>
#include <string.h>

enum { LOOKS_PER_CLOCK = 4096, ALONE_ENDS = 4096 };

static const double CLOCK_S = 0.01;

static const double ALONE_S = 0.1, SIZE_S = 0.2;

void explore_stop(explore_search *search, const char *why)
{
	search->report->stopped = why;
	search->is_over = true;
}

/* A step of a large graph takes a thousand times as long as one of a small graph, so the looks at
 * the clock are as far apart in time, not in steps. */
static bool is_late(explore_search *search)
{
	double most = search->options->max_seconds, now, before = search->looked;

	if (most <= 0 || search->looks++ < search->looks_apart)
		return false;
	now = explore_cpu_seconds();
	search->looked = now;
	search->looks = 0;
	if (now - before > CLOCK_S)
		search->looks_apart /= 2;
	else if (search->looks_apart < LOOKS_PER_CLOCK)
		search->looks_apart = search->looks_apart * 2 + 1;
	return now - search->started > most;
}

bool explore_is_over(explore_search *search)
{
	const explore_options *options = search->options;

	if (search->program->error)
		return !explore_fail(search, "%s", search->program->error);
	if (options->max_bytes && search->bytes > options->max_bytes)
		explore_stop(search, "max_bytes");
	else if (is_late(search))
		explore_stop(search, "max_seconds");
	return search->is_over;
}

void explore_search_begin(explore_search *search, explore_program *program,
			  const explore_options *options, explore_report *report, double started)
{
	*search = (explore_search){.program = program,
				   .options = options,
				   .report = report,
				   .random = options->seed,
				   .started = started};
	memset(search->place_of, 0xff, sizeof(search->place_of)); /* NOWHERE */
	*report = (explore_report){.engine = "graphs"};
}

static void free_graphs(explore_search *search)
{
	for (int i = 0; i < search->graphs_room; i++) {
		if (!search->graphs[i])
			continue;
		for (int t = 0; t < EXPLORE_THREADS; t++)
			free(search->graphs[i]->numbers[t]);
		free(search->graphs[i]->nodes);
		free(search->graphs[i]);
	}
	free(search->graphs);
	free(search->seen);
}

void explore_search_end(explore_search *search)
{
	explore_report *report = search->report;

	if (report->bounded && !report->stopped)
		report->stopped = "loop_bound";
	report->is_exhaustive = !report->stopped && !*report->error;
	report->bytes += search->bytes;
	free_graphs(search);
}

static void search_alone(explore_program *program, const explore_options *options,
			 explore_report *report, double started)
{
	explore_search search;

	explore_search_begin(&search, program, options, report, started);
	if (options->descents)
		explore_estimate_alone(&search);
	else if (options->sample)
		explore_sample(&search);
	else
		explore_visit_all(&search);
	explore_search_end(&search);
}

/* True: the search is complete, or has reached a limit that was asked for. */
static bool search_a_moment(explore_program *program, const explore_options *options,
			    explore_report *report, double started)
{
	explore_options moment = *options;
	double most = explore_cpu_seconds() - started + ALONE_S;
	bool is_all = options->max_seconds > 0 && options->max_seconds <= most, is_over;
	explore_search search;

	if (!is_all)
		moment.max_seconds = most;
	explore_search_begin(&search, program, &moment, report, started);
	search.ends_most = ALONE_ENDS;
	explore_visit_all(&search);
	explore_search_end(&search);
	is_over = !report->stopped || (strcmp(report->stopped, "max_ends") != 0 &&
				       (is_all || strcmp(report->stopped, "max_seconds") != 0));
	if (is_over)
		return true;
	explore_report_free(report);
	return false;
}

static void search(explore_program *program, const explore_options *options, explore_report *report,
		   double started)
{
	bool is_shared =
		options->jobs > 1 && !options->sample && !options->descents && !options->minimal;

	if (options->parts) {
		explore_search_part(program, options, report, started);
		return;
	}
	if (is_shared && (search_a_moment(program, options, report, started) ||
			  explore_search_shared(program, options, report, started)))
		return;
	search_alone(program, options, report, started);
}

/* Estimates how many executions there are, if a limit has stopped the search before it had seen
 * all. */
static void estimate_rest(explore_program *program, const explore_options *options,
			  explore_report *report)
{
	explore_options descents = *options;
	explore_search search;
	explore_report size;

	if (!report->stopped || strncmp(report->stopped, "max_", 4) || *report->error ||
	    program->error || options->sample || options->minimal || options->parts)
		return;
	descents.descents = UINT64_MAX;
	descents.max_seconds = SIZE_S;
	explore_search_begin(&search, program, &descents, &size, explore_cpu_seconds());
	explore_estimate_alone(&search);
	explore_search_end(&search);
	if (!program->error && !*size.error) {
		double known = (double)report->executions;

		report->size = size.size;
		if (report->size.about < known)
			report->size.about = known;
		if (report->size.high < known)
			report->size.high = known;
	}
	/* The search is over, so a descent that has learned something does not start it again. */
	program->error = NULL;
	explore_report_free(&size);
}

static bool has_to_start_again(const explore_program *program)
{
	return program->error && program->restart && !strcmp(program->error, EXPLORE_START_AGAIN);
}

void explore_graphs(explore_program *program, const explore_options *options,
		    explore_report *report)
{
	double started = explore_cpu_seconds();

	for (;;) {
		search(program, options, report, started);
		report->cpu_seconds += explore_cpu_seconds() - started;
		if (!has_to_start_again(program)) {
			estimate_rest(program, options, report);
			return;
		}
		explore_report_free(report);
		program->restart(program);
	}
}
