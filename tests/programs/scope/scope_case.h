/* SPDX-License-Identifier: Apache-2.0
 * scope_case.h - scopes, their forks, and what must hold for them; for scope.c. */
#include "scope/scope.h"
#include "../vthreads_case.h"

enum { FORKS = 50 };

static const wp_scope_config all = {.policy = WP_SCOPE_ALL,
				    .deadline_ns = WP_FOREVER,
				    .forks = {.name = "fork", .carrier = WP_VTHREAD_HERE}};

static wp_scope_config as(enum wp_scope_policy policy, int64_t deadline_ns)
{
	wp_scope_config config = all;

	config.policy = policy;
	config.deadline_ns = deadline_ns;
	return config;
}

static void open_scope(wp_scope *scope, const wp_scope_config *config)
{
	check(wp_scope_open(scope, group, config) == WP_OK, "an open");
}

static void fork_one(wp_scope *scope, wp_subtask *subtask, int (*run)(void *), void *arg)
{
	check(wp_scope_fork(scope, subtask, run, arg) == WP_OK, "a fork");
}

static void outcome_is(const wp_subtask *subtask, int code, int failure)
{
	int got = 0;

	check(wp_subtask_outcome(subtask, &got) == code && got == failure, "an outcome");
}

/* Its carrier may have others to run. */
static void await_ready(uint32_t least)
{
	while (wp_load_acquire(&ready) < least) {
		wp_vthread_yield();
		wp_yield();
	}
}

static void await_cancel(wp_scope *scope)
{
	while (!wp_scope_is_cancelled(scope)) {
		wp_vthread_yield();
		wp_yield();
	}
}

/* The body of a case, by an OS thread and by a virtual one. */
static void by_both(int (*body)(void *))
{
	wp_vthread_config config = {.name = "owner", .run = body};

	open_group(2, true, 0);
	body(NULL);
	wp_store_relaxed(&count, 0);
	wp_store_relaxed(&ready, 0);
	join(start_as(&config), "an owner");
	check(wp_scope_current() == NULL, "that all are closed");
	close_group();
}

static int counts(void *arg)
{
	wp_vthread_sleep_until(in_ms(arg != NULL));
	wp_fetch_add_relaxed(&count, 1);
	return 0;
}

static int fails(void *arg)
{
	return *(int *)arg;
}

/* Waits until it is interrupted, or for ever. */
static int waits(void *arg)
{
	wp_fetch_add_release(&ready, 1);
	while (wp_vthread_park_until(patience()) != WP_INTERRUPTED)
		continue;
	if (arg != NULL)
		wp_fetch_add_relaxed((wp_atomic(uint32_t) *)arg, 1);
	return WP_INTERRUPTED;
}
