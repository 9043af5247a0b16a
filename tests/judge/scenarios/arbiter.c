/* Tests of the judges themselves: what an arbiter finds in the state that the actors left. */
#include "litmus.h"
#include "stress.h"

struct state {
	wp_atomic(uint32_t) token;
};

STRESS_INIT(init)
{
	wp_init(&state->token, 1);
}

/* Looks, then takes: both takers may take it. */
STRESS_ACTOR(taker)
{
	if (litmus_load(&state->token, seq_cst)) {
		litmus_store(&state->token, 0, seq_cst);
		result->r[0] = 1;
	}
}

STRESS_ACTOR_CALL(one, result->r[0] = 1)
STRESS_ACTOR_CALL(is_two, result->r[1] = result->r[0] == 2)
STRESS_ACTOR_CALL(replaces, result->r[0] = 7)

STRESS_TEST(arbiter_token, .claim = "One takes the token.", .upholds = "None!None",
	    .state_size = sizeof(struct state), .init = init, .actors = {taker, taker},
	    .arbiter = is_two, .results = 2,
	    .outcomes = {{"*,1", FORBIDDEN, "both took it"}, {"*,*", ACCEPTABLE, "one"}});

STRESS_TEST(arbiter_sum, .claim = "The arbiter finds the sum.", .upholds = "None!None",
	    .state_size = sizeof(struct state), .actors = {one, one}, .arbiter = is_two,
	    .results = 2,
	    .outcomes = {{"2,1", ACCEPTABLE, "the sum"}, {"*,*", FORBIDDEN, "something else"}});

STRESS_TEST(arbiter_last, .claim = "What the arbiter leaves counts.", .upholds = "None!None",
	    .state_size = sizeof(struct state), .actors = {one, one}, .arbiter = replaces,
	    .results = 1,
	    .outcomes = {{"7", ACCEPTABLE, "as it left it"}, {"*", FORBIDDEN, "added"}});
