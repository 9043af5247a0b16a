/* SPDX-License-Identifier: Apache-2.0
 * threads.h - virtual threads for the rows: made, started and joined, or the program fails. */
#ifndef WP_BENCH_THREADS_H
#define WP_BENCH_THREADS_H

#include "carriers.h"
#include "base/error.h"
#include "sched/vthread_start.h"

static inline wp_vthread *threads_new(wp_group *group, int carrier, int (*run)(void *), void *arg)
{
	wp_vthread_config config = {.run = run, .arg = arg, .carrier = carrier};
	wp_vthread *thread;

	if (wp_vthread_new(group, &config, &thread) != WP_OK)
		bench_fail("no virtual thread");
	return thread;
}

static inline void threads_start(wp_vthread *thread)
{
	if (wp_vthread_start(thread) != WP_OK)
		bench_fail("no virtual thread starts");
}

/* Joins the thread and frees it. */
static inline void threads_join(wp_vthread *thread)
{
	int failure;

	if (wp_vthread_join(thread, WP_FOREVER, &failure) != WP_OK)
		bench_fail("a join failed");
	wp_vthread_free(thread);
}

#endif
