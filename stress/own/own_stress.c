/* SPDX-License-Identifier: Apache-2.0
 * own_stress.c - a scenario as a program: init, a thread for each actor, then the arbiter. It prints
 * the outcome. Linked to scenarios that have atomic operations, memory or static data of their own.
 *
 *   own_stress NAME      the scenario of this name
 *   with -DOWN_LIST      prints all scenarios and twins of the file
 *
 * Spec          none.
 * Evidence      tests/judge/own/test_scenarios.py. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stress.h"

/* The loops of stress.h are for real cores; nothing calls them here. */
void stress_count_wide(stress_tally *tally, const stress_result *result, int results)
{
	abort();
}

#ifdef OWN_LIST
#include "harness/engine/registry.h"

int main(void)
{
	stress_print_list();
	return 0;
}

#else

enum { STATE = 1 << 16, TESTS = 256 };

static const stress_test *tests[TESTS];
static int tests_count;

static _Alignas(64) char state[STATE];
static stress_result results[STRESS_ACTORS + 1];
static const stress_test *test;

void stress_add_test(const stress_test *test)
{
	if (tests_count == TESTS)
		abort();
	tests[tests_count++] = test;
}

void stress_add_twin(const stress_twin *twin)
{
}

static void *act(void *result)
{
	test->actors[(stress_result *)result - results](state, result);
	return NULL;
}

static void add_up(stress_result *sum)
{
	for (int i = 0; i < STRESS_ACTORS && test->actors[i]; i++)
		for (int k = 0; k < STRESS_RESULTS; k++)
			sum->r[k] += results[i].r[k];
}

int main(int argc, char **argv)
{
	pthread_t threads[STRESS_ACTORS];
	stress_result *sum = &results[STRESS_ACTORS];
	int count = 0;

	for (int i = 0; i < tests_count; i++)
		test = strcmp(tests[i]->name, argv[argc - 1]) ? test : tests[i];
	if (!test || test->state_size > STATE)
		return 2;
	if (test->init)
		test->init(state);
	for (; count < STRESS_ACTORS && test->actors[count]; count++) {
		void (*as)(void *, void *);

		memcpy(&as, &test->actors[count], sizeof(as));
		wp__own_begins(as);
		if (pthread_create(&threads[count], NULL, act, &results[count]))
			return 3;
	}
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	add_up(sum);
	if (test->arbiter)
		test->arbiter(state, sum);
	for (int i = 0; i < test->results; i++)
		printf(i ? ",%lld" : "%lld", (long long)sum->r[i]);
	if (test->fini)
		test->fini(state);
	return 0;
}

#endif
