/* SPDX-License-Identifier: Apache-2.0
 * soak.h - the state of soak.c, and what must hold for a closed group.
 *
 * Spec  specs/sched/Group.tla: EachRunsOnce, NoTaskLost, NothingRunsAfterClose, WaitsForAll. */
#include <stdio.h>
#include <unistd.h>

#include "../chance.h"
#include "base/error.h"
#include "sched/worker.h"

enum {
	TASKS = 4096,
	CARRIERS = 4,
	OUTSIDERS = 3,
	STEPS_MOST = 16,
	EXTRA_ONE_IN = 32,
	EXTRA_TASKS = 4
};
enum fate { FREE, OFFERED, REFUSED, ENDED, BACK, FATES };

/* task: must be first. wants, given: unparks. inside: a thread runs it. Each run hands the rest to
 * the next. */
typedef struct work {
	wp_task task;
	wp_atomic(uint32_t) wants, given, fate, inside;
	uint32_t home, left;
	uint64_t random;
} work;

static work works[TASKS];
static wp_task outsiders[OUTSIDERS];
static wp_group *group, *helpers;
static struct round {
	uint64_t seed;
	uint32_t carriers, domain_of[CARRIERS];
	bool stealing, cancels, two_close;
	int64_t patience_ns; /* of the close; -1: for ever */
} now;
static wp_atomic(uint32_t) taken, accepted, endings, over, is_closing;
static wp_atomic(uint64_t) steps, number;
static uint32_t queued_back[CARRIERS]; /* the close */
static uint64_t sums[FATES], stolen, parked_back;

/* Ends the program. */
static void fail(const char *what)
{
	printf("seed %llu, round %llu (%u carriers, stealing %d, cancel %d, deadline %lld ns): "
	       "%s\n",
	       (unsigned long long)seed, (unsigned long long)wp_load_relaxed(&number), now.carriers,
	       now.stealing, now.cancels, (long long)now.patience_ns, what);
	fflush(stdout);
	_exit(1);
}

static void check_carrier(wp_worker *one)
{
	wp_carrier_tasks *home = &one->home;
	if (!wp_mpsc_is_quiescent(&home->carrier.queue) ||
	    !wp_mpsc_is_quiescent(&home->carrier.inbox) ||
	    wp_mpsc_has_published(&home->carrier.queue) ||
	    wp_mpsc_has_published(&home->carrier.inbox))
		fail("a queue is not empty");
	if (home->tasks != NULL || home->count != 0)
		fail("a list is not empty");
	if (wp_carrier_tasks_runnable(home) != queued_back[one->index])
		fail("pushed and begun do not balance");
	if (wp_load_relaxed(&home->carrier.word) != WP_RUNNING)
		fail("a carrier has ended, and is not RUNNING");
}

static void check(void)
{
	uint64_t fates[FATES] = {0}, runs = 0, done = 0, searches = 0, ends = 0;
	uint32_t count = wp_load_relaxed(&taken) < TASKS ? wp_load_relaxed(&taken) : TASKS;

	for (uint32_t index = 0; index < now.carriers; index++) {
		wp_carrier_counts counts = wp_group_counts(group, index);
		wp_domain *domain = &group->domains[index];

		check_carrier(&group->workers[index]);
		if (wp_load_relaxed(&domain->searching) != 0 ||
		    !wp_idle_set_is_empty(&domain->idle, domain->count))
			fail("the token is taken, or somebody idle");
		runs += counts.runs;
		stolen += counts.directed + counts.probed + counts.recheck;
		ends += counts.directed + counts.fruitless +
			wp__count_read(&domain->counts.no_idle);
		searches += wp__count_read(&domain->counts.started);
	}
	for (uint32_t k = 0; k < count; k++) {
		fates[wp_load_relaxed(&works[k].fate)]++;
		if (works[k].task.ended == NULL)
			done += wp_task_is_done(&works[k].task);
	}
	if (fates[FREE] + fates[OFFERED] != 0)
		fail("a task was accepted, has not ended and was not handed back");
	if (fates[ENDED] + fates[BACK] != wp_load_relaxed(&accepted) ||
	    runs != wp_load_relaxed(&steps))
		fail("tasks or runs do not balance");
	if (searches != ends || (!now.stealing && searches != 0))
		fail("searches do not balance");
	if (fates[ENDED] != done + wp_load_relaxed(&endings))
		fail("a task has ended, and nobody was told");
	if (fates[BACK] != 0 && !now.cancels && now.patience_ns < 0)
		fail("a close did not wait for all");
	for (int fate = 0; fate < FATES; fate++)
		sums[fate] += fates[fate];
}
