/* SPDX-License-Identifier: Apache-2.0
 * timers.h - a carrier with two timers: the initial state of several scenarios.
 *
 * Why it works  Deadlines are plain numbers here, and so is the carrier's time: NOW is between the
 *               two deadlines.
 * Spec          none. Evidence  tests/sched/test_timer.py. */
#ifndef WP_TIMERS_H
#define WP_TIMERS_H

#include "stress.h"
#include "sched/timer.h"
#include "thread/vthread.h"

enum { SOON = 3, NOW = 4, LATE = 5 };

struct state {
	wp_carrier carrier;
	wp_timers timers;
	wp_timer soon, late;
	wp_atomic(uint32_t) fired[2]; /* soon, late */
	wp_atomic(uint32_t) gone;     /* the timer's memory was reused */
	/* Plain: belongs to the firing thread, then to the one that learned that it had fired. */
	uint32_t touched;
	bool touched_late;
	wp_vthread thread;
};

/* Finds the state by the timer's place in it. */
WP_INLINE struct state *timers_of_soon(wp_timer *timer)
{
	return (struct state *)(void *)((char *)timer - offsetof(struct state, soon));
}

WP_INLINE wp_task *timers_fire_soon(wp_timer *timer)
{
	struct state *state = timers_of_soon(timer);

	wp_store_relaxed(&state->fired[0], 1);
	return NULL;
}

WP_INLINE wp_task *timers_fire_late(wp_timer *timer)
{
	struct state *state =
		(struct state *)(void *)((char *)timer - offsetof(struct state, late));

	wp_store_relaxed(&state->fired[1], 1);
	return NULL;
}

WP_INLINE void timers_init(void *at)
{
	struct state *state = at;

	wp_carrier_init(&state->carrier, NULL, 0);
	wp_timers_init(&state->timers);
	wp_timer_init(&state->soon, timers_fire_soon);
	wp_timer_init(&state->late, timers_fire_late);
}

/* As wp_carrier_tasks_arm, from another carrier. */
WP_INLINE void timers_arm(struct state *state, wp_timer *timer, int64_t deadline_ns)
{
	if (wp_timer_arm(&state->timers, timer, deadline_ns))
		wp_timers_nudge(&state->carrier);
}

WP_INLINE void timers_firer(void *at, stress_result *result)
{
	struct state *state = at;

	wp_timers_due(&state->timers, NOW);
}

#endif
