/* SPDX-License-Identifier: Apache-2.0
 * search_fragments.c - the search protocol from the middle: small enough for every reordering of RC11.
 *
 *   carrier 0          parks, or sleeps from the start
 *   carrier 1          holds the token: was sent to carrier 3, which has nothing
 *   carrier 2          in a long task, or about to go into one
 *   submitter          submits to carrier 2                      result: "carrier 0 got the task"
 *
 * Why it works  Each cut starts where a hand-off of kernel/sched/carrier.h starts, in a state that
 *               search.c reaches. Whatever carrier 1 or the submitter does, the task must come to
 *               carrier 0.
 * Spec          specs/sched/Search.tla: WorkConservation. */
#include "base/futex.h"
#include "sched/search.h"
#include "sched/run_queues.h"
#include "stress.h"

enum { CARRIERS = 4, TASKS = 3 };
#include "cluster.h"

static void init(void *at)
{
	cluster_init(at, CARRIERS);
}

/* Carrier 1 was woken as SEARCHING for carrier 3. */
STRESS_INIT(init_token)
{
	wp_mpsc_node *stolen;

	init(state);
	wp_carrier_advertise(&state->carriers[1], WP_PARKED_FUTEX, &stolen);
	wp_search(&state->domain, 3);
}

static void init_asleep(void *at)
{
	wp_mpsc_node *stolen;

	init(at);
	wp_carrier_advertise(&((struct state *)at)->carriers[0], WP_PARKED_FUTEX, &stolen);
}

STRESS_INIT(init_token_asleep)
{
	wp_mpsc_node *stolen;

	init_token(state);
	wp_carrier_advertise(&state->carriers[0], WP_PARKED_FUTEX, &stolen);
}

STRESS_ACTOR(holder)
{
	wp_carrier_leave(&state->carriers[1]);
}

STRESS_ACTOR(submitter)
{
	cluster_submit(state, 2, 0);
}

STRESS_ACTOR(parks)
{
	result->r[0] = wp_carrier_park(&state->carriers[0]) != NULL;
}

STRESS_ACTOR(sleeps)
{
	wp_carrier *carrier = &state->carriers[0];

	wp_carrier_sleep_until(carrier, WP_FOREVER);
	result->r[0] = wp_carrier_leave(carrier) != NULL;
}

#define TAKEN                                                                   \
	.outcomes = {                                                           \
		{"1", ACCEPTABLE, "carrier 0 took it"},                         \
		{"0", FORBIDDEN, "carrier 0 was woken for nothing"},            \
		{"asleep", LOST_WORK, "stranded beside a carrier that sleeps"}, \
	}

STRESS_TEST(search_fragments_triangle,
	    .claim = "Submitter, holder of the token and sleeper: one of them brings the task.",
	    .upholds = "Search!WorkConservation", .state_size = sizeof(struct state),
	    .init = init_token, .actors = {holder, submitter, parks}, .results = 1, .blocking = 1,
	    TAKEN);

STRESS_TEST(search_fragments_release,
	    .claim = "A submitter that is refused the token leaves its task to the holder.",
	    .upholds = "Search!WorkConservation", .state_size = sizeof(struct state),
	    .init = init_token_asleep, .actors = {holder, submitter, sleeps}, .results = 1,
	    .blocking = 1, TAKEN);

/* Carrier 2 takes its one task and goes into it; another one comes meanwhile. */
STRESS_INIT(init_one)
{
	init_asleep(state);
	wp_mpsc_push(&state->carriers[2].queue, &state->tasks[1]);
}

STRESS_ACTOR(goes_long)
{
	wp_carrier_poll(&state->carriers[2]);
}

STRESS_TEST(search_fragments_long,
	    .claim = "A task that comes while its carrier goes into another is brought away.",
	    .upholds = "Search!WorkConservation", .state_size = sizeof(struct state),
	    .init = init_one, .actors = {goes_long, submitter, sleeps}, .results = 1, .blocking = 1,
	    TAKEN);

/* Carrier 2 sleeps too: the submitter wakes it, and leaves. Result: "carrier 2 got the task". */
STRESS_INIT(init_home)
{
	wp_mpsc_node *stolen;

	init(state);
	wp_carrier_advertise(&state->carriers[2], WP_PARKED_FUTEX, &stolen);
}

STRESS_ACTOR(home)
{
	wp_carrier *carrier = &state->carriers[2];

	wp_carrier_sleep_until(carrier, WP_FOREVER);
	wp_carrier_leave(carrier);
	result->r[0] += wp_carrier_poll(carrier) != NULL;
}

/* A sibling on its way to sleep, which may not rob carrier 2 of its one task for nothing. */
STRESS_ACTOR(advertises)
{
	wp_mpsc_node *stolen;

	wp_carrier_advertise(&state->carriers[0], WP_PARKED_FUTEX, &stolen);
	result->r[0] = stolen != NULL;
}

STRESS_TEST(search_fragments_home,
	    .claim = "The task of a carrier that was woken for it is taken once.",
	    .upholds = "Search!WorkConservation", .state_size = sizeof(struct state),
	    .init = init_home, .actors = {home, submitter, advertises}, .results = 1, .blocking = 1,
	    .outcomes = {
		    {"1", ACCEPTABLE, "taken, at home or by the sibling"},
		    {"0", FORBIDDEN, "taken by nobody"},
		    {"2", FORBIDDEN, "taken twice"},
		    {"asleep", FORBIDDEN, "the carrier was not woken"},
	    });

/* Carrier 2 was woken, and goes into the first task that it takes. */
STRESS_ACTOR(wakes_long)
{
	wp_carrier *carrier = &state->carriers[2];

	wp_carrier_leave(carrier);
	wp_carrier_poll(carrier);
}

/* Two more tasks came; a sibling has taken the one it was woken for. */
STRESS_INIT(init_two_left)
{
	wp_mpsc *queue = &state->carriers[2].queue;

	init_home(state);
	wp_carrier_submit(&state->carriers[2], &state->tasks[0]);
	wp_mpsc_push(queue, &state->tasks[1]);
	wp_mpsc_push(queue, &state->tasks[2]);
	wp_mpsc_pop(queue);
}

STRESS_TEST(search_fragments_behind,
	    .claim = "Who sees one task behind another sees its carrier awake.",
	    .upholds = "Search!WorkConservation", .state_size = sizeof(struct state),
	    .init = init_two_left, .actors = {wakes_long, parks}, .results = 1, .blocking = 1,
	    TAKEN);

/* It was woken for a pinned task, which it takes first; another one came that may be stolen. */
STRESS_INIT(init_pinned)
{
	init_home(state);
	wp_carrier_submit_pinned(&state->carriers[2], &state->tasks[0]);
	wp_mpsc_push(&state->carriers[2].queue, &state->tasks[1]);
	state->carriers[2].inbox_next = true;
}

STRESS_TEST(search_fragments_pinned,
	    .claim = "Who sees the pinned task taken sees its carrier awake.",
	    .upholds = "Search!WorkConservation", .state_size = sizeof(struct state),
	    .init = init_pinned, .actors = {wakes_long, parks}, .results = 1, .blocking = 1, TAKEN);

/* Carrier 0 was woken and is descheduled for ever: its idle bit is set, its word is not parked. */
STRESS_INIT(init_woken)
{
	init_asleep(state);
	wp_carrier_submit(&state->carriers[0], &state->tasks[1]);
}

STRESS_ACTOR(lone_submitter)
{
	submitter(state, result);
	result->r[0] = 1;
}

STRESS_TEST(search_fragments_lone, .claim = "A submitter that nobody helps comes to its end.",
	    .upholds = "Search!SubmitTerminates", .state_size = sizeof(struct state),
	    .init = init_woken, .actors = {lone_submitter}, .results = 1,
	    .outcomes = {
		    {"1", ACCEPTABLE, "it left its task to the carrier that wakes"},
		    {"stuck", FORBIDDEN, "it searches for ever"},
	    });
