/* SPDX-License-Identifier: Apache-2.0
 * jobs.c - tasks whose step is a Python callable; see binding.h. */
#include "binding.h"

#include <stdlib.h>

/* 88 bytes. step, number: Python's. was_parked: when it was handed back. */
typedef struct job {
	wp_task task; /* first, so that task and job have one address */
	int (*step)(wp_task *job);
	uint64_t number;
	bool was_parked;
} job;

static enum wp_step call(wp_task *task)
{
	return (enum wp_step)((job *)(void *)task)->step(task);
}

wp_task *wp__job_new(int (*step)(wp_task *job), uint64_t number, bool is_pinned, const char *name)
{
	job *made = malloc(sizeof *made);

	if (made == NULL)
		return NULL;
	wp_task_init(&made->task, call, name);
	made->task.ended = wp__job_free;
	made->task.is_pinned = is_pinned;
	made->step = step;
	made->number = number;
	return &made->task;
}

uint64_t wp__job_number(wp_task *task)
{
	return task->is_virtual ? wp__vthread_id((wp_vthread *)(void *)task)
				: ((job *)(void *)task)->number;
}

bool wp__job_is_virtual(wp_task *task)
{
	return task->is_virtual;
}

void wp__job_free(wp_task *task)
{
	if (!task->is_virtual)
		free(task);
}

wp_task *wp__job_next(wp_task *task)
{
	return task->next;
}

bool wp__job_was_parked(wp_task *task)
{
	wp_vthread *thread = (wp_vthread *)(void *)task;

	return task->is_virtual ? wp__vthread_state(thread) == WP_TASK_CANCELLED
				: ((job *)(void *)task)->was_parked;
}

/* In front of the list: what was handed back is in no other. [the close | wait-free] */
static void keep(void *back, wp_task *task, bool was_parked)
{
	wp_task **first = back;

	if (!task->is_virtual)
		((job *)(void *)task)->was_parked = was_parked;
	task->next = *first;
	*first = task;
}

int wp__group_close(wp_group *group, int64_t deadline_ns, bool cancel, wp_task **back)
{
	return wp_group_close(group, deadline_ns, cancel, keep, back);
}
