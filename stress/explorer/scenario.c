/* SPDX-License-Identifier: Apache-2.0
 * scenario.c - takes the place of the native engine's registry: a scenario file's constructors add
 * its tests and twins here, before main.
 *
 * Why it works  The scenario and the kernel are the files that real cores run. Of the native engine
 *               only print.c (--list) and tally.c (which print.c needs) are linked; what print.c
 *               asks of the others stands below.
 * Spec          none. Evidence  tests/test_explore_cli.py. */
#include "scenario.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../engine/engine.h"

static const stress_test *tests[STRESS_MAX];
static const stress_twin *twins[STRESS_MAX];
static int tests_count, twins_count;

static void refuse(const char *what, const char *value)
{
	fprintf(stderr, "explore: %s: %s\n", what, value);
	exit(2);
}

void stress_add_test(const stress_test *test)
{
	if (tests_count == STRESS_MAX)
		refuse("more scenarios in a file than the engine holds, from here on", test->name);
	if (test->results < 1 || test->results > STRESS_RESULTS)
		refuse("results must be 1 to 8", test->name);
	if (!test->state_size || !test->actors[0] || !test->outcomes[0].pattern)
		refuse("needs state_size, actors and outcomes", test->name);
	tests[tests_count++] = test;
}

void stress_add_twin(const stress_twin *twin)
{
	if (twins_count == STRESS_MAX)
		refuse("more twins in a file than the engine holds, from here on", twin->name);
	if (!twin->of || !twin->shows || !twin->defect)
		refuse("needs of, shows and defect", twin->name);
	twins[twins_count++] = twin;
}

int stress_allowed_cpus(void) /* print.c asks, for runs on real cores */
{
	return 1;
}

void explore_print_list(void)
{
	stress_print_list(tests, tests_count, twins, twins_count);
}

const stress_test *explore_find_test(const char *name)
{
	for (int i = 0; i < tests_count; i++)
		if (!strcmp(tests[i]->name, name))
			return tests[i];
	return NULL;
}
