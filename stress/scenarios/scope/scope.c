/* SPDX-License-Identifier: Apache-2.0
 * scope.c - an owner waits until its subtasks end or the scope is cancelled, and no wakeup is lost.
 *
 *   subtask          subtask           owner
 *   data := 1        data := 1         wait
 *   leave            leave             data?
 *
 * Result        `scope`: "data seen" of both.
 * Why it works  The data is plain, so an owner that returns too early causes a data race. Owners
 *               really sleep.
 * Spec          specs/scope/Scope.tla. */
#include "scopes.h"

static void end(struct state *state, int one)
{
	state->data[one] = 1;
	leave(state, one);
}

STRESS_ACTOR_CALL(first, end(state, 0))
STRESS_ACTOR_CALL(second, end(state, 1))

STRESS_ACTOR(join)
{
	wp__scope_children_wait(&state->children, &state->waiters[0], true);
	result->r[0] = state->data[0];
	result->r[1] = state->data[1];
}

STRESS_TEST(scope, .claim = "The last subtask wakes the owner, which sees what all subtasks did.",
	    .upholds = "Scope!JoinWakes", .state_size = sizeof(struct state), .init = init,
	    .actors = {first, second, join}, .results = 2, .blocking = 1,
	    .outcomes = {
		    {"1,1", ACCEPTABLE, "the owner is awake, and sees the data"},
		    {"asleep", FORBIDDEN,
		     "lost wakeup: all subtasks have left, and the owner sleeps"},
		    {"*,*", FORBIDDEN, "the owner was woken too early"},
	    });

/* One subtask is in the scope. Result: "data seen". */
STRESS_ACTOR(join_one)
{
	wp__scope_children_wait(&state->children, &state->waiters[0], true);
	result->r[0] = state->data[0];
}

STRESS_TEST(scope_line, .claim = "An owner enters the queue and checks in one step.",
	    .upholds = "Scope!JoinWakes", .state_size = sizeof(struct state), .init = init_one,
	    .actors = {first, join_one}, .results = 1, .blocking = 1,
	    .outcomes = {
		    {"1", ACCEPTABLE, "the owner is awake, and sees the data"},
		    {"asleep", FORBIDDEN,
		     "lost wakeup: the subtask has left, and the owner sleeps"},
		    {"*", FORBIDDEN, "the owner was woken too early"},
	    });

/* Another thread cancels the scope; its subtasks go on. Result: "the owner is awake". */
STRESS_ACTOR(join_virtual)
{
	wp_waiter *waiter = &state->waiters[1];

	while (!wp__scope_children_begin(&state->children, waiter, true))
		do
			virtual_park(&state->owner);
		while (!wp__waiter_check(&state->children.lock, waiter));
	result->r[0] = 1;
}

STRESS_TEST(scope_cancel, .claim = "A cancel wakes an owner that waits.",
	    .upholds = "Scope!JoinWakes", .state_size = sizeof(struct state), .init = init,
	    .actors = {cancel, join_virtual}, .results = 1, .blocking = 1,
	    .outcomes = {
		    {"1", ACCEPTABLE, "the owner is awake"},
		    {"asleep", FORBIDDEN,
		     "lost wakeup: the scope is cancelled, and the owner sleeps"},
	    });

/* One subtask is in a cancelled scope, and the owner closes it. Result: "the subtask has ended". */
STRESS_INIT(init_cancelled)
{
	init_one(state);
	cancel(state, NULL);
}

STRESS_ACTOR(end_and_tell)
{
	wp_store_relaxed(&state->is_told, 1);
	first(state, result);
}

STRESS_ACTOR(close)
{
	wp__scope_children_wait(&state->children, &state->waiters[0], false);
	result->r[0] = wp_load_relaxed(&state->is_told);
}

STRESS_TEST(scope_close, .claim = "A close waits for the subtasks of a cancelled scope.",
	    .upholds = "Scope!ChildrenWithinScope", .state_size = sizeof(struct state),
	    .init = init_cancelled, .actors = {end_and_tell, close}, .results = 1, .blocking = 1,
	    .outcomes = {
		    {"1", ACCEPTABLE, "the subtask has ended"},
		    {"asleep", FORBIDDEN,
		     "lost wakeup: the subtask has ended, and the owner sleeps"},
		    {"*", FORBIDDEN, "the close returned before the subtask had ended"},
	    });

/* The last subtask ends. Result: "the owner's close has returned". */
STRESS_ACTOR(close_and_say)
{
	wp__scope_children_wait(&state->children, &state->waiters[0], false);
	result->r[0] = 1;
}

STRESS_TEST(scope_ends, .claim = "A scope ends when its subtasks have ended.",
	    .upholds = "Scope!Ends", .state_size = sizeof(struct state), .init = init_one,
	    .actors = {first, close_and_say}, .results = 1, .blocking = 1,
	    .outcomes = {
		    {"1", ACCEPTABLE, "the close has returned"},
		    {"asleep", FORBIDDEN,
		     "lost wakeup: all subtasks have left, and the owner sleeps"},
	    });
