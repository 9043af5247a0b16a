/* SPDX-License-Identifier: Apache-2.0
 * scope.c CASE - scopes in C. The owners are this thread and a virtual one. */
#include "scope_case.h"
#include "../case_main.h"
#include "scope_close.h"

static int all_end(void *arg)
{
	wp_subtask subtasks[FORKS], *which;
	wp_scope scope;

	open_scope(&scope, &all);
	check(wp_scope_current() == &scope, "the innermost");
	for (int at = 0; at < FORKS; at++)
		fork_one(&scope, &subtasks[at], counts, at % 2 ? &count : NULL);
	check(wp_subtask_outcome(&subtasks[0], NULL) == WP_MISUSED, "an outcome before the join");
	check(wp_scope_join(&scope, &which) == WP_OK && which == NULL, "a join");
	check(wp_load_relaxed(&count) == FORKS, "what subtasks did before it");
	for (int at = 0; at < FORKS; at++)
		outcome_is(&subtasks[at], WP_OK, 0);
	check(!wp_scope_is_cancelled(&scope), "that it is not cancelled");
	check(wp_scope_close(&scope) == WP_OK, "a close");
	check(wp_scope_close(&scope) == WP_OK, "a close again");
	return arg != NULL;
}

CASE_CALL(ends, by_both(all_end))

static int first_fails(void *arg)
{
	wp_subtask waiting, failing, other, *which;
	int failure = 7;
	wp_scope scope;

	open_scope(&scope, &all);
	fork_one(&scope, &waiting, waits, &count);
	await_ready(1);
	fork_one(&scope, &failing, fails, &failure);
	check(wp_scope_join(&scope, &which) == WP_FAILED && which == &failing, "the failure");
	check(wp_scope_is_cancelled(&scope), "the cancel");
	check(wp_scope_fork(&scope, &other, counts, NULL) == WP_MISUSED, "a fork after the join");
	check(wp_scope_join(&scope, NULL) == WP_MISUSED, "a second join");
	check(wp_scope_close(&scope) == WP_OK, "a close");
	check(wp_load_relaxed(&count) == 1, "the interrupt");
	outcome_is(&waiting, WP_CANCELLED, 0);
	outcome_is(&failing, WP_FAILED, 7);
	return arg != NULL;
}

CASE_CALL(failure, by_both(first_fails))

static int any_one(void *arg)
{
	wp_scope_config any = as(WP_SCOPE_ANY, WP_FOREVER), every = as(WP_SCOPE_AWAIT, WP_FOREVER);
	wp_subtask subtasks[3], *which;
	int failure = 7;
	wp_scope scope;

	open_scope(&scope, &any);
	fork_one(&scope, &subtasks[0], waits, NULL);
	fork_one(&scope, &subtasks[1], fails, &failure);
	fork_one(&scope, &subtasks[2], counts, &count);
	check(wp_scope_join(&scope, &which) == WP_OK && which == &subtasks[2], "the success");
	wp_scope_close(&scope);
	outcome_is(&subtasks[0], WP_CANCELLED, 0);

	open_scope(&scope, &any);
	check(wp_scope_join(&scope, &which) == WP_FAILED && which == NULL, "that none was forked");
	wp_scope_close(&scope);

	open_scope(&scope, &any);
	fork_one(&scope, &subtasks[0], fails, &failure);
	check(wp_scope_join(&scope, &which) == WP_FAILED && which == &subtasks[0], "a failure");
	wp_scope_close(&scope);

	open_scope(&scope, &every);
	fork_one(&scope, &subtasks[0], fails, &failure);
	fork_one(&scope, &subtasks[1], counts, &count);
	check(wp_scope_join(&scope, NULL) == WP_OK, "that all ended");
	outcome_is(&subtasks[0], WP_FAILED, 7);
	outcome_is(&subtasks[1], WP_OK, 0);
	wp_scope_close(&scope);
	return arg != NULL;
}

CASE_CALL(any, by_both(any_one))

static int cancels(void *arg)
{
	wp_scope_cancel(arg);
	wp_scope_cancel(arg);
	return WP_OK;
}

static int after_cancel(void *arg)
{
	wp_subtask first, late;
	wp_scope scope;

	open_scope(&scope, &all);
	fork_one(&scope, &first, cancels, &scope);
	await_cancel(&scope);
	fork_one(&scope, &late, counts, NULL);
	check(wp_scope_join(&scope, NULL) == WP_CANCELLED, "that it was cancelled");
	check(wp_scope_close(&scope) == WP_OK, "a close");
	outcome_is(&first, WP_CANCELLED, 0);
	outcome_is(&late, WP_CANCELLED, 0);
	check(wp_scope_fork(&scope, &late, counts, NULL) == WP_MISUSED, "a fork after the close");
	check(wp_load_relaxed(&count) == 0, "that none ran");

	open_scope(&scope, &all);
	fork_one(&scope, &first, waits, NULL);
	check(wp_scope_close(&scope) == WP_MISUSED, "that it was not joined");
	open_scope(&scope, &all);
	check(wp_scope_close(&scope) == WP_OK, "a scope without forks");
	return arg != NULL;
}

CASE_CALL(cancel, by_both(after_cancel))

static int times_out(void *arg)
{
	int64_t before_ns = in_ms(1);
	wp_scope_config config = as(WP_SCOPE_ALL, 1); /* long over */
	wp_subtask subtask;
	wp_scope scope;

	open_scope(&scope, &config); /* at once */
	check(wp_scope_is_cancelled(&scope) && scope.timer == NULL, "a cancel without a timer");
	fork_one(&scope, &subtask, waits, NULL);
	check(wp_scope_join(&scope, NULL) == WP_TIMEOUT, "a deadline in the past");
	wp_scope_close(&scope);
	outcome_is(&subtask, WP_CANCELLED, 0);

	config.deadline_ns = before_ns; /* before the join */
	open_scope(&scope, &config);
	fork_one(&scope, &subtask, waits, NULL);
	await_cancel(&scope);
	check(wp_clock_ns() >= before_ns, "that it was not early");
	check(wp_scope_join(&scope, NULL) == WP_TIMEOUT, "a deadline before the join");
	wp_scope_close(&scope);

	config.deadline_ns = in_ms(2); /* about during the join */
	open_scope(&scope, &config);
	fork_one(&scope, &subtask, waits, NULL);
	check(wp_scope_join(&scope, NULL) == WP_TIMEOUT, "a deadline during the join");
	wp_scope_close(&scope);

	config.deadline_ns = patience(); /* after the join */
	open_scope(&scope, &config);
	fork_one(&scope, &subtask, counts, NULL);
	check(wp_scope_join(&scope, NULL) == WP_OK, "a join in time");
	check(wp_scope_close(&scope) == WP_OK && !wp_scope_is_cancelled(&scope), "its close");
	return arg != NULL;
}

CASE_CALL(deadline, by_both(times_out))

/* An owner is interrupted in its join, and in its close. */
static int is_interrupted(void *arg)
{
	wp_subtask subtask, late;
	wp_scope scope;

	open_scope(&scope, &all);
	fork_one(&scope, &subtask, waits, arg);
	check(wp_scope_join(&scope, NULL) == WP_INTERRUPTED, "an interrupted join");
	check(wp_scope_fork(&scope, &late, counts, NULL) == WP_MISUSED, "a fork after it");
	check(wp_scope_join(&scope, NULL) == WP_INTERRUPTED, "one that begins interrupted");
	check(wp_scope_close(&scope) == WP_OK, "a close of one that is");
	check(wp_vthread_clear_interrupt(), "that it still is");
	return 0;
}

CASE(interrupt)
{
	wp_vthread_config config = {.name = "owner", .run = is_interrupted, .arg = &count};
	wp_vthread *owner;

	open_group(2, true, 0);
	owner = start_as(&config);
	await_ready(1);
	wp_vthread_interrupt(owner);
	join(owner, "an owner");
	check(wp_load_relaxed(&count) == 1, "its subtask");
	close_group();
}
