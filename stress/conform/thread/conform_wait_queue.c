/* SPDX-License-Identifier: Apache-2.0
 * conform_wait_queue.c - the threads of specs/thread/WaitQueue.tla: two wait once, and may be late;
 * two give.
 *
 *   waiter                     granter
 *   take a thing, or wait      give a thing to the first waiter in the queue, or leave it
 *
 * Why it works  The object is a count under the lock of the queue. The waiters are OS threads,
 *               which sleep in the futex of their waiter. The deadline may come at any time while
 *               one sleeps.
 * Spec          specs/thread/WaitQueue.tla. Compared by wakeproof conform -t wait_queue. */
#include "stress.h"
#include "scenarios/thread/things.h"

enum { WAITERS = 2, LATE = 1 };

struct state {
	struct things things;
	uint32_t has[WAITERS];
	_Alignas(WP_LINE) wp_waiter waiters[WAITERS];
};

/* python/wakeproof/judge/conform/maps/wait_queue.py reads the state at these places. */
_Static_assert(offsetof(struct state, things.lock.state) == 0, "LOCK");
_Static_assert(offsetof(struct state, things.count) == 4, "THINGS");
_Static_assert(offsetof(struct state, has) == 24, "HAS");
_Static_assert(offsetof(struct state, waiters) == 128, "WAITERS");
_Static_assert(sizeof(wp_waiter) == 80, "EACH");
_Static_assert(offsetof(wp_waiter, state) == 52, "STATE");

STRESS_INIT(init)
{
	wp_init(&state->things.lock.state, 0);
	for (int index = 0; index < WAITERS; index++)
		wp__waiter_init(&state->waiters[index], NULL, NULL);
}

/* True: the waiter has a thing. */
static bool begin(struct state *state, int index)
{
	bool is_taken;

	wp_lock_acquire(&state->things.lock);
	is_taken = state->things.count > 0 && state->things.line.first == NULL;
	if (is_taken) {
		state->things.count--;
		state->has[index] = 1;
	} else {
		wp__wait_queue_add(&state->things.line, &state->waiters[index]);
	}
	wp_lock_release(&state->things.lock);
	return is_taken;
}

static void waits(struct state *state, int index)
{
	if (!begin(state, index) &&
	    wp__waiter_wait(&state->things.lock, &state->waiters[index], LATE) == WP_OK)
		state->has[index] = 1;
}

STRESS_ACTOR_CALL(waiter_a, waits(state, 0))
STRESS_ACTOR_CALL(waiter_b, waits(state, 1))
STRESS_ACTOR_CALL(granter, things_give(&state->things))

STRESS_TEST(conform_wait_queue, .claim = "The compiled wait queue is the specified one.",
	    .upholds = "WaitQueue!NothingLost", .state_size = sizeof(struct state), .init = init,
	    .actors = {waiter_a, waiter_b, granter, granter}, .results = 1, .blocking = 1,
	    .outcomes = {{"0", ACCEPTABLE, "all is done"}, {"asleep", ACCEPTABLE, "nobody gives"}});
