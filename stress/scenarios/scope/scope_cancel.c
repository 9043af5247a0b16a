/* SPDX-License-Identifier: Apache-2.0
 * scope_cancel.c - a cancel meets a fork, an outcome, an end, a deadline or another cancel.
 *
 *   canceller              owner
 *   cancel                 fork
 *
 * Result        `scope_fork`: "counted in, not interrupted".
 * Why it works  The arbiter reads the word of the thread that was forked.
 * Spec          specs/scope/Scope.tla. */
#include "scopes.h"

/* One more subtask is counted in while the scope is cancelled. Result: "counted in, not
 * interrupted". */
STRESS_ACTOR_CALL(enter,
		  state->is_in = wp__scope_children_enter(&state->children, &state->members[1]))

static bool is_interrupted(struct state *state, int one)
{
	return wp_vthread_is_interrupted(&state->threads[one].thread);
}

STRESS_ACTOR_CALL(look_second, result->r[0] = state->is_in && !is_interrupted(state, 1))

STRESS_TEST(scope_fork,
	    .claim = "A subtask that is counted in is interrupted by every later cancel.",
	    .upholds = "Scope!NoForkRunsAfterCancel", .state_size = sizeof(struct state),
	    .init = init_one, .actors = {cancel, enter}, .arbiter = look_second, .results = 1,
	    .blocking = 1,
	    .outcomes = {
		    {"0", ACCEPTABLE, "the subtask was shut out, or interrupted"},
		    {"1", FORBIDDEN, "the subtask was counted in after the cancel"},
	    });

/* The subtask was started and has not begun. Result: "it runs after the cancel". */
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

STRESS_TEST(scope_begin,
	    .claim = "A subtask that begins after the cancel does not run its function.",
	    .upholds = "Scope!NoForkRunsAfterCancel", .state_size = sizeof(struct state),
	    .init = init, .actors = {cancel_and_tell, begin}, .results = 1, .blocking = 1,
	    .outcomes = {
		    {"0", ACCEPTABLE, "the subtask ends at once, or the cancel was not over"},
		    {"1", FORBIDDEN, "the subtask runs after the cancel"},
	    });

/* The scope has no subtasks, and two threads cancel it. Result: "threads that cancelled it". */
STRESS_INIT(init_none)
{
	init_one(state);
	leave(state, 0);
}

STRESS_ACTOR_CALL(try_cancel,
		  result->r[0] = wp__scope_children_cancel(&state->children, NULL, false))

STRESS_TEST(scope_once, .claim = "A scope is cancelled once.", .upholds = "Scope!CancelOnce",
	    .state_size = sizeof(struct state), .init = init_none,
	    .actors = {try_cancel, try_cancel}, .results = 1, .blocking = 1,
	    .outcomes = {
		    {"1", ACCEPTABLE, "one of the two threads cancelled it"},
		    {"*", FORBIDDEN, "both threads cancelled it, or neither"},
	    });

/* A member ends while the canceller interrupts it. Result: "touched after it was released". */
STRESS_ACTOR_CALL(leave_second, leave(state, 1))
STRESS_ACTOR_CALL(look_let_go,
		  result->r[0] = wp_load_relaxed(&state->threads[1].thread.interrupted) != LET_GO)

STRESS_TEST(scope_hand,
	    .claim = "A member that ends while it is interrupted is released after that.",
	    .upholds = "Scope!UntouchedAfterEnd", .state_size = sizeof(struct state), .init = init,
	    .actors = {cancel, leave_second}, .arbiter = look_let_go, .results = 1, .blocking = 1,
	    .outcomes = {
		    {"0", ACCEPTABLE,
		     "the canceller released the member, or it was released before"},
		    {"1", FORBIDDEN,
		     "interrupted after its release (use after free), or never released"},
	    });

/* Result: "the other member was interrupted". */
STRESS_ACTOR_CALL(look_first, result->r[0] = is_interrupted(state, 0))

STRESS_TEST(scope_all, .claim = "A cancel interrupts all members, even if some end meanwhile.",
	    .upholds = "Scope!CancelReachesAll", .state_size = sizeof(struct state), .init = init,
	    .actors = {cancel, leave_second}, .arbiter = look_first, .results = 1, .blocking = 1,
	    .outcomes = {
		    {"1", ACCEPTABLE, "the member was interrupted"},
		    {"0", FORBIDDEN, "the member was skipped"},
	    });

/* Two subtasks fail at once. Result: "failures that are to cancel". */
STRESS_ACTOR_CALL(fail_first,
		  result->r[0] = wp__scope_children_record(&state->children, &state->members[0],
							   WP_FAILURE))
STRESS_ACTOR_CALL(fail_second,
		  result->r[0] = wp__scope_children_record(&state->children, &state->members[1],
							   WP_FAILURE))

STRESS_TEST(scope_first, .claim = "Of two failures, exactly one is the first.",
	    .upholds = "Scope!FirstFailureWins", .state_size = sizeof(struct state), .init = init,
	    .actors = {fail_first, fail_second}, .results = 1, .blocking = 1,
	    .outcomes = {
		    {"1", ACCEPTABLE, "one of the two threads cancelled it"},
		    {"*", FORBIDDEN, "both threads cancelled it, or neither"},
	    });

/* A subtask records its outcome while the scope is cancelled. Result: "recorded after the
 * cancel". */
STRESS_ACTOR(cancel_and_look)
{
	cancel(state, result);
	wp_lock_acquire(&state->children.lock);
	state->outcome = state->members[0].outcome;
	wp_lock_release(&state->children.lock);
}

STRESS_ACTOR_CALL(record,
		  wp__scope_children_record(&state->children, &state->members[0], WP_SUCCESS))
STRESS_ACTOR_CALL(compare_outcomes, result->r[0] = state->outcome != state->members[0].outcome)

STRESS_TEST(scope_late, .claim = "A subtask that ends after the cancel records no outcome.",
	    .upholds = "Scope!NoResultAfterCancel", .state_size = sizeof(struct state),
	    .init = init, .actors = {cancel_and_look, record}, .arbiter = compare_outcomes,
	    .results = 1, .blocking = 1,
	    .outcomes = {
		    {"0", ACCEPTABLE, "the outcome was recorded before the cancel, or not at all"},
		    {"1", FORBIDDEN, "the outcome was recorded after the cancel"},
	    });

/* The deadline passes as a join ends. Result: "it cancelled after the join". */
STRESS_ACTOR_CALL(time_out, wp__scope_children_cancel(&state->children, NULL, true))
STRESS_ACTOR_CALL(end_join, state->is_late = wp__scope_children_end(&state->children))
STRESS_ACTOR_CALL(compare_ends,
		  result->r[0] = state->is_late != wp__scope_children_end(&state->children))

STRESS_TEST(scope_deadline, .claim = "The deadline of a joined scope cancels nothing.",
	    .upholds = "Scope!TimerCancelled", .state_size = sizeof(struct state), .init = init,
	    .actors = {time_out, end_join}, .arbiter = compare_ends, .results = 1, .blocking = 1,
	    .outcomes = {
		    {"0", ACCEPTABLE, "the outcome was recorded before the cancel, or not at all"},
		    {"1", FORBIDDEN, "the outcome was recorded after the cancel"},
	    });
