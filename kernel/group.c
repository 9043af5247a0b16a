/* SPDX-License-Identifier: Apache-2.0
 * group.c - the threads of a group, and its close. Not explored, for it makes threads: stress/home.c
 * has the lists. */
#include "group.h"

#include <errno.h>
#include <pthread.h>

#include "error.h"
#include "mutex.h"
#include "placed.h"
#include "worker.h"

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

/* WP_OK: no list has a task. [the close | blocks] */
static int wait_all(wp_group *group, int64_t deadline_ns)
{
	int code = WP_OK;

	for (uint32_t index = 0; index < group->config.carriers && code == WP_OK; index++)
		code = wp__home_wait(&group->workers[index].home, deadline_ns);
	return code;
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

/* When no carrier runs any more. In turns: what is on one's list may be queued at another. WP_OK: all
 * lists are empty; WP_TIMEOUT, WP_INTERRUPTED: but for what schedulers have. [the close | waits for
 * pushes that are on their way, and for schedulers] */
static int take_all_back(wp_group *group, int64_t deadline_ns)
{
	int code = WP_OK;

	while (take_back(group) != 0) {
		if (code != WP_OK)
			return code;
		for (uint32_t index = 0; index < group->config.carriers && code == WP_OK; index++)
			code = wp__home_wait_given(&group->workers[index].home, deadline_ns);
		wp_yield();
	}
	return WP_OK;
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

/* [who is closing it | blocks] */
static int close_once(wp_group *group, int64_t deadline_ns, bool cancel, told *each,
		      void *arg)
{
	int64_t given_ns = at_least_grace(deadline_ns);
	int code;

	for (uint32_t index = 0; index < group->config.carriers; index++)
		wp__home_shut(&group->workers[index].home);
	/* Once the stops are out, carriers leave tasks behind: there is nothing to wait for. */
	if (!cancel && !group->is_stopping && wait_all(group, deadline_ns) == WP_INTERRUPTED)
		return WP_INTERRUPTED;
	group->is_stopping = true;
	code = workers_join(group, with_grace(deadline_ns));
	if (code != WP_OK)
		return code;
	if (group->placed != NULL)
		wp__supervise_end(group->placed);
	for (uint32_t index = 0; index < group->config.carriers; index++)
		wp_timers_clear(&group->workers[index].home.timers);
	code = take_all_back(group, given_ns);
	if (code != WP_OK)
		return code;
	hand_back(group, each, arg);
	group->is_closed = true;
	return WP_OK;
}

/* One close at a time: waits for another's as long as its own may take. [any thread | blocks] */
static int enter_close(wp_group *group, int64_t deadline_ns)
{
	int code = WP_OK;

	wp_lock_acquire(&group->closing);
	while (group->is_closing && code == WP_OK)
		code = wp_cond_wait(&group->left, &group->closing, deadline_ns);
	if (code == WP_OK)
		group->is_closing = true;
	wp_lock_release(&group->closing);
	return code;
}

static void leave_close(wp_group *group)
{
	wp_lock_acquire(&group->closing);
	group->is_closing = false;
	wp_cond_signal(&group->left);
	wp_lock_release(&group->closing);
}

int wp_group_close(wp_group *group, int64_t deadline_ns, bool cancel, told *each,
		   void *arg)
{
	int code;

	if (wp_group_running(group) >= 0)
		return WP_FORBIDDEN;
	code = enter_close(group, with_grace(deadline_ns));
	if (code != WP_OK)
		return code;
	if (!group->is_closed)
		code = close_once(group, deadline_ns, cancel, each, arg);
	leave_close(group);
	return code;
}

#endif
