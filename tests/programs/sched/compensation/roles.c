/* SPDX-License-Identifier: Apache-2.0
 * roles.c CASE - the role of a carrier returns to the thread that was pinned: the task for which
 * the carrier was woken, the name of the thread that it runs, and its stop. Prints what is lost. */
#include <signal.h>

#include "../../vthreads_case.h"
#include "../../case_main.h"
#include "sched/worker.h"

enum { PINNERS = 8, SPARES = 4, LONG_US = 10 * 60000000 /* turns outlast the test */ };

static void open_with(uint32_t carriers, uint32_t spares, void (*bind)(void *, uint32_t))
{
	open_as((wp_group_config){.carriers = carriers,
				  .yield_us = LONG_US,
				  .spares = spares,
				  .work_stealing = carriers > 1,
				  .bind = bind});
}

/* A spare is asked for the role before it takes the task for which it was woken; another one takes
 * it. */
static pthread_t carries; /* carrier 0 */
static wp_atomic(uint32_t) is_stuck, goes_on;

static void note_carrier(void *arg, uint32_t index)
{
	if (index != 0)
		return;
	carries = pthread_self();
	wp_fetch_add_release(&count, 1);
}

static void stick(int signal)
{
	wp_store_release(&is_stuck, 1);
	while (wp_load_acquire(&goes_on) == 0)
		continue;
}

static int does_not_end(void *arg)
{
	wp_vthread_pin();
	wp_vthread_park_until(WP_FOREVER);
	wp_vthread_unpin();
	await(&ready, 1);
	return 0;
}

static int is_taken(void *arg)
{
	wp_store_release(&ready, 1);
	return 0;
}

static void await_asleep(uint32_t index)
{
	while (wp_load_acquire(&group->workers[index].home.carrier.word) != WP_PARKED_FUTEX)
		wp_yield();
}

CASE(handed)
{
	wp_vthread_config pinned = {.run = does_not_end, .is_pinned = true};
	wp_vthread_config queued = {.run = is_taken};
	wp_vthread *holder, *one;

	open_with(2, 1, note_carrier);
	holder = start_as(&pinned);
	await(&count, 2); /* the spare carries */
	await_asleep(0);
	await_asleep(1);
	signal(SIGUSR1, stick);
	pthread_kill(carries, SIGUSR1);
	await(&is_stuck, 1);
	one = start_as(&queued); /* wakes the spare, and leaves */
	wp_vthread_unpark(holder);
	while (wp_timers_earliest(&group->workers[0].home.timers) == WP_FOREVER)
		wp_yield(); /* until it asks for its role */
	wp_store_release(&goes_on, 1);
	join(one, "what a carrier was woken for, and left");
	join(holder, "who got the role");
	close_group();
}

/* A scheduler's task mounts a thread, which is pinned and parks. The carrier still runs that
 * task. */
static enum wp_step mounts(wp_task *task)
{
	int carrier = wp_group_running(group);

	check(wp_vthread_run(given) == WP_OK, "a run by a scheduler");
	check(wp_group_home(group) == 0, "whose task it runs");
	check(wp__worker_mounted(&group->workers[carrier]) == task, "what it runs");
	wp_store_release(&ready, 1);
	return WP_STEP_DONE;
}

static int pins(void *arg)
{
	int code;

	wp_vthread_pin();
	code = wp_vthread_park_until(in_ms(5));
	wp_vthread_unpin();
	return arg == NULL ? code : 0;
}

static int settles(void *arg)
{
	return arg == NULL ? wp_vthread_settle() : 0;
}

/* The thread belongs to its scheduler, not to the carrier that runs it. */
CASE(settled)
{
	static wp_task task;
	wp_vthread_config config = {.run = settles, .scheduler = &keeping};
	wp_vthread *thread;

	open_with(2, 0, NULL);
	thread = start_as(&config);
	wp_task_init(&task, mounts, NULL);
	wp_group_start(group, 0, &task);
	await(&ready, 1);
	check(join(thread, "what was mounted") == WP_FORBIDDEN, "that it does not settle");
	close_group();
}

CASE(mounted)
{
	static wp_task task;
	wp_vthread_config config = {.run = pins, .carrier = 1, .scheduler = &keeping};
	wp_vthread *thread;

	open_with(2, 1, NULL);
	thread = start_as(&config);
	wp_task_init(&task, mounts, NULL);
	wp_group_start(group, 0, &task);
	await(&ready, 1);
	check(join(thread, "what was mounted") == WP_TIMEOUT, "its park");
	close_group();
}

/* A spare that always has something to run gives up the role all the same. */
CASE(asked)
{
	wp_vthread *thread, *busy;

	open_with(1, 1, NULL);
	busy = start(yields_until_ready, NULL);
	thread = start(pins, NULL);
	check(join(thread, "its role") == WP_TIMEOUT, "its park");
	wp_store_release(&ready, 1);
	join(busy, "what a spare runs");
	close_group();
}

static int goes_before(void *arg)
{
	await(&goes_on, 1);
	return arg != NULL;
}

/* While its role was lent, its carrier ran a thread with another home. It is known which task goes
 * on. */
static int stays_home(void *arg)
{
	wp_vthread_pin();
	wp_vthread_park_until(WP_FOREVER);
	check(wp_group_home(group) == 0, "whose task goes on");
	wp_vthread_unpin();
	return arg != NULL;
}

static int is_stolen(void *arg)
{
	check(wp_group_running(group) == 0 && wp_group_home(group) == 1, "a task of another's");
	return arg != NULL;
}

CASE(home)
{
	wp_vthread_config pinned = {.run = stays_home, .is_pinned = true};
	wp_vthread_config holding = {.run = goes_before, .is_pinned = true, .carrier = 1};
	wp_vthread_config away = {.run = is_stolen, .carrier = 1};
	wp_vthread *holder, *one;

	open_with(2, 1, NULL);
	one = start_as(&pinned);
	while (wp_group_counts(group, 0).pinned != 1)
		wp_yield();
	holder = start_as(&holding);
	while (wp__worker_mounted(&group->workers[1]) == NULL)
		wp_yield();
	join(start_as(&away), "who is stolen");
	wp_vthread_unpark(one);
	join(one, "who was pinned");
	wp_store_release(&goes_on, 1);
	join(holder, "the holder");
	close_group();
}

/* A spare has a thread to which another one has yielded, and which no thief can take, and is asked
 * for the role. That thread runs first. The spare is asked in the turn after which it looks, one of
 * LOOK. */
enum { LOOK = 16 };

static wp_vthread *asker, *next;

static int asks(void *arg)
{
	wp_vthread_unpark(asker);
	while (wp_timers_earliest(&group->workers[0].home.timers) == WP_FOREVER)
		wp_yield(); /* until it asks for its role */
	check(wp_vthread_submit_and_yield(next) == WP_OK, "a start");
	return arg != NULL;
}

static void kept(int before)
{
	wp_vthread_config pinned = {.run = does_not_end, .is_pinned = true},
			  queued = {.run = is_taken};
	wp_vthread *first[LOOK], *one;

	wp_store_relaxed(&ready, 0);
	wp_store_relaxed(&goes_on, 0);
	open_as((wp_group_config){.carriers = 1,
				  .yield_us = LONG_US,
				  .spares = 1,
				  .bounded = true,
				  .work_stealing = true});
	asker = start_as(&pinned);
	while (wp_group_counts(group, 0).pinned != 1)
		wp_yield();
	next = new_as(&queued);
	for (int at = 0; at <= before; at++)
		first[at] = start(goes_before, NULL);
	one = start(asks, NULL);
	wp_store_release(&goes_on, 1);
	join(asker, "who was yielded to, and who got the role");
	join(next, "who was yielded to");
	join(one, "who has yielded");
	for (int at = 0; at <= before; at++)
		join(first[at], "who was there before");
	close_group();
}

CASE(kept)
{
	for (int before = 0; before < LOOK; before++)
		kept(before);
}

/* Threads pin in turn, for ever. After a carrier has read its stop, it runs none of them again. */
static int pins_again(void *arg)
{
	while (arg == NULL) {
		wp_vthread_pin();
		wp_vthread_park_until(wp_clock_ns() + 50000);
		wp_vthread_unpin();
		wp_vthread_yield();
	}
	return 0;
}

CASE(stop)
{
	for (uint32_t carriers = 1; carriers <= 2; carriers++) {
		open_with(carriers, SPARES, NULL);
		for (int at = 0; at < PINNERS; at++)
			start(pins_again, NULL);
		while (wp_group_counts(group, 0).pinned < PINNERS)
			wp_yield();
		if (wp_group_close(group, patience(), true, NULL, NULL) != WP_OK)
			lost("the close");
		wp_group_free(group);
	}
}
