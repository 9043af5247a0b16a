/* SPDX-License-Identifier: Apache-2.0
 * timer_ends.c - a timer fires or is cancelled, while its thread goes on.
 *
 *   carrier                     canceller              `timer_once`: "fired, cancelled"
 *   fire what is due            cancel
 *
 * Why it works  Who cancels takes the timer's memory at once: plain accesses by whoever still has
 *               it in hand are races. `timer_stale` has a thread that parks twice.
 * Spec          specs/sched/Timer.tla. */
#include "timers.h"

/* Armed; fired or cancelled. Result: "fired, cancelled". */
STRESS_INIT(init_armed)
{
	timers_init(state);
	wp_timer_arm(&state->timers, &state->soon, SOON);
}

STRESS_ACTOR(canceller)
{
	result->r[1] = wp_timer_cancel(&state->soon);
}

STRESS_ACTOR(read_soon)
{
	result->r[0] = wp_load_relaxed(&state->fired[0]);
}

STRESS_TEST(timer_once, .claim = "A timer fires or is cancelled: whoever cancels is told.",
	    .upholds = "Timer!DueOnce", .state_size = sizeof(struct state), .init = init_armed,
	    .actors = {timers_firer, canceller, canceller}, .arbiter = read_soon, .results = 2,
	    .blocking = 1,
	    .outcomes = {
		    {"1,0", ACCEPTABLE, "fired"},
		    {"0,1", ACCEPTABLE, "cancelled, once"},
		    {"asleep", FORBIDDEN, "the lock is not given back"},
		    {"*,*", FORBIDDEN, "both, or neither"},
	    });

/* Who cancels takes the memory of the timer at once, while it is due, and a close clears all.
 * Result: "touched after that". */
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
	if (!wp_twin(timer_armed_first)) /* its outcome is what counts, not the race */
		state->soon = (wp_timer){.deadline_ns = state->touched};
}

STRESS_ACTOR(clearer)
{
	wp_timers_clear(&state->timers);
}

STRESS_ACTOR(read_touched)
{
	result->r[0] = state->touched_late;
}

STRESS_TEST(timer_final, .claim = "When a cancel has returned nobody touches the timer.",
	    .upholds = "Timer!CancelIsFinal", .state_size = sizeof(struct state),
	    .init = init_touched, .actors = {timers_firer, leaver, clearer},
	    .arbiter = read_touched, .results = 1, .blocking = 1,
	    .outcomes = {
		    {"0", ACCEPTABLE, "fired before the cancel returned, or never"},
		    {"asleep", FORBIDDEN, "the lock is not given back"},
		    {"1", FORBIDDEN, "what it was for is done on memory that is another's"},
	    });

/* A virtual thread sleeps in its first park, with a timer that is due. An unparker that ends this
 * park runs it, and parks it again. Result: "unparked, parked again, by the timer". */
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

STRESS_ACTOR(timer_carrier)
{
	result->r[2] = wp_timers_due(&state->timers, NOW) != NULL;
}

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
		    {"1,1,0", ACCEPTABLE, "unparked; the timer comes late, and finds another park"},
		    {"0,0,1", ACCEPTABLE, "the timer ends the park; the unpark finds its permit"},
		    {"1,1,1", FORBIDDEN, "the timer ends the park after its own"},
		    {"*,*,*", FORBIDDEN, "the timer leaves a permit to the park after its own"},
	    });

STRESS_TWIN(timer_full_unpark, .of = "timer_stale",
	    .defect = "a timer unparks its thread, whatever park it is in", .shows = "1,*,*",
	    .seen_by = SEEN_ALL);

/* Both are due, and one of them may be cancelled meanwhile. Neither is a thread's, so one look
 * fires both. Result: "the first fired, it was cancelled, the second fired". */
static wp_task *drain_and_fire(wp_timer *timer)
{
	wp_fence_seq_cst(); /* under TSO the look's stores exceed what the explorer buffers */
	return timers_fire_soon(timer);
}

STRESS_INIT(init_both)
{
	init_armed(state);
	state->soon.due = drain_and_fire;
	wp_timer_arm(&state->timers, &state->late, LATE);
}

STRESS_ACTOR(fires_all)
{
	wp_timers_due(&state->timers, LATE);
}

STRESS_ACTOR(read_both)
{
	read_soon(state, result);
	result->r[2] = wp_load_relaxed(&state->fired[1]);
}

STRESS_TEST(timer_both, .claim = "A timer that makes no task runnable does not hide the next one.",
	    .upholds = "Timer!Fires", .state_size = sizeof(struct state), .init = init_both,
	    .actors = {fires_all, canceller}, .arbiter = read_both, .results = 3, .blocking = 1,
	    .outcomes = {
		    {"1,0,1", ACCEPTABLE, "both have fired"},
		    {"0,1,1", ACCEPTABLE, "one was cancelled, the other has fired"},
		    {"asleep", FORBIDDEN, "the lock is not given back"},
		    {"*,*,*", FORBIDDEN, "what was due has not fired"},
	    });
