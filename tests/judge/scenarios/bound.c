/* A loop that only a late turn enters. Another process meets the executions that the bound cuts. */
#include "litmus.h"
#include "stress.h"
struct state {
	wp_atomic(uint32_t) x, t;
};
STRESS_ACTOR(first)
{
	if (wp_fetch_add_relaxed(&state->x, 1) == 100) {
		for (int i = 0; i < 6; i++) {
			for (int k = 0; k < 12; k++)
				wp_store_relaxed(&state->t, (uint32_t)i);
			WP__YIELD();
		}
		result->r[0] = 1;
	}
	for (int i = 0; i < 3; i++)
		wp_fetch_add_relaxed(&state->x, 1);
}
STRESS_ACTOR(second)
{
	wp_fetch_add_relaxed(&state->x, 100);
	for (int i = 0; i < 3; i++)
		wp_fetch_add_relaxed(&state->x, 1);
}
STRESS_ACTOR(third)
{
	for (int i = 0; i < 5; i++)
		wp_fetch_add_relaxed(&state->x, 1);
}
STRESS_TEST(bound, .claim = "Never.", .upholds = "Mpsc!NoLoss", .state_size = sizeof(struct state),
	    .actors = {first, second, third}, .results = 1,
	    .outcomes = {{"0", ACCEPTABLE, "early"}, {"1", FORBIDDEN, "late"}});
