/* SPDX-License-Identifier: Apache-2.0
 * pool_case.h - one pool, and jobs that are held until the case lets them go. */
#include "../case.h"
#include "pool/pool.h"

static wp_pool *pool;
static wp_atomic(uint32_t) begun, ran, closed, begins, ends;
static wp_atomic(bool) is_held;

static inline void await(wp_atomic(uint32_t) *word, uint32_t value, const char *what)
{
	AWAIT(wp_load_acquire(word) == value, what);
}

static inline wp_pool_counts counts(void)
{
	wp_pool_counts now;

	wp_pool_counts_read(pool, &now);
	check(now.threads == now.ready + now.leased + now.utilized &&
		      now.ready == now.idle + now.reserved,
	      "that ready, leased and utilized are all threads");
	return now;
}

/* Waits until this many threads live, and this many of them are idle. */
static inline void await_threads(uint32_t threads, uint32_t idle)
{
	int64_t deadline_ns = patience();

	while (counts().threads != threads || counts().idle != idle) {
		if (wp_clock_ns() > deadline_ns) {
			printf("lost %u threads, %u idle: %u, %u\n", threads, idle,
			       counts().threads, counts().idle);
			exit(1);
		}
		wp_yield();
	}
}

static inline void await_reserved(uint32_t many)
{
	AWAIT(counts().reserved == many, "reserved threads");
}

static inline void begin(void *arg)
{
	wp_fetch_add_relaxed(&begins, 1);
}

static inline void end(void *arg)
{
	wp_fetch_add_relaxed(&ends, 1);
}

static inline wp_pool_config config_of(uint32_t min, uint32_t max, int64_t idle_ns,
				       int32_t reserved)
{
	wp_pool_config config;

	wp_pool_config_init(&config);
	config.min = min;
	config.max = max;
	config.idle_ns = idle_ns;
	config.reserved = reserved;
	config.begin = begin;
	config.end = end;
	return config;
}

static inline void open_pool(uint32_t min, uint32_t max, int64_t idle_ns, int32_t reserved)
{
	wp_pool_config config = config_of(min, max, idle_ns, reserved);

	check(wp_pool_new(&config, &pool) == WP_OK, "a pool");
}

static inline void close_pool(void)
{
	check(wp_pool_stop(pool, patience()) == WP_OK, "the stop");
	check(counts().threads == 0 && counts().queued == 0, "that nothing is left");
	check(counts().accepted == counts().finished + counts().closed,
	      "that each job was finished or closed");
	check(wp_load_relaxed(&begins) == counts().started &&
		      wp_load_relaxed(&ends) == counts().started,
	      "that each thread begins and ends");
	wp_pool_free(pool);
}

static inline void runs(void *arg)
{
	wp_fetch_add_release(&ran, 1);
}

static inline void closes(void *arg)
{
	wp_fetch_add_release(&closed, 1);
}

static inline void holds(void *arg)
{
	if (arg != NULL)
		wp_pool_tag(arg);
	wp_fetch_add_release(&begun, 1);
	while (wp_load_acquire(&is_held))
		wp_yield();
	wp_fetch_add_release(&ran, 1);
}

static const wp_job __attribute__((unused)) one = {runs, closes, NULL},
					    holding = {holds, closes, NULL};

static inline void hold(uint32_t many)
{
	uint32_t before = wp_load_acquire(&begun);

	wp_store_release(&is_held, true);
	for (uint32_t at = 0; at < many; at++)
		check(wp_pool_execute(pool, &holding) == WP_OK, "a job");
	await(&begun, before + many, "jobs that run");
}

static inline void let_go(void)
{
	wp_store_release(&is_held, false);
}
