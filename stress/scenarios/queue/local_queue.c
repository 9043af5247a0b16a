/* SPDX-License-Identifier: Apache-2.0
 * local_queue.c - the bounded run queue, with two slots: each task is taken exactly once.
 *
 *   owner                          thief          hander
 *   push, pop, overflow, keep      steal          move all to the global queue
 *
 * Result        "times each was taken, order".
 * Why it works  The arbiter takes what is left, so a lost task shows. The value of a task is plain:
 *               it is written before the push, and read by the thread that takes the task. With
 *               only two slots, each slot is soon written again.
 * Spec          specs/queue/LocalQueue.tla. */
#define WP_LOCAL_CAPACITY 2
#include "queue/local_queue.h"
#include "stress.h"

enum { TASKS = 5, ORDER = 5 };

struct item {
	wp_mpsc_node node;
	uint32_t value;
};

struct state {
	wp_local_queue local, own;
	wp_mpsc global;
	struct item items[TASKS];
	uint32_t last;
};

STRESS_INIT(init)
{
	wp_local_queue_init(&state->local);
	wp_local_queue_init(&state->own);
	wp_mpsc_init(&state->global);
}

static uint32_t push(struct state *state, uint32_t task)
{
	state->items[task - 1].value = task;
	return wp_local_queue_push(&state->local, &state->items[task - 1].node, &state->global);
}

/* Counts the task by its value, because the value is what its taker sees. */
static uint32_t took(wp_mpsc_node *node, stress_result *result)
{
	uint32_t value = node == NULL ? 0 : ((struct item *)(void *)node)->value;

	if (value > 0)
		result->r[value - 1]++;
	return value;
}

/* The owner pops one task; tasks from its ring must come in order. */
static void pop(struct state *state, stress_result *result)
{
	uint32_t value = took(wp_local_queue_pop(&state->local), result);

	if (value == 0)
		return;
	result->r[ORDER] += value < state->last;
	state->last = value;
}

STRESS_ACTOR(thief)
{
	wp_mpsc_node *first;

	if (wp_local_queue_steal(&state->local, &state->own, &first) > 0)
		took(first, result);
}

/* What a lone thief steals is not counted. */
STRESS_ACTOR(thief_alone)
{
	wp_mpsc_node *first;

	wp_local_queue_steal(&state->local, &state->own, &first);
}

STRESS_ACTOR(take_rest)
{
	for (int most = 0; most < TASKS; most++)
		pop(state, result);
	for (int most = 0; most < TASKS; most++)
		took(wp_mpsc_pop(&state->global), result);
}

STRESS_ACTOR(owner)
{
	push(state, 1);
	push(state, 2);
	pop(state, result);
	push(state, 3);
	pop(state, result);
}

#define ONCE "1,1,1,0,0,0"
#define NOT_ONCE {"*,*,*,*,*,*", FORBIDDEN, "a task was lost, taken twice, or overtaken"}

STRESS_TEST(local_queue,
	    .claim = "Each task is taken once, with the value that it had when it was pushed.",
	    .upholds = "LocalQueue!NothingTwice", .state_size = sizeof(struct state), .init = init,
	    .actors = {owner, thief}, .arbiter = take_rest, .results = 6,
	    .outcomes = {{ONCE, ACCEPTABLE, "each task was taken once"}, NOT_ONCE});

/* Three tasks go into two slots. */
STRESS_ACTOR(overflows)
{
	push(state, 1);
	push(state, 2);
	push(state, 3);
}

STRESS_TEST(local_queue_overflow,
	    .claim = "A push into a full ring moves half of it away, unless a thief has made room.",
	    .upholds = "LocalQueue!NothingLost", .state_size = sizeof(struct state), .init = init,
	    .actors = {overflows, thief}, .arbiter = take_rest, .results = 6,
	    .outcomes = {{ONCE, ACCEPTABLE, "each task was taken once"}, NOT_ONCE});

/* Three tasks go into two slots. Result: "after a push, the ring held more tasks than it has room
 * for". The owner has read a head in its push, so the head that it reads here is no older. */
STRESS_ACTOR(overflows_and_counts)
{
	for (uint32_t task = 1; task <= 3; task++) {
		push(state, task);
		result->r[0] |= wp__local_queue_between(wp__local_queue_head(&state->local),
							wp__local_queue_tail(&state->local)) >
				WP_LOCAL_CAPACITY;
	}
}

STRESS_TEST(local_queue_bounded, .claim = "A ring never holds more tasks than it has slots.",
	    .upholds = "LocalQueue!Bounded", .state_size = sizeof(struct state), .init = init,
	    .actors = {overflows_and_counts, thief_alone}, .results = 1,
	    .outcomes = {
		    {"0", ACCEPTABLE, "the ring holds at most as many tasks as slots"},
		    {"1", FORBIDDEN, "overfull: the ring holds more tasks than slots"},
	    });

/* The ring goes round twice while a thief holds an old head. */
STRESS_ACTOR(goes_round)
{
	push(state, 1);
	for (uint32_t task = 2; task <= TASKS; task++) {
		push(state, task);
		pop(state, result);
	}
}

STRESS_TEST(local_queue_round, .claim = "An old head is not mistaken for a new one (no ABA).",
	    .upholds = "LocalQueue!NothingTwice", .state_size = sizeof(struct state), .init = init,
	    .actors = {goes_round, thief}, .arbiter = take_rest, .results = 6,
	    .outcomes = {{"1,1,1,1,1,0", ACCEPTABLE, "each task was taken once"}, NOT_ONCE});

/* A sibling checks a ring that is never empty. Result: "it was reported empty". */
STRESS_INIT(init_one)
{
	init(state);
	push(state, 1);
}

STRESS_ACTOR(push_and_pop)
{
	push(state, 2);
	wp_local_queue_pop(&state->local);
}

STRESS_ACTOR_CALL(asker, result->r[0] = wp_local_queue_stealable(&state->local) == 0)

STRESS_TEST(local_queue_asked, .claim = "A ring that is never empty is not reported as empty.",
	    .upholds = "LocalQueue!EmptyIsTrue", .state_size = sizeof(struct state),
	    .init = init_one, .actors = {push_and_pop, asker}, .results = 1,
	    .outcomes = {
		    {"0", ACCEPTABLE, "the ring was seen to hold a task"},
		    {"1", FORBIDDEN, "the ring was reported as empty"},
	    });

/* The same, where a thief takes one of two tasks. */
STRESS_ACTOR_CALL(push_second, push(state, 2))

STRESS_ACTOR(takes_one_of_two)
{
	wp_mpsc_node *first;

	if (wp_local_queue_stealable(&state->local) == 2)
		wp_local_queue_steal(&state->local, &state->own, &first);
}

STRESS_TEST(local_queue_asked_stolen,
	    .claim = "A ring is not reported as empty while a thief takes one of two tasks.",
	    .upholds = "LocalQueue!EmptyIsTrue", .state_size = sizeof(struct state),
	    .init = init_one, .actors = {push_second, takes_one_of_two, asker}, .results = 1,
	    .outcomes = {
		    {"0", ACCEPTABLE, "the ring was seen to hold a task"},
		    {"1", FORBIDDEN, "the ring was reported as empty"},
	    });

/* The owner takes the task in the next slot back, or the hander takes it. */
STRESS_ACTOR(keeps)
{
	state->items[0].value = 1;
	wp_local_queue_keep(&state->local, &state->items[0].node);
	push(state, 2);
	pop(state, result);
}

/* The owner keeps a third task while two are in the ring, or a thief has just taken one of them.
 * Result: "times each was taken, a later task came first". */
STRESS_INIT(init_two)
{
	init(state);
	push(state, 1);
	push(state, 2);
}

STRESS_ACTOR(keeps_or_pushes)
{
	state->items[2].value = 3;
	if (!wp_local_queue_keep(&state->local, &state->items[2].node))
		wp_local_queue_push(&state->local, &state->items[2].node, &state->global);
	pop(state, result);
}

STRESS_TEST(local_queue_order, .claim = "The next slot overtakes no task in the ring.",
	    .upholds = "LocalQueue!FifoPerOwner", .state_size = sizeof(struct state),
	    .init = init_two, .actors = {keeps_or_pushes, thief}, .arbiter = take_rest,
	    .results = 6,
	    .outcomes = {{ONCE, ACCEPTABLE, "the tasks came in their order"},
			 {"*,*,*,*,*,*", FORBIDDEN, "a task was overtaken, lost or taken twice"}});

/* A task is in the global queue, beside a ring that is never empty. Result: "polls without it". */
STRESS_ACTOR(polls)
{
	for (int poll = 0; poll < WP_LOCAL_TURNS; poll++) {
		if (wp_local_queue_is_global_turn(&state->local) &&
		    wp_mpsc_pop(&state->global) != NULL)
			return;
		result->r[0]++;
		push(state, 2);
		wp_local_queue_pop(&state->local);
	}
}

STRESS_INIT(init_spilt)
{
	init_one(state);
	wp_mpsc_push(&state->global, &state->items[2].node);
}

STRESS_TEST(local_queue_turn,
	    .claim = "A task that has overflowed is taken, however busy the ring is.",
	    .upholds = "LocalQueue!GlobalServed", .state_size = sizeof(struct state),
	    .init = init_spilt, .actors = {polls}, .results = 1,
	    .outcomes = {
		    {"1", ACCEPTABLE, "the second poll begins with the global queue"},
		    {"*", FORBIDDEN, "another poll took it, or none did"},
	    });

STRESS_ACTOR_CALL(helper, wp_local_queue_hand_over(&state->local, &state->global))

STRESS_ACTOR(helper_takes)
{
	wp_local_queue_hand_over(&state->local, &state->global);
	for (int most = 0; most < 2; most++)
		took(wp_mpsc_pop(&state->global), result);
}

STRESS_TEST(local_queue_next,
	    .claim = "The task in the next slot is run once, and is handed over with the others.",
	    .upholds = "LocalQueue!HandedOver", .state_size = sizeof(struct state), .init = init,
	    .actors = {keeps, helper_takes}, .arbiter = take_rest, .results = 6,
	    .outcomes = {{"1,1,0,0,0,0", ACCEPTABLE, "each task was taken once"}, NOT_ONCE});

/* One thief, one hander, two tasks. */
STRESS_TEST(local_queue_takers,
	    .claim = "Threads that take tasks at the same time take different tasks.",
	    .upholds = "LocalQueue!NothingTwice", .state_size = sizeof(struct state),
	    .init = init_two, .actors = {thief, helper, thief}, .arbiter = take_rest, .results = 6,
	    .outcomes = {{"1,1,0,0,0,0", ACCEPTABLE, "each task was taken once"}, NOT_ONCE});
