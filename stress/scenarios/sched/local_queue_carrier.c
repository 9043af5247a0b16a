/* SPDX-License-Identifier: Apache-2.0
 * local_queue_carrier.c - carriers with rings of four: a task that is pushed, overflows, or is
 * stolen with another one reaches an idle sibling.
 *
 *   carrier 0, carrier 1           carrier 2
 *   take some, end                 push to itself, be in a long task
 *
 * Result        "tasks that they got".
 * Why it works  As in search.c, the actor of a carrier ends when it has its tasks, as if it then
 *               ran a long task. If a carrier sleeps on beside a task in a ring or in the global
 *               queue, its actor never ends: "asleep".
 * Spec          specs/sched/LocalQueueCarrier.tla: NothingStrands, SlotIsNext. */
#include "sched/local_queue_carrier.h"
#include "sched/run_queues.h"
#include "stress.h"

enum { CARRIERS = 3, TASKS = 6, LONG = 2 /* the carrier in a long task */ };

struct state {
	wp_carrier carriers[CARRIERS];
	wp_local_queue_carrier bounded[CARRIERS];
	_Alignas(WP_LINE) wp_domain domain;
	_Alignas(WP_LINE) wp_carrier *by_index[CARRIERS];
	wp_mpsc_node tasks[TASKS];
};

STRESS_INIT(init)
{
	wp_domain_init(&state->domain, state->by_index, CARRIERS);
	for (uint32_t index = 0; index < CARRIERS; index++) {
		wp_carrier_init(&state->carriers[index], &state->domain, index);
		wp_local_queue_carrier_init(&state->carriers[index], &state->bounded[index]);
	}
}

/* Puts `many` tasks into carrier 2's ring, where every thread sees them. */
static void init_filled(struct state *state, uint32_t many)
{
	init(state);
	for (uint32_t task = 0; task < many; task++)
		wp__local_queue_carrier_push(&state->carriers[LONG], &state->tasks[task]);
}

static wp_mpsc_node *take_one(wp_carrier *carrier)
{
	wp_mpsc_node *task = wp_carrier_poll(carrier);

	while (task == NULL) {
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

STRESS_ACTOR_CALL(pusher, wp_carrier_submit_internal(&state->carriers[LONG], &state->tasks[5]))

STRESS_TEST(local_queue_carrier,
	    .claim = "A carrier that pushes to its ring wakes an idle sibling.",
	    .upholds = "LocalQueueCarrier!NothingStrands", .state_size = sizeof(struct state),
	    .init = init, .actors = {carrier_0, pusher}, .results = 1, .blocking = 1,
	    .outcomes = {
		    {"1", ACCEPTABLE, "the idle carrier took the task"},
		    {"asleep", LOST_WORK, "lost wakeup: the task is stranded in the ring"},
	    });

/* Another task is submitted to carrier 2, and the search for that task may hold the token. */
STRESS_ACTOR_CALL(submitter, wp_carrier_submit(&state->carriers[LONG], &state->tasks[0]))

STRESS_TEST(local_queue_carrier_refused,
	    .claim = "A carrier that has released the search token checks the rings, too.",
	    .preemptions = 2, .whole = SEEN_SC, .upholds = "LocalQueueCarrier!NothingStrands",
	    .state_size = sizeof(struct state), .init = init,
	    .actors = {carrier_0, carrier_1, pusher, submitter}, .results = 1, .blocking = 1,
	    .outcomes = {
		    {"2", ACCEPTABLE, "both idle carriers got a task"},
		    {"asleep", LOST_WORK,
		     "stranded: the push's search was refused, and no carrier checked the ring"},
	    });

/* A full ring overflows while carrier 0 takes the tasks that are left in it. */
STRESS_INIT(init_full)
{
	init_filled(state, WP_LOCAL_CAPACITY);
}

STRESS_ACTOR(takes_three)
{
	for (int task = 0; task < 3; task++)
		take_one(&state->carriers[0]);
	result->r[0] = 1;
}

STRESS_TEST(local_queue_carrier_overflow,
	    .claim = "A push that makes room wakes an idle sibling, as any push does.",
	    .upholds = "LocalQueueCarrier!NothingStrands", .state_size = sizeof(struct state),
	    .init = init_full, .actors = {takes_three, pusher}, .results = 1, .blocking = 1,
	    .outcomes = {
		    {"1", ACCEPTABLE, "carrier 0 got three of five tasks"},
		    {"asleep", LOST_WORK,
		     "stranded: the tasks were on their way when carrier 0 checked"},
	    });

/* The same by a yield, after which carrier 2 takes one task. */
STRESS_ACTOR(yields_and_polls)
{
	wp_carrier_reenqueue(&state->carriers[LONG], &state->tasks[5]);
	wp_carrier_poll(&state->carriers[LONG]);
}

STRESS_TEST(
	local_queue_carrier_yield,
	.claim = "A yield that makes room wakes an idle sibling, even if it is alone in its ring.",
	.upholds = "LocalQueueCarrier!NothingStrands", .state_size = sizeof(struct state),
	.init = init_full, .actors = {takes_three, yields_and_polls}, .results = 1, .blocking = 1,
	.outcomes = {
		{"1", ACCEPTABLE, "carrier 0 got three of five tasks"},
		{"asleep", LOST_WORK, "stranded in the global queue"},
	});

/* The same, and carrier 2 takes the tasks that are left. */
STRESS_ACTOR(pushes_and_drains)
{
	pusher(state, result);
	for (int task = 0; task < 3; task++)
		wp_local_queue_pop(&state->bounded[LONG].local);
}

STRESS_ACTOR(takes_two)
{
	for (int task = 0; task < 2; task++)
		take_one(&state->carriers[0]);
	result->r[0] = 1;
}

STRESS_TEST(local_queue_carrier_spilt,
	    .claim = "A carrier finds overflowed tasks before it sleeps.",
	    .upholds = "LocalQueueCarrier!NothingStrands", .state_size = sizeof(struct state),
	    .init = init_full, .actors = {takes_two, pushes_and_drains}, .results = 1,
	    .blocking = 1,
	    .outcomes = {
		    {"1", ACCEPTABLE, "carrier 0 got two of five tasks"},
		    {"asleep", LOST_WORK, "stranded in the global queue"},
	    });

/* Three tasks for three carriers: a thief may take two. */
STRESS_INIT(init_three)
{
	init_filled(state, 3);
}

STRESS_ACTOR_CALL(polls_one, wp_carrier_poll(&state->carriers[LONG]))

STRESS_TEST(local_queue_carrier_loot,
	    .claim = "A thief offers the stolen tasks that it does not run yet.",
	    .upholds = "LocalQueueCarrier!NothingStrands", .state_size = sizeof(struct state),
	    .init = init_three, .actors = {carrier_0, carrier_1, polls_one}, .results = 1,
	    .blocking = 1,
	    .outcomes = {
		    {"2", ACCEPTABLE, "each carrier got one task"},
		    {"asleep", LOST_WORK, "stranded in the ring of a thief"},
	    });

/* It is the global queue's turn, and a task is in the next slot. Result: "that task is next, a
 * sibling has another". */
STRESS_INIT(init_turn)
{
	init(state);
	wp_mpsc_push(&state->carriers[LONG].queue, &state->tasks[0]);
	state->bounded[LONG].local.turn = WP_LOCAL_TURNS - 1;
}

STRESS_ACTOR(yields_to)
{
	wp_carrier *carrier = &state->carriers[LONG];

	wp__local_queue_carrier_keep(carrier, &state->tasks[1]);
	wp_carrier_reenqueue(carrier, &state->tasks[2]);
	result->r[1] = wp_carrier_poll(carrier) == &state->tasks[1];
}

STRESS_TEST(local_queue_carrier_next, .claim = "No task runs before the one in the next slot.",
	    .upholds = "LocalQueueCarrier!SlotIsNext", .state_size = sizeof(struct state),
	    .init = init_turn, .actors = {carrier_0, yields_to}, .results = 2, .blocking = 1,
	    .outcomes = {
		    {"1,1", ACCEPTABLE,
		     "the task of the next slot is next, and a sibling has another one"},
		    {"1,0", FORBIDDEN, "another task ran before it"},
		    {"asleep", LOST_WORK, "stranded behind it"},
	    });
