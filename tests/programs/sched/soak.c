/* SPDX-License-Identifier: Apache-2.0
 * soak.c - many short lives of a group: `soak SECONDS SEED PATIENCE_S`. Exit code 1 and one line
 * with seed, round and error; otherwise 0 and counts.
 *
 *   outsiders: carriers of another group        tasks
 *   start tasks, unpark those that wait         yield, park, start others, end
 *   sometimes unpark any task                   the close: waits, has a deadline, or cancels
 *
 * Why it works  A task that parks asks for one unpark, and most get one. A lost one is a round
 *               without end, which the watch reports. Everything else is counted after each close.
 *               Signals interrupt the close all the time. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "soak.h"

static uint64_t patience_s;
static pthread_t main_thread;

/* Each offered task has one fate. */
static void decide(work *one, enum fate fate)
{
	if (wp_exchange_acquire(&one->fate, fate) != OFFERED)
		fail("a task has two fates: refused, ended or handed back");
}

static enum wp_step step(wp_task *task);

static void ended(wp_task *task)
{
	if (wp_load_relaxed(&((work *)(void *)task)->fate) != ENDED)
		fail("a task that has not ended is said to have");
	wp_fetch_add_relaxed(&endings, 1);
}

/* Starts an unused task on that carrier. False: there is none, or the group is closed. */
static bool start_on(uint32_t home, uint32_t random)
{
	uint32_t mine = wp_load_relaxed(&taken) < TASKS ? wp_fetch_add_relaxed(&taken, 1) : TASKS;
	work *one = &works[mine < TASKS ? mine : 0];

	if (mine >= TASKS)
		return false;
	wp_task_init(&one->task, step, "soak");
	one->task.is_pinned = random % 8 == 0;
	one->task.ended = random % 2 ? ended : NULL;
	one->home = home;
	one->left = random % STEPS_MOST;
	one->random = now.seed + mine + 1;
	wp_store_release(&one->fate, OFFERED);
	if (wp_group_start(group, home, &one->task) == WP_OK) {
		wp_fetch_add_relaxed(&accepted, 1);
		return true;
	}
	decide(one, REFUSED);
	return false;
}

/* One step of the task, which only the caller runs. */
static enum wp_step act(work *mine, uint32_t here)
{
	uint32_t wants = wp_load_relaxed(&mine->wants), what;

	if (wp_load_acquire(&mine->given) != wants)
		return WP_STEP_PARK; /* an extra unpark: its own is still to come */
	if (mine->left == 0) {
		decide(mine, ENDED);
		return WP_STEP_DONE;
	}
	mine->left--;
	what = draw(&mine->random, 8);
	if (what < 2)
		start_on(draw(&mine->random, 2) ? here : draw(&mine->random, now.carriers),
			 draw(&mine->random, 1 << 20));
	if (what < 4)
		return WP_STEP_YIELD;
	wp_store_release(&mine->wants, wants + 1);
	return WP_STEP_PARK;
}

static enum wp_step step(wp_task *task)
{
	work *mine = (work *)(void *)task;
	int here = wp_group_running(group);
	enum wp_step said;

	if (wp_exchange_acquire(&mine->inside, 1) != 0)
		fail("two carriers run a task at once");
	if (here < 0 || ((task->is_pinned || !now.stealing) && (uint32_t)here != mine->home) ||
	    now.domain_of[here] != now.domain_of[mine->home])
		fail("a task runs where it may not");
	wp_fetch_add_relaxed(&steps, 1);
	said = act(mine, (uint32_t)here);
	wp_store_release(&mine->inside, 0);
	return said;
}

static void hand_back(void *arg, wp_task *task, bool was_parked)
{
	work *one = (work *)(void *)task;

	decide(one, BACK);
	queued_back[one->home] += !was_parked;
	parked_back += was_parked;
}

/* Closes it, until it is closed. [any thread but its carriers] */
static void close_it(void)
{
	int64_t until = now.patience_ns < 0 ? WP_FOREVER : wp_clock_ns() + now.patience_ns;

	while (wp_group_close(group, until, now.cancels, hand_back, NULL) != WP_OK)
		until = WP_FOREVER;
}

/* Unparks tasks that wait, and sometimes tasks that do not. */
static void unpark(work *one, uint32_t random)
{
	uint32_t given = wp_load_relaxed(&one->given), wants = wp_load_acquire(&one->wants);

	if (wp_load_acquire(&one->fate) == FREE)
		return;
	if ((given != wants && wp_cas_release(&one->given, &given, wants)) ||
	    (random % EXTRA_ONE_IN == 0 && (one - works) % EXTRA_TASKS == 0))
		wp_task_unpark(&one->task);
}

/* A carrier of another group. */
static enum wp_step outside(wp_task *task)
{
	static wp_atomic(uint64_t) draws;
	uint64_t random = now.seed + wp_fetch_add_relaxed(&draws, 1) * 0x9e3779b97f4a7c15;
	uint32_t count = wp_load_relaxed(&taken);

	count = count < TASKS ? count : TASKS;
	if (task == &outsiders[0] && now.two_close && wp_load_relaxed(&is_closing))
		close_it();
	for (int times = (int)draw(&random, 16); times > 0; times--)
		start_on(draw(&random, now.carriers), draw(&random, 1 << 20));
	for (uint32_t k = draw(&random, 8); k < count; k += 1 + draw(&random, 4))
		unpark(&works[k], draw(&random, 1 << 20));
	return wp_load_relaxed(&over) ? WP_STEP_DONE : WP_STEP_YIELD;
}

static void choose(uint64_t *random)
{
	now = (struct round){.seed = *random,
			     .carriers = 1 + draw(random, CARRIERS),
			     .stealing = draw(random, 2),
			     .cancels = draw(random, 3) == 0,
			     .two_close = draw(random, 4) == 0,
			     .patience_ns = draw(random, 3) ? -1 : (int64_t)draw(random, 2000000)};
	for (uint32_t index = 0; index < CARRIERS; index++) {
		now.domain_of[index] = now.seed % 4 == 0 ? index % 2 * (now.carriers > 1) : 0;
		queued_back[index] = 0;
	}
	memset(works, 0, sizeof(works));
	wp_init(&taken, 0);
	wp_init(&accepted, 0);
	wp_init(&endings, 0);
	wp_init(&steps, 0);
	wp_init(&over, 0);
	wp_init(&is_closing, 0);
}

static void play(uint64_t *random)
{
	uint32_t enough = draw(random, TASKS);

	if (wp_group_new(&group, &(wp_group_config){.carriers = now.carriers,
						    .yield_us = 50,
						    .work_stealing = now.stealing,
						    .domain_of = now.domain_of}) != WP_OK ||
	    wp_group_new(&helpers, &(wp_group_config){.carriers = OUTSIDERS, .yield_us = 50}) !=
		    WP_OK)
		fail("no threads");
	for (uint32_t k = 0; k < OUTSIDERS; k++) {
		wp_task_init(&outsiders[k], outside, "outsider");
		wp_group_start(helpers, k, &outsiders[k]);
	}
	while (wp_load_relaxed(&taken) < enough)
		sched_yield();
	wp_store_release(&is_closing, 1);
	close_it();
	wp_store_release(&over, 1);
	while (wp_group_close(helpers, WP_FOREVER, false, NULL, NULL) != WP_OK)
		continue;
	check();
	wp_group_free(group);
	wp_group_free(helpers);
}

/* Reports a round that does not end, and sends the signals. */
static void *watch(void *unused)
{
	uint64_t last = 0, round;

	for (int64_t since = wp_clock_ns();;) {
		nanosleep(&(struct timespec){0, 1000000}, NULL);
		pthread_kill(main_thread, SIGUSR1);
		round = wp_load_relaxed(&number);
		if (round != last)
			since = wp_clock_ns();
		else if (wp_clock_ns() - since > (int64_t)patience_s * 1000000000)
			fail("it hangs");
		last = round;
	}
	return unused;
}

static void ignore(int unused)
{
}

int main(int argc, char **argv)
{
	int64_t until = wp_clock_ns() + (argc > 1 ? atoll(argv[1]) : 1) * 1000000000;
	pthread_t watcher;
	uint64_t random;

	seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
	patience_s = argc > 3 ? strtoull(argv[3], NULL, 10) : 60;
	random = seed * 2 + 1;
	main_thread = pthread_self();
	sigaction(SIGUSR1, &(struct sigaction){.sa_handler = ignore}, NULL);
	pthread_create(&watcher, NULL, watch, NULL);
	pthread_detach(watcher);
	do {
		wp_fetch_add_relaxed(&number, 1);
		choose(&random);
		play(&random);
	} while (wp_clock_ns() < until);
	printf("rounds %llu, ended %llu, refused %llu, handed back %llu (%llu parked), stolen "
	       "%llu\n",
	       (unsigned long long)wp_load_relaxed(&number), (unsigned long long)sums[ENDED],
	       (unsigned long long)sums[REFUSED], (unsigned long long)sums[BACK],
	       (unsigned long long)parked_back, (unsigned long long)stolen);
	return 0;
}
