/* SPDX-License-Identifier: Apache-2.0
 * strategy.c - what somebody asks for is produced, by one thread at a time.
 *
 *   each                                    `strategy`: "left to produce"
 *   items++; produce, or dispatch
 *
 * Why it works  `made` is plain: two producers at once, or one that does not see what another did, are
 *               a race. `items` is relaxed, as what a poller would find: only the word orders it. A
 *               pool of one actor, and of the arbiter, takes what was started.
 * Spec          specs/Strategy.tla. */
#include "strategy.h"
#include "stress.h"

struct state {
	wp_strategy strategy;
	wp_atomic(uint32_t) items, starts;
	uint32_t made; /* plain: by whoever produces */
	wp_atomic(uint32_t) inside, met;
	enum wp_kind kind;
	bool has_refused; /* plain: one actor starts */
};

static void *take(struct state *state)
{
	uint32_t items = wp_load_relaxed(&state->items);

	while (items > 0)
		if (wp_cas_relaxed(&state->items, &items, items - 1))
			return state;
	return NULL;
}

static void *produce(void *arg)
{
	((struct state *)arg)->made++;
	return take(arg);
}

/* Two at once are a result instead of a race. */
static void *produce_watched(void *arg)
{
	struct state *state = arg;
	void *task;

	if (wp_fetch_add_relaxed(&state->inside, 1) != 0)
		wp_store_relaxed(&state->met, 1);
	task = take(state);
	wp_fetch_add_relaxed(&state->inside, (uint32_t)-1);
	return task;
}

static enum wp_kind kind_of(void *arg, void *task)
{
	(void)task;
	return ((struct state *)arg)->kind;
}

static void run(void *arg, void *task)
{
	(void)arg;
	(void)task;
}

static int execute(void *arg, void *task)
{
	run(arg, task);
	return WP_OK;
}

static int start(void *arg)
{
	wp_fetch_add_release(&((struct state *)arg)->starts, 1);
	return WP_OK;
}

/* The pool refuses the first. */
static int start_second(void *arg)
{
	struct state *state = arg;

	if (state->has_refused)
		return start(arg);
	state->has_refused = true;
	return WP_AGAIN;
}

static bool try_start(void *arg)
{
	return start(arg) == WP_OK;
}

static bool try_nobody(void *arg)
{
	(void)arg;
	return false;
}

static void init_as(struct state *state, enum wp_kind kind, void *(*produces)(void *),
		    int (*starts)(void *), bool (*tries)(void *))
{
	wp_strategy_init(&state->strategy,
			 &(wp_strategy_config){.mode = WP_ADAPTIVE, .produce = produces,
					       .kind = kind_of, .run = run, .execute = execute,
					       .start = starts, .try_start = tries, .arg = state});
	state->kind = kind;
}

static void init(void *at)
{
	init_as(at, WP_NON_BLOCKING, produce, start, try_start);
}

static void init_watched(void *at)
{
	init_as(at, WP_NON_BLOCKING, produce_watched, start, try_start);
}

static void asks(void *at, stress_result *result)
{
	struct state *state = at;

	(void)result;
	wp_fetch_add_relaxed(&state->items, 1);
	wp_strategy_produce(&state->strategy);
}

static void dispatches(void *at, stress_result *result)
{
	struct state *state = at;

	(void)result;
	wp_fetch_add_relaxed(&state->items, 1);
	wp_strategy_dispatch(&state->strategy);
}

/* What the pool has taken, one after the other. */
static void run_starts(struct state *state)
{
	uint32_t starts = wp_load_acquire(&state->starts);

	while (starts > 0)
		if (wp_cas_acquire(&state->starts, &starts, starts - 1)) {
			wp_strategy_run(&state->strategy);
			starts = wp_load_acquire(&state->starts);
		}
}

static void pool(void *at, stress_result *result)
{
	(void)result;
	run_starts(at);
}

/* Result: "left to produce, nobody produces nor is to come, two did at once". */
static void read_left(void *at, stress_result *result)
{
	struct state *state = at;

	run_starts(state);
	result->r[0] = wp_load_relaxed(&state->items);
	result->r[1] = wp_load_relaxed(&state->strategy.word) == 0;
	result->r[2] = wp_load_relaxed(&state->met);
}

STRESS_TEST(strategy_role, .claim = "One thread at a time produces, and what was asked for.",
	.upholds = "Strategy!SingleProducer", .state_size = sizeof(struct state),
	.init = init_watched,
	.actors = {asks, asks}, .arbiter = read_left, .results = 3,
	.outcomes = {
		{"0,1,0", ACCEPTABLE, "all is produced, and nobody produces"},
		{"*,*,1", FORBIDDEN, "two produce at once"},
		{"*,*,*", FORBIDDEN, "somebody has asked, and nobody looks"},
	});

STRESS_TWIN(strategy_no_state, .of = "strategy_role", .defect = "whoever asks produces",
	.shows = "0,*,1", .seen_by = SEEN_CHECK | SEEN_SC | SEEN_TSO | SEEN_RC11,
	.chance = SEEN_STRESS | SEEN_DELAYED);
STRESS_TWIN(strategy_null_leaves, .of = "strategy_role",
	.defect = "leaves when it finds nothing, though somebody has asked", .shows = "1,*,0",
	.seen_by = SEEN_CHECK | SEEN_SC | SEEN_TSO | SEEN_RC11, .chance = SEEN_STRESS | SEEN_DELAYED);
STRESS_TWIN(strategy_null_keeps, .of = "strategy_role",
	.defect = "leaves, and stays in the word", .shows = "*,0,0",
	.seen_by = SEEN_CHECK | SEEN_STRESS | SEEN_DELAYED | SEEN_SC | SEEN_TSO | SEEN_RC11);

STRESS_TEST(strategy_dispatch, .claim = "So it is when another thread is to produce.",
	.upholds = "Strategy!NoLostProduction", .state_size = sizeof(struct state), .init = init,
	.actors = {dispatches, dispatches, pool}, .arbiter = read_left, .results = 3,
	.outcomes = {
		{"0,1,0", ACCEPTABLE, "all is produced, and nobody produces"},
		{"0,*,*", FORBIDDEN, "somebody is thought to produce, or to come"},
		{"*,*,*", FORBIDDEN, "somebody has asked, and nobody looks"},
	});

STRESS_TWIN(strategy_demand_dropped, .of = "strategy_dispatch",
	.defect = "who asks while another produces leaves no trace", .shows = "1,*,0",
	.seen_by = SEEN_CHECK | SEEN_SC | SEEN_TSO | SEEN_RC11, .chance = SEEN_STRESS | SEEN_DELAYED);
STRESS_TWIN(strategy_demand_read, .of = "strategy_dispatch",
	.defect = "asks by a read where somebody is to come", .shows = "1,*,0",
	.seen_by = SEEN_RC11);
STRESS_TWIN(strategy_run_uncounted, .of = "strategy_dispatch",
	.defect = "who comes is still counted as to come", .shows = "*,0,0",
	.seen_by = SEEN_CHECK | SEEN_STRESS | SEEN_DELAYED | SEEN_SC | SEEN_TSO | SEEN_RC11);

/* A start that was refused: the caller asks again. */
static void init_refusing(void *at)
{
	init_as(at, WP_NON_BLOCKING, produce, start_second, try_start);
}

static void dispatches_again(void *at, stress_result *result)
{
	struct state *state = at;

	(void)result;
	wp_fetch_add_relaxed(&state->items, 1);
	if (wp_strategy_dispatch(&state->strategy) != WP_OK)
		wp_strategy_dispatch(&state->strategy);
}

STRESS_TEST(strategy_refused, .claim = "A refused start is the caller's to know, and nobody waits for it.",
	.upholds = "Strategy!RejectionIsReported", .state_size = sizeof(struct state),
	.init = init_refusing, .actors = {dispatches_again, pool}, .arbiter = read_left, .results = 3,
	.outcomes = {
		{"0,1,0", ACCEPTABLE, "it asked again"},
		{"*,*,*", FORBIDDEN, "who was refused is thought to come"},
	});

STRESS_TWIN(strategy_count_first, .of = "strategy_refused",
	.defect = "counts the start before the pool has taken it", .shows = "1,0,0",
	.seen_by = SEEN_CHECK | SEEN_STRESS | SEEN_DELAYED | SEEN_SC | SEEN_TSO | SEEN_RC11);

STRESS_TEST(strategy_seen, .claim = "A producer sees what the one before it did.",
	.upholds = "Strategy!SingleProducer", .state_size = sizeof(struct state), .init = init,
	.actors = {asks, asks}, .arbiter = read_left, .results = 3,
	.outcomes = {
		{"0,1,0", ACCEPTABLE, "all is produced, and nobody produces"},
		{"*,*,*", FORBIDDEN, "somebody has asked, and nobody looks"},
	});

/* Tasks that may block: who produced runs them, another produces on. */
static void init_blocking(void *at)
{
	struct state *state = at;

	init_as(state, WP_BLOCKING, produce, start, try_start);
	wp_init(&state->items, 1);
}

STRESS_TEST(strategy_hand, .claim = "Who comes sees what was produced by who left for a task.",
	.upholds = "Strategy!SingleProducer", .state_size = sizeof(struct state),
	.init = init_blocking, .actors = {asks, pool}, .arbiter = read_left, .results = 3,
	.outcomes = {
		{"0,1,0", ACCEPTABLE, "all is produced, and nobody produces"},
		{"*,*,*", FORBIDDEN, "somebody is thought to produce, or to come"},
	});

static void init_blocking_watched(void *at)
{
	init_as(at, WP_BLOCKING, produce_watched, start, try_start);
}

STRESS_TEST(strategy_after, .claim = "After its task it produces on, if nobody does.",
	.upholds = "Strategy!NoLostProduction", .state_size = sizeof(struct state),
	.init = init_blocking_watched, .actors = {asks, pool}, .arbiter = read_left,
	.results = 3,
	.outcomes = {
		{"0,1,0", ACCEPTABLE, "all is produced, and nobody produces"},
		{"*,*,1", FORBIDDEN, "two produce at once"},
		{"*,*,*", FORBIDDEN, "somebody is thought to produce, or to come"},
	});

STRESS_TWIN(strategy_failure_keeps, .of = "strategy_after",
	.defect = "produces on after its task, whoever does", .shows = "0,*,1",
	.seen_by = SEEN_CHECK | SEEN_SC | SEEN_TSO | SEEN_RC11, .chance = SEEN_STRESS | SEEN_DELAYED);

/* Nobody is to be had: the pool has the task. Result: ".., left for it". */
static void init_busy(void *at)
{
	init_as(at, WP_BLOCKING, produce, start, try_nobody);
}

static void read_handed(void *at, stress_result *result)
{
	struct state *state = at;

	read_left(at, result);
	result->r[2] = wp_strategy_count(&state->strategy, WP_HANDED_OVER) != 0;
}

STRESS_TEST(strategy_alone, .claim = "Who leaves for a task that may block has one on the way.",
	.upholds = "Strategy!EpcRequiresSuccessor", .state_size = sizeof(struct state),
	.init = init_busy, .actors = {asks, asks}, .arbiter = read_handed, .results = 3,
	.outcomes = {
		{"0,1,0", ACCEPTABLE, "the pool has both tasks"},
		{"*,*,*", FORBIDDEN, "it left, and nobody was started"},
	});

STRESS_TWIN(strategy_hands_alone, .of = "strategy_alone",
	.defect = "leaves for the task without anybody to follow", .shows = "*,*,1",
	.seen_by = SEEN_CHECK | SEEN_STRESS | SEEN_DELAYED | SEEN_SC | SEEN_TSO | SEEN_RC11);
