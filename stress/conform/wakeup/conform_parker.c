/* SPDX-License-Identifier: Apache-2.0
 * conform_parker.c - the threads of specs/wakeup/Parker.tla: an owner, two unparkers and a closer.
 *
 *   owner                              unparker, twice       closer
 *   again and again: end, park with    write data            close
 *   a deadline, or with a past one;    unpark
 *   until a park returns that the
 *   parker is closed
 *
 *   The results of a park and of an unpark are reported by steps that touch no memory.
 *
 * Why it works  The owner may end when it has seen all data, which an acquire of the word makes
 *               visible. The comparison keeps that account (a ghost), and refuses choices that the
 *               owner would not make.
 * Spec          specs/wakeup/Parker.tla. Compared by wakeproof conform -t parker. */
#include "wakeup/parker.h"
#include "base/error.h"
#include "base/futex.h"
#include "litmus.h"
#include "stress.h"

enum { UNPARKERS = 2, ROUNDS = 2, SOON_NS = 30000 };
/* On real cores the owner does not choose to end, because only the explorer knows that it has seen
 * all data. */
#ifdef WP_EXPLORE
enum { FIRST = 0 };
#else
enum { FIRST = 1 };
#endif

struct state {
	_Alignas(64) wp_parker parker;
	_Alignas(64) wp_atomic(uint64_t) data[UNPARKERS];
};

STRESS_INIT(init)
{
	wp_parker_init(&state->parker);
}

STRESS_ACTOR(owner)
{
	int rc = WP_OK;

	while (rc != WP_CLOSED) {
		unsigned choice = FIRST + litmus_choose(3u - FIRST); /* [Begin] */

		if (choice == 0)
			return;
		rc = wp_parker_park_until(&state->parker,
					  choice == 1 ? wp_clock_ns() + SOON_NS : 0);
		/* The twin returns that it has the permit when its time has run out. */
		if (wp_twin(conform_timeout_is_ok) && rc == WP_TIMEOUT)
			rc = WP_OK;
		litmus_return(park, rc == WP_OK ? 0 : rc == WP_TIMEOUT ? 1 : 2); /* [Told] */
	}
}

static void unparker(struct state *state, int which)
{
	for (uint64_t round = 1; round <= ROUNDS; round++) {
		bool gave;

		wp_store_relaxed(&state->data[which], round); /* [Write] */
		/* The twin forgets every second wake. Other states show each of its steps, so a
		 * comparison of edges alone would not find it. */
		if (wp_twin(conform_second_wake_forgotten) && round % 2 == 0) {
			wp_parker *parker = &state->parker;
			uint32_t had;

			had = wp_fetch_or_release(&parker->word, WP_PARKER_PERMIT); /* [parker.4] */
			gave = (had & (WP_PARKER_PERMIT | WP_PARKER_CLOSED)) == 0;
		} else {
			gave = wp_parker_unpark(&state->parker);
		}
		litmus_return(unpark, gave != wp_twin(conform_unpark_lies)); /* [Gave] */
	}
}

STRESS_ACTOR_CALL(unparker_1, unparker(state, 0))
STRESS_ACTOR_CALL(unparker_2, unparker(state, 1))
STRESS_ACTOR_CALL(closer, wp_parker_close(&state->parker))

STRESS_TEST(conform_parker, .claim = "The compiled parker is the specified one.",
	    .upholds = "Parker!UnparkNotLost", .state_size = sizeof(struct state), .init = init,
	    .actors = {owner, unparker_1, unparker_2, closer}, .results = 1, .blocking = 1,
	    .outcomes = {{"0", ACCEPTABLE, "all done"}, {"asleep", ACCEPTABLE, "nobody unparks"}});
