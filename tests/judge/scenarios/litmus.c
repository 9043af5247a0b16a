/* SPDX-License-Identifier: Apache-2.0
 * litmus.c - the litmus tests that tell memory models apart.
 *
 *   store buffering      x := 1; read y    |  y := 1; read x           result: "y, x"
 *   message passing      x := 1; y := 1    |  read y; read x           result: "y, x"
 *   independent reads    x := 1  |  y := 1  |  read x; read y  |  read y; read x
 *
 * Why it works  The grade of each outcome is C11's (RC11). The explorer computes for each model
 *               which weak outcomes a machine may show.
 * Spec          none: these judge the judges. */
#include "litmus.h"
#include "stress.h"

struct state {
	_Alignas(WP_LINE) wp_atomic(uint32_t) x;
	_Alignas(WP_LINE) wp_atomic(uint32_t) y;
};

#define ACTOR(name, ...)    \
	STRESS_ACTOR(name)  \
	{                   \
		__VA_ARGS__ \
	}

ACTOR(buffering_a, litmus_store(&state->x, 1, release);
      result->r[0] = litmus_load(&state->y, acquire);)
ACTOR(buffering_b, litmus_store(&state->y, 1, release);
      result->r[1] = litmus_load(&state->x, acquire);)

STRESS_TEST(litmus_buffering,
	    .claim = "Release and acquire do not order a store before a later load.",
	    .upholds = "Guard!NoLostWakeup", .state_size = sizeof(struct state),
	    .actors = {buffering_a, buffering_b}, .results = 2, .min_samples = 1000000,
	    .outcomes = {
		    {"0,0", REQUIRED, "both loads overtake the stores: why the guard needs fences"},
		    {"0,1", ACCEPTABLE, "b came later"},
		    {"1,0", ACCEPTABLE, "a came later"},
		    {"1,1", ACCEPTABLE, "side by side"},
	    });

ACTOR(fenced_a, litmus_store(&state->x, 1, relaxed); litmus_fence(seq_cst);
      result->r[0] = litmus_load(&state->y, relaxed);)
ACTOR(fenced_b, litmus_store(&state->y, 1, relaxed); litmus_fence(seq_cst);
      result->r[1] = litmus_load(&state->x, relaxed);)

#define ONE_SEES_THE_OTHER                                   \
	.outcomes = {                                        \
		{"0,0", FORBIDDEN, "neither saw the other"}, \
		{"0,1", ACCEPTABLE, "b came later"},         \
		{"1,0", ACCEPTABLE, "a came later"},         \
		{"1,1", ACCEPTABLE, "side by side"},         \
	}

STRESS_TEST(litmus_fenced, .claim = "With a seq_cst fence on both sides one sees the other.",
	    .upholds = "Guard!NoLostWakeup", .state_size = sizeof(struct state),
	    .actors = {fenced_a, fenced_b}, .results = 2, ONE_SEES_THE_OTHER);

ACTOR(update_a, litmus_exchange(&state->x, 1, seq_cst);
      result->r[0] = litmus_load(&state->y, acquire);)
ACTOR(update_b, litmus_exchange(&state->y, 1, seq_cst);
      result->r[1] = litmus_load(&state->x, acquire);)

STRESS_TEST(litmus_update_is_no_fence,
	    .claim = "A seq_cst read-modify-write is not a fence, though x86 makes one of it.",
	    .upholds = "Guard!NoLostWakeup", .state_size = sizeof(struct state),
	    .actors = {update_a, update_b}, .results = 2,
	    .outcomes = {
		    {"0,0", INTERESTING, "RC11 allows it: what broke other schedulers on ARM"},
		    {"0,1", ACCEPTABLE, "b came later"},
		    {"1,0", ACCEPTABLE, "a came later"},
		    {"1,1", ACCEPTABLE, "side by side"},
	    });

ACTOR(send, litmus_store(&state->x, 1, relaxed); litmus_store(&state->y, 1, release);)
ACTOR(receive, result->r[0] = litmus_load(&state->y, acquire);
      result->r[1] = litmus_load(&state->x, relaxed);)

STRESS_TEST(litmus_message, .claim = "Who acquires what was released sees what came before.",
	    .upholds = "Mpsc!NoLoss", .state_size = sizeof(struct state), .actors = {send, receive},
	    .results = 2,
	    .outcomes = {
		    {"1,0", FORBIDDEN, "the flag without the message"},
		    {"0,0", ACCEPTABLE, "early"},
		    {"0,1", ACCEPTABLE, "between"},
		    {"1,1", ACCEPTABLE, "late"},
	    });

ACTOR(write_x, litmus_store(&state->x, 1, seq_cst);)
ACTOR(write_y, litmus_store(&state->y, 1, seq_cst);)
ACTOR(read_xy,
      result->r[0] = litmus_load(&state->x, seq_cst) * 2 + litmus_load(&state->y, seq_cst);)
ACTOR(read_yx, uint32_t y = litmus_load(&state->y, seq_cst);
      result->r[1] = litmus_load(&state->x, seq_cst) * 2 + y;)

STRESS_TEST(litmus_independent_reads,
	    .claim = "All agree on the order of two seq_cst stores by different threads.",
	    .upholds = "Search!WorkConservation", .state_size = sizeof(struct state),
	    .actors = {write_x, write_y, read_xy, read_yx}, .results = 2,
	    .outcomes = {
		    {"2,1", FORBIDDEN, "one saw x first, the other y"},
		    {"*,*", ACCEPTABLE, "they agree"},
	    });
