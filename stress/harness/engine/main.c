/* SPDX-License-Identifier: Apache-2.0
 * main.c - one scenario file as a program: --list prints its tests and twins, --run runs one of
 * them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine.h"
#include "registry.h"

static _Noreturn void refuse(const char *what, const char *value)
{
	fprintf(stderr, "stress: %s: %s\n", what, value);
	exit(2);
}

static uint64_t number(const char *option, const char *text)
{
	char *end;
	uint64_t value;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno || end == text || *end || *text == '-')
		refuse(option, text);
	return value;
}

/* Parses "0,1,0" into at most `most` numbers. */
static int numbers(const char *option, const char *text, size_t *into, int most)
{
	int count = 0;

	for (const char *at = text; *at;) {
		char *end;

		errno = 0;
		if (count == most || *at < '0' || *at > '9')
			refuse(option, text);
		into[count++] = strtoul(at, &end, 10);
		if (errno || (*end && *end != ','))
			refuse(option, text);
		at = *end ? end + 1 : end;
	}
	return count;
}

static void set_option(stress_options *options, const char *option, const char *value)
{
	size_t cpus[STRESS_CPUS];
	char *end;

	if (strcmp(option, "--run") == 0) {
		options->name = value;
	} else if (strcmp(option, "--seconds") == 0) {
		options->seconds = strtod(value, &end);
		if (end == value || *end || !(options->seconds >= 0 && options->seconds < 1e6))
			refuse(option, value);
	} else if (strcmp(option, "--sample-min") == 0) {
		options->sample_min = number(option, value);
	} else if (strcmp(option, "--seed") == 0) {
		options->seed = number(option, value);
	} else if (strcmp(option, "--cpus") == 0) {
		options->cpus_count = numbers(option, value, cpus, STRESS_CPUS);
		for (int i = 0; i < options->cpus_count; i++)
			options->cpus[i] = (int)(cpus[i] % 1024);
	} else if (strcmp(option, "--stride") == 0) {
		options->strides_count = numbers(option, value, options->strides, STRESS_STRIDES);
		for (int i = 0; i < options->strides_count; i++)
			if (!options->strides[i])
				refuse("--stride must be at least 1", value);
	} else {
		refuse("unknown option", option);
	}
}

/* Memory with cache lines and pages of its own. */
static void *lines(size_t bytes)
{
	return aligned_alloc(STRESS_PAGE, (bytes + STRESS_PAGE - 1) / STRESS_PAGE * STRESS_PAGE);
}

static void prepare(stress_run *run)
{
	const stress_test *test = run->test;
	size_t step = stress_step(test), most = STRESS_BLOCK_BYTES / step;

	while (run->actors < STRESS_ACTORS && test->actors[run->actors])
		run->actors++;
	run->is_crowded = run->actors > stress_allowed_cpus();
	run->block = most > STRESS_BLOCK_MOST    ? STRESS_BLOCK_MOST
		     : most < STRESS_BLOCK_LEAST ? STRESS_BLOCK_LEAST
						 : most;
	if (test->blocking)
		run->block = 1;
	run->states = lines(run->block * step);
	for (int k = 0; run->states && k < run->actors; k++) {
		run->seen[k] = lines(run->block * sizeof(run->seen[k][0]));
		run->wide[k] = lines(run->block * (size_t)test->results * sizeof(run->wide[k][0]));
		if (!run->seen[k] || !run->wide[k])
			run->states = NULL;
	}
	if (!run->states) {
		fprintf(stderr, "stress: no memory for the states of %s\n", test->name);
		exit(3);
	}
	for (size_t i = 0; i < run->block; i++)
		stress__renew(test, run->states + i * step);
}

static int run_test(const stress_test *test, const stress_options *options)
{
	static stress_run run;
	pthread_t watchdog;
	int rc;

	stress_watch_crashes();
	run.test = test;
	run.options = options;
	prepare(&run);
	if (!stress_stuck_prepare() ||
	    pthread_create(&watchdog, NULL, stress_watchdog, &run) != 0) {
		fprintf(stderr, "stress: no thread for the watchdog of %s\n", test->name);
		return 3;
	}
	rc = stress_crew(&run, test->blocking ? stress_sleep_body : stress_block_body);
	if (rc)
		return rc;
	wp_store_release(&run.watch_stop, 1);
	pthread_join(watchdog, NULL);
	stress_print_run(&run);
	for (size_t i = 0; i < run.block && test->fini; i++)
		test->fini(run.states + i * stress_step(test));
	for (int k = 0; k < run.actors; k++) {
		free(run.seen[k]);
		free(run.wide[k]);
	}
	free(run.states);
	return fflush(stdout) ? 3 : 0;
}

int main(int argc, char **argv)
{
	stress_options options = {.seconds = 1, .seed = 1};
	const stress_test *test;

	if (argc == 2 && strcmp(argv[1], "--list") == 0) {
		stress_print_list();
		return fflush(stdout) ? 3 : 0;
	}
	for (int i = 1; i < argc; i += 2) {
		if (i + 1 == argc)
			refuse("this option needs a value", argv[i]);
		set_option(&options, argv[i], argv[i + 1]);
	}
	test = options.name ? stress_find_test(options.name) : NULL;
	if (!test)
		refuse("use --list, or --run with the name of a scenario in this file; unknown",
		       options.name ? options.name : "(none)");
	return run_test(test, &options);
}
