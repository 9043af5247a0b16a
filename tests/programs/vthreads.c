/* SPDX-License-Identifier: Apache-2.0
 * vthreads.c CASE - virtual threads with stacks, through the public functions. Prints what is lost,
 * one line each; nothing: all is well. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "vthreads.h"

#ifndef PATIENCE_S
#define PATIENCE_S 60
#endif
enum { MANY = 300, SLEEPERS = 1000 };
#define MS 1000000ll

static wp_group *group;
static int failures;
static wp_atomic(uint32_t) count, ready;

static void check(bool holds, const char *what)
{
	if (holds)
		return;
	printf("lost %s\n", what);
	failures++;
}

static int64_t in_ms(int64_t ms)
{
	return wp_clock_ns() + ms * MS;
}

static void open_group(uint32_t carriers, bool stealing, uint32_t max_stacks)
{
	wp_group_config config = {.carriers = carriers, .yield_us = 50, .work_stealing = stealing,
				  .max_stacks = max_stacks};

	check(wp_group_new(&group, &config) == WP_OK, "a group");
}

static void close_group(void)
{
	check(wp_group_close(group, in_ms(PATIENCE_S * 1000), false, NULL, NULL) == WP_OK,
	      "the close");
	wp_group_free(group);
}

static wp_vthread *start_as(const wp_vthread_config *config)
{
	wp_vthread *thread = NULL;

	if (wp_vthread_new(group, config, &thread) != WP_OK ||
	    wp_vthread_start(thread) != WP_OK) {
		printf("lost a thread\n");
		exit(1);
	}
	return thread;
}

static wp_vthread *start(int (*run)(void *), void *arg)
{
	wp_vthread_config config = {.name = "one", .run = run, .arg = arg,
				    .carrier = WP_VTHREAD_HERE};

	return start_as(&config);
}

/* Whoever does not end in time is lost, and the program with it: its stack is in use. */
static int join(wp_vthread *thread, const char *what)
{
	int failure = -1;

	if (wp_vthread_join(thread, in_ms(PATIENCE_S * 1000), &failure) != WP_OK) {
		printf("lost %s\n", what);
		exit(1);
	}
	wp_vthread_free(thread);
	return failure;
}

static void await(wp_atomic(uint32_t) *word, uint32_t least)
{
	while (wp_load_acquire(word) < least)
		wp_yield();
}

/* What a permit does for the thread that has it. */
static int permits(void *arg)
{
	wp_vthread *self = wp_vthread_current();

	(void)arg;
	wp_vthread_unpark(self);
	wp_vthread_unpark(self);
	check(wp_vthread_park_until(WP_FOREVER) == WP_OK, "an unpark before the park");
	check(wp_vthread_park_until(0) == WP_TIMEOUT, "that permits do not add up");
	wp_vthread_unpark(self);
	wp_vthread_yield();
	check(wp_vthread_park_until(0) == WP_OK, "the permit that a yield leaves");
	check(wp_vthread_park_until(in_ms(2)) == WP_TIMEOUT, "a timeout");
	wp_vthread_unpark(self);
	check(wp_vthread_sleep_until(in_ms(1)) == WP_OK, "a sleep");
	check(wp_vthread_park_until(0) == WP_OK, "the permit that a sleep leaves");
	wp_vthread_interrupt(self);
	check(wp_vthread_park_until(WP_FOREVER) == WP_INTERRUPTED, "an interrupt");
	check(wp_vthread_park_until(WP_FOREVER) == WP_INTERRUPTED, "a flag that stays");
	check(wp_vthread_sleep_until(in_ms(1)) == WP_INTERRUPTED, "a sleep's interrupt");
	check(wp_vthread_clear_interrupt() && !wp_vthread_clear_interrupt(), "a clear flag");
	check(wp_vthread_park_until(in_ms(1)) == WP_TIMEOUT, "a park after it");
	return 7;
}

static int parked(void *arg)
{
	wp_store_release(&ready, 1);
	return wp_vthread_park_until(in_ms(*(int64_t *)arg));
}

static void case_permit(void)
{
	int64_t long_ms = PATIENCE_S * 1000;
	wp_vthread *thread;

	open_group(1, false, 0);
	check(join(start(permits, NULL), "the thread") == 7, "its failure");
	for (int turn = 0; turn < MANY; turn++) {
		wp_store_release(&ready, 0);
		thread = start(parked, &long_ms);
		await(&ready, 1);
		if (turn % 2)
			wp_vthread_unpark(thread);
		else
			wp_vthread_interrupt(thread);
		check(join(thread, "an unpark from outside") ==
			      (turn % 2 ? WP_OK : WP_INTERRUPTED), "how it ended");
	}
	close_group();
}

/* Parked in a pinned section, with its carrier. */
static int pinned(void *arg)
{
	int64_t begun_ns = wp_clock_ns();

	wp_vthread_pin();
	wp_vthread_pin();
	wp_vthread_unpin();
	wp_vthread_yield();
	check(wp_vthread_park_until(in_ms(5)) == WP_TIMEOUT, "a pinned timeout");
	check(wp_clock_ns() - begun_ns >= 5 * MS, "its length");
	for (int turn = 0; turn < MANY; turn++)
		check(parked(arg) == WP_OK, "the unpark");
	wp_vthread_unpin();
	return 0;
}

static void case_pinned(void)
{
	int64_t long_ms = PATIENCE_S * 1000;
	wp_vthread *thread;

	open_group(1, false, 0);
	thread = start(pinned, &long_ms);
	for (uint64_t turn = 1; turn <= MANY; turn++) {
		while (wp_group_counts(group, 0).pinned < 1 + turn)
			wp_yield();
		wp_vthread_unpark(thread);
	}
	join(thread, "an unpark of a pinned thread");
	check(wp_group_counts(group, 0).pinned == 1 + MANY, "the count of pinned parks");
	close_group();
}

/* Never early, with many deadlines. */
static int sleeper(void *arg)
{
	int64_t deadline_ns = in_ms((int64_t)(uintptr_t)arg % 17);

	check(wp_vthread_sleep_until(deadline_ns) == WP_OK, "a sleep");
	check(wp_clock_ns() >= deadline_ns, "the length of a sleep");
	return 0;
}

static void case_sleep(void)
{
	static wp_vthread *threads[SLEEPERS];

	open_group(2, true, 0);
	for (uintptr_t at = 0; at < SLEEPERS; at++)
		threads[at] = start(sleeper, (void *)at);
	for (int at = 0; at < SLEEPERS; at++)
		join(threads[at], "a sleeper");
	close_group();
}

/* Each is parked, then unparks the one before it. The same on any carrier: who it is. */
static wp_vthread *chain[MANY];

static int link_in_chain(void *arg)
{
	uintptr_t at = (uintptr_t)arg;

	wp_fetch_add_relaxed(&count, 1);
	while (wp_vthread_park_until(WP_FOREVER) != WP_OK)
		continue;
	for (int turn = 0; turn < 10; turn++) {
		check(wp_vthread_current() == chain[at], "who it is");
		wp_vthread_yield();
	}
	if (at > 0)
		wp_vthread_unpark(chain[at - 1]);
	return 0;
}

static void run_chain(const wp_scheduler *scheduler)
{
	for (uintptr_t at = 0; at < MANY; at++) {
		wp_vthread_config config = {.run = link_in_chain, .arg = (void *)at,
					    .carrier = WP_VTHREAD_HERE, .scheduler = scheduler};

		if (wp_vthread_new(group, &config, &chain[at]) != WP_OK)
			exit(1);
	}
	for (int at = 0; at < MANY; at++)
		wp_vthread_start(chain[at]);
	await(&count, MANY);
	wp_vthread_unpark(chain[MANY - 1]);
	for (int at = MANY - 1; at >= 0; at--)
		join(chain[at], "a link");
}

static void case_chain(void)
{
	open_group(4, true, 0);
	run_chain(NULL);
	close_group();
}

/* A scheduler: four OS threads at one queue, with a lock that blocks. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t some = PTHREAD_COND_INITIALIZER;
static wp_vthread *queue[4 * MANY];
static unsigned first, last;
static bool is_over;

static void submit(void *arg, wp_vthread *thread)
{
	(void)arg;
	check(wp_vthread_current() == NULL, "that a submission is no virtual thread's");
	check(wp_vthread_park_until(0) == WP_FORBIDDEN, "that it cannot park one");
	pthread_mutex_lock(&lock);
	queue[last++ % (4 * MANY)] = thread;
	pthread_cond_signal(&some);
	pthread_mutex_unlock(&lock);
}

static void *run_queue(void *arg)
{
	pthread_mutex_lock(&lock);
	while (!is_over || first != last) {
		wp_vthread *thread;

		if (first == last) {
			pthread_cond_wait(&some, &lock);
			continue;
		}
		thread = queue[first++ % (4 * MANY)];
		pthread_mutex_unlock(&lock);
		check(wp_vthread_run(thread) == WP_OK, "a run");
		pthread_mutex_lock(&lock);
	}
	pthread_mutex_unlock(&lock);
	return arg;
}

static void with_pool(int threads, const wp_scheduler *scheduler,
		      void (*body)(const wp_scheduler *))
{
	pthread_t pool[4];

	is_over = false;
	for (int at = 0; at < threads; at++)
		pthread_create(&pool[at], NULL, run_queue, NULL);
	body(scheduler);
	pthread_mutex_lock(&lock);
	is_over = true;
	pthread_cond_broadcast(&some);
	pthread_mutex_unlock(&lock);
	for (int at = 0; at < threads; at++)
		pthread_join(pool[at], NULL);
}

static void sleep_once(const wp_scheduler *scheduler)
{
	wp_vthread_config config = {.run = sleeper, .arg = (void *)9, .scheduler = scheduler};

	join(start_as(&config), "a sleeper of a scheduler");
}

static void case_scheduler(void)
{
	static const wp_scheduler scheduler = {submit, NULL};

	open_group(1, false, 0);
	with_pool(4, &scheduler, run_chain);
	with_pool(2, &scheduler, sleep_once);
	close_group();
}

/* What a scheduler must not do. */
static wp_vthread *given;

static void keep(void *arg, wp_vthread *thread)
{
	(void)arg;
	given = thread;
}

static int nothing(void *arg)
{
	(void)arg;
	return 0;
}

static int carries(void *arg)
{
	(void)arg;
	return wp_vthread_run(given);
}

static void case_contract(void)
{
	static const wp_scheduler scheduler = {keep, NULL};
	wp_vthread_config config = {.run = nothing, .scheduler = &scheduler};
	wp_vthread *thread;
	int failure;

	open_group(1, false, 0);
	thread = start_as(&config);
	check(given == thread, "its scheduler's turn");
	check(wp_vthread_start(thread) == WP_FORBIDDEN, "that it starts once");
	check(join(start(carries, NULL), "a thread") == WP_FORBIDDEN,
	      "that a virtual thread is no carrier");
	check(wp_vthread_run(thread) == WP_OK, "its run");
	check(wp_vthread_run(thread) == WP_FORBIDDEN, "that it runs once");
	check(wp_vthread_join(thread, 0, &failure) == WP_OK && failure == 0, "its end");
	wp_vthread_free(thread);
	close_group();
}

/* A scheduler that lends a carrier of another group, which is closed while the thread is parked. */
static wp_group *lender;

static enum wp_step lend(wp_task *task)
{
	(void)task;
	wp_vthread_run(given);
	return WP_STEP_DONE;
}

static void submit_to_lender(void *arg, wp_vthread *thread)
{
	static wp_task task;

	(void)arg;
	given = thread;
	if (lender == NULL) {
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

static void case_lent(void)
{
	static const wp_scheduler scheduler = {submit_to_lender, NULL};
	wp_vthread_config config = {.run = times_out, .scheduler = &scheduler};
	wp_group *closed;
	wp_vthread *thread;

	open_group(1, false, 0);
	lender = group;
	open_group(1, false, 0);
	thread = start_as(&config);
	await(&ready, 1);
	closed = lender;
	lender = NULL;
	check(wp_group_close(closed, WP_FOREVER, false, NULL, NULL) == WP_OK, "the close");
	wp_group_free(closed);
	await(&ready, 2);
	wp_vthread_run(given);
	check(join(thread, "a timeout") == 1, "that it timed out");
	close_group();
}

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
	(void)arg;
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

static void case_join(void)
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

/* A thread that yields for ever, and others on its carrier. */
static int spins(void *arg)
{
	while (wp_load_acquire(&ready) == 0)
		wp_vthread_yield();
	return arg != NULL;
}

static void case_fair(void)
{
	wp_vthread *spinning;

	open_group(1, false, 0);
	spinning = start(spins, NULL);
	for (int at = 0; at < MANY; at++)
		join(start(nothing, NULL), "a turn beside one that yields");
	wp_store_release(&ready, 1);
	join(spinning, "the one that yields");
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

static void case_locals(void)
{
	wp_vthread_config config = {.run = uses_locals, .arg = "none", .has_no_locals = true};

	open_group(2, true, 0);
	join(start(uses_locals, NULL), "a thread");
	check(wp_load_acquire(&count) == 5, "the ends of locals");
	check(join(start_as(&config), "a thread") == WP_FORBIDDEN, "that it has none");
	check(wp_local_set(NULL, NULL) == WP_FORBIDDEN, "that an OS thread has none");
	close_group();
}

/* What a close hands back: by name; whoever joins is told. */
static void each(void *arg, wp_task *task, bool was_parked)
{
	const char *name = wp_vthread_name((wp_vthread *)(void *)task);

	(*(int *)arg)++;
	check(was_parked && name != NULL && strcmp(name, "one") == 0, "the name of one left");
}

static void case_close(void)
{
	int64_t long_ms = PATIENCE_S * 1000;
	wp_vthread *threads[3], *late;
	wp_vthread_config config = {.run = nothing, .name = "a name of more than thirty-one bytes"};
	int failure, left = 0;

	open_group(2, false, 0);
	for (int at = 0; at < 3; at++)
		threads[at] = start(at == 0 ? waits_for_go : parked, &long_ms);
	check(wp_vthread_new(group, &config, &late) == WP_OK, "an unstarted thread");
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

static void case_exhausted(void)
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

/* For a debugger: three threads are parked, two calls deep. */
static __attribute__((noinline)) void await_link(void)
{
	__asm__ __volatile__("");
}

static __attribute__((noinline)) int parks_deep(void)
{
	int code = wp_vthread_park_until(WP_FOREVER);

	wp_fetch_add_relaxed(&count, 1);
	return code;
}

static int links(void *arg)
{
	wp_fetch_add_relaxed(&ready, 1);
	return parks_deep() + (arg != NULL);
}

static void case_parked(void)
{
	static const char *const names[] = {"link-0", "link-1", "link-2"};
	wp_vthread *threads[3];

	open_group(1, false, 0);
	for (int at = 0; at < 3; at++) {
		wp_vthread_config config = {.name = names[at], .run = links};

		threads[at] = start_as(&config);
	}
	await(&ready, 3);
	join(start(nothing, NULL), "a thread behind them");
	await_link();
	for (int at = 0; at < 3; at++) {
		wp_vthread_unpark(threads[at]);
		join(threads[at], "a thread that was shown");
	}
	close_group();
}

/* Its stack is not enough. */
static int overflows(void *arg)
{
	volatile char frame[256];

	frame[0] = *(char *)arg;
	if (wp_load_relaxed(&count) != 0) /* it is not */
		return 0;
	return overflows((void *)(uintptr_t)&frame[0]) + frame[0];
}

static void case_overflow(void)
{
	open_group(1, false, 0);
	join(start(overflows, ""), "a thread");
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} cases[] = {{"permit", case_permit}, {"pinned", case_pinned}, {"sleep", case_sleep},
		     {"chain", case_chain}, {"scheduler", case_scheduler}, {"join", case_join},
		     {"contract", case_contract}, {"fair", case_fair}, {"lent", case_lent}, {"locals", case_locals},
		     {"close", case_close}, {"exhausted", case_exhausted}, {"overflow", case_overflow}, {"parked", case_parked}};

	for (unsigned at = 0; argc == 2 && at < sizeof(cases) / sizeof(*cases); at++)
		if (strcmp(argv[1], cases[at].name) == 0) {
			cases[at].run();
			return failures != 0;
		}
	return 2;
}
