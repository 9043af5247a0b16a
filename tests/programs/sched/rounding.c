/* SPDX-License-Identifier: Apache-2.0
 * rounding.c CASE - threads that keep control words of floating point of their own, beside threads
 * that do not. Prints what is lost. */
#include <fenv.h>

#include "../vthreads_case.h"
#include "../case_main.h"

enum { TURNS = 50 };

/* x87 has a control word of its own. */
static bool rounds_as(int mode)
{
	volatile double third = 1.0, three = 3.0;
	volatile long double long_third = 1.0L, long_three = 3.0L;
	bool is_up = mode == FE_UPWARD;

	third /= three;
	long_third /= long_three;
	return fegetround() == mode && (third * 3 > 1.0) == is_up &&
	       (long_third * 3 > 1.0L) == is_up;
}

/* By the loop, by a switch to the next thread, and after a sleep. */
static void check_always(int mode, const char *what)
{
	for (int turn = 0; turn < TURNS; turn++) {
		check(rounds_as(mode), what);
		if (turn % 10 == 0)
			wp_vthread_sleep_until(wp_clock_ns() + 1000);
		else
			wp_vthread_yield();
	}
	check(rounds_as(mode), what);
}

static int rounds_up(void *arg)
{
	check(fegetround() == FE_DOWNWARD, "what its maker had set");
	fesetround(FE_UPWARD);
	check_always(FE_UPWARD, "the rounding of a thread that keeps it");
	return arg != NULL;
}

static int keeps_its_makers(void *arg)
{
	check_always(FE_DOWNWARD, "the rounding of the thread that made it");
	return arg != NULL;
}

static int keeps_none(void *arg)
{
	check_always(FE_TONEAREST, "the rounding of the OS thread");
	return arg != NULL;
}

static void run_all(uint32_t carriers)
{
	static int (*const runs[])(void *) = {rounds_up, keeps_its_makers, keeps_none};
	wp_vthread *threads[12];

	open_group(carriers, carriers > 1, 0);
	for (int at = 0; at < 12; at++) {
		int (*run)(void *) = runs[at % 3];
		wp_vthread_config config = {.run = run,
					    .carrier = at % (int)carriers,
					    .keeps_rounding = run != keeps_none};

		fesetround(FE_DOWNWARD);
		threads[at] = new_as(&config);
		fesetround(FE_TONEAREST);
	}
	for (int at = 0; at < 12; at++)
		check(wp_vthread_start(threads[at]) == WP_OK, "a start");
	join_all(threads, 12, "a thread");
	close_group();
}

CASE(one)
{
	run_all(1);
}

CASE(two)
{
	run_all(2);
}

static int changes(void *arg)
{
	fesetround(FE_UPWARD);
	if (arg != NULL)
		wp_vthread_yield();
	return 0;
}

/* A thread that keeps no words has changed them: they are put back when it ends. */
CASE(ended)
{
	wp_vthread *thread;

	open_group(1, false, 0);
	join(start(changes, NULL), "who changes the rounding");
	thread = start(keeps_none, NULL);
	join(thread, "who runs next");
	close_group();
}

/* A build for sanitizers names it. */
CASE(named)
{
	open_group(1, false, 0);
	join(start(changes, &group), "who changes the rounding");
	close_group();
}
