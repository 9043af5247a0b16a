/* SPDX-License-Identifier: Apache-2.0
 * carrier_tasks_back.c - what a close hands back: tasks that are queued or parked. See carrier_tasks.h. */
#include "sched/local_queue_carrier.h"
#include "sched/carrier_tasks.h"
#ifndef WP_EXPLORE
#include "sched/vthread_start.h"
#endif

static wp_task *pop(wp_home *home)
{
	/* Its carrier has left, and so have all who steal: the close is the consumer. */
	wp_mpsc_node *node = wp_twin(home_lane_left) ? NULL : wp_lane_pop(&home->lane);

	if (node == NULL) {
		node = home->next;
		home->next = NULL;
	}
	if (node == NULL) /* who pushes to a marked carrier takes, too */
		node = wp__home_is_placed(home) ? wp_carrier_steal(&home->carrier)
						: wp_mpsc_pop(&home->carrier.queue);
	if (node == NULL)
		node = wp_mpsc_pop(&home->carrier.inbox);
	if (node == NULL && !wp_twin(home_ring_left))
		node = wp__bounded_left(&home->carrier);
	return (wp_task *)(void *)node;
}

static bool cancel(wp_task *task)
{
	return task->is_virtual ? wp__vthread_cancel((wp_vthread *)(void *)task)
				: wp__task_cancel(task);
}

/* One that is parked, and that nobody is about to push. [the close] */
static wp_task *cancel_parked(wp_home *home)
{
	wp_task *task;

	wp_lock_acquire(&home->lock);
	task = home->tasks;
	while (task != NULL && !cancel(task) && !wp_twin(home_drain_notified))
		task = task->next;
	if (task != NULL)
		wp__home_unlist(home, task);
	wp_lock_release(&home->lock);
	return task;
}

/* Its scheduler has it: it runs, or is to run, on any thread. [the lock's holder | wait-free] */
static bool is_given(wp_task *task)
{
	wp_vthread *thread = (wp_vthread *)(void *)task;
	uint32_t word;

	if (!task->is_virtual || thread->scheduler == NULL)
		return false;
	word = wp__vthread_look(thread);
	return (word & WP_VTHREAD_STATE) != WP_TASK_PARKED || (word & WP_VTHREAD_ENDS) != 0;
}

static bool are_all_given(wp_home *home)
{
	wp_task *task = home->tasks;

	if (wp_twin(home_given_alone) && task != NULL && task->next != NULL)
		return false;
	while (task != NULL && is_given(task))
		task = task->next;
	return home->tasks != NULL && task == NULL;
}

int wp__home_wait_given(wp_home *home, int64_t deadline_ns)
{
	int code = WP_OK;

	wp_lock_acquire(&home->lock);
	while (code == WP_OK && are_all_given(home))
		code = wp_cond_wait(&home->ended, &home->lock, deadline_ns);
	if (!are_all_given(home))
		code = WP_OK;
	wp_lock_release(&home->lock);
	return code;
}

wp_task *wp__home_hand_back(wp_home *home, bool *was_parked)
{
	wp_task *task = pop(home);
	wp_home *listed;

	*was_parked = false;
	if (task == NULL) {
		task = cancel_parked(home);
		*was_parked = task != NULL;
		return task;
	}
	if (wp_twin(group_drain_reset))
		wp_store_relaxed(&task->word, WP_TASK_PARKED); /* twin writes K3 */
	listed = wp_twin(home_back_unlisted) ? home : wp__home_listed(task);
	wp_lock_acquire(&listed->lock);
	wp__home_unlist(listed, task);
	wp_lock_release(&listed->lock);
	return task;
}
