/* SPDX-License-Identifier: Apache-2.0
 * spare_carrier.c CASE - groups in which spares replace marked carriers: the tasks that run
 * meanwhile, the threads that are started, the state that a close finds. Prints what is lost. For
 * the case refused link with -Wl,--wrap=pthread_create.
 *
 * Why it works  Holders occupy their carriers until main releases them. Every other event is
 *               awaited. */
#include "../placement/group_placement_case.h"
#include "../../case_main.h"

enum { CARRIERS = 2, OTHERS = 20 };

static wp_vthread *holders[CARRIERS];

static void await_replaced(uint32_t active, uint32_t started)
{
	AWAIT(wp_group_spare_carriers(group).active == active &&
		      wp_group_spare_carriers(group).started == started,
	      "who stands in");
}

/* It is counted nowhere, it has nothing, and its word is parked. */
static void await_asleep(uint32_t index)
{
	AWAIT(wp_load_acquire(&group->workers[index].home.carrier.word) == WP_PARKED_FUTEX,
	      "a sleeper");
}

static void hold_all(bool blocks)
{
	wp_store_release(&blocks_now, blocks);
	for (uint32_t index = 0; index < CARRIERS; index++) {
		holders[index] = hold((int)index, blocks);
		if (blocks)
			await(&is_blocked, index + 1);
	}
}

static void let_go(void)
{
	wp_store_release(&lets_go, 1);
	join_all(holders, CARRIERS, "a holder");
	wp_store_release(&lets_go, 0);
	wp_store_release(&is_blocked, 0);
}

static void run_others(void)
{
	wp_vthread_config config = {.run = nothing};
	wp_vthread *others[OTHERS];

	for (int each = 0; each < OTHERS; each++) {
		config.carrier = each % 2 ? WP_VTHREAD_HERE : 0;
		others[each] = start_as(&config);
	}
	join_all(others, OTHERS, "who is given to a replacement");
}

/* All are marked, and the others run; twice, with the same threads. */
CASE(all)
{
	for (int policy = WP_PLACE_HOME; policy <= WP_PLACE_CLUSTER_TWO_CHOICES; policy++)
		for (int form = 0; form < 8; form++) {
			open_placed((wp_group_config){.carriers = CARRIERS,
						      .placement = (enum wp_placement_policy)policy,
						      .load_at_dequeue = form % 2,
						      .work_stealing = form / 2 % 2,
						      .bounded = form / 4,
						      .spare_carriers = CARRIERS});
			check(wp_group_size(group) == CARRIERS, "the size");
			for (uint32_t episode = 0; episode < 2; episode++) {
				hold_all(true);
				await_replaced(CARRIERS, CARRIERS);
				run_others();
				let_go();
				await_replaced(0, CARRIERS);
				for (uint32_t index = 0; index < CARRIERS; index++)
					await_asleep(CARRIERS + index);
				check(wp_group_spare_carriers(group).reused == episode * CARRIERS,
				      "a cached one");
			}
			close_placed();
		}
}

/* As many run at once as are configured: they wait for one another. */
CASE(many)
{
	wp_vthread_config config = {.run = meets};
	wp_vthread *others[CARRIERS];

	open_placed((wp_group_config){.carriers = CARRIERS, .spare_carriers = CARRIERS});
	wp_store_relaxed(&to_meet, CARRIERS);
	hold_all(true);
	for (int each = 0; each < CARRIERS; each++)
		others[each] = start_as(&config);
	join_all(others, CARRIERS, "who waits for another one");
	let_go();
	close_placed();
}

/* No thread marks itself as blocking; the monitor finds it. */
CASE(watched)
{
	wp_vthread_config config = {.run = nothing};
	wp_vthread *behind[CARRIERS];

	open_placed((wp_group_config){
		.carriers = CARRIERS, .monitor_ms = 1, .spare_carriers = CARRIERS});
	hold_all(false);
	for (uint32_t index = 0; index < CARRIERS; index++) {
		config.carrier = (int)index;
		behind[index] = start_as(&config);
	}
	join_all(behind, CARRIERS, "who was moved");
	let_go();
	await_replaced(0, wp_group_spare_carriers(group).started);
	close_placed();
}

/* A step ends without unmarking its carrier: the replacement ends, too. */
CASE(ends)
{
	wp_vthread_config config = {.run = blocks_and_ends, .carrier = WP_VTHREAD_HERE};

	open_placed((wp_group_config){.carriers = CARRIERS, .spare_carriers = 1});
	for (int each = 0; each < OTHERS; each++)
		join(start_as(&config), "who blocks");
	await_replaced(0, 1);
	close_placed();
}

/* A thread at home on a replacement parks, and goes on when that is an idle spare. A thread that is
 * pinned there does so there. */
static int parks_pinned(void *arg)
{
	check(wp_vthread_settle() >= CARRIERS, "a home");
	wp_fetch_add_release(&met, 1);
	return parks_once(arg);
}

static void kept(bool place_at_resume)
{
	wp_vthread_config config = {.run = parks_once, .carrier = WP_VTHREAD_HERE};
	wp_vthread_config settled = {.run = parks_pinned, .carrier = WP_VTHREAD_HERE};
	wp_vthread *sleeper, *other;

	open_placed((wp_group_config){.carriers = CARRIERS,
				      .placement = WP_PLACE_LEAST_LOADED,
				      .place_at_resume = place_at_resume,
				      .spare_carriers = CARRIERS});
	hold_all(true);
	sleeper = start_as(&config);
	other = start_as(&settled);
	await(&met, 1);
	await_parked(sleeper);
	await_parked(other);
	let_go();
	await_replaced(0, CARRIERS);
	wp_vthread_unpark(sleeper);
	join(sleeper, "who was parked");
	wp_vthread_unpark(other);
	join(other, "who is pinned to a replacement");
	check(wp_load_relaxed(&ran_on) >= CARRIERS, "that it stays there");
	close_placed();
}

CASE(kept)
{
	kept(false);
	kept(true);
}

/* A close finds the spares active. */
CASE(closed)
{
	uint32_t back = 0;

	for (int waits = 0; waits < 2; waits++) {
		wp_vthread_config config = {.run = counts_run};

		open_placed((wp_group_config){.carriers = CARRIERS, .spare_carriers = CARRIERS});
		hold_all(true);
		for (int each = 0; each < OTHERS; each++)
			wp_vthread_free(start_as(&config));
		check(wp_group_close(group, 0, !waits, count_back, &back) == WP_TIMEOUT,
		      "a holder");
		wp_store_release(&lets_go, 1);
		check(wp_group_close(group, patience(), true, count_back, &back) == WP_OK,
		      "the close");
		for (uint32_t index = 0; index < CARRIERS; index++)
			wp_vthread_free(holders[index]);
		wp_group_free(group);
		check(back + wp_load_relaxed(&met) == OTHERS, "a task");
		back = 0;
	}
}

static wp_atomic(uint32_t) refuses;

int __real_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
int __wrap_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
			  void *(*body)(void *), void *arg)
{
	return wp_load_acquire(&refuses) ? 11
					 : __real_pthread_create(thread, attributes, body, arg);
}

/* No thread can be started. A moved task waits for the next carrier that may run it. The next marks
 * find threads again. */
CASE(refused)
{
	wp_vthread_config config = {.run = nothing};
	wp_spare_carrier_group counts;
	wp_vthread *one;

	open_placed((wp_group_config){.carriers = CARRIERS, .spare_carriers = CARRIERS});
	wp_store_release(&refuses, 1);
	hold_all(true);
	one = start_as(&config);
	counts = wp_group_spare_carriers(group);
	check(counts.refused >= CARRIERS && counts.active == 0, "who was refused");
	wp_store_release(&refuses, 0);
	let_go();
	join(one, "who had no carrier");
	hold_all(true);
	await_replaced(CARRIERS, CARRIERS);
	run_others();
	let_go();
	close_placed();
}

/* Its block ends, and it keeps its carrier without a word. */
static int goes_on(void *arg)
{
	check(wp_group_block() == WP_OK, "a mark");
	wp_fetch_add_release(&is_blocked, 1);
	await(&blocks_now, 1);
	wp_group_unblock();
	wp_fetch_add_release(&met, 1);
	await(&lets_go, 1);
	return arg != NULL;
}

/* A task is in the group's queue, as no thread could be started for it. Then no carrier is marked any
 * more, and each is kept by a step: the monitor finds them for the sake of that task. */
CASE(unsaid)
{
	wp_vthread_config config = {.run = goes_on, .carrier = WP_VTHREAD_HERE};
	wp_vthread_config other = {.run = nothing, .carrier = WP_VTHREAD_HERE};
	wp_vthread *kept[CARRIERS + 1], *one;

	open_placed(
		(wp_group_config){.carriers = 1, .monitor_ms = 1, .spare_carriers = CARRIERS + 1});
	for (uint32_t index = 0; index <= CARRIERS; index++) {
		wp_store_release(&refuses, index == CARRIERS);
		kept[index] = start_as(&config);
		await(&is_blocked, index + 1);
	}
	AWAIT(wp_group_spare_carriers(group).refused > 0, "who is refused");
	one = start_as(&other);
	wp_store_release(&refuses, 0);
	wp_store_release(&blocks_now, 1);
	await(&met, CARRIERS + 1);
	join(one, "who waits in the group's queue");
	wp_store_release(&lets_go, 1);
	join_all(kept, CARRIERS + 1, "who went on");
	await_replaced(0, wp_group_spare_carriers(group).started);
	close_placed();
}
