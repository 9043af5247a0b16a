/* SPDX-License-Identifier: Apache-2.0
 * vthread.c - each unpark ends one park, once, and on one carrier.
 *
 *   carrier                     unparker
 *   run: read work; park        work := 1
 *   refused: push               unpark; owed: push
 *
 * Result        `vthread`: "parks returned, the work was seen".
 * Why it works  The arbiter runs the thread if it is queued at the end.
 *               stress/scenarios/thread/vthread_data.c covers what a run sees.
 * Spec          specs/thread/VThread.tla. */
#include "vthread_actors.h"

STRESS_TEST(vthread,
	    .claim = "A park returns after the unpark, and sees the unparker's earlier writes.",
	    .upholds = "VThread!UnparkNotLost", .state_size = sizeof(struct state), .init = init,
	    .actors = {carrier, unparker}, .arbiter = run_rest, .results = 2, .min_samples = 200000,
	    .outcomes = {
		    {"1,1", REQUIRED, "the thread was unparked, and the park returned"},
		    {"*,*", FORBIDDEN, "the unpark is lost, or the unparker's writes are not seen"},
	    });

/* Two threads unpark the virtual thread. Result: "pushes owed". */
STRESS_ACTOR(count_park)
{
	run(state);
	result->r[0] = park(state);
}

STRESS_ACTOR_CALL(count_unpark, result->r[0] = wp__vthread_notify(&state->thread) == WP_OWES_PUSH)

/* Fires a timer of the first park. */
STRESS_ACTOR_CALL(count_due, result->r[0] = wp__vthread_time_out(&state->thread, 0) == WP_OWES_PUSH)

STRESS_TEST(vthread_once,
	    .claim = "Of all threads that end a park, and its carrier, one queues the thread.",
	    .upholds = "VThread!SubmitOncePerRunnable", .state_size = sizeof(struct state),
	    .init = init, .actors = {count_park, count_unpark, count_due}, .results = 1,
	    .min_samples = 200000,
	    .outcomes = {
		    {"1", REQUIRED, "one thread queues it"},
		    {"*", FORBIDDEN, "the thread is queued twice, or never"},
	    });

/* The thread yields, then parks. Result: "parks returned". */
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

/* The start and the yield check the permit too: the park is the third to return, or none does. */

/* The thread is unparked, and then the timer of its first park fires. Result: "parks returned,
 * seen". */
STRESS_ACTOR(late_timer)
{
	unparker(state, result);
	pay(state, wp__vthread_time_out(&state->thread, 0));
}

STRESS_TEST(vthread_stale, .claim = "A timer that fires late ends no later park.",
	    .upholds = "VThread!StaleTimerHarmless", .state_size = sizeof(struct state),
	    .init = init, .actors = {carrier, late_timer, sibling}, .arbiter = run_rest,
	    .results = 2, .min_samples = 200000,
	    .outcomes = {
		    {"1,1", REQUIRED, "one park returned"},
		    {"*,*", FORBIDDEN, "the next park returned, too"},
	    });

/* A timed park meets an unpark. Result: "it was unparked, or the next park is". */
STRESS_ACTOR_CALL(timer, pay(state, wp__vthread_time_out(&state->thread, 0)))

STRESS_ACTOR(run_and_tell)
{
	run_rest(state, result);
	result->r[0] = state->thread.was_unparked || wp__vthread_take(&state->thread);
}

STRESS_TEST(vthread_late, .claim = "A park that reports a timeout took no unpark.",
	    .upholds = "VThread!PermitOnlyConsumedByPark", .state_size = sizeof(struct state),
	    .init = init, .actors = {carrier, unparker, timer}, .arbiter = run_and_tell,
	    .results = 1, .min_samples = 200000,
	    .outcomes = {
		    {"1", REQUIRED,
		     "the park reports the unpark, or the permit is left for the next park"},
		    {"*", FORBIDDEN, "the unpark is taken, and no park reports it"},
	    });

/* The thread parks where it cannot leave its carrier. Result: "parks returned, seen". */
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
		    {"asleep", FORBIDDEN, "lost wakeup: the carrier sleeps beside the permit"},
		    {"*,*", FORBIDDEN,
		     "queued while it is mounted, or the unparker's writes are not seen"},
	    });

/* The thread parks unless it is interrupted. A permit from long ago makes its first park return.
 * Result: "stays parked". */
STRESS_ACTOR(looker)
{
	run(state);
	wp__vthread_take(&state->thread);
	if (!wp_vthread_is_interrupted(&state->thread))
		park(state);
}

STRESS_ACTOR_CALL(interrupter, pay(state, wp__vthread_interrupt(&state->thread)))
STRESS_ACTOR_CALL(stays_parked, result->r[0] = wp_mpsc_pop(&state->queue) == NULL &&
					       wp__vthread_cancel(&state->thread))

STRESS_TEST(vthread_interrupt, .claim = "An interrupted thread does not stay parked.",
	    .upholds = "VThread!InterruptNotLost", .state_size = sizeof(struct state), .init = init,
	    .actors = {looker, interrupter}, .arbiter = stays_parked, .results = 1,
	    .min_samples = 200000,
	    .outcomes = {
		    {"0", REQUIRED, "the thread saw the flag, or its park returned"},
		    {"*", FORBIDDEN, "lost wakeup: the thread stays parked"},
	    });

/* The thread is parked, unparked and cancelled. Result: "pushes owed, cancelled". */
STRESS_ACTOR(canceller)
{
	if (!wp__vthread_cancel(&state->thread))
		return;
	result->r[1] = 1;
	state->runs++; /* it belongs to the canceller now */
}

STRESS_TEST(vthread_cancel, .claim = "A thread that is about to be queued is not cancelled.",
	    .upholds = "VThread!SubmitOncePerRunnable", .state_size = sizeof(struct state),
	    .init = init, .actors = {count_park, count_unpark, canceller}, .results = 2,
	    .min_samples = 200000,
	    .outcomes = {
		    {"1,0", REQUIRED, "the thread was queued, and not cancelled"},
		    {"0,1", REQUIRED, "the thread was cancelled while it was parked"},
		    {"*,*", FORBIDDEN, "the thread was cancelled, and queued"},
	    });
