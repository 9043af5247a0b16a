/* SPDX-License-Identifier: Apache-2.0
 * help.c - tasks occupy all carriers but one until another task has run: `help SECONDS SEED
 * PATIENCE_S`. Exit code 1 and one line with the seed if it never runs; otherwise 0 and counts.
 *
 *   a round: as many tasks as carriers; all others wait for one of them
 *   started: by one thread outside, by two, or each by the one before it, which runs
 *   where:   on one or two carriers, whatever others are idle; some pinned, some after a yield
 *
 * Why it works  The awaited task is queued, perhaps at a carrier that is occupied, and one carrier
 *               has nothing else to do. If that carrier is not woken, the task never runs. Nothing
 *               else happens that could wake it by chance.
 * Spec          specs/sched/Search.tla: WorkConservation. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../chance.h"
#include "base/error.h"
#include "sched/group.h"

enum { CARRIERS = 4, ROUNDS = 500 }; /* of one group */
enum how { BY_ONE, BY_TWO, IN_TURN, HOWS };

/* One task. home: the carrier that starts it, unless it is_own. yields: the number to come. */
typedef struct member {
	wp_task task;
	uint32_t home, yields;
	bool is_awaited, is_own;
} member;

static wp_group *group;
static struct {
	uint32_t carriers, pause;
	enum how how;
} now;
static member members[CARRIERS];
static wp_atomic(uint32_t) next, has_run, endings, turn; /* turn: rounds of the second thread */
static wp_atomic(uint64_t) number;
static uint64_t patience_s, stolen;

static void fail(const char *what)
{
	printf("seed %llu, round %llu (%u carriers, started %s): %s\n", (unsigned long long)seed,
	       (unsigned long long)wp_load_relaxed(&number), now.carriers,
	       (const char *[]){"by one thread", "by two threads", "in turn"}[now.how], what);
	fflush(stdout);
	_exit(1);
}

/* Starts the next task of the round, if there is one. [any thread] */
static bool start_next(void)
{
	uint32_t mine = wp_fetch_add_relaxed(&next, 1);
	int here = wp_group_running(group);
	member *one = &members[mine];

	if (mine >= now.carriers)
		return false;
	if (wp_group_start(group, one->is_own && here >= 0 ? (uint32_t)here : one->home,
			   &one->task) != WP_OK)
		fail("a start is refused");
	return true;
}

static enum wp_step step(wp_task *task)
{
	member *mine = (member *)(void *)task;

	if (mine->yields > 0) {
		mine->yields--;
		return WP_STEP_YIELD;
	}
	if (now.how == IN_TURN)
		start_next();
	if (mine->is_awaited)
		wp_store_release(&has_run, 1);
	while (wp_load_acquire(&has_run) == 0)
		sched_yield();
	return WP_STEP_DONE;
}

static void ended(wp_task *task)
{
	wp_fetch_add_release(&endings, 1);
}

static void choose(uint64_t *random)
{
	uint32_t first = draw(random, now.carriers), second = draw(random, now.carriers);
	uint32_t awaited = draw(random, now.carriers);

	now.how = (enum how)draw(random, HOWS);
	now.pause = draw(random, 4) ? draw(random, 4000) : 200000;
	for (uint32_t k = 0; k < now.carriers; k++) {
		member *one = &members[k];

		wp_task_init(&one->task, step, "help");
		one->task.ended = ended;
		one->home = draw(random, 2) ? first : second;
		one->yields = draw(random, 4) == 0;
		one->is_awaited = k == (now.how == IN_TURN ? now.carriers - 1 : awaited);
		one->is_own = draw(random, 2);
		/* In turn, a pinned task would wait behind one that waits. */
		one->task.is_pinned =
			now.how != IN_TURN && !one->is_awaited && draw(random, 4) == 0;
	}
	wp_store_relaxed(&has_run, 0);
	wp_store_relaxed(&endings, 0);
	wp_store_release(&next, 0);
}

static void start_all(void)
{
	while (start_next())
		continue;
}

static void play(uint64_t *random)
{
	wp_fetch_add_relaxed(&number, 1);
	choose(random);
	if (now.how == BY_TWO)
		wp_fetch_add_release(&turn, 1);
	if (now.how == IN_TURN)
		start_next();
	else
		start_all();
	while (wp_load_acquire(&endings) < now.carriers)
		sched_yield();
	while (wp_load_acquire(&turn) % 2 != 0)
		sched_yield();
	for (volatile uint32_t spent = 0; spent < now.pause; spent++)
		continue; /* carriers go to sleep, or are about to */
}

/* Starts tasks beside the main thread, once per odd turn. */
static void *second(void *unused)
{
	for (;;) {
		while (wp_load_acquire(&turn) % 2 == 0)
			sched_yield();
		start_all();
		wp_fetch_add_release(&turn, 1);
	}
	return unused;
}

/* Reports a round that does not end. */
static void *watch(void *unused)
{
	uint64_t last = 0, round;

	for (int64_t since = wp_clock_ns();;) {
		nanosleep(&(struct timespec){0, 10000000}, NULL);
		round = wp_load_relaxed(&number);
		if (round != last)
			since = wp_clock_ns();
		else if (wp_clock_ns() - since > (int64_t)patience_s * 1000000000)
			fail("nobody runs the task that all wait for");
		last = round;
	}
	return unused;
}

/* Some rounds of one group. */
static void live(uint64_t *random)
{
	now.carriers = 2 + draw(random, CARRIERS - 1);
	if (wp_group_new(&group, &(wp_group_config){.carriers = now.carriers,
						    .yield_us = 50,
						    .work_stealing = true}) != WP_OK)
		fail("no threads");
	for (uint32_t round = 0; round < ROUNDS; round++)
		play(random);
	for (uint32_t index = 0; index < now.carriers; index++) {
		wp_carrier_counts counts = wp_group_counts(group, index);

		stolen += counts.directed + counts.probed + counts.recheck;
	}
	if (wp_group_close(group, WP_FOREVER, false, NULL, NULL) != WP_OK)
		fail("the close does not end");
	wp_group_free(group);
}

int main(int argc, char **argv)
{
	int64_t until = wp_clock_ns() + (argc > 1 ? atoll(argv[1]) : 1) * 1000000000;
	void *(*const others[])(void *) = {watch, second};
	pthread_t thread;
	uint64_t random;

	seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
	patience_s = argc > 3 ? strtoull(argv[3], NULL, 10) : 60;
	random = seed * 2 + 1;
	for (int k = 0; k < 2; k++) {
		pthread_create(&thread, NULL, others[k], NULL);
		pthread_detach(thread);
	}
	do
		live(&random);
	while (wp_clock_ns() < until);
	printf("rounds %llu, stolen %llu\n", (unsigned long long)wp_load_relaxed(&number),
	       (unsigned long long)stolen);
	return 0;
}
