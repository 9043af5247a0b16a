/* SPDX-License-Identifier: Apache-2.0
 * mixed.c SECONDS SEED PATIENCE_S stealing/private - virtual threads yield to one another, block
 * their carriers while spares carry on, fork in scopes until the stacks run out, are interrupted
 * and dumped, all at random; group after group, and a close cuts off every other one.
 *
 * Why it works  `inside` is plain: the threads of one carrier enter and leave it one at a time, on
 *               whatever OS thread they run. A running thread has the name of its carrier, and its
 *               own locals, at every step. When a scope is closed, all of its threads have ended.
 *               The stack of a parked thread shows the function in which all of them park.
 * Spec          specs/sched/compensation/SpareThread.tla, Dump.tla, Scope.tla, Group.tla. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../chance.h"
#include "inspect/dump.h"
#include "base/error.h"
#include "scope/scope.h"
#include "sched/worker.h"

enum { CARRIERS = 3, PEERS = 40, STACKS = 100, FORKS = 8, ROUND_MS = 150, FUNCTION = 16384 };
#define MS 1000000ll

typedef struct peer {
	wp_vthread *thread;
	bool is_over, is_back; /* ended; handed back */
} peer;

/* The threads of one scope. */
typedef struct family {
	wp_atomic(uint32_t) begun, ended;
	bool is_joined; /* otherwise the forked threads may wait for ever */
} family;

int live(void *arg);

static const wp_local own = {NULL};
static peer peers[PEERS];
static wp_group *group;
static uint64_t inside[CARRIERS], random_main;
static wp_atomic(uint32_t) over, next_seed;
static wp_atomic(uint64_t) parks, pins, forks, refused, dumps;

static void fail(const char *what)
{
	printf("seed %llu: %s\n", (unsigned long long)seed, what);
	fflush(stdout);
	_exit(1);
}

static int64_t soon(uint64_t *random)
{
	return wp_clock_ns() + (int64_t)draw(random, 1000000);
}

/* No step of another thread comes between; only the carrier's role prevents it. */
static void go_in_and_out(void)
{
	wp_vthread *self = wp_vthread_current();
	int carrier = wp_group_running(group);
	uint64_t before;

	if (self == NULL || carrier < 0)
		fail("who runs is not there");
	before = inside[carrier]++;
	if (wp_load_relaxed(&group->workers[carrier].mounted) != &self->task)
		fail("a carrier does not name whom it runs");
	if (wp_local_get(&own) != self)
		fail("a local is another thread's");
	if (inside[carrier]++ != before + 1 || before % 2 != 0)
		fail("two have one carrier");
}

static void park(int64_t deadline_ns)
{
	wp_fetch_add_relaxed(&parks, 1);
	wp_vthread_park_until(deadline_ns);
	go_in_and_out();
}

static void park_pinned(uint64_t *random)
{
	wp_fetch_add_relaxed(&pins, 1);
	wp_vthread_pin();
	park(soon(random));
	if (draw(random, 2) == 0)
		park(soon(random));
	wp_vthread_unpin();
}

static bool see_one(void *arg, const wp_dump_thread *thread)
{
	uint32_t at = 0;

	if (thread->home < 0 || thread->home >= CARRIERS || thread->carrier >= CARRIERS)
		fail("a carrier that is none");
	if (strcmp(thread->name, "peer") != 0 || thread->depth == 0)
		return true;
	while (at < thread->depth && thread->frames[at] - (uintptr_t)live >= FUNCTION)
		at++;
	if (at == thread->depth && thread->depth < WP_DUMP_FRAMES)
		fail("a stack that is no peer's");
	return true;
}

static void dump(void)
{
	wp_fetch_add_relaxed(&dumps, 1);
	wp_dump_each(group, see_one, NULL);
}

static void begin(uint64_t *random)
{
	*random = seed + wp_fetch_add_relaxed(&next_seed, 1) * 0x9e3779b97f4a7c15u + 1;
	if (wp_local_set(&own, wp_vthread_current()) != WP_OK)
		fail("no memory for a local");
}

static int child(void *arg)
{
	family *mine = arg;
	uint64_t random;
	int code = 0;

	wp_fetch_add_relaxed(&mine->begun, 1);
	begin(&random);
	switch (draw(&random, 8)) {
	case 0:
		park_pinned(&random);
		break;
	case 1:
		park(soon(&random));
		break;
	case 2:
		code = draw(&random, 4) == 0;
		break;
	case 3:
		while (!mine->is_joined && !wp_vthread_clear_interrupt())
			park(WP_FOREVER);
		break;
	default:
		wp_vthread_yield();
	}
	go_in_and_out();
	wp_fetch_add_release(&mine->ended, 1);
	return code;
}

static void have_children(uint64_t *random)
{
	wp_scope_config config = {.policy = draw(random, 3),
				  .deadline_ns = WP_FOREVER,
				  .forks = {.name = "child", .carrier = WP_VTHREAD_HERE}};
	uint32_t many = 1 + draw(random, FORKS);
	wp_subtask subtasks[FORKS];
	family mine = {.is_joined = draw(random, 2) == 0};
	wp_scope scope;

	if (draw(random, 2) == 0)
		config.deadline_ns = soon(random);
	if (wp_scope_open(&scope, group, &config) != WP_OK)
		return; /* the group is being closed */
	for (uint32_t at = 0; at < many; at++) {
		int code = wp_scope_fork(&scope, &subtasks[at], child, &mine);

		wp_fetch_add_relaxed(code == WP_OK ? &forks : &refused, 1);
	}
	if (mine.is_joined)
		wp_scope_join(&scope, NULL);
	wp_scope_close(&scope);
	if (wp_load_acquire(&mine.ended) != wp_load_relaxed(&mine.begun))
		fail("a child outlives its scope");
	if (wp_scope_current() != NULL)
		fail("a scope is open after its close");
}

__attribute__((noinline)) int live(void *arg)
{
	peer *self = arg;
	uint64_t random;

	begin(&random);
	if ((self - peers) % 8 == 1)
		wp_vthread_settle();
	while (wp_load_relaxed(&over) == 0) {
		switch (draw(&random, 12)) {
		case 0:
			park_pinned(&random);
			break;
		case 1:
			have_children(&random);
			break;
		case 2:
			wp_vthread_interrupt(peers[draw(&random, PEERS)].thread);
			break;
		case 3:
			dump();
			break;
		case 4:
			park(soon(&random));
			break;
		case 5:
			wp_vthread_unpark(peers[draw(&random, PEERS)].thread);
			break;
		default:
			wp_vthread_yield();
		}
		go_in_and_out();
		wp_vthread_clear_interrupt();
	}
	self->is_over = true;
	return 0;
}

static void note_back(void *arg, wp_task *task, bool was_parked)
{
	for (int at = 0; at < PEERS; at++)
		if (&peers[at].thread->task == task)
			peers[at].is_back = true;
}

static void open_group(const wp_group_config *config)
{
	memset(peers, 0, sizeof(peers));
	memset(inside, 0, sizeof(inside));
	wp_store_relaxed(&over, 0);
	if (wp_group_new(&group, config) != WP_OK)
		fail("no memory");
	for (int at = 0; at < PEERS; at++) {
		wp_vthread_config lives = {.name = "peer",
					   .run = live,
					   .arg = &peers[at],
					   .carrier = at % CARRIERS,
					   .is_pinned = at % 8 == 0};

		if (wp_vthread_new(group, &lives, &peers[at].thread) != WP_OK)
			fail("no memory for a thread");
	}
	for (int at = 0; at < PEERS; at++)
		if (wp_vthread_start(peers[at].thread) != WP_OK)
			fail("a thread was refused");
}

/* Closes the group at once, or when all threads have ended. */
static void close_group(bool is_cut, int64_t patience_ns)
{
	int64_t until_ns = wp_clock_ns() + patience_ns;
	int failure;

	if (!is_cut)
		wp_store_relaxed(&over, 1);
	while (wp_group_close(group, until_ns, is_cut, note_back, NULL) != WP_OK)
		if (wp_clock_ns() > until_ns)
			fail("it hangs: the close");
	for (int at = 0; at < PEERS; at++) {
		int code = wp_vthread_join(peers[at].thread, until_ns, &failure);

		if (peers[at].is_over == peers[at].is_back || (peers[at].is_back && !is_cut))
			fail("a thread has not ended, nor come back, or both");
		if (code != (peers[at].is_over ? WP_OK : WP_CLOSED))
			fail("a join does not tell the end of its thread");
		wp_vthread_free(peers[at].thread);
	}
	wp_group_free(group);
}

int main(int argc, char **argv)
{
	wp_group_config config = {.carriers = CARRIERS, .yield_us = 50, .max_stacks = STACKS};
	int64_t until_ns, patience_ns;

	if (argc != 5)
		return 2;
	seed = strtoull(argv[2], NULL, 10);
	random_main = seed + 1;
	patience_ns = atoll(argv[3]) * 1000 * MS;
	config.work_stealing = strcmp(argv[4], "stealing") == 0; /* otherwise private FIFOs */
	until_ns = wp_clock_ns() + atoll(argv[1]) * 1000 * MS;
	for (uint32_t round = 0; wp_clock_ns() < until_ns; round++) {
		int64_t round_ns = wp_clock_ns() + ROUND_MS * MS;

		config.spares = draw(&random_main, CARRIERS + 2);
		open_group(&config);
		while (wp_clock_ns() < round_ns)
			dump();
		close_group(round % 2 != 0, patience_ns);
	}
	printf("parks %llu, pins %llu, forks %llu, refused %llu, dumps %llu\n",
	       (unsigned long long)wp_load_relaxed(&parks),
	       (unsigned long long)wp_load_relaxed(&pins),
	       (unsigned long long)wp_load_relaxed(&forks),
	       (unsigned long long)wp_load_relaxed(&refused),
	       (unsigned long long)wp_load_relaxed(&dumps));
	return 0;
}
