/* SPDX-License-Identifier: Apache-2.0
 * state_steps.c - takes one step in a state, and takes it back.
 *
 *   wait    if the value is as expected, the thread sleeps until a wake picks it or it times out
 *   after each step, the plain accesses of the thread up to its next step are made as well
 *
 * Why it works  Plain accesses that do not race are ordered with every access that could observe
 *               them, so nothing can tell that they happen at once. Those that race are reported
 *               where they are met (state_races.c). A volatile access is a step of its own, and can
 *               race as well. state_memory.c has the changes that a step makes.
 * Spec          none.
 * Evidence      tests/judge/explore/test_engines.py. */
#include <string.h>

#include "joins.h"
#include "state_memory.h"
#include "state_races.h"

enum { PLAIN_STEPS_MOST = 10000 };

static uint64_t access_plain(explore_machine *machine, int thread, const explore_step *step)
{
	bool writes = step->kind == EXPLORE_PLAIN_STORE;
	uint64_t value = 0;

	if (writes)
		explore_store(machine, thread, step);
	else
		value = explore_load(machine, thread, step);
	explore_races_access(machine, thread, step->location, writes, true);
	return value;
}

/* Makes plain accesses up to the next step. */
static void run_plain(explore_machine *machine, int thread)
{
	explore_actor *actor = &machine->actors[thread];

	for (int steps = 0; !machine->error; steps++) {
		explore_step step = *explore_machine_step(machine, thread);
		uint64_t value;

		if ((step.kind != EXPLORE_PLAIN_LOAD && step.kind != EXPLORE_PLAIN_STORE) ||
		    step.is_volatile) {
			explore_races_end(machine, thread);
			return;
		}
		value = access_plain(machine, thread, &step);
		if (steps == PLAIN_STEPS_MOST)
			explore_machine_give_up(machine, "a loop of plain accesses without a step");
		actor->position = explore_machine_next(machine, thread, value, false);
	}
}

static void move_on(explore_machine *machine, int thread, uint64_t value, bool is_failed)
{
	explore_actor *actor = explore_touch(machine, thread);

	machine->given = value;
	actor->position = explore_machine_next(machine, thread, value, is_failed);
	run_plain(machine, thread);
}

/* Futex. */

static void sleep_or_go_on(explore_machine *machine, int thread, const explore_step *step)
{
	int self = machine->history ? machine->history->count : -1, writer;
	bool is_asleep =
		explore_look(machine, thread, step, &writer) == explore_cut(step, step->expected);
	explore_event *event =
		explore_history_add(machine, thread, step, is_asleep ? UINT64_MAX : EXPLORE_AGAIN);
	explore_actor *actor = explore_touch(machine, thread);

	if (event)
		event->read_from = writer;
	explore_races_access(machine, thread, step->location, false, false);
	if (!is_asleep || actor->spurious_at != actor->position)
		actor->spurious = 0;
	if (!is_asleep) {
		actor->spurious_at = 0;
		move_on(machine, thread, EXPLORE_AGAIN, false);
		return;
	}
	actor->spurious_at = actor->spurious ? actor->position : 0;
	actor->is_asleep = true;
	machine->given = EXPLORE_WOKEN; /* until the wait ends */
	if (event)
		machine->history->waits[thread] = self;
}

static void wake_up(explore_machine *machine, int thread, enum explore_woken woken,
		    bool is_spurious)
{
	explore_actor *actor = explore_touch(machine, thread);

	actor->is_asleep = false;
	explore_races_step(machine, thread);
	is_spurious &= !machine->options->any_spurious;
	actor->spurious = is_spurious ? actor->spurious + 1 : 0;
	actor->spurious_at = is_spurious ? actor->position : 0;
	if (machine->history && machine->history->waits[thread] >= 0)
		machine->history->events[machine->history->waits[thread]].value = woken;
	move_on(machine, thread, woken, false);
}

static void wake(explore_machine *machine, explore_choice choice, const explore_step *step)
{
	uint64_t count = (uint64_t)__builtin_popcount(choice.woken);

	explore_history_add(machine, choice.thread, step, count);
	for (int t = 0; t < machine->program->threads; t++)
		if (choice.woken >> t & 1)
			wake_up(machine, t, EXPLORE_WOKEN, false);
	move_on(machine, choice.thread, count, false);
}

static void wake_alone(explore_machine *machine, explore_choice choice)
{
	explore_step step = *explore_machine_step(machine, choice.thread);
	bool is_spurious = choice.kind == EXPLORE_WAKE_SPURIOUSLY;
	enum explore_woken woken = is_spurious ? EXPLORE_WOKEN : EXPLORE_TIMED_OUT;

	explore_history_add(machine, choice.thread, &step, woken);
	wake_up(machine, choice.thread, woken, is_spurious);
}

/* One step. */

static void take_step(explore_machine *machine, explore_choice choice)
{
	int thread = choice.thread;
	bool is_failed = choice.kind == EXPLORE_TAKE_NOT;
	/* A copy, because the table may move. */
	explore_step step = *explore_machine_step(machine, thread);
	uint64_t value = step.kind == EXPLORE_HEAVY_FENCE;

	explore_touch(machine, thread);
	explore_races_step(machine, thread);
	switch (step.kind) {
	case EXPLORE_WAIT:
		sleep_or_go_on(machine, thread, &step);
		return;
	case EXPLORE_WAKE:
		wake(machine, choice, &step);
		return;
	case EXPLORE_CHOOSE:
		value = choice.woken;
		explore_history_add(machine, thread, &step, value);
		break;
	case EXPLORE_LOAD:
		value = explore_load(machine, thread, &step);
		explore_races_access(machine, thread, step.location, false, false);
		break;
	case EXPLORE_STORE:
		explore_store(machine, thread, &step);
		explore_races_access(machine, thread, step.location, true, false);
		break;
	case EXPLORE_PLAIN_LOAD: /* volatile */
	case EXPLORE_PLAIN_STORE:
		value = access_plain(machine, thread, &step);
		break;
	case EXPLORE_EXCHANGE:
	case EXPLORE_ADD:
	case EXPLORE_OR:
	case EXPLORE_AND:
	case EXPLORE_CAS:
		value = explore_update(machine, thread, &step, is_failed);
		explore_races_access(machine, thread, step.location,
				     !is_failed && explore_takes_place(&step, value), false);
		break;
	case EXPLORE_HEAVY_FENCE:
		for (int t = 0; t < machine->program->threads; t++)
			while (machine->actors[t].buffered)
				explore_drain(machine, t);
		/* fall through */
	default:
		explore_history_add(machine, thread, &step, value);
	}
	move_on(machine, thread, value, is_failed);
}

/* The one way to take the step that a join demands. */
static bool choose_joined(explore_machine *machine, int thread, explore_choice *choice)
{
	explore_choice choices[EXPLORE_CHOICES];
	int count = explore_machine_choices(machine, choices), ways = 0;

	for (int i = 0; i < count; i++)
		if (choices[i].thread == thread) {
			*choice = choices[i];
			ways++;
		}
	return ways == 1 ||
	       explore_machine_give_up(machine, "a joined step has several ways or none");
}

/* Takes the step and the steps that are joined to it. */
static void take_steps(explore_machine *machine, explore_choice choice)
{
	int thread = choice.thread;

	for (int steps = 0; !machine->error; steps++) {
		uint32_t site = explore_machine_step(machine, thread)->site;
		const explore_step *next;

		take_step(machine, choice);
		if (!explore_joins_count || machine->error || machine->actors[thread].is_asleep)
			return;
		next = explore_machine_step(machine, thread);
		if (next->kind == EXPLORE_END || next->kind == EXPLORE_FAIL ||
		    !explore_are_joined(machine->program, site, next->site))
			return;
		if (steps == PLAIN_STEPS_MOST)
			explore_machine_give_up(machine, "a loop of joined steps");
		else if (!choose_joined(machine, thread, &choice))
			return;
	}
}

bool explore_machine_take(explore_machine *machine, explore_choice choice)
{
	machine->touched = 0;
	machine->undo_count = 0;
	machine->is_raced = false;
	if (choice.kind == EXPLORE_DRAIN)
		explore_drain(machine, choice.thread);
	else if (choice.kind == EXPLORE_TIME_OUT || choice.kind == EXPLORE_WAKE_SPURIOUSLY)
		wake_alone(machine, choice);
	else
		take_steps(machine, choice);
	return !machine->error;
}

void explore_machine_undo(explore_machine *machine)
{
	while (machine->undo_count) {
		const struct explore_undo *undo = &machine->undo[--machine->undo_count];

		machine->values[undo->location] = undo->value;
	}
	for (int t = 0; machine->touched >> t; t++)
		if (machine->touched >> t & 1)
			explore_copy_actor(&machine->actors[t], &machine->before[t]);
	machine->touched = 0;
}

/* Beginning and end. */

void explore_machine_reset(explore_machine *machine)
{
	explore_program *program = machine->program;

	machine->touched = 0;
	machine->undo_count = 0;
	machine->is_raced = false;
	machine->locations = program->locations;
	memcpy(machine->values, program->initial, sizeof(machine->values));
	memset(machine->actors, 0, sizeof(machine->actors));
	if (machine->history)
		explore_history_reset(machine->history);
	for (int t = 0; t < program->threads && !machine->error; t++) {
		machine->actors[t].position =
			explore_stands_for(machine, t, program->start(program, t));
		explore_races_step(machine, t);
		if (program->error)
			explore_machine_give_up(machine, program->error);
		else
			run_plain(machine, t);
	}
	machine->touched = 0;
	machine->undo_count = 0;
}
