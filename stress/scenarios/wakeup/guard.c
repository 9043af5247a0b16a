/* SPDX-License-Identifier: Apache-2.0
 * guard.c - the hand-off of kernel/wakeup/guard.h, which decides whether the poller may block, and
 * what breaks it.
 *
 *   poller            producer
 *   announce          work := 1
 *   work?             signal
 *
 * Result        "wakeup owed, work seen".
 * Why it works  No thread sleeps in `guard`: the result shows whether a poller would have slept
 *               with its work unseen and no wakeup owed. `guard_sleep` and `guard_rendezvous`
 *               really sleep.
 * Spec          specs/wakeup/Guard.tla. */
#include "wakeup/guard.h"
#include "base/error.h"
#include "wakeup/parker.h"
#include "stress.h"

struct state {
	wp_guard guard;
	wp_atomic(uint32_t) work;
	wp_parker parker;
	wp_rendezvous rendezvous;
	wp_atomic(uint32_t) bell;
};

STRESS_INIT(init_symmetric)
{
	wp_guard_init(&state->guard, WP_GUARD_SYMMETRIC);
	wp_parker_init(&state->parker);
	wp_rendezvous_init(&state->rendezvous, WP_GUARD_SYMMETRIC);
}

STRESS_ACTOR(producer)
{
	wp_store_release(&state->work, 1);
	result->r[0] = wp_guard_signal(&state->guard);
}

STRESS_ACTOR(poller)
{
	if (wp_twin(guard_check_first)) {
		result->r[1] = wp_load_acquire(&state->work);
		wp_guard_announce(&state->guard);
		return;
	}
	wp_guard_announce(&state->guard);
	result->r[1] = wp_load_acquire(&state->work);
	if (wp_twin(guard_heavy_after_recheck))
		wp_fence_heavy();
}

#define OUTCOMES                                                                                \
	.outcomes = {                                                                           \
		{"0,0", FORBIDDEN, "lost wakeup: the poller blocks, and nothing will wake it"}, \
		{"0,1", ACCEPTABLE, "the poller saw the work"},                                 \
		{"1,0", ACCEPTABLE, "the poller blocks, and a wakeup is on its way"},           \
		{"1,1", INTERESTING, "a redundant wakeup, which is harmless"},                  \
	}

STRESS_TEST(guard, .claim = "The poller sees the work, or a wakeup is owed to it.",
	    .upholds = "Guard!NoLostWakeup", .state_size = sizeof(struct state),
	    .init = init_symmetric, .actors = {producer, poller}, .results = 2, OUTCOMES);

STRESS_TWIN(guard_check_first, .of = "guard",
	    .defect = "The poller checks for work before it announces its sleep.", .shows = "0,0",
	    .seen_by = SEEN_ALL);

/* Uses the asymmetric pair of fences where the system has it; elsewhere the guard falls back and
 * reports so. */
STRESS_INIT(init_asymmetric)
{
	wp_guard_init(&state->guard, WP_GUARD_ASYMMETRIC);
	wp_rendezvous_init(&state->rendezvous, WP_GUARD_ASYMMETRIC);
}

STRESS_TEST(
	guard_asymmetric,
	.claim = "A light fence on the producer's side suffices when the poller's fence is heavy.",
	.upholds = "Guard!NoLostWakeup", .state_size = sizeof(struct state),
	.init = init_asymmetric, .actors = {producer, poller}, .results = 2, OUTCOMES);

/* Two producers meet one announced sleep. */
STRESS_INIT(init_asleep)
{
	init_symmetric(state);
	wp_guard_announce(&state->guard);
}

STRESS_ACTOR_CALL(other_producer, result->r[1] = wp_guard_signal(&state->guard))

STRESS_TEST(guard_claim, .claim = "Exactly one producer sends the wakeup for one sleep.",
	    .upholds = "Guard!WakeIsClaimed", .state_size = sizeof(struct state),
	    .init = init_asleep, .actors = {producer, other_producer}, .results = 2,
	    .outcomes = {
		    {"1,0", ACCEPTABLE, "the first producer sends it"},
		    {"0,1", ACCEPTABLE, "the second producer sends it"},
		    {"1,1", FORBIDDEN, "redundant wakeup: both producers send one"},
		    {"0,0", FORBIDDEN,
		     "lost wakeup: neither producer sends one, and the poller sleeps on"},
	    });

/* The signal is sticky (a permit), and the sleep is real. Result: "work seen at the end". */
STRESS_ACTOR(waking_producer)
{
	wp_store_release(&state->work, 1);
	if (wp_guard_signal(&state->guard) && !wp_twin(guard_wake_unpaid))
		wp_parker_unpark(&state->parker);
}

STRESS_ACTOR(sleeping_poller)
{
	wp_guard_announce(&state->guard);
	if (!wp_load_acquire(&state->work))
		wp_parker_park(&state->parker);
	wp_guard_leave(&state->guard);
	result->r[0] = wp_load_relaxed(&state->work);
}

#define AWAKE                                                                            \
	.outcomes = {                                                                    \
		{"1", ACCEPTABLE, "the poller is awake, and sees the work"},             \
		{"0", FORBIDDEN, "woken without the work: the wakeup ordered nothing"},  \
		{"asleep", FORBIDDEN, "lost wakeup: the poller sleeps beside its work"}, \
	}

STRESS_TEST(guard_sleep, .claim = "A poller that blocks with work queued is woken.",
	    .upholds = "Guard!Served", .state_size = sizeof(struct state), .init = init_symmetric,
	    .actors = {waking_producer, sleeping_poller}, .results = 1, .blocking = 1, AWAKE);

STRESS_TWIN(guard_wake_unpaid, .of = "guard_sleep",
	    .defect = "A producer claims the wake, and sends none.", .shows = "asleep",
	    .seen_by = SEEN_ALL);

/* The system may refuse the heavy fence; the poller then sleeps no longer than a nap. Result: "nap
 * over, work seen". */
STRESS_INIT(init_failing)
{
	wp_guard_init(&state->guard, WP_GUARD_ASYMMETRIC);
	wp_parker_init(&state->parker);
}

STRESS_ACTOR(napping_poller)
{
	bool has_failed = wp_guard_announce(&state->guard) != WP_OK;
	int64_t until = WP_FOREVER;

	if (has_failed && !wp_twin(guard_failure_unread))
		until = wp_clock_ns() + WP_GUARD_NAP_NS;
	if (!wp_load_acquire(&state->work))
		result->r[0] = wp_parker_park_until(&state->parker, until) == WP_TIMEOUT;
	wp_guard_leave(&state->guard);
	result->r[1] = wp_load_relaxed(&state->work);
}

STRESS_TEST(guard_failing,
	    .claim = "After a failed heavy fence the poller misses no work for longer than a nap.",
	    .upholds = "Guard!NoLostWakeup", .state_size = sizeof(struct state),
	    .init = init_failing, .actors = {waking_producer, napping_poller}, .results = 2,
	    .blocking = 1, .failing_heavy = 1,
	    .outcomes = {
		    {"0,1", ACCEPTABLE, "the poller saw the work, or was woken for it"},
		    {"1,*", INTERESTING,
		     "the fence failed, and the nap is over: the poller checks again"},
		    {"0,0", FORBIDDEN, "the poller was woken, and does not see the work"},
		    {"asleep", FORBIDDEN, "lost wakeup: the poller sleeps beside its work"},
	    });

STRESS_TWIN(guard_failure_unread, .of = "guard_failing",
	    .defect = "The poller does not check whether its heavy fence failed.",
	    .shows = "asleep", .seen_by = SEEN_CHECK | SEEN_TSO | SEEN_RC11);

/* The signal is not sticky, so the poller checks and waits under the signaller's lock. */
STRESS_ACTOR(rendezvous_producer)
{
	wp_store_release(&state->work, 1);
	wp_rendezvous_signal(&state->rendezvous);
}

STRESS_ACTOR(rendezvous_poller)
{
	wp_guard_announce(&state->rendezvous.guard);
	if (wp_load_acquire(&state->work))
		wp_guard_leave(&state->rendezvous.guard);
	else
		wp_rendezvous_block(&state->rendezvous, WP_FOREVER);
	result->r[0] = wp_load_relaxed(&state->work);
}

STRESS_TEST(guard_rendezvous, .claim = "A condition signal cannot fall between check and wait.",
	    .upholds = "Guard!NoLostWakeup", .state_size = sizeof(struct state),
	    .init = init_symmetric, .actors = {rendezvous_producer, rendezvous_poller},
	    .results = 1, .blocking = 1, AWAKE);

/* The wakeup orders nothing, and comes after a light fence, which orders nothing either. The claim
 * alone orders the work. Result: "wake claimed, work seen". */
STRESS_ACTOR(ringing_producer)
{
	wp_store_release(&state->work, 1);
	if (!wp_guard_signal(&state->guard))
		return;
	wp_fetch_add_relaxed(&state->bell, 1);
	wp_futex_wake(&state->bell, 1);
}

STRESS_ACTOR(rung_poller)
{
	wp_guard_announce(&state->guard);
	while (!wp_load_acquire(&state->work) && wp_load_relaxed(&state->bell) == 0)
		wp_futex_wait(&state->bell, 0, WP_FOREVER);
	result->r[0] = !wp_guard_leave(&state->guard);
	result->r[1] = wp_load_relaxed(&state->work);
}

#define CARRIED                                                                                 \
	{"1,1", ACCEPTABLE, "the wake was claimed, and the work is seen"},                      \
		{"1,0", FORBIDDEN, "the wake was claimed, and the claimer's work is not seen"}, \
		{"asleep", FORBIDDEN, "lost wakeup: the poller sleeps beside its work"}

STRESS_TEST(guard_claimed,
	    .claim = "A claimed wake lets the poller see the work pushed before the claim.",
	    .upholds = "Guard!Served", .state_size = sizeof(struct state), .init = init_asymmetric,
	    .actors = {ringing_producer, rung_poller}, .results = 2, .blocking = 1,
	    .outcomes = {CARRIED,
			 {"0,1", ACCEPTABLE, "the poller saw the work before it slept"},
			 {"0,0", FORBIDDEN,
			  "spurious wakeup: the poller is awake, and there is no work"}});

/* The poller has found other work, and leaves at once, without the lock. */
STRESS_ACTOR(busy_poller)
{
	wp_guard_announce(&state->rendezvous.guard);
	result->r[0] = !wp_guard_leave(&state->rendezvous.guard);
	result->r[1] = wp_load_relaxed(&state->work);
}

STRESS_TEST(
	guard_rendezvous_claimed,
	.claim = "A claim made under a lock that the poller does not take also orders the work.",
	.upholds = "Guard!Served", .state_size = sizeof(struct state), .init = init_asymmetric,
	.actors = {rendezvous_producer, busy_poller}, .results = 2, .blocking = 1,
	.outcomes = {CARRIED, {"0,*", ACCEPTABLE, "no producer claimed the wake"}});

/* The block times out as a producer claims the wake. Result: "wake claimed, the block reports
 * it". */
STRESS_ACTOR_CALL(claiming_producer, result->r[0] = wp_rendezvous_signal(&state->rendezvous))

STRESS_ACTOR(timed_poller)
{
	wp_guard_announce(&state->rendezvous.guard);
	result->r[1] = wp_rendezvous_block(&state->rendezvous, 1) == WP_OK;
}

STRESS_TEST(guard_timeout, .claim = "A block reports a claimed wake even when its time is up, too.",
	    .upholds = "Guard!WakeIsClaimed", .state_size = sizeof(struct state),
	    .init = init_symmetric, .actors = {claiming_producer, timed_poller}, .results = 2,
	    .blocking = 1,
	    .outcomes = {
		    {"1,1", ACCEPTABLE, "the wake was claimed, and the block reports it"},
		    {"0,0", ACCEPTABLE, "the time was up first"},
		    {"asleep", FORBIDDEN, "lost wakeup: the poller sleeps beside its work"},
		    {"*,*", FORBIDDEN,
		     "the wake was claimed and sent, and the block reports a timeout"},
	    });

/* The lock of the rendezvous is held, and two more threads want it. Result: "holds". */
STRESS_INIT(init_locked)
{
	init_symmetric(state);
	wp_lock_acquire(&state->rendezvous.lock);
}

STRESS_ACTOR(unlocker)
{
	wp_store_relaxed(&state->bell, wp_load_relaxed(&state->bell) + 1);
	wp_lock_release(&state->rendezvous.lock);
}

STRESS_ACTOR(locker)
{
	wp_lock_acquire(&state->rendezvous.lock);
	wp_store_relaxed(&state->bell, wp_load_relaxed(&state->bell) + 1);
	wp_lock_release(&state->rendezvous.lock);
}

STRESS_ACTOR_CALL(count_locked, result->r[0] = wp_load_relaxed(&state->bell))

STRESS_TEST(guard_lock, .claim = "Each of three threads gets the lock.",
	    .upholds = "Guard!NoLostWakeup", .state_size = sizeof(struct state),
	    .init = init_locked, .actors = {unlocker, locker, locker}, .arbiter = count_locked,
	    .results = 1, .blocking = 1,
	    .outcomes = {
		    {"3", ACCEPTABLE, "one thread held it after the other"},
		    {"asleep", FORBIDDEN, "lost wakeup: the lock is free, and a thread sleeps"},
		    {"*", FORBIDDEN, "two threads held it at once"},
	    });
