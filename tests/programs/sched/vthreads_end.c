/* SPDX-License-Identifier: Apache-2.0
 * vthreads_end.c CASE - virtual threads with stacks: joins, locals, closes, exhausted resources. */
#include "inspect/dump.h"
#include "../vthreads_case.h"
#include "../case_main.h"

/* Joined by virtual and OS threads. */
static wp_vthread *target;

static int joins(void *arg)
{
	int failure;

	check(wp_vthread_join(wp_vthread_current(), 0, &failure) == WP_FORBIDDEN, "a self-join");
	check(wp_vthread_join(target, in_ms(1), &failure) == WP_TIMEOUT, "a join's deadline");
	wp_fetch_add_relaxed(&count, 1);
	check(wp_vthread_join(target, WP_FOREVER, &failure) == WP_OK, "a join");
	return arg == NULL ? failure : 0;
}

static int waits_for_go(void *arg)
{
	static const wp_local key = {NULL};

	check(wp_local_set(&key, arg) == WP_OK, "a local");
	while (wp_vthread_park_until(WP_FOREVER) != WP_OK)
		continue;
	return 5;
}

static void *joins_outside(void *arg)
{
	int failure = 0;

	check(wp_vthread_join(target, WP_FOREVER, &failure) == WP_OK && failure == 5,
	      "a join from outside");
	return arg;
}

CASE(join)
{
	wp_vthread *joiners[20];
	pthread_t outside[3];

	open_group(2, true, 0);
	target = start(waits_for_go, NULL);
	for (int at = 0; at < 20; at++)
		joiners[at] = start(joins, NULL);
	for (int at = 0; at < 3; at++)
		pthread_create(&outside[at], NULL, joins_outside, NULL);
	await(&count, 20);
	wp_vthread_unpark(target);
	for (int at = 0; at < 20; at++)
		check(join(joiners[at], "a joiner") == 5, "what a joiner is told");
	for (int at = 0; at < 3; at++)
		pthread_join(outside[at], NULL);
	wp_vthread_free(target);
	close_group();
}

/* Threads that yield for ever, and others on their carrier, started from outside, and due. */
static int naps(void *arg)
{
	return wp_vthread_sleep_until(in_ms(2));
}

CASE(fair)
{
	wp_vthread *spinning[2];

	open_group(1, false, 0);
	for (int at = 0; at < 2; at++)
		spinning[at] = start(yields_until_ready, NULL);
	for (int at = 0; at < MANY; at++)
		join(start(nothing, NULL), "a turn beside two that yield");
	check(join(start(naps, NULL), "a timer beside two that yield") == WP_OK, "a sleep");
	wp_store_release(&ready, 1);
	join_all(spinning, 2, "one that yields");
	close_group();
}

static void fini(void *value)
{
	wp_fetch_add_relaxed((wp_atomic(uint32_t) *)value, 1);
}

static int uses_locals(void *arg)
{
	static const wp_local keys[6] = {{fini}, {fini}, {fini}, {fini}, {fini}, {NULL}};

	if (arg != NULL)
		return wp_local_set(&keys[0], &count);
	check(wp_local_get(&keys[0]) == NULL, "an empty local");
	for (int at = 0; at < 6; at++)
		check(wp_local_set(&keys[at], &count) == WP_OK, "a local");
	wp_vthread_yield();
	for (int at = 0; at < 6; at++)
		check(wp_local_get(&keys[at]) == &count, "its value");
	return 0;
}

CASE(locals)
{
	wp_vthread_config config = {.run = uses_locals, .arg = "none", .has_no_locals = true};

	open_group(2, true, 0);
	join(start(uses_locals, NULL), "a thread");
	check(wp_load_acquire(&count) == 5, "the ends of locals");
	check(join(start_as(&config), "a thread") == WP_FORBIDDEN, "that it has none");
	check(wp_local_set(NULL, NULL) == WP_FORBIDDEN, "that an OS thread has none");
	close_group();
}

/* The threads that a close hands back, by name; joining threads are woken. */
static void each(void *arg, wp_task *task, bool was_parked)
{
	const char *name = wp_vthread_name((wp_vthread *)(void *)task);

	(*(int *)arg)++;
	check(was_parked && name != NULL && strcmp(name, "one") == 0, "the name of one left");
}

CASE(close)
{
	int64_t long_ms = PATIENCE_S * 1000;
	wp_vthread *threads[3], *late;
	wp_vthread_config config = {.run = nothing, .name = "a name of more than thirty-one bytes"};
	int failure, left = 0;

	open_group(2, false, 0);
	for (int at = 0; at < 3; at++)
		threads[at] = start(at == 0 ? waits_for_go : parked, &long_ms);
	late = new_as(&config);
	check(strlen(wp_vthread_name(late)) == WP_VTHREAD_NAME - 1, "the length of a name");
	await(&ready, 1);
	for (int at = 0; at < MANY; at++) /* until all three are parked */
		join(start(nothing, NULL), "a thread");
	check(wp_group_close(group, in_ms(1), true, each, &left) == WP_OK, "the close");
	check(left == 3, "those left");
	for (int at = 0; at < 3; at++) {
		check(wp_vthread_join(threads[at], WP_FOREVER, &failure) == WP_CLOSED,
		      "what a joiner is told");
		wp_vthread_unpark(threads[at]);
	}
	check(wp_vthread_start(late) == WP_CLOSED, "a refusal");
	wp_vthread_free(late);
	wp_group_free(group);
}

CASE(exhausted)
{
	wp_vthread_config config = {.run = nothing}, large = {.run = nothing};
	wp_vthread *threads[4], *more;

	open_group(1, false, 4);
	for (int at = 0; at < 4; at++)
		check(wp_vthread_new(group, &config, &threads[at]) == WP_OK, "a thread");
	check(wp_vthread_new(group, &config, &more) == WP_SYSTEM, "an error");
	wp_vthread_free(threads[0]);
	check(wp_vthread_new(group, &config, &threads[0]) == WP_OK, "a thread again");
	for (int at = 0; at < 4; at++) {
		wp_vthread_start(threads[at]);
		join(threads[at], "a thread");
	}
	for (unsigned at = 1; at < 2 * WP_VTHREAD_SIZES; at++) {
		large.stack_bytes = at * 131072;
		check((wp_vthread_new(group, &large, &more) == WP_OK) == (at < WP_VTHREAD_SIZES),
		      "so many sizes");
		if (at < WP_VTHREAD_SIZES)
			wp_vthread_free(more);
	}
	close_group();
}

enum { SMALL = 16384, MUCH = 32768 };

static int uses_much(void *arg)
{
	volatile char bytes[MUCH];

	for (int at = MUCH; at-- > 0;)
		bytes[at] = 1;
	return bytes[0] != 1 || arg != NULL;
}

/* On a carrier: freed small stacks are not for threads of the usual size. */
static int starts_all(void *arg)
{
	wp_vthread_config small = {
		.run = nothing, .stack_bytes = SMALL, .carrier = WP_VTHREAD_HERE};
	wp_vthread *threads[4];

	for (int round = 0; round < 4; round++) {
		for (int at = 0; at < 4; at++)
			threads[at] = round % 2 == 0 ? start_as(&small) : start(uses_much, NULL);
		for (int at = 0; at < 4; at++)
			check(join(threads[at], "one of some size") == 0, "its stack");
	}
	return arg != NULL;
}

CASE(sizes)
{
	open_group(1, false, 0);
	join(start(uses_much, NULL), "a usual one");
	check(join(start(starts_all, NULL), "who starts them") == 0, "its end");
	close_group();
}

/* A scheduler that lends a carrier of another group, which is closed while the thread is parked. */
static wp_group *lender;
static wp_atomic(uint32_t) is_over;

static enum wp_step lend(wp_task *task)
{
	wp_vthread_run(given);
	return WP_STEP_DONE;
}

static void submit_to_lender(void *arg, wp_vthread *thread)
{
	static wp_task task;

	given = thread;
	if (wp_load_acquire(&is_over)) {
		wp_store_release(&ready, 2);
		return;
	}
	wp_task_init(&task, lend, NULL);
	wp_group_start(lender, 0, &task);
}

static int times_out(void *arg)
{
	wp_store_release(&ready, 1);
	return arg == NULL && wp_vthread_park_until(in_ms(1000)) == WP_TIMEOUT;
}

CASE(lent)
{
	static const wp_scheduler scheduler = {submit_to_lender, NULL};
	wp_vthread_config config = {.run = times_out, .scheduler = &scheduler};
	wp_vthread *thread;

	open_group(1, false, 0);
	lender = group;
	open_group(1, false, 0);
	thread = start_as(&config);
	await(&ready, 1);
	wp_store_release(&is_over, 1);
	check(wp_group_close(lender, WP_FOREVER, false, NULL, NULL) == WP_OK, "the close");
	wp_group_free(lender);
	await(&ready, 2);
	wp_vthread_run(given);
	check(join(thread, "a timeout") == 1, "that it timed out");
	close_group();
}

/* A scheduler keeps a thread beyond the deadline of a close. Then it resumes the thread, which
 * parks. */
static bool show_given(void *arg, const wp_dump_thread *shown)
{
	*(int *)arg += shown->state == WP_DUMP_GIVEN && strcmp(shown->name, "held") == 0;
	return true;
}

static void count_back(void *arg, wp_task *task, bool was_parked)
{
	*(int *)arg += was_parked;
}

static int parks_for_ever(void *arg)
{
	wp_store_release(&ready, 1);
	return wp_vthread_park_until(WP_FOREVER);
}

static void *runs_given(void *arg)
{
	check(wp_vthread_run(arg) == WP_OK, "a run by a scheduler");
	return NULL;
}

CASE(held)
{
	wp_vthread_config config = {.run = parks_for_ever, .name = "held", .scheduler = &keeping};
	int64_t begin_ns;
	int shown = 0, back = 0;
	pthread_t runner;

	open_group(1, false, 0);
	start(parks_for_ever, NULL);
	await(&ready, 1);
	start_as(&config);
	begin_ns = wp_clock_ns();
	check(wp_group_close(group, in_ms(50), true, count_back, &back) == WP_TIMEOUT,
	      "that a close says what it waits for");
	check(wp_clock_ns() < begin_ns + PATIENCE_S * 500 * MS, "the deadline of a close");
	check(wp_dump_each(group, show_given, &shown) && shown == 1, "the name of what is left");
	check(back == 0, "that nothing is handed back yet");
	check(pthread_create(&runner, NULL, runs_given, given) == 0, "an OS thread");
	check(wp_group_close(group, patience(), true, count_back, &back) == WP_OK,
	      "the second close");
	check(back == 2, "that it is handed back when it has parked");
	pthread_join(runner, NULL);
	wp_group_free(group);
}

/* Its stack is too small. */
static int overflows(void *arg)
{
	volatile char frame[256];

	frame[0] = *(char *)arg;
	if (wp_load_relaxed(&count) != 0) /* it is not */
		return 0;
	return overflows((void *)(uintptr_t)&frame[0]) + frame[0];
}

CASE(overflow)
{
	open_group(1, false, 0);
	join(start(overflows, ""), "a thread");
}
