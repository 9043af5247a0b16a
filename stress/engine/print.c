/* SPDX-License-Identifier: Apache-2.0
 * print.c - what the engine has to say, as one JSON object on stdout. */
#include <inttypes.h>
#include <stdio.h>

#include "engine.h"

static void print_text(const char *text)
{
	putchar('"');
	for (const char *c = text ? text : ""; *c; c++) {
		if (*c == '"' || *c == '\\')
			printf("\\%c", *c);
		else if ((unsigned char)*c < ' ')
			printf("\\u%04x", (unsigned)*c);
		else
			putchar(*c);
	}
	putchar('"');
}

static void print_field(const char *name, const char *text)
{
	printf("\"%s\":", name);
	print_text(text);
	putchar(',');
}

static void print_test(const stress_test *test)
{
	static const char *const grades[] = {"", "ACCEPTABLE", "INTERESTING", "FORBIDDEN",
					     "REQUIRED"};
	int actors = 0;

	while (actors < STRESS_ACTORS && test->actors[actors])
		actors++;
	putchar('{');
	print_field("name", test->name);
	print_field("claim", test->claim);
	print_field("upholds", test->upholds);
	printf("\"actors\":%d,\"results\":%d,\"blocking\":%s,\"min_samples\":%" PRIu64, actors,
	       test->results, test->blocking ? "true" : "false", test->min_samples);
	printf(",\"outcomes\":[");
	for (int i = 0; i < STRESS_OUTCOMES && test->outcomes[i].pattern; i++) {
		const stress_outcome *outcome = &test->outcomes[i];
		bool is_grade = outcome->grade >= ACCEPTABLE && outcome->grade <= REQUIRED;

		printf(i ? ",{" : "{");
		print_field("pattern", outcome->pattern);
		print_field("grade", grades[is_grade ? outcome->grade : 0]);
		printf("\"reason\":");
		print_text(outcome->reason);
		putchar('}');
	}
	printf("]}");
}

static void print_judges(const char *name, unsigned judges)
{
	static const char *const names[] = {"check", "stress", "delayed", "sc", "tso", "rc11"};
	const char *comma = "";

	printf(",\"%s\":[", name);
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!(judges >> i & 1))
			continue;
		printf("%s\"%s\"", comma, names[i]);
		comma = ",";
	}
	putchar(']');
}

static void print_twin(const stress_twin *twin)
{
	putchar('{');
	print_field("name", twin->name);
	print_field("of", twin->of);
	print_field("defect", twin->defect);
	printf("\"shows\":");
	print_text(twin->shows);
	print_judges("seen_by", twin->seen_by);
	print_judges("chance", twin->chance);
	putchar('}');
}

void stress_print_list(const stress_test *const *tests, int tests_count,
		       const stress_twin *const *twins, int twins_count)
{
	printf("{\"tests\":[");
	for (int i = 0; i < tests_count; i++) {
		printf(i ? ",\n" : "\n");
		print_test(tests[i]);
	}
	printf("],\"twins\":[");
	for (int i = 0; i < twins_count; i++) {
		printf(i ? ",\n" : "\n");
		print_twin(twins[i]);
	}
	printf("]}\n");
}

static void print_outcome(const char *comma, const int64_t *r, int results, uint64_t count)
{
	printf("%s{\"outcome\":\"", comma);
	for (int i = 0; i < results; i++)
		printf("%s%" PRId64, i ? "," : "", r[i]);
	printf("\",\"samples\":%" PRIu64 "}", count);
}

static void print_outcomes(const stress_run *run, const stress_tally *tally)
{
	int results = run->test->results;
	const char *comma = "";

	for (int place = 0; place < STRESS_DIRECT; place++) {
		int64_t r[STRESS_RESULTS] = {0};

		if (!tally->direct[place])
			continue;
		for (int i = 0; i < results; i++)
			r[i] = place >> STRESS_DIRECT_BITS * (results - 1 - i) &
			       ((1 << STRESS_DIRECT_BITS) - 1);
		print_outcome(comma, r, results, tally->direct[place]);
		comma = ",";
	}
	for (int i = 0; i < STRESS_WIDE; i++) {
		if (!tally->wide[i].count)
			continue;
		print_outcome(comma, tally->wide[i].r, results, tally->wide[i].count);
		comma = ",";
	}
	if (run->asleep) {
		printf("%s{\"outcome\":\"asleep\",\"samples\":%" PRIu64 "}", comma, run->asleep);
		comma = ",";
	}
	if (run->stuck)
		printf("%s{\"outcome\":\"stuck\",\"samples\":%" PRIu64 "}", comma, run->stuck);
}

void stress_print_run(const stress_run *run)
{
	static stress_tally tally;
	uint64_t cpus_ran = 0;
	bool pin_failed = false;
	const char *comma = "";

	for (int k = 0; k < run->actors; k++) {
		stress_merge(&tally, &run->members[k].tally);
		cpus_ran |= run->members[k].cpus_ran;
		pin_failed |= run->members[k].pin_failed;
	}
	putchar('{');
	print_field("test", run->test->name);
	printf("\"samples\":%" PRIu64 ",\"seconds\":%.6f,\"seed\":%" PRIu64, run->samples,
	       (double)(run->end_ns - run->start_ns) / 1e9, run->options->seed);
	printf(",\"actors\":%d,\"cpus\":[", run->actors);
	for (int cpu = 0; cpu < 64; cpu++) {
		if (!(cpus_ran >> cpu & 1))
			continue;
		printf("%s%d", comma, cpu);
		comma = ",";
	}
	printf("],\"allowed_cpus\":%d,\"pin_failed\":%s,\"delayed\":%s,\"asleep\":%" PRIu64
	       ",\"asleep_changed\":%" PRIu64 ",\"watch\":\"%s\",\"uncounted\":%" PRIu64
	       ",\"outcomes\":[",
	       stress_allowed_cpus(), pin_failed ? "true" : "false",
	       run->test->loops->delayed ? "true" : "false", run->asleep, run->asleep_changed,
	       !run->test->blocking                     ? "none"
	       : wp_load_relaxed(&run->watch_by_state) ? "state"
						       : "syscall",
	       tally.uncounted);
	print_outcomes(run, &tally);
	printf("]}\n");
}
