/* SPDX-License-Identifier: Apache-2.0
 * channel.c - items arrive once and in order, and none is lost with a receiver that leaves.
 *
 *   sender                      receiver
 *   send 1                      receive
 *   send 2                      receive
 *
 * Result        `channel`: the items, in order.
 * Why it works  The memory behind an item is plain, so the channel must order its hand-over. All
 *               threads really sleep.
 * Spec          specs/sync/Channel.tla. */
#include "sync/channel.h"
#include "stress.h"
#include "scenarios/thread/virtual.h"

struct state {
	wp_channel channel;
	struct virtual virtual;
	wp_waiter waiters[3];
	void *slots[1];
	uint32_t items[2]; /* plain: handed over */
};

static void init_with(struct state *state, uint32_t capacity)
{
	wp_channel_init(&state->channel, state->slots, capacity);
	virtual_init(&state->virtual);
	wp__waiter_init(&state->waiters[0], NULL, NULL);
	wp__waiter_init(&state->waiters[1], &state->virtual.thread, virtual_push);
	wp__waiter_init(&state->waiters[2], NULL, NULL);
}

static void init(void *at)
{
	init_with(at, 1);
}

static void init_rendezvous(void *at)
{
	init_with(at, 0);
}

static int send(struct state *state, uint32_t which, int64_t deadline_ns)
{
	wp__waiter_init(&state->waiters[0], NULL, NULL);
	state->items[which] = which + 1;
	return wp__channel_send(&state->channel, &state->items[which], &state->waiters[0],
				deadline_ns);
}

static void sender(void *at, stress_result *result)
{
	send(at, 0, WP_FOREVER);
	send(at, 1, WP_FOREVER);
}

/* Returns -1 if the channel is closed. */
static int64_t receive(struct state *state)
{
	wp_waiter *waiter = &state->waiters[1];
	void *item;
	int rc;

	wp__waiter_init(waiter, &state->virtual.thread, virtual_push);
	rc = wp__channel_begin_receive(&state->channel, &item, waiter);
	if (rc == WP_MUST_PARK) {
		do
			virtual_park(&state->virtual);
		while (!wp__channel_check(&state->channel, waiter));
		rc = waiter->result;
		item = waiter->value;
	}
	return rc == WP_CLOSED ? -1 : (int64_t)(*(uint32_t *)item);
}

static void receiver(void *at, stress_result *result)
{
	result->r[0] = receive(at);
	result->r[1] = receive(at);
}

STRESS_TEST(channel, .claim = "All items arrive, in order.", .upholds = "Channel!Fifo",
	    .state_size = sizeof(struct state), .init = init, .actors = {sender, receiver},
	    .results = 2, .blocking = 1,
	    .outcomes = {
		    {"1,2", ACCEPTABLE, "both items arrived, in order"},
		    {"*,*", FORBIDDEN, "an item was lost, duplicated, or out of order"},
		    {"asleep", FORBIDDEN,
		     "lost wakeup: an item or a slot is free, and a thread sleeps"},
	    });

STRESS_TEST(channel_rendezvous,
	    .claim = "Without slots, each item passes directly from sender to receiver.",
	    .upholds = "Channel!Fifo", .state_size = sizeof(struct state), .init = init_rendezvous,
	    .actors = {sender, receiver}, .results = 2, .blocking = 1,
	    .outcomes = {
		    {"1,2", ACCEPTABLE, "both items arrived, in order"},
		    {"*,*", FORBIDDEN, "an item was lost, duplicated, or out of order"},
		    {"asleep", FORBIDDEN,
		     "lost wakeup: sender and receiver are both there, and one sleeps"},
	    });

/* The only slot is taken, and a sender waits in the queue. Result: "received; items in slots" at
 * the end. */
STRESS_INIT(init_full)
{
	init(state);
	state->items[0] = 1;
	state->items[1] = 2;
	wp_channel_try_send(&state->channel, &state->items[0]);
	wp__channel_begin_send(&state->channel, &state->items[1], &state->waiters[0]);
}

STRESS_ACTOR_CALL(sender_waits, wp__channel_wait(&state->channel, &state->waiters[0], WP_FOREVER))

static void receive_one(void *at, stress_result *result)
{
	result->r[0] = receive(at);
}

STRESS_ACTOR_CALL(count_items, result->r[1] = wp_channel_count(&state->channel))

STRESS_TEST(channel_slot,
	    .claim = "A slot that becomes free goes to the first sender in the queue.",
	    .upholds = "Channel!NobodyWaitsForNothing", .state_size = sizeof(struct state),
	    .init = init_full, .actors = {sender_waits, receive_one}, .arbiter = count_items,
	    .results = 2, .blocking = 1,
	    .outcomes = {
		    {"1,1", ACCEPTABLE, "the sender's item is in the slot"},
		    {"*,*", FORBIDDEN, "an item was lost, duplicated, or out of order"},
		    {"asleep", FORBIDDEN, "lost wakeup: a slot is free, and the sender sleeps"},
	    });

/* A receiver's time runs out while an item is sent. Result: "sent less received". */
STRESS_ACTOR(trier)
{
	state->items[0] = 1;
	result->r[0] = wp_channel_try_send(&state->channel, &state->items[0]) == WP_OK;
}

STRESS_ACTOR(hasty)
{
	void *item;

	if (wp__channel_receive(&state->channel, &item, &state->waiters[2], 1) == WP_OK)
		result->r[0] = -(int64_t)(*(uint32_t *)item);
}

STRESS_TEST(channel_late, .claim = "An item is not given to a receiver that has left.",
	    .upholds = "Channel!NothingLost", .state_size = sizeof(struct state),
	    .init = init_rendezvous, .actors = {trier, hasty}, .results = 1, .blocking = 1,
	    .outcomes = {
		    {"0", ACCEPTABLE, "the item was sent and received, or neither"},
		    {"*", FORBIDDEN, "lost item: it was sent, and no thread received it"},
	    });

/* Both threads wait. Result: "woken because it is closed" for both. */
STRESS_ACTOR_CALL(closer, wp_channel_close(&state->channel))

static void receiver_closed(void *at, stress_result *result)
{
	result->r[0] = receive(at) == -1;
}

STRESS_ACTOR(receiver_os)
{
	void *item;

	result->r[1] = wp__channel_receive(&state->channel, &item, &state->waiters[2],
					   WP_FOREVER) == WP_CLOSED;
}

STRESS_TEST(channel_close, .claim = "A close wakes all waiters.",
	    .upholds = "Channel!NobodyWaitsForNothing", .state_size = sizeof(struct state),
	    .init = init, .actors = {closer, receiver_closed, receiver_os}, .results = 2,
	    .blocking = 1,
	    .outcomes = {
		    {"1,1", ACCEPTABLE, "both threads learn that the channel is closed"},
		    {"*,*", FORBIDDEN, "a thread received an item that no thread sent"},
		    {"asleep", FORBIDDEN,
		     "lost wakeup: the channel is closed, and a thread sleeps"},
	    });

/* There are two slots, and the second holds the oldest item, so the next item goes into the first.
 * Result: "sent; the items, in order; the memory behind the slots". */
struct ring {
	wp_channel channel;
	void *slots[2], *behind;
	uint32_t items[4]; /* plain: handed over */
};

STRESS_INIT_OF(ring, init_ring)
{
	void *item;

	wp_channel_init(&state->channel, state->slots, 2);
	for (uint32_t which = 0; which < 3; which++)
		state->items[which] = which;
	for (uint32_t which = 0; which < 2; which++)
		wp_channel_try_send(&state->channel, &state->items[which]);
	wp_channel_try_receive(&state->channel, &item);
}

STRESS_ACTOR_OF(ring, ring_sender)
{
	state->items[3] = 3;
	result->r[0] = wp_channel_try_send(&state->channel, &state->items[2]) == WP_OK;
	result->r[0] += wp_channel_try_send(&state->channel, &state->items[3]) == WP_OK;
}

static void take_from_ring(struct ring *ring, stress_result *result)
{
	void *item;

	if (wp_channel_try_receive(&ring->channel, &item) == WP_OK)
		result->r[1] = 10 * result->r[1] + *(uint32_t *)item;
}

static void ring_receiver(void *at, stress_result *result)
{
	take_from_ring(at, result);
}

STRESS_ACTOR_OF(ring, empty_ring)
{
	for (int most = 0; most < 3; most++)
		take_from_ring(state, result);
	result->r[2] = state->behind != NULL;
}

STRESS_TEST(channel_wrap, .claim = "Slots are used in turn, and no memory behind them is written.",
	    .upholds = "Channel!Fifo", .state_size = sizeof(struct ring), .init = init_ring,
	    .actors = {ring_sender, ring_receiver}, .arbiter = empty_ring, .results = 3,
	    .blocking = 1,
	    .outcomes = {
		    {"2,123,0", ACCEPTABLE, "all three items arrived, in order"},
		    {"1,12,0", ACCEPTABLE,
		     "the last item was refused, because there was no room yet"},
		    {"asleep", FORBIDDEN, "the lock is never released"},
		    {"*,*,*", FORBIDDEN,
		     "an item was lost, duplicated, out of order, or written behind the slots"},
	    });
