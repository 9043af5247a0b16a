/* SPDX-License-Identifier: Apache-2.0
 * limits.c - a group and its stacks at their limits: `limits CASE`.
 *
 *   cached     with few stacks, the caches of carriers cause no refusal
 *   slots      stacks in caches are added to max_stacks, if there are many
 *   sizes      stacks of 1 MiB to 1 GiB, all in one group
 *   addresses  a process that may have few addresses starts threads, and has some left
 *   ranges     no carriers is the default; a value out of range is misused, and nothing crashes
 *   skips      a frame of 8 KiB at the end of a stack (built without stack probes)
 *   large      a frame of 80,000 bytes (the same)
 *   probed     a frame of many times the guard, in code with probes */
#define _GNU_SOURCE
#include <sched.h>
#include <sys/resource.h>

#include "../vthreads_case.h"
#include "../case_main.h"

#include "sched/vthread_stackful.h"
#include "sched/trace.h"

enum { LIMIT = 32, IN_TURN = 3 * WP_STACK_CACHE, FEW = 16 };

static wp_atomic(uint32_t) ended;

static void left(wp_vthread *thread)
{
	wp_fetch_add_release(&ended, 1);
}

/* [any thread] */
static int start_detached(void)
{
	wp_vthread_config config = {.run = nothing, .left = left, .carrier = WP_VTHREAD_HERE};
	wp_vthread *thread;
	int code = wp_vthread_new(group, &config, &thread);

	if (code == WP_OK)
		code = wp_vthread_start(thread);
	if (code == WP_OK)
		wp_vthread_free(thread);
	return code;
}

/* On a carrier, which knows the pool of its cached stacks. */
static int spawn(void *arg)
{
	return start_detached();
}

CASE(cached)
{
	open_group(1, false, LIMIT);
	check(join(start(spawn, NULL), "a thread") == WP_OK, "a start on a carrier");
	for (uint32_t at = 1; at <= IN_TURN; at++) {
		await(&ended, at);
		check(start_detached() == WP_OK, "a start while at most two are alive");
	}
	await(&ended, IN_TURN + 1);
	close_group();
}

CASE(slots)
{
	wp_stacks_config config = {
		.control_bytes = 64, .max_stacks = 8 * WP_STACK_CACHE, .caches = 1};
	wp_stack_cache cache = {.count = 0};
	static wp_stack *kept[WP_STACK_CACHE];
	wp_stacks *pool;
	uint32_t taken = 0;

	check(wp_stacks_new(&pool, &config) == WP_OK && pool->has_caches, "a pool with a cache");
	for (int at = 0; at < WP_STACK_CACHE; at++)
		kept[at] = wp_stacks_take(pool, NULL);
	for (int at = 0; at < WP_STACK_CACHE; at++)
		wp_stacks_give(pool, &cache, kept[at]);
	check(cache.count == WP_STACK_CACHE, "a full cache");
	while (wp_stacks_take(pool, NULL) != NULL)
		taken++;
	check(taken == config.max_stacks, "max_stacks beside a full cache");
	wp_stacks_free(pool);
	config.max_stacks--;
	check(wp_stacks_new(&pool, &config) == WP_OK && !pool->has_caches, "one without");
	for (taken = 0; wp_stacks_take(pool, NULL) != NULL; taken++)
		continue;
	check(taken == config.max_stacks, "just max_stacks");
	wp_stacks_free(pool);
}

CASE(sizes)
{
	wp_vthread_config config = {.run = nothing, .carrier = WP_VTHREAD_HERE};

	open_group(1, false, 0);
	for (uint64_t mib = 1; mib <= 1024; mib *= 2) {
		config.stack_bytes = mib << 20;
		join(start_as(&config), "a thread");
	}
	close_group();
}

CASE(addresses)
{
	struct rlimit few = {1ull << 33, 1ull << 33};
	wp_vthread_config config = {.run = nothing, .carrier = WP_VTHREAD_HERE};
	void *mine;

	check(setrlimit(RLIMIT_AS, &few) == 0, "a limit");
	open_group(1, false, 0);
	for (uint64_t kib = 64; kib <= 1024; kib *= 2) { /* five sizes */
		config.stack_bytes = kib << 10;
		join(start_as(&config), "a thread");
	}
	mine = malloc(1ull << 28);
	check(mine != NULL, "addresses for others");
	free(mine);
	close_group();
}

static int made(wp_group_config config)
{
	wp_group *some;
	int code;

	config.yield_us = 50;
	code = wp_group_new(&some, &config);
	if (code != WP_OK)
		return code;
	group = some;
	check(start_detached() == WP_OK, "a start");
	code = (int)wp_group_size(some);
	close_group();
	return code;
}

CASE(ranges)
{
	static const uint32_t numbers[2] = {0, 2};
	cpu_set_t cpus;
	int many = sched_getaffinity(0, sizeof(cpus), &cpus) == 0 ? CPU_COUNT(&cpus) : 1;

	many = many < WP_GROUP_CARRIERS ? many : WP_GROUP_CARRIERS;
	check(made((wp_group_config){.carriers = 0}) == many, "the default");
	check(made((wp_group_config){.carriers = FEW}) == FEW, "some");
	check(made((wp_group_config){.carriers = WP_GROUP_CARRIERS + 1}) == WP_MISUSED, "1,025");
	check(made((wp_group_config){.carriers = UINT32_MAX}) == WP_MISUSED, "2^32 - 1");
	check(made((wp_group_config){.carriers = WP_GROUP_CARRIERS, .spare_carriers = 1}) ==
		      WP_MISUSED,
	      "1,024 and one replacement");
	check(made((wp_group_config){.carriers = 1, .trace_events = 3}) == WP_MISUSED,
	      "a ring of 3");
	check(made((wp_group_config){.carriers = 1, .trace_events = 2 * WP_TRACE_MOST}) ==
		      WP_MISUSED,
	      "a ring that is too large");
	check(made((wp_group_config){.carriers = 2, .work_stealing = true, .domain_of = numbers}) ==
		      WP_MISUSED,
	      "a domain that is not there");
	check(made((wp_group_config){
		      .carriers = 2, .work_stealing = true, .cluster_of = numbers}) == WP_MISUSED,
	      "a cluster that is not there");
	check(made((wp_group_config){.carriers = 0, .domain_of = numbers}) == WP_MISUSED,
	      "domains of nobody knows how many");
	check(made((wp_group_config){.carriers = 1, .placement = (enum wp_placement_policy)9}) ==
		      WP_MISUSED,
	      "a policy that is not there");
}

/* Only the lowest bytes of a frame are touched, as with most paths and buffers. */
#define FRAME_OF(name, bytes)                           \
	__attribute__((noinline)) static int name(void) \
	{                                               \
		volatile char frame[bytes];             \
                                                        \
		for (int at = 0; at < 2500; at++)       \
			frame[at] = (char)0xAB;         \
		return frame[9];                        \
	}

FRAME_OF(a_buffer, 8192)
FRAME_OF(much, 80000)
FRAME_OF(most, 1 << 20)

static wp_atomic(uint32_t) is_late;

/* Recurses until little is left of its stack. */
__attribute__((noinline)) static int dive(int (*then)(void), uintptr_t low)
{
	volatile char frame[64];

	frame[0] = 1;
	if (wp_load_relaxed(&is_late) != 0) /* never, but the compiler does not know that it ends */
		return 0;
	return ((uintptr_t)frame > low ? dive(then, low) : then()) + frame[0];
}

static int (*frame_of)(void);

static int overflows(void *arg)
{
	const wp_stack *own = wp_stack_of(wp_vthread_current());

	return dive(frame_of, (uintptr_t)own->low + 1024);
}

static int at_once(void *arg)
{
	return frame_of();
}

static int keeps(void *arg)
{
	wp_vthread_park_until(WP_FOREVER);
	return 0;
}

/* Others are parked below it, and their stacks must not change. */
static void overflow(int (*run)(void *), int (*frame)(void))
{
	wp_vthread_config config = {.name = "deep", .run = run};

	open_group(1, false, 0);
	for (int at = 0; at < FEW; at++)
		start(keeps, NULL);
	frame_of = frame;
	start_as(&config);
	for (;;)
		sched_yield(); /* until it dies of it */
}

static int comes_back(void *arg)
{
	overflows(arg);
	printf("lost a report\n");
	exit(1);
}

static int comes_back_at_once(void *arg)
{
	at_once(arg);
	printf("lost a report\n");
	exit(1);
}

CASE_CALL(skips, overflow(comes_back, a_buffer))
CASE_CALL(large, overflow(comes_back_at_once, much))
CASE_CALL(probed, overflow(comes_back_at_once, most))
