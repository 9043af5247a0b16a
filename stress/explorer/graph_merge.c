/* SPDX-License-Identifier: Apache-2.0
 * graph_merge.c - merges the reports of several processes into one.
 *
 *   letter   report | outcomes | for each outcome, its example as JSON and a 0
 *
 * Why it works  The constants of a forked process have the addresses that they have in its parent,
 *               so a report is sent as its bytes. Steps of an example may be newer than the fork,
 *               so examples are sent as printed text. Outcomes and examples carry the item in which
 *               they were met. Sorted by it, they are what one process alone would have found, in
 *               the same order.
 * Spec          none.
 * Evidence      tests/judge/explore/test_parallel.py. */
#include "graph_share.h"
#include "report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void explore_report_send(const explore_program *program, const explore_report *report)
{
	fwrite(report, sizeof(*report), 1, stdout);
	fwrite(report->outcomes, sizeof(*report->outcomes), (size_t)report->outcomes_count, stdout);
	for (int i = 0; i < report->outcomes_count; i++) {
		explore_print_example(program, &report->outcomes[i].example);
		putchar('\0');
	}
}

static explore_outcome *same(explore_report *report, const explore_outcome *outcome)
{
	for (int i = 0; i < report->outcomes_count; i++)
		if (report->outcomes[i].verdict == outcome->verdict &&
		    !strcmp(report->outcomes[i].text, outcome->text))
			return &report->outcomes[i];
	return NULL;
}

static bool is_better(const explore_example *new, const explore_example *old)
{
	return new->cost < old->cost || (new->cost == old->cost &&new->item < old->item);
}

/* Adds `outcome` of another process, with its example as JSON. */
static void add(explore_report *report, const explore_outcome *outcome, const char *json)
{
	explore_outcome *into = same(report, outcome);
	bool is_new = !into;

	if (is_new) {
		into = explore_count(report, outcome->text, outcome->verdict);
		into->first = outcome->first;
		into->count = 0;
	}
	into->count += outcome->count;
	into->first = outcome->first < into->first ? outcome->first : into->first;
	if (!is_new && !is_better(&outcome->example, &into->example))
		return;
	free(into->example.json);
	into->example = outcome->example;
	into->example.events = NULL;
	into->example.json = strdup(json);
}

static void add_numbers(explore_report *into, const explore_report *other)
{
	into->executions += other->executions;
	into->blocked += other->blocked;
	into->bounded += other->bounded;
	into->duplicates += other->duplicates;
	into->bytes += other->bytes;
	if (into->cpu_seconds < other->cpu_seconds)
		into->cpu_seconds = other->cpu_seconds;
	if (!into->stopped || !strcmp(into->stopped, "loop_bound"))
		into->stopped = other->stopped ? other->stopped : into->stopped;
	if (!*into->error)
		memcpy(into->error, other->error, sizeof(into->error));
}

bool explore_report_merge(explore_report *report, const explore_letter *letter)
{
	explore_report other;
	explore_outcome outcome;
	size_t at = sizeof(other), text;

	if (letter->size < sizeof(other))
		return false;
	memcpy(&other, letter->bytes, sizeof(other));
	text = at + (size_t)other.outcomes_count * sizeof(outcome);
	for (int i = 0; i < other.outcomes_count; i++, at += sizeof(outcome)) {
		const char *end = text < letter->size
					  ? memchr(letter->bytes + text, 0, letter->size - text)
					  : NULL;

		if (!end)
			return false;
		memcpy(&outcome, letter->bytes + at, sizeof(outcome));
		add(report, &outcome, letter->bytes + text);
		text = (size_t)(end - letter->bytes) + 1;
	}
	add_numbers(report, &other);
	return text == letter->size;
}

static int by_first(const void *a, const void *b)
{
	uint64_t first = ((const explore_outcome *)a)->first;
	uint64_t other = ((const explore_outcome *)b)->first;

	return (first > other) - (first < other);
}

void explore_report_order(explore_report *report)
{
	if (report->outcomes_count)
		qsort(report->outcomes, (size_t)report->outcomes_count, sizeof(*report->outcomes),
		      by_first);
}
