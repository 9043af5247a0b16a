/* SPDX-License-Identifier: Apache-2.0
 * local_queue_half.c - the bounded run queue, with four slots: two tasks are taken at a time.
 *
 *   owner                  thief                   thief of the thief
 *   push, pop, overflow    steal two: one runs,    steal
 *                          one is in its ring
 *
 * Result        "times each was taken".
 * Why it works  As in local_queue.c. The global queue is popped while a chain of tasks is pushed to
 *               it.
 * Spec          specs/queue/LocalQueue.tla. */
#define WP_LOCAL_CAPACITY 4
#include "queue/local_queue.h"
#include "stress.h"

enum { TASKS = 5 };

struct item {
	wp_mpsc_node node;
	uint32_t value;
};

struct state {
	wp_local_queue local, own, third;
	wp_mpsc global;
	struct item items[TASKS + 2];
};

static void init(void *at)
{
	struct state *state = at;

	wp_local_queue_init(&state->local);
	wp_local_queue_init(&state->own);
	wp_local_queue_init(&state->third);
	wp_mpsc_init(&state->global);
}

static uint32_t push(struct state *state, uint32_t task)
{
	state->items[task - 1].value = task;
	return wp_local_queue_push(&state->local, &state->items[task - 1].node, &state->global);
}

static void took(wp_mpsc_node *node, stress_result *result)
{
	if (node != NULL)
		result->r[((struct item *)(void *)node)->value - 1]++;
}

static void steal(wp_local_queue *victim, wp_local_queue *own, stress_result *result)
{
	wp_mpsc_node *first;

	if (wp_local_queue_steal(victim, own, &first) > 0)
		took(first, result);
}

STRESS_ACTOR(take_rest)
{
	for (int most = 0; most < TASKS; most++) {
		took(wp_local_queue_pop(&state->local), result);
		took(wp_local_queue_pop(&state->own), result);
		took(wp_local_queue_pop(&state->third), result);
		took(wp_mpsc_pop(&state->global), result);
	}
}

#define NOT_ONCE {"*,*,*,*,*,*", FORBIDDEN, "a task was lost, or taken twice"}

/* Three tasks: the owner takes one, a thief takes one or two, and another thief steals from that
 * thief. */
STRESS_INIT(init_three)
{
	init(state);
	for (uint32_t task = 1; task <= 3; task++)
		push(state, task);
}

STRESS_ACTOR_CALL(owner, took(wp_local_queue_pop(&state->local), result))
STRESS_ACTOR_CALL(thief, steal(&state->local, &state->own, result))
STRESS_ACTOR_CALL(third, steal(&state->own, &state->third, result))

STRESS_TEST(local_queue_loot,
	    .claim = "A thief owns stolen tasks only after the victim has lost them.",
	    .upholds = "LocalQueue!NothingTwice", .state_size = sizeof(struct state),
	    .init = init_three, .actors = {owner, thief, third}, .arbiter = take_rest, .results = 6,
	    .outcomes = {{"1,1,1,0,0,0", ACCEPTABLE, "each task was taken once"}, NOT_ONCE});

/* Five tasks go into four slots, while a thief steals and another thread takes from the global
 * queue. Result: times each was taken; then the number of tasks moved at once. */
STRESS_INIT(init_four)
{
	init_three(state);
	push(state, 4);
}

STRESS_ACTOR_CALL(overflows, result->r[6] = push(state, 5))

STRESS_ACTOR(consumer)
{
	took(wp_mpsc_pop(&state->global), result);
	took(wp_mpsc_pop(&state->global), result);
}

STRESS_TEST(local_queue_chain,
	    .claim = "Half of the ring is moved at once and in order, or nothing is moved.",
	    .upholds = "LocalQueue!OverflowMovesHalf", .state_size = sizeof(struct state),
	    .init = init_four, .actors = {overflows, thief, consumer}, .arbiter = take_rest,
	    .results = 7,
	    .outcomes = {
		    {"1,1,1,1,1,0,2", ACCEPTABLE, "half"},
		    {"1,1,1,1,1,0,0", ACCEPTABLE, "a thief made room"},
		    {"*,*,*,*,*,*,*", FORBIDDEN,
		     "a task was lost or taken twice, or another number of tasks was moved"},
	    });

/* The queue is handed over while its owner works on it. Result: times each was taken; then the
 * number of former tasks left in the ring. */
STRESS_ACTOR(pops_and_pushes)
{
	took(wp_local_queue_pop(&state->local), result);
	push(state, 5);
}

STRESS_ACTOR_CALL(helper, wp_local_queue_hand_over(&state->local, &state->global))

STRESS_ACTOR(take_handed)
{
	wp_mpsc_node *node = wp_local_queue_pop(&state->local);

	result->r[6] = node != NULL && ((struct item *)(void *)node)->value < 5;
	took(node, result);
	take_rest(state, result);
}

STRESS_TEST(local_queue_handed, .claim = "A hand-over moves every task that was in the ring.",
	    .upholds = "LocalQueue!HandedOver", .state_size = sizeof(struct state),
	    .init = init_four, .actors = {pops_and_pushes, helper}, .arbiter = take_handed,
	    .results = 7,
	    .outcomes = {
		    {"1,1,1,1,1,0,0", ACCEPTABLE, "each task was taken once"},
		    {"*,*,*,*,*,*,*", FORBIDDEN, "a task was left, lost or taken twice"},
	    });

/* The thief's own ring is full, so it takes one task, which it runs. */
STRESS_INIT(init_full_thief)
{
	init(state);
	for (uint32_t task = 1; task <= 7; task++) {
		wp_local_queue *into = task <= 4 ? &state->own : &state->local;

		state->items[task - 1].value = task;
		wp_local_queue_push(into, &state->items[task - 1].node, &state->global);
	}
}

STRESS_TEST(local_queue_room,
	    .claim = "A thief steals no more tasks than its own ring has room for.",
	    .upholds = "LocalQueue!NothingLost", .state_size = sizeof(struct state),
	    .init = init_full_thief, .actors = {thief, third}, .arbiter = take_rest, .results = 7,
	    .outcomes = {{"1,1,1,1,1,1,1", ACCEPTABLE, "each task was taken once"},
			 {"*,*,*,*,*,*,*", FORBIDDEN, "a task was lost, or taken twice"}});
