/* A parker with a forgetful waker; two threads that wait for each other; a sleep with a
 * deadline. */
#include "stress.h"

#include "base/error.h"
#include "base/futex.h"
#include "wakeup/parker.h"

struct state {
	wp_parker parker;
	wp_atomic(int) data;
	wp_atomic(uint32_t) first, second;
};

STRESS_ACTOR_CALL(sleeper, result->r[0] = wp_parker_park(&state->parker) == WP_OK)

STRESS_ACTOR(waker)
{
	if (wp_twin(sleeping_waker_looks) && wp_load_relaxed(&state->parker.word) == 0)
		return;
	wp_parker_unpark(&state->parker);
}

STRESS_TEST(sleeping_woken, .claim = "An unpark is not lost.", .upholds = "Parker!UnparkNotLost",
	    .state_size = sizeof(struct state), .actors = {sleeper, waker}, .results = 1,
	    .blocking = 1, .min_samples = 1000,
	    .outcomes = {
		    {"1", ACCEPTABLE, "the permit came"},
		    {"asleep", FORBIDDEN, "lost"},
	    });

STRESS_TWIN(sleeping_waker_looks, .of = "sleeping_woken",
	    .defect = "The waker looks for a sleeper before it gives the permit.",
	    .shows = "asleep", .seen_by = SEEN_STRESS | SEEN_DELAYED | SEEN_SC);

STRESS_ACTOR(wait_first)
{
	wp_futex_wait(&state->first, 0, WP_FOREVER);
	wp_store_relaxed(&state->second, 1);
	wp_futex_wake(&state->second, 1);
}

STRESS_ACTOR(wait_second)
{
	wp_futex_wait(&state->second, 0, WP_FOREVER);
	wp_store_relaxed(&state->first, 1);
	wp_futex_wake(&state->first, 1);
}

STRESS_TEST(sleeping_pair, .claim = "Two that wait for each other sleep for ever.",
	    .upholds = "Parker!UnparkNotLost", .state_size = sizeof(struct state),
	    .actors = {wait_first, wait_second}, .results = 1, .blocking = 1, .min_samples = 10,
	    .outcomes = {
		    {"asleep", REQUIRED, "a deadlock"},
	    });

enum { LATE_NS = 3000000 };

STRESS_ACTOR_CALL(late, result->r[0] = wp_futex_wait(&state->first, 0, wp_clock_ns() + LATE_NS) ==
				       WP_TIMEOUT)
STRESS_ACTOR_CALL(nothing, result->r[1] = 1)

STRESS_TEST(sleeping_deadline, .claim = "A sleep with a deadline is not a sleep for ever.",
	    .upholds = "Parker!UnparkNotLost", .state_size = sizeof(struct state),
	    .actors = {late, nothing}, .results = 2, .blocking = 1, .min_samples = 10,
	    .outcomes = {
		    {"1,1", REQUIRED, "the deadline came"},
		    {"asleep", FORBIDDEN, "the watchdog was wrong"},
	    });
