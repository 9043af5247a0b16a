/* SPDX-License-Identifier: Apache-2.0
 * report.c - counts outcomes while an engine runs, and prints the result as one line of JSON.
 *
 *   engine                                  report
 *   outcome := explore_count(text)          counts one more
 *   explore_wants_example(outcome, n)?      true: there is none yet, or this one is shorter
 *     fill in outcome->example
 *   explore_progress                        a line from time to time, on another stream
 *
 * Why it works  Outcomes are few, so they are a list in the order in which they were first met. The
 *               same program and options give the same report, and nothing needs to be sorted.
 * Spec          none.
 * Evidence      tests/judge/explore/test_data.py. */
#include "report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "harness/engine/json.h"

enum { PROGRESS_NS = 2000000000 };

bool explore_shows_examples = true, explore_shows_sites;

static const char *const kinds[] = {
	[EXPLORE_LOAD] = "load",
	[EXPLORE_STORE] = "store",
	[EXPLORE_EXCHANGE] = "exchange",
	[EXPLORE_ADD] = "add",
	[EXPLORE_OR] = "or",
	[EXPLORE_AND] = "and",
	[EXPLORE_CAS] = "cas",
	[EXPLORE_FENCE] = "fence",
	[EXPLORE_LIGHT_FENCE] = "light_fence",
	[EXPLORE_HEAVY_FENCE] = "heavy_fence",
	[EXPLORE_WAIT] = "wait",
	[EXPLORE_WAKE] = "wake",
	[EXPLORE_PLAIN_LOAD] = "plain_load",
	[EXPLORE_PLAIN_STORE] = "plain_store",
	[EXPLORE_LOCAL] = "local",
	[EXPLORE_END] = "end",
	[EXPLORE_ABANDON] = "abandon",
	[EXPLORE_FAIL] = "fail",
	[EXPLORE_CHOOSE] = "choose",
	[EXPLORE_CREATE] = "create",
	[EXPLORE_BEGIN] = "begin",
	[EXPLORE_JOIN] = "join",
};

static const char *const orders[] = {"plain",   "relaxed", "acquire",
				     "release", "acq_rel", "seq_cst"};

static const char *const verdicts[EXPLORE_VERDICTS] = {
	"ended", "asleep", "lost_wakeup", "stuck", "race", "assertion", "crash",
};

static const char *const models[] = {"sc", "tso", "rc11"};

/* Counting. */

/* The result is valid until the next call, because the list may move. */
explore_outcome *explore_count(explore_report *report, const char *text,
			       enum explore_verdict verdict)
{
	explore_outcome *outcome;

	for (int i = 0; i < report->outcomes_count; i++) {
		outcome = &report->outcomes[i];
		if (outcome->verdict == verdict && !strcmp(outcome->text, text)) {
			outcome->count++;
			return outcome;
		}
	}
	if (!(report->outcomes_count & (report->outcomes_count - 1))) { /* full at powers of two */
		size_t room = report->outcomes_count ? 2 * (size_t)report->outcomes_count : 1;

		outcome = realloc(report->outcomes, room * sizeof(*outcome));
		if (!outcome) {
			fprintf(stderr, "explore: no memory for %zu outcomes\n", room);
			exit(3);
		}
		report->outcomes = outcome;
	}
	outcome = &report->outcomes[report->outcomes_count++];
	*outcome = (explore_outcome){.verdict = verdict, .count = 1, .example.cycle_from = -1};
	snprintf(outcome->text, sizeof(outcome->text), "%s", text);
	return outcome;
}

bool explore_wants_example(const explore_outcome *outcome, int events_count)
{
	return !outcome->example.events || events_count < outcome->example.events_count;
}

void explore_report_free(explore_report *report)
{
	for (int i = 0; i < report->outcomes_count; i++) {
		free(report->outcomes[i].example.events);
		free(report->outcomes[i].example.json);
		free(report->outcomes[i].example.schedule);
	}
	free(report->outcomes);
	report->outcomes = NULL;
	report->outcomes_count = 0;
}

/* JSON. */

static void print_location(const explore_program *program, int location)
{
	const char *name;
	char number[32];

	if (location < 0 || location >= EXPLORE_LOCATIONS) {
		printf("\"location\":null,");
		return;
	}
	name = program->location_names[location];
	snprintf(number, sizeof(number), "location %d", location);
	json_field("location", name && *name ? name : number);
	printf("\"place\":%d,", location);
	if (program->code)
		printf("\"offset\":%u,", program->location_offsets[location]);
}

static void print_site(const explore_program *program, uint32_t site)
{
	if (!program->sites || site >= (uint32_t)program->sites_count) {
		printf("\"site\":null,");
		return;
	}
	printf("\"site\":{");
	json_field("file", program->sites[site].file);
	json_field("what", program->sites[site].what);
	printf("\"line\":%d},", program->sites[site].line);
}

static void print_event(const explore_program *program, const explore_event *event)
{
	const explore_step *step = &event->step;
	bool has_kind = step->kind < sizeof(kinds) / sizeof(kinds[0]) && kinds[step->kind];
	bool has_order = step->order <= EXPLORE_SEQ_CST;

	printf("{\"thread\":%d,", event->thread);
	json_field("kind", has_kind ? kinds[step->kind] : "unknown");
	json_field("order", has_order ? orders[step->order] : "unknown");
	print_site(program, step->site);
	print_location(program, step->location);
	printf("\"value\":%" PRIu64 ",\"operand\":%" PRIu64 ",\"expected\":%" PRIu64
	       ",\"size\":%d,\"written\":",
	       event->value, step->operand, step->expected, step->size);
	if (event->has_written)
		printf("%" PRIu64, event->written);
	else
		printf("null");
	printf(",\"read_from\":%d,\"drain\":%s", event->read_from,
	       event->is_drain ? "true" : "false");
	if (event->is_racing || step->is_race)
		printf(",\"racing\":true");
	if (step->is_crash)
		printf(",\"crash\":true");
	if (step->text) {
		printf(",\"text\":");
		json_text(step->text);
	}
	putchar('}');
}

void explore_print_example(const explore_program *program, const explore_example *example)
{
	if (example->json || !example->events || !explore_shows_examples) {
		printf("%s", example->json ? example->json : "[]");
		return;
	}
	putchar('[');
	for (int i = 0; i < example->events_count; i++) {
		if (i)
			putchar(',');
		print_event(program, &example->events[i]);
	}
	putchar(']');
}

static void print_outcome(const explore_program *program, const explore_options *options,
			  const explore_outcome *outcome)
{
	putchar('{');
	if (options->parts) /* for those who merge parts */
		printf("\"first\":%" PRIu64 ",\"cost\":%" PRIu64 ",\"item\":%" PRIu64 ",",
		       outcome->first, outcome->example.cost, outcome->example.item);
	json_field("text", outcome->text);
	json_field("verdict", verdicts[outcome->verdict]);
	json_field("schedule", outcome->example.schedule);
	printf("\"cycle_from\":%d,\"spinning\":%u,", outcome->example.cycle_from,
	       outcome->example.spinning);
	printf("\"count\":%" PRIu64 ",\"example\":", outcome->count);
	explore_print_example(program, &outcome->example);
	putchar('}');
}

/* The addresses of the actors; judge/explore/explorer.py finds their names. */
static void print_actors(const explore_program *program)
{
	printf("\"actors\":[");
	for (int i = 0; program->code && i < program->threads; i++)
		printf("%s\"@%lx\"", i ? "," : "", (unsigned long)(uintptr_t)program->code[i]);
	printf("],\"state_size\":%zu,", program->state_size);
}

static void print_sites(const explore_program *program)
{
	printf("\"sites\":[");
	for (int i = 0; i < program->sites_count; i++) {
		printf(i ? ",{" : "{");
		json_field("file", program->sites[i].file);
		json_field("what", program->sites[i].what);
		printf("\"line\":%d}", program->sites[i].line);
	}
	printf("],");
}

void explore_print(const explore_program *program, const explore_options *options,
		   const explore_report *report)
{
	putchar('{');
	json_field("program", program->name);
	json_field("engine", report->engine);
	json_field("model", models[options->model]);
	printf("\"threads\":%d,\"locations\":%d,\"outcomes\":[", program->threads,
	       program->locations);
	for (int i = 0; i < report->outcomes_count; i++) {
		if (i)
			putchar(',');
		print_outcome(program, options, &report->outcomes[i]);
	}
	printf("],\"executions\":%" PRIu64 ",\"blocked\":%" PRIu64 ",\"bounded\":%" PRIu64
	       ",\"duplicates\":%" PRIu64 ",\"states\":%" PRIu64 ",\"edges\":%" PRIu64
	       ",\"depth\":%" PRIu64 ",\"exhaustive\":%s,",
	       report->executions, report->blocked, report->bounded, report->duplicates,
	       report->states, report->edges, report->depth,
	       report->is_exhaustive ? "true" : "false");
	print_actors(program);
	if (explore_shows_sites)
		print_sites(program);
	printf("\"size\":[%.0f,%.0f,%.0f],", report->size.about, report->size.low,
	       report->size.high);
	printf("\"preemptions\":%d,\"pct_bound\":%.3g,\"pct_samples\":%" PRIu64 ",",
	       report->preemptions, report->pct_bound, report->pct_samples);
	json_field("stopped", report->stopped);
	json_field("error", report->error);
	printf("\"cpu_seconds\":%.6f,", report->cpu_seconds);
	printf("\"seconds\":%.6f,\"bytes\":%" PRIu64 "}\n", report->seconds, report->bytes);
	fflush(stdout); /* a later program may crash the process */
}

/* Progress. */

static struct {
	FILE *stream;
	explore_size size;
	int64_t start_ns, last_ns;
} progress;

double explore_cpu_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int64_t clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void explore_progress_to(FILE *stream)
{
	progress.stream = stream;
	progress.start_ns = progress.last_ns = clock_ns();
}

void explore_estimate(explore_size size)
{
	progress.size = size;
}

bool explore_is_due(void)
{
	if (!progress.stream || clock_ns() - progress.last_ns < PROGRESS_NS)
		return false;
	progress.last_ns = clock_ns();
	return true;
}

void explore_progress(const explore_report *report)
{
	fprintf(progress.stream,
		"{\"executions\":%" PRIu64 ",\"states\":%" PRIu64 ",\"blocked\":%" PRIu64
		",\"estimate\":%.0f,\"low\":%.0f,\"high\":%.0f,\"seconds\":%.1f}\n",
		report->executions, report->states, report->blocked, progress.size.about,
		progress.size.low, progress.size.high,
		(double)(progress.last_ns - progress.start_ns) / 1e9);
	fflush(progress.stream);
}
