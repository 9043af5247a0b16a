/* SPDX-License-Identifier: Apache-2.0
 * spare_thread.c - two OS threads carry one carrier in turn: who blocks lends the role, and has it back.
 *
 *   carries                         a spare                        `spare_thread_others`: "two carried at once"
 *   pins: lend; sleeps              next: carries, runs others: unparks the first
 *   take_back: asks                 is asked: gives; next
 *
 * Why it works  Both threads run one loop, as wp__worker_carry does. What is queued is plain:
 *               whoever has the role reads it, so two that have it at once are a race, and are
 *               counted.
 * Spec          specs/sched/compensation/SpareThread.tla. */
#include "wakeup/parker.h"
#include "sched/compensation/role.h"
#include "stress.h"

/* What is queued: a thread that pins until the next one has run; what unparks it; the stop. */
enum item { PINS, UNPARKS, STOP, LAST };
enum { ITEMS = 8 };

struct state {
	wp_roles roles;
	wp_role role;
	wp_parker bell;           /* whoever carries sleeps there when nothing is queued */
	wp_parker parkers[ITEMS]; /* who pins, by its place in the queue */
	wp_atomic(uint32_t) armed, carrying;
	/* plain: who has the role */
	enum item queue[ITEMS];
	uint32_t first, last;
	const enum item *more; /* what who pins first queues when it goes on */
	bool has_stop;
};

static void push(struct state *state, const enum item *items)
{
	while (*items != LAST)
		state->queue[state->last++] = *items++;
}

/* It has a spare, which is on its way to wait. */
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

/* True: the stop was among it. */
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

/* Until the role is given up; true: its carrier has ended. */
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

/* As wp__worker_carry; whoever ends the carrier ends the threads. */
static void run(struct state *state, wp_role *role, stress_result *result)
{
	for (; role != NULL; role = wp__role_next(&state->roles)) {
		gets(state, result);
		if (carry(state, result))
			wp__roles_end(&state->roles);
	}
}

STRESS_ACTOR(carrier)
{
	run(state, &state->role, result);
}

STRESS_ACTOR(spare)
{
	run(state, wp__role_next(&state->roles), result);
}

/* Result: "two carried at once, what ran after the stop". */
STRESS_INIT(init)
{
	static const enum item items[] = {PINS, UNPARKS, LAST}, more[] = {STOP, LAST};

	state->more = more;
	init_with(state, items);
}

STRESS_TEST(spare_thread_holder,
	    .claim = "One thread at a time carries, or runs what is on its stack.",
	    .upholds = "SpareThread!OneHolder", .state_size = sizeof(struct state), .init = init,
	    .actors = {carrier, spare}, .results = 2, .blocking = 1, .preemptions = 3,
	    .whole = SEEN_SC | SEEN_TSO,
	    .outcomes = {
		    {"0,0", ACCEPTABLE, "the role went to the spare, and came back"},
		    {"asleep", FORBIDDEN, "the role is with nobody"},
		    {"*,*", FORBIDDEN, "two carry at once"},
	    });

STRESS_TEST(spare_thread_others, .claim = "While one is blocked the others run, and it goes on.",
	    .upholds = "SpareThread!OthersRun", .state_size = sizeof(struct state), .init = init,
	    .actors = {carrier, spare}, .results = 2, .blocking = 1, .preemptions = 3,
	    .whole = SEEN_SC | SEEN_TSO,
	    .outcomes = {
		    {"0,0", ACCEPTABLE, "the second unparks the first"},
		    {"asleep", FORBIDDEN,
		     "one waits for what does not run, or for a role that is kept"},
		    {"*,*", FORBIDDEN, "two carry at once"},
	    });

/* The spare reads the stop; behind it is what the close hands back. */
STRESS_INIT(init_stopped)
{
	static const enum item items[] = {PINS, UNPARKS, STOP, UNPARKS, LAST};

	init_with(state, items);
}

STRESS_TEST(spare_thread_stop, .claim = "A carrier ends with the last thread that it was lent by.",
	    .upholds = "SpareThread!ExitsAlone", .state_size = sizeof(struct state),
	    .init = init_stopped, .actors = {carrier, spare}, .results = 2, .blocking = 1,
	    .preemptions = 3, .whole = SEEN_SC | SEEN_TSO,
	    .outcomes = {
		    {"0,0", ACCEPTABLE, "who had lent it ends it"},
		    {"asleep", FORBIDDEN, "it has ended, and somebody wants it back"},
		    {"*,*", FORBIDDEN, "it runs on"},
	    });

STRESS_TEST(spare_thread_last, .claim = "When its stop was read a carrier runs nothing anew.",
	    .upholds = "SpareThread!StopIsLast", .state_size = sizeof(struct state),
	    .init = init_stopped, .actors = {carrier, spare}, .results = 2, .blocking = 1,
	    .preemptions = 3, .whole = SEEN_SC | SEEN_TSO,
	    .outcomes = {
		    {"0,0", ACCEPTABLE, "what is behind it is left to the close"},
		    {"asleep", FORBIDDEN, "the role is with nobody"},
		    {"*,*", FORBIDDEN, "who has the role back runs what is behind the stop"},
	    });

/* The second that pins needs the thread that has just given the role up. */
STRESS_INIT(init_again)
{
	static const enum item items[] = {PINS, UNPARKS, LAST},
			       more[] = {PINS, UNPARKS, STOP, LAST};

	state->more = more;
	init_with(state, items);
}

STRESS_TEST(spare_thread_again, .claim = "No thread is idle while the role sleeps.",
	    .upholds = "SpareThread!KeepsIfAlone", .state_size = sizeof(struct state),
	    .init = init_again, .actors = {carrier, spare}, .results = 2, .blocking = 1,
	    .preemptions = 3, .whole = SEEN_SC | SEEN_TSO,
	    .outcomes = {
		    {"0,0", ACCEPTABLE, "the spare carries twice"},
		    {"asleep", FORBIDDEN, "the role is kept asleep beside an idle thread"},
		    {"*,*", FORBIDDEN, "two carry at once"},
	    });
