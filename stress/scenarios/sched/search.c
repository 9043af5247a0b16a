/* SPDX-License-Identifier: Apache-2.0
 * search.c - push stealing: a task behind a long one reaches an idle sibling.
 *
 *   carrier 0, carrier 1      submitter a, b                 result: "carriers that got a task"
 *   take one task, end        submit to carrier 2, which is in a long task
 *
 * Why it works  A carrier that has its task is done, as one in a long task is: the second task must
 *               be brought to the other. If both tasks are published and a carrier sleeps on, its
 *               actor never ends: "asleep".
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

/* Twin search_shipped: the longer queue of both siblings is stolen from before the carrier
 * parks. */
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

/* One task, from the own queue, a sibling's, or wherever a wake says. */
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

STRESS_ACTOR(submitter_a)
{
	cluster_submit(state, 2, 0);
}

STRESS_ACTOR(submitter_b)
{
	cluster_submit(state, 2, 1);
}

STRESS_TEST(search, .claim = "No carrier sleeps beside a task that it could take.",
	    .preemptions = 2, .upholds = "Search!WorkConservation",
	    .state_size = sizeof(struct state), .init = init,
	    .actors = {carrier_0, carrier_1, submitter_a, submitter_b}, .results = 1, .blocking = 1,
	    .outcomes = {
		    {"2", ACCEPTABLE, "both carriers got a task"},
		    {"asleep", LOST_WORK,
		     "stranded: a task waits for the long one, a carrier is idle"},
	    });

/* Carrier 0 alone; carrier 1 is in a long task, and both submit to it. Result: "carrier 0 got
 * one". */
STRESS_INIT(init_two)
{
	cluster_init(state, 2);
}

STRESS_ACTOR(long_a)
{
	cluster_submit(state, 1, 0);
}

STRESS_ACTOR(long_b)
{
	cluster_submit(state, 1, 1);
}

STRESS_TEST(search_two, .claim = "Of two carriers, the idle one takes a task of the busy one.",
	    .upholds = "Search!WorkConservation", .state_size = sizeof(struct state),
	    .init = init_two, .actors = {carrier_0, long_a, long_b}, .results = 1, .blocking = 1,
	    .outcomes = {
		    {"1", ACCEPTABLE, "carrier 0 took one"},
		    {"asleep", LOST_WORK, "stranded beside a carrier that sleeps"},
	    });

/* Carrier 0 is in a long task. Carrier 1 gives up a park for what comes to itself, and may have
 * been sent to carrier 0. Result: "tasks of carrier 1, token". */
STRESS_ACTOR(takes_two)
{
	wp_carrier *carrier = &state->carriers[1];

	take_one(carrier);
	take_one(carrier);
	result->r[0] = 2;
}

STRESS_ACTOR(behind_long)
{
	cluster_submit(state, 0, 0);
}

STRESS_ACTOR(to_itself)
{
	cluster_submit(state, 1, 1);
}

STRESS_ACTOR(look_at_token)
{
	result->r[1] = wp_load_relaxed(&state->domain.searching);
}

STRESS_TEST(search_given_up,
	    .claim = "A search ends, also if its carrier gives up the park it was found in.",
	    .preemptions = 2, .whole = SEEN_SC | SEEN_TSO,
	    .upholds = "Search!EveryStartSearchMatchedByOneStop",
	    .state_size = sizeof(struct state), .init = init_two,
	    .actors = {takes_two, behind_long, to_itself}, .arbiter = look_at_token, .results = 2,
	    .blocking = 1,
	    .outcomes = {
		    {"2,0", ACCEPTABLE, "it has both, and the token is free"},
		    {"2,1", FORBIDDEN, "nobody searches any more"},
		    {"asleep", LOST_WORK, "stranded beside a carrier that sleeps"},
	    });

/* Both tasks go to carrier 0, which may sleep; carrier 1 must get the second. */
STRESS_ACTOR(target_a)
{
	cluster_submit(state, 0, 0);
}

STRESS_ACTOR(target_b)
{
	cluster_submit(state, 0, 1);
}

STRESS_TEST(search_wake,
	    .claim = "Waking its carrier does not end the duty to a task that is not alone.",
	    .preemptions = 3, .upholds = "Search!WorkConservation",
	    .state_size = sizeof(struct state), .init = init,
	    .actors = {carrier_0, carrier_1, target_a, target_b}, .results = 1, .blocking = 1,
	    .outcomes = {
		    {"2", ACCEPTABLE, "both carriers got a task"},
		    {"asleep", LOST_WORK, "stranded behind the task that the woken carrier took"},
	    });

/* One task goes to carrier 1, which may sleep, the other to carrier 2. Carrier 0 looks at carrier 1
 * first, and at carrier 2 when carrier 1 may have been there. */
STRESS_ACTOR(target_1)
{
	cluster_submit(state, 1, 1);
}

STRESS_TEST(search_mixed, .claim = "A carrier that was woken for a task does not go into another.",
	    .preemptions = 3, .upholds = "Search!WorkConservation",
	    .state_size = sizeof(struct state), .init = init,
	    .actors = {carrier_0, carrier_1, submitter_a, target_1}, .results = 1, .blocking = 1,
	    .outcomes = {
		    {"2", ACCEPTABLE, "both carriers got a task"},
		    {"asleep", LOST_WORK, "stranded: its carrier was woken, and took another one"},
	    });

/* Carrier 2 submits to itself and goes into a long task. Result: "task taken". */
STRESS_ACTOR(long_after_submit)
{
	wp_carrier_submit_internal(&state->carriers[2], &state->tasks[0]);
}

#define TAKEN                                                                     \
	.outcomes = {                                                             \
		{"1", ACCEPTABLE, "the idle carrier took it"},                    \
		{"asleep", LOST_WORK, "stranded: the idle carrier was not told"}, \
	}

STRESS_TEST(search_internal, .claim = "A carrier that submits to itself tells an idle sibling.",
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

STRESS_TEST(search_reenqueue, .claim = "A task that was put back behind another one is offered.",
	    .upholds = "Search!WorkConservation", .state_size = sizeof(struct state),
	    .init = init_inbox, .actors = {carrier_0, long_after_reenqueue}, .results = 1,
	    .blocking = 1, TAKEN);

/* Carrier 2 sleeps, is sent a task and a pinned one, and stays in the first that it takes. */
STRESS_ACTOR(pinned_submitter)
{
	wp_carrier_submit_pinned(&state->carriers[2], &state->tasks[1]);
}

STRESS_ACTOR(long_after_first)
{
	wp_mpsc_node *first = take_one(&state->carriers[2]);

	/* Took the stealable one: carrier 0 gets another, so that it has one to take. */
	if (first != &state->tasks[1])
		cluster_submit(state, 0, 2);
}

STRESS_TEST(search_pinned, .claim = "A pinned task that overtakes leaves nothing stranded.",
	    .preemptions = 2, .whole = SEEN_SC, .upholds = "Search!WorkConservation",
	    .state_size = sizeof(struct state), .init = init,
	    .actors = {carrier_0, long_after_first, submitter_a, pinned_submitter}, .results = 1,
	    .blocking = 1, TAKEN);

/* Carrier 2 is in a long task and is sent a pinned one: nothing for carrier 0. */
STRESS_TEST(search_unstealable, .claim = "A task that may not be stolen keeps nobody awake.",
	    .upholds = "Search!ParkTerminates", .state_size = sizeof(struct state), .init = init,
	    .actors = {carrier_0, pinned_submitter}, .results = 1, .blocking = 1,
	    .outcomes = {
		    {"asleep", ACCEPTABLE, "nothing to do: it sleeps"},
		    {"1", FORBIDDEN, "it took a task that it may not take"},
		    {"stuck", FORBIDDEN, "it spins: the pinned task counts as a hit"},
	    });
