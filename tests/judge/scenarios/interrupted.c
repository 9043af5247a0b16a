/* A signal may end a wait, but only where spurious wakeups are explored. */
#include "base/error.h"
#include "base/futex.h"
#include "stress.h"

struct state {
	wp_atomic(uint32_t) word, mine, other;
};

STRESS_ACTOR(sleeper)
{
	int rc = WP_OK;

	while (wp_load_relaxed(&state->word) == 0 && rc != WP_INTERRUPTED)
		rc = wp_futex_wait(&state->word, 0, WP_FOREVER);
	result->r[0] = rc == WP_INTERRUPTED;
	result->r[1] = wp_load_relaxed(&state->word);
}

STRESS_ACTOR(waker)
{
	wp_store_relaxed(&state->word, 1);
	wp_futex_wake(&state->word, 1);
}

/* A store, a wait that only a signal or its deadline ends, and a load; the other actor does the
 * reverse, with a fence. */
STRESS_ACTOR(waiter)
{
	int rc;

	wp_store_relaxed(&state->mine, 1);
	rc = wp_futex_wait(&state->word, 0, 1);
	result->r[0] = wp_load_relaxed(&state->other);
	result->r[2] = rc == WP_INTERRUPTED;
}

STRESS_ACTOR(fencer)
{
	wp_store_relaxed(&state->other, 1);
	wp_fence_seq_cst();
	result->r[1] = wp_load_relaxed(&state->mine);
}

STRESS_TEST(interrupted_fence, .claim = "A wait is a fence, however it ends.",
	    .upholds = "Parker!UnparkNotLost", .state_size = sizeof(struct state),
	    .actors = {waiter, fencer}, .blocking = 1, .results = 3,
	    .outcomes = {{"*", ACCEPTABLE, "judged by the test"}});

STRESS_TEST(interrupted, .claim = "A sleeper that no signal finds is woken.",
	    .upholds = "Parker!UnparkNotLost", .state_size = sizeof(struct state),
	    .actors = {sleeper, waker}, .blocking = 1, .results = 2,
	    .outcomes = {
		    {"0,1", ACCEPTABLE, "woken, or not asleep"},
		    {"1,1", INTERESTING, "a signal came first, then the word"},
		    {"1,0", INTERESTING, "a signal came before the word"},
	    });
