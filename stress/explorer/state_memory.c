/* SPDX-License-Identifier: Apache-2.0
 * state_memory.c - the changes that a step makes to values, buffers and threads, and the events
 * that record them.
 *
 *   load    the newest store to the place in the thread's own buffer, else memory
 *   store   TSO: into the thread's own buffer; SC, or seq_cst: into memory
 *   drain   the oldest buffered store, into memory
 *
 * Why it works  Each change saves the previous contents: `undo` holds values, `before` holds
 *               threads.
 * Spec          none.
 * Evidence      tests/judge/explore/test_engines.py. */
#include "state_memory.h"

#include <stdlib.h>
#include <string.h>

#include "joins.h"
#include "room.h"

/* Changes. */

void explore_copy_actor(explore_actor *to, const explore_actor *from)
{
	memcpy(to, from,
	       offsetof(explore_actor, buffer) + (size_t)from->buffered * sizeof(from->buffer[0]));
}

explore_actor *explore_touch(explore_machine *machine, int thread)
{
	if (!(machine->touched >> thread & 1)) {
		machine->touched |= 1u << thread;
		explore_copy_actor(&machine->before[thread], &machine->actors[thread]);
	}
	return &machine->actors[thread];
}

static void set_value(explore_machine *machine, int location, uint64_t value, int writer)
{
	if (!explore_has_room(machine->undo, machine->undo_count, machine->undo_room, 64)) {
		explore_machine_give_up(machine, "no memory");
		return;
	}
	if (explore_wraps_count)
		value = explore_wrapped(machine->program, location, value);
	machine->undo[machine->undo_count++] =
		(struct explore_undo){location, machine->values[location]};
	machine->values[location] = value;
	if (machine->history)
		machine->history->writers[location] = writer;
}

void explore_drain(explore_machine *machine, int thread)
{
	explore_actor *actor = explore_touch(machine, thread);
	explore_buffered oldest = actor->buffer[0];

	memmove(actor->buffer, actor->buffer + 1,
		(size_t)--actor->buffered * sizeof(actor->buffer[0]));
	set_value(machine, oldest.location, oldest.value, oldest.writer);
	machine->given = oldest.value;
	if (machine->history) {
		explore_step step = machine->history->events[oldest.writer].step;
		explore_event *event = explore_history_add(machine, thread, &step, oldest.value);

		if (event) {
			event->is_drain = event->has_written = true;
			event->written = oldest.value;
		}
	}
}

uint64_t explore_look(const explore_machine *machine, int thread, const explore_step *step,
		      int *writer)
{
	const explore_actor *actor = &machine->actors[thread];

	for (int i = actor->buffered - 1; i >= 0; i--)
		if (actor->buffer[i].location == step->location) {
			*writer = actor->buffer[i].writer;
			return explore_cut(step, actor->buffer[i].value);
		}
	*writer = machine->history ? machine->history->writers[step->location] : -1;
	return explore_cut(step, machine->values[step->location]);
}

uint64_t explore_load(explore_machine *machine, int thread, const explore_step *step)
{
	int writer;
	uint64_t value = explore_look(machine, thread, step, &writer);
	explore_event *event = explore_history_add(machine, thread, step, value);

	if (event)
		event->read_from = writer;
	return value;
}

void explore_store(explore_machine *machine, int thread, const explore_step *step)
{
	uint64_t value = explore_cut(step, step->operand);
	int writer = machine->history ? machine->history->count : -1;
	explore_event *event = explore_history_add(machine, thread, step, 0);
	explore_actor *actor;

	if (event) {
		event->has_written = true;
		event->written = value;
	}
	if (machine->options->model == EXPLORE_SC || step->order == EXPLORE_SEQ_CST) {
		set_value(machine, step->location, value, writer);
		return;
	}
	actor = explore_touch(machine, thread);
	if (actor->buffered == EXPLORE_BUFFERED) { /* by plain stores; for others see can_take */
		machine->is_bounded = true;
		explore_drain(machine, thread);
	}
	actor->buffer[actor->buffered++] = (explore_buffered){step->location, writer, value};
}

uint64_t explore_update(explore_machine *machine, int thread, const explore_step *step,
			bool is_failed)
{
	int writer, self = machine->history ? machine->history->count : -1;
	uint64_t old = explore_look(machine, thread, step, &writer);
	explore_event *event = explore_history_add(machine, thread, step, old);
	bool has_written = !is_failed && explore_takes_place(step, old);
	uint64_t new = explore_updated(step, old);

	if (event) {
		event->read_from = writer;
		event->has_written = has_written;
		event->written = has_written ? new : 0;
	}
	if (has_written)
		set_value(machine, step->location, new, self);
	return old;
}
