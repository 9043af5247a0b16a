/* SPDX-License-Identifier: Apache-2.0
 * conform_channel.c - the threads of specs/sync/Channel.tla: one sends two items, one receives
 * until the end, and one closes.
 *
 *   sender                     receiver                   closer
 *   send; too late: again      receive; too late: again   close
 *
 * Why it works  The threads are OS threads, which sleep in the futex of their waiter. The deadline
 *               may come at any time while one sleeps. An item is its number.
 * Spec          specs/sync/Channel.tla. Compared by wakeproof conform -t channel. */
#include "sync/channel.h"
#include "litmus.h"
#include "stress.h"

enum { WAITERS = 2, ITEMS = 2, LATE = 1 };

struct state {
	wp_channel channel;
	_Alignas(WP_LINE) wp_waiter waiters[WAITERS];
	void *slots[1];
	void *received; /* the item that the receiver got last */
};

/* python/wakeproof/judge/conform/maps/channel.py reads the state at these places. */
_Static_assert(offsetof(struct state, channel.lock.state) == 0, "LOCK");
_Static_assert(offsetof(struct state, channel.count) == 12, "COUNT");
_Static_assert(offsetof(struct state, waiters) == 128, "WAITERS");
_Static_assert(offsetof(struct state, received) == 296, "RECEIVED");
_Static_assert(sizeof(wp_waiter) == 80, "EACH");
_Static_assert(offsetof(wp_waiter, value) == 40, "VALUE");
_Static_assert(offsetof(wp_waiter, state) == 52, "STATE");

static void init_as(struct state *state, uint32_t capacity)
{
	wp_channel_init(&state->channel, state->slots, capacity);
	state->received = NULL;
	for (int index = 0; index < WAITERS; index++)
		wp__waiter_init(&state->waiters[index], NULL, NULL);
}

STRESS_INIT(init)
{
	init_as(state, 1);
}

STRESS_INIT(init_none)
{
	init_as(state, 0);
}

static wp_waiter *begin(struct state *state, int index)
{
	wp_waiter *waiter = &state->waiters[index];

	litmus_store(&waiter->state, WP_WAITER_WAITS, relaxed); /* [Begin] */
	waiter->value = NULL;
	return waiter;
}

STRESS_ACTOR(sender)
{
	int rc = WP_OK;

	for (uintptr_t item = 1; item <= ITEMS && rc != WP_CLOSED; item += rc == WP_OK)
		rc = wp__channel_send(&state->channel, (void *)item, begin(state, 0), LATE);
}

STRESS_ACTOR(receiver)
{
	while (wp__channel_receive(&state->channel, &state->received, begin(state, 1), LATE) !=
	       WP_CLOSED)
		continue;
}

STRESS_ACTOR_CALL(closer, wp_channel_close(&state->channel))

STRESS_TEST(conform_channel, .claim = "The compiled channel is the specified one.",
	    .upholds = "Channel!Served", .state_size = sizeof(struct state), .init = init,
	    .actors = {sender, receiver, closer}, .results = 1, .blocking = 1,
	    .outcomes = {{"0", ACCEPTABLE, "all is done"},
			 {"stuck", ACCEPTABLE, "it is late again"}});
STRESS_TEST(conform_channel_none, .claim = "So it is without a slot.", .upholds = "Channel!Served",
	    .state_size = sizeof(struct state), .init = init_none,
	    .actors = {sender, receiver, closer}, .results = 1, .blocking = 1,
	    .outcomes = {{"0", ACCEPTABLE, "all is done"},
			 {"stuck", ACCEPTABLE, "it is late again"}});
