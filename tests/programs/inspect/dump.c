/* SPDX-License-Identifier: Apache-2.0
 * dump.c CASE - dumps of a group, for test_dump.py to read: its threads park, run, end, come and
 * go. */
#include "dump_case.h"
#include "../case_main.h"

enum {
	PARKED = 1000,
	STACKS = 1100,
	ROUNDS = 5000,
	COMING = 64,
	FUNCTION = 512 /* bytes at most */
};

int comes_and_goes(void *arg);

static void dump(wp_dump_config config)
{
	config.fd = 1;
	check(wp_dump(group, &config) == WP_OK, "a dump");
}

static wp_vthread *many[PARKED];

static void park_many(const char *prefix)
{
	for (int at = 0; at < PARKED; at++) {
		char name[WP_VTHREAD_NAME];

		snprintf(name, sizeof(name), "%s-%d", prefix, at);
		many[at] = named(name, parks_below, 0);
	}
	for (int at = 0; at < PARKED; at++)
		await_parked(many[at]);
}

static void end_many(void)
{
	for (int at = 0; at < PARKED; at++)
		end(many[at]);
}

/* It has no stack: it parks until it may end. */
static enum wp_step waits_by_steps(wp_task *task)
{
	return wp_load_acquire(&ready) == 0 ? WP_STEP_PARK : WP_STEP_DONE;
}

/* One thread in each state, ended ones beside them, and one that was never started; two have no
 * stacks. */
static void states(enum wp_dump_format format)
{
	wp_vthread_config config = {.name = "unstarted", .run = parks_here};
	wp_vthread_config other = {.name = "given", .run = nothing, .scheduler = &keeping};
	wp_vthread_config steps[2] = {{.name = "step", .step = waits_by_steps},
				      {.name = "another", .step = waits_by_steps}};
	wp_vthread *fresh, *gone, *here, *lent, *pinned, *running, *stepping[2];

	open_group(2, false, 0);
	wp_vthread_free(new_as(&config));
	gone = named("gone", nothing, 0);
	check(wp_vthread_join(gone, patience(), &failures) == WP_OK, "a join");
	here = named("parked", parks_below, 0);
	await_parked(here);
	for (int at = 0; at < 2; at++) {
		stepping[at] = start_as(&steps[at]);
		await_parked(stepping[at]);
	}
	pinned = named("pinned", parks_pinned, 0);
	running = named("running", spins, 1);
	fresh = new_as(&config);
	lent = start_as(&other);
	await(&count, 3);
	while ((wp__vthread_look(pinned) & WP_VTHREAD_PINNED) == 0)
		wp_yield();
	dump((wp_dump_config){.format = format});
	wp_store_release(&ready, 1);
	check(wp_vthread_run(given) == WP_OK, "a run by a scheduler");
	join(lent, "one that was given to a scheduler");
	join(running, "one that runs");
	end(pinned);
	end(here);
	end(stepping[0]);
	end(stepping[1]);
	wp_vthread_free(fresh);
	wp_vthread_free(gone);
	close_group();
}

CASE_CALL(states, states(WP_DUMP_JSON))
CASE_CALL(text, states(WP_DUMP_TEXT))

CASE(same)
{
	open_group(1, false, 0);
	park_many("same");
	dump((wp_dump_config){.format = WP_DUMP_JSON, .max_threads = 10});
	dump((wp_dump_config){.format = WP_DUMP_JSON, .max_bytes = 2000, .container = "a \"b\""});
	end_many();
	close_group();
}

static int sticks(void *arg)
{
	parks_pinned(arg);
	wp_fetch_add_relaxed(&count, 1);
	while (wp_load_acquire(&ready) < 2)
		continue;
	return 0;
}

/* A spare runs another thread while one blocks its carrier; then that one goes on there. */
CASE(spare)
{
	wp_vthread *stuck, *busy;

	open_as((wp_group_config){.carriers = 1, .spares = 1});
	stuck = named("stuck", sticks, 0);
	while ((wp__vthread_look(stuck) & WP_VTHREAD_PINNED) == 0)
		wp_yield();
	busy = named("busy", spins, 0);
	await(&count, 2);
	dump((wp_dump_config){.format = WP_DUMP_JSON});
	wp_store_release(&ready, 1);
	join(busy, "one that a spare runs");
	wp_vthread_unpark(stuck);
	await(&count, 3);
	dump((wp_dump_config){.format = WP_DUMP_JSON});
	wp_store_release(&ready, 2);
	join(stuck, "one that was pinned");
	close_group();
}

/* More different stacks than a dump distinguishes. */
CASE(stacks)
{
	static wp_vthread *threads[STACKS];

	open_group(1, false, 0);
	for (int at = 0; at < STACKS; at++) {
		wp_vthread_config config = {.run = goes_its_way, .arg = (void *)(intptr_t)at};

		await_parked(threads[at] = start_as(&config));
	}
	dump((wp_dump_config){.format = WP_DUMP_JSON, .max_threads = 1});
	for (int at = 0; at < STACKS; at++)
		end(threads[at]);
	close_group();
}

CASE(names)
{
	const char *names[] = {"say \"hi\"\\", "tab\tbell\a\x7f", "h\xc3\xa9",
			       "cut \xe2\x82", "\xff\xfe",        ""};
	wp_vthread *threads[6];

	open_group(1, false, 0);
	for (int at = 0; at < 6; at++)
		await_parked(threads[at] = named(names[at], parks_here, 0));
	dump((wp_dump_config){.format = WP_DUMP_JSON});
	for (int at = 0; at < 6; at++)
		end(threads[at]);
	close_group();
}

/* A write that fails ends the dump. */
static int full(void *arg, const char *text, size_t bytes)
{
	*(size_t *)arg += bytes;
	return -1;
}

CASE(full)
{
	size_t written = 0;
	wp_dump_config config = {.write = full, .arg = &written};

	open_group(1, false, 0);
	park_many("full");
	check(wp_dump(group, &config) == WP_SYSTEM, "an error of the writer");
	check(written > 0 && written <= 8192, "the end after it");
	end_many();
	close_group();
}

/* Parks here, and below, in turn; ends, and another thread takes its stack. */
FRAME int comes_and_goes(void *arg)
{
	wp_vthread_yield();
	parks_here(arg);
	STAY();
	parks_below(arg);
	STAY();
	return 0;
}

static void *keeps_coming(void *arg)
{
	wp_vthread *threads[COMING];

	while (wp_load_acquire(&ready) == 0) {
		for (int at = 0; at < COMING; at++)
			threads[at] = named("comer", comes_and_goes, at % 2);
		for (int turn = 0; turn < 2; turn++)
			for (int at = 0; at < COMING; at++)
				wp_vthread_unpark(threads[at]);
		for (int at = 0; at < COMING; at++) {
			while (!wp_vthread_is_done(threads[at])) {
				wp_vthread_unpark(threads[at]);
				wp_yield();
			}
			join(threads[at], "a comer");
		}
	}
	return arg;
}

static int swallow(void *arg, const char *text, size_t bytes)
{
	*(size_t *)arg += bytes;
	return 0;
}

static int dumps_inside(void *arg)
{
	wp_dump_config config = {.write = swallow, .arg = arg};

	for (int round = 0; round < ROUNDS / 50; round++) {
		check(wp_dump(group, &config) == WP_OK, "a dump from inside");
		wp_vthread_yield();
	}
	return 0;
}

/* Each stack of a parked thread that was seen, once. No padding: compared by bytes. */
typedef struct seen {
	uintptr_t depth;
	uintptr_t frames[WP_DUMP_FRAMES];
} seen;
static seen stacks[64];
static int stacks_seen;

/* The number of frames that belong to the kernel; a park has several ways to leave. */
static uint32_t skipped(const wp_dump_thread *thread)
{
	uint32_t at = 0;

	while (at < thread->depth && thread->frames[at] - (uintptr_t)parks_here >= FUNCTION)
		at++;
	check(at < thread->depth, "the function that parks");
	return at;
}

static bool note(void *arg, const wp_dump_thread *thread)
{
	seen now = {.depth = 0};
	uint32_t from;

	(*(uint64_t *)arg)++;
	check(thread->state == WP_DUMP_NEW || strcmp(thread->name, "comer") == 0 ||
		      strcmp(thread->name, "inside") == 0,
	      "a name");
	check(thread->home >= 0 && thread->home < 2 && thread->carrier < 2, "a carrier");
	if (thread->depth == 0)
		return true;
	from = skipped(thread);
	now.depth = thread->depth - from;
	memcpy(now.frames, &thread->frames[from], now.depth * sizeof(uintptr_t));
	for (int at = 0; at < stacks_seen; at++)
		if (memcmp(&stacks[at], &now, sizeof(now)) == 0)
			return true;
	if (stacks_seen < 64)
		stacks[stacks_seen++] = now;
	return true;
}

/* Two ways to park, so two stacks: a third one would be a mixture of both. */
CASE(churn)
{
	size_t bytes = 0;
	uint64_t shown = 0;
	pthread_t comers;
	wp_vthread_config config = {.name = "inside", .run = dumps_inside, .arg = &bytes};
	wp_vthread *inside;

	open_group(2, false, 0);
	pthread_create(&comers, NULL, keeps_coming, NULL);
	inside = start_as(&config);
	for (int round = 0; round < ROUNDS || stacks_seen < 2; round++)
		check(wp_dump_each(group, note, &shown), "a whole dump");
	join(inside, "a dump from inside");
	wp_store_release(&ready, 1);
	pthread_join(comers, NULL);
	check(stacks_seen == 2, "one of two stacks");
	check(shown > 0 && bytes > 0, "any thread");
	close_group();
}
