/* SPDX-License-Identifier: Apache-2.0
 * spare_carriers.h - a group's words, queues and sleepers, for spare_carrier.c
 * and spare_carrier_sleeps.c. */
#include "sched/compensation/spare_carrier.h"
#include "stress.h"
#include "sched/timer.h"

enum { MOST = 4 };

struct state {
	wp_placement placement;
	wp_placement_slot slots[MOST];
	wp_spare_carriers all;
	wp_carrier carriers[MOST];
	wp_atomic(uint32_t) queues[MOST], threads[MOST], global;
	bool refuses;
};

static int start(void *arg, uint32_t carrier)
{
	struct state *state = arg;

	if (state->refuses)
		return 1;
	wp_fetch_add_relaxed(&state->threads[carrier], 1);
	return 0;
}

static void move(void *arg, uint32_t carrier)
{
	struct state *state = arg;
	uint32_t many;

	if (wp_load_relaxed(&state->queues[carrier]) == 0)
		return;
	many = wp_fetch_and_relaxed(&state->queues[carrier], 0);
	wp_placement_moved(&state->placement, carrier, many);
	wp_fetch_add_relaxed(&state->global, many);
	wp_placement_spilled(&state->placement, many);
}

static void wake(void *arg, uint32_t carrier)
{
	wp_timers_nudge(&((struct state *)arg)->carriers[carrier]);
}

static void init_as(struct state *state, uint32_t carriers, uint32_t count)
{
	for (uint32_t carrier = 0; carrier < count; carrier++)
		wp_carrier_init(&state->carriers[carrier], NULL, 0);
	wp_placement_init(&state->placement, state->slots, count, WP_PLACE_HOME, false);
	state->all.start = start;
	state->all.move = move;
	state->all.wake = wake;
	state->all.arg = state;
	wp_spare_carriers_init(&state->all, &state->placement, carriers);
}

static void mark(struct state *state, uint32_t carrier)
{
	wp_placement_mark(&state->placement, carrier);
	if (!wp_twin(spare_carrier_mark_silent))
		wp_spare_carriers_settle(&state->all);
}

static void unmark(struct state *state, uint32_t carrier)
{
	wp_placement_unmark(&state->placement, carrier);
	if (!wp_twin(spare_carrier_unmark_silent))
		wp_spare_carriers_settle(&state->all);
}

static void blocks(void *at, stress_result *result)
{
	mark(at, 0);
}

/* Carrier 0 is marked as blocked and carrier 1 replaces it until the mark ends. */
static void init_marked(void *at)
{
	init_as(at, 1, 2);
	mark(at, 0);
}

static void goes_on(void *at, stress_result *result)
{
	unmark(at, 0);
}
