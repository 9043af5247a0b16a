/* A wait may end by a signal: only where spurious wakeups are explored. */
#include "error.h"
#include "futex.h"
#include "stress.h"

struct state {
	wp_atomic(uint32_t) word;
};

static void sleeper(void *memory, stress_result *result)
{
	struct state *state = memory;
	int rc = WP_OK;

	while (wp_load_relaxed(&state->word) == 0 && rc != WP_INTERRUPTED)
		rc = wp_futex_wait(&state->word, 0, WP_FOREVER);
	result->r[0] = rc == WP_INTERRUPTED;
	result->r[1] = wp_load_relaxed(&state->word);
}

static void waker(void *memory, stress_result *result)
{
	struct state *state = memory;

	(void)result;
	wp_store_relaxed(&state->word, 1);
	wp_futex_wake(&state->word, 1);
}

STRESS_TEST(interrupted, .claim = "A sleeper that no signal finds is woken.",
	.upholds = "Parker!UnparkNotLost", .state_size = sizeof(struct state),
	.actors = {sleeper, waker}, .blocking = 1, .results = 2,
	.outcomes = {
		{"0,1", ACCEPTABLE, "woken, or not asleep"},
		{"1,1", INTERESTING, "a signal came first, then the word"},
		{"1,0", INTERESTING, "a signal came before the word"},
	});
