/* SPDX-License-Identifier: Apache-2.0
 * conform_vthread.c - the threads of specs/thread/VThread.tla: carriers, an unparker, an
 * interrupter, a timer and a canceller. The carriers choose what the virtual thread does between
 * its parks.
 *
 *   carrier, for ever            unparker, interrupter      timer, for ever        canceller
 *   take it; begin; its timer    is it done? notify; pay    armed: lock it; time   cancel, until
 *   off; any of                                             out; off; unlock; pay  it is done
 *     yield, done
 *     park, timed park, park pinned
 *
 * Why it works  The functions of the word are the kernel's. The parts that the spec abstracts are
 *               made of litmus operations. The queue is a count of cells (Task and Mpsc compare the
 *               real one). `timer` is the park for which it is armed and, in one bit, the timers'
 *               lock. `joined` is the latch.
 * Spec          specs/thread/VThread.tla. Compared by wakeproof conform -t '^vthread$'. */
#include "base/futex.h"
#include "litmus.h"
#include "stress.h"
#include "thread/vthread.h"

enum { SOON_NS = 1030000000 }; /* later than the explorer's clock */
enum { LOCKED = 1, PARK = 2 }; /* the parts of `timer`: a bit; one park */
enum { PARKS = 1, YIELDS = 1 };

struct state {
	_Alignas(WP_LINE) wp_vthread thread;
	_Alignas(WP_LINE) wp_atomic(uint32_t) cells;
	wp_atomic(uint32_t) timer;
	wp_atomic(uint32_t) joined;
	wp_atomic(uint32_t) says; /* thread.was_unparked, visible to the comparison */
	/* Plain, owned by the thread: the parks and yields that are left. */
	uint32_t parks, yields, is_timed;
};

/* python/wakeproof/judge/conform/maps/vthread.py reads the state at these places. */
_Static_assert(offsetof(struct state, thread.task.word) == 8, "WORD");
_Static_assert(offsetof(struct state, thread.interrupted) == 64, "FLAG");
_Static_assert(offsetof(struct state, cells) == 256, "CELLS");
_Static_assert(offsetof(struct state, timer) == 260, "ARMED");
_Static_assert(offsetof(struct state, joined) == 264, "JOINED");
_Static_assert(offsetof(struct state, says) == 268, "SAYS");

STRESS_INIT(init)
{
	wp__vthread_init(&state->thread, NULL);
	wp_init(&state->cells, 1);
	wp_init(&state->timer, 0);
	wp_init(&state->joined, 0);
	wp_init(&state->says, 0);
	state->parks = PARKS;
	state->yields = YIELDS;
}

static void push(struct state *state)
{
	litmus_fetch_add(&state->cells, 1, acq_rel); /* [Publish] */
}

static void pay(struct state *state, enum wp_owed owed)
{
	if (owed == WP_OWES_PUSH)
		push(state);
	else if (owed == WP_OWES_WAKE)
		wp_futex_wake(&state->thread.task.word, 1);
}

static void pop(struct state *state)
{
	uint32_t cells = 1;

	while (!litmus_cas(&state->cells, &cells, cells - 1, acq_rel, relaxed)) /* [Pop] */
		if (cells == 0)
			cells = 1;
}

/* Called under the timers' lock. */
static void cancel_timer(struct state *state)
{
	uint32_t timer = 0;

	do
		timer &= ~(uint32_t)LOCKED;
	while (!litmus_cas(&state->timer, &timer, 0, acq_rel, relaxed)); /* [CancelTimer] */
	state->is_timed = 0;
}

static void arm(struct state *state)
{
	uint32_t number = wp__vthread_number(&state->thread);

	litmus_store(&state->timer, number * PARK, release); /* [Arm] */
	state->is_timed = 1;
}

/* A park may have returned. */
static void tell(struct state *state)
{
	litmus_store(&state->says, state->thread.was_unparked, relaxed); /* [Told] */
}

/* The thread leaves its carrier. */
static void park(struct state *state)
{
	if (wp__vthread_park(&state->thread))
		return;
	tell(state);
	push(state);
}

/* True: the thread has left its carrier. */
static bool parks(struct state *state)
{
	if (wp__vthread_take(&state->thread)) {
		tell(state);
		return false;
	}
	if (wp_vthread_is_interrupted(&state->thread))
		return false;
	switch (litmus_choose(3)) { /* [How] */
	case 0:
		wp__vthread_park_pinned(&state->thread, SOON_NS);
		tell(state);
		return false;
	case 1:
		arm(state);
		park(state);
		return true;
	default:
		park(state);
		return true;
	}
}

/* True: one was left, and is taken. A twin that runs it twice at once does not go below 0. */
static bool takes_one(uint32_t *left)
{
	return *left > 0 && (*left)-- > 0;
}

/* The next act of the thread: done, or a yield or park that is left. */
static enum wp_step chooses(struct state *state)
{
	bool may_yield = state->yields > 0;
	unsigned choice = litmus_choose(1u + may_yield + (state->parks > 0)); /* [Act] */

	if (choice == 1 && may_yield && takes_one(&state->yields))
		return WP_STEP_YIELD;
	if (choice > 0 && takes_one(&state->parks))
		return WP_STEP_PARK;
	return WP_STEP_DONE;
}

static void run(struct state *state)
{
	enum wp_step said;

	wp__vthread_begin(&state->thread);
	tell(state);
	if (state->is_timed)
		cancel_timer(state);
	do
		said = chooses(state);
	while (said == WP_STEP_PARK && !parks(state));
	if (said == WP_STEP_DONE) {
		wp__vthread_finish(&state->thread);
		litmus_store(&state->joined, 1, release); /* [Latch] */
	} else if (said == WP_STEP_YIELD) {
		push(state);
	}
}

STRESS_ACTOR(carrier)
{
	for (;;) {
		pop(state);
		run(state);
	}
}

/* Its first look at the thread is reported by a step that touches no memory. */
STRESS_ACTOR(unparker)
{
	bool is_done = wp_vthread_is_done(&state->thread);

	litmus_return(is_done, is_done != wp_twin(conform_done_lies)); /* [Gave] */
	pay(state, wp__vthread_notify(&state->thread));
}

STRESS_ACTOR_CALL(interrupter, pay(state, wp__vthread_interrupt(&state->thread)))

STRESS_ACTOR(timer)
{
	for (;;) {
		uint32_t armed = litmus_load(&state->timer, relaxed); /* [Armed] */
		uint32_t locked = armed | LOCKED;
		enum wp_owed owed;

		if (armed == 0 ||
		    !litmus_cas(&state->timer, &armed, locked, acq_rel, relaxed)) /* [IsDue] */
			continue;
		owed = wp__vthread_time_out(&state->thread, armed / PARK);
		litmus_store(&state->timer, 0, release); /* [Fired] */
		pay(state, owed);
	}
}

STRESS_ACTOR(canceller)
{
	while (!wp__vthread_cancel(&state->thread))
		continue;
}

STRESS_TEST(conform_vthread, .claim = "The compiled virtual thread's word is the specified one.",
	    .upholds = "VThread!UnparkNotLost", .state_size = sizeof(struct state), .init = init,
	    .actors = {carrier, carrier, unparker, interrupter, timer, canceller}, .results = 1,
	    .blocking = 1,
	    .outcomes = {
		    {"stuck", ACCEPTABLE, "the carriers look for it for ever"},
		    {"asleep", ACCEPTABLE, "nobody unparks it"},
	    });
