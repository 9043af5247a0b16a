/* SPDX-License-Identifier: Apache-2.0
 * poller.c - a carrier's poller parks it, asks, blocks; it ends, and what its wakeup uses is freed.
 *
 *   poller                          submitter              `poller_parks`: "would block, word, wakeups"
 *   try_park; can_park?             submit
 *   descheduled: its loop leaves    wake: wakeup(arg)
 *   goes on: can_park?
 *
 * Why it works  Nobody blocks in a system call: that it would is the result. `poller_ends` frees
 *               what the wakeup uses with a plain write, as soon as it may: a waker that is still
 *               inside is a race.
 * Spec          specs/sched/Poller.tla. */
#include "sched/poller.h"
#include "sched/run_queues.h"

#include "stress.h"
#include "sched/timer.h"

struct state {
	wp_domain domain;
	wp_carrier *by_index[2];
	wp_carrier carrier, victim;
	wp_poller poller;
	wp_mpsc_node tasks[2];
	wp_atomic(uint32_t) wakeups;
	uint32_t used; /* plain: by the wakeup; then by who has freed it */
};

static void wakeup(void *arg)
{
	struct state *state = arg;

	state->used++;
	wp_fetch_add_relaxed(&state->wakeups, 1);
}

/* By the carrier's own thread, too: who wakes it must learn of it. */
static void registers(struct state *state)
{
	state->poller.config.wakeup = wakeup;
	state->poller.config.arg = state;
}

STRESS_INIT(init)
{
	wp_domain_init(&state->domain, state->by_index, 2);
	wp_carrier_init(&state->carrier, &state->domain, 0);
	wp_carrier_init(&state->victim, &state->domain, 1);
	state->carrier.poller = &state->poller;
	registers(state);
}

STRESS_ACTOR(submitter)
{
	wp_carrier_submit(&state->carrier, &state->tasks[0]);
}

static bool parks(struct state *state)
{
	wp_mpsc_node *stolen;

	return wp__poller_park(&state->poller, &state->carrier, &stolen);
}

/* Descheduled between try_park and its call: the loop leaves for it, and runs the others. */
STRESS_ACTOR(descheduled)
{
	registers(state);
	if (!parks(state)) {
		result->r[0] = 0;
		return;
	}
	wp_carrier_leave(&state->carrier);
	while (wp_carrier_poll(&state->carrier) != NULL)
		continue;
	result->r[0] = wp__poller_may_block(&state->poller, &state->carrier);
}

STRESS_ACTOR(read_word)
{
	result->r[1] = wp_load_relaxed(&state->carrier.word);
	result->r[2] = !wp_mpsc_is_quiescent(&state->carrier.queue);
}

STRESS_TEST(poller_descheduled,
	    .claim = "Who was descheduled before its system call does not block.",
	    .upholds = "Poller!BlockOnlyIfParked", .state_size = sizeof(struct state), .init = init,
	    .actors = {descheduled, submitter}, .arbiter = read_word, .results = 3,
	    .outcomes = {
		    {"0,0,*", ACCEPTABLE,
		     "it asks, and goes round: it sees the task, if it is there"},
		    {"1,*,*", FORBIDDEN,
		     "it blocks with a carrier that is not parked: nobody wakes it"},
		    {"*,*,*", FORBIDDEN, "parked, and nobody sleeps"},
	    });

/* Would block; was woken. Result: "would block, word, wakeups". */
STRESS_ACTOR(parks_and_asks)
{
	registers(state);
	result->r[0] = parks(state) && wp__poller_may_block(&state->poller, &state->carrier);
}

STRESS_ACTOR(read_wakeups)
{
	result->r[1] = wp_load_relaxed(&state->carrier.word);
	result->r[2] = wp_load_relaxed(&state->wakeups);
}

STRESS_TEST(poller_wakeup, .claim = "Who claims the wake of a poller calls its wakeup, once.",
	    .upholds = "Poller!WakeReachesSleeper", .state_size = sizeof(struct state),
	    .init = init, .actors = {parks_and_asks, submitter}, .arbiter = read_wakeups,
	    .results = 3,
	    .outcomes = {
		    {"1,3,1", ACCEPTABLE, "it blocks, the wakeup ends that"},
		    {"0,3,1", ACCEPTABLE, "it was woken before it asked"},
		    {"0,0,0", ACCEPTABLE, "it saw the task"},
		    {"0,0,1", ACCEPTABLE, "woken while it looked"},
		    {"1,3,0", FORBIDDEN, "claimed, and nobody calls: it blocks for ever"},
		    {"*,*,*", FORBIDDEN, "missed"},
	    });

/* One park; then it ends. Result: "freed while it was used". */
STRESS_ACTOR(parks_and_ends)
{
	registers(state);
	if (parks(state))
		wp_carrier_leave(&state->carrier);
	result->r[0] = 0;
	if (!wp__poller_is_over(&state->poller))
		return; /* it would yield, and ask again */
	result->r[0] = wp_load_relaxed(&state->wakeups) != state->poller.claimed;
	state->used = 0;
}

STRESS_TEST(poller_ends, .claim = "When a poller has ended, nobody is in its wakeup.",
	    .upholds = "Poller!WakeupIsOver", .state_size = sizeof(struct state), .init = init,
	    .actors = {parks_and_ends, submitter}, .results = 1,
	    .outcomes = {
		    {"0", ACCEPTABLE, "it waits, or none is to come"},
		    {"*", FORBIDDEN, "what the wakeup uses is freed under it"},
	    });

/* So it is when a searcher wakes it, who has seen the idle bit of an earlier park; or whoever has
 * armed a timer. */
STRESS_ACTOR(parks_before)
{
	wp_mpsc_node *stolen;

	if (wp_carrier_advertise(&state->carrier, WP_PARKED_FUTEX, &stolen))
		wp_carrier_leave(&state->carrier);
	parks_and_ends(state, result);
}

STRESS_ACTOR(searcher)
{
	wp_search(&state->domain, 1);
}

STRESS_ACTOR(armer)
{
	wp_timers_nudge(&state->carrier);
}

STRESS_TEST(poller_ends_searched, .claim = "So it is when it was sent to help a sibling.",
	    .upholds = "Poller!WakeupIsOver", .state_size = sizeof(struct state), .init = init,
	    .actors = {parks_before, searcher}, .results = 1,
	    .outcomes = {
		    {"0", ACCEPTABLE, "it waits, or none is to come"},
		    {"*", FORBIDDEN, "what the wakeup uses is freed under it"},
	    });

STRESS_TEST(poller_ends_nudged, .claim = "So it is when it was woken for a timer.",
	    .upholds = "Poller!WakeupIsOver", .state_size = sizeof(struct state), .init = init,
	    .actors = {parks_and_ends, armer}, .results = 1,
	    .outcomes = {
		    {"0", ACCEPTABLE, "it waits, or none is to come"},
		    {"*", FORBIDDEN, "what the wakeup uses is freed under it"},
	    });

/* It sleeps until it may end, as there is nothing to run. Result: "freed while it was used". */
STRESS_ACTOR(parks_and_awaits)
{
	registers(state);
	if (parks(state))
		wp_carrier_leave(&state->carrier);
	while (!wp__poller_is_over(&state->poller))
		wp__poller_await(&state->poller, WP_FOREVER);
	result->r[0] = wp_load_relaxed(&state->wakeups) != state->poller.claimed;
	state->used = 0;
}

STRESS_TEST(poller_awaits,
	    .claim = "A poller that ends sleeps until no wakeup is left, and no longer.",
	    .upholds = "Poller!CloseEnds", .state_size = sizeof(struct state), .init = init,
	    .actors = {parks_and_awaits, submitter}, .results = 1, .blocking = 1,
	    .outcomes = {
		    {"0", ACCEPTABLE, "it has ended, and none is to come"},
		    {"asleep", FORBIDDEN, "the wakeup has returned, and the close waits for ever"},
		    {"*", FORBIDDEN, "what the wakeup uses is freed under it"},
	    });
