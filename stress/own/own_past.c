/* SPDX-License-Identifier: Apache-2.0
 * own_past.c - where a thread stands after a graph, known from an earlier graph in which the same
 * had happened before.
 *
 *   next(thread)   the same cause, and no race with what is concurrent?   yes: the known position
 *                                                                         no: run (own_replay.c)
 *
 * Why it works  What a thread does next follows from where it stood, from the value that its step
 *               has returned, and from the memory that it reads. Without a race, a byte that it
 *               reads was last written by itself or by what happens before. So it follows from the
 *               pasts of all threads up to where its clock says. The past of a thread is a hash of
 *               the values that its steps have returned, of the positions in which it has stood,
 *               which cover what it has written, and of the addresses that it has accessed, which
 *               cover its blocks.
 *               A step that is not run finds no race. So what each step has accessed is kept, and
 *               compared with what all steps have accessed that are concurrent with it. Where two
 *               conflict, or where anything is not known, the graph is run.
 *               A step that depends on something else, such as a table of the runtime, says so
 *               (own_is_causal), and is run each time. The search for leaks depends on the last
 *               value of each location as well (own_is_whole).
 *               The library of C++ has no hooks, so a position does not cover what it writes. With
 *               it, a past also holds the pasts of other threads that happened before.
 * Spec          none.
 * Evidence      tests/judge/own. */
#include <stdlib.h>
#include <string.h>

#include "own.h"

enum {
	PASTS = 1 << 20,
	SETS = 1 << 14,
	BUCKETS = 1 << 12,
	ACCESSES = 1024,
	PAIRS = 1 << 14,
	UNKNOWN = -1
};

typedef struct access {
	const char *at, *end;
	bool writes;
} access;

typedef struct known { /* what follows from a cause */
	own_digest cause;
	explore_position position;
	int32_t set; /* of accesses; UNKNOWN: this entry is empty */
} known;

static known *knowns; /* open addressing */
static uint32_t knowns_count, knowns_room;

static struct { /* of accesses; the first one is empty */
	own_digest digest;
	access *accesses;
	int count;
	int32_t same_bucket;
} sets[SETS];
static int32_t sets_count = 1, buckets[BUCKETS];
static struct { /* of sets that were compared */
	int32_t a, b;
	uint32_t exploration;
	bool conflict;
} pairs[PAIRS];
static uint32_t exploration = 1;

bool own_is_causal, own_is_whole, own_has_bare_code;
static access noted[ACCESSES]; /* by the step that runs */
static int noted_count;
static int32_t last_set, set_of_main; /* of the step that ran last; of main's first one */
static bool last_is_whole;

static int asked = UNKNOWN; /* the thread whose position is not known yet */

/* By thread, and number of its nodes: what was found out about the node with that serial. */
static struct remembered {
	uint64_t serial;
	own_digest past; /* with it */
	bool has_past;
	int32_t set; /* of what the step after it has accessed */
} remembered[EXPLORE_THREADS][EXPLORE_NODES + 1];
static int remembered_count[EXPLORE_THREADS];

/* What a step accesses. */

void own_begin_step(void)
{
	noted_count = 0;
	own_is_causal = true;
	own_is_whole = false;
}

void own_note_access(const char *at, size_t size, bool writes)
{
	access *last = noted_count ? &noted[noted_count - 1] : NULL;

	if (last && last->writes == writes && last->at <= at && at <= last->end)
		last->end = last->end > at + size ? last->end : at + size;
	else if (noted_count == ACCESSES)
		own_is_causal = false;
	else
		noted[noted_count++] = (access){at, at + size, writes};
}

/* The set of what was noted. UNKNOWN: the step must be run each time. */
static int32_t set_of_noted(void)
{
	own_digest digest = {15, 16};
	size_t size = (size_t)noted_count * sizeof(noted[0]);
	int32_t *bucket, set;
	access *copy;

	if (!own_is_causal || !noted_count)
		return own_is_causal ? 0 : UNKNOWN;
	for (int i = 0; i < noted_count; i++)
		digest = own_mix(own_mix(digest, (uint64_t)(uintptr_t)noted[i].at),
				 (uint64_t)(noted[i].end - noted[i].at) << 1 | noted[i].writes);
	bucket = &buckets[digest.a % BUCKETS];
	for (set = *bucket; set; set = sets[set].same_bucket)
		if (sets[set].digest.a == digest.a && sets[set].digest.b == digest.b)
			return set;
	copy = sets_count == SETS ? NULL : malloc(size);
	if (!copy)
		return UNKNOWN;
	set = sets_count++;
	sets[set].accesses = memcpy(copy, noted, size);
	sets[set].digest = digest;
	sets[set].count = noted_count;
	sets[set].same_bucket = *bucket;
	return *bucket = set;
}

void own_end_step(void)
{
	last_set = set_of_noted();
	last_is_whole = own_is_whole;
}

static bool compare(int32_t a, int32_t b)
{
	for (int i = 0; i < sets[a].count; i++)
		for (int k = 0; k < sets[b].count; k++) {
			const access *one = &sets[a].accesses[i], *other = &sets[b].accesses[k];

			if ((one->writes || other->writes) && one->at < other->end &&
			    other->at < one->end)
				return true;
		}
	return false;
}

static bool conflict(int32_t a, int32_t b)
{
	uint32_t slot = ((uint32_t)a * 0x9e3779b1u ^ (uint32_t)b * 0x85ebca6bu) >> 7;

	if (a == UNKNOWN || b == UNKNOWN)
		return true;
	if (!a || !b)
		return false;
	slot %= PAIRS;
	if (pairs[slot].exploration != exploration || pairs[slot].a != a || pairs[slot].b != b) {
		pairs[slot].exploration = exploration;
		pairs[slot].a = a;
		pairs[slot].b = b;
		pairs[slot].conflict = compare(a, b);
	}
	return pairs[slot].conflict;
}

/* Causes and pasts. */

/* The entry of a cause, or the empty one in which it belongs. */
static known *find(own_digest cause)
{
	for (uint32_t slot = (uint32_t)cause.a;; slot++) {
		known *at = &knowns[slot & (knowns_room - 1)];

		if (at->set == UNKNOWN || (at->cause.a == cause.a && at->cause.b == cause.b))
			return at;
	}
}

static bool more_knowns(void)
{
	uint32_t room = knowns_room ? 2 * knowns_room : 256, old_room = knowns_room;
	known *old = knowns, *made = malloc(room * sizeof(*made));

	if (!made)
		return false;
	for (uint32_t i = 0; i < room; i++)
		made[i].set = UNKNOWN;
	knowns = made;
	knowns_room = room;
	for (uint32_t i = 0; i < old_room; i++)
		if (old[i].set != UNKNOWN)
			*find(old[i].cause) = old[i];
	free(old);
	return true;
}

static struct remembered *remember(const explore_graph *graph, int t, int count)
{
	struct remembered *at = &remembered[t][count];
	uint64_t serial = explore_nth(graph, t, count - 1)->serial;

	if (at->serial != serial)
		*at = (struct remembered){.serial = serial, .set = UNKNOWN};
	if (remembered_count[t] < count)
		remembered_count[t] = count;
	return at;
}

static bool past_of(const explore_graph *graph, int t, int count, own_digest *past);

/* Adds the pasts of the other threads, as far as they happen before. False: one is not known. */
static bool add_others(const explore_graph *graph, const explore_node *node, own_digest *digest)
{
	const explore_clock *clock = explore_kept(node);
	own_digest past;

	for (int u = 0; u < graph->threads_count; u++) {
		if (u == node->thread || !clock->at[u])
			continue;
		if (!past_of(graph, u, clock->at[u], &past))
			return false;
		*digest = own_mix(own_mix(*digest, past.a), past.b);
	}
	return true;
}

/* What the position after the first `count` nodes of a thread follows from. */
static bool cause_of(const explore_graph *graph, int t, int count, own_digest *cause)
{
	const explore_node *node = explore_nth(graph, t, count - 1);
	uint64_t value = 0;

	if (!past_of(graph, t, count - 1, cause))
		return false;
	own_ends_step(graph, node, &value);
	*cause = own_mix(own_mix(*cause, value), node->has_failed);
	return add_others(graph, node, cause);
}

/* What the thread has accessed between its first `count` nodes and the next one. */
static int32_t set_after(const explore_graph *graph, int t, int count)
{
	const explore_node *node;
	struct remembered *at;
	own_digest cause;
	uint64_t value;

	if (!count)
		return t ? 0 : set_of_main;
	at = remember(graph, t, count);
	if (at->set != UNKNOWN)
		return at->set;
	node = explore_nth(graph, t, count - 1);
	if (!own_ends_step(graph, node, &value) ||
	    own_is_known(t, node->position, value, node->has_failed))
		at->set = 0;
	else if (knowns && cause_of(graph, t, count, &cause))
		at->set = find(cause)->set;
	return at->set;
}

static bool add_node(const explore_graph *graph, const explore_node *node, own_digest *past)
{
	int t = node->thread, count = node->index + 1;
	bool is_last = count == graph->threads[t].count;
	explore_position position = !is_last     ? explore_nth(graph, t, count)->position
				    : t == asked ? EXPLORE_UNKNOWN
						 : graph->threads[t].position;
	int32_t set;
	uint64_t value = 0;

	if (!own_ends_step(graph, node, &value)) {
		*past = own_mix(*past, 1);
		return true;
	}
	set = set_after(graph, t, count);
	if (set == UNKNOWN || position == EXPLORE_UNKNOWN)
		return false;
	*past = own_mix(*past, (uint64_t)set << 32 | position);
	*past = own_mix(own_mix(*past, value), node->has_failed);
	return !own_has_bare_code || add_others(graph, node, past);
}

/* The past of a thread with its first `count` nodes. False: not known. */
static bool past_of(const explore_graph *graph, int t, int count, own_digest *past)
{
	int i = count;

	while (i && !remember(graph, t, i)->has_past)
		i--;
	*past = i ? remembered[t][i].past : (own_digest){17, (uint64_t)t};
	for (; i < count; i++) {
		if (!add_node(graph, explore_nth(graph, t, i), past))
			return false;
		remembered[t][i + 1].past = *past;
		remembered[t][i + 1].has_past = true;
	}
	return true;
}

/* May the last step of the thread race with another one? */
static bool may_race(const explore_graph *graph, int t)
{
	int count = graph->threads[t].count;
	const explore_clock none = {{0}};
	const explore_clock *clock = count ? explore_kept(explore_nth(graph, t, count - 1)) : &none;
	int32_t mine = set_after(graph, t, count);

	if (mine <= 0)
		return mine == UNKNOWN;
	for (int u = 0; u < graph->threads_count; u++)
		for (int k = clock->at[u]; u != t && k <= graph->threads[u].count; k++)
			if (conflict(mine, set_after(graph, u, k)))
				return true;
	return false;
}

static own_digest with_last_values(const explore_graph *graph, own_digest cause)
{
	for (int p = 0; p < graph->places_count; p++) {
		int last = graph->places[p].last;

		cause = own_mix(cause, last < 0 ? 0 : graph->nodes[last].written);
	}
	return cause;
}

void own_know(const explore_graph *graph, int t, explore_position position)
{
	own_digest cause;
	known *at;

	asked = t;
	if (last_set == UNKNOWN || knowns_count == PASTS ||
	    !cause_of(graph, t, graph->threads[t].count, &cause))
		return;
	if (last_is_whole)
		cause = with_last_values(graph, cause);
	if (2 * (knowns_count + 1) > knowns_room && !more_knowns())
		return;
	at = find(cause);
	knowns_count += at->set == UNKNOWN;
	*at = (known){cause, position, last_set};
}

explore_position own_recall(const explore_graph *graph, int t)
{
	own_digest cause;
	const known *found;

	asked = t;
	if (!knowns || !cause_of(graph, t, graph->threads[t].count, &cause))
		return EXPLORE_UNKNOWN;
	found = find(cause);
	if (found->set == UNKNOWN && t == 0)
		found = find(with_last_values(graph, cause));
	if (found->set == UNKNOWN)
		return EXPLORE_UNKNOWN;
	remember(graph, t, graph->threads[t].count)->set = found->set;
	return may_race(graph, t) ? EXPLORE_UNKNOWN : found->position;
}

/* Searches. */

void own_begin_search(void)
{
	for (int t = 0; t < EXPLORE_THREADS; t++) { /* serials are given again */
		memset(remembered[t], 0,
		       (size_t)(remembered_count[t] + 1) * sizeof(remembered[t][0]));
		remembered_count[t] = 0;
	}
	own_end_step();
	set_of_main = last_set;
}

void own_forget_pasts(void)
{
	for (int32_t set = 1; set < sets_count; set++) {
		buckets[sets[set].digest.a % BUCKETS] = 0;
		free(sets[set].accesses);
	}
	sets_count = 1;
	exploration++;
	free(knowns);
	knowns = NULL;
	knowns_count = knowns_room = 0;
}
