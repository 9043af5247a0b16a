/* SPDX-License-Identifier: Apache-2.0
 * poller.c - a poller parks its carrier, checks and blocks; it ends, and its memory is freed.
 *
 *   poller                          submitter
 *   try_park; can_park?             submit
 *   descheduled: its loop leaves    wake: wakeup(arg)
 *   resumed: can_park?
 *
 * Result        `poller_parks`: "would block, word, wakeups".
 * Why it works  No actor blocks in a system call: whether it would is the result. `poller_ends`
 *               frees the wakeup's memory with a plain write as soon as it may, so a waker that is
 *               still inside is a data race.
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
	uint32_t used; /* plain: belongs to the wakeup, then to the thread that has freed it */
};

static void wakeup(void *arg)
{
	struct state *state = arg;

	state->used++;
	wp_fetch_add_relaxed(&state->wakeups, 1);
}

/* Called by the carrier's own thread, which the threads that wake it must know. */
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

STRESS_ACTOR_CALL(submitter, wp_carrier_submit(&state->carrier, &state->tasks[0]))

static bool parks(struct state *state)
{
	wp_mpsc_node *stolen;

	return wp__poller_park(&state->poller, &state->carrier, &stolen);
}

/* The poller is descheduled between try_park and its call, and the loop leaves the park and runs
 * others. */
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
	    .claim = "A poller that was descheduled before its system call does not block.",
	    .upholds = "Poller!BlockOnlyIfParked", .state_size = sizeof(struct state), .init = init,
	    .actors = {descheduled, submitter}, .arbiter = read_word, .results = 3,
	    .outcomes = {
		    {"0,0,*", ACCEPTABLE,
		     "the poller checks and goes round: it sees the task, if there is one"},
		    {"1,*,*", FORBIDDEN,
		     "lost wakeup: the poller blocks, and its carrier is not parked"},
		    {"*,*,*", FORBIDDEN, "the carrier is parked, and no thread sleeps"},
	    });

/* Result: "would block, word, wakeups". */
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

STRESS_TEST(
	poller_wakeup, .claim = "A thread that claims a poller's wake calls its wakeup once.",
	.upholds = "Poller!WakeReachesSleeper", .state_size = sizeof(struct state), .init = init,
	.actors = {parks_and_asks, submitter}, .arbiter = read_wakeups, .results = 3,
	.outcomes = {
		{"1,3,1", ACCEPTABLE, "the poller blocks, and the wakeup ends that"},
		{"0,3,1", ACCEPTABLE, "the poller was woken before it checked"},
		{"0,0,0", ACCEPTABLE, "the poller saw the task"},
		{"0,0,1", ACCEPTABLE, "the poller was woken while it checked"},
		{"1,3,0", FORBIDDEN,
		 "lost wakeup: the wake is claimed but never sent, and the poller blocks for ever"},
		{"*,*,*", FORBIDDEN, "missed"},
	});

/* The poller parks once, and then ends. Result: "freed while it was used". */
STRESS_ACTOR(parks_and_ends)
{
	registers(state);
	if (parks(state))
		wp_carrier_leave(&state->carrier);
	result->r[0] = 0;
	if (!wp__poller_is_over(&state->poller))
		return; /* the poller would yield, and check again */
	result->r[0] = wp_load_relaxed(&state->wakeups) != state->poller.claimed;
	state->used = 0;
}

STRESS_TEST(poller_ends, .claim = "No thread is in a poller's wakeup after the poller has ended.",
	    .upholds = "Poller!WakeupIsOver", .state_size = sizeof(struct state), .init = init,
	    .actors = {parks_and_ends, submitter}, .results = 1,
	    .outcomes = {
		    {"0", ACCEPTABLE, "the poller waits for the waker, or no waker is to come"},
		    {"*", FORBIDDEN,
		     "use after free: the wakeup's memory is freed during the wakeup"},
	    });

/* The same holds for a searcher that has seen the idle bit of an earlier park, and for a thread
 * that has armed a timer. */
STRESS_ACTOR(parks_before)
{
	wp_mpsc_node *stolen;

	if (wp_carrier_advertise(&state->carrier, WP_PARKED_FUTEX, &stolen))
		wp_carrier_leave(&state->carrier);
	parks_and_ends(state, result);
}

STRESS_ACTOR_CALL(searcher, wp_search(&state->domain, 1))
STRESS_ACTOR_CALL(armer, wp_timers_nudge(&state->carrier))

STRESS_TEST(poller_ends_searched,
	    .claim = "No searcher is in a poller's wakeup after the poller has ended.",
	    .upholds = "Poller!WakeupIsOver", .state_size = sizeof(struct state), .init = init,
	    .actors = {parks_before, searcher}, .results = 1,
	    .outcomes = {
		    {"0", ACCEPTABLE, "the poller waits for the waker, or no waker is to come"},
		    {"*", FORBIDDEN,
		     "use after free: the wakeup's memory is freed during the wakeup"},
	    });

STRESS_TEST(
	poller_ends_nudged,
	.claim = "No thread that armed a timer is in a poller's wakeup after the poller has ended.",
	.upholds = "Poller!WakeupIsOver", .state_size = sizeof(struct state), .init = init,
	.actors = {parks_and_ends, armer}, .results = 1,
	.outcomes = {
		{"0", ACCEPTABLE, "the poller waits for the waker, or no waker is to come"},
		{"*", FORBIDDEN, "use after free: the wakeup's memory is freed during the wakeup"},
	});

/* The poller has nothing to run, and sleeps until it may end. Result: "freed while it was used". */
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
		    {"0", ACCEPTABLE, "the poller has ended, and no wakeup is to come"},
		    {"asleep", FORBIDDEN,
		     "lost wakeup: the last wakeup has returned, and the close waits for ever"},
		    {"*", FORBIDDEN,
		     "use after free: the wakeup's memory is freed during the wakeup"},
	    });
