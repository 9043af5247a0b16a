/* SPDX-License-Identifier: Apache-2.0
 * group_placement_resume.c CASE - groups that place a task where it goes on. Prints what is lost.
 *
 * Why it works  A holder occupies carrier 0 until main releases it. A thread that was parked there
 *               goes on at carrier 1, or not before. */
#include "group_placement_case.h"
#include "../../case_main.h"

static wp_atomic(uint32_t) ran_home, ended;

static void open_resuming(bool at_dequeue)
{
	open_placed((wp_group_config){.carriers = 2,
				      .placement = WP_PLACE_LEAST_LOADED,
				      .load_at_dequeue = at_dequeue,
				      .place_at_resume = true});
	wp_store_relaxed(&ended, 0);
}

static int parks_once_here(void *arg)
{
	parks_once(arg);
	wp_store_relaxed(&ran_home, (uint32_t)wp_group_home(group));
	wp_store_release(&ended, 1);
	return 0;
}

/* Carrier 0 has more than carrier 1 may have; its load is counted in each form. */
static wp_vthread *load_first(wp_vthread *fillers[2])
{
	wp_vthread_config fill = {.run = nothing, .is_pinned = true};
	wp_vthread *holder = hold(0, false);

	for (int each = 0; each < 2; each++)
		fillers[each] = start_as(&fill);
	return holder;
}

static void let_go(wp_vthread *holder, wp_vthread *fillers[2])
{
	let_go_of(holder);
	join_all(fillers, 2, "who waited");
}

/* It goes on where the load is lower, and that is its new home. */
CASE(resumed)
{
	for (int form = 0; form < 2; form++) {
		wp_vthread_config config = {.run = parks_once_here};
		wp_vthread *sleeper, *holder, *fillers[2];

		open_resuming(form == 1);
		sleeper = start_as(&config);
		await_parked(sleeper);
		holder = load_first(fillers);
		wp_vthread_unpark(sleeper);
		join(sleeper, "who was parked");
		check(wp_load_relaxed(&ran_on) == 1, "that the lesser is chosen");
		check(wp_load_relaxed(&ran_home) == 1, "that it is its home");
		check(wp_group_placement_counts(group, 1).other == 1, "that it is told");
		let_go(holder, fillers);
		close_placed();
	}
}

/* A pinned thread goes on at home. */
CASE(pinned)
{
	wp_vthread_config config = {.run = parks_once_here, .is_pinned = true};
	wp_vthread *sleeper, *holder, *fillers[2];

	open_resuming(false);
	sleeper = start_as(&config);
	await_parked(sleeper);
	holder = load_first(fillers);
	wp_vthread_unpark(sleeper);
	check(wp_load_acquire(&ended) == 0, "that it waits for its carrier");
	let_go(holder, fillers);
	join(sleeper, "who was parked");
	check(wp_load_relaxed(&ran_on) == 0, "that it goes on at home");
	close_placed();
}

/* A timer resumes it; its carrier has another one all the time. */
static int yields(void *arg)
{
	while (wp_load_acquire(&ended) == 0)
		wp_vthread_yield();
	return 0;
}

static int sleeps_once(void *arg)
{
	wp_vthread_sleep_until(in_ms(1));
	notes_carrier(arg);
	wp_store_release(&ended, 1);
	return 0;
}

CASE(timer)
{
	wp_vthread_config config = {.run = sleeps_once};
	wp_vthread *busy[3], *sleeper;

	open_resuming(false);
	config.run = yields;
	for (int each = 0; each < 3; each++)
		busy[each] = start_as(&config);
	config.run = sleeps_once;
	sleeper = start_as(&config);
	join(sleeper, "who slept");
	check(wp_load_relaxed(&ran_on) == 1, "that the lesser is chosen");
	join_all(busy, 3, "who yields");
	close_placed();
}

/* A plain task is listed where it started, and leaves the list when it has ended. */
static wp_atomic(uint32_t) steps;

static enum wp_step park_step(wp_task *task)
{
	wp_store_relaxed(&ran_on, (uint32_t)wp_group_running(group));
	return wp_fetch_add_release(&steps, 1) == 0 ? WP_STEP_PARK : WP_STEP_DONE;
}

CASE(task)
{
	wp_vthread *holder, *fillers[2];
	wp_task task, other;

	open_resuming(false);
	wp_store_relaxed(&steps, 0);
	wp_task_init(&task, park_step, NULL);
	check(wp_group_start(group, 0, &task) == WP_OK, "a task");
	await(&steps, 1);
	await_unloaded(0);
	holder = load_first(fillers);
	wp_task_unpark(&task);
	await_done(&task);
	check(wp_load_relaxed(&ran_on) == 1, "that the lesser is chosen");
	check(wp_carrier_tasks_count(&group->workers[1].home) == 0, "that it was on no other list");
	wp_task_init(&other, park_step, NULL);
	check(wp_group_start(group, 1, &other) == WP_OK, "a task of the second");
	await_done(&other);
	check(wp_carrier_tasks_count(&group->workers[1].home) == 0, "that it is off its list");
	let_go(holder, fillers);
	close_placed();
}

/* Tasks that were queued on another carrier than the one that lists them run once or are handed
 * back, not both. */
static enum wp_step park_or_end(wp_task *task)
{
	if (task->name == NULL) {
		wp_fetch_add_relaxed(&met, 1);
		return WP_STEP_DONE;
	}
	task->name = NULL;
	wp_fetch_add_release(&steps, 1);
	return WP_STEP_PARK;
}

CASE(closed)
{
	static wp_task tasks[MANY];
	wp_vthread *holders[2];
	uint32_t back = 0;

	open_resuming(false);
	wp_store_relaxed(&steps, 0);
	for (int each = 0; each < MANY; each++) {
		wp_task_init(&tasks[each], park_or_end, "one");
		check(wp_group_start(group, 0, &tasks[each]) == WP_OK, "a task");
	}
	await(&steps, MANY);
	await_unloaded(0);
	for (int each = 0; each < 2; each++)
		holders[each] = hold(each, false);
	for (int each = 0; each < MANY; each++)
		wp_task_unpark(&tasks[each]);
	check(load_of(0) == load_of(1), "that both carriers are chosen");
	check(wp_group_close(group, 0, true, count_back, &back) == WP_TIMEOUT, "holders");
	wp_store_release(&lets_go, 1);
	check(wp_group_close(group, patience(), true, count_back, &back) == WP_OK, "the close");
	for (int each = 0; each < 2; each++)
		wp_vthread_free(holders[each]);
	wp_group_free(group);
	check(back + wp_load_relaxed(&met) == MANY, "a task");
}
