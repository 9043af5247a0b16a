/* SPDX-License-Identifier: Apache-2.0
 * search.c - push stealing: a task behind a long one reaches an idle sibling.
 *
 *   carrier 0, carrier 1      submitter a, b
 *   take one task, end        submit to carrier 2, which is in a long task
 *
 * Result        "carriers that got a task".
 * Why it works  The actor of a carrier ends when it has its task, as if it then ran a long task, so
 *               the second task must reach the other carrier. If both tasks are published and a
 *               carrier sleeps on, its actor never ends: "asleep".
 * Spec          specs/sched/Search.tla: WorkConservation, PublishedIsTaken. */
#include "sched/search.h"
#include "sched/run_queues.h"
#include "stress.h"

enum { CARRIERS = 3, TASKS = 3 };
#include "cluster.h"

STRESS_INIT(init)
{
	cluster_init(state, CARRIERS);
}

/* In the twin search_shipped the carrier steals from the longer of its two siblings' queues before
 * it parks. */
static wp_mpsc_node *pull(wp_carrier *carrier)
{
	wp_carrier *one = carrier->domain->carriers[(carrier->index + 1) % CARRIERS];
	wp_carrier *other = carrier->domain->carriers[(carrier->index + 2) % CARRIERS];
	wp_carrier *longer =
		wp_mpsc_published(&other->queue) > wp_mpsc_published(&one->queue) ? other : one;
	wp_mpsc_node *task = wp_carrier_steal(longer);

	if (task != NULL && wp_mpsc_has_published(&longer->queue))
		wp_search(longer->domain, longer->index);
	return task;
}

/* Takes one task: from its own queue, from a sibling's, or where a wakeup directs it. */
static wp_mpsc_node *take_one(wp_carrier *carrier)
{
	wp_mpsc_node *task = wp_carrier_poll(carrier);

	while (task == NULL) {
		if (wp_twin(search_shipped) && (task = pull(carrier)) != NULL)
			break;
		task = wp_carrier_park(carrier);
		if (task == NULL)
			task = wp_carrier_poll(carrier);
	}
	return task;
}

STRESS_ACTOR(carrier_0)
{
	take_one(&state->carriers[0]);
	result->r[0] = 1;
}

STRESS_ACTOR(carrier_1)
{
	take_one(&state->carriers[1]);
	result->r[0] = 1;
}

STRESS_ACTOR_CALL(submitter_a, cluster_submit(state, 2, 0))
STRESS_ACTOR_CALL(submitter_b, cluster_submit(state, 2, 1))

STRESS_TEST(search, .claim = "No carrier sleeps beside a task that it could take.",
	    .preemptions = 2, .upholds = "Search!WorkConservation",
	    .state_size = sizeof(struct state), .init = init,
	    .actors = {carrier_0, carrier_1, submitter_a, submitter_b}, .results = 1, .blocking = 1,
	    .outcomes = {
		    {"2", ACCEPTABLE, "both carriers got a task"},
		    {"asleep", LOST_WORK,
		     "stranded: a task waits behind the long one, and a carrier is idle"},
	    });

/* Carrier 0 is alone; carrier 1 is in a long task, and both submitters submit to it. Result:
 * "carrier 0 got one". */
STRESS_INIT(init_two)
{
	cluster_init(state, 2);
}

STRESS_ACTOR_CALL(long_a, cluster_submit(state, 1, 0))
STRESS_ACTOR_CALL(long_b, cluster_submit(state, 1, 1))

STRESS_TEST(search_two, .claim = "Of two carriers, the idle one takes a task from the busy one.",
	    .upholds = "Search!WorkConservation", .state_size = sizeof(struct state),
	    .init = init_two, .actors = {carrier_0, long_a, long_b}, .results = 1, .blocking = 1,
	    .outcomes = {
		    {"1", ACCEPTABLE, "carrier 0 took one task"},
		    {"asleep", LOST_WORK, "stranded beside a carrier that sleeps"},
	    });

/* Carrier 0 is in a long task. Carrier 1 gives up its park for a task of its own, and may have been
 * sent to carrier 0. Result: "tasks of carrier 1, token". */
STRESS_ACTOR(takes_two)
{
	wp_carrier *carrier = &state->carriers[1];

	take_one(carrier);
	take_one(carrier);
	result->r[0] = 2;
}

STRESS_ACTOR_CALL(behind_long, cluster_submit(state, 0, 0))
STRESS_ACTOR_CALL(to_itself, cluster_submit(state, 1, 1))
STRESS_ACTOR_CALL(look_at_token, result->r[1] = wp_load_relaxed(&state->domain.searching))

STRESS_TEST(search_given_up,
	    .claim = "A search ends even if its carrier gives up the park in which it was found.",
	    .preemptions = 2, .whole = SEEN_SC | SEEN_TSO,
	    .upholds = "Search!EveryStartSearchMatchedByOneStop",
	    .state_size = sizeof(struct state), .init = init_two,
	    .actors = {takes_two, behind_long, to_itself}, .arbiter = look_at_token, .results = 2,
	    .blocking = 1,
	    .outcomes = {
		    {"2,0", ACCEPTABLE, "carrier 1 has both tasks, and the token is free"},
		    {"2,1", FORBIDDEN,
		     "the token is never returned, so no carrier searches any more"},
		    {"asleep", LOST_WORK, "stranded beside a carrier that sleeps"},
	    });

/* Carrier 0 is in a long task. Carrier 1 puts off a steal for longer than the scenario lasts, and
 * wants the task that is pushed to itself. Result: "has its own task, token". */
STRESS_INIT(init_put_off)
{
	init_two(state);
	state->carriers[1].delay_ns = 1; /* not 0; the sleep has no deadline */
}

static wp_mpsc_node *park_and_put_off(wp_carrier *carrier)
{
	wp_mpsc_node *stolen;

	if (!wp_carrier_advertise(carrier, WP_PARKED_FUTEX, &stolen))
		return stolen;
	do
		wp_carrier_sleep_until(carrier, WP_FOREVER);
	while (wp_carrier_put_off(carrier));
	return wp_carrier_leave(carrier);
}

STRESS_ACTOR(takes_its_own)
{
	wp_carrier *carrier = &state->carriers[1];
	wp_mpsc_node *task;

	do {
		task = wp_carrier_poll(carrier);
		if (task == NULL)
			task = park_and_put_off(carrier);
	} while (task != &state->tasks[1]);
	result->r[0] = 1;
}

STRESS_TEST(search_put_off,
	    .claim = "A carrier that puts off a steal still wakes up for a task of its own.",
	    .preemptions = 2, .whole = SEEN_SC | SEEN_TSO, .upholds = "Search!DelayEndsForOwnTask",
	    .state_size = sizeof(struct state), .init = init_put_off,
	    .actors = {takes_its_own, behind_long, to_itself}, .arbiter = look_at_token,
	    .results = 2, .blocking = 1,
	    .outcomes = {
		    {"1,0", ACCEPTABLE, "carrier 1 has its task, and the token is free"},
		    {"1,1", FORBIDDEN,
		     "the token is never returned, so no carrier searches any more"},
		    {"asleep", LOST_WORK, "lost wakeup: carrier 1 sleeps beside its own task"},
	    });

/* The same where there are two tokens, and a task waits behind the long one of carrier 2, too: carrier
 * 1 may be sent there while it puts off a steal. */
STRESS_INIT(init_two_victims)
{
	cluster_init(state, CARRIERS);
	state->domain.limit = 2;
	state->carriers[1].delay_ns = 1;
}

STRESS_ACTOR_CALL(behind_another, cluster_submit(state, 2, 2))

STRESS_TEST(search_two_victims,
	    .claim = "A carrier that was sent to two victims returns both tokens.",
	    .preemptions = 2, .upholds = "Search!EveryStartSearchMatchedByOneStop",
	    .state_size = sizeof(struct state), .init = init_two_victims,
	    .actors = {takes_its_own, behind_long, behind_another, to_itself},
	    .arbiter = look_at_token, .results = 2, .blocking = 1,
	    .outcomes = {
		    {"1,0", ACCEPTABLE, "carrier 1 has its task, and both tokens are free"},
		    {"1,1", FORBIDDEN, "a token is never returned, so fewer carriers search"},
		    {"asleep", LOST_WORK, "lost wakeup: carrier 1 sleeps beside its own task"},
	    });

/* Both tasks go to carrier 0, which may sleep; carrier 1 must get the second. */
STRESS_ACTOR_CALL(target_a, cluster_submit(state, 0, 0))
STRESS_ACTOR_CALL(target_b, cluster_submit(state, 0, 1))

STRESS_TEST(
	search_wake,
	.claim =
		"A submitter that wakes the carrier still finds help for a task that is not alone.",
	.preemptions = 3, .upholds = "Search!WorkConservation", .state_size = sizeof(struct state),
	.init = init, .actors = {carrier_0, carrier_1, target_a, target_b}, .results = 1,
	.blocking = 1,
	.outcomes = {
		{"2", ACCEPTABLE, "both carriers got a task"},
		{"asleep", LOST_WORK, "stranded behind the task that the woken carrier took"},
	});

/* One task goes to carrier 1, which may sleep, the other to carrier 2. Carrier 0 checks carrier 1
 * first; by the time it checks carrier 2, carrier 1 may have been there. */
STRESS_ACTOR_CALL(target_1, cluster_submit(state, 1, 1))

STRESS_TEST(search_mixed,
	    .claim = "A carrier that was woken for a task does not begin another one.",
	    .preemptions = 3, .upholds = "Search!WorkConservation",
	    .state_size = sizeof(struct state), .init = init,
	    .actors = {carrier_0, carrier_1, submitter_a, target_1}, .results = 1, .blocking = 1,
	    .outcomes = {
		    {"2", ACCEPTABLE, "both carriers got a task"},
		    {"asleep", LOST_WORK,
		     "stranded: the carrier was woken for the task, and took another one"},
	    });

/* Carrier 2 submits to itself and begins a long task. Result: "task taken". */
STRESS_ACTOR_CALL(long_after_submit,
		  wp_carrier_submit_internal(&state->carriers[2], &state->tasks[0]))

#define TAKEN                                                                      \
	.outcomes = {                                                              \
		{"1", ACCEPTABLE, "the idle carrier took the task"},               \
		{"asleep", LOST_WORK, "stranded: the idle carrier was not woken"}, \
	}

STRESS_TEST(search_internal, .claim = "A carrier that submits to itself wakes an idle sibling.",
	    .upholds = "Search!WorkConservation", .state_size = sizeof(struct state), .init = init,
	    .actors = {carrier_0, long_after_submit}, .results = 1, .blocking = 1, TAKEN);

/* Carrier 2 has a task of its own; it puts back another one and takes its own first. */
STRESS_INIT(init_inbox)
{
	init(state);
	wp_mpsc_push(&state->carriers[2].inbox, &state->tasks[2]);
	state->carriers[2].inbox_next = true;
}

STRESS_ACTOR(long_after_reenqueue)
{
	wp_carrier_reenqueue(&state->carriers[2], &state->tasks[0]);
	wp_carrier_poll(&state->carriers[2]);
}

STRESS_TEST(search_reenqueue,
	    .claim = "A task that was put back behind another one is offered to siblings.",
	    .upholds = "Search!WorkConservation", .state_size = sizeof(struct state),
	    .init = init_inbox, .actors = {carrier_0, long_after_reenqueue}, .results = 1,
	    .blocking = 1, TAKEN);

/* Carrier 2 sleeps, gets a task and a pinned one, and stays in the first that it takes. */
STRESS_ACTOR_CALL(pinned_submitter, wp_carrier_submit_pinned(&state->carriers[2], &state->tasks[1]))

STRESS_ACTOR(long_after_first)
{
	wp_mpsc_node *first = take_one(&state->carriers[2]);

	/* It took the task that can be stolen, so carrier 0 gets another one to take. */
	if (first != &state->tasks[1])
		cluster_submit(state, 0, 2);
}

STRESS_TEST(search_pinned, .claim = "A pinned task that overtakes leaves no task stranded.",
	    .preemptions = 2, .whole = SEEN_SC, .upholds = "Search!WorkConservation",
	    .state_size = sizeof(struct state), .init = init,
	    .actors = {carrier_0, long_after_first, submitter_a, pinned_submitter}, .results = 1,
	    .blocking = 1, TAKEN);

/* Carrier 2 is in a long task and gets a pinned one, which carrier 0 cannot take. */
STRESS_TEST(search_unstealable, .claim = "A task that cannot be stolen keeps no carrier awake.",
	    .upholds = "Search!ParkTerminates", .state_size = sizeof(struct state), .init = init,
	    .actors = {carrier_0, pinned_submitter}, .results = 1, .blocking = 1,
	    .outcomes = {
		    {"asleep", ACCEPTABLE, "there is nothing to do, and the carrier sleeps"},
		    {"1", FORBIDDEN, "the carrier took a task that it must not take"},
		    {"stuck", FORBIDDEN,
		     "the carrier spins, because the pinned task counts as a hit"},
	    });
