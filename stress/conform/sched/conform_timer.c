/* SPDX-License-Identifier: Apache-2.0
 * conform_timer.c - the threads of specs/sched/Timer.tla: a carrier, armers, an unparker, and the
 * time.
 *
 *   carrier, for ever              armer (elsewhere)              unparker       time
 *   what time is it?               arm; nudge                     any armer:     goes on
 *   fire what is due, and push     park; pushed: run again            unpark,
 *   park until the earliest        cancel                             push
 *                                  park; pushed: run again
 *
 * Why it works  The carrier has no queue here. The thread that owes an armer its push makes the
 *               armer ready, and the armer runs in a thread of its own. The carrier gets the time
 *               from this file. The result of a nudge is reported by a step that touches no memory,
 *               and so is the result of a cancel if it is wrong.
 * Spec          specs/sched/Timer.tla. Compared by wakeproof conform -t timer. */
#include "sched/timer.h"
#include "litmus.h"
#include "stress.h"
#include "thread/vthread.h"

enum { ARMERS = 2 };

struct armer {
	wp_vthread thread;
	wp_timer timer;
	wp_atomic(uint64_t) ready;
	bool has_fired; /* plain: accessed under the timers' lock */
};

struct state {
	wp_carrier carrier;
	wp_timers timers;
	_Alignas(WP_LINE) struct armer armers[ARMERS];
	_Alignas(WP_LINE) wp_atomic(uint64_t) now;
};

/* python/wakeproof/judge/conform/maps/timer.py reads the state at these places. */
_Static_assert(offsetof(struct state, carrier.word) == 0, "WORD");
_Static_assert(offsetof(struct state, timers.earliest_ns) == 1024, "EARLIEST");
_Static_assert(offsetof(struct state, timers.lock) == 1032, "LOCK");
_Static_assert(offsetof(struct state, armers) == 1408, "ARMERS");
_Static_assert(offsetof(struct state, now) == 2048, "NOW");
_Static_assert(sizeof(struct armer) == 264, "ARMER");
_Static_assert(offsetof(struct armer, thread.task.word) == 8, "THREAD");
_Static_assert(offsetof(struct armer, timer.armed) == 232, "ARMED");

/* Ends the park for which it was armed: the first one. */
static wp_task *due(wp_timer *timer)
{
	struct armer *armer =
		(struct armer *)(void *)((char *)timer - offsetof(struct armer, timer));
	bool is_owed = wp__vthread_time_out(&armer->thread, 0) == WP_OWES_PUSH;

	armer->has_fired = true;
	return is_owed ? &armer->thread.task : NULL;
}

STRESS_INIT(init)
{
	wp_carrier_init(&state->carrier, NULL, 0);
	wp_timers_init(&state->timers);
	for (int index = 0; index < ARMERS; index++) {
		wp_task_init(&state->armers[index].thread.task, NULL, NULL);
		wp_timer_init(&state->armers[index].timer, due);
	}
}

static void push(wp_task *task)
{
	struct armer *armer = (struct armer *)(void *)task;

	litmus_store(&armer->ready, 1, release); /* [Push] */
}

STRESS_ACTOR(carrier)
{
	wp_mpsc_node *stolen;

	for (;;) {
		int64_t now_ns = (int64_t)litmus_load(&state->now, relaxed); /* [Turn] */
		wp_task *task;

		while ((task = wp_timers_due(&state->timers, now_ns)) != NULL)
			push(task);
		wp_carrier_advertise(&state->carrier, WP_PARKED_FUTEX, &stolen);
		wp_carrier_sleep_until(&state->carrier, wp_timers_earliest(&state->timers));
		wp_carrier_leave(&state->carrier);
	}
}

static void park(struct armer *armer)
{
	if (!wp__vthread_park(&armer->thread))
		return;
	while (litmus_exchange(&armer->ready, 0, acquire) == 0) /* [Ready] */
		wp_pause();
	wp__vthread_begin(&armer->thread);
}

static void armer(struct state *state, int which)
{
	struct armer *armer = &state->armers[which];

	if (wp_timer_arm(&state->timers, &armer->timer, which + 1)) {
		bool has_woken = wp_timers_nudge(&state->carrier);

		litmus_return(nudge, has_woken != wp_twin(conform_nudge_lies)); /* [Gave] */
	}
	park(armer);
	if (wp_timer_cancel(&armer->timer) == (armer->has_fired != wp_twin(conform_cancel_lies)))
		litmus_return(cancel, 1); /* [Lies] */
	park(armer);
}

STRESS_ACTOR_CALL(armer_1, armer(state, 0))
STRESS_ACTOR_CALL(armer_2, armer(state, 1))

STRESS_ACTOR(unparker)
{
	struct armer *armer = &state->armers[0];

	if (wp__vthread_notify(&armer->thread) == WP_OWES_PUSH)
		push(&armer->thread.task);
}

static void tick(struct state *state, int last)
{
	for (int time = 0; time < last; time++)
		litmus_fetch_add(&state->now, 1, relaxed); /* [Tick] */
}

STRESS_ACTOR_CALL(time_1, tick(state, 1))
STRESS_ACTOR_CALL(time_2, tick(state, 2))

STRESS_TEST(conform_timer, .claim = "The compiled timers are the specified ones.",
	    .upholds = "Timer!NoOversleep", .state_size = sizeof(struct state), .init = init,
	    .actors = {carrier, armer_1, time_1, unparker}, .results = 1, .blocking = 1,
	    .outcomes = {{"asleep", ACCEPTABLE, "all is done"},
			 {"stuck", ACCEPTABLE, "it goes on"}});
STRESS_TEST(conform_timer_two, .claim = "So are they with two that arm.",
	    .upholds = "Timer!NoOversleep", .state_size = sizeof(struct state), .init = init,
	    .actors = {carrier, armer_1, time_2, armer_2}, .results = 1, .blocking = 1,
	    .outcomes = {{"asleep", ACCEPTABLE, "all is done"},
			 {"stuck", ACCEPTABLE, "it goes on"}});
