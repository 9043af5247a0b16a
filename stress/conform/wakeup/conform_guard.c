/* SPDX-License-Identifier: Apache-2.0
 * conform_guard.c - the threads of specs/wakeup/Guard.tla: a poller, and producers that push once.
 *
 *   poller, for ever                            producer
 *   take an item, or, if there is none:         push its item
 *   announce, look again: an item: leave        signal; if it owes the wake, wake
 *   else block until a wake or the deadline, leave
 *
 *   The results of an announcement and of a signal are reported by steps that touch no memory.
 *
 * Why it works  The queue is a word with one bit per item, read and changed in one step, as in the
 *               spec. The item that is taken, and whether a block times out, are choices.
 * Spec          specs/wakeup/Guard.tla. Compared by wakeproof conform -t guard. */
#include "base/error.h"
#include "wakeup/guard.h"
#include "litmus.h"
#include "stress.h"

enum { ITEMS = 3, SOON_NS = 30000 };

struct state {
	_Alignas(64) wp_guard guard;
	_Alignas(64) wp_atomic(uint64_t) queue;
	_Alignas(64) wp_rendezvous rendezvous;
	_Alignas(64) int event;
};

STRESS_INIT(init)
{
	wp_guard_init(&state->guard, WP_GUARD_SYMMETRIC);
	wp_rendezvous_init(&state->rendezvous, WP_GUARD_SYMMETRIC);
	state->event = wp_event_open();
}

static void fini(void *at)
{
	wp_event_close(((struct state *)at)->event);
}

STRESS_INIT(init_asymmetric)
{
	init(state);
	wp_guard_init(&state->guard, WP_GUARD_ASYMMETRIC);
}

/* Takes items until none is left. */
static void poll_all(struct state *state)
{
	for (;;) {
		unsigned item = litmus_choose(ITEMS + 1); /* [Poll] */
		uint64_t others = ~(UINT64_C(1) << item);

		if (item < ITEMS)
			litmus_fetch_and(&state->queue, others, relaxed); /* [Take] */
		else if (litmus_load(&state->queue, relaxed) == 0)        /* [Empty] */
			return;
	}
}

/* The fence does not fail here; conform_block.c has the case in which it does. */
static void announce(wp_guard *guard)
{
	if (wp_guard_announce(guard) != (wp_twin(conform_announce_lies) ? WP_FORBIDDEN : WP_OK))
		litmus_return(announce, 1); /* [Lies] */
}

STRESS_ACTOR(poller)
{
	for (;;) {
		poll_all(state);
		announce(&state->guard);
		if (litmus_load(&state->queue, relaxed) == 0) /* [Check] */
			while (litmus_choose(2) == 0)         /* [Block] */
				if (wp_event_take(state->event))
					break;
		wp_guard_leave(&state->guard);
	}
}

static void produce(struct state *state, int item)
{
	litmus_fetch_or(&state->queue, UINT64_C(1) << item, release); /* [Push] */
	if (wp_guard_signal(&state->guard) && !wp_twin(guard_wake_unpaid))
		wp_event_signal(state->event);
}

STRESS_ACTOR_CALL(producer_1, produce(state, 0))
STRESS_ACTOR_CALL(producer_2, produce(state, 1))
STRESS_ACTOR_CALL(producer_3, produce(state, 2))

STRESS_TEST(conform_guard, .claim = "The compiled guard is the specified one.",
	    .upholds = "Guard!NoLostWakeup", .state_size = sizeof(struct state), .init = init,
	    .fini = fini, .actors = {poller, producer_1, producer_2, producer_3}, .results = 1,
	    .outcomes = {{"stuck", ACCEPTABLE, "the poller goes on for ever"}});

STRESS_TEST(conform_guard_asymmetric, .claim = "So is the one with the heavy fence.",
	    .upholds = "Guard!NoLostWakeup", .state_size = sizeof(struct state),
	    .init = init_asymmetric, .fini = fini,
	    .actors = {poller, producer_1, producer_2, producer_3}, .results = 1,
	    .outcomes = {{"stuck", ACCEPTABLE, "the poller goes on for ever"}});

/* The same with a place to block. */
STRESS_ACTOR(blocking_poller)
{
	for (;;) {
		poll_all(state);
		announce(&state->rendezvous.guard);
		if (litmus_load(&state->queue, relaxed) == 0) /* [Check] */
			wp_rendezvous_block(&state->rendezvous, wp_clock_ns() + SOON_NS);
		else
			wp_guard_leave(&state->rendezvous.guard);
	}
}

static void meet(struct state *state, int item)
{
	litmus_fetch_or(&state->queue, UINT64_C(1) << item, release); /* [Push] */
	bool claimed = wp_rendezvous_signal(&state->rendezvous);

	litmus_return(signal, claimed != wp_twin(conform_signal_lies)); /* [Gave] */
}

STRESS_ACTOR_CALL(meeting_producer_1, meet(state, 0))
STRESS_ACTOR_CALL(meeting_producer_2, meet(state, 1))

STRESS_TEST(conform_guard_rendezvous, .claim = "So is the one with a condition.",
	    .upholds = "Guard!NoLostWakeup", .state_size = sizeof(struct state), .init = init,
	    .fini = fini, .actors = {blocking_poller, meeting_producer_1, meeting_producer_2},
	    .results = 1, .blocking = 1,
	    .outcomes = {{"stuck", ACCEPTABLE, "the poller goes on for ever"}});
