/* SPDX-License-Identifier: Apache-2.0
 * watch.c - proves that an actor sleeps for ever, counts it, and gets it out.
 *
 * Why it works  One look finds that every actor of a round is either done or in a wait that the
 *               kernel shows: state S, in futex, with that address, without a deadline. A second
 *               look, begun after the first is complete, finds the same rounds and turns. No actor
 *               ran between the two, so no actor is left that could wake another. A descheduled
 *               actor is not in state S. Neither is a sleeper with a wake on its way to another
 *               CPU, although its `syscall` file still shows the futex. Without the test for S, a
 *               guest that had lost its other CPU gave one false alarm in 300,000 rounds.
 * No .blocking  An actor may sleep in a scenario that does not declare it. Then the look is at the
 *               rendezvous: an actor that has come there waits for the others, and each of the
 *               others is in such a wait.
 * By state      Where /proc has no usable `syscall` file, as in an emulator, state S over
 *               TIMES_BY_STATE looks takes its place. That cannot recognise a sleep with a deadline
 *               that is longer. */
#define _GNU_SOURCE
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "engine.h"
#include "base/futex.h"

enum {
	LOOK_NS = 100000,        /* from look to look; the cost is about 3 % of one CPU */
	LOOK_LOOPS_NS = 5000000, /* if no actor may sleep */
	TIMES = 2,               /* equal looks that are a proof */
	TIMES_BY_STATE = 300,    /* 30 ms at least */
	CALIBRATE = 500,         /* looks at a known sleeper before the syscall file is given up */
};

/* All zero: an actor runs. */
typedef struct look {
	uint64_t round, turns[STRESS_ACTORS];
} look;

static size_t read_task(long tid, const char *file, char *text, size_t size)
{
	char path[64];
	FILE *stream;
	size_t length;

	snprintf(path, sizeof(path), "/proc/self/task/%ld/%s", tid, file);
	stream = fopen(path, "r");
	if (!stream)
		return 0;
	length = fread(text, 1, size - 1, stream);
	text[length] = 0;
	fclose(stream);
	return length;
}

/* True: the kernel shows this thread asleep in a futex wait on this word, without a deadline. */
static bool in_futex(long tid, uintptr_t word)
{
	char text[256];
	long number;
	unsigned long address, operation, value, deadline;

	if (!read_task(tid, "syscall", text, sizeof(text)))
		return false;
	if (sscanf(text, "%ld %lx %lx %lx %lx", &number, &address, &operation, &value, &deadline) !=
	    5)
		return false;
	return number == SYS_futex && address == word && deadline == 0;
}

static bool in_state_s(long tid)
{
	char text[512];
	const char *end;

	if (!read_task(tid, "stat", text, sizeof(text)))
		return false;
	end = strrchr(text, ')');
	return end && end[1] == ' ' && end[2] == 'S';
}

/* The turn of a sleep that the kernel confirms; else 0. */
static uint64_t sleeping_turn(stress_run *run, stress_member *member)
{
	uint64_t turn = wp_load_acquire(&member->watch.turn);
	bool asleep;

	if (turn % 2 == 0)
		return 0;
	asleep = in_state_s(member->tid);
	if (asleep && !wp_load_relaxed(&run->watch_by_state))
		asleep = in_futex(member->tid, wp_load_relaxed(&member->watch.word));
	return asleep && wp_load_acquire(&member->watch.turn) == turn ? turn : 0;
}

/* True: every actor is done or asleep, and at least one is asleep. */
static bool look_at(stress_run *run, look *seen)
{
	bool is_any_asleep = false;

	memset(seen, 0, sizeof(*seen));
	seen->round = wp_load_acquire(&run->round);
	for (int k = 0; k < run->actors; k++) {
		stress_member *member = &run->members[k];

		if (wp_load_acquire(&member->watch.done) == seen->round)
			continue;
		seen->turns[k] = sleeping_turn(run, member);
		if (!seen->turns[k])
			return false;
		is_any_asleep = true;
	}
	return is_any_asleep && wp_load_acquire(&run->round) == seen->round;
}

static void rescue(stress_run *run, const look *seen)
{
	uint32_t changed = 0;

	for (int k = 0; k < run->actors; k++) {
		stress_watch *watch = &run->members[k].watch;
		wp_atomic(uint32_t) *word;

		if (!seen->turns[k])
			continue;
		word = (void *)wp_load_relaxed(&watch->word);
		changed |= wp_load_relaxed(word) != wp_load_relaxed(&watch->expected);
	}
	wp_store_relaxed(&run->rescued_change, changed);
	wp_store_release(&run->rescued_round, seen->round);
	for (int k = 0; k < run->actors; k++)
		if (seen->turns[k])
			wp_store_release(&run->members[k].watch.rescued, 1);
	for (int k = 0; k < run->actors; k++) {
		stress_watch *watch = &run->members[k].watch;

		if (seen->turns[k])
			wp_futex_wake((void *)wp_load_relaxed(&watch->word), INT_MAX);
	}
}

static void nap(long ns)
{
	nanosleep(&(struct timespec){0, ns}, NULL);
}

typedef struct known {
	wp_atomic(uint32_t) word;
	wp_atomic(uint32_t) tid;
} known;

static void *sleep_known(void *argument)
{
	known *sleeper = argument;

	wp_store_release(&sleeper->tid, (uint32_t)syscall(SYS_gettid));
	while (wp_load_acquire(&sleeper->word) == 0)
		wp_futex_wait(&sleeper->word, 0, WP_FOREVER);
	return NULL;
}

/* Does the syscall file show a thread that is known to sleep? */
static bool can_see_futex(void)
{
	known sleeper = {0};
	pthread_t thread;
	bool seen = false;

	if (pthread_create(&thread, NULL, sleep_known, &sleeper) != 0)
		return false;
	for (int i = 0; i < CALIBRATE && !seen; i++) {
		nap(LOOK_NS);
		seen = in_futex((long)wp_load_acquire(&sleeper.tid), (uintptr_t)&sleeper.word);
	}
	wp_store_release(&sleeper.word, 1);
	wp_futex_wake(&sleeper.word, 1);
	pthread_join(thread, NULL);
	return seen;
}

/* True: every actor has come to the next rendezvous or is asleep, and at least one is asleep. */
static bool look_at_block(stress_run *run, look *seen)
{
	uint64_t arrived[STRESS_ACTORS], least = UINT64_MAX;

	memset(seen, 0, sizeof(*seen));
	for (int k = 0; k < run->actors; k++) {
		arrived[k] = wp_load_acquire(&run->members[k].arrived);
		least = arrived[k] < least ? arrived[k] : least;
		seen->round += arrived[k];
	}
	for (int k = 0; k < run->actors; k++) {
		if (arrived[k] != least)
			continue;
		seen->turns[k] = sleeping_turn(run, &run->members[k]);
		if (!seen->turns[k])
			return false;
	}
	return true;
}

/* Is an actor inside wp_futex_wait? */
static bool waits(stress_run *run)
{
	for (int k = 0; k < run->actors; k++)
		if (wp_load_acquire(&run->members[k].watch.turn) % 2)
			return true;
	return false;
}

/* Rescues the sleepers if enough looks were equal. */
static void look_again(stress_run *run, const look *now, look *before, int *times, int enough)
{
	*times = *times && memcmp(before, now, sizeof(*now)) == 0 ? *times + 1 : 1;
	*before = *now;
	if (*times >= enough) {
		rescue(run, now);
		*times = 0;
	}
}

/* No actor should sleep here. Looks for endless loops, and for actors that sleep all the same. */
static void watch_loops(stress_run *run)
{
	stress_stuck stuck = {0};
	look before = {0}, now;
	int times = 0, enough = 0;

	while (!wp_load_acquire(&run->watch_stop)) {
		nap(LOOK_LOOPS_NS);
		if (!enough && waits(run)) {
			wp_store_relaxed(&run->watch_by_state, !can_see_futex());
			enough = wp_load_relaxed(&run->watch_by_state) ? TIMES_BY_STATE : TIMES;
		}
		if (!enough || !look_at_block(run, &now)) {
			stress_stuck_look(run, &stuck);
			times = 0;
			continue;
		}
		look_again(run, &now, &before, &times, enough);
	}
}

void *stress_watchdog(void *argument)
{
	stress_run *run = argument;
	look before = {0}, now;
	stress_stuck stuck = {0};
	int times = 0, enough = TIMES;

	if (!run->test->blocking) {
		watch_loops(run);
		return NULL;
	}
	prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
	if (!can_see_futex()) {
		wp_store_relaxed(&run->watch_by_state, 1);
		enough = TIMES_BY_STATE;
	}
	while (!wp_load_acquire(&run->watch_stop)) {
		nap(LOOK_NS);
		if (!look_at(run, &now)) {
			stress_stuck_look(run, &stuck);
			times = 0;
			continue;
		}
		look_again(run, &now, &before, &times, enough);
	}
	return NULL;
}
