/* SPDX-License-Identifier: Apache-2.0
 * guard.c - may the poller block? The hand-off of kernel/wakeup/guard.h, and what breaks it.
 *
 *   poller            producer               result: "wake-up owed, work seen"
 *   announce          work := 1
 *   work?             signal
 *
 * Why it works  Nobody sleeps in `guard`: the pair that the two leave behind says whether a poller
 *               would have slept with its work unseen and no wake owed. `guard_sleep` and
 *               `guard_rendezvous` really sleep.
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

#define OUTCOMES                                                                       \
	.outcomes = {                                                                  \
		{"0,0", FORBIDDEN, "lost: the poller blocks and nobody will wake it"}, \
		{"0,1", ACCEPTABLE, "the poller saw the work"},                        \
		{"1,0", ACCEPTABLE, "the poller blocks, a wake-up is on its way"},     \
		{"1,1", INTERESTING, "one redundant wake-up; harmless"},               \
	}

STRESS_TEST(guard, .claim = "Work is seen by the poller, or a wake-up is owed to it.",
	    .upholds = "Guard!NoLostWakeup", .state_size = sizeof(struct state),
	    .init = init_symmetric, .actors = {producer, poller}, .results = 2, OUTCOMES);

STRESS_TWIN(guard_check_first, .of = "guard",
	    .defect = "no protocol: the poller looks for work before it announces", .shows = "0,0",
	    .seen_by = SEEN_ALL);

/* The asymmetric pair, where the system has it; else the guard falls back and says so. */
STRESS_INIT(init_asymmetric)
{
	wp_guard_init(&state->guard, WP_GUARD_ASYMMETRIC);
	wp_rendezvous_init(&state->rendezvous, WP_GUARD_ASYMMETRIC);
}

STRESS_TEST(guard_asymmetric,
	    .claim = "A light fence on the hot side suffices when the poller's is heavy.",
	    .upholds = "Guard!NoLostWakeup", .state_size = sizeof(struct state),
	    .init = init_asymmetric, .actors = {producer, poller}, .results = 2, OUTCOMES);

/* Two producers, one promise to sleep. */
STRESS_INIT(init_asleep)
{
	init_symmetric(state);
	wp_guard_announce(&state->guard);
}

STRESS_ACTOR(other_producer)
{
	result->r[1] = wp_guard_signal(&state->guard);
}

STRESS_TEST(guard_claim, .claim = "Exactly one producer pays for one sleep.",
	    .upholds = "Guard!WakeIsClaimed", .state_size = sizeof(struct state),
	    .init = init_asleep, .actors = {producer, other_producer}, .results = 2,
	    .outcomes = {
		    {"1,0", ACCEPTABLE, "the first pays"},
		    {"0,1", ACCEPTABLE, "the second pays"},
		    {"1,1", FORBIDDEN, "both pay: a wake-up that nobody waits for"},
		    {"0,0", FORBIDDEN, "nobody pays: the poller sleeps on"},
	    });

/* A sticky signal (a permit), a real sleep. Result: "work seen at the end". */
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

#define AWAKE                                                                         \
	.outcomes = {                                                                 \
		{"1", ACCEPTABLE, "awake, and the work is there"},                    \
		{"0", FORBIDDEN, "woken without the work: the wake ordered nothing"}, \
		{"asleep", FORBIDDEN, "a missed wakeup"},                             \
	}

STRESS_TEST(guard_sleep, .claim = "A poller that blocks with work queued is woken.",
	    .upholds = "Guard!Served", .state_size = sizeof(struct state), .init = init_symmetric,
	    .actors = {waking_producer, sleeping_poller}, .results = 1, .blocking = 1, AWAKE);

STRESS_TWIN(guard_wake_unpaid, .of = "guard_sleep", .defect = "claims the wake and sends none",
	    .shows = "asleep", .seen_by = SEEN_ALL);

/* The system may refuse the heavy fence: then the poller sleeps no longer than a nap. Result: "nap
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

STRESS_TEST(guard_failing, .claim = "A poller whose heavy fence failed misses no work for long.",
	    .upholds = "Guard!NoLostWakeup", .state_size = sizeof(struct state),
	    .init = init_failing, .actors = {waking_producer, napping_poller}, .results = 2,
	    .blocking = 1, .failing_heavy = 1,
	    .outcomes = {
		    {"0,1", ACCEPTABLE, "it saw the work, or was woken for it"},
		    {"1,*", INTERESTING, "the fence failed, the nap is over: it looks again"},
		    {"0,0", FORBIDDEN, "woken without the work"},
		    {"asleep", FORBIDDEN, "a missed wakeup"},
	    });

STRESS_TWIN(guard_failure_unread, .of = "guard_failing",
	    .defect = "the poller does not read that its heavy fence failed", .shows = "asleep",
	    .seen_by = SEEN_CHECK | SEEN_TSO | SEEN_RC11);

/* A signal that is not sticky: check and wait under the signaller's lock. */
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

/* A wake that orders nothing, after a light fence, which does not either: what the poller sees
 * comes with the claim. Result: "wake claimed, work seen". */
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

#define CARRIED                                                                            \
	{"1,1", ACCEPTABLE, "claimed, and the work is seen"},                              \
		{"1,0", FORBIDDEN, "claimed, and the work of who claimed it is not seen"}, \
		{"asleep", FORBIDDEN, "a missed wakeup"}

STRESS_TEST(guard_claimed, .claim = "Whose wake was claimed sees what was pushed before the claim.",
	    .upholds = "Guard!Served", .state_size = sizeof(struct state), .init = init_asymmetric,
	    .actors = {ringing_producer, rung_poller}, .results = 2, .blocking = 1,
	    .outcomes = {CARRIED,
			 {"0,1", ACCEPTABLE, "it saw the work before it slept"},
			 {"0,0", FORBIDDEN, "awake for nothing"}});

/* The poller has found other work: it leaves at once, without the lock. */
STRESS_ACTOR(busy_poller)
{
	wp_guard_announce(&state->rendezvous.guard);
	result->r[0] = !wp_guard_leave(&state->rendezvous.guard);
	result->r[1] = wp_load_relaxed(&state->work);
}

STRESS_TEST(guard_rendezvous_claimed,
	    .claim = "The same where the claim is made under a lock that the poller does not take.",
	    .upholds = "Guard!Served", .state_size = sizeof(struct state), .init = init_asymmetric,
	    .actors = {rendezvous_producer, busy_poller}, .results = 2, .blocking = 1,
	    .outcomes = {CARRIED, {"0,*", ACCEPTABLE, "nobody claimed it"}});

/* The block's time is over as a producer claims the wake. Result: "wake claimed, the block says
 * so". */
STRESS_ACTOR(claiming_producer)
{
	result->r[0] = wp_rendezvous_signal(&state->rendezvous);
}

STRESS_ACTOR(timed_poller)
{
	wp_guard_announce(&state->rendezvous.guard);
	result->r[1] = wp_rendezvous_block(&state->rendezvous, 1) == WP_OK;
}

STRESS_TEST(guard_timeout,
	    .claim = "A wake that was claimed is told, though the time is over, too.",
	    .upholds = "Guard!WakeIsClaimed", .state_size = sizeof(struct state),
	    .init = init_symmetric, .actors = {claiming_producer, timed_poller}, .results = 2,
	    .blocking = 1,
	    .outcomes = {
		    {"1,1", ACCEPTABLE, "claimed, and told"},
		    {"0,0", ACCEPTABLE, "the time was over first"},
		    {"asleep", FORBIDDEN, "a missed wakeup"},
		    {"*,*", FORBIDDEN,
		     "the wake was claimed and paid for, and the poller hears of a timeout"},
	    });

/* The lock of the rendezvous is held, and two more want it. Result: "holds". */
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

STRESS_ACTOR(count_locked)
{
	result->r[0] = wp_load_relaxed(&state->bell);
}

STRESS_TEST(guard_lock, .claim = "Each of three gets the lock.", .upholds = "Guard!NoLostWakeup",
	    .state_size = sizeof(struct state), .init = init_locked,
	    .actors = {unlocker, locker, locker}, .arbiter = count_locked, .results = 1,
	    .blocking = 1,
	    .outcomes = {
		    {"3", ACCEPTABLE, "one after the other"},
		    {"asleep", FORBIDDEN, "the lock is free, and somebody sleeps"},
		    {"*", FORBIDDEN, "two held it at once"},
	    });
