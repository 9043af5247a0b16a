/* SPDX-License-Identifier: Apache-2.0
 * state_ahead.c - one search of states by several threads: they foresee, and the search commits.
 *
 *   foresee   when the search comes to a state that no thread has looked at, all threads expand the
 *             next states of the queue, a few at a time: where does each choice lead? They only
 *             read what is shared: the table of states, the known answers of the program
 *   commit    then the search goes through these states in order, alone. It adds what was not in
 *             the table, counts ends, and checks limits
 *   unknown   a thread that would have to ask the program, to add a pair of words, or to report a
 *             race, an error or a full buffer, leaves the state to the search, which expands it as if
 *             it were alone
 *
 * Why it works  A state leads to the same states whenever it is expanded, because all that it
 *               depends on stands in its record and in answers that never change. So the search adds
 *               the same states in the same order as it would alone, and numbers, counts,
 *               counterexamples and limits are the same for any number of threads. While threads
 *               foresee, nothing that is shared changes, so they need no lock. Nearly all answers and
 *               pairs are known after a few thousand states: of two carriers that search for work,
 *               0.7 % of 3.0 million states were left to the search, and of another such program
 *               4.4 % of 5.4 million. What the search does for an edge, to look up one record, is a
 *               small part of what the threads do for it.
 * Memory        Not counted in --max-bytes: what the threads write down of one batch, a few
 *               megabytes, and never more than EXPLORE_WORDS_MOST words for each thread.
 * Spec          none.
 * Evidence      tests/judge/explore/test_ahead.py. */
#include "state_ahead.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Tests set these two. */
#ifndef EXPLORE_BATCH_LEAST
#define EXPLORE_BATCH_LEAST 64 /* fewer states are not worth a wait for the other threads */
#endif
#ifndef EXPLORE_CHUNK
#define EXPLORE_CHUNK 8 /* states that a thread takes at a time */
#endif
#ifndef EXPLORE_WORDS_MOST
#define EXPLORE_WORDS_MOST (1u << 24) /* of the edges of a thread's states in one batch */
#endif

enum {
	BATCH = 1 << 14, /* states that are foreseen at once, at most */
	NUMBER = 4,      /* words of an edge before the record */
	FAR = 8,         /* the distance in states at which slots are fetched */
	NEAR = 4,        /* and records */
	SPINS = 2000,    /* some 60 us: as long as a batch often takes, or what follows it */
};

typedef struct found {
	uint32_t at; /* of the words of its reader */
	uint16_t edges;
	uint8_t reader;
	bool is_foreseen, is_end, is_cut;
} found;

typedef struct reader {
	explore_space space; /* a view of the search's: its tables are the search's */
	struct explore_ahead *ahead;
	uint32_t *words;
	uint32_t count, room;
	uint8_t number;
	pthread_t thread; /* reader 0 is the search itself */
} reader;

struct explore_ahead {
	reader *readers;
	int readers_count;
	int threads; /* that read: fewer than readers_count if the system refuses one */
	int started;
	found found[BATCH];
	uint32_t first, end; /* the states of the batch */
	uint32_t next;       /* the first state of the next chunk; all readers take chunks */
	uint32_t turn;       /* counts the batches; changes under the lock */
	uint32_t reading;    /* threads that are in the batch, but for the search */
	bool is_over;
	pthread_mutex_t lock;
	pthread_cond_t begun, ended;
};

/* One edge: its number, whether fairness promises the choice, the hash and the record. */
static uint32_t edge_words(const explore_space *space)
{
	return NUMBER + space->states.width;
}

static explore_edge edge_at(const uint32_t *words)
{
	return (explore_edge){words[0], words[1], words[2] | (uint64_t)words[3] << 32,
			      words + NUMBER};
}

/* One state. */

static uint32_t *room_for(reader *reader, uint32_t words)
{
	if (reader->count + words > EXPLORE_WORDS_MOST)
		return NULL;
	if (reader->room - reader->count < words) {
		uint32_t room = 2 * reader->room + words + 1024;
		uint32_t *more = realloc(reader->words, room * sizeof(*more));

		if (!more)
			return NULL;
		reader->words = more;
		reader->room = room;
	}
	return reader->words + reader->count;
}

static bool foresee_edge(reader *reader, int choice)
{
	explore_space *space = &reader->space;
	uint32_t *words = room_for(reader, edge_words(space)), record[EXPLORE_STATE_WORDS];
	bool is_foreseen = words && explore_space_foresee(space, choice, record);
	uint64_t hash;

	explore_machine_undo(&space->machine);
	if (!is_foreseen)
		return false;
	hash = explore_table_hash(record, space->states.width);
	explore_table_prefetch(&space->states, hash);
	words[1] = explore_is_promised(space->choices[choice]);
	words[2] = (uint32_t)hash;
	words[3] = (uint32_t)(hash >> 32);
	memcpy(words + NUMBER, record, space->states.width * sizeof(*record));
	reader->count += edge_words(space);
	return true;
}

static bool foresee(reader *reader, uint32_t state, found *found)
{
	explore_space *space = &reader->space;
	explore_machine *machine = &space->machine;
	enum explore_verdict verdict;

	space->is_cut = space->is_too_low = space->is_unknown = machine->is_bounded = false;
	machine->error = NULL;
	explore_space_load(space, state);
	found->at = reader->count;
	found->reader = reader->number;
	found->edges = (uint16_t)space->choices_count;
	found->is_end = explore_machine_standing(machine, space->choices, space->choices_count,
						 &verdict) != EXPLORE_GOES_ON;
	for (int i = 0; i < space->choices_count && !machine->error; i++)
		if (!foresee_edge(reader, i))
			return false;
	found->is_cut = space->is_cut;
	return !machine->error && !machine->is_bounded;
}

/* A few states. The table is much larger than the caches, so what a lookup reads is fetched for all
 * edges before the first is looked up. */
static void foresee_chunk(reader *reader, uint32_t from, uint32_t end)
{
	const explore_table *states = &reader->space.states;
	uint32_t first = reader->count, step = edge_words(&reader->space);

	for (uint32_t s = from; s < end; s++) {
		found *found = &reader->ahead->found[s - reader->ahead->first];

		found->is_foreseen = foresee(reader, s, found);
		if (!found->is_foreseen)
			reader->count = found->at;
	}
	for (uint32_t at = first; at < reader->count; at += step)
		explore_table_prefetch_record(states, edge_at(reader->words + at).hash);
	for (uint32_t at = first; at < reader->count; at += step) {
		explore_edge edge = edge_at(reader->words + at);

		reader->words[at] = explore_table_find(states, edge.record, edge.hash);
	}
}

/* A batch. */

static void read_on(reader *reader)
{
	struct explore_ahead *ahead = reader->ahead;
	uint32_t from;

	while ((from = __atomic_fetch_add(&ahead->next, EXPLORE_CHUNK, __ATOMIC_RELAXED)) <
	       ahead->end)
		foresee_chunk(reader, from,
			      from + EXPLORE_CHUNK < ahead->end ? from + EXPLORE_CHUNK
								: ahead->end);
}

/* Waits until `*word` is not `old`: first busily, as it seldom takes long. */
static void await_change(struct explore_ahead *ahead, const uint32_t *word, uint32_t old,
			 pthread_cond_t *changed)
{
	for (int spins = 0; spins < SPINS; spins++) {
		if (__atomic_load_n(word, __ATOMIC_ACQUIRE) != old)
			return;
#if defined(__x86_64__)
		__builtin_ia32_pause();
#endif
	}
	pthread_mutex_lock(&ahead->lock);
	while (__atomic_load_n(word, __ATOMIC_ACQUIRE) == old)
		pthread_cond_wait(changed, &ahead->lock);
	pthread_mutex_unlock(&ahead->lock);
}

static void *help(void *own)
{
	reader *reader = own;
	struct explore_ahead *ahead = reader->ahead;

	for (uint32_t turn = 0;; turn++) {
		await_change(ahead, &ahead->turn, turn, &ahead->begun);
		if (ahead->is_over)
			return NULL;
		read_on(reader);
		if (__atomic_sub_fetch(&ahead->reading, 1, __ATOMIC_ACQ_REL) > 0)
			continue;
		pthread_mutex_lock(&ahead->lock);
		pthread_cond_signal(&ahead->ended);
		pthread_mutex_unlock(&ahead->lock);
	}
}

/* Lets the reader see what the search knows now. */
static bool renew(reader *reader, const explore_space *space)
{
	explore_space *own = &reader->space;

	reader->count = 0;
	own->pairs = space->pairs;
	own->states = space->states;
	own->height = space->height;
	memset(own->loaded, 0, sizeof(own->loaded));
	return explore_machine_view(&own->machine, &space->machine);
}

/* Lets all threads go on: with a batch, or to their end. */
static void begin_turn(struct explore_ahead *ahead)
{
	pthread_mutex_lock(&ahead->lock);
	__atomic_store_n(&ahead->reading, (uint32_t)ahead->started, __ATOMIC_RELAXED);
	__atomic_store_n(&ahead->turn, ahead->turn + 1, __ATOMIC_RELEASE);
	pthread_cond_broadcast(&ahead->begun);
	pthread_mutex_unlock(&ahead->lock);
}

static void foresee_batch(explore_space *space, uint32_t first, uint32_t end)
{
	struct explore_ahead *ahead = space->ahead;
	uint32_t left;

	for (int r = 0; r < ahead->threads; r++)
		if (!renew(&ahead->readers[r], space))
			return;
	while (ahead->started + 1 < ahead->threads &&
	       !pthread_create(&ahead->readers[ahead->started + 1].thread, NULL, help,
			       &ahead->readers[ahead->started + 1]))
		ahead->started++;
	ahead->threads = ahead->started + 1;
	ahead->first = ahead->next = first;
	ahead->end = end;
	begin_turn(ahead);
	read_on(&ahead->readers[0]);
	while ((left = __atomic_load_n(&ahead->reading, __ATOMIC_ACQUIRE)) > 0)
		await_change(ahead, &ahead->reading, left, &ahead->ended);
}

/* What was found of a state of the batch; NULL: nothing. */
static const found *found_of(const struct explore_ahead *ahead, uint32_t state)
{
	const found *found = state < ahead->first || state >= ahead->end
				     ? NULL
				     : &ahead->found[state - ahead->first];

	return found && found->is_foreseen ? found : NULL;
}

/* Fetches what the search will read when it looks up the edges of the state. */
static void prefetch(const explore_space *space, uint32_t state, bool is_near)
{
	const found *found = found_of(space->ahead, state);
	const uint32_t *words;

	if (!found)
		return;
	words = space->ahead->readers[found->reader].words + found->at;
	for (int i = 0; i < found->edges; i++, words += edge_words(space)) {
		explore_edge edge = edge_at(words);

		if (edge.to == EXPLORE_NONE && is_near)
			explore_table_prefetch_record(&space->states, edge.hash);
		else if (edge.to == EXPLORE_NONE)
			explore_table_prefetch(&space->states, edge.hash);
	}
}

/* Returns NULL if there is no memory; the search then does all itself. */
static struct explore_ahead *new_ahead(int threads)
{
	struct explore_ahead *ahead = calloc(1, sizeof(*ahead));
	reader *readers = calloc((size_t)threads, sizeof(*readers));

	if (!ahead || !readers) {
		free(ahead);
		free(readers);
		return NULL;
	}
	ahead->readers = readers;
	ahead->readers_count = ahead->threads = threads;
	for (int r = 0; r < ahead->threads; r++) {
		ahead->readers[r].number = (uint8_t)r;
		ahead->readers[r].space.is_view = true;
		ahead->readers[r].ahead = ahead;
	}
	pthread_mutex_init(&ahead->lock, NULL);
	pthread_cond_init(&ahead->begun, NULL);
	pthread_cond_init(&ahead->ended, NULL);
	return ahead;
}

bool explore_ahead_of(explore_space *space, uint32_t state, explore_foreseen *foreseen)
{
	uint32_t waiting = space->states.count - state;
	int jobs = space->machine.options->jobs;
	bool is_worth = waiting >= EXPLORE_BATCH_LEAST;
	struct explore_ahead *ahead;
	const found *found;

	if (!space->ahead && is_worth)
		space->ahead = new_ahead(jobs > 1 ? jobs : 1);
	ahead = space->ahead;
	if (!ahead)
		return false;
	if (state >= ahead->end && is_worth)
		foresee_batch(space, state, state + (waiting < BATCH ? waiting : BATCH));
	prefetch(space, state + FAR, false);
	prefetch(space, state + NEAR, true);
	found = found_of(ahead, state);
	if (found)
		*foreseen = (explore_foreseen){ahead->readers[found->reader].words + found->at,
					       found->edges, found->is_end, found->is_cut};
	return found != NULL;
}

explore_edge explore_ahead_edge(const explore_space *space, const uint32_t **words)
{
	explore_edge edge = edge_at(*words);

	*words += edge_words(space);
	return edge;
}

/* The end. */

void explore_ahead_free(struct explore_ahead *ahead)
{
	if (!ahead)
		return;
	ahead->is_over = true;
	begin_turn(ahead);
	for (int r = 1; r <= ahead->started; r++)
		pthread_join(ahead->readers[r].thread, NULL);
	for (int r = 0; r < ahead->readers_count; r++) {
		explore_machine_view_fini(&ahead->readers[r].space.machine);
		free(ahead->readers[r].words);
	}
	free(ahead->readers);
	free(ahead);
}

void explore_ahead_reset(struct explore_ahead *ahead)
{
	if (ahead)
		ahead->first = ahead->end = 0;
}
