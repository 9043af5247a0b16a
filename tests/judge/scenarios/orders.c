/* Orders that are needed, and one that is not: what the order audit must tell apart.
 *
 *   writer                    reader            left and right: store buffering, fenced
 *   data := 1                 [orders.2] flag?
 *   [orders.1] flag := 1            data?
 *   [orders.3] done := 1, which nobody reads
 */
#include "stress.h"

struct state {
	wp_atomic(int) data, flag, done, x, y;
};

STRESS_ACTOR(writer)
{
	wp_store_relaxed(&state->data, 1);
	/* [orders.1] release; hands the data over. */
	wp_store_release(&state->flag, 1);
	/* [orders.3] release; NEEDLESS */
	wp_store_release(&state->done, 1);
}

STRESS_ACTOR(reader)
{
	/* [orders.2] acquire; takes the data over. */
	result->r[0] = wp_load_acquire(&state->flag);
	if (result->r[0] == 2)
		/* [orders.4] acquire; nobody comes here. */
		result->r[1] = wp_load_acquire(&state->done);
	/* [orders.5] relaxed; orders.2 orders it. */
	result->r[1] = wp_load_relaxed(&state->data);
}

STRESS_ACTOR(left)
{
	wp_store_relaxed(&state->x, 1);
	/* [orders.6] light; the hot side. */
	wp_fence_light();
	result->r[0] = wp_load_relaxed(&state->y);
}

STRESS_ACTOR(right)
{
	wp_store_relaxed(&state->y, 1);
	/* [orders.7] heavy; the rare side. */
	wp_fence_heavy();
	result->r[1] = wp_load_relaxed(&state->x);
}

STRESS_ACTOR(symmetric)
{
	wp_store_relaxed(&state->y, 1);
	/* [orders.8] seq_cst fence; as orders.7. */
	wp_fence_seq_cst();
	result->r[1] = wp_load_relaxed(&state->x);
}

STRESS_ACTOR(symmetric_left)
{
	wp_store_relaxed(&state->x, 1);
	wp_fence_seq_cst();
	result->r[0] = wp_load_relaxed(&state->y);
}

STRESS_TEST(orders_passing, .claim = "Who sees the flag sees the data.",
	    .upholds = "Guard!NoLostWakeup", .state_size = sizeof(struct state),
	    .actors = {writer, reader}, .results = 2,
	    .outcomes = {
		    {"1,0", FORBIDDEN, "the flag without the data"},
		    {"*", ACCEPTABLE, "too early, or with the data"},
	    });

#define ONE_SEES                                                \
	.outcomes = {                                           \
		{"0,0", FORBIDDEN, "both missed the other"},    \
		{"*", ACCEPTABLE, "one of them saw the other"}, \
	}

STRESS_TEST(orders_asymmetric,
	    .claim = "Light on one side, heavy on the other: one of them sees the other's store.",
	    .upholds = "Guard!NoLostWakeup", .state_size = sizeof(struct state),
	    .actors = {left, right}, .results = 2, ONE_SEES);

STRESS_TEST(orders_symmetric, .claim = "The same with a full fence on both sides.",
	    .upholds = "Guard!NoLostWakeup", .state_size = sizeof(struct state),
	    .actors = {symmetric_left, symmetric}, .results = 2, ONE_SEES);
