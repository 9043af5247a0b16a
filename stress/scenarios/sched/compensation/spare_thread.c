/* SPDX-License-Identifier: Apache-2.0
 * spare_thread.c - two OS threads run one carrier in turn: a thread that blocks lends the role, and
 * gets it back.
 *
 *   carries                         a spare
 *   pins: lend; sleep               next: carries, runs others: unparks the first
 *   take_back: request              sees the request: gives; next
 *
 * Result        `spare_thread_others`: "two carried at once".
 * Why it works  Both threads run one loop, as wp__worker_carry does. The queue is plain and belongs
 *               to the thread that has the role, so two threads with the role are a data race, and
 *               are counted.
 * Spec          specs/sched/compensation/SpareThread.tla. */
#include "wakeup/parker.h"
#include "sched/compensation/role.h"
#include "stress.h"

/* The queue's items: a virtual thread that pins until the next item has run; the item that unparks
 * it; the stop. */
enum item { PINS, UNPARKS, STOP, LAST };
enum { ITEMS = 8 };

struct state {
	wp_roles roles;
	wp_role role;
	wp_parker bell;           /* the carrying thread sleeps there when its queue is empty */
	wp_parker parkers[ITEMS]; /* of the threads that pin, by their place in the queue */
	wp_atomic(uint32_t) armed, carrying;
	/* plain: belongs to the thread with the role */
	enum item queue[ITEMS];
	uint32_t first, last;
	const enum item *more; /* items that the first pinned thread queues when it resumes */
	bool has_stop;
};

static void push(struct state *state, const enum item *items)
{
	while (*items != LAST)
		state->queue[state->last++] = *items++;
}

/* The carrier has a spare thread, which is on its way to wait. */
static void init_with(struct state *state, const enum item *items)
{
	state->roles.waiting = 1;
	wp_parker_init(&state->bell);
	for (int index = 0; index < ITEMS; index++)
		wp_parker_init(&state->parkers[index]);
	push(state, items);
}

static bool starts_none(void *arg)
{
	return false;
}

static void ask(void *arg)
{
	struct state *state = arg;

	wp_store_release(&state->armed, 1);
	wp_parker_unpark(&state->bell);
}

static void fire(struct state *state)
{
	if (wp_load_acquire(&state->armed) == 0)
		return;
	wp_store_relaxed(&state->armed, 0);
	wp__role_asked(&state->role);
}

static void gets(struct state *state, stress_result *result)
{
	result->r[0] += wp_fetch_add_relaxed(&state->carrying, 1) != 0;
}

static void loses(struct state *state)
{
	wp_fetch_add_relaxed(&state->carrying, -1u);
}

static void pin(struct state *state, uint32_t place, stress_result *result)
{
	bool is_lent;

	loses(state);
	is_lent = wp__role_lend(&state->roles, &state->role, starts_none, NULL);
	wp_parker_park(&state->parkers[place]);
	if (is_lent) {
		wp__role_take_back(&state->roles, &state->role, ask, state);
		wp_store_relaxed(&state->armed, 0);
	}
	gets(state, result);
	if (place == 0 && state->more != NULL)
		push(state, state->more);
}

/* True if the stop was in the queue. */
static bool drain(struct state *state, stress_result *result)
{
	while (wp__role_polls(state->has_stop) && state->first != state->last &&
	       !state->role.is_wanted) {
		uint32_t place = state->first++;

		if (state->queue[place] == STOP)
			return true;
		result->r[1] += state->has_stop;
		if (state->queue[place] == PINS)
			pin(state, place, result);
		else
			wp_parker_unpark(&state->parkers[place - 1]);
		fire(state);
	}
	return false;
}

/* Returns when the role is given up: true if its carrier has ended. */
static bool carry(struct state *state, stress_result *result)
{
	for (;;) {
		fire(state);
		if (state->role.is_wanted) {
			loses(state);
			wp__role_give(&state->roles, &state->role);
			return false;
		}
		if (state->has_stop) {
			loses(state);
			return wp__role_stop(&state->roles, &state->role);
		}
		if (drain(state, result))
			state->has_stop = true;
		else if (state->first == state->last && !state->has_stop && !state->role.is_wanted)
			wp_parker_park(&state->bell);
	}
}

/* As wp__worker_carry. The thread that ends the carrier ends the threads. */
static void run(struct state *state, wp_role *role, stress_result *result)
{
	for (; role != NULL; role = wp__role_next(&state->roles)) {
		gets(state, result);
		if (carry(state, result))
			wp__roles_end(&state->roles);
	}
}

STRESS_ACTOR_CALL(carrier, run(state, &state->role, result))
STRESS_ACTOR_CALL(spare, run(state, wp__role_next(&state->roles), result))

/* Result: "two carried at once, items run after the stop". */
STRESS_INIT(init)
{
	static const enum item items[] = {PINS, UNPARKS, LAST}, more[] = {STOP, LAST};

	state->more = more;
	init_with(state, items);
}

STRESS_TEST(spare_thread_holder,
	    .claim = "One thread at a time carries, or runs the virtual threads on its stack.",
	    .upholds = "SpareThread!OneHolder", .state_size = sizeof(struct state), .init = init,
	    .actors = {carrier, spare}, .results = 2, .blocking = 1, .preemptions = 3,
	    .whole = SEEN_SC | SEEN_TSO,
	    .outcomes = {
		    {"0,0", ACCEPTABLE, "the spare thread got the role, and gave it back"},
		    {"asleep", FORBIDDEN, "lost wakeup: no thread has the role"},
		    {"*,*", FORBIDDEN, "two threads carry at once"},
	    });

STRESS_TEST(spare_thread_others,
	    .claim = "While one virtual thread is blocked the others run, and then it resumes.",
	    .upholds = "SpareThread!OthersRun", .state_size = sizeof(struct state), .init = init,
	    .actors = {carrier, spare}, .results = 2, .blocking = 1, .preemptions = 3,
	    .whole = SEEN_SC | SEEN_TSO,
	    .outcomes = {
		    {"0,0", ACCEPTABLE, "the second virtual thread unparks the first"},
		    {"asleep", FORBIDDEN,
		     "a thread waits for one that does not run, or for a role for ever"},
		    {"*,*", FORBIDDEN, "two threads carry at once"},
	    });

/* The spare thread reads the stop; behind it is an item that the close hands back. */
STRESS_INIT(init_stopped)
{
	static const enum item items[] = {PINS, UNPARKS, STOP, UNPARKS, LAST};

	init_with(state, items);
}

STRESS_TEST(spare_thread_stop, .claim = "A carrier ends with the last thread that lent its role.",
	    .upholds = "SpareThread!ExitsAlone", .state_size = sizeof(struct state),
	    .init = init_stopped, .actors = {carrier, spare}, .results = 2, .blocking = 1,
	    .preemptions = 3, .whole = SEEN_SC | SEEN_TSO,
	    .outcomes = {
		    {"0,0", ACCEPTABLE, "the thread that had lent the role ends the carrier"},
		    {"asleep", FORBIDDEN,
		     "lost wakeup: the carrier has ended, and a thread waits for its role"},
		    {"*,*", FORBIDDEN, "the carrier runs on after its stop"},
	    });

STRESS_TEST(spare_thread_last, .claim = "A carrier that has read its stop runs no new item.",
	    .upholds = "SpareThread!StopIsLast", .state_size = sizeof(struct state),
	    .init = init_stopped, .actors = {carrier, spare}, .results = 2, .blocking = 1,
	    .preemptions = 3, .whole = SEEN_SC | SEEN_TSO,
	    .outcomes = {
		    {"0,0", ACCEPTABLE, "the item behind the stop is left to the close"},
		    {"asleep", FORBIDDEN, "lost wakeup: no thread has the role"},
		    {"*,*", FORBIDDEN,
		     "the thread that got its role back runs the item behind the stop"},
	    });

/* The second virtual thread that pins needs the OS thread that has just given up the role. */
STRESS_INIT(init_again)
{
	static const enum item items[] = {PINS, UNPARKS, LAST},
			       more[] = {PINS, UNPARKS, STOP, LAST};

	state->more = more;
	init_with(state, items);
}

STRESS_TEST(spare_thread_again, .claim = "No OS thread idles while the role waits for one.",
	    .upholds = "SpareThread!KeepsIfAlone", .state_size = sizeof(struct state),
	    .init = init_again, .actors = {carrier, spare}, .results = 2, .blocking = 1,
	    .preemptions = 3, .whole = SEEN_SC | SEEN_TSO,
	    .outcomes = {
		    {"0,0", ACCEPTABLE, "the spare thread carries twice"},
		    {"asleep", FORBIDDEN, "lost wakeup: the role waits beside an idle thread"},
		    {"*,*", FORBIDDEN, "two threads carry at once"},
	    });
