/* Large enough to be shared by processes, with a late revelation: `data`, which the reader takes
 * for constant, is written in 16 of 226,800 orders, in which the threads come backwards. */
#include "litmus.h"
#include "stress.h"

enum { ADDERS = 4, ADDITIONS = 2 * ADDERS + 2 };

struct state {
	wp_atomic(uint32_t) count, first[ADDERS];
	uint32_t data;
};

static uint32_t add(struct state *state)
{
	return litmus_fetch_add(&state->count, 1, acq_rel);
}

STRESS_ACTOR(writer)
{
	if (add(state) != ADDITIONS - 1)
		return;
	for (uint32_t i = 0; i < ADDERS; i++)
		if (wp_load_relaxed(&state->first[i]) != 2 * (ADDERS - 1 - i))
			return;
	state->data = 1;
}

#define ADDER(name, i)                                          \
	STRESS_ACTOR(name)                                      \
	{                                                       \
		wp_store_relaxed(&state->first[i], add(state)); \
		add(state);                                     \
	}
ADDER(adder_0, 0)
ADDER(adder_1, 1)
ADDER(adder_2, 2)
ADDER(adder_3, 3)

STRESS_ACTOR(reader)
{
	result->r[0] = state->data;
	add(state);
}

STRESS_ACTOR_CALL(look, result->r[1] = state->data)

STRESS_TEST(shared, .claim = "The reader comes before the writer.", .upholds = "None!None",
	    .state_size = sizeof(struct state),
	    .actors = {writer, adder_0, adder_1, adder_2, adder_3, reader}, .arbiter = look,
	    .results = 2,
	    .outcomes = {
		    {"0,0", ACCEPTABLE, "some other order"},
		    {"0,1", ACCEPTABLE, "backwards"},
		    {"*", FORBIDDEN, "read before it was written"},
	    });
