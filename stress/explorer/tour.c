/* SPDX-License-Identifier: Apache-2.0
 * tour.c - the counterexample of a fair cycle: the path to its nearest state, then once around.
 *
 *   until each thread has stepped or was unable to, and each buffer has drained or was empty
 *      go the shortest way to a choice or a state that brings this about for one more of them
 *   go back to the state in which the tour began
 *
 * Why it works  All states of a component reach each other inside it, and the component is fair, so
 *               every goal exists. Repeating the tour for ever is the run that never ends.
 * Spec          none.
 * Evidence      tests/judge/explore/test_engines.py. */
#include <stdlib.h>
#include <string.h>

#include "cycles.h"
#include "room.h"

typedef struct tour {
	explore_space *space;
	const uint32_t *numbers; /* the components of the states */
	uint32_t component;
	explore_crew still; /* stepped, drained: the threads that have yet to do so */
	explore_route route;
	bool is_failed;
} tour;

/* A breadth-first search inside the component. */
typedef struct reach {
	explore_budget budget;
	explore_table met;    /* states, in the order in which they were met */
	explore_list from;    /* for each of them, the index of its predecessor */
	explore_list choices; /* for each of them, the choice that led there, packed */
} reach;

static void add_choice(tour *tour, explore_choice choice)
{
	explore_route *route = &tour->route;

	if (!explore_has_room(route->choices, route->count, route->room, 64)) {
		tour->is_failed = true;
		return;
	}
	route->choices[route->count++] = choice;
}

static unsigned *wanted(tour *tour, explore_choice choice)
{
	return choice.kind == EXPLORE_DRAIN ? &tour->still.drained : &tour->still.stepped;
}

/* Removes the threads and buffers that the loaded state excuses. True: it excuses one that was not
 * excused before. */
static bool excuse(tour *tour)
{
	explore_crew here = explore_cycle_look(tour->space), before = tour->still;

	tour->still.stepped &= ~(here.ended | here.unable);
	tour->still.drained &= ~here.empty;
	return memcmp(&before, &tour->still, sizeof(before)) != 0;
}

static void meet(tour *tour, reach *reach, uint32_t state, uint32_t from, explore_choice choice)
{
	uint32_t packed = choice.kind | (uint32_t)choice.thread << 8 | (uint32_t)choice.woken << 16;

	if (explore_table_put(&reach->met, &state, true) == reach->from.count)
		tour->is_failed |= !explore_list_push(&reach->from, from) ||
				   !explore_list_push(&reach->choices, packed);
}

/* Adds the path to the state that was met as number `at`. */
static void retrace(tour *tour, const reach *reach, uint32_t at)
{
	uint32_t packed = reach->choices.items[at];

	if (at == 0)
		return;
	retrace(tour, reach, reach->from.items[at]);
	add_choice(tour, (explore_choice){(uint8_t)packed, (uint8_t)(packed >> 8),
					  (uint16_t)(packed >> 16)});
}

/* Meets the successors of the loaded state. If one choice is wanted, takes it and returns the state
 * to which it leads; else EXPLORE_NONE. */
static uint32_t look_on(tour *tour, reach *reach, uint32_t at, bool is_wanting)
{
	explore_space *space = tour->space;

	for (int c = 0; c < space->choices_count; c++) {
		explore_choice choice = space->choices[c];
		uint32_t to = explore_cycle_target(space, c);

		if (to == EXPLORE_NONE || tour->numbers[to] != tour->component)
			continue;
		if (is_wanting && *wanted(tour, choice) >> choice.thread & 1) {
			*wanted(tour, choice) &= ~(1u << choice.thread);
			retrace(tour, reach, at);
			add_choice(tour, choice);
			return to;
		}
		meet(tour, reach, to, at, choice);
	}
	return EXPLORE_NONE;
}

/* Goes the shortest way to `goal`. If `goal` is EXPLORE_NONE, goes through a wanted choice or to a
 * state that excuses a thread. Returns the state that it reaches. */
static uint32_t go(tour *tour, uint32_t from, uint32_t goal, reach *reach)
{
	bool is_wanting = goal == EXPLORE_NONE;

	meet(tour, reach, from, 0, (explore_choice){0});
	for (uint32_t i = 0; i < reach->met.count && !tour->is_failed; i++) {
		uint32_t state = *explore_table_at(&reach->met, i), to;

		explore_space_load(tour->space, state);
		if (is_wanting ? excuse(tour) : state == goal) {
			retrace(tour, reach, i);
			return state;
		}
		to = look_on(tour, reach, i, is_wanting);
		if (to != EXPLORE_NONE)
			return to;
	}
	tour->is_failed = true;
	return from;
}

static uint32_t leg(tour *tour, uint32_t from, uint32_t goal)
{
	reach reach = {0};

	if (explore_table_init(&reach.met, &reach.budget, 1))
		from = go(tour, from, goal, &reach);
	else
		tour->is_failed = true;
	explore_table_fini(&reach.met);
	free(reach.from.items);
	free(reach.choices.items);
	return from;
}

void explore_cycle_show(explore_space *space, const uint32_t *numbers, uint32_t first,
			explore_outcome *outcome)
{
	unsigned all = (1u << space->machine.program->threads) - 1;
	tour tour = {.space = space,
		     .numbers = numbers,
		     .component = numbers[first],
		     .still = {.stepped = all, .drained = all}};
	uint32_t at = first;

	while ((tour.still.stepped | tour.still.drained) && !tour.is_failed)
		at = leg(&tour, at, EXPLORE_NONE);
	if (!tour.is_failed)
		leg(&tour, at, first);
	explore_space_example(space, first, &tour.route, outcome);
	free(tour.route.choices);
}
