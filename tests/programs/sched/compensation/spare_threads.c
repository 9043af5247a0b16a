/* SPDX-License-Identifier: Apache-2.0
 * spare_threads.c CASE - spare OS threads that carry on while pinned parks block a carrier. Prints
 * what is lost.
 *
 * Why it works  `turns` is plain. The threads of one carrier take turns at it, on whatever OS
 *               thread they run. So two OS threads that carry at once are a race, and lose an
 *               increment. */
#include "../../vthreads_case.h"
#include "../../case_main.h"

enum { PINNERS = 6, TURNS = 200 };

static uint64_t turns;
static wp_vthread *pinners[PINNERS];
static wp_atomic(uint32_t) ended;

static void open_with(uint32_t carriers, uint32_t spares)
{
	open_as((wp_group_config){
		.carriers = carriers, .spares = spares, .work_stealing = carriers > 1});
}

static int pins(void *arg)
{
	int code;

	wp_vthread_pin();
	wp_fetch_add_release(&count, 1);
	code = wp_vthread_park_until(in_ms(*(int64_t *)arg));
	wp_vthread_unpin();
	turns++;
	return code;
}

static int unparks(void *arg)
{
	turns++;
	wp_vthread_unpark(arg);
	return 0;
}

/* One carrier: the thread that unparks the blocking one is queued there. */
CASE(compensated)
{
	int64_t long_ms = PATIENCE_S * 1000;
	wp_vthread *blocked;

	open_with(1, 1);
	for (int turn = 0; turn < TURNS; turn++) {
		wp_store_release(&count, 0);
		blocked = start(pins, &long_ms);
		await(&count, 1);
		join(start(unparks, blocked), "who is queued behind a pinned park");
		check(join(blocked, "a pinned park") == WP_OK, "its unpark");
	}
	check(turns == 2 * TURNS, "a turn: two carried at once");
	close_group();
}

/* Without a spare, no other thread runs. */
CASE(alone)
{
	int64_t some_ms = 100;
	wp_vthread *blocked;

	open_with(1, 0);
	blocked = start(pins, &some_ms);
	await(&count, 1);
	join(start(unparks, blocked), "who waits for a carrier");
	check(join(blocked, "a pinned park") == WP_TIMEOUT, "that it had no spare");
	close_group();
}

/* All pin, and wake one another, with as many spares, or too few. */
static int passes(void *arg)
{
	uint32_t at = (uint32_t)(uintptr_t)arg;

	for (int turn = 0; turn < TURNS; turn++) {
		if ((turn + (int)at) % 3 != 0)
			wp_vthread_pin();
		turns++;
		wp_vthread_unpark(pinners[(at + 1) % PINNERS]);
		wp_vthread_park_until(wp_clock_ns() + 200000);
		turns++;
		if ((turn + (int)at) % 3 != 0)
			wp_vthread_unpin();
		else
			wp_vthread_yield();
	}
	wp_fetch_add_release(&ended, 1);
	while (wp_load_acquire(&ended) < PINNERS)
		wp_vthread_yield(); /* they may still be unparked */
	return 0;
}

static void pass_around(uint32_t spares)
{
	turns = 0;
	wp_store_release(&ended, 0);
	open_with(1, spares);
	for (uintptr_t at = 0; at < PINNERS; at++) {
		wp_vthread_config config = {.run = passes, .arg = (void *)at};

		pinners[at] = new_as(&config);
	}
	for (int at = 0; at < PINNERS; at++)
		wp_vthread_start(pinners[at]);
	join_all(pinners, PINNERS, "a pinned park among others");
	check(turns == 2ull * PINNERS * TURNS, "a turn: two carried at once");
	close_group();
}

CASE(many)
{
	pass_around(PINNERS);
	pass_around(2);
}

/* The group is stopped while one of its threads blocks. It ends with that thread. */
CASE(stopped)
{
	int64_t some_ms = 200;
	wp_vthread *blocked;

	open_with(2, 2);
	blocked = start(pins, &some_ms);
	await(&count, 1);
	check(wp_group_close(group, patience(), true, NULL, NULL) == WP_OK, "the close");
	check(turns == 1, "that it waits for what is blocked");
	(void)blocked;
	wp_group_free(group);
}

/* Stack overflows are reported on spares as well. */
static __attribute__((noinline)) uint64_t deep(uint64_t n)
{
	volatile uint64_t here[64] = {n};

	return n == 0 ? here[0] : deep(n + 1) + here[1];
}

static int overflows(void *arg)
{
	return (int)deep(1);
}

CASE(overflow)
{
	int64_t long_ms = PATIENCE_S * 1000;

	open_with(1, 1);
	start(pins, &long_ms);
	await(&count, 1);
	join(start(overflows, NULL), "a crash");
}
