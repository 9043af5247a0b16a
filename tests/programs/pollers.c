/* SPDX-License-Identifier: Apache-2.0
 * pollers.c CASE - pollers of carriers: what they run, whom they steal from, how they end. Prints what
 * is lost.
 *
 * Why it works  A poller here sleeps at an eventfd of its own, which its wakeup signals; each of its
 *               steps is counted. `turns` is plain: what one carrier runs takes turns at its own. */
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "poller.h"
#include "vthreads_case.h"
#include "worker.h"

enum { CALLS = 2000 };

/* One poller. blocks: inside its system call. */
struct one {
	int event;
	uint32_t carrier;
	bool has_io, leaves, steps_aside, spins;
	int result;
	wp_atomic(uint32_t) told; /* to end */
	wp_atomic(uint32_t) looks, blocks, wakeups, aside, unasked;
	wp_vthread *thread;
};

static uint64_t turns[2];

static void wake(void *arg)
{
	struct one *one = arg;

	wp_fetch_add_relaxed(&one->wakeups, 1);
	if (!one->spins && eventfd_write(one->event, 1) != 0)
		lost("a wakeup");
}

static void block(struct one *one)
{
	int64_t until_ns = wp_poller_until(), now_ns = wp_clock_ns();
	int ms = until_ns == WP_FOREVER ? PATIENCE_S * 1000
					: (int)((until_ns > now_ns ? until_ns - now_ns : 0) / MS + 1);
	eventfd_t signals;

	if (!wp_poller_can_park())
		return;
	wp_fetch_add_release(&one->blocks, 1);
	if (poll(&(struct pollfd){one->event, POLLIN, 0}, 1, ms) == 1)
		eventfd_read(one->event, &signals);
	else if (until_ns == WP_FOREVER)
		lost("the wakeup of a poller that blocks");
}

static int polls(void *arg)
{
	struct one *one = arg;

	while (wp_load_acquire(&one->told) == 0) {
		int code = wp_poller_maybe_yield(one->has_io);

		turns[one->carrier]++;
		wp_fetch_add_release(&one->looks, 1);
		if (code == WP_CLOSED)
			break;
		if (one->spins || wp_poller_try_park() != WP_OK)
			continue;
		if (one->steps_aside) { /* descheduled: the others run */
			wp_fetch_add_release(&one->aside, 1);
			wp_vthread_park_until(in_ms(1));
			if (wp_poller_can_park())
				wp_fetch_add_relaxed(&one->unasked, 1);
		} else {
			block(one);
		}
		if (!one->leaves)
			check(wp_poller_unpark() == WP_OK, "an unpark of the carrier");
	}
	return one->result;
}

static void open_poller(struct one *one, uint32_t carrier)
{
	wp_poller_config config = {.name = "poller", .run = polls, .wakeup = wake, .arg = one};

	one->carrier = carrier;
	one->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	check(wp_poller_register(group, carrier, &config, &one->thread) == WP_OK, "a poller");
}

/* After the group's close, which has ended it. */
static void close_poller(struct one *one)
{
	check(join(one->thread, "the end of a poller") == one->result, "how a poller failed");
	close(one->event);
}

static void close_all(struct one *ones, uint32_t many)
{
	check(wp_group_close(group, in_ms(PATIENCE_S * 1000), false, NULL, NULL) == WP_OK,
	      "the close");
	for (uint32_t at = 0; at < many; at++)
		close_poller(&ones[at]);
	wp_group_free(group);
}

static int takes_a_turn(void *arg)
{
	(void)arg;
	turns[0]++;
	return 0;
}

static wp_vthread *start_on(int carrier, int (*run)(void *), void *arg)
{
	wp_vthread_config config = {.name = "one", .run = run, .arg = arg, .carrier = carrier};

	return start_as(&config);
}

/* From outside, one by one: each finds the carrier asleep in its poller, or awake. */
static void work_from_outside(struct one *one)
{
	for (int call = 0; call < CALLS; call++)
		join(start_on(0, takes_a_turn, NULL), "work for a carrier in its poller");
	check(wp_load_relaxed(&one->wakeups) <= wp_load_relaxed(&one->looks),
	      "that a sleep takes one wakeup at most");
}

static void case_blocking(void)
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
static void case_descheduled(void)
{
	struct one one = {.has_io = true, .steps_aside = true};

	open_group(1, false, 0);
	open_poller(&one, 0);
	await(&one.aside, 1);
	for (int call = 0; call < 200; call++)
		join(start_on(0, takes_a_turn, NULL), "work while the poller is descheduled");
	check(wp_load_relaxed(&one.unasked) == 0, "that its park is over when it comes back");
	close_all(&one, 1);
}

/* It never says that it is back: the next call says it. */
static void case_forgets(void)
{
	struct one one = {.has_io = true, .leaves = true};

	open_group(1, false, 0);
	open_poller(&one, 0);
	work_from_outside(&one);
	close_all(&one, 1);
}

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

/* Carrier 0 is in a long task, with another one behind it that ends it: carrier 1, asleep in its
 * poller, is sent to help. */
static void case_helps(void)
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

/* Pollers that spin: one with input steals nothing by itself; one without does. */
static void case_spinning(void)
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

/* It waits as any virtual thread, and its carrier sleeps by itself. */
static int waits(void *arg)
{
	struct one *one = arg;

	while (wp_poller_maybe_yield(true) != WP_CLOSED) {
		wp_fetch_add_release(&one->looks, 1);
		if (wp_vthread_park_until(in_ms(PATIENCE_S * 1000)) == WP_TIMEOUT)
			lost("the unpark of a poller");
	}
	return one->result;
}

static void case_parking(void)
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

/* What a task starts on its own carrier wakes nobody. */
static int starts_many(void *arg)
{
	(void)arg;
	for (int call = 0; call < CALLS; call++)
		join(start_on(0, takes_a_turn, NULL), "work of the same carrier");
	return 0;
}

static void case_saves_wakeups(void)
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

/* A sleep in the system ends for a timer of the carrier, whoever arms it. */
static int sleeps(void *arg)
{
	(void)arg;
	return wp_vthread_sleep_until(in_ms(20));
}

static void case_timers(void)
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

/* A second one is refused; the slot is free again when the first has ended, failed or not. */
static void case_unique(void)
{
	struct one one = {.has_io = true, .spins = true, .result = 7}, two = {0};
	wp_poller_config config = {.run = polls, .wakeup = wake, .arg = &two};

	open_group(1, false, 0);
	for (int turn = 0; turn < 50; turn++) {
		open_poller(&one, 0);
		if (wp_poller_register(group, 0, &config, &two.thread) == WP_OK)
			lost("that a carrier has one poller");
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
static void case_blockers(void)
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
	open_poller(&ones[1], 1);
	close_all(ones, 2);
}

int main(int argc, char **argv)
{
	static const one_case cases[] = {
		{"blocking", case_blocking}, {"descheduled", case_descheduled},
		{"forgets", case_forgets}, {"helps", case_helps}, {"spinning", case_spinning},
		{"parking", case_parking}, {"saves_wakeups", case_saves_wakeups},
		{"timers", case_timers}, {"unique", case_unique}, {"blockers", case_blockers}};

	return run_case(argc, argv, cases, sizeof(cases) / sizeof(*cases));
}
