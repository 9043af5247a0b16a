/* SPDX-License-Identifier: Apache-2.0
 * own_replay.c - the program as the engine sees it: runs all threads as a graph says, and names the
 * place where a thread stands then.
 *
 *   next(thread)   the graph begins as the last one that was run?   yes: goes on from there
 *                                                                   no: all threads again
 *
 * Why it works  See own.h. A position stands for all that a thread can see of itself: its step, the
 *               live bytes of its stack (with the registers), its thread-local storage, and the bytes
 *               that it has written elsewhere. Of these a hash of 128 bits is kept. Equal positions
 *               matter for loops only: a thread that comes back to one without a step that changes
 *               anything repeats itself.
 *               Whatever is run again must take the steps of the first time, and each new step is
 *               run twice. If they differ, the program depends on what the explorer does not
 *               control, and there is no verdict.
 * Spec          none.
 * Evidence      tests/judge/own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "own.h"
#include "room.h"

bool own_has_raced, own_is_pure;
static bool is_pure_step; /* of the step that was run last */

typedef struct position {
	explore_step step;
	own_digest digest;
	explore_position same_bucket; /* + 1 */
	const char *printed;          /* EXPLORE_END */
	char *history;                /* EXPLORE_END; NULL: no calls */
} position;

typedef struct turn { /* from a position, with a value, to the next position */
	explore_position from, to;
	uint64_t value;
	bool failed, is_used;
} turn;

static struct {
	position *positions;
	uint32_t count, room, *buckets, buckets_count;
	turn *turns; /* open addressing */
	uint32_t turns_count, turns_room;
} tables[EXPLORE_THREADS];

static uint64_t last_done[EXPLORE_THREADS]; /* the serial of the last node that was run */
static int done_count[EXPLORE_THREADS];
static bool is_valid; /* memory and fibers are as these say */

/* Positions. */

/* Two digests in turn, which the processor computes side by side. */
static own_digest mix_words(own_digest digest, const char *at, const char *end)
{
	own_digest second = {13, 14};
	uint64_t words[2];

	for (; at + sizeof(words) <= end; at += sizeof(words)) {
		memcpy(words, at, sizeof(words));
		digest = own_mix(digest, words[0]);
		second = own_mix(second, words[1]);
	}
	if (at < end) {
		memcpy(words, at, sizeof(words[0]));
		digest = own_mix(digest, words[0]);
	}
	return own_mix(own_mix(digest, second.a), second.b);
}

own_digest own_digest_of(const own_fiber *fiber)
{
	own_digest digest = {5, 6};
	const explore_step *step = &fiber->asked;

	digest = own_mix(
		digest, (uint64_t)step->kind | (uint64_t)step->order << 8 |
				(uint64_t)step->fail_order << 16 | (uint64_t)step->size << 24 |
				(uint64_t)step->is_weak << 32 | (uint64_t)step->has_deadline << 33 |
				(uint64_t)step->is_lock << 34);
	digest = own_mix(digest, (uint64_t)(step->location + 1) << 32 | step->site);
	digest = own_mix(own_mix(digest, step->operand), step->expected);
	digest = own_mix(digest, (uint64_t)(uintptr_t)step->text);
	digest = mix_words(digest, fiber->pointer, fiber->stack_end);
	digest = mix_words(digest, fiber->tcb - own_tls_size(), fiber->tcb);
	for (int i = 0; i < OWN_KEYS; i++)
		if (fiber->keys[i])
			digest = own_mix(own_mix(digest, (uint64_t)i),
					 (uint64_t)(uintptr_t)fiber->keys[i]);
	digest = own_mix(own_mix(digest, fiber->writes.a), fiber->writes.b);
	digest = own_mix(own_mix(digest, fiber->clock_ns), (uint64_t)fiber->heap_state);
	digest = own_mix(own_mix(digest, (uint64_t)fiber->files_made << 32 | fiber->creates),
			 fiber->ends_count);
	for (uint32_t i = 0; i < fiber->ends_count; i++)
		digest = own_mix(digest, (uint64_t)(uintptr_t)fiber->ends[i].object);
	digest = own_mix(digest, (uint64_t)fiber->exits_count);
	for (int i = 0; i < fiber->exits_count; i++)
		digest = own_mix(digest, (uint64_t)(uintptr_t)fiber->exits[i].object);
	for (uint32_t i = 0; i < fiber->printed_size; i++)
		digest = own_mix(digest, (unsigned char)fiber->printed[i]);
	for (uint32_t i = 0; i < fiber->said_size; i++)
		digest = own_mix(digest, (unsigned char)fiber->said[i]);
	for (uint32_t i = 0; i < fiber->history_size; i++)
		digest = own_mix(digest, (unsigned char)fiber->history[i]);
	return digest;
}

static void rehash(int t)
{
	uint32_t count = tables[t].buckets_count ? 2 * tables[t].buckets_count : 256;

	free(tables[t].buckets);
	tables[t].buckets_count = count;
	tables[t].buckets = calloc(count, sizeof(*tables[t].buckets));
	for (uint32_t p = 0; p < tables[t].count; p++) {
		position *at = &tables[t].positions[p];
		uint32_t *bucket = &tables[t].buckets[at->digest.a & (count - 1)];

		at->same_bucket = *bucket;
		*bucket = p + 1;
	}
}

/* The number of the place where the fiber stands. */
static explore_position number(int t)
{
	own_fiber *fiber = &own_fibers[t];
	own_digest digest = fiber->again ? *fiber->again : own_digest_of(fiber);
	position *fresh;
	uint32_t *bucket;

	if (tables[t].count >= tables[t].buckets_count)
		rehash(t);
	bucket = &tables[t].buckets[digest.a & (tables[t].buckets_count - 1)];
	for (uint32_t p = *bucket; p; p = tables[t].positions[p - 1].same_bucket) {
		const position *at = &tables[t].positions[p - 1];

		if (at->digest.a == digest.a && at->digest.b == digest.b)
			return p - 1;
	}
	if (!explore_has_room(tables[t].positions, tables[t].count, tables[t].room, 256))
		abort();
	fresh = &tables[t].positions[tables[t].count];
	*fresh = (position){.step = fiber->asked, .digest = digest, .same_bucket = *bucket};
	if (fiber->asked.kind == EXPLORE_END && fiber->printed_size + fiber->said_size)
		fresh->printed = own_text("%.*s%s%.*s", (int)fiber->printed_size, fiber->printed,
					  fiber->printed_size && fiber->said_size ? " " : "",
					  own_said_size(fiber), fiber->said);
	if (fiber->asked.kind == EXPLORE_END && fiber->history_size)
		fresh->history = strndup(fiber->history, fiber->history_size);
	*bucket = ++tables[t].count;
	return tables[t].count - 1;
}

/* Turns. */

static turn *turn_of(int t, explore_position from, uint64_t value, bool failed)
{
	own_digest digest = own_mix((own_digest){from, failed}, value);

	for (uint32_t slot = (uint32_t)digest.a;; slot++) {
		turn *turn = &tables[t].turns[slot & (tables[t].turns_room - 1)];

		if (!turn->is_used ||
		    (turn->from == from && turn->value == value && turn->failed == failed))
			return turn;
	}
}

static void more_turns(int t)
{
	uint32_t room = tables[t].turns_room;
	turn *old = tables[t].turns;

	tables[t].turns_room = room ? 2 * room : 256;
	tables[t].turns = calloc(tables[t].turns_room, sizeof(*old));
	for (uint32_t i = 0; i < room; i++)
		if (old[i].is_used)
			*turn_of(t, old[i].from, old[i].value, old[i].failed) = old[i];
	free(old);
}

bool own_is_known(int t, explore_position from, uint64_t value, bool failed)
{
	return tables[t].turns_room && turn_of(t, from, value, failed)->is_used;
}

void own_forget(void)
{
	for (int t = 0; t < EXPLORE_THREADS; t++) {
		for (uint32_t p = 0; p < tables[t].count; p++)
			free(tables[t].positions[p].history);
		free(tables[t].positions);
		free(tables[t].buckets);
		free(tables[t].turns);
	}
	memset(tables, 0, sizeof(tables));
	is_valid = false;
	own_forget_pasts();
}

/* Running. */

static void run_from_start(void)
{
	own_reset_memory();
	own_reset_heap();
	own_reset_keys();
	own_reset_files();
	own_reset_futexes();
	for (int t = 0; t < EXPLORE_THREADS; t++) {
		own_fibers[t].asked = (explore_step){.location = OWN_NOTHING};
		own_fibers[t].joined_from = own_fibers[t].detached_from = NULL;
	}
	own_has_raced = false;
	memset(done_count, 0, sizeof(done_count));
	is_valid = true;
	own_begin(&own_fibers[0]);
	own_begin_step();
	own_resume(&own_fibers[0]);
}

static int sleep_of(const explore_graph *graph, const explore_node *node)
{
	int i = node->index;

	while (explore_nth(graph, node->thread, i)->part != PART_QUEUE_WRITE)
		i--;
	return explore_nth(graph, node->thread, i)->choice;
}

static const explore_step *step_of(const explore_node *node)
{
	return &tables[node->thread].positions[node->position].step;
}

/* Does the node end its step? `value`: what the step returns. */
bool own_ends_step(const explore_graph *graph, const explore_node *node, uint64_t *value)
{
	uint64_t before = node->before < 0 ? 0 : graph->nodes[node->before].written;

	switch (node->part) {
	case PART_READ:
		*value = node->value;
		return !node->is_followed && !step_of(node)->is_lock;
	case PART_WRITE:
		*value = node->is_update ? explore_nth(graph, node->thread, node->index - 1)->value
					 : 0;
		return true;
	case PART_FENCE:
		*value = node->kind == EXPLORE_HEAVY_FENCE;
		return node->kind != EXPLORE_WAIT && node->kind != EXPLORE_WAKE;
	case PART_QUEUE_WRITE:
		*value = node->kind != EXPLORE_WAKE ? EXPLORE_AGAIN
			 : step_of(node)->expected == OWN_IS_MOVED
				 ? before & ~node->written
				 : (uint64_t)__builtin_popcountll(before & ~node->written);
		return node->kind == EXPLORE_WAKE || !(node->written >> node->thread & 1);
	case PART_LEAVE_WRITE:
		*value = sleep_of(graph, node) == SLEEPS_UNTIL_DEADLINE ? EXPLORE_TIMED_OUT
									: EXPLORE_WOKEN;
		return true;
	case PART_TOKEN:
		*value = step_of(&graph->nodes[node->source])->expected == OWN_IS_MOVED
				 ? OWN_IS_MOVED
				 : EXPLORE_WOKEN;
		return true;
	case PART_CHOICE:
		*value = (uint64_t)node->choice;
		return true;
	case PART_LINK:
		*value = node->source < 0 ? 0 : step_of(&graph->nodes[node->source])->expected;
		return node->kind != EXPLORE_END;
	default:
		return false;
	}
}

/* Is what was run the beginning of this graph? A node stays in a graph only with all earlier ones
 * of its thread, so the last one tells. */
static bool is_beginning(const explore_graph *graph)
{
	for (int t = 0; t < own_program.threads; t++)
		if (done_count[t] > graph->threads[t].count ||
		    (done_count[t] &&
		     explore_nth(graph, t, done_count[t] - 1)->serial != last_done[t]))
			return false;
	return true;
}

static void put_written(const explore_node *node)
{
	const explore_step *step = step_of(node);

	if (node->part == PART_WRITE && step->location >= 0)
		memcpy(own_place(step->location), &node->written, step->size);
}

bool own_has_ended(int thread)
{
	const explore_graph *graph = own_program.graph;

	return own_now->segment && graph->ends[thread] >= 0 &&
	       explore_holds(&own_now->clock, &graph->nodes[graph->ends[thread]]);
}

bool own_is_alone(void)
{
	for (int t = 1; own_now->segment && t < own_program.threads; t++)
		if (own_program.graph->creates[t] >= 0 && !own_has_ended(t))
			return false;
	return true;
}

void own_settle_all(const char *stack)
{
	const explore_graph *graph = own_program.graph;

	for (int p = 0; own_now->segment && p < graph->places_count; p++) {
		const explore_node *last = &graph->nodes[graph->places[p].last];
		const char *at = graph->places[p].last < 0 || step_of(last)->location < 0
					 ? NULL
					 : own_place(step_of(last)->location);

		/* Below lie the frames of the runtime. */
		if (at && (at < own_now->stack_end - OWN_STACK || at >= stack))
			put_written(last);
	}
}

static bool is_same_step(const explore_step *a, const explore_step *b)
{
	return a->kind == b->kind && a->order == b->order && a->location == b->location &&
	       a->size == b->size && a->operand == b->operand && a->expected == b->expected &&
	       a->site == b->site;
}

static const char *site_of(const explore_step *step)
{
	return step->site < (uint32_t)own_program.sites_count ? own_program.sites[step->site].file
							      : "its end";
}

/* The thread must stand where it stood the first time. */
static void check_at(int t, const explore_step *first)
{
	if (own_has_raced || own_program.error || is_same_step(first, &own_fibers[t].asked))
		return;
	own_refuse("thread %d does not do the same when it is run again, at %s then at %s: "
		   "the program depends on something that the explorer does not control",
		   t, site_of(first), site_of(&own_fibers[t].asked));
}

static void check_same(const explore_graph *graph, int t)
{
	int i = done_count[t];
	const explore_thread *thread = &graph->threads[t];
	explore_position position =
		i < thread->count ? explore_nth(graph, t, i)->position : thread->position;

	if (position != EXPLORE_UNKNOWN)
		check_at(t, &tables[t].positions[position].step);
}

/* Runs one node. `target`: the thread that takes a step for the first time. */
static void run_node(const explore_graph *graph, const explore_node *node, int target)
{
	int t = node->thread;
	own_fiber *fiber = &own_fibers[t];
	uint64_t value;

	last_done[t] = node->serial;
	done_count[t]++;
	put_written(node);
	if (node->part == PART_LINK && node->kind == EXPLORE_BEGIN)
		own_begin(fiber);
	fiber->clock = *explore_kept(node);
	fiber->segment = done_count[t];
	if (!own_ends_step(graph, node, &value))
		return;
	own_given = value;
	own_given_failed = node->has_failed;
	own_is_pure = true;
	own_begin_step();
	own_resume(fiber);
	if (t == target && done_count[t] == graph->threads[t].count) {
		is_pure_step = own_is_pure;
		own_end_step();
	} else {
		check_same(graph, t);
	}
}

/* Runs the whole graph. */
static void run(const explore_graph *graph, int target)
{
	int left = 0;
	bool has_moved = true;

	if (!is_valid || !is_beginning(graph))
		run_from_start();
	for (int t = 0; t < own_program.threads; t++)
		left += graph->threads[t].count - done_count[t];
	while (has_moved && left && !own_program.error) {
		has_moved = false;
		for (int t = 0; t < own_program.threads; t++)
			while (done_count[t] < graph->threads[t].count && !own_program.error) {
				const explore_node *node = explore_nth(graph, t, done_count[t]);

				if (node->source >= 0 &&
				    graph->nodes[node->source].index >=
					    done_count[graph->nodes[node->source].thread])
					break;
				run_node(graph, node, target);
				has_moved = true;
				left--;
			}
	}
	if (left && !own_program.error)
		own_refuse("a graph cannot be run: an error of the explorer");
	if (own_program.error)
		is_valid = false;
}

/* The program. */

static explore_position start(explore_program *program, int t)
{
	explore_position position;

	if (t) {
		own_fibers[t].asked = (explore_step){.kind = EXPLORE_BEGIN,
						     .size = 8,
						     .location = OWN_NOTHING,
						     .site = own_site(NULL, "begin")};
		own_begin(&own_fibers[t]);
	} else {
		run_from_start();
	}
	position = number(t);
	if (!t && !program->error) {
		run_from_start();
		check_at(t, &tables[t].positions[position].step);
	}
	if (!t)
		own_begin_search();
	return position;
}

static const explore_step *at(explore_program *program, int t, explore_position position)
{
	return &tables[t].positions[position].step;
}

static explore_position next(explore_program *program, int t, explore_position from, uint64_t value,
			     bool failed)
{
	const explore_graph *graph = program->graph;
	turn *known, made = {.from = from, .failed = failed, .is_used = true};
	uint32_t count;
	bool is_pure;

	own_ends_step(graph, &graph->nodes[graph->threads[t].last], &made.value);
	if (2 * (tables[t].turns_count + 1) > tables[t].turns_room)
		more_turns(t);
	known = turn_of(t, from, made.value, failed);
	if (known->is_used)
		return known->to;
	made.to = own_recall(graph, t);
	if (made.to != EXPLORE_UNKNOWN)
		return made.to;
	run(graph, t);
	if (program->error)
		return from;
	if (own_has_raced && own_fibers[t].asked.kind != EXPLORE_FAIL)
		for (int other = 0; other < EXPLORE_THREADS; other++)
			if (own_fibers[other].asked.kind == EXPLORE_FAIL)
				own_fibers[t].asked = own_fibers[other].asked;
	count = tables[t].count;
	made.to = number(t);
	is_pure = is_pure_step && !own_has_raced;
	if (tables[t].count > count &&
	    !own_has_raced) { /* run twice, as it may never be run again */
		is_valid = false;
		run(graph, t);
		check_at(t, &tables[t].positions[made.to].step);
	}
	if (!is_pure && !own_has_raced && !program->error)
		own_know(graph, t, made.to);
	if (!is_pure || program->error)
		return made.to;
	*known = made;
	tables[t].turns_count++;
	return made.to;
}

static void outcome(explore_program *program, const uint64_t *values, const explore_position *ends,
		    char text[EXPLORE_TEXT])
{
	const char *histories[EXPLORE_THREADS];
	size_t used = 0;

	for (int t = 0; t < own_program.threads; t++)
		histories[t] = tables[t].positions[ends[t]].history;
	if (own_history_outcome(histories, text))
		return;
	text[0] = '\0';
	for (int t = 0; t < own_program.threads; t++) {
		const position *end = &tables[t].positions[ends[t]];

		if (end->step.kind == EXPLORE_END && end->printed && used < EXPLORE_TEXT)
			used += (size_t)snprintf(text + used, EXPLORE_TEXT - used, "%s%s",
						 used ? " / " : "", end->printed);
	}
	if (!used)
		snprintf(text, EXPLORE_TEXT, "ended");
}

static void restart(explore_program *program)
{
	own_forget();
	program->is_bounded = false;
	program->error = NULL;
}

static void destroy(explore_program *program)
{
	own_forget();
}

void own_make_program(explore_program *program)
{
	own_forget();
	own_unlearn_memory();
	own_unlearn_heap();
	own_unlearn_threads();
	own_unlearn_files();
	own_unlearn_futexes();
	program->creates_threads = true;
	program->is_bounded = false;
	program->failed = NULL;
	program->error = NULL;
	program->start = start;
	program->at = at;
	program->next = next;
	program->outcome = outcome;
	program->restart = restart;
	program->destroy = destroy;
}
