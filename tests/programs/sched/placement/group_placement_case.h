/* SPDX-License-Identifier: Apache-2.0
 * group_placement_case.h - a group that counts loads, holders of its carriers, and the counts that
 * must be 0 in the end; for placed.c, placed_storm.c. */
#include "io/descriptor.h"
#include "sched/placement/group_placement.h"
#include "../../vthreads_case.h"

static __attribute__((unused)) wp_atomic(uint32_t) lets_go, blocks_now, is_blocked, ran_on;
static __attribute__((unused)) wp_atomic(uint32_t) to_meet, met;

static void open_placed(wp_group_config config)
{
	open_as(config);
	wp_store_relaxed(&lets_go, 0);
	wp_store_relaxed(&blocks_now, 0);
	wp_store_relaxed(&is_blocked, 0);
	wp_store_relaxed(&met, 0);
}

/* No task is counted anywhere, no carrier is marked, spare carriers are idle, and moved tasks were
 * taken. */
static void close_placed(void)
{
	wp_placement *placement = &group->placed->placement;
	uint64_t moved = 0;

	check(wp_group_close(group, patience(), false, NULL, NULL) == WP_OK, "the close");
	for (uint32_t index = 0; index < placement->count; index++)
		check(wp_load_relaxed(&placement->slots[index].word) ==
			      (index < wp_group_size(group) ? 0 : WP_PLACE_DORMANT),
		      "a load, or a mark");
	check(wp_load_relaxed(&placement->global) == 0, "what is moved");
	for (uint32_t index = 0; index < placement->count; index++)
		moved += wp_group_placement_counts(group, index).moved -
			 wp_group_placement_counts(group, index).taken;
	check(moved == 0, "that what is moved is taken, and counted");
	wp_group_free(group);
}

static inline uint64_t load_of(uint32_t index)
{
	return wp_group_counts(group, index).load;
}

/* Carriers that sleep, and are not idle spares. */
static inline uint32_t idle(void)
{
	wp_placement *placement = &group->placed->placement;
	uint32_t many = 0;

	for (uint32_t index = 0; index < placement->count; index++)
		many += !wp_spare_carrier_is_dormant(placement, index) &&
			wp__is_parked(wp_load_acquire(&group->workers[index].home.carrier.word));
	return many;
}

static inline void await_idle(uint32_t many)
{
	AWAIT(idle() == many, "who is to be idle");
}

/* A task leaves the count after its end is known. */
static inline void await_unloaded(uint32_t index)
{
	AWAIT(load_of(index) == 0, "a carrier without a load");
}

static inline void await_done(wp_task *task)
{
	AWAIT(wp_task_is_done(task), "a task");
}

/* Occupies its carrier until main releases it. */
static int holds(void *blocks)
{
	wp_fetch_add_release(&ready, 1);
	if (blocks != NULL) {
		await(&blocks_now, 1);
		check(wp_group_block() == WP_OK, "a mark");
		wp_fetch_add_release(&is_blocked, 1);
	}
	await(&lets_go, 1);
	if (blocks != NULL)
		wp_group_unblock();
	return 0;
}

/* Returns when it runs. */
static inline wp_vthread *hold(int carrier, bool blocks)
{
	wp_vthread_config config = {
		.run = holds, .carrier = carrier, .is_pinned = true, .arg = blocks ? &group : NULL};
	uint32_t before = wp_load_relaxed(&ready);
	wp_vthread *thread = start_as(&config);

	await(&ready, before + 1);
	return thread;
}

static inline void let_go_of(wp_vthread *holder)
{
	wp_store_release(&lets_go, 1);
	join(holder, "the holder");
}

static inline int notes_carrier(void *arg)
{
	wp_store_relaxed(&ran_on, (uint32_t)wp_group_running(group));
	return 0;
}

static inline int parks_once(void *arg)
{
	wp_vthread_park_until(WP_FOREVER);
	return notes_carrier(arg);
}

/* Ends when enough threads are there. */
static inline int meets(void *arg)
{
	wp_fetch_add_release(&met, 1);
	await(&met, wp_load_relaxed(&to_meet));
	return 0;
}

static inline void count_back(void *arg, wp_task *task, bool was_parked)
{
	(*(uint32_t *)arg)++;
}

static inline int counts_run(void *arg)
{
	wp_fetch_add_relaxed(&met, 1);
	return 0;
}

static inline int blocks_and_ends(void *arg)
{
	check(wp_group_block() == WP_OK, "a mark");
	return 0;
}
