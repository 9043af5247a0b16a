/* SPDX-License-Identifier: Apache-2.0
 * print.c - prints the result of a run on real cores as one JSON object on stdout. */
#include <inttypes.h>
#include <stdio.h>

#include "engine.h"
#include "json.h"

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
	json_field("test", run->test->name);
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
	       !run->test->blocking                    ? "none"
	       : wp_load_relaxed(&run->watch_by_state) ? "state"
						       : "syscall",
	       tally.uncounted);
	print_outcomes(run, &tally);
	printf("]}\n");
}
