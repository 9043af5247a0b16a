/* SPDX-License-Identifier: Apache-2.0
 * scope.c - see scope.h.
 *
 * Not explored, because it starts threads; the members are explored by
 * stress/scenarios/scope/scope.c. */
#include "scope/scope.h"

#include "sched/vthread_stackful.h"

static _Thread_local wp_scope *below; /* innermost scope of an OS thread */

/* Returns where the caller stores its innermost scope. It is not inline: a virtual thread may move
 * to another OS thread, so a caller must not keep the address of this OS thread's variable. */
static __attribute__((noinline)) wp_scope **innermost(void)
{
	wp_vthread *thread = wp_vthread_current();

	__asm__ __volatile__("" ::: "memory");
	return thread != NULL ? &wp__body_of(thread)->scope : &below;
}

wp_scope *wp_scope_current(void)
{
	return *innermost();
}

bool wp_scope_is_cancelled(wp_scope *scope)
{
	return wp__scope_children_is_cancelled(&scope->children);
}

void wp_scope_cancel(wp_scope *scope)
{
	wp__scope_children_cancel(&scope->children, wp_vthread_current(), false);
}

/* The body of the deadline's thread, which has no stack. */
static enum wp_step time_out(wp_task *task)
{
	wp_scope *scope = wp_vthread_arg((wp_vthread *)(void *)task);
	int code = scope->is_timing ? wp__vthread_park_end() : WP_OK;

	while (code == WP_OK)
		code = wp__vthread_park_begin(scope->config.deadline_ns);
	scope->is_timing = code == WP_MUST_PARK;
	if (code == WP_MUST_PARK)
		return WP_STEP_PARK;
	if (code == WP_TIMEOUT)
		wp__scope_children_cancel(&scope->children, NULL, true);
	return WP_STEP_DONE;
}

static int start_timer(wp_scope *scope)
{
	wp_vthread_config config = {.name = "deadline of a scope",
				    .step = time_out,
				    .arg = scope,
				    .carrier = scope->config.forks.carrier};
	int code;

	if (scope->config.deadline_ns == 0 || scope->config.deadline_ns == WP_FOREVER)
		return WP_OK;
	if (scope->config.deadline_ns <= wp_clock_ns()) {
		wp__scope_children_cancel(&scope->children, NULL, true);
		return WP_OK;
	}
	code = wp_vthread_new(scope->group, &config, &scope->timer);
	if (code != WP_OK)
		return code;
	code = wp_vthread_start(scope->timer);
	if (code != WP_OK)
		wp_vthread_free(scope->timer);
	return code;
}

static enum wp_outcome decisive_of(enum wp_scope_policy policy)
{
	switch (policy) {
	case WP_SCOPE_ALL:
		return WP_FAILURE;
	case WP_SCOPE_ANY:
		return WP_SUCCESS;
	default:
		return WP_UNAVAILABLE;
	}
}

int wp_scope_open(wp_scope *scope, wp_group *group, const wp_scope_config *config)
{
	int code;

	wp__scope_children_init(&scope->children, decisive_of(config->policy), wp__vthread_push,
				wp_vthread_free);
	scope->state = WP_SCOPE_OPEN;
	scope->owner = innermost();
	scope->outer = *scope->owner;
	scope->group = group;
	scope->config = *config;
	scope->timer = NULL;
	scope->is_timing = false;
	code = start_timer(scope);
	if (code == WP_OK)
		*scope->owner = scope;
	else
		scope->state = WP_SCOPE_CLOSED;
	return code;
}

/* Records the outcome; the first decisive one cancels the scope. */
static void complete(wp_subtask *subtask, int failure)
{
	wp_scope_children *children = &subtask->scope->children;

	subtask->failure = failure;
	if (wp__scope_children_record(children, &subtask->member,
				      failure == 0 ? WP_SUCCESS : WP_FAILURE))
		wp__scope_children_cancel(children, subtask->member.thread, false);
}

/* Called when the subtask's thread has ended, or a close of its group has handed it back. */
static void leave(wp_vthread *thread)
{
	wp_subtask *subtask = wp_vthread_arg(thread);

	if (!wp_vthread_is_done(thread))
		complete(subtask, WP_CLOSED);
	if (wp__scope_children_leave(&subtask->scope->children, &subtask->member))
		wp_vthread_free(thread);
}

/* Waits until all subtasks have left, and the deadline's thread too. Returns true if the owner was
 * interrupted meanwhile. */
static bool wait_for_all(wp_scope *scope)
{
	bool was_interrupted = false;
	wp_waiter waiter;
	int failure;

	wp__waiter_init_self(&waiter, WP_WAIT_JOIN);
	while (wp__scope_children_wait(&scope->children, &waiter, false) != WP_OK)
		was_interrupted |= wp_vthread_clear_interrupt();
	if (scope->timer == NULL)
		return was_interrupted;
	wp_vthread_interrupt(scope->timer);
	while (wp_vthread_join(scope->timer, WP_FOREVER, &failure) == WP_INTERRUPTED)
		was_interrupted |= wp_vthread_clear_interrupt();
	wp_vthread_free(scope->timer);
	return was_interrupted;
}

/* Ends a scope, which must be its owner's innermost. */
static void end(wp_scope *scope)
{
	if (scope->state < WP_SCOPE_JOINED)
		wp_scope_cancel(scope);
	if (wait_for_all(scope))
		wp_vthread_interrupt(wp_vthread_current());
	scope->state = WP_SCOPE_CLOSED;
	*scope->owner = scope->outer;
}

/* Ends the scopes that are open within this one. Returns true if there were any. */
static bool end_within(wp_scope *scope)
{
	wp_scope **at = innermost();
	bool has_any = *at != scope;

	while (*at != scope)
		end(*at);
	return has_any;
}

static int run_subtask(void *arg)
{
	wp_subtask *subtask = arg;
	int failure;

	if (!wp__scope_children_may_begin(&subtask->scope->children))
		return 0;
	failure = subtask->run(subtask->arg);
	end_within(subtask->scope);
	complete(subtask, failure);
	return failure;
}

/* Counts a subtask, which has a new thread, and starts it. */
static int start(wp_scope *scope, wp_subtask *subtask)
{
	wp_vthread *thread = subtask->member.thread;
	int code;

	wp__body_of(thread)->scope = scope;
	if (!wp__scope_children_enter(&scope->children, &subtask->member)) {
		wp_vthread_free(thread);
		return WP_OK;
	}
	code = wp_vthread_start(thread);
	if (code != WP_OK && wp__scope_children_leave(&scope->children, &subtask->member))
		wp_vthread_free(thread);
	return code;
}

int wp_scope_fork(wp_scope *scope, wp_subtask *subtask, int (*run)(void *arg), void *arg)
{
	wp_vthread_config config = scope->config.forks;
	int code = WP_OK;

	if (scope->owner != innermost())
		return WP_FORBIDDEN;
	if (scope->state > WP_SCOPE_FORKED)
		return WP_MISUSED;
	*subtask = (wp_subtask){.scope = scope, .run = run, .arg = arg};
	config.run = run_subtask;
	config.step = NULL;
	config.arg = subtask;
	config.left = leave;
	if (!wp_scope_is_cancelled(scope)) {
		code = wp_vthread_new(scope->group, &config, &subtask->member.thread);
		if (code == WP_OK)
			code = start(scope, subtask);
	}
	if (code == WP_OK)
		scope->state = WP_SCOPE_FORKED;
	return code;
}

/* Returns the result of a join. No outcome is recorded any more. */
static int verdict(wp_scope *scope, bool is_late)
{
	const wp_scope_children *children = &scope->children;

	if (scope->config.policy == WP_SCOPE_ANY && children->first[WP_SUCCESS] != NULL)
		return WP_OK;
	if (scope->config.policy == WP_SCOPE_ALL && children->first[WP_FAILURE] != NULL)
		return WP_FAILED;
	if (is_late)
		return WP_TIMEOUT;
	if (wp_scope_is_cancelled(scope))
		return WP_CANCELLED;
	return scope->config.policy == WP_SCOPE_ANY ? WP_FAILED : WP_OK;
}

int wp_scope_join(wp_scope *scope, wp_subtask **decisive)
{
	wp_waiter waiter;
	bool is_late;
	int code;

	if (scope->owner != innermost())
		return WP_FORBIDDEN;
	if (scope->state > WP_SCOPE_JOINING)
		return WP_MISUSED;
	scope->state = WP_SCOPE_JOINING;
	wp__waiter_init_self(&waiter, WP_WAIT_JOIN);
	code = wp__scope_children_wait(&scope->children, &waiter, true);
	if (code != WP_OK)
		return code;
	is_late = wp__scope_children_end(&scope->children);
	scope->state = WP_SCOPE_JOINED;
	code = verdict(scope, is_late);
	if (decisive != NULL) { /* a subtask begins with its member */
		bool is_won = scope->config.policy == WP_SCOPE_ANY && code == WP_OK;

		*decisive = (void *)scope->children.first[is_won ? WP_SUCCESS : WP_FAILURE];
	}
	return code;
}

int wp_scope_close(wp_scope *scope)
{
	bool is_misused;

	if (scope->owner != innermost())
		return WP_FORBIDDEN;
	if (scope->state == WP_SCOPE_CLOSED)
		return WP_OK;
	is_misused = scope->state == WP_SCOPE_FORKED;
	is_misused |= end_within(scope);
	end(scope);
	return is_misused ? WP_MISUSED : WP_OK;
}

int wp_subtask_outcome(const wp_subtask *subtask, int *failure)
{
	if (subtask->scope->state < WP_SCOPE_JOINED)
		return WP_MISUSED;
	switch (subtask->member.outcome) {
	case WP_SUCCESS:
		return WP_OK;
	case WP_FAILURE:
		if (failure != NULL)
			*failure = subtask->failure;
		return WP_FAILED;
	default:
		return WP_CANCELLED;
	}
}
