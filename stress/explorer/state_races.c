/* SPDX-License-Identifier: Apache-2.0
 * state_races.c - data races under SC and TSO: two conflicting accesses, one of them plain, that
 * could be made at the same time.
 *
 *   segment       the plain accesses of a thread between two of its steps. They are no steps of
 *                 their own: they are made together with the step before them.
 *   state         holds, for each thread, the accesses of its last segment
 *   each access   is compared with the last segments of all other threads. If both touch one place
 *                 and one of them writes, it is a race, and nothing beyond it is explored.
 *
 * Definition      Under SC and TSO, a program races if an execution in which plain accesses are
 *                 steps of their own reaches two threads whose next steps conflict. C11 has further
 *                 races, in which nothing but a relaxed access orders the two; the graph engine
 *                 judges these under RC11.
 * No false alarm  Let thread A have made its last segment. Then, after any number of steps by other
 *                 threads, let B make an access that conflicts with access a of that segment. A has
 *                 made no step since, and no access of others has conflicted with a or with what
 *                 follows a in the segment, because that would have been the race. So a and what
 *                 follows it can be delayed without a visible difference, until a is the next step
 *                 of A when B comes to its access. Under TSO, what A has stored since is in its
 *                 buffer or has drained unseen, and stands in the buffer behind everything earlier.
 * None is missed  Take a shortest execution that reaches two such next steps, a of A and b of B. No
 *                 two neighbouring accesses before them conflict, because the execution would not
 *                 be the shortest. So each plain access can be moved past its neighbours to
 *                 directly behind the last step of its own thread. The result is the execution that
 *                 the engine runs, except that A and B stand inside their segments. Let B's segment
 *                 be the later one. When A's segment is completed, it holds a, and it is still A's
 *                 last segment when B's comes to b. If another access conflicts with the rest of
 *                 A's segment, that race is reported. If a is a step and no plain access, b is in
 *                 the segment that exists when A takes the step.
 * In the state    A place that a thread reaches after different accesses is two states. Positions
 *                 may still be merged, because the accesses that a thread has made are no part of
 *                 its position.
 * Spec            none.
 * Evidence        tests/judge/explore/test_races.py. */
#include "room.h"
#include "state_races.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_ROOM = 16 };

static explore_segments *segments_of(const explore_machine *machine, int thread)
{
	return &machine->segments[thread];
}

static bool is_in(const explore_segment *segment, int location, bool writes)
{
	for (int i = 0; i < segment->count; i++)
		if (segment->accesses[i] >> 1 == location && (writes || segment->accesses[i] & 1))
			return true;
	return false;
}

static void compare(explore_machine *machine, int thread, int location, bool writes)
{
	for (int t = 0; t < machine->program->threads && !machine->is_raced; t++) {
		uint32_t number = machine->actors[t].segment;

		if (t == thread || !number ||
		    !is_in(&segments_of(machine, t)->items[number], location, writes))
			continue;
		machine->is_raced = true;
		machine->events_raced = machine->history ? machine->history->count : 0;
	}
}

void explore_races_step(explore_machine *machine, int thread)
{
	machine->actors[thread].segment = 0;
	if (machine->segments)
		segments_of(machine, thread)->open_count = 0;
}

void explore_races_access(explore_machine *machine, int thread, int location, bool writes,
			  bool is_plain)
{
	explore_segments *segments;
	uint16_t access = (uint16_t)(location << 1 | writes);

	if (!machine->segments || location < 0)
		return;
	compare(machine, thread, location, writes);
	segments = segments_of(machine, thread);
	for (int i = 0; is_plain && i < segments->open_count; i++)
		if (segments->open[i] == access)
			return;
	if (!is_plain)
		return;
	if (!explore_has_room(segments->open, segments->open_count, segments->open_room,
			      FIRST_ROOM)) {
		explore_machine_give_up(machine, "no memory for plain accesses");
		return;
	}
	segments->open[segments->open_count++] = access;
}

static uint64_t hash(const uint16_t *accesses, int count)
{
	uint64_t hash = (uint64_t)count;

	for (int i = 0; i < count; i++)
		hash = (hash ^ accesses[i]) * UINT64_C(0xff51afd7ed558ccd);
	return hash ^ hash >> 32;
}

static bool is_same(const explore_segment *segment, const uint16_t *accesses, int count)
{
	return segment->count == count &&
	       !memcmp(segment->accesses, accesses, (size_t)count * sizeof(*accesses));
}

/* Makes room for one more segment, and for its slot in the table. */
static bool grow(explore_segments *segments)
{
	uint32_t room = segments->room ? 2 * segments->room : FIRST_ROOM, size = 4 * room;
	explore_segment *items = realloc(segments->items, room * sizeof(*items));
	uint32_t *table = calloc(size, sizeof(*table));

	if (items)
		segments->items = items;
	if (!items || !table) {
		free(table);
		return false;
	}
	if (!segments->count)
		items[segments->count++] = (explore_segment){0};
	for (uint32_t i = 1; i < segments->count; i++) {
		uint64_t slot = hash(items[i].accesses, items[i].count) & (size - 1);

		while (table[slot])
			slot = (slot + 1) & (size - 1);
		table[slot] = i + 1;
	}
	free(segments->table);
	segments->table = table;
	segments->table_size = size;
	segments->room = room;
	return true;
}

static int ascending(const void *left, const void *right)
{
	return *(const uint16_t *)left - *(const uint16_t *)right;
}

/* The number of the set. 0: no memory, or a view does not know it. */
static uint32_t number_of(explore_segments *segments, const uint16_t *accesses, int count,
			  bool may_add)
{
	uint16_t *kept;
	uint64_t slot;

	if (may_add && segments->count == segments->room && !grow(segments))
		return 0;
	if (!segments->table)
		return 0;
	for (slot = hash(accesses, count) & (segments->table_size - 1); segments->table[slot];
	     slot = (slot + 1) & (segments->table_size - 1))
		if (is_same(&segments->items[segments->table[slot] - 1], accesses, count))
			return segments->table[slot] - 1;
	if (!may_add)
		return 0;
	kept = malloc((size_t)count * sizeof(*kept));
	if (!kept)
		return 0;
	memcpy(kept, accesses, (size_t)count * sizeof(*kept));
	segments->items[segments->count] = (explore_segment){kept, count};
	segments->table[slot] = segments->count + 1;
	return segments->count++;
}

void explore_races_end(explore_machine *machine, int thread)
{
	explore_segments *segments;

	if (!machine->segments)
		return;
	segments = segments_of(machine, thread);
	if (!segments->open_count)
		return;
	qsort(segments->open, (size_t)segments->open_count, sizeof(*segments->open), ascending);
	machine->actors[thread].segment =
		number_of(segments, segments->open, segments->open_count, !machine->is_view);
	if (!machine->actors[thread].segment)
		explore_machine_give_up(machine, "no memory for plain accesses");
}

bool explore_races_view(explore_machine *view, const explore_machine *machine)
{
	if (!machine->segments)
		return true;
	if (!view->segments)
		view->segments = calloc(EXPLORE_THREADS, sizeof(*view->segments));
	for (int t = 0; view->segments && t < EXPLORE_THREADS; t++) {
		explore_segments *segments = segments_of(view, t), own = *segments;

		*segments = *segments_of(machine, t);
		segments->open = own.open;
		segments->open_count = 0;
		segments->open_room = own.open_room;
	}
	return view->segments != NULL;
}

void explore_races_view_fini(explore_machine *view)
{
	for (int t = 0; view->segments && t < EXPLORE_THREADS; t++)
		free(segments_of(view, t)->open);
	free(view->segments);
	view->segments = NULL;
}

void explore_races_fini(explore_machine *machine)
{
	for (int t = 0; machine->segments && t < EXPLORE_THREADS; t++) {
		explore_segments *segments = segments_of(machine, t);

		for (uint32_t i = 1; i < segments->count; i++)
			free(segments->items[i].accesses);
		free(segments->items);
		free(segments->table);
		free(segments->open);
	}
	free(machine->segments);
	machine->segments = NULL;
}
