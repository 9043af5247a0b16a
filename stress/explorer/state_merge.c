/* SPDX-License-Identifier: Apache-2.0
 * state_merge.c - positions of a thread that behave equally for ever are one.
 *
 *   same step                                              perhaps equal
 *   a value leads one here, the other there: not equal     not equal
 *   ... until nothing changes
 *
 * Why it works  Every position is asked for every value that was met at any position with the same
 *               step; then classes are split by where values lead (Moore). What is equal leads to
 *               equal positions, whatever the memory: states that differ only so are bisimilar,
 *               step by step. Values that were met nowhere do not matter to the states explored;
 *               should the merged exploration meet one, states.c merges anew. A question that makes the
 *               code fail (for no state can be so) keeps its position apart.
 * Spec          none. Evidence  tests/test_conform.py. */
#include <stdlib.h>
#include <string.h>

#include "state_known.h"

/* Of one thread, while it is worked on. */
typedef struct merge {
	explore_machine *machine;
	int thread;
	explore_position *order; /* sorted by class, then by what splits it */
	uint32_t count;
	uint32_t *class_of;      /* by position */
	uint32_t *fresh;         /* the next round's */
} merge;

static merge *now; /* for qsort, which passes no context */

static const explore_known *known_of(explore_position position)
{
	return &now->machine->known[now->thread][position];
}

#define BY(a, b)             \
	if ((a) != (b))      \
		return (a) < (b) ? -1 : 1

static int compare_steps(const void *left, const void *right)
{
	explore_position p = *(const explore_position *)left, q = *(const explore_position *)right;
	const explore_step *a = &known_of(p)->step, *b = &known_of(q)->step;

	BY(a->kind, b->kind);
	if (a->kind == EXPLORE_END)
		return 0;
	BY(a->site, b->site);
	BY(a->location, b->location);
	BY(a->operand, b->operand);
	BY(a->expected, b->expected);
	BY(a->size, b->size);
	BY(a->is_weak, b->is_weak);
	BY(a->has_deadline, b->has_deadline);
	return 0;
}

static int compare_ways(const void *left, const void *right)
{
	const explore_way *a = left, *b = right;

	BY(a->value, b->value);
	BY(a->is_failed, b->is_failed);
	return 0;
}

/* By class, then by where values lead. */
static int compare_futures(const void *left, const void *right)
{
	explore_position p = *(const explore_position *)left, q = *(const explore_position *)right;
	const explore_known *a = known_of(p), *b = known_of(q);

	BY(now->class_of[p], now->class_of[q]);
	BY(a->has_more_ways, b->has_more_ways);
	if (a->has_more_ways)
		BY(p, q);
	BY(a->ways_count, b->ways_count);
	for (int i = 0; i < a->ways_count; i++) {
		int differ = compare_ways(&a->ways[i], &b->ways[i]);

		if (differ)
			return differ;
		BY(now->class_of[a->ways[i].next], now->class_of[b->ways[i].next]);
	}
	return 0;
}

/* Fails only if what was learned changes the program, or there is no memory. */
static bool ask(merge *merge, explore_position position, const explore_way *way)
{
	explore_machine *machine = merge->machine;
	explore_actor *actor = &machine->actors[merge->thread];
	explore_program *program = machine->program;

	actor->position = position;
	actor->position = explore_machine_next(machine, merge->thread, way->value, way->is_failed);
	explore_machine_step(machine, merge->thread);
	if (!machine->error)
		return true;
	if (!program->error || !strcmp(program->error, EXPLORE_START_AGAIN))
		return false;
	program->error = NULL; /* no state leads there: the position stays apart */
	machine->error = NULL;
	return true;
}

static bool has_way(const explore_known *known, const explore_way *way)
{
	for (int i = 0; i < known->ways_count; i++)
		if (!compare_ways(&known->ways[i], way))
			return true;
	return false;
}

/* The values that any of the positions order[first..end) knows, each once; EXPLORE_WAYS_MOST + 1:
 * more than that. */
static int values_of(const merge *merge, uint32_t first, uint32_t end,
		     explore_way values[EXPLORE_WAYS_MOST])
{
	const explore_known *known = merge->machine->known[merge->thread];
	int count = 0;

	for (uint32_t from = first; from < end; from++)
		for (int i = 0; i < known[merge->order[from]].ways_count; i++) {
			const explore_way *way = &known[merge->order[from]].ways[i];
			int at = 0;

			while (at < count && compare_ways(&values[at], way))
				at++;
			if (at == count && count == EXPLORE_WAYS_MOST)
				return EXPLORE_WAYS_MOST + 1;
			if (at == count)
				values[count++] = *way;
		}
	return count;
}

/* Asks each of them for every value that any of them knows. */
static bool complete(merge *merge, uint32_t first, uint32_t end)
{
	explore_way values[EXPLORE_WAYS_MOST];
	int count = values_of(merge, first, end, values);

	if (count > EXPLORE_WAYS_MOST)
		return true; /* they stay apart where they do not know the same */
	for (uint32_t to = first; to < end; to++)
		for (int i = 0; i < count; i++) {
			explore_position position = merge->order[to];

			if (!has_way(&merge->machine->known[merge->thread][position], &values[i]) &&
			    !ask(merge, position, &values[i]))
				return false;
		}
	return true;
}

/* Puts all known positions in order; false: no memory. */
static bool collect(merge *merge)
{
	uint32_t room = merge->machine->known_room[merge->thread];

	free(merge->order);
	free(merge->class_of);
	free(merge->fresh);
	merge->order = malloc((room + 1) * sizeof(*merge->order));
	merge->class_of = calloc(room + 1, sizeof(*merge->class_of));
	merge->fresh = calloc(room + 1, sizeof(*merge->fresh));
	merge->count = 0;
	if (!merge->order || !merge->class_of || !merge->fresh)
		return explore_machine_give_up(merge->machine, "no memory to merge positions");
	for (explore_position p = 0; p < room; p++)
		if (merge->machine->known[merge->thread][p].is_known)
			merge->order[merge->count++] = p;
	return true;
}

/* Sorts and numbers the classes; how many there are. */
static uint32_t sort(merge *merge, int (*compare)(const void *, const void *))
{
	uint32_t classes = 0;

	qsort(merge->order, merge->count, sizeof(*merge->order), compare);
	for (uint32_t i = 0; i < merge->count; i++) {
		classes += i == 0 || compare(&merge->order[i - 1], &merge->order[i]) != 0;
		merge->fresh[merge->order[i]] = classes;
	}
	memcpy(merge->class_of, merge->fresh,
	       merge->machine->known_room[merge->thread] * sizeof(*merge->fresh));
	return classes;
}

/* Until no answer leads to a position that was not known. */
static bool complete_all(merge *merge)
{
	for (uint32_t count = 0;;) {
		if (!collect(merge))
			return false;
		if (merge->count == count)
			return true;
		count = merge->count;
		qsort(merge->order, count, sizeof(*merge->order), compare_steps);
		for (uint32_t first = 0, end; first < count; first = end) {
			for (end = first + 1;
			     end < count &&
			     !compare_steps(&merge->order[first], &merge->order[end]);)
				end++;
			if (!complete(merge, first, end))
				return false;
		}
	}
}

/* True: some position is stood for by another one than before. */
static bool choose(merge *merge)
{
	explore_known *known = merge->machine->known[merge->thread];
	bool has_changed = false;

	for (uint32_t first = 0, end; first < merge->count; first = end) {
		explore_position least = merge->order[first];

		for (end = first; end < merge->count && merge->class_of[merge->order[end]] ==
								merge->class_of[merge->order[first]];
		     end++)
			if (merge->order[end] < least)
				least = merge->order[end];
		for (uint32_t i = first; i < end; i++) {
			uint32_t *same_as = &known[merge->order[i]].same_as;
			explore_position before = *same_as ? *same_as - 1 : merge->order[i];

			has_changed |= before != least;
			*same_as = least + 1;
		}
	}
	return has_changed;
}

static bool merge_thread(merge *merge)
{
	explore_known *known;
	uint32_t classes, more;

	if (!complete_all(merge))
		return false;
	known = merge->machine->known[merge->thread];
	for (uint32_t i = 0; i < merge->count; i++)
		if (known[merge->order[i]].ways_count > 1)
			qsort(known[merge->order[i]].ways, known[merge->order[i]].ways_count,
			      sizeof(explore_way), compare_ways);
	classes = sort(merge, compare_steps);
	while ((more = sort(merge, compare_futures)) != classes)
		classes = more;
	return choose(merge);
}

bool explore_machine_merge(explore_machine *machine)
{
	bool has_changed = false;

	for (int t = 0; t < machine->program->threads && !machine->error; t++) {
		merge merge = {.machine = machine, .thread = t};

		now = &merge;
		has_changed |= merge_thread(&merge);
		free(merge.order);
		free(merge.class_of);
		free(merge.fresh);
	}
	now = NULL;
	return has_changed;
}
