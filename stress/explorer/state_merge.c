/* SPDX-License-Identifier: Apache-2.0
 * state_merge.c - merges the positions of a thread that behave equally for ever. The method is
 * Hopcroft and Karp's test for the equivalence of automata (1971): suppose that two positions are
 * equal, unite their classes, and suppose the same of the positions to which each value leads them.
 *
 *   two positions, from the latest on    they have the same step, and every value that was met at
 *                                        one of them leads both to positions that are equal or
 *                                        supposed to be: they are merged
 *   otherwise                            everything that was supposed is taken back
 *
 * For example, two positions that differ in a dead stack slot, and take the same loads and stores
 * from there on, become one.
 *
 * Why it works  Every member of a class is asked for every value that the exploration met at any
 *               member, and all are led into one class. So states that differ only by members of a
 *               class are bisimilar along every explored step, whatever the memory holds. A value
 *               that was never met at the class leads out of no state and does not matter. If the
 *               exploration with merged positions meets such a value later, explore_machine_verify
 *               asks all members for it, and finds a class that no longer agrees. A question that
 *               makes the code fail, because no state is like that, and a question beyond the limit
 *               keep positions apart. That costs states and is no error.
 * Elsewhere     For graphs only, values that were met at other positions with the same step are
 *               asked for as well. This goes only a few questions deep, because a counter that each
 *               turn of a loop raises would be asked without end for what only its last value
 *               meets. Where both positions answer, they lead to one place. So a class is seldom
 *               wrong; a wrong one costs a round. Positions that stay apart because of values that
 *               none of them meets are merged when everything is known (states.c).
 * Spec          none.
 * Evidence      tests/judge/explore/test_merge.py, tests/judge/conform/test_conform.py. */
#include <stdlib.h>
#include <string.h>

#include "room.h"
#include "state_known.h"

enum {
	ASKED_DEEP = 64,     /* most questions in a chain that begins at a met position */
	ASKED_TRY = 1 << 9,  /* most questions in one attempt */
	ASKED_ALL = 1 << 14, /* most questions for one thread in one merge */
	TRIES = 64,          /* most attempts to find a class for a position */
	ELSEWHERE_DEEP = 4,  /* the same limits for values that were met elsewhere */
	ELSEWHERE_TRY = 1 << 8,
	ELSEWHERE_ALL = 1 << 15,
	ELSEWHERE_MOST = 64, /* values of one step */
};

/* A position; the root of a class also holds the class. */
typedef struct node {
	explore_position parent; /* the root has itself */
	explore_position next;   /* of the class, in a ring */
	explore_position before; /* the previous position with this step that was placed, + 1 */
	uint32_t size;
	uint32_t step; /* equal iff the steps are equal; only met positions have it */
	/* Of a root: the values that were met at a member, and where they led it. */
	explore_way *ways;
	int ways_count, ways_room;
	uint8_t deep; /* the length of the chain of questions from a met position */
	bool is_open; /* it was met, but its next steps were not explored yet */
	bool is_done; /* a member was placed */
} node;

typedef struct values { /* that were met at positions with one step */
	explore_way ways[ELSEWHERE_MOST];
	int count;
} values;

typedef struct joined { /* how to take a union back */
	explore_position root, from;
	int ways_count;
	bool is_done;
} joined;

typedef struct pair {
	explore_position one, other;
} pair;

/* The merge of one thread. */
typedef struct merge {
	explore_machine *machine;
	int thread;
	node *nodes;
	uint32_t room;
	joined *trail;
	uint32_t trail_count, trail_room;
	pair *pairs; /* supposed to be equal, not yet examined */
	uint32_t pairs_count, pairs_room;
	uint32_t asked, asked_try, elsewhere, elsewhere_try;
	const explore_position *met; /* sorted by step */
	uint32_t met_count;
	values *values; /* by step; NULL: values that were met elsewhere are not asked for */
	bool is_part;   /* the exploration was cut short */
	bool is_failed; /* no memory, or the program starts again */
} merge;

static merge *now; /* for qsort, which passes no context */

static explore_known *known_of(const merge *merge, explore_position position)
{
	return &merge->machine->known[merge->thread][position];
}

/* Steps. */

#define BY(a, b)        \
	if ((a) != (b)) \
	return (a) < (b) ? -1 : 1

static int compare_ends(explore_position a, explore_position b)
{
	explore_program *program = now->machine->program;

	if (now->machine->options->loses_outcomes || a == b)
		return 0;
	if (!program->compare_ends)
		return a < b ? -1 : 1;
	return program->compare_ends(program, now->thread, a, b);
}

static int compare_steps(explore_position p, explore_position q)
{
	const explore_step *a = &known_of(now, p)->step, *b = &known_of(now, q)->step;

	BY(a->kind, b->kind);
	if (a->kind == EXPLORE_END)
		return compare_ends(p, q);
	BY(a->site, b->site);
	BY(a->location, b->location);
	BY(a->operand, b->operand);
	BY(a->expected, b->expected);
	BY(a->order, b->order);
	BY(a->fail_order, b->fail_order);
	BY(a->size, b->size);
	BY(a->is_weak, b->is_weak);
	BY(a->has_deadline, b->has_deadline);
	BY(a->is_crash, b->is_crash);
	BY(a->is_volatile, b->is_volatile);
	return a->text && b->text ? strcmp(a->text, b->text) : !!a->text - !!b->text;
}

static int compare_met(const void *left, const void *right)
{
	explore_position p = *(const explore_position *)left, q = *(const explore_position *)right;
	int differ = compare_steps(p, q);

	if (differ)
		return differ;
	return p < q ? -1 : p > q;
}

/* Lists. */

static bool give_up(merge *merge)
{
	merge->is_failed = true;
	return explore_machine_give_up(merge->machine, "no memory to merge positions");
}

/* Makes nodes for all positions that are known. */
static bool make_nodes(merge *merge)
{
	uint32_t room = merge->machine->known_room[merge->thread];
	node *nodes;

	if (room <= merge->room)
		return true;
	nodes = realloc(merge->nodes, room * sizeof(*nodes));
	if (!nodes)
		return give_up(merge);
	memset(nodes + merge->room, 0, (room - merge->room) * sizeof(*nodes));
	for (uint32_t p = merge->room; p < room; p++) {
		nodes[p].parent = nodes[p].next = p;
		nodes[p].size = 1;
		nodes[p].deep = ASKED_DEEP;
	}
	merge->nodes = nodes;
	merge->room = room;
	return true;
}

static explore_position root_of(const merge *merge, explore_position position)
{
	while (merge->nodes[position].parent != position)
		position = merge->nodes[position].parent;
	return position;
}

static bool suppose(merge *merge, explore_position one, explore_position other)
{
	if (!explore_has_room(merge->pairs, merge->pairs_count, merge->pairs_room, 64))
		return give_up(merge);
	merge->pairs[merge->pairs_count++] = (pair){one, other};
	return true;
}

/* Questions. */

static const explore_way *way_of(const explore_way *ways, int count, const explore_way *value)
{
	for (int i = 0; i < count; i++)
		if (ways[i].value == value->value && ways[i].is_failed == value->is_failed)
			return &ways[i];
	return NULL;
}

/* Asks the position for the value. False: the code fails there, there are too many questions, or
 * the program starts again (is_failed). */
static bool ask(merge *merge, explore_position position, const explore_way *value,
		explore_position *to)
{
	explore_machine *machine = merge->machine;
	explore_program *program = machine->program;
	const explore_known *known = known_of(merge, position);
	const explore_way *way = way_of(known->ways, known->ways_count, value);
	bool was_bounded = program->is_bounded;
	uint8_t deep = merge->nodes[position].deep;

	if (!way) {
		if (deep >= ASKED_DEEP || merge->asked_try >= ASKED_TRY ||
		    merge->asked >= ASKED_ALL)
			return false;
		merge->asked++;
		merge->asked_try++;
		if (!explore_machine_ask(machine, merge->thread, position, value)) {
			program->is_bounded = was_bounded;
			if (!program->error || !strcmp(program->error, EXPLORE_START_AGAIN)) {
				merge->is_failed = true;
				return false;
			}
			program->error = NULL; /* no state leads there */
			machine->error = NULL;
			return false;
		}
		program->is_bounded = was_bounded;
		if (!make_nodes(merge))
			return false;
		known = known_of(merge, position);
		way = way_of(known->ways, known->ways_count, value);
		if (!way)
			return false; /* more values than are kept */
	}
	*to = way->next;
	if (merge->nodes[*to].deep > deep + 1)
		merge->nodes[*to].deep = (uint8_t)(deep + 1);
	return true;
}

/* Classes. */

static bool add_way(merge *merge, explore_position root, const explore_way *way)
{
	node *node = &merge->nodes[root];

	if (!explore_has_room(node->ways, node->ways_count, node->ways_room, 2))
		return give_up(merge);
	node->ways[node->ways_count++] = *way;
	return true;
}

/* Supposes that `way` leads every member of the class to the same place. */
static bool ask_class(merge *merge, explore_position root, const explore_way *way)
{
	explore_position member = root, to;

	do {
		if (!ask(merge, member, way, &to) || !suppose(merge, way->next, to))
			return false;
		member = merge->nodes[member].next;
	} while (member != root);
	return true;
}

static void link_rings(merge *merge, explore_position one, explore_position other)
{
	explore_position next = merge->nodes[one].next;

	merge->nodes[one].next = merge->nodes[other].next;
	merge->nodes[other].next = next;
}

/* NULL: its step was never met. */
static const values *values_at(const merge *merge, explore_position position)
{
	uint32_t low = 0, high = merge->met_count;

	if (known_of(merge, position)->is_met)
		return &merge->values[merge->nodes[position].step];
	while (low < high) {
		uint32_t mid = (low + high) / 2;
		int differ = compare_steps(merge->met[mid], position);

		if (!differ)
			return &merge->values[merge->nodes[merge->met[mid]].step];
		if (differ < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}

/* As `ask`, with limits of its own: a missing answer keeps no positions apart. */
static bool ask_elsewhere(merge *merge, explore_position position, const explore_way *value,
			  explore_position *to)
{
	uint32_t asked = merge->asked, asked_try = merge->asked_try;
	const explore_known *known = known_of(merge, position);
	bool has_answer;

	if (!way_of(known->ways, known->ways_count, value)) {
		if (merge->nodes[position].deep >= ELSEWHERE_DEEP ||
		    known->ways_count == EXPLORE_WAYS_MOST || merge->elsewhere >= ELSEWHERE_ALL ||
		    merge->elsewhere_try >= ELSEWHERE_TRY)
			return false;
		merge->elsewhere++;
		merge->elsewhere_try++;
	}
	merge->asked = merge->asked_try = 0;
	has_answer = ask(merge, position, value, to);
	merge->asked = asked;
	merge->asked_try = asked_try;
	return has_answer;
}

/* Supposes that the values that were met elsewhere at the same step lead both positions to one
 * place, as far as they answer. */
static bool agree_elsewhere(merge *merge, explore_position one, explore_position other)
{
	const values *values = values_at(merge, one);

	for (int i = 0; values && i < values->count; i++) {
		explore_position to, too;

		if (ask_elsewhere(merge, one, &values->ways[i], &to) &&
		    ask_elsewhere(merge, other, &values->ways[i], &too) && !suppose(merge, to, too))
			return false;
		if (merge->is_failed)
			return false;
	}
	return true;
}

/* Unites two classes, and supposes the consequences. */
static bool unite(merge *merge, explore_position root, explore_position from)
{
	int count, more;

	if (!explore_has_room(merge->trail, merge->trail_count, merge->trail_room, 64))
		return give_up(merge);
	if (merge->nodes[root].size < merge->nodes[from].size) {
		explore_position smaller = root;

		root = from;
		from = smaller;
	}
	if (merge->values && !agree_elsewhere(merge, root, from))
		return false;
	count = merge->nodes[root].ways_count;
	more = merge->nodes[from].ways_count;
	for (int i = 0; i < more; i++) {
		/* A copy, because the nodes may move. */
		explore_way way = merge->nodes[from].ways[i];
		const explore_way *same = way_of(merge->nodes[root].ways, count, &way);

		if (same ? !suppose(merge, same->next, way.next) : !ask_class(merge, root, &way))
			return false;
	}
	for (int i = 0; i < count; i++) {
		explore_way way = merge->nodes[root].ways[i];

		if (!way_of(merge->nodes[from].ways, more, &way) && !ask_class(merge, from, &way))
			return false;
	}
	merge->trail[merge->trail_count++] =
		(joined){root, from, count, merge->nodes[root].is_done};
	for (int i = 0; i < more; i++) {
		explore_way way = merge->nodes[from].ways[i];

		if (!way_of(merge->nodes[root].ways, count, &way) && !add_way(merge, root, &way))
			return false;
	}
	link_rings(merge, root, from);
	merge->nodes[from].parent = root;
	merge->nodes[root].size += merge->nodes[from].size;
	merge->nodes[root].is_done |= merge->nodes[from].is_done;
	return true;
}

static void take_back(merge *merge)
{
	while (merge->trail_count) {
		const joined *last = &merge->trail[--merge->trail_count];
		node *root = &merge->nodes[last->root];

		root->ways_count = last->ways_count;
		root->is_done = last->is_done;
		if (merge->nodes[last->from].parent != last->root)
			continue; /* the union was not finished */
		merge->nodes[last->from].parent = last->from;
		root->size -= merge->nodes[last->from].size;
		link_rings(merge, last->root, last->from);
	}
}

static bool may_be_one(const merge *merge, explore_position one, explore_position other)
{
	return !known_of(merge, one)->has_more_ways && !known_of(merge, other)->has_more_ways &&
	       !merge->nodes[one].is_open && !merge->nodes[other].is_open &&
	       compare_steps(one, other) == 0;
}

/* Nothing is known of what the position does next, so nothing could tell it from another one: it is
 * not merged. */
static bool is_open(const merge *merge, explore_position position)
{
	int kind = known_of(merge, position)->step.kind;

	return merge->is_part && !merge->nodes[position].ways_count && kind != EXPLORE_END &&
	       kind != EXPLORE_FAIL && kind != EXPLORE_ABANDON;
}

/* True: the two are merged now, with all consequences. */
static bool try(merge *merge, explore_position one, explore_position other)
{
	merge->trail_count = merge->pairs_count = merge->asked_try = merge->elsewhere_try = 0;
	if (!suppose(merge, one, other))
		return false;
	while (merge->pairs_count) {
		pair pair = merge->pairs[--merge->pairs_count];

		pair.one = root_of(merge, pair.one);
		pair.other = root_of(merge, pair.other);
		if (pair.one == pair.other)
			continue;
		if (may_be_one(merge, pair.one, pair.other) && unite(merge, pair.one, pair.other))
			continue;
		take_back(merge);
		return false;
	}
	return true;
}

/* A quick test: does a value that both have met lead them to positions that are known to differ? */
static bool differ(const merge *merge, explore_position one, explore_position other)
{
	const node *a = &merge->nodes[root_of(merge, one)],
		   *b = &merge->nodes[root_of(merge, other)];

	for (int i = 0; i < a->ways_count; i++) {
		const explore_way *same = way_of(b->ways, b->ways_count, &a->ways[i]);
		explore_position to, too;

		if (!same)
			continue;
		to = root_of(merge, a->ways[i].next);
		too = root_of(merge, same->next);
		if (to != too && ((merge->nodes[to].is_done && merge->nodes[too].is_done) ||
				  !may_be_one(merge, to, too)))
			return true;
	}
	return false;
}

/* Finds a class for the position among those with its step. These begin at `latest`, which is a
 * position + 1. */
static void place(merge *merge, explore_position position, explore_position *latest)
{
	int tries = 0;

	for (explore_position at = *latest; at && tries < TRIES && !merge->is_failed;
	     at = merge->nodes[at - 1].before) {
		if (merge->nodes[root_of(merge, position)].is_done)
			break; /* the last attempt has merged it into a class that was placed */
		if (differ(merge, at - 1, position))
			continue;
		tries++;
		try(merge, at - 1, position);
	}
	if (merge->nodes[root_of(merge, position)].is_done)
		return;
	merge->nodes[root_of(merge, position)].is_done = true;
	merge->nodes[position].before = *latest;
	*latest = position + 1;
}

/* Returns the met positions, sorted by their steps; `steps` receives the number of different steps.
 * NULL: no memory. */
static explore_position *collect(merge *merge, uint32_t *count, uint32_t *steps)
{
	explore_position *met = malloc((merge->room + 1) * sizeof(*met));

	*count = *steps = 0;
	for (explore_position p = 0; met && p < merge->room; p++) {
		const explore_known *known = known_of(merge, p);

		if (!known->is_met)
			continue;
		met[(*count)++] = p;
		merge->nodes[p].deep = 0;
		for (int i = 0; i < known->ways_count; i++)
			if (known->ways[i].is_met && !add_way(merge, p, &known->ways[i]))
				break;
		merge->nodes[p].is_open = is_open(merge, p);
	}
	if (!met)
		give_up(merge);
	else
		qsort(met, *count, sizeof(*met), compare_met);
	for (uint32_t i = 0; met && i < *count; i++) {
		*steps += i == 0 || compare_steps(met[i - 1], met[i]) != 0;
		merge->nodes[met[i]].step = *steps - 1;
	}
	return met;
}

/* Chooses the representative of each class: its least met member, or its least member if none was
 * met. A position that leads into the class later is compared with the representative. Returns the
 * number of positions that have a new representative. */
static uint32_t choose(merge *merge)
{
	explore_known *known = merge->machine->known[merge->thread];
	uint32_t changed = 0;

	for (explore_position root = 0; root < merge->room; root++) {
		explore_position least = EXPLORE_POSITIONS, first = root, at = root;

		if (merge->nodes[root].parent != root)
			continue;
		do {
			if (known[at].is_met && at < least)
				least = at;
			if (at < first)
				first = at;
			at = merge->nodes[at].next;
		} while (at != root);
		if (least == EXPLORE_POSITIONS)
			least = first;
		do {
			explore_position before = known[at].same_as ? known[at].same_as - 1 : at;
			explore_position after = least;

			changed += before != after;
			known[at].same_as = after == at ? 0 : after + 1;
			at = merge->nodes[at].next;
		} while (at != root);
	}
	return changed;
}

static void collect_values(merge *merge, uint32_t steps)
{
	merge->values = calloc(steps + 1, sizeof(*merge->values));
	if (!merge->values)
		give_up(merge);
	for (uint32_t i = 0; merge->values && i < merge->met_count; i++) {
		const explore_known *known = known_of(merge, merge->met[i]);
		values *values = &merge->values[merge->nodes[merge->met[i]].step];

		for (int w = 0; w < known->ways_count; w++)
			if (known->ways[w].is_met && values->count < ELSEWHERE_MOST &&
			    !way_of(values->ways, values->count, &known->ways[w]))
				values->ways[values->count++] = known->ways[w];
	}
}

static uint32_t merge_thread(merge *merge)
{
	uint32_t count, steps, changed = 0;
	explore_position *met, *latest;

	if (!make_nodes(merge))
		return 0;
	met = collect(merge, &count, &steps);
	latest = calloc(steps + 1, sizeof(*latest));
	merge->met = met;
	merge->met_count = met ? count : 0;
	if (met && merge->machine->asks_elsewhere)
		collect_values(merge, steps);
	if (!latest)
		give_up(merge);
	for (explore_position p = merge->room; p-- && !merge->is_failed;) /* room may grow */
		if (known_of(merge, p)->is_met)
			place(merge, p, &latest[merge->nodes[p].step]);
	if (!merge->is_failed)
		changed = choose(merge);
	free(met);
	free(latest);
	free(merge->values);
	return changed;
}

static void end(merge *merge)
{
	for (uint32_t p = 0; p < merge->room; p++)
		free(merge->nodes[p].ways);
	free(merge->nodes);
	free(merge->trail);
	free(merge->pairs);
}

uint32_t explore_machine_merge(explore_machine *machine, bool is_part)
{
	uint32_t changed = 0;

	for (int t = 0; t < machine->program->threads && !machine->error; t++) {
		merge merge = {.machine = machine, .thread = t, .is_part = is_part};

		now = &merge;
		changed += merge_thread(&merge);
		end(&merge);
	}
	now = NULL;
	return changed;
}

/* Does every position behave as its representative, by all that was met? */

/* Do both lead to one place? A position that was never met is added to the class of the other. */
static bool agree(merge *merge, explore_position to, explore_position stands)
{
	explore_known *known = known_of(merge, to);

	stands = explore_stands_for(merge->machine, merge->thread, stands);
	if (explore_stands_for(merge->machine, merge->thread, to) == stands)
		return true;
	if (known->is_met || known->same_as || !may_be_one(merge, to, stands))
		return false;
	known->same_as = stands + 1;
	return suppose(merge, to, stands);
}

static bool verify_position(merge *merge, explore_position position, explore_position stands)
{
	explore_position to;

	if (known_of(merge, stands)->has_more_ways)
		return false;
	for (int i = 0; i < known_of(merge, stands)->ways_count; i++) {
		explore_way way = known_of(merge, stands)->ways[i];

		if (way.is_met && (!ask(merge, position, &way, &to) || !agree(merge, to, way.next)))
			return false;
	}
	return true;
}

static bool verify_thread(merge *merge)
{
	if (!make_nodes(merge))
		return false;
	for (explore_position p = 0; p < merge->room; p++) {
		uint32_t same_as = known_of(merge, p)->same_as;

		merge->nodes[p].deep = 0;
		if (same_as && !suppose(merge, p, same_as - 1))
			return false;
	}
	while (merge->pairs_count) {
		pair pair = merge->pairs[--merge->pairs_count];

		merge->asked_try = 0;
		if (!verify_position(merge, pair.one, pair.other))
			return false;
	}
	return true;
}

bool explore_machine_verify(explore_machine *machine)
{
	bool is_right = true;

	for (int t = 0; t < machine->program->threads && is_right; t++) {
		merge merge = {.machine = machine, .thread = t};

		now = &merge;
		is_right = verify_thread(&merge);
		end(&merge);
	}
	now = NULL;
	return is_right;
}

void explore_machine_unmerge(explore_machine *machine)
{
	for (int t = 0; t < machine->program->threads; t++)
		for (explore_position p = 0; p < machine->known_room[t]; p++)
			machine->known[t][p].same_as = 0;
}
