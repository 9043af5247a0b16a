/* SPDX-License-Identifier: Apache-2.0
 * poller_two.c CASE [step] - two carriers with pollers, and two pollers of one carrier. Prints what
 * is lost. */
#include "io/descriptor.h"
#include "poller_case.h"

static int long_task(void *arg)
{
	while (wp_load_acquire((wp_atomic(uint32_t) *)arg) == 0)
		wp_yield();
	return 0;
}

static int answers(void *arg)
{
	wp_store_release((wp_atomic(uint32_t) *)arg, 1);
	return 0;
}

/* Carrier 0 is in a long task, and the task that ends it is queued behind it. Carrier 1, asleep in
 * its poller, is sent to help. */
CASE(helps)
{
	struct one one = {.has_io = true};

	open_group(2, true, 0);
	open_poller(&one, 1);
	for (int turn = 0; turn < 200; turn++) {
		wp_atomic(uint32_t) over;
		wp_vthread *first, *second;

		wp_init(&over, 0);
		first = start_on(0, long_task, &over);
		second = start_on(0, answers, &over);
		join(second, "work behind a long task, with a carrier in its poller");
		join(first, "a long task");
	}
	check(wp_group_counts(group, 1).directed + wp_group_counts(group, 1).recheck > 0,
	      "that it helped");
	close_all(&one, 1);
}

/* Pollers that spin: one with input steals nothing by itself; one without input does. */
CASE(spinning)
{
	struct one ones[2] = {{.spins = true, .has_io = true}, {.spins = true}};
	wp_atomic(uint32_t) over;
	wp_vthread *first, *second;

	open_group(2, true, 0);
	open_poller(&ones[0], 0);
	open_poller(&ones[1], 1);
	for (int turn = 0; turn < 50; turn++) {
		wp_init(&over, 0);
		first = start_on(0, long_task, &over);
		second = start_on(0, answers, &over);
		join(second, "work that a carrier that spins could steal");
		join(first, "a long task");
	}
	check(wp_group_counts(group, 0).probed == 0, "that who has input steals nothing");
	check(wp_group_counts(group, 1).probed > 0, "that who has none steals");
	check(wp_load_relaxed(&ones[1].wakeups) == 0, "that nobody counts on who spins");
	close_all(ones, 2);
}

/* A second poller is refused. The slot is free again when the first has ended, failed or not. */
CASE(unique)
{
	struct one one = {.has_io = true, .spins = true, .result = 7}, two = {0};
	wp_poller_config config = {.run = polls, .wakeup = wake, .arg = &two};

	open_group(1, false, 0);
	for (int turn = 0; turn < 50; turn++) {
		open_poller(&one, 0);
		if (wp_poller_register(group, 0, &config, &two.thread) == WP_OK)
			lost("that a carrier has one poller");
		check(wp_io_start(group, 0) == WP_FORBIDDEN, "that it is told apart from io's");
		wp_store_release(&one.told, 1);
		close_poller(&one);
		wp_store_release(&one.told, 0);
	}
	check(wp_poller_try_park() == WP_FORBIDDEN && wp_poller_maybe_yield(true) == WP_FORBIDDEN &&
		      wp_poller_unpark() == WP_FORBIDDEN && !wp_poller_can_park(),
	      "that another thread is refused");
	check(wp_group_close(group, WP_FOREVER, false, NULL, NULL) == WP_OK, "the close");
	check(wp_poller_register(group, 0, &config, &two.thread) == WP_CLOSED, "the close");
	wp_group_free(group);
}

/* Pollers that block without parking would leave no carrier. */
CASE(blockers)
{
	struct one ones[2] = {{.has_io = true}, {.has_io = true}};
	wp_poller_config config = {.run = polls, .wakeup = wake, .blocks = true, .arg = &ones[0]};

	open_group(1, false, 0);
	check(wp_poller_register(group, 0, &config, &ones[0].thread) == WP_FORBIDDEN,
	      "the last carrier");
	close_group();
	open_group(2, true, 0);
	ones[0].event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	check(wp_poller_register(group, 0, &config, &ones[0].thread) == WP_OK, "a blocker");
	check(wp_poller_register(group, 1, &config, &ones[1].thread) == WP_FORBIDDEN,
	      "the last carrier");
	check(wp_poller_blocking(group) == 1, "how many block");
	open_poller(&ones[1], 1);
	close_all(ones, 2);
}
