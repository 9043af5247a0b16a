/* SPDX-License-Identifier: Apache-2.0
 * vthread.c - a park returns for whoever unparks it, once, and on one carrier.
 *
 *   carrier                     unparker              `vthread`: "parks returned, the work was seen"
 *   run: look at work; park     work := 1
 *   refused: push               unpark; owed: push
 *
 * Why it works  The arbiter runs what is queued at the end. stress/scenarios/thread/vthread_data.c
 *               has what a run sees.
 * Spec          specs/thread/VThread.tla. */
#include "vthread_actors.h"

STRESS_TEST(vthread, .claim = "A park returns after the unpark, and sees what was written before.",
	    .upholds = "VThread!UnparkNotLost", .state_size = sizeof(struct state), .init = init,
	    .actors = {carrier, unparker}, .arbiter = run_rest, .results = 2, .min_samples = 200000,
	    .outcomes = {
		    {"1,1", REQUIRED, "unparked: the park returned"},
		    {"*,*", FORBIDDEN, "the unpark is lost, or what came before it"},
	    });

/* Two unparks. Result: "pushes owed". */
STRESS_ACTOR(count_park)
{
	run(state);
	result->r[0] = park(state);
}

STRESS_ACTOR(count_unpark)
{
	result->r[0] = wp__vthread_notify(&state->thread) == WP_OWES_PUSH;
}

/* A timer of the first park. */
STRESS_ACTOR(count_due)
{
	result->r[0] = wp__vthread_time_out(&state->thread, 0) == WP_OWES_PUSH;
}

STRESS_TEST(vthread_once, .claim = "Of all who end one park, and its carrier, one queues it.",
	    .upholds = "VThread!SubmitOncePerRunnable", .state_size = sizeof(struct state),
	    .init = init, .actors = {count_park, count_unpark, count_due}, .results = 1,
	    .min_samples = 200000,
	    .outcomes = {
		    {"1", REQUIRED, "one queues it"},
		    {"*", FORBIDDEN, "it is queued twice, or never"},
	    });

/* It yields, then parks. Result: "parks returned". */
STRESS_ACTOR(yielder)
{
	run(state);
	push(state);
	wp_mpsc_pop(&state->queue);
	run(state);
	park(state);
}

STRESS_TEST(vthread_yield, .claim = "A yield does not take the permit.",
	    .upholds = "VThread!PermitOnlyConsumedByPark", .state_size = sizeof(struct state),
	    .init = init, .actors = {yielder, unparker}, .arbiter = run_rest, .results = 2,
	    .min_samples = 200000,
	    .outcomes = {
		    {"1,1", REQUIRED, "the park returned"},
		    {"*,*", FORBIDDEN, "the permit is gone"},
	    });

/* The start and the yield take it as well: the park is the third to return, or none does. */

/* Unparked, then the timer of its first park comes. Result: "parks returned, seen". */
STRESS_ACTOR(late_timer)
{
	unparker(state, result);
	pay(state, wp__vthread_time_out(&state->thread, 0));
}

STRESS_TEST(vthread_stale, .claim = "A timer that comes late ends no later park.",
	    .upholds = "VThread!StaleTimerHarmless", .state_size = sizeof(struct state),
	    .init = init, .actors = {carrier, late_timer, sibling}, .arbiter = run_rest,
	    .results = 2, .min_samples = 200000,
	    .outcomes = {
		    {"1,1", REQUIRED, "one park returned"},
		    {"*,*", FORBIDDEN, "the next one, too"},
	    });

/* A timed park, and an unpark. Result: "it was unparked, or the next one is". */
STRESS_ACTOR(timer)
{
	pay(state, wp__vthread_time_out(&state->thread, 0));
}

STRESS_ACTOR(run_and_tell)
{
	run_rest(state, result);
	result->r[0] = state->thread.was_unparked || wp__vthread_take(&state->thread);
}

STRESS_TEST(vthread_late, .claim = "A park that says that its time is over took no unpark.",
	    .upholds = "VThread!PermitOnlyConsumedByPark", .state_size = sizeof(struct state),
	    .init = init, .actors = {carrier, unparker, timer}, .arbiter = run_and_tell,
	    .results = 1, .min_samples = 200000,
	    .outcomes = {
		    {"1", REQUIRED, "it says so, or the permit is there for the next park"},
		    {"*", FORBIDDEN, "the unpark is taken, and nobody is told"},
	    });

/* It parks where it cannot leave its carrier. Result: "parks returned, seen". */
STRESS_ACTOR(pinned)
{
	run(state);
	wp__vthread_park_pinned(&state->thread, WP_FOREVER);
	state->returned = wp__vthread_number(&state->thread);
	state->seen |= wp_load_relaxed(&state->work);
}

STRESS_TEST(vthread_pinned, .claim = "An unpark reaches the carrier of a pinned thread.",
	    .upholds = "VThread!PinnedUnparkReachesCarrier", .state_size = sizeof(struct state),
	    .init = init, .actors = {pinned, unparker}, .arbiter = run_rest, .results = 2,
	    .blocking = 1,
	    .outcomes = {
		    {"1,1", ACCEPTABLE, "the park returned"},
		    {"asleep", FORBIDDEN, "the carrier sleeps, and the permit is there"},
		    {"*,*", FORBIDDEN, "queued while it is mounted, or without what came before"},
	    });

/* It parks unless it is interrupted. A permit from long ago makes its first park return. Result:
 * "stays parked". */
STRESS_ACTOR(looker)
{
	run(state);
	wp__vthread_take(&state->thread);
	if (!wp_vthread_is_interrupted(&state->thread))
		park(state);
}

STRESS_ACTOR(interrupter)
{
	pay(state, wp__vthread_interrupt(&state->thread));
}

STRESS_ACTOR(stays_parked)
{
	result->r[0] = wp_mpsc_pop(&state->queue) == NULL && wp__vthread_cancel(&state->thread);
}

STRESS_TEST(vthread_interrupt, .claim = "An interrupted thread does not stay parked.",
	    .upholds = "VThread!InterruptNotLost", .state_size = sizeof(struct state), .init = init,
	    .actors = {looker, interrupter}, .arbiter = stays_parked, .results = 1,
	    .min_samples = 200000,
	    .outcomes = {
		    {"0", REQUIRED, "it saw the flag, or its park returned"},
		    {"*", FORBIDDEN, "it parks on"},
	    });

/* Parked, unparked, cancelled. Result: "pushes owed, cancelled". */
STRESS_ACTOR(canceller)
{
	if (!wp__vthread_cancel(&state->thread))
		return;
	result->r[1] = 1;
	state->runs++; /* it is the canceller's now */
}

STRESS_TEST(vthread_cancel, .claim = "A thread that somebody is about to queue is not cancelled.",
	    .upholds = "VThread!SubmitOncePerRunnable", .state_size = sizeof(struct state),
	    .init = init, .actors = {count_park, count_unpark, canceller}, .results = 2,
	    .min_samples = 200000,
	    .outcomes = {
		    {"1,0", REQUIRED, "queued: not cancelled"},
		    {"0,1", REQUIRED, "cancelled while it was parked"},
		    {"*,*", FORBIDDEN, "cancelled and queued"},
	    });
