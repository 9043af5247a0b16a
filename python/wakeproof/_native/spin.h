/* SPDX-License-Identifier: Apache-2.0
 * spin.h - an OS thread and a carrier that take turns look for one another before they sleep; for
 * core.c only.
 *
 *   OS thread                             carrier
 *     starts a virtual thread               looks for one: it need not be woken
 *     gil_is_due := true                    gil_is_due? looks until it is not
 *     lets the GIL go; gil_is_due := false  takes the GIL
 *     looks for its permit                  the step; unpark; gil_is_due := true
 *     gil_is_due? looks until it is not     lets the GIL go; gil_is_due := false
 *     takes the GIL                         looks for the next virtual thread
 *
 * Why it works   A look ends after LOOK_NS, and then whoever looked sleeps as if it had not: in the
 *                kernel's park, or for the GIL. Nothing waits for a word of this file, so each may be
 *                stale. A sleep and its wakeup take about LOOK_NS of CPU time, so a look costs at most
 *                what it can save; and one that has found nothing is left out so often before the next
 *                that looks which never find anything cost next to nothing. With one CPU there is
 *                nothing to look for.
 * The GIL        Who wants it while another thread has it sleeps, and has to be woken. Hence who has
 *                woken another thread, and is about to let the GIL go, says so.
 * Batches        A carrier that lets the GIL go after a step has it again before the thread that wants
 *                it is awake, which then sleeps on; and to let it go and take it costs as much as a short
 *                step. So it keeps the GIL for BATCH_STEPS steps. Once it has woken an OS thread it keeps
 *                it for BATCH_NS, and then looks for its arrival. Whoever wants the GIL meanwhile
 *                gets it as always: the interpreter gives it away in the midst of a step.
 * Prior art      Karlin and others, Empirical studies of competitive spinning, SOSP 1991.
 * Evidence       tests/python/test_spin.py; wakeproof bench. */
#ifndef WP__SPIN_H
#define WP__SPIN_H

#include <sched.h>
#include <time.h>

#include "free.h"

#ifdef Py_GIL_DISABLED
enum { HAS_GIL = false };
#else
enum { HAS_GIL = true };
#endif
enum { LOOK_NS = 20000, BATCH_NS = 500000, BATCH_STEPS = 32, MISSES_MOST = 10 };

/* Of one OS thread. left_out: how often it does not look before it looks again. */
typedef struct spin {
	unsigned misses, left_out;
} spin;

static _Thread_local spin for_permit, for_start, for_arrival;
static bool has_cpus;     /* more than one */
static bool gil_is_due;   /* who has it has woken another thread, and lets it go in a moment */
static int sleepers;      /* OS threads that wait for a permit */
static int watchers;      /* carriers that look for a start */
static unsigned arrivals; /* OS threads that have the GIL after a wait for a permit */
/* For tests: steps in a batch, but for the first, that has woken no OS thread, that has woken one; looks
 * that have missed, that have found. */
static Py_ssize_t followed[2], looks[2];

static void count_cpus(void)
{
	cpu_set_t mine;

	has_cpus = sched_getaffinity(0, sizeof mine, &mine) != 0 || CPU_COUNT(&mine) > 1;
}

/* Whether at most one OS thread waits for a permit, when `more` do. Several keep a carrier busy, and
 * share the CPUs; then a look takes what others could use. */
static bool is_only_one(int more)
{
	return __atomic_add_fetch(&sleepers, more, __ATOMIC_RELAXED) <= 1;
}

static bool may_look(spin *of)
{
	if (of->left_out == 0)
		return has_cpus;
	of->left_out--;
	return false;
}

static void has_looked(spin *of, bool found)
{
	of->misses = found ? 0 : of->misses < MISSES_MOST ? of->misses + 1 : MISSES_MOST;
	of->left_out = (1u << of->misses) - 1;
	__atomic_add_fetch(&looks[found], 1, __ATOMIC_RELAXED);
}

static int64_t clock_ns(void)
{
	struct timespec now = {0};

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Whoever gives up says it is not due, so that it costs one look only. */
static void await_gil(int64_t until_ns)
{
	while (LOOK(gil_is_due))
		if (clock_ns() >= until_ns)
			PUT(gil_is_due, false);
}

#endif
