/* SPDX-License-Identifier: Apache-2.0
 * group_placement.c CASE - groups that count loads: the carriers on which threads start, the tasks
 * that move, the counts. Prints what is lost.
 *
 * Why it works  A holder occupies its carrier until main releases it, or until others have run. A
 *               carrier that is to be asleep is counted as idle before a case goes on. */
#include <signal.h>

#include "group_placement_case.h"
#include "../../case_main.h"

/* Of two carriers the one with the lower load, whatever is counted. */
CASE(chosen)
{
	for (int form = 0; form < 4; form++) {
		wp_vthread_config fill = {.run = nothing};
		wp_vthread *holder, *others[3];

		open_placed((wp_group_config){.carriers = 2,
					      .placement = form < 2 ? WP_PLACE_TWO_CHOICES
								    : WP_PLACE_LEAST_LOADED,
					      .load_at_dequeue = form % 2});
		holder = hold(0, false);
		for (int each = 0; each < 3; each++)
			others[each] = start_as(&fill);
		check(load_of(0) == (form % 2 ? 3 : 4), "what is queued, and runs, is counted");
		for (int each = 0; each < 20; each++) {
			wp_vthread_config config = {.run = notes_carrier,
						    .carrier = WP_VTHREAD_HERE};

			join(start_as(&config), "who was placed");
			check(wp_load_relaxed(&ran_on) == 1, "that the lesser is chosen");
		}
		let_go_of(holder);
		join_all(others, 3, "who waited");
		close_placed();
	}
}

/* Tasks without stacks are placed, too, and handed to a carrier if one is named. */
static enum wp_step note_step(wp_task *task)
{
	wp_store_relaxed(&ran_on, (uint32_t)wp_group_running(group));
	return WP_STEP_DONE;
}

CASE(task)
{
	wp_vthread *holder;
	wp_task task;

	open_placed((wp_group_config){.carriers = 2, .placement = WP_PLACE_TWO_CHOICES});
	holder = hold(0, false);
	for (int each = 0; each < 20; each++) {
		wp_task_init(&task, note_step, NULL);
		await_unloaded(1);
		check(wp_group_submit(group, &task) == WP_OK, "a task");
		await_done(&task);
		check(wp_load_relaxed(&ran_on) == 1, "that the lesser is chosen");
	}
	let_go_of(holder);
	close_placed();
}

/* The tasks queued behind a task that is to block run on the other carriers, which sleep, and steal
 * nothing. The tasks wait for one another, so each carrier has one. */
static void moved(uint32_t carriers, bool at_dequeue, bool has_poller)
{
	wp_vthread *holder, *others[2];
	wp_vthread_config config = {.run = meets};

	open_placed((wp_group_config){.carriers = carriers,
				      .placement = WP_PLACE_LEAST_LOADED,
				      .load_at_dequeue = at_dequeue});
	if (has_poller)
		check(wp_io_start(group, 1) == WP_OK, "a poller");
	holder = hold(0, true);
	wp_store_relaxed(&to_meet, carriers - 1);
	for (uint32_t each = 0; each < carriers - 1; each++)
		others[each] = start_as(&config);
	await_idle(carriers - 1);
	wp_store_release(&blocks_now, 1);
	join_all(others, (int)carriers - 1, "who was moved");
	let_go_of(holder);
	close_placed();
}

CASE(moved)
{
	moved(2, false, false);
	moved(2, true, false);
}

CASE_CALL(both, moved(3, false, false))
CASE_CALL(poller, moved(2, false, true))

/* A task that comes, or goes on, while its home is marked is run by another carrier. */
CASE(late)
{
	wp_vthread_config config = {.run = parks_once};
	wp_vthread *holder, *sleeper;

	open_placed((wp_group_config){.carriers = 2, .placement = WP_PLACE_TWO_CHOICES});
	sleeper = start_as(&config);
	await_parked(sleeper);
	holder = hold(0, true);
	wp_store_release(&blocks_now, 1);
	await(&is_blocked, 1);
	wp_vthread_unpark(sleeper);
	join(sleeper, "who was parked");
	check(wp_load_relaxed(&ran_on) == 1, "that another carrier runs it");
	config.run = notes_carrier;
	join(start_as(&config), "who came late");
	check(wp_load_relaxed(&ran_on) == 1, "that another carrier runs it");
	let_go_of(holder);
	close_placed();
}

/* A thief has one more, its victim one less. */
CASE(stolen)
{
	for (int form = 0; form < 2; form++) {
		wp_vthread_config config = {.run = notes_carrier};
		wp_vthread *holder;

		open_placed((wp_group_config){.carriers = 2,
					      .placement = WP_PLACE_TWO_CHOICES,
					      .load_at_dequeue = form == 1,
					      .work_stealing = true});
		holder = hold(0, false);
		join(start_as(&config), "who is stolen");
		check(wp_load_relaxed(&ran_on) == 1, "a thief");
		let_go_of(holder);
		close_placed();
	}
}

/* It marks nothing, and does not end; the monitor finds it. */
CASE(watched)
{
	for (int form = 0; form < 4; form++) {
		wp_vthread_config config = {.run = meets};
		wp_vthread *holder;

		open_placed((wp_group_config){.carriers = 2,
					      .load_at_dequeue = form % 2,
					      .placement = form < 2 ? WP_PLACE_HOME
								    : WP_PLACE_LEAST_LOADED,
					      .monitor_ms = 1});
		wp_store_relaxed(&to_meet, 1);
		holder = hold(0, false);
		join(start_as(&config), "who was moved");
		let_go_of(holder);
		close_placed();
	}
}

/* A step marks itself as blocking, and ends: its mark ends with it. */
CASE(ends)
{
	for (int form = 0; form < 2; form++) {
		wp_vthread_config config = {.run = blocks_and_ends};

		open_placed((wp_group_config){.carriers = 1,
					      .placement = WP_PLACE_TWO_CHOICES,
					      .load_at_dequeue = form == 1});
		join(start_as(&config), "who blocks");
		close_placed();
	}
}

/* Every carrier is marked. A started task waits for the first that goes on. */
CASE(nobody)
{
	wp_vthread_config config = {.run = notes_carrier, .carrier = WP_VTHREAD_HERE};
	wp_vthread *holders[2], *one;

	open_placed((wp_group_config){.carriers = 2, .placement = WP_PLACE_LEAST_LOADED});
	wp_store_release(&blocks_now, 1);
	holders[0] = hold(0, true);
	await(&is_blocked, 1);
	holders[1] = hold(1, true);
	await(&is_blocked, 2);
	one = start_as(&config);
	check(wp_placement_has_global(&group->placed->placement), "a task of the group's");
	wp_store_release(&lets_go, 1);
	join(one, "who had no carrier");
	join_all(holders, 2, "a holder");
	close_placed();
}

/* A carrier that was woken for a moved task gets one of its own before it looks. */
static pthread_t carries; /* carrier 1 */
static wp_atomic(uint32_t) is_stuck, goes_on, is_bound;

static void note_thread(void *arg, uint32_t index)
{
	if (index != 1)
		return;
	carries = pthread_self();
	wp_store_release(&is_bound, 1);
}

static void stick(int signal)
{
	wp_store_release(&is_stuck, 1);
	while (wp_load_acquire(&goes_on) == 0)
		continue;
}

static int awaits_moved(void *arg)
{
	await(&met, 1);
	return 0;
}

CASE(first)
{
	wp_vthread_config config = {.run = meets}, own = {.run = awaits_moved, .carrier = 1};
	wp_vthread *holder, *one, *other;

	signal(SIGUSR1, stick);
	open_placed((wp_group_config){
		.carriers = 2, .placement = WP_PLACE_LEAST_LOADED, .bind = note_thread});
	await(&is_bound, 1);
	holder = hold(0, true);
	wp_store_relaxed(&to_meet, 1);
	one = start_as(&config);
	await_idle(1);
	pthread_kill(carries, SIGUSR1);
	await(&is_stuck, 1);
	wp_store_release(&blocks_now, 1);
	await(&is_blocked, 1);
	other = start_as(&own);
	wp_store_release(&goes_on, 1);
	join(other, "who waits for the moved one");
	join(one, "who was moved");
	let_go_of(holder);
	close_placed();
}

/* Each moved task runs once or is handed back, not both, nor neither. */
CASE(closed)
{
	wp_vthread_config config = {.run = counts_run};
	wp_vthread *holder;
	uint32_t back = 0;

	open_placed((wp_group_config){.carriers = 1, .placement = WP_PLACE_LEAST_LOADED});
	wp_store_release(&blocks_now, 1);
	holder = hold(0, true);
	await(&is_blocked, 1);
	for (int each = 0; each < MANY; each++)
		wp_vthread_free(start_as(&config));
	check(wp_group_close(group, 0, true, count_back, &back) == WP_TIMEOUT, "a holder");
	wp_store_release(&lets_go, 1);
	check(wp_group_close(group, patience(), true, count_back, &back) == WP_OK, "the close");
	wp_vthread_free(holder);
	wp_group_free(group);
	check(back + wp_load_relaxed(&met) == MANY, "a moved task");
}

/* An OS thread starts many tasks, while two of three carriers are held: some are for the third. */
CASE(spread)
{
	wp_vthread_config config = {.run = counts_run, .carrier = WP_VTHREAD_HERE};
	wp_vthread *holders[2];
	uint64_t third;

	open_placed((wp_group_config){.carriers = 3, .placement = WP_PLACE_TWO_CHOICES});
	for (int each = 0; each < 2; each++)
		holders[each] = hold(each, false);
	for (int each = 0; each < MANY; each++)
		wp_vthread_free(start_as(&config));
	third = wp_group_placement_counts(group, 2).home +
		wp_group_placement_counts(group, 2).other;
	check(third > 0, "a choice of the third");
	wp_store_release(&lets_go, 1);
	join_all(holders, 2, "a holder");
	close_placed();
}
