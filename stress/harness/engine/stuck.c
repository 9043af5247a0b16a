/* SPDX-License-Identifier: Apache-2.0
 * stuck.c - an actor that loops for ever is found by the CPU time that it burns, and taken out by a
 * signal.
 *
 *   watchdog                                  actor
 *   no member moves from one rendezvous to    spins on a word that no thread will change
 *   the next, and each missing member has
 *   burnt CPU_NS: signal                      handler: longjmp; its states are discarded
 *
 * Why it works  CPU time is used because an actor that waits for a CPU burns none. Unlike watch.c
 *               this is no proof: an actor may loop for CPU_NS and then go on. */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "engine.h"

enum { CPU_NS = 300000000 }; /* a stride takes a thousandth of it */

/* By number, so that a thread that has ended meanwhile does no harm. */
static int64_t cpu_ns(long tid)
{
	struct timespec used;

	/* Linux encodes the clock "CPU time of tid" like this. */
	if (clock_gettime((clockid_t)(~tid * 8 + 6), &used) != 0)
		return 0;
	return (int64_t)used.tv_sec * 1000000000 + used.tv_nsec;
}

static void leave_actor(int signal)
{
	(void)signal;
	if (stress_self && stress_self->in_actor)
		longjmp(stress_self->out_of_actor, STRESS_STUCK);
}

bool stress_stuck_prepare(void)
{
	struct sigaction action = {.sa_handler = leave_actor, .sa_flags = SA_NODEFER | SA_RESTART};

	return sigaction(SIGUSR1, &action, NULL) == 0;
}

/* Marks the members that have not come to a rendezvous that others have reached, or all members if
 * none has come; sleeping members are not marked. Returns a number that changes when any member
 * moves; 0: not all have started. */
static uint64_t find_missing(stress_run *run, bool missing[STRESS_ACTORS])
{
	uint64_t arrived[STRESS_ACTORS], least = UINT64_MAX, sum = 0;

	for (int k = 0; k < run->actors; k++) {
		arrived[k] = wp_load_acquire(&run->members[k].arrived);
		least = arrived[k] < least ? arrived[k] : least;
		sum += arrived[k];
	}
	for (int k = 0; k < run->actors; k++) {
		uint64_t turn = wp_load_acquire(&run->members[k].watch.turn);

		missing[k] = arrived[k] == least && turn % 2 == 0;
		sum += turn;
	}
	return least ? sum : 0;
}

/* Called every few milliseconds. Takes stuck actors out. [the watchdog] */
void stress_stuck_look(stress_run *run, stress_stuck *seen)
{
	bool missing[STRESS_ACTORS];
	uint64_t progress = find_missing(run, missing);
	bool is_fresh = progress != seen->progress, is_stuck = !is_fresh;

	seen->progress = progress;
	if (!progress)
		return;
	for (int k = 0; k < run->actors; k++) {
		int64_t used = cpu_ns(run->members[k].tid);

		if (is_fresh)
			seen->cpu_ns[k] = used;
		if (missing[k] && used - seen->cpu_ns[k] < CPU_NS)
			is_stuck = false;
	}
	if (!is_stuck)
		return;
	for (int k = 0; k < run->actors; k++)
		if (missing[k])
			syscall(SYS_tgkill, getpid(), run->members[k].tid, SIGUSR1);
	seen->progress = 0;
}
