/* SPDX-License-Identifier: Apache-2.0
 * group.c - the threads of a group, and what its close does to them. Not explored, for it makes threads:
 * stress/home.c has the lists, stress/closing.c the close. */
#include "sched/group.h"

#include <errno.h>
#include <pthread.h>

#include "base/error.h"
#include "sync/mutex.h"
#include "sched/placement/group_placement.h"
#include "sched/worker.h"

#ifndef WP_EXPLORE

typedef void told(void *arg, wp_task *task, bool was_parked);

/* Once. [the close | a system call if it sleeps] */
static void stop(wp_worker *one)
{
	if (one->has_thread && !one->is_stopped)
		wp__home_stop(&one->home, &one->stop);
	one->is_stopped = true;
}

/* WP_OK: it has ended. WP_TIMEOUT, WP_INTERRUPTED. [the close | blocks] */
static int await_exit(wp_worker *one, int64_t deadline_ns)
{
	/* [J2] relaxed: ordered by the join of its thread, which gives the close all that this carrier did;
	 * pairs J1; upholds Group!NothingRunsAfterClose. */
	while (one->has_thread && wp_load_relaxed(&one->exited) == 0) {
		int code = wp_futex_wait(&one->exited, 0, deadline_ns);

		if (code == WP_TIMEOUT || code == WP_INTERRUPTED)
			return code;
	}
	return WP_OK;
}

/* Tells all carriers to stop and waits for every exit that comes in time. WP_OK: all threads have
 * ended. WP_TIMEOUT, WP_INTERRUPTED: call it again. [the close | blocks] */
static int workers_join(wp_group *group, int64_t deadline_ns)
{
	int code, all = WP_OK;

	if (group->placed != NULL)
		wp__replaced_end(group->placed);
	for (uint32_t index = 0; index < group->config.carriers; index++)
		stop(&group->workers[index]);
	for (uint32_t index = 0; index < group->config.carriers; index++) {
		code = await_exit(&group->workers[index], deadline_ns);
		if (code == WP_INTERRUPTED)
			return code;
		all = code == WP_OK ? all : code;
	}
	if (all != WP_OK)
		return all;
	wp__spares_end(&group->spares);
	for (uint32_t index = 0; index < group->config.carriers; index++) {
		if (group->workers[index].has_thread)
			pthread_join(group->workers[index].thread, NULL);
		group->workers[index].has_thread = false;
	}
	return WP_OK;
}

/* Its threads: 0, or why one does not start. [who makes it | system calls] */
static int start_all(wp_group *group)
{
	for (uint32_t index = 0; index < group->size; index++) {
		wp_worker *one = &group->workers[index];
		int code = pthread_create(&one->thread, NULL, wp__worker_begin, one);

		one->has_thread = code == 0;
		if (code != 0)
			return code;
	}
	return group->placed == NULL ? 0 : wp__supervise_begin(group->placed);
}

int wp_group_new(wp_group **group, const wp_group_config *config)
{
	wp_group_config settled = *config;
	wp_group *made;
	int code = wp__group_settle(&settled);

	if (code != WP_OK)
		return code;
	made = wp__group_make(&settled);
	if (made == NULL)
		return WP_SYSTEM;
	code = start_all(made);
	if (code == 0) {
		*group = made;
		return WP_OK;
	}
	while (workers_join(made, WP_FOREVER) != WP_OK)
		continue; /* a signal handler ran: they run on */
	wp__group_give(made);
	errno = code;
	return WP_SYSTEM;
}

void wp_group_free(wp_group *group)
{
	wp__wakers_wait(&group->wakers);
	wp__group_give(group);
}

/* What is there now, out of the lines in which it stands. Says how many are listed there still.
 * [the close | blocks shortly] */
static uint64_t take_back_of(wp_home *home, wp_taken *taken)
{
	bool was_parked;
	wp_task *task;

	while ((task = wp__home_hand_back(home, &was_parked)) != NULL) {
		if (task->is_virtual) {
			wp__vthread_leave_line((wp_vthread *)(void *)task);
			wp__vthread_abandon_held((wp_vthread *)(void *)task);
		}
		task->next = NULL;
		task->back = was_parked ? &task->next : NULL;
		if (taken->first == NULL)
			taken->first = task;
		else
			taken->last->next = task;
		taken->last = task;
	}
	return wp_home_count(home);
}

/* What is there now. Says how many are listed still. [the close | blocks shortly] */
static uint64_t take_back(wp_group *group)
{
	uint64_t left = 0;

	if (group->placed != NULL)
		wp__placed_give_back(group->placed);
	for (uint32_t index = 0; index < group->config.carriers; index++)
		left += take_back_of(&group->workers[index].home, &group->taken);
	return left;
}

/* Each is handed back when all have left their lines: one may stand in a line that is on the stack of
 * another. [the close | as each] */
static void hand_back(wp_group *group, told *each, void *arg)
{
	wp_task *task;

	while ((task = group->taken.first) != NULL) {
		bool was_parked = task->back != NULL;

		group->taken.first = task->next;
		if (task->is_virtual)
			wp__vthread_abandon((wp_vthread *)(void *)task);
		if (each != NULL)
			each(arg, task, was_parked);
	}
}

static int64_t with_grace(int64_t deadline_ns)
{
	int64_t now_ns;

	if (deadline_ns > WP_FOREVER - WP_CLOSE_GRACE_NS)
		return WP_FOREVER;
	now_ns = wp_clock_ns();
	return (deadline_ns > now_ns ? deadline_ns : now_ns) + WP_CLOSE_GRACE_NS;
}

/* For steps that schedulers have run. */
static int64_t at_least_grace(int64_t deadline_ns)
{
	int64_t grace_ns = wp_clock_ns() + WP_CLOSE_GRACE_NS;

	return deadline_ns > grace_ns ? deadline_ns : grace_ns;
}

/* A close of a group. close: first, for group_close.c knows that alone. */
struct group_close {
	wp_close close;
	wp_group *group;
	told *each;
	void *arg;
};

static wp_group *group_of(wp_close *close)
{
	return ((struct group_close *)(void *)close)->group;
}

static wp_home *home_of(wp_close *close, uint32_t index)
{
	return &group_of(close)->workers[index].home;
}

static void shut(wp_close *close)
{
	close->given_ns = at_least_grace(close->deadline_ns);
	for (uint32_t index = 0; index < close->count; index++)
		wp__home_shut(home_of(close, index));
}

static int join(wp_close *close)
{
	wp_group *group = group_of(close);
	int code = workers_join(group, with_grace(close->deadline_ns));

	if (code != WP_OK)
		return code;
	if (group->placed != NULL)
		wp__supervise_end(group->placed);
	for (uint32_t index = 0; index < close->count; index++)
		wp_timers_clear(&home_of(close, index)->timers);
	return WP_OK;
}

static uint64_t take_group_back(wp_close *close)
{
	return take_back(group_of(close));
}

static void hand_group_back(wp_close *close)
{
	struct group_close *own = (struct group_close *)(void *)close;

	hand_back(own->group, own->each, own->arg);
}

int wp_group_close(wp_group *group, int64_t deadline_ns, bool cancel, told *each,
		   void *arg)
{
	struct group_close own = {.group = group, .each = each, .arg = arg};

	if (wp_group_running(group) >= 0)
		return WP_FORBIDDEN;
	own.close = (wp_close){.turn_ns = with_grace(deadline_ns),
			       .deadline_ns = deadline_ns,
			       .cancels = cancel,
			       .count = group->config.carriers,
			       .home = home_of,
			       .shut = shut,
			       .join = join,
			       .take_back = take_group_back,
			       .hand_back = hand_group_back};
	return wp__close(&group->closing, &own.close);
}

#endif
