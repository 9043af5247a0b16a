/* SPDX-License-Identifier: Apache-2.0
 * scope_cancel.c - a cancel and what meets it: a fork, an outcome, an end, a deadline, another one.
 *
 *   whoever cancels        owner             result of `scope_fork`: "counted in, not interrupted"
 *   cancel                 fork
 *
 * Why it works  The arbiter looks at the word of the thread that was forked.
 * Spec          specs/scope/Scope.tla. */
#include "scopes.h"

/* One more is counted in while it is cancelled. Result: "counted in, not interrupted". */
STRESS_ACTOR(enter)
{
	state->is_in = wp__scope_children_enter(&state->children, &state->members[1]);
}

static bool is_interrupted(struct state *state, int one)
{
	return wp_vthread_is_interrupted(&state->threads[one].thread);
}

STRESS_ACTOR(look_second)
{
	result->r[0] = state->is_in && !is_interrupted(state, 1);
}

STRESS_TEST(scope_fork, .claim = "Who is counted in is interrupted by a cancel that comes later.",
	    .upholds = "Scope!NoForkRunsAfterCancel", .state_size = sizeof(struct state),
	    .init = init_one, .actors = {cancel, enter}, .arbiter = look_second, .results = 1,
	    .blocking = 1,
	    .outcomes = {
		    {"0", ACCEPTABLE, "shut out, or interrupted"},
		    {"1", FORBIDDEN, "counted in after the cancel"},
	    });

/* It was started and has not begun. Result: "it runs after the cancel". */
STRESS_ACTOR(cancel_and_tell)
{
	cancel(state, result);
	wp_store_release(&state->is_told, 1);
}

STRESS_ACTOR(begin)
{
	if (wp_load_acquire(&state->is_told))
		result->r[0] = wp__scope_children_may_begin(&state->children);
}

STRESS_TEST(scope_begin, .claim = "Who begins after the cancel runs nothing.",
	    .upholds = "Scope!NoForkRunsAfterCancel", .state_size = sizeof(struct state),
	    .init = init, .actors = {cancel_and_tell, begin}, .results = 1, .blocking = 1,
	    .outcomes = {
		    {"0", ACCEPTABLE, "it ends at once, or the cancel was not over"},
		    {"1", FORBIDDEN, "it runs"},
	    });

/* Nobody is in, and two cancel it. Result: "who did". */
STRESS_INIT(init_none)
{
	init_one(state);
	leave(state, 0);
}

STRESS_ACTOR(try_cancel)
{
	result->r[0] = wp__scope_children_cancel(&state->children, NULL, false);
}

STRESS_TEST(scope_once, .claim = "It is cancelled once.", .upholds = "Scope!CancelOnce",
	    .state_size = sizeof(struct state), .init = init_none,
	    .actors = {try_cancel, try_cancel}, .results = 1, .blocking = 1,
	    .outcomes = {
		    {"1", ACCEPTABLE, "one of them"},
		    {"*", FORBIDDEN, "both, or none"},
	    });

/* A member ends while it is in the hand of who cancels. Result: "touched after it was let go
 * of". */
STRESS_ACTOR(leave_second)
{
	leave(state, 1);
}

STRESS_ACTOR(look_let_go)
{
	result->r[0] = wp_load_relaxed(&state->threads[1].thread.interrupted) != LET_GO;
}

STRESS_TEST(scope_hand, .claim = "Whoever ends while it is interrupted is let go of later.",
	    .upholds = "Scope!UntouchedAfterEnd", .state_size = sizeof(struct state), .init = init,
	    .actors = {cancel, leave_second}, .arbiter = look_let_go, .results = 1, .blocking = 1,
	    .outcomes = {
		    {"0", ACCEPTABLE, "no: by who cancels, or before"},
		    {"1", FORBIDDEN, "interrupted after it was let go of, or never let go of"},
	    });

/* Result: "the other one was interrupted". */
STRESS_ACTOR(look_first)
{
	result->r[0] = is_interrupted(state, 0);
}

STRESS_TEST(scope_all, .claim = "A cancel interrupts all, though some end meanwhile.",
	    .upholds = "Scope!CancelReachesAll", .state_size = sizeof(struct state), .init = init,
	    .actors = {cancel, leave_second}, .arbiter = look_first, .results = 1, .blocking = 1,
	    .outcomes = {
		    {"1", ACCEPTABLE, "it was"},
		    {"0", FORBIDDEN, "it was forgotten"},
	    });

/* Two fail at once. Result: "who is to cancel". */
STRESS_ACTOR(fail_first)
{
	result->r[0] = wp__scope_children_record(&state->children, &state->members[0], WP_FAILURE);
}

STRESS_ACTOR(fail_second)
{
	result->r[0] = wp__scope_children_record(&state->children, &state->members[1], WP_FAILURE);
}

STRESS_TEST(scope_first, .claim = "One failure is the first.", .upholds = "Scope!FirstFailureWins",
	    .state_size = sizeof(struct state), .init = init, .actors = {fail_first, fail_second},
	    .results = 1, .blocking = 1,
	    .outcomes = {
		    {"1", ACCEPTABLE, "one of them"},
		    {"*", FORBIDDEN, "both, or none"},
	    });

/* Its outcome comes with the cancel. Result: "it came after it". */
STRESS_ACTOR(cancel_and_look)
{
	cancel(state, result);
	wp_lock_acquire(&state->children.lock);
	state->outcome = state->members[0].outcome;
	wp_lock_release(&state->children.lock);
}

STRESS_ACTOR(record)
{
	wp__scope_children_record(&state->children, &state->members[0], WP_SUCCESS);
}

STRESS_ACTOR(compare_outcomes)
{
	result->r[0] = state->outcome != state->members[0].outcome;
}

STRESS_TEST(scope_late, .claim = "What ends after the cancel records nothing.",
	    .upholds = "Scope!NoResultAfterCancel", .state_size = sizeof(struct state),
	    .init = init, .actors = {cancel_and_look, record}, .arbiter = compare_outcomes,
	    .results = 1, .blocking = 1,
	    .outcomes = {
		    {"0", ACCEPTABLE, "before it, or not at all"},
		    {"1", FORBIDDEN, "after it"},
	    });

/* The deadline comes with the end of a join. Result: "it came after it". */
STRESS_ACTOR(time_out)
{
	wp__scope_children_cancel(&state->children, NULL, true);
}

STRESS_ACTOR(end_join)
{
	state->is_late = wp__scope_children_end(&state->children);
}

STRESS_ACTOR(compare_ends)
{
	result->r[0] = state->is_late != wp__scope_children_end(&state->children);
}

STRESS_TEST(scope_deadline, .claim = "The deadline of a joined scope cancels nothing.",
	    .upholds = "Scope!TimerCancelled", .state_size = sizeof(struct state), .init = init,
	    .actors = {time_out, end_join}, .arbiter = compare_ends, .results = 1, .blocking = 1,
	    .outcomes = {
		    {"0", ACCEPTABLE, "before it, or not at all"},
		    {"1", FORBIDDEN, "after it"},
	    });
