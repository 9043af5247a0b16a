/* SPDX-License-Identifier: Apache-2.0
 * vthread_actors.h - the other actors in most scenarios of a virtual thread. */
#include "vthread_run.h"
#include "stress.h"

/* This carrier has the thread in its hands. */
STRESS_ACTOR(carrier)
{
	run(state);
	park(state);
}

STRESS_ACTOR(unparker)
{
	wp_store_relaxed(&state->work, 1);
	pay(state, wp__vthread_notify(&state->thread));
}

/* The second carrier of the same queue. */
STRESS_ACTOR(sibling)
{
	if (wp_mpsc_pop(&state->queue) != NULL) {
		run(state);
		park(state);
	}
}

STRESS_ACTOR(run_rest)
{
	for (int most = 3; most > 0 && wp_mpsc_pop(&state->queue) != NULL; most--)
		run(state);
	result->r[0] = state->returned;
	result->r[1] = state->seen;
}
