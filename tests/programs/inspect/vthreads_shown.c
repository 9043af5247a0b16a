/* SPDX-License-Identifier: Apache-2.0
 * vthreads_shown.c CASE - virtual threads for a debugger: three are parked, two calls deep, one
 * blocks the carrier, one has ended and one was not started. */
#include "../vthreads_case.h"
#include "../case_main.h"

/* A debugger stops here. */
static __attribute__((noinline)) void await_link(void)
{
	__asm__ __volatile__("");
}

static __attribute__((noinline)) int parks_deep(void)
{
	return wp_vthread_park_until(WP_FOREVER) + (int)wp_fetch_add_relaxed(&count, 0);
}

static int links(void *arg)
{
	wp_fetch_add_relaxed(&ready, 1);
	return parks_deep() + (arg != NULL);
}

static int blocks(void *arg)
{
	wp_vthread_pin();
	return parked(arg);
}

CASE(parked)
{
	static const char *const names[] = {"link-0", "link-1", "link-2"};
	wp_vthread_config unstarted = {.name = "not there", .run = nothing};
	int64_t long_ms = PATIENCE_S * 1000;
	wp_vthread *threads[3], *pinned, *ended, *other;
	int failure;

	open_group(1, false, 0);
	for (int at = 0; at < 3; at++)
		threads[at] = start_as(&(wp_vthread_config){.name = names[at], .run = links});
	await(&ready, 3);
	ended = start(nothing, NULL);
	check(wp_vthread_join(ended, in_ms(long_ms), &failure) == WP_OK, "a thread behind them");
	check(wp_vthread_new(group, &unstarted, &other) == WP_OK, "a thread that does not start");
	pinned = start(blocks, &long_ms);
	while (!(wp_load_acquire(&pinned->task.word) & WP_VTHREAD_PINNED))
		wp_yield();
	await_link();
	wp_vthread_unpark(pinned);
	check(join(pinned, "a thread that blocks its carrier") == WP_OK, "its wake");
	for (int at = 0; at < 3; at++) {
		wp_vthread_unpark(threads[at]);
		join(threads[at], "a thread that was shown");
	}
	wp_vthread_free(ended);
	wp_vthread_free(other);
	close_group();
}
