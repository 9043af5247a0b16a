/* SPDX-License-Identifier: Apache-2.0
 * conform_block.c - the ways in which the block of a poller may end: conform_guard.c with naps,
 * time-outs and interrupts.
 *
 *   napper, for ever                           blocker, for ever
 *   poll; announce; the fence may fail         poll; announce; look again
 *   look again; block until a wake,            block until a wake, the deadline or a handler;
 *   or for a while if the fence failed         after a handler: block again, or leave
 *   leave, and keep what that returns          keep what the block returns
 *
 * Why it works  The heavy fence of the explorer never fails, and under SC it does nothing. So a
 *               choice stands for its result. `told` is 1 if the poller learned that no producer
 *               claimed its wake.
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
	_Alignas(64) wp_atomic(uint64_t) told;
};

STRESS_INIT(init)
{
	wp_guard_init(&state->guard, WP_GUARD_ASYMMETRIC);
	wp_rendezvous_init(&state->rendezvous, WP_GUARD_SYMMETRIC);
	state->event = wp_event_open();
}

static void fini(void *at)
{
	wp_event_close(((struct state *)at)->event);
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

static void tell(struct state *state, bool nobody_claimed)
{
	litmus_store(&state->told, nobody_claimed, relaxed); /* [Told] */
}

static bool has_work(struct state *state)
{
	return litmus_load(&state->queue, relaxed) != 0; /* [Check] */
}

static bool nap_is_over(void)
{
	return litmus_choose(2) == 1; /* [Nap] */
}

STRESS_ACTOR(napper)
{
	for (;;) {
		bool naps;

		poll_all(state);
		naps = wp_guard_announce(&state->guard) != WP_OK;
		if (litmus_choose(2) == 1) /* [Fails] */
			naps = !wp_twin(conform_failure_unread);
		if (!has_work(state))
			while (!(naps && nap_is_over()) && !wp_event_take(state->event))
				continue;
		tell(state, wp_guard_leave(&state->guard));
	}
}

static void produce(struct state *state, int item)
{
	litmus_fetch_or(&state->queue, UINT64_C(1) << item, release); /* [Push] */
	if (wp_guard_signal(&state->guard))
		wp_event_signal(state->event);
}

STRESS_ACTOR_CALL(producer_1, produce(state, 0))
STRESS_ACTOR_CALL(producer_2, produce(state, 1))

/* True: no producer claimed the wake. */
static bool block(wp_rendezvous *rendezvous, bool leaves)
{
	int64_t deadline_ns = wp_clock_ns() + SOON_NS;
	int rc;

	if (!leaves)
		return wp_rendezvous_block(rendezvous, deadline_ns) == WP_TIMEOUT;
	rc = wp_rendezvous_block_interruptible(rendezvous, deadline_ns);
	if (rc == WP_INTERRUPTED && !wp_twin(conform_interrupt_unleft))
		return wp_guard_leave(&rendezvous->guard);
	return rc == WP_TIMEOUT;
}

/* After a handler it always blocks again, or always leaves. */
STRESS_ACTOR(blocker)
{
	bool leaves = litmus_choose(2) == 1; /* [Start] */

	for (;;) {
		poll_all(state);
		wp_guard_announce(&state->rendezvous.guard);
		if (has_work(state))
			tell(state, wp_guard_leave(&state->rendezvous.guard));
		else
			tell(state, block(&state->rendezvous, leaves));
	}
}

static void meet(struct state *state, int item)
{
	litmus_fetch_or(&state->queue, UINT64_C(1) << item, release); /* [Push] */
	wp_rendezvous_signal(&state->rendezvous);
}

STRESS_ACTOR_CALL(meeting_producer_1, meet(state, 0))
STRESS_ACTOR_CALL(meeting_producer_2, meet(state, 1))

STRESS_TEST(conform_guard_nap,
	    .claim = "The guard whose heavy fence may fail is the specified one.",
	    .upholds = "Guard!NoLostWakeup", .state_size = sizeof(struct state), .init = init,
	    .fini = fini, .actors = {napper, producer_1, producer_2}, .results = 1,
	    .outcomes = {{"stuck", ACCEPTABLE, "the poller goes on for ever"}});
STRESS_TEST(conform_guard_interrupted, .claim = "So is the block that a handler may end.",
	    .upholds = "Guard!WakeIsClaimed", .state_size = sizeof(struct state), .init = init,
	    .fini = fini, .actors = {blocker, meeting_producer_1, meeting_producer_2}, .results = 1,
	    .blocking = 1, .outcomes = {{"stuck", ACCEPTABLE, "the poller goes on for ever"}});
