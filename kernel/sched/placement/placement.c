/* SPDX-License-Identifier: Apache-2.0
 * placement.c - see placement.h. */
#include "sched/placement/placement.h"

#include <stddef.h>

/* One in the high half of a word. */
#define ONE ((uint64_t)1 << 32)
#define MARK ((uint64_t)1)
#define SUSPECT ((uint64_t)2)
#define MARKS WP_PLACEMENT_MARKS

void wp_placement_init(wp_placement *placement, wp_placement_slot *slots, uint32_t count,
		       enum wp_placement_policy policy, bool at_dequeue)
{
	wp_init(&placement->global, 0);
	placement->slots = slots;
	placement->count = count;
	wp_init(&placement->reach, count);
	placement->policy = policy;
	placement->clusters = 1;
	placement->members = placement->ends = NULL;
	placement->at_dequeue = at_dequeue;
	placement->is_watched = false;
	for (uint32_t carrier = 0; carrier < count; carrier++)
		wp_init(&slots[carrier].word, 0);
}

uint32_t wp_placement_load(const wp_placement *placement, uint32_t carrier)
{
	return wp__placement_high(wp__placement_look(placement, carrier));
}

bool wp_placement_submitted(wp_placement *placement, uint32_t carrier)
{
	/* [placement.1] release; pairs policy.1, placement.3, spare_carrier.4; upholds
	 * Placement!BlockingNeverTargeted: a thread that flags the carrier after this finds the
	 * push in the queue that it moves. */
	uint64_t before = wp_fetch_add_release(&placement->slots[carrier].word, ONE);

	return (before & WP_PLACEMENT_UNWANTED) == 0;
}

/* Adds to the load. Returns the word of before. [any thread | wait-free] */
static uint64_t add(wp_placement *placement, uint32_t carrier, uint64_t many)
{
	/* [placement.2] release; pairs policy.1, placement.11; upholds Monitor!MarkIsOfWhoRuns: a
	 * monitor that flags the carrier after a step has ended sees that end. For the load itself
	 * atomicity is enough: each task that is counted is counted off once. */
	return wp_fetch_add_release(&placement->slots[carrier].word, many * ONE);
}

void wp_placement_moved(wp_placement *placement, uint32_t carrier, uint32_t many)
{
	add(placement, carrier, -(uint64_t)many);
}

void wp_placement_stolen(wp_placement *placement, uint32_t victim, uint32_t thief)
{
	add(placement, victim, -(uint64_t)1);
	if (!placement->at_dequeue)
		add(placement, thief, 1);
}

void wp_placement_begins(wp_placement *placement, uint32_t carrier)
{
	if (placement->at_dequeue)
		add(placement, carrier, -(uint64_t)1);
}

bool wp_placement_ends(wp_placement *placement, uint32_t carrier)
{
	bool is_counted = !placement->at_dequeue;
	uint64_t word = is_counted || placement->is_watched
				? add(placement, carrier, is_counted ? -(uint64_t)1 : 0)
				: wp__placement_look(placement, carrier);

	return (word & MARKS) != 0;
}

bool wp_placement_mark(wp_placement *placement, uint32_t carrier)
{
	/* [placement.3] acquire; pairs policy.1, placement.1; upholds
	 * Placement!BlockingNeverTargeted: all tasks that were counted before are in the queue that
	 * is moved. */
	uint64_t before = wp_fetch_or_acquire(&placement->slots[carrier].word, MARK);

	return (before & MARK) == 0;
}

void wp_placement_unmark(wp_placement *placement, uint32_t carrier)
{
	/* [placement.4] relaxed: atomicity is enough: the carrier itself looks at its queue after
	 * this; pairs policy.1; upholds Placement!CounterBalance: the load stays as it is. */
	wp_fetch_and_relaxed(&placement->slots[carrier].word, ~MARKS);
}

uint64_t wp_placement_progress(wp_progress *progress)
{
	/* [placement.12] relaxed: ordered by placement.11, which comes before the second look;
	 * pairs placement.10; upholds Monitor!MarkIsOfWhoRuns. */
	return wp_load_relaxed(progress);
}

void wp_placement_step(wp_progress *progress)
{
	uint64_t steps = wp_placement_progress(progress);

	/* [placement.10] relaxed: ordered by placement.2, which follows an end; pairs placement.12;
	 * upholds Monitor!MarkIsOfWhoRuns. */
	wp_store_relaxed(progress, steps + 1);
}

bool wp_placement_suspect(wp_placement *placement, uint32_t carrier, wp_progress *progress,
			  uint64_t step)
{
	/* [placement.11] acquire; pairs placement.2; upholds Monitor!MarkIsOfWhoRuns: if the end of
	 * the step has not read the flag, the monitor sees that end. */
	wp_fetch_or_acquire(&placement->slots[carrier].word, SUSPECT);
	if (wp_placement_progress(progress) == step)
		return true;
	/* [placement.13] relaxed: atomicity is enough: the flag that its own task has set stays;
	 * pairs policy.1; upholds Monitor!MarkIsOfWhoRuns. */
	wp_fetch_and_relaxed(&placement->slots[carrier].word, ~SUSPECT);
	return false;
}

void wp_placement_spilled(wp_placement *placement, uint32_t many)
{
	/* [placement.5] release; pairs placement.6, placement.9; upholds
	 * Placement!NoStrandedGlobal: a carrier that looks after this finds the push. */
	wp_fetch_add_release(&placement->global, many);
}

bool wp_placement_has_global(const wp_placement *placement)
{
	/* [placement.6] acquire; pairs placement.5; upholds Placement!NoStrandedGlobal: tasks that
	 * are counted are in the queue. */
	return (int64_t)wp_load_acquire(&placement->global) > 0;
}

bool wp_placement_drained(wp_placement *placement, uint32_t carrier, uint32_t many)
{
	/* [placement.9] relaxed: atomicity is enough: other threads have counted the tasks that are
	 * left; pairs placement.5; upholds Placement!CounterBalance. */
	uint64_t before = wp_fetch_add_relaxed(&placement->global, -(uint64_t)many);

	add(placement, carrier, many);
	return (int64_t)before > (int64_t)many;
}
