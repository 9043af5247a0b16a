/* SPDX-License-Identifier: Apache-2.0
 * passed.c CASE - what follows when a thread leaves its stack by passing to the next one: the same as
 * by way of the loop. Prints what is lost. */
#include "vthreads_case.h"

/* Two on one carrier: the first passes to the second. */
static wp_vthread *first, *second;

static int yields(void *arg)
{
	while (wp_load_acquire(&ready) == 0)
		wp_vthread_yield();
	return arg != NULL;
}

static void make_two(int (*run)(void *), void (*left)(wp_vthread *thread))
{
	wp_vthread_config config = {.name = "one", .run = run, .left = left};

	open_group(1, false, 0);
	check(wp_vthread_new(group, &config, &first) == WP_OK, "a thread");
	config = (wp_vthread_config){.run = yields};
	check(wp_vthread_new(group, &config, &second) == WP_OK, "a thread");
}

static int starts_two(void *arg)
{
	wp_vthread_start(first);
	wp_vthread_start(second);
	return arg != NULL;
}

static void run_two(void)
{
	join(start(starts_two, NULL), "who starts them");
	join(first, "who passes");
	join(second, "who goes on");
	close_group();
}

/* Whoever goes on is not who is told that the first has ended. */
static void is_left(wp_vthread *thread)
{
	static const wp_local key = {NULL};

	check(thread == first && wp_vthread_current() == NULL, "that it is called by no thread");
	check(wp_local_set(&key, &count) == WP_FORBIDDEN, "that there are no locals");
	wp_store_release(&ready, 1);
}

static void case_left(void)
{
	make_two(nothing, is_left);
	run_two();
	check(wp_load_acquire(&ready) == 1, "that it is told");
}

int main(int argc, char **argv)
{
	static const one_case cases[] = {{"left", case_left}};

	return run_case(argc, argv, cases, sizeof(cases) / sizeof(*cases));
}
