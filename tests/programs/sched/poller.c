/* SPDX-License-Identifier: Apache-2.0
 * poller.c CASE [step] - tasks on a carrier with a poller. Prints what is lost. */
#include "poller_case.h"

enum { CALLS = 2000 };

/* From outside, one by one: each finds the carrier asleep in its poller, or awake. */
static void work_from_outside(struct one *one)
{
	for (int call = 0; call < CALLS; call++)
		join(start_on(0, takes_a_turn, NULL), "work for a carrier in its poller");
	check(wp_load_relaxed(&one->wakeups) <= wp_load_relaxed(&one->looks),
	      "that a sleep takes one wakeup at most");
}

CASE(blocking)
{
	struct one one = {.has_io = true};

	open_group(1, false, 0);
	open_poller(&one, 0);
	await(&one.blocks, 1);
	work_from_outside(&one);
	check(wp_load_relaxed(&one.wakeups) > 0, "that it was ever asleep");
	close_all(&one, 1);
}

/* It is descheduled between try_park and its system call, each time. */
CASE(descheduled)
{
	struct one one = {.has_io = true, .steps_aside = true};

	open_group(1, false, 0);
	open_poller(&one, 0);
	await(&one.aside, 1);
	for (int call = 0; call < 200; call++)
		join(start_on(0, takes_a_turn, NULL), "work while the poller is descheduled");
	/* It may have been descheduled once for all of these. */
	await(&one.aside, wp_load_acquire(&one.aside) + 3);
	check(wp_load_relaxed(&one.unasked) == 0, "that its park is over when it comes back");
	close_all(&one, 1);
}

/* It never reports that it is back; the next call finds that. */
CASE(forgets)
{
	struct one one = {.has_io = true, .leaves = true};

	open_group(1, false, 0);
	open_poller(&one, 0);
	work_from_outside(&one);
	close_all(&one, 1);
}

/* It waits as any virtual thread, and its carrier sleeps by itself. */
static int waits(void *arg)
{
	struct one *one = arg;

	while (wp_poller_maybe_yield(true) != WP_CLOSED) {
		wp_fetch_add_release(&one->looks, 1);
		if (wp_vthread_park_until(patience()) == WP_TIMEOUT)
			lost("the unpark of a poller");
	}
	return one->result;
}

CASE(parking)
{
	struct one one = {.spins = true};
	wp_poller_config config = {.name = "poller", .run = waits, .wakeup = wake, .arg = &one};

	open_group(1, false, 0);
	check(wp_poller_register(group, 0, &config, &one.thread) == WP_OK, "a poller");
	for (uint32_t call = 1; call < 200; call++) {
		await(&one.looks, call);
		wp_vthread_unpark(one.thread);
		join(start_on(0, takes_a_turn, NULL), "work beside a poller that parks");
	}
	close_all(&one, 1);
}

/* The tasks that a task starts on its own carrier wake no thread. */
static int starts_many(void *arg)
{
	for (int call = 0; call < CALLS; call++)
		join(start_on(0, takes_a_turn, NULL), "work of the same carrier");
	return 0;
}

CASE(saves_wakeups)
{
	struct one one = {.has_io = true};
	uint32_t before;

	open_group(1, false, 0);
	open_poller(&one, 0);
	await(&one.blocks, 1);
	before = wp_load_acquire(&one.wakeups);
	join(start_on(0, starts_many, NULL), "work of the same carrier");
	check(wp_load_acquire(&one.wakeups) - before <= 2, "that the same carrier needs no wakeup");
	close_all(&one, 1);
}

/* A timer of the carrier ends a sleep in the system, whichever thread arms it. */
static int sleeps(void *arg)
{
	return wp_vthread_sleep_until(in_ms(20));
}

CASE(timers)
{
	struct one one = {.has_io = true};

	open_group(1, false, 0);
	open_poller(&one, 0);
	for (int turn = 0; turn < 10; turn++) {
		int64_t begin_ns = wp_clock_ns();

		check(join(start_on(0, sleeps, NULL), "a sleep") == WP_OK, "a sleep");
		check(wp_clock_ns() - begin_ns >= 20 * MS, "that it sleeps so long");
	}
	close_all(&one, 1);
}

/* It resumes a thread of its carrier when it has parked that; no other wake comes. */
static int resumed(void *arg)
{
	for (int turn = 0; turn < 50; turn++)
		if (wp_vthread_park_until(patience()) != WP_OK)
			lost("whom the poller itself resumes");
	return 0;
}

static void resumes(uint32_t carriers, bool stealing)
{
	/* Pinned: on another carrier it might run while the poller blocks, and wait for it in
	 * vain. */
	wp_vthread_config config = {.name = "resumed", .run = resumed, .is_pinned = true};
	struct one one = {.has_io = true};
	int failure;

	open_group(carriers, stealing, 0);
	one.resumes = start_as(&config);
	open_poller(&one, 0);
	check(wp_vthread_join(one.resumes, patience(), &failure) == WP_OK,
	      "the end of whom the poller resumes");
	check(wp_group_close(group, patience(), false, NULL, NULL) == WP_OK, "the close");
	close_poller(&one);
	wp_vthread_free(one.resumes);
	wp_group_free(group);
}

CASE(resumes)
{
	resumes(1, false);
	resumes(2, true);
}
