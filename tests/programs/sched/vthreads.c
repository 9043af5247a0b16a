/* SPDX-License-Identifier: Apache-2.0
 * vthreads.c CASE - virtual threads with stacks: permits, pins, sleeps, schedulers. */
#include "../vthreads_case.h"
#include "../case_main.h"

/* The effects of a permit for the thread that has it. */
static int permits(void *arg)
{
	wp_vthread *self = wp_vthread_current();

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

/* By way of the private FIFO, or of the queue. */
static void permits_where(bool stealing)
{
	int64_t long_ms = PATIENCE_S * 1000;
	wp_vthread *thread;

	open_group(1, stealing, 0);
	check(join(start(permits, NULL), "the thread") == 7, "its failure");
	for (int turn = 0; turn < MANY; turn++) {
		wp_store_release(&ready, 0);
		thread = start(parked, &long_ms);
		await(&ready, 1);
		if (turn % 2)
			wp_vthread_unpark(thread);
		else
			wp_vthread_interrupt(thread);
		check(join(thread, "an unpark from outside") == (turn % 2 ? WP_OK : WP_INTERRUPTED),
		      "how it ended");
	}
	close_group();
}

CASE(permit)
{
	permits_where(false);
	permits_where(true);
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
	wp_vthread_interrupt(wp_vthread_current());
	check(wp_vthread_park_until(WP_FOREVER) == WP_INTERRUPTED, "a pinned interrupt");
	check(wp_vthread_park_until(WP_FOREVER) == WP_INTERRUPTED, "one from long ago");
	wp_vthread_clear_interrupt();
	for (int turn = 0; turn < MANY; turn++) {
		begun_ns = wp_clock_ns();
		check(parked(arg) == WP_OK, "the unpark");
		if (wp_clock_ns() - begun_ns >= *(int64_t *)arg * MS)
			lost("the wake of a pinned thread"); /* its permit came in time */
	}
	wp_vthread_unpin();
	return 0;
}

CASE(pinned)
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

CASE(sleep)
{
	static wp_vthread *threads[SLEEPERS];

	open_group(2, true, 0);
	for (uintptr_t at = 0; at < SLEEPERS; at++)
		threads[at] = start(sleeper, (void *)at);
	join_all(threads, SLEEPERS, "a sleeper");
	close_group();
}

/* Each is parked, then unparks the one before it. On any carrier it has the same identity. */
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
		wp_vthread_config config = {.run = link_in_chain,
					    .arg = (void *)at,
					    .carrier = WP_VTHREAD_HERE,
					    .scheduler = scheduler};

		chain[at] = new_as(&config);
	}
	for (int at = 0; at < MANY; at++)
		wp_vthread_start(chain[at]);
	await(&count, MANY);
	wp_vthread_unpark(chain[MANY - 1]);
	for (int at = MANY - 1; at >= 0; at--)
		join(chain[at], "a link");
}

CASE(chain)
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

CASE(scheduler)
{
	static const wp_scheduler scheduler = {submit, NULL};

	open_group(1, false, 0);
	with_pool(4, &scheduler, run_chain);
	with_pool(2, &scheduler, sleep_once);
	close_group();
}

/* Misuses of a scheduler. */
static int carries(void *arg)
{
	return wp_vthread_run(given);
}

CASE(contract)
{
	wp_vthread_config config = {.run = nothing, .scheduler = &keeping};
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

/* A thread in the memory of an ended one that was interrupted equals any new one. */
static int notes_interrupt(void *arg)
{
	return arg == NULL ? wp_vthread_is_interrupted(wp_vthread_current()) : 0;
}

CASE(again)
{
	wp_vthread_config config = {.run = notes_interrupt};
	int64_t until_ns = patience();
	wp_vthread *one, *again = NULL;

	open_group(1, false, 1);
	one = start_as(&config);
	wp_vthread_interrupt(one);
	join(one, "the first");
	while (wp_vthread_new(group, &config, &again) !=
	       WP_OK) { /* its carrier has it for a moment */
		if (wp_clock_ns() > until_ns)
			lost("its memory");
		wp_yield();
	}
	check(again == one, "that it has the memory of the first");
	check(wp_vthread_submit_and_yield(again) == WP_OK, "a start");
	check(join(again, "the second") == 0, "that nobody has interrupted it");
	close_group();
}

/* A yield to a thread starts it, in any kind of group. */
static int yields_to(void *arg)
{
	return wp_vthread_submit_and_yield(arg);
}

CASE(yielded)
{
	for (int kind = 0; kind < 3; kind++) {
		wp_vthread_config config = {.run = notes_interrupt, .carrier = 0};
		wp_vthread *next;

		open_as((wp_group_config){.carriers = 1 + (kind > 0),
					  .work_stealing = kind > 0,
					  .bounded = kind > 1});
		next = new_as(&config);
		config = (wp_vthread_config){.run = yields_to, .arg = next, .is_pinned = true};
		check(join(start_as(&config), "who yields") == WP_OK, "a start");
		check(join(next, "who is yielded to") == 0, "its end");
		close_group();
	}
}

/* Pinned, on an OS thread that is no carrier. */
static int naps(void *arg)
{
	int code;

	wp_vthread_pin();
	code = wp_vthread_park_until(in_ms(1));
	wp_vthread_unpin();
	return arg == NULL ? code : 0;
}

CASE(outside)
{
	wp_vthread_config config = {.run = naps, .scheduler = &keeping};
	wp_vthread *one;

	open_group(1, false, 0);
	one = start_as(&config);
	check(given == one && wp_vthread_run(one) == WP_OK, "a run");
	check(join(one, "who naps") == WP_TIMEOUT, "a nap");
	close_group();
}
