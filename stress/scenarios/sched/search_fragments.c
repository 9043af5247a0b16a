/* SPDX-License-Identifier: Apache-2.0
 * search_fragments.c - fragments of the search protocol, small enough for all reorderings of RC11.
 *
 *   carrier 0          parks, or sleeps from the start
 *   carrier 1          holds the token: was sent to carrier 3, which has nothing
 *   carrier 2          in a long task, or about to go into one
 *   submitter          submits to carrier 2
 *
 * Result        "carrier 0 got the task".
 * Why it works  Each fragment starts where a hand-off of kernel/sched/carrier.h starts, in a state
 *               that search.c reaches. Whatever carrier 1 or the submitter does, the task must
 *               reach carrier 0.
 * Spec          specs/sched/Search.tla: WorkConservation. */
#include "base/futex.h"
#include "sched/search.h"
#include "sched/run_queues.h"
#include "stress.h"

enum { CARRIERS = 4, TASKS = 3 };
#include "cluster.h"

/* One token, so that the second who asks for one is refused. */
static void init(void *at)
{
	cluster_init(at, CARRIERS);
	((struct state *)at)->domain.limit = 1;
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

STRESS_ACTOR_CALL(holder, wp_carrier_leave(&state->carriers[1]))
STRESS_ACTOR_CALL(submitter, cluster_submit(state, 2, 0))
STRESS_ACTOR_CALL(parks, result->r[0] = wp_carrier_park(&state->carriers[0]) != NULL)

STRESS_ACTOR(sleeps)
{
	wp_carrier *carrier = &state->carriers[0];

	wp_carrier_sleep_until(carrier, WP_FOREVER);
	result->r[0] = wp_carrier_leave(carrier) != NULL;
}

#define TAKEN                                                                         \
	.outcomes = {                                                                 \
		{"1", ACCEPTABLE, "carrier 0 took the task"},                         \
		{"0", FORBIDDEN, "spurious wakeup: carrier 0 was woken for no task"}, \
		{"asleep", LOST_WORK, "stranded beside a carrier that sleeps"},       \
	}

STRESS_TEST(search_fragments_triangle,
	    .claim = "Either the submitter, the token's holder or the sleeper moves the task.",
	    .upholds = "Search!WorkConservation", .state_size = sizeof(struct state),
	    .init = init_token, .actors = {holder, submitter, parks}, .results = 1, .blocking = 1,
	    TAKEN);

STRESS_TEST(search_fragments_release,
	    .claim = "A submitter that is refused the token leaves its task to the token's holder.",
	    .upholds = "Search!WorkConservation", .state_size = sizeof(struct state),
	    .init = init_token_asleep, .actors = {holder, submitter, sleeps}, .results = 1,
	    .blocking = 1, TAKEN);

/* Carrier 2 takes its one task and runs it; another task arrives meanwhile. */
STRESS_INIT(init_one)
{
	init_asleep(state);
	wp_mpsc_push(&state->carriers[2].queue, &state->tasks[1]);
}

STRESS_ACTOR_CALL(goes_long, wp_carrier_poll(&state->carriers[2]))

STRESS_TEST(
	search_fragments_long,
	.claim =
		"A task that arrives while its carrier begins another one reaches an idle carrier.",
	.upholds = "Search!WorkConservation", .state_size = sizeof(struct state), .init = init_one,
	.actors = {goes_long, submitter, sleeps}, .results = 1, .blocking = 1, TAKEN);

/* Carrier 2 sleeps too; the submitter wakes it, and leaves. Result: "carrier 2 got the task". */
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

/* A sibling on its way to sleep; it must not steal carrier 2's only task for nothing. */
STRESS_ACTOR(advertises)
{
	wp_mpsc_node *stolen;

	wp_carrier_advertise(&state->carriers[0], WP_PARKED_FUTEX, &stolen);
	result->r[0] = stolen != NULL;
}

STRESS_TEST(search_fragments_home,
	    .claim = "A task is taken once, at home or by a sibling that steals.",
	    .upholds = "Search!WorkConservation", .state_size = sizeof(struct state),
	    .init = init_home, .actors = {home, submitter, advertises}, .results = 1, .blocking = 1,
	    .outcomes = {
		    {"1", ACCEPTABLE, "the task was taken, at home or by the sibling"},
		    {"0", FORBIDDEN, "no carrier took the task"},
		    {"2", FORBIDDEN, "the task was taken twice"},
		    {"asleep", FORBIDDEN, "lost wakeup: the carrier was not woken"},
	    });

/* Carrier 2 was woken, and stays in the first task that it takes. */
STRESS_ACTOR(wakes_long)
{
	wp_carrier *carrier = &state->carriers[2];

	wp_carrier_leave(carrier);
	wp_carrier_poll(carrier);
}

/* Two more tasks arrived; a sibling has taken the one for which carrier 2 was woken. */
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
	    .claim = "A carrier that sees one task behind another sees the queue's carrier awake.",
	    .upholds = "Search!WorkConservation", .state_size = sizeof(struct state),
	    .init = init_two_left, .actors = {wakes_long, parks}, .results = 1, .blocking = 1,
	    TAKEN);

/* Carrier 2 was woken for a pinned task, which it takes first; another task arrived that can be
 * stolen. */
STRESS_INIT(init_pinned)
{
	init_home(state);
	wp_carrier_submit_pinned(&state->carriers[2], &state->tasks[0]);
	wp_mpsc_push(&state->carriers[2].queue, &state->tasks[1]);
	state->carriers[2].inbox_next = true;
}

STRESS_TEST(search_fragments_pinned,
	    .claim = "A carrier that sees the pinned task taken sees the queue's carrier awake.",
	    .upholds = "Search!WorkConservation", .state_size = sizeof(struct state),
	    .init = init_pinned, .actors = {wakes_long, parks}, .results = 1, .blocking = 1, TAKEN);

/* Carrier 0 was woken and is descheduled for ever: its idle bit is set, and its word is not
 * parked. */
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

STRESS_TEST(search_fragments_lone,
	    .claim = "A submitter comes to its end without help from other threads.",
	    .upholds = "Search!SubmitTerminates", .state_size = sizeof(struct state),
	    .init = init_woken, .actors = {lone_submitter}, .results = 1,
	    .outcomes = {
		    {"1", ACCEPTABLE, "the submitter left its task to the carrier that wakes"},
		    {"stuck", FORBIDDEN, "the submitter searches for ever"},
	    });
