/* SPDX-License-Identifier: Apache-2.0
 * strategies.h - the source of items, the producing threads, and a pool that one actor and the
 * arbiter run.
 *
 * Why it works  `made` is plain, so two producers at once are a data race, and so is one that does
 *               not see what another did. `items` is relaxed, as events in a poller are: only the
 *               strategy's word orders it.
 * Spec          specs/pool/Strategy.tla. */
#ifndef STRESS_STRATEGIES_H
#define STRESS_STRATEGIES_H

#include "pool/strategy.h"
#include "stress.h"

struct state {
	wp_strategy strategy;
	wp_atomic(uint32_t) items, starts;
	uint32_t made; /* plain: belongs to the thread that produces */
	wp_atomic(uint32_t) inside, met;
	enum wp_kind kind;
	bool has_refused; /* plain: only one actor starts threads */
};

static inline void *take(struct state *state)
{
	uint32_t items = wp_load_relaxed(&state->items);

	while (items > 0)
		if (wp_cas_relaxed(&state->items, &items, items - 1))
			return state;
	return NULL;
}

static inline void *produce(void *arg)
{
	((struct state *)arg)->made++;
	return take(arg);
}

/* Records two producers at once as a result, instead of a data race. */
static inline void *produce_watched(void *arg)
{
	struct state *state = arg;
	void *task;

	if (wp_fetch_add_relaxed(&state->inside, 1) != 0)
		wp_store_relaxed(&state->met, 1);
	task = take(state);
	wp_fetch_add_relaxed(&state->inside, (uint32_t)-1);
	return task;
}

static inline enum wp_kind kind_of(void *arg, void *task)
{
	return ((struct state *)arg)->kind;
}

static inline void run(void *arg, void *task)
{
}

static inline int execute(void *arg, void *task)
{
	run(arg, task);
	return WP_OK;
}

static inline int start(void *arg)
{
	wp_fetch_add_release(&((struct state *)arg)->starts, 1);
	return WP_OK;
}

static inline bool try_start(void *arg)
{
	return start(arg) == WP_OK;
}

static inline void init_as(struct state *state, enum wp_kind kind, void *(*produces)(void *),
			   int (*starts)(void *), bool (*tries)(void *))
{
	wp_strategy_init(&state->strategy, &(wp_strategy_config){.mode = WP_ADAPTIVE,
								 .produce = produces,
								 .kind = kind_of,
								 .run = run,
								 .execute = execute,
								 .start = starts,
								 .try_start = tries,
								 .arg = state});
	state->kind = kind;
}

static inline void asks(void *at, stress_result *result)
{
	struct state *state = at;

	wp_fetch_add_relaxed(&state->items, 1);
	wp_strategy_produce(&state->strategy);
}

static inline void dispatches(void *at, stress_result *result)
{
	struct state *state = at;

	wp_fetch_add_relaxed(&state->items, 1);
	wp_strategy_dispatch(&state->strategy);
}

/* Runs what the pool has accepted, one start after the other. */
static inline void run_starts(struct state *state)
{
	uint32_t starts = wp_load_acquire(&state->starts);

	while (starts > 0)
		if (wp_cas_acquire(&state->starts, &starts, starts - 1)) {
			wp_strategy_run(&state->strategy);
			starts = wp_load_acquire(&state->starts);
		}
}

static inline void pool(void *at, stress_result *result)
{
	run_starts(at);
}

/* Result: "left to produce, no thread produces or is to come, two produced at once". */
static inline void read_left(void *at, stress_result *result)
{
	struct state *state = at;

	run_starts(state);
	result->r[0] = wp_load_relaxed(&state->items);
	result->r[1] = wp_load_relaxed(&state->strategy.word) == 0;
	result->r[2] = wp_load_relaxed(&state->met);
}

#endif
