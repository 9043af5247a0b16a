/* SPDX-License-Identifier: Apache-2.0
 * states_grow.c - iterative context bounding: all states with 0 preemptions, then with 1, then with
 * 2, until no choice is forbidden or the time is over.
 *
 * Why it works  A bound leaves nothing out if it forbids no choice. Each outcome keeps the example
 *               of the bound at which it was first met, which has the fewest preemptions. Outcomes
 *               that an unfinished bound has met are kept as well.
 * Paper         Musuvathi, Qadeer, "Iterative context bounding", PLDI 2007.
 * Spec          none.
 * Evidence      tests/judge/explore/test_limits.py. */
#include <stdlib.h>
#include <string.h>

#include "report.h"
#include "state_space.h"

static explore_outcome *find(const explore_report *report, const explore_outcome *outcome)
{
	for (int i = 0; i < report->outcomes_count; i++)
		if (report->outcomes[i].verdict == outcome->verdict &&
		    !strcmp(report->outcomes[i].text, outcome->text))
			return &report->outcomes[i];
	return NULL;
}

/* Adds the outcomes that are new, and takes their examples away from `from`. */
static void add_new(explore_report *into, explore_report *from)
{
	for (int i = 0; i < from->outcomes_count; i++) {
		explore_outcome *outcome = &from->outcomes[i], *added;

		if (find(into, outcome))
			continue;
		added = explore_count(into, outcome->text, outcome->verdict);
		*added = *outcome;
		outcome->example.events = NULL;
		outcome->example.schedule = NULL;
	}
}

/* `into` becomes `from`, but keeps the examples of outcomes that it already has. */
static void replace(explore_report *into, explore_report *from)
{
	for (int i = 0; i < from->outcomes_count; i++) {
		explore_outcome *outcome = &from->outcomes[i], *known = find(into, outcome);
		explore_example newer = outcome->example;

		if (!known)
			continue;
		outcome->example = known->example;
		known->example = newer;
	}
	explore_report_free(into);
	*into = *from;
}

/* Was it stopped by a limit, and not by the bound? */
static bool is_cut_short(const explore_report *report)
{
	return !*report->error && report->stopped && strcmp(report->stopped, "preemptions") != 0 &&
	       strcmp(report->stopped, "buffers") != 0;
}

void explore_states_growing(explore_program *program, const explore_options *options,
			    explore_report *report)
{
	explore_options bounded = *options;
	double started = explore_cpu_seconds();

	*report = (explore_report){.engine = "states", .preemptions = -1};
	bounded.grows = false;
	for (bounded.preemptions = 0;; bounded.preemptions++) {
		explore_report next;
		double left = options->max_seconds - (explore_cpu_seconds() - started);

		if (options->max_seconds > 0)
			bounded.max_seconds = left > 0 ? left : 1e-9;
		explore_states(program, &bounded, &next);
		if (report->preemptions >= 0 && is_cut_short(&next)) {
			add_new(report, &next);
			explore_report_free(&next);
			break;
		}
		replace(report, &next);
		report->preemptions = is_cut_short(report) ? -1 : bounded.preemptions;
		if (!report->stopped || strcmp(report->stopped, "preemptions") != 0 ||
		    *report->error)
			break;
	}
}
