/* SPDX-License-Identifier: Apache-2.0
 * conform_group_close.c - the threads of specs/sched/GroupClose.tla: closers, and a carrier. The
 * runs of the carrier are one thread, and its exit is another.
 *
 *   closer                  runs                    exits
 *   closing.h; say what     the task, once, or      when a stop was requested and nothing runs
 *   it returned             never
 *
 * Why it works  The effects that group.c has on threads are effects on the bits of one word here,
 *               one step each. `home` returns the list for which a close waits. Once the task has
 *               ended, that is the empty list. Before that it is a list that keeps its task, and
 *               the close waits until a handler comes, or until its deadline passes if it has one.
 *               A deadline stands for a handler that ends the wait for the turn.
 * Spec          specs/sched/GroupClose.tla. Compared by wakeproof conform -t '^group_close'. */
#include "sched/group_close.h"
#include "base/error.h"
#include "litmus.h"
#include "stress.h"

enum { CLOSERS = 3, SOON_NS = 1 };
enum { LISTED = 1, RUNS = 2, STOPPING = 4, EXITED = 8 }; /* of `group` */
enum { EMPTY, KEPT };                                    /* homes */
/* The result of a close; 0: it has not returned. */
enum { CLOSED = 1, AGAIN = 2 };

struct state {
	wp_closing closing;
	_Alignas(WP_LINE) wp_atomic(uint64_t) group;
	wp_atomic(uint64_t) says[CLOSERS];
	wp_carrier_tasks homes[2];
	wp_task task;
};

/* python/wakeproof/judge/conform/maps/group_close.py reads the state at these places. */
_Static_assert(offsetof(struct state, closing.lock.state) == 0, "LOCK");
_Static_assert(offsetof(struct state, closing.left.signals) == 4, "LEFT");
_Static_assert(offsetof(struct state, group) == 128, "GROUP");
_Static_assert(offsetof(struct state, says) == 136, "SAYS");

struct closer {
	wp_close close; /* must be first */
	struct state *state;
};

static struct state *state_of(wp_close *close)
{
	return ((struct closer *)(void *)close)->state;
}

enum { LOOK, INTERRUPTED, LATE };

static wp_carrier_tasks *home_of(wp_close *close, uint32_t index)
{
	struct state *state = state_of(close);
	bool may_be_late = close->deadline_ns != WP_FOREVER;

	for (;;) {
		if (litmus_choose(may_be_late ? 3 : 2) != LOOK) /* [Ends] */
			return &state->homes[KEPT];
		if (!(litmus_load(&state->group, relaxed) & LISTED)) /* [Listed] */
			return &state->homes[EMPTY];
	}
}

static void shut(wp_close *close)
{
}

static int join(wp_close *close)
{
	struct state *state = state_of(close);

	litmus_fetch_or(&state->group, STOPPING, relaxed);                        /* [Stop] */
	return litmus_load(&state->group, relaxed) & EXITED ? WP_OK : WP_TIMEOUT; /* [Join] */
}

static uint64_t take_back(wp_close *close)
{
	litmus_fetch_and(&state_of(close)->group, ~(uint64_t)LISTED, relaxed); /* [HandBack] */
	return 0;
}

static void hand_back(wp_close *close)
{
}

STRESS_INIT(init)
{
	wp_init(&state->group, LISTED);
	for (uint32_t index = 0; index < 2; index++)
		wp_carrier_tasks_init(&state->homes[index], NULL, index);
	wp_task_init(&state->task, NULL, "task");
	wp_carrier_tasks_start(&state->homes[KEPT], NULL, &state->task);
}

STRESS_INIT(init_ended)
{
	init(state);
	wp_init(&state->group, 0);
}

static void close_by(struct state *state, int index, int64_t deadline_ns, bool cancels)
{
	struct closer own = {.state = state};
	int code;

	own.close.turn_ns = SOON_NS;
	own.close.deadline_ns = deadline_ns;
	own.close.cancels = cancels;
	own.close.count = 1;
	own.close.home = home_of;
	own.close.shut = shut;
	own.close.join = join;
	own.close.take_back = take_back;
	own.close.hand_back = hand_back;
	code = wp__close(&state->closing, &own.close);
	litmus_store(&state->says[index], code == WP_OK ? CLOSED : AGAIN, relaxed); /* [Says] */
}

STRESS_ACTOR_CALL(waits, close_by(state, 0, WP_FOREVER, false))
STRESS_ACTOR_CALL(waits_in_time, close_by(state, 1, SOON_NS, false))
STRESS_ACTOR_CALL(cancels_a, close_by(state, 0, SOON_NS, true))
STRESS_ACTOR_CALL(cancels_b, close_by(state, 1, SOON_NS, true))
STRESS_ACTOR_CALL(cancels_c, close_by(state, 2, SOON_NS, true))

STRESS_ACTOR(runs)
{
	uint64_t seen;

	do {
		seen = litmus_load(&state->group, relaxed); /* [Look] */
		if (seen & EXITED)
			return;
	} while (!litmus_cas(&state->group, &seen, seen | RUNS, relaxed, relaxed)); /* [Run] */
	litmus_fetch_and(&state->group, ~(uint64_t)(LISTED | RUNS), relaxed); /* [End] */
}

STRESS_ACTOR(exits)
{
	uint64_t seen;

	do {
		seen = litmus_load(&state->group, relaxed); /* [Look] */
	} while ((seen & RUNS) || !(seen & STOPPING) ||
		 !litmus_cas(&state->group, &seen, seen | EXITED, relaxed, relaxed)); /* [Exit] */
}

STRESS_TEST(conform_group_close, .claim = "The compiled close is the specified one.",
	    .upholds = "GroupClose!TurnIsPassedOn", .state_size = sizeof(struct state),
	    .init = init, .actors = {exits, waits, cancels_b, runs}, .results = 1, .blocking = 1,
	    .outcomes = {{"0", ACCEPTABLE, "all is done"},
			 {"stuck", ACCEPTABLE, "no stop comes"},
			 {"asleep", ACCEPTABLE, "no stop comes"}});
STRESS_TEST(conform_group_close_in_time, .claim = "So it is with one that waits for tasks in time.",
	    .upholds = "GroupClose!TurnIsPassedOn", .state_size = sizeof(struct state),
	    .init = init, .actors = {exits, waits, waits_in_time, runs}, .results = 1,
	    .blocking = 1,
	    .outcomes = {{"0", ACCEPTABLE, "all is done"},
			 {"stuck", ACCEPTABLE, "no stop comes"},
			 {"asleep", ACCEPTABLE, "no stop comes"}});
STRESS_TEST(conform_group_close_three, .claim = "So it is with two in line.",
	    .upholds = "GroupClose!TurnIsPassedOn", .state_size = sizeof(struct state),
	    .init = init_ended, .actors = {exits, cancels_a, cancels_b, cancels_c}, .results = 1,
	    .blocking = 1,
	    .outcomes = {{"0", ACCEPTABLE, "all is done"},
			 {"stuck", ACCEPTABLE, "no stop comes"},
			 {"asleep", ACCEPTABLE, "no stop comes"}});
