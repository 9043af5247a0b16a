/* More outcomes than the direct table has slots; init and fini that must balance. */
#include <stdlib.h>

#include "stress.h"

struct state {
	wp_atomic(uint32_t) *heap;
};

STRESS_INIT(init)
{
	state->heap = calloc(1, sizeof(*state->heap));
	if (!state->heap)
		abort();
}

static void fini(void *memory)
{
	free(((struct state *)memory)->heap);
}

STRESS_ACTOR(add)
{
	result->r[0] = -5;
	wp_fetch_add_relaxed(state->heap, 2);
}

STRESS_ACTOR(add_more)
{
	result->r[1] = 1000000;
	wp_fetch_add_relaxed(state->heap, 40);
}

STRESS_ACTOR_CALL(total, result->r[2] = wp_load_relaxed(state->heap))

STRESS_TEST(spread, .claim = "Numbers of any size are counted.", .upholds = "Mpsc!NoLoss",
	    .state_size = sizeof(struct state), .init = init, .fini = fini,
	    .actors = {add, add_more}, .arbiter = total, .results = 3,
	    .outcomes = {
		    {"-5,1000000,42", ACCEPTABLE, "all of them"},
	    });
