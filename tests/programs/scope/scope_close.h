/* SPDX-License-Identifier: Apache-2.0
 * scope_close.h - the threads that may use a scope, and what is left when it closes; for
 * scope.c. */
static int trespasses(void *arg)
{
	wp_subtask subtask;

	check(wp_scope_current() == arg, "the scope that forked it");
	check(wp_scope_fork(arg, &subtask, counts, NULL) == WP_FORBIDDEN, "a stranger's fork");
	check(wp_scope_join(arg, NULL) == WP_FORBIDDEN, "a stranger's join");
	check(wp_scope_close(arg) == WP_FORBIDDEN, "a stranger's close");
	return 0;
}

static int owns_alone(void *arg)
{
	wp_subtask subtask;
	wp_scope scope;

	open_scope(&scope, &all);
	fork_one(&scope, &subtask, trespasses, &scope);
	check(wp_scope_join(&scope, NULL) == WP_OK, "a join");
	check(wp_scope_close(&scope) == WP_OK, "a close");
	return arg != NULL;
}

CASE_CALL(owner, by_both(owns_alone))

/* It leaves two scopes open. */
static int leaves_open(void *arg)
{
	static wp_subtask waiting;
	static wp_scope scopes[2];

	open_scope(&scopes[0], &all);
	check(scopes[0].outer == arg, "a subtask's scope around its own");
	open_scope(&scopes[1], &all);
	fork_one(&scopes[1], &waiting, waits, &count);
	await_ready(1);
	return 0;
}

static int nests(void *arg)
{
	wp_subtask subtask, inside;
	wp_scope outer, middle, inner;

	open_scope(&outer, &all);
	fork_one(&outer, &subtask, leaves_open, &outer);
	check(wp_scope_join(&outer, NULL) == WP_OK, "a join");
	check(wp_load_relaxed(&count) == 1, "that what is left open is closed");
	open_scope(&middle, &all);
	open_scope(&inner, &all);
	check(inner.outer == &middle && middle.outer == &outer, "the nesting");
	fork_one(&inner, &inside, waits, &count);
	await_ready(2);
	check(wp_scope_close(&outer) == WP_MISUSED, "a close out of order");
	check(wp_load_relaxed(&count) == 2 && wp_scope_current() == NULL, "those within");
	check(wp_scope_close(&inner) == WP_OK && wp_scope_close(&middle) == WP_OK, "their close");
	return arg != NULL;
}

CASE_CALL(nested, by_both(nests))

/* Subtasks end at the moment of the cancel, from all sides. */
static int meets(void *arg)
{
	wp_subtask subtasks[FORKS];
	int failure = 3;

	for (int turn = 0; turn < 100; turn++) {
		wp_scope_config config = as(turn % 2 ? WP_SCOPE_ALL : WP_SCOPE_ANY,
					    turn % 3 ? WP_FOREVER : wp_clock_ns() + 50000);
		wp_scope scope;

		open_scope(&scope, &config);
		for (int at = 0; at < FORKS; at++)
			fork_one(&scope, &subtasks[at],
				 at % 3 == 0   ? waits
				 : at % 3 == 1 ? fails
					       : counts,
				 &failure);
		if (turn % 5 == 0)
			wp_scope_cancel(&scope);
		check(wp_scope_join(&scope, NULL) != WP_INTERRUPTED, "a join");
		check(wp_scope_close(&scope) == WP_OK, "a close");
		check(scope.children.members == NULL, "that all have left");
	}
	return arg != NULL;
}

CASE_CALL(meets, by_both(meets))

/* The group is closed while the scope is open. */
static void *closes_group(void *arg)
{
	await_ready(2);
	check(wp_group_close(group, in_ms(1), true, NULL, NULL) == WP_OK, "the close");
	return arg;
}

CASE(group)
{
	int64_t long_ms = PATIENCE_S * 1000;
	wp_subtask subtasks[2], late;
	wp_scope scope, refused;
	wp_scope_config timed = as(WP_SCOPE_ALL, in_ms(long_ms));
	pthread_t closer;

	open_group(1, false, 0);
	open_scope(&scope, &timed);
	for (int at = 0; at < 2; at++)
		fork_one(&scope, &subtasks[at], waits, NULL);
	pthread_create(&closer, NULL, closes_group, NULL);
	check(wp_scope_join(&scope, NULL) == WP_FAILED, "what a close of the group means");
	pthread_join(closer, NULL);
	check(wp_scope_close(&scope) == WP_OK, "the scope's close");
	check(wp_scope_open(&refused, group, &timed) == WP_CLOSED, "a deadline's refusal");
	check(wp_scope_close(&refused) == WP_OK, "that it is not open");
	open_scope(&scope, &all);
	check(wp_scope_fork(&scope, &late, counts, NULL) == WP_CLOSED, "a fork's refusal");
	check(wp_scope_join(&scope, NULL) == WP_OK, "a join of none");
	check(wp_scope_close(&scope) == WP_OK, "a close");
	wp_group_free(group);
}

/* It goes on for a while when it is interrupted. */
static int lingers(void *arg)
{
	waits(NULL);
	wp_vthread_clear_interrupt();
	wp_vthread_sleep_until(in_ms(20));
	wp_fetch_add_relaxed((wp_atomic(uint32_t) *)arg, 1);
	return 0;
}

static int close_waits(void *arg)
{
	wp_subtask subtask;
	wp_scope scope;

	open_scope(&scope, &all);
	fork_one(&scope, &subtask, lingers, &count);
	await_ready(1);
	check(wp_scope_close(&scope) == WP_MISUSED, "that it was not joined");
	check(wp_load_relaxed(&count) == 1, "one that goes on after its interrupt");
	return arg != NULL;
}

CASE_CALL(close, by_both(close_waits))

/* An open scope gives ended subtasks back: more are forked than there are stacks. */
CASE(reuse)
{
	static wp_subtask subtasks[4 * FORKS];
	int64_t until_ns = patience();
	wp_scope scope;

	open_group(1, false, 4);
	open_scope(&scope, &all);
	for (int at = 0; at < 4 * FORKS; at++) {
		int code = WP_SYSTEM;

		while (code == WP_SYSTEM && wp_clock_ns() < until_ns)
			code = wp_scope_fork(&scope, &subtasks[at], counts, NULL);
		check(code == WP_OK, "a stack");
	}
	check(wp_scope_join(&scope, NULL) == WP_OK, "a join");
	check(wp_load_relaxed(&count) == 4 * FORKS, "a subtask");
	check(wp_scope_close(&scope) == WP_OK, "a close");
	close_group();
}
