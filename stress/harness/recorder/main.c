/* SPDX-License-Identifier: Apache-2.0
 * main.c - one scenario file as a program that records: options, memory, rounds. The format is in
 * recorder.h.
 *
 *   recorder --test NAME [--rounds N] [--limit EVENTS] [--ring EVENTS] [--seed N] */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/engine/registry.h"
#include "recorder.h"

recorder recorder_all = {.rounds = 1, .limit = 48, .ring = 64, .seed = 1};

_Noreturn static void refuse(const char *what, const char *value)
{
	fprintf(stderr, "recorder: %s: %s\n", what, value);
	exit(2);
}

void stress_count_wide(stress_tally *tally, const stress_result *result, int results)
{
	/* outcomes are not counted here */
}

static void run_round(uint64_t round)
{
	recorder *all = &recorder_all;

	memset(all->state, 0, all->state_bytes);
	if (all->test->init)
		all->test->init(all->state);
	atomic_store(&all->clock, 1);
	wp_store_relaxed(&all->stop, 0);
	for (int k = 0; k < all->actors_count; k++) {
		all->actors[k].events.count = 0;
		wp_store_relaxed(&all->actors[k].place, RUNNING);
	}
	wp_store_release(&all->round, round);
	recorder_oversee();
	printf("r %llu\n", (unsigned long long)round);
	for (int k = 0; k < all->actors_count; k++)
		recorder_print(&all->actors[k]);
	if (all->test->fini)
		all->test->fini(all->state);
}

static void prepare(void)
{
	recorder *all = &recorder_all;
	uint64_t seed = all->seed * 2 + 1;

	while (all->actors_count < STRESS_ACTORS && all->test->actors[all->actors_count])
		all->actors_count++;
	all->state_bytes = (all->test->state_size + WP_LINE - 1) / WP_LINE * WP_LINE;
	all->state = aligned_alloc(WP_LINE, all->state_bytes);
	for (int k = 0; k < all->actors_count; k++) {
		recorder_actor *it = &all->actors[k];

		it->index = k;
		it->random = seed * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)k + 1;
		it->events = (wp_events){.ring = calloc(all->ring, sizeof(wp_event)),
					 .mask = all->ring - 1,
					 .clock = &all->clock,
					 .before = recorder_before};
		if (!all->state || !it->events.ring ||
		    pthread_create(&it->thread, NULL, recorder_body, it) != 0)
			refuse("no memory or no thread for", all->test->name);
	}
}

static uint64_t number(const char *option, const char *text)
{
	char *end;
	uint64_t value;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno || end == text || *end || *text == '-' || !value)
		refuse(option, text);
	return value;
}

static void set_option(const char *option, const char *value)
{
	recorder *all = &recorder_all;

	if (strcmp(option, "--rounds") == 0)
		all->rounds = number(option, value);
	else if (strcmp(option, "--limit") == 0)
		all->limit = number(option, value);
	else if (strcmp(option, "--ring") == 0)
		all->ring = number(option, value);
	else if (strcmp(option, "--seed") == 0)
		all->seed = number(option, value);
	else if (strcmp(option, "--test") == 0)
		all->test = stress_find_test(value);
	else
		refuse("unknown option", option);
}

int main(int argc, char **argv)
{
	recorder *all = &recorder_all;

	for (int i = 1; i + 1 < argc; i += 2)
		set_option(argv[i], argv[i + 1]);
	if (argc % 2 == 0)
		refuse("has no value", argv[argc - 1]);
	if (!all->test)
		refuse("missing", "--test, and the name of a scenario in this file");
	if (all->ring & (all->ring - 1))
		refuse("--ring", "must be a power of two");
	prepare();
	for (uint64_t round = 1; round <= all->rounds; round++)
		run_round(round);
	for (int k = 0; k < all->actors_count; k++)
		pthread_join(all->actors[k].thread, NULL);
	printf("end %llu\n", (unsigned long long)all->rounds);
	return fflush(stdout) ? 1 : 0;
}
