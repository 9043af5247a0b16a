/* SPDX-License-Identifier: Apache-2.0
 * timer_ends.c - a timer fires or is cancelled, while its thread goes on.
 *
 *   carrier                     canceller
 *   fire due timers             cancel
 *
 * Result        `timer_once`: "fired, cancelled".
 * Why it works  The canceller reuses the timer's memory at once, so plain accesses by a thread that
 *               still fires it are data races. In `timer_stale` a thread parks twice.
 * Spec          specs/sched/Timer.tla. */
#include "timers.h"

/* The timer is armed, and is then fired or cancelled. Result: "fired, cancelled". */
STRESS_INIT(init_armed)
{
	timers_init(state);
	wp_timer_arm(&state->timers, &state->soon, SOON);
}

STRESS_ACTOR_CALL(canceller, result->r[1] = wp_timer_cancel(&state->soon))
STRESS_ACTOR_CALL(read_soon, result->r[0] = wp_load_relaxed(&state->fired[0]))

STRESS_TEST(timer_once, .claim = "A timer fires or is cancelled, and the canceller learns which.",
	    .upholds = "Timer!DueOnce", .state_size = sizeof(struct state), .init = init_armed,
	    .actors = {timers_firer, canceller, canceller}, .arbiter = read_soon, .results = 2,
	    .blocking = 1,
	    .outcomes = {
		    {"1,0", ACCEPTABLE, "fired"},
		    {"0,1", ACCEPTABLE, "the timer was cancelled, once"},
		    {"asleep", FORBIDDEN, "the lock is never released"},
		    {"*,*", FORBIDDEN, "the timer fired and was cancelled, or neither"},
	    });

/* The canceller reuses the timer's memory at once, while the timer is due and a close clears all
 * timers. Result: "touched after that". */
static wp_task *touch(wp_timer *timer)
{
	struct state *state = timers_of_soon(timer);

	state->touched_late = wp_load_relaxed(&state->gone) == 1;
	state->touched = 1;
	return NULL;
}

STRESS_INIT(init_touched)
{
	init_armed(state);
	state->soon.due = touch;
}

STRESS_ACTOR(leaver)
{
	wp_timer_cancel(&state->soon);
	wp_store_relaxed(&state->gone, 1);
	if (!wp_twin(timer_armed_first)) /* its outcome is what counts, not the data race */
		state->soon = (wp_timer){.deadline_ns = state->touched};
}

STRESS_ACTOR_CALL(clearer, wp_timers_clear(&state->timers))
STRESS_ACTOR_CALL(read_touched, result->r[0] = state->touched_late)

STRESS_TEST(timer_final, .claim = "After a cancel has returned, no thread touches the timer.",
	    .upholds = "Timer!CancelIsFinal", .state_size = sizeof(struct state),
	    .init = init_touched, .actors = {timers_firer, leaver, clearer},
	    .arbiter = read_touched, .results = 1, .blocking = 1,
	    .outcomes = {
		    {"0", ACCEPTABLE, "the timer fired before the cancel returned, or never"},
		    {"asleep", FORBIDDEN, "the lock is never released"},
		    {"1", FORBIDDEN, "use after free: the timer fires on memory that was reused"},
	    });

/* A virtual thread sleeps in its first park, with a timer that is due. An unparker ends this park,
 * runs the thread, and parks it again. Result: "unparked, parked again, by the timer". */
static wp_task *end_park(wp_timer *timer)
{
	struct state *state = timers_of_soon(timer);
	enum wp_owed owed = wp_twin(timer_full_unpark) ? wp__vthread_notify(&state->thread)
						       : wp__vthread_time_out(&state->thread, 0);

	return owed == WP_OWES_PUSH ? &state->thread.task : NULL;
}

STRESS_INIT(init_parked)
{
	init_armed(state);
	state->soon.due = end_park;
	wp_task_init(&state->thread.task, NULL, NULL);
	wp__vthread_park(&state->thread);
}

STRESS_ACTOR_CALL(timer_carrier, result->r[2] = wp_timers_due(&state->timers, NOW) != NULL)

STRESS_ACTOR(unpark_and_run)
{
	if (wp__vthread_notify(&state->thread) != WP_OWES_PUSH)
		return;
	result->r[0] = 1;
	wp__vthread_begin(&state->thread);
	result->r[1] = wp__vthread_park(&state->thread);
}

STRESS_TEST(timer_stale, .claim = "A timer that fires late ends no park but its own.",
	    .upholds = "Timer!StaleTimerHarmless", .state_size = sizeof(struct state),
	    .init = init_parked, .actors = {timer_carrier, unpark_and_run}, .results = 3,
	    .outcomes = {
		    {"1,1,0", ACCEPTABLE,
		     "the thread was unparked; the timer comes late, and finds another park"},
		    {"0,0,1", ACCEPTABLE, "the timer ends its park; the unpark leaves its permit"},
		    {"1,1,1", FORBIDDEN, "the timer ends a later park than its own"},
		    {"*,*,*", FORBIDDEN, "the timer leaves a permit to a later park than its own"},
	    });

STRESS_TWIN(timer_full_unpark, .of = "timer_stale",
	    .defect = "A timer unparks its thread whichever park the thread is in.",
	    .shows = "1,*,*", .seen_by = SEEN_ALL);

/* Two timers are due, and one of them may be cancelled meanwhile. Neither belongs to a thread, so
 * one check fires both. Result: "the first fired, it was cancelled, the second fired". */
static wp_task *drain_and_fire(wp_timer *timer)
{
	wp_fence_seq_cst(); /* under TSO the check's stores exceed what the explorer buffers */
	return timers_fire_soon(timer);
}

STRESS_INIT(init_both)
{
	init_armed(state);
	state->soon.due = drain_and_fire;
	wp_timer_arm(&state->timers, &state->late, LATE);
}

STRESS_ACTOR_CALL(fires_all, wp_timers_due(&state->timers, LATE))

STRESS_ACTOR(read_both)
{
	read_soon(state, result);
	result->r[2] = wp_load_relaxed(&state->fired[1]);
}

STRESS_TEST(timer_both,
	    .claim = "A timer that makes no task runnable does not hide the next timer.",
	    .upholds = "Timer!Fires", .state_size = sizeof(struct state), .init = init_both,
	    .actors = {fires_all, canceller}, .arbiter = read_both, .results = 3, .blocking = 1,
	    .outcomes = {
		    {"1,0,1", ACCEPTABLE, "both timers have fired"},
		    {"0,1,1", ACCEPTABLE, "one timer was cancelled, the other has fired"},
		    {"asleep", FORBIDDEN, "the lock is never released"},
		    {"*,*,*", FORBIDDEN, "a due timer has not fired"},
	    });
