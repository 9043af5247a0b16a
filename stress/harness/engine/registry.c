/* SPDX-License-Identifier: Apache-2.0
 * registry.c - see registry.h. */
#include "registry.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"

enum { MOST = 256 }; /* tests, and twins, of one scenario file */

_Static_assert(STRESS_ACTORS == 16 && STRESS_OUTCOMES == 64, "check_lists names them");

static const stress_test *tests[MOST];
static const stress_twin *twins[MOST];
static int tests_count, twins_count;

static _Noreturn void refuse(const char *what, const char *value)
{
	fprintf(stderr, "scenario: %s: %s\n", what, value);
	exit(2);
}

/* An entry beyond the limit, or behind the end of a list, would be left out silently. So it is
 * refused. */
static void check_lists(const stress_test *test)
{
	int actors = 0, outcomes = 0;

	while (actors <= STRESS_ACTORS && test->actors[actors])
		actors++;
	while (outcomes <= STRESS_OUTCOMES && test->outcomes[outcomes].pattern)
		outcomes++;
	if (actors > STRESS_ACTORS)
		refuse("more than 16 actors", test->name);
	if (outcomes > STRESS_OUTCOMES)
		refuse("more than 64 outcomes", test->name);
	for (; actors <= STRESS_ACTORS; actors++)
		if (test->actors[actors])
			refuse("an actor stands behind a NULL, which ends the list", test->name);
	for (; outcomes <= STRESS_OUTCOMES; outcomes++)
		if (test->outcomes[outcomes].pattern)
			refuse("an outcome stands behind one without a pattern, which ends the "
			       "list",
			       test->name);
}

void stress_add_test(const stress_test *test)
{
	check_lists(test);
	if (tests_count == MOST)
		refuse("more scenarios in a file than the engine holds, from here on", test->name);
	if (test->results < 1 || test->results > STRESS_RESULTS)
		refuse("results must be 1 to 8", test->name);
	if (!test->state_size || !test->actors[0] || !test->outcomes[0].pattern)
		refuse("needs state_size, actors and outcomes", test->name);
	tests[tests_count++] = test;
}

void stress_add_twin(const stress_twin *twin)
{
	if (twins_count == MOST)
		refuse("more twins in a file than the engine holds, from here on", twin->name);
	if (!twin->of || !twin->shows || !twin->defect)
		refuse("needs of, shows and defect", twin->name);
	twins[twins_count++] = twin;
}

const stress_test *stress_find_test(const char *name)
{
	for (int i = 0; i < tests_count; i++)
		if (strcmp(tests[i]->name, name) == 0)
			return tests[i];
	return NULL;
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

static void print_test(const stress_test *test)
{
	static const char *const grades[] = {"",          "ACCEPTABLE", "INTERESTING",
					     "FORBIDDEN", "REQUIRED",   "FORBIDDEN"};
	int actors = 0;

	while (actors < STRESS_ACTORS && test->actors[actors])
		actors++;
	putchar('{');
	json_field("name", test->name);
	json_field("claim", test->claim);
	json_field("upholds", test->upholds);
	printf("\"actors\":%d,\"results\":%d,\"blocking\":%s,\"min_samples\":%" PRIu64, actors,
	       test->results, test->blocking ? "true" : "false", test->min_samples);
	printf(",\"preemptions\":%d,\"failing_heavy\":%d", test->preemptions, test->failing_heavy);
	print_judges("whole", test->whole);
	printf(",\"outcomes\":[");
	for (int i = 0; i < STRESS_OUTCOMES && test->outcomes[i].pattern; i++) {
		const stress_outcome *outcome = &test->outcomes[i];
		bool is_grade = outcome->grade >= ACCEPTABLE && outcome->grade <= LOST_WORK;

		printf(i ? ",{" : "{");
		json_field("pattern", outcome->pattern);
		json_field("grade", grades[is_grade ? outcome->grade : 0]);
		printf("\"lost_work\":%s,\"reason\":",
		       outcome->grade == LOST_WORK ? "true" : "false");
		json_text(outcome->reason);
		putchar('}');
	}
	printf("]}");
}

static void print_twin(const stress_twin *twin)
{
	putchar('{');
	json_field("name", twin->name);
	json_field("of", twin->of);
	json_field("defect", twin->defect);
	printf("\"shows\":");
	json_text(twin->shows);
	print_judges("seen_by", twin->seen_by);
	print_judges("chance", twin->chance);
	putchar('}');
}

void stress_print_list(void)
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
