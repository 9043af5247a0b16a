/* Store buffering, bare and fenced: the engine's own litmus. */
#include "stress.h"

struct state {
	wp_atomic(int) x, y;
};

STRESS_ACTOR(left)
{
	wp_store_relaxed(&state->x, 1);
	result->r[0] = wp_load_relaxed(&state->y);
}

STRESS_ACTOR(right)
{
	wp_store_relaxed(&state->y, 1);
	result->r[1] = wp_load_relaxed(&state->x);
}

STRESS_ACTOR(left_fenced)
{
	wp_store_relaxed(&state->x, 1);
	if (!wp_twin(buffering_no_fence))
		wp_fence_seq_cst();
	result->r[0] = wp_load_relaxed(&state->y);
}

STRESS_ACTOR(right_fenced)
{
	wp_store_relaxed(&state->y, 1);
	if (!wp_twin(buffering_no_fence))
		wp_fence_seq_cst();
	result->r[1] = wp_load_relaxed(&state->x);
}

STRESS_TEST(buffering_bare, .claim = "Without fences both may miss the other's store.",
	    .upholds = "Guard!NoLostWakeup", .state_size = sizeof(struct state),
	    .actors = {left, right}, .results = 2, .min_samples = 100000,
	    .outcomes = {
		    {"0,0", REQUIRED, "the store buffer shows"},
		    {"*", ACCEPTABLE, "one of them was late"},
	    });

STRESS_TEST(buffering_fenced, .claim = "With fences one of them sees the other's store.",
	    .upholds = "Guard!NoLostWakeup", .state_size = sizeof(struct state),
	    .actors = {left_fenced, right_fenced}, .results = 2, .min_samples = 100000,
	    .outcomes = {
		    {"0,0", FORBIDDEN, "both missed the other"},
		    {"0,1", ACCEPTABLE, "left was first"},
		    {"1,0", ACCEPTABLE, "right was first"},
		    {"1,1", ACCEPTABLE, "both saw"},
	    });

STRESS_TWIN(buffering_no_fence, .of = "buffering_fenced", .defect = "Neither side has a fence.",
	    .shows = "0,0", .seen_by = SEEN_STRESS | SEEN_TSO | SEEN_RC11, .chance = SEEN_DELAYED);
