/* SPDX-License-Identifier: Apache-2.0
 * strategy.c - see strategy.h. */
#include "pool/strategy.h"

enum wp_kind wp_kind_combine(enum wp_kind one, enum wp_kind other)
{
	if (one == other)
		return one;
	return one == WP_BLOCKING || other == WP_BLOCKING ? WP_BLOCKING : WP_EITHER;
}

/* One pending thread in the word. The low half of the word is the state. */
#define ONE ((uint64_t)1 << 32)

static uint32_t state_of(uint64_t word)
{
	return (uint32_t)word;
}

static int32_t pending_of(uint64_t word)
{
	return (int32_t)(uint32_t)(word >> 32);
}

static uint64_t with_state(uint64_t word, uint32_t state)
{
	return (word & ~(uint64_t)UINT32_MAX) | state;
}

void wp_strategy_init(wp_strategy *strategy, const wp_strategy_config *config)
{
	wp_init(&strategy->word, WP_STRATEGY_IDLE);
	strategy->config = *config;
	for (int how = 0; how < WP_CONSUMED_KINDS; how++)
		wp_init(&strategy->counts[how], 0);
}

/* [any thread | wait-free] */
static uint64_t look(const wp_strategy *strategy)
{
	/* [strategy.7] relaxed: a word that is stale costs a step that fails, or one thread that is
	 * started for nothing; pairs strategy.1, strategy.2, strategy.3, strategy.4, strategy.5,
	 * strategy.6, strategy.8, strategy.9; upholds Strategy!NoLostProduction: a thread that
	 * relies on the word also writes it. */
	return wp_load_relaxed(&strategy->word);
}

/* Takes the role of producer, which is free, and sets the word to `next` apart from the state.
 * Returns false if the word has changed; the caller must then look again. [any thread | wait-free]
 */
static bool take(wp_strategy *strategy, uint64_t *word, uint64_t next)
{
	next = with_state(next, WP_STRATEGY_PRODUCING);
	/* [strategy.3] acquire; pairs strategy.1, strategy.5, strategy.6, strategy.7, strategy.9;
	 * upholds Strategy!SingleProducer: what earlier producers did, and what was asked for,
	 * comes before this. */
	return wp_cas_acquire(&strategy->word, word, next);
}

/* Requests production by writing the word, even if the word stays the same. Returns false if the
 * word has changed; the caller must then look again. [any thread | wait-free] */
static bool ask(wp_strategy *strategy, uint64_t *word, uint64_t next)
{
	/* [strategy.1] release; pairs strategy.2, strategy.3, strategy.4, strategy.7, strategy.8;
	 * upholds Strategy!NoLostProduction: the next producer, or the next try of this one, finds
	 * what this thread has made. */
	return wp_cas_release(&strategy->word, word, next);
}

/* Counts a thread that was started. [the thread that started it | wait-free] */
static void count_start(wp_strategy *strategy)
{
	/* [strategy.2] relaxed: atomicity is enough: the pool orders what came before the start for
	 * the thread that it starts; pairs strategy.1, strategy.7; upholds
	 * Strategy!RejectionIsReported: no refusal is counted. */
	wp_fetch_add_relaxed(&strategy->word, ONE);
}

/* Arrives. `begun` is ONE if the caller was started and counted, else 0. Returns true if the caller
 * is the producer now. Returns false if the present producer will look once more. [any thread |
 * lock-free] */
static bool enter(wp_strategy *strategy, uint64_t begun)
{
	uint64_t word = look(strategy);

	for (;;) {
		uint64_t next = word - begun;

		if (state_of(word) == WP_STRATEGY_IDLE) {
			if (take(strategy, &word, next))
				return true;
		} else if (ask(strategy, &word, with_state(next, WP_STRATEGY_REPRODUCING))) {
			return false;
		}
	}
}

/* Comes back after a task that may have blocked. Returns true if there was no producer, so that the
 * caller is the producer again. [a thread that left the role | lock-free] */
static bool enter_again(wp_strategy *strategy)
{
	uint64_t word = look(strategy);

	while (state_of(word) == WP_STRATEGY_IDLE)
		if (take(strategy, &word, word))
			return true;
	return false;
}

/* Called when there was no task. Returns true if the caller must try once more, and false if it has
 * left the role. [the producer | lock-free] */
static bool look_again(wp_strategy *strategy)
{
	uint64_t word = look(strategy);

	for (;;) {
		if (state_of(word) == WP_STRATEGY_REPRODUCING) {
			/* [strategy.4] acquire; pairs strategy.1, strategy.7; upholds
			 * Strategy!NoLostProduction. */
			if (wp_cas_acquire(&strategy->word, &word,
					   with_state(word, WP_STRATEGY_PRODUCING)))
				return true;
			continue;
		}
		/* [strategy.6] release; pairs strategy.3, strategy.7, strategy.8; upholds
		 * Strategy!SingleProducer: what it has produced comes before what the next one
		 * does. */
		if (wp_cas_release(&strategy->word, &word, with_state(word, WP_STRATEGY_IDLE)))
			return false;
	}
}

/* Leaves the role of producer. Returns true if a started thread will follow. Returns false if none
 * was pending; the caller must then start the thread that this call has counted. [the producer |
 * lock-free] */
static bool leave(wp_strategy *strategy)
{
	uint64_t word = look(strategy), one = ONE;

	for (;;) {
		bool is_to_come = pending_of(word) > 0;
		uint64_t next = with_state(is_to_come ? word : word + one, WP_STRATEGY_IDLE);

		/* [strategy.5] release; pairs strategy.3, strategy.7, strategy.8; upholds
		 * Strategy!SingleProducer: as strategy.6. */
		if (wp_cas_release(&strategy->word, &word, next))
			return is_to_come;
	}
}

/* Takes back the count of a thread that could not be started. Returns true if the caller is the
 * producer again, and false if another thread produces or is pending. [a thread that left the role
 * | lock-free] */
static bool come_back(wp_strategy *strategy)
{
	uint64_t word = look(strategy), one = ONE;

	for (;;) {
		bool is_free = state_of(word) == WP_STRATEGY_IDLE && pending_of(word) <= 1;

		if (is_free) {
			/* [strategy.8] acquire; pairs strategy.1, strategy.5, strategy.6,
			 * strategy.7; upholds Strategy!NoLostProduction: as strategy.3; and a
			 * thread that relied on the start is served. */
			if (wp_cas_acquire(&strategy->word, &word,
					   with_state(word - one, WP_STRATEGY_PRODUCING)))
				return true;
			/* [strategy.9] relaxed: atomicity is enough: the present or next producer
			 * reads the word; pairs strategy.3, strategy.7; upholds
			 * Strategy!RejectionIsReported. */
		} else if (wp_cas_relaxed(&strategy->word, &word, word - one)) {
			return false;
		}
	}
}

/* Starts a successor. Returns true if it will come. [the producer, or the last one | as start] */
static bool start_one(const wp_strategy_config *config)
{
	return config->mode == WP_ADAPTIVE ? config->try_start(config->arg)
					   : config->start(config->arg) == WP_OK;
}

/* Hands the role over. Returns true if another thread produces, or will produce. Returns false if
 * the caller still is, or is again, the producer. [the producer | as start] */
static bool hand_over(wp_strategy *strategy)
{
	const wp_strategy_config *config = &strategy->config;

	if (config->mode < WP_EXECUTE_PRODUCE_CONSUME)
		return false;
	return leave(strategy) || start_one(config) || !come_back(strategy);
}

static void execute(wp_strategy *strategy, void *task)
{
	const wp_strategy_config *config = &strategy->config;
	int code = config->execute(config->arg, task);

	wp__count(&strategy->counts[WP_EXECUTED]);
	if (code != WP_OK)
		config->reject(config->arg, task, code);
}

struct tagged {
	const wp_strategy_config *config;
	void *task;
};

static void run_tagged(void *arg)
{
	struct tagged *tagged = arg;

	tagged->config->run(tagged->config->arg, tagged->task);
}

/* Runs a task, or gives it to another thread. Returns true if the caller still is, or is again, the
 * producer. [the producer] */
static bool consume(wp_strategy *strategy, void *task, bool is_tagged)
{
	const wp_strategy_config *config = &strategy->config;
	enum wp_kind kind = config->kind(config->arg, task);

	if (config->mode == WP_PRODUCE_CONSUME || kind == WP_NON_BLOCKING ||
	    (kind == WP_EITHER && is_tagged)) {
		wp__count(&strategy->counts[WP_CONSUMED]);
		config->run(config->arg, task);
		return true;
	}
	if (!is_tagged && hand_over(strategy)) {
		wp__count_shared(&strategy->counts[WP_HANDED_OVER]);
		config->run(config->arg, task);
		return enter_again(strategy);
	}
	if (kind == WP_EITHER && config->mode == WP_ADAPTIVE) {
		wp__count(&strategy->counts[WP_CONSUMED_TAGGED]);
		wp_invoke_non_blocking(run_tagged, &(struct tagged){config, task});
		return true;
	}
	execute(strategy, task);
	return true;
}

static void produce(wp_strategy *strategy)
{
	bool is_tagged = wp_is_non_blocking(), is_producer = true;

	while (is_producer) {
		void *task = strategy->config.produce(strategy->config.arg);

		is_producer =
			task == NULL ? look_again(strategy) : consume(strategy, task, is_tagged);
	}
}

void wp_strategy_produce(wp_strategy *strategy)
{
	if (enter(strategy, 0))
		produce(strategy);
}

void wp_strategy_run(wp_strategy *strategy)
{
	if (enter(strategy, ONE))
		produce(strategy);
}

int wp_strategy_dispatch(wp_strategy *strategy)
{
	const wp_strategy_config *config = &strategy->config;
	uint64_t word = look(strategy);
	int code;

	while (state_of(word) != WP_STRATEGY_IDLE || pending_of(word) > 0) {
		uint32_t found = state_of(word);
		uint32_t state = found == WP_STRATEGY_PRODUCING ? WP_STRATEGY_REPRODUCING : found;

		if (ask(strategy, &word, with_state(word, state)))
			return WP_OK;
	}
	code = config->start(config->arg);
	if (code == WP_OK)
		count_start(strategy);
	return code;
}

bool wp_strategy_is_idle(const wp_strategy *strategy)
{
	return state_of(look(strategy)) == WP_STRATEGY_IDLE;
}

uint64_t wp_strategy_count(const wp_strategy *strategy, enum wp_consumed how)
{
	return wp__count_read((wp_atomic(uint64_t) *)(uintptr_t)&strategy->counts[how]);
}
