/* One scenario or twin for each way to fail. The judge must see all of them. */
#include <stdlib.h>

#include "stress.h"

struct state {
	wp_atomic(int) x, ready;
};

STRESS_ACTOR_CALL(write_one, wp_store_relaxed(&state->x, 1))
STRESS_ACTOR_CALL(read_it, result->r[0] = wp_load_relaxed(&state->x))

#define SIZE .upholds = "Guard!Served", .state_size = sizeof(struct state), .results = 1
#define BOTH SIZE, .actors = {write_one, read_it}

STRESS_TEST(violated_forbidden, .claim = "The reader is always late.", BOTH,
	    .outcomes = {
		    {"1", ACCEPTABLE, "late"},
		    {"0", FORBIDDEN, "early"},
	    });

STRESS_TEST(violated_uncovered, .claim = "There is no outcome 0.", BOTH,
	    .outcomes = {
		    {"1", ACCEPTABLE, "late"},
	    });

STRESS_TEST(violated_required, .claim = "The reader sees a two.", BOTH, .min_samples = 1000,
	    .outcomes = {
		    {"2", REQUIRED, "nobody writes it"},
		    {"*", ACCEPTABLE, "one or the other"},
	    });

STRESS_TEST(violated_few, .claim = "The same, but too few samples to say so.", BOTH,
	    .min_samples = 1000000000000,
	    .outcomes = {
		    {"2", REQUIRED, "nobody writes it"},
		    {"*", ACCEPTABLE, "one or the other"},
	    });

STRESS_ACTOR(spin)
{
	while (!wp_load_acquire(&state->ready))
		result->r[0] = 0;
}

STRESS_TEST(violated_stuck, .claim = "Somebody will say that it is ready.", SIZE,
	    .actors = {write_one, spin},
	    .outcomes = {
		    {"*", ACCEPTABLE, "somebody did"},
	    });

STRESS_ACTOR_CALL(crash, abort())

STRESS_TEST(violated_crash, .claim = "Nobody calls abort.", SIZE, .actors = {write_one, crash},
	    .outcomes = {
		    {"*", ACCEPTABLE, "nobody did"},
	    });

STRESS_ACTOR(read_two)
{
	read_it(state, result);
	if (wp_twin(violated_undeclared))
		result->r[0] += 2;
	if (wp_twin(violated_missed))
		result->r[0] += 0;
}

STRESS_TEST(twins_of_this, .claim = "What is read is 0 or 1.", SIZE,
	    .actors = {write_one, read_two},
	    .outcomes = {
		    {"0", ACCEPTABLE, "early"},
		    {"1", ACCEPTABLE, "late"},
		    {"*", FORBIDDEN, "neither"},
	    });

STRESS_TWIN(violated_missed, .of = "twins_of_this", .defect = "None: nothing changes.",
	    .shows = "*", .seen_by = SEEN_STRESS);

STRESS_TWIN(violated_undeclared, .of = "twins_of_this", .defect = "Two is added.", .shows = "*",
	    .seen_by = SEEN_CHECK);
