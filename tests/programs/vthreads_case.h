/* SPDX-License-Identifier: Apache-2.0
 * vthreads_case.h - a group of virtual threads, and what must hold of it; for vthreads.c,
 * vthreads_end.c, spares.c, dump.c. */
#include "case.h"
#include "sched/vthread_start.h"

enum { MANY = 300, SLEEPERS = 1000 };

static wp_group *group;
static __attribute__((unused)) wp_atomic(uint32_t) count, ready;

static inline void open_group(uint32_t carriers, bool stealing, uint32_t max_stacks)
{
	wp_group_config config = {.carriers = carriers,
				  .yield_us = 50,
				  .work_stealing = stealing,
				  .max_stacks = max_stacks};

	check(wp_group_new(&group, &config) == WP_OK, "a group");
}

static inline void close_group(void)
{
	check(wp_group_close(group, in_ms(PATIENCE_S * 1000), false, NULL, NULL) == WP_OK,
	      "the close");
	wp_group_free(group);
}

static wp_vthread *start_as(const wp_vthread_config *config)
{
	wp_vthread *thread = NULL;

	if (wp_vthread_new(group, config, &thread) != WP_OK || wp_vthread_start(thread) != WP_OK)
		lost("a thread");
	return thread;
}

static inline wp_vthread *start(int (*run)(void *), void *arg)
{
	wp_vthread_config config = {
		.name = "one", .run = run, .arg = arg, .carrier = WP_VTHREAD_HERE};

	return start_as(&config);
}

/* Whoever does not end in time is lost, and the program with it: its stack is in use. */
static int join(wp_vthread *thread, const char *what)
{
	int failure = -1;

	if (wp_vthread_join(thread, in_ms(PATIENCE_S * 1000), &failure) != WP_OK)
		lost(what);
	wp_vthread_free(thread);
	return failure;
}

static inline void await(wp_atomic(uint32_t) *word, uint32_t least)
{
	AWAIT(wp_load_acquire(word) >= least, "what is awaited");
}

static inline int nothing(void *arg)
{
	return 0;
}

static inline int parked(void *arg)
{
	wp_store_release(&ready, 1);
	return wp_vthread_park_until(in_ms(*(int64_t *)arg));
}

/* What a scheduler was given. */
static __attribute__((unused)) wp_vthread *given;
