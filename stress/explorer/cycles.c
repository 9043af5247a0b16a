/* SPDX-License-Identifier: Apache-2.0
 * cycles.c - does a thread loop for ever under weak fairness? The components of states come from
 * Tarjan's algorithm (1972), with an explicit stack.
 *
 *   a component is fair if in it   each thread has ended, takes a step, or is unable to in some
 *                                  state; and each buffer drains, or is empty in some state
 *   a fair component with an edge  stuck
 *
 * For example, a waiter of a spin lock spins in a component in which the owner could always step
 * and never does. The component is not fair, so there is no alarm.
 *
 * Why it works  A run that never ends stays in one component from some point on. Weakly fair
 *               scheduling lets a thread step that is always able to; it keeps a run in the
 *               component only if the conditions hold. If they hold, going round through the whole
 *               component again and again is such a run. Conditions of this kind hold for a part of
 *               a component only if they hold for all of it, so no parts need to be examined.
 *               Spurious wakeups and spurious failures of weak compare-and-swaps are left out: no
 *               program may rely on them, and they do not go on for ever.
 * Spec          none: weak fairness as in TLA+.
 * Evidence      tests/judge/explore/test_engines.py. */
#include <stdlib.h>
#include <string.h>

#include "cycles.h"
#include "room.h"

typedef struct frame {
	uint32_t state, low;
	uint32_t edges, next; /* its successors begin at `edges` and are visited up to `next` */
	bool has_loop;
} frame;

typedef struct search {
	explore_space *space;
	/* By state: 0, or its number in depth-first order while it is open, or EXPLORE_DONE |
	 * component. */
	uint32_t *numbers;
	uint32_t turn, components;
	explore_list edges, open;
	frame *frames;
	uint32_t depth, frames_room;
	bool is_failed;
	uint64_t found; /* number of fair components */
	uint32_t first; /* the state of a fair component that is nearest to the initial state */
} search;

bool explore_list_push(explore_list *list, uint32_t item)
{
	if (!explore_has_room(list->items, list->count, list->room, 1024))
		return false;
	list->items[list->count++] = item;
	return true;
}

static void push(search *search, explore_list *list, uint32_t item)
{
	if (!explore_list_push(list, item))
		search->is_failed = true;
}

uint32_t explore_cycle_target(explore_space *space, int choice)
{
	uint32_t to = EXPLORE_NONE;

	if (explore_is_promised(space->choices[choice])) {
		to = explore_space_follow(space, choice, false);
		explore_machine_undo(&space->machine);
	}
	return to;
}

/* Tarjan. */

static void add_target(search *search, frame *frame, uint32_t to)
{
	if (to == frame->state)
		frame->has_loop = true;
	else if (to != EXPLORE_NONE)
		push(search, &search->edges, to);
}

static void open_state(search *search, uint32_t state)
{
	explore_space *space = search->space;
	frame *frame;

	if (!explore_has_room(search->frames, search->depth, search->frames_room, 1024)) {
		search->is_failed = true;
		return;
	}
	frame = &search->frames[search->depth++];
	frame->state = state;
	frame->low = search->numbers[state] = ++search->turn;
	frame->edges = frame->next = search->edges.count;
	frame->has_loop = false;
	push(search, &search->open, state);
	if (state < space->kept_states) {
		for (uint32_t i = space->kept_from[state]; i < space->kept_from[state + 1]; i++)
			add_target(search, frame, space->kept[i]);
		return;
	}
	explore_space_load(space, state);
	for (int i = 0; i < space->choices_count; i++)
		add_target(search, frame, explore_cycle_target(space, i));
}

explore_crew explore_cycle_look(explore_space *space)
{
	explore_machine *machine = &space->machine;
	explore_choice choices[EXPLORE_CHOICES]; /* also the choices that a bound forbids */
	int count = explore_machine_choices(machine, choices);
	explore_crew are = {.unable = (1u << machine->program->threads) - 1};

	for (int i = 0; i < count; i++)
		if (choices[i].kind != EXPLORE_DRAIN && explore_is_promised(choices[i]))
			are.unable &= ~(1u << choices[i].thread);
	for (int t = 0; t < machine->program->threads; t++) {
		are.ended |= (unsigned)(explore_machine_step(machine, t)->kind == EXPLORE_END) << t;
		are.empty |= (unsigned)!machine->actors[t].buffered << t;
	}
	return are;
}

static bool is_fair(const explore_crew *crew, int count)
{
	unsigned all = (1u << count) - 1;

	return ((crew->ended | crew->stepped | crew->unable) & all) == all &&
	       ((crew->drained | crew->empty) & all) == all;
}

static void add_edges(search *search, uint32_t component, explore_crew *crew)
{
	explore_space *space = search->space;

	for (int i = 0; i < space->choices_count; i++) {
		explore_choice choice = space->choices[i];
		uint32_t to = explore_cycle_target(space, i);

		if (to == EXPLORE_NONE || search->numbers[to] != component)
			continue;
		if (choice.kind == EXPLORE_DRAIN)
			crew->drained |= 1u << choice.thread;
		else
			crew->stepped |= 1u << choice.thread;
	}
}

/* The states of the component stand at the end of the list of open states, from `first` on. */
static void judge(search *search, uint32_t component, uint32_t first)
{
	explore_space *space = search->space;
	uint32_t nearest = EXPLORE_NONE;
	explore_crew all = {0};

	for (uint32_t i = first; i < search->open.count; i++) {
		uint32_t state = search->open.items[i];
		explore_crew here;

		explore_space_load(space, state);
		here = explore_cycle_look(space);
		all.ended |= here.ended;
		all.unable |= here.unable;
		all.empty |= here.empty;
		add_edges(search, component, &all);
		nearest = state < nearest ? state : nearest;
	}
	if (!is_fair(&all, space->machine.program->threads))
		return;
	search->found++;
	search->first = nearest < search->first ? nearest : search->first;
}

static void close_state(search *search)
{
	const frame *frame = &search->frames[--search->depth];
	uint32_t number = search->numbers[frame->state], first = search->open.count;

	search->edges.count = frame->edges;
	if (search->depth && frame->low < frame[-1].low)
		search->frames[search->depth - 1].low = frame->low;
	if (frame->low != number)
		return;
	do {
		first--;
		search->numbers[search->open.items[first]] = EXPLORE_DONE | search->components;
	} while (search->open.items[first] != frame->state);
	if (first + 1 < search->open.count || frame->has_loop)
		judge(search, EXPLORE_DONE | search->components, first);
	search->open.count = first;
	search->components++;
}

static void walk(search *search, uint32_t root)
{
	open_state(search, root);
	while (search->depth && !search->is_failed) {
		frame *top = &search->frames[search->depth - 1];
		uint32_t to;

		if (top->next == search->edges.count) {
			close_state(search);
			continue;
		}
		to = search->edges.items[top->next++];
		if (search->numbers[to] == 0)
			open_state(search, to);
		else if (!(search->numbers[to] & EXPLORE_DONE) && search->numbers[to] < top->low)
			top->low = search->numbers[to];
	}
}

void explore_space_cycles(explore_space *space, explore_report *report)
{
	search search = {.space = space, .first = EXPLORE_NONE};

	search.numbers = calloc(space->states.count, sizeof(*search.numbers));
	search.is_failed = !search.numbers || space->states.count >= EXPLORE_DONE;
	for (uint32_t s = 0; s < space->states.count && !search.is_failed; s++)
		if (!search.numbers[s])
			walk(&search, s);
	if (search.found) {
		explore_outcome *outcome = explore_count(report, "stuck", EXPLORE_STUCK);

		outcome->count = search.found;
		explore_cycle_show(space, search.numbers, search.first, outcome);
	}
	if (search.is_failed && !report->stopped)
		report->stopped = "max_bytes";
	free(search.numbers);
	free(search.edges.items);
	free(search.open.items);
	free(search.frames);
}
