/* SPDX-License-Identifier: Apache-2.0
 * spare_carrier_group.c - the replacements of a group: their threads, queues, wakes. See group_placement.h, spare_carrier.h.
 * Not explored, for it makes threads: stress/scenarios/sched/compensation/spare_carrier.c has what it calls. */
#define _GNU_SOURCE
#include <sched.h>

#include "sched/placement/group_placement.h"

static wp_worker *worker_at(void *arg, uint32_t index)
{
	return &((wp_placed *)arg)->group->workers[index];
}

/* It runs where the group's maker might. */
static void *begin(void *arg)
{
	wp_worker *mine = arg;

	sched_setaffinity(0, sizeof(cpu_set_t), &mine->group->placed->cpus);
	return wp__worker_begin(mine);
}

static int start(void *arg, uint32_t index)
{
	wp_worker *one = worker_at(arg, index);
	int code = pthread_create(&one->thread, NULL, begin, one);

	one->has_thread = code == 0;
	return code;
}

static void move(void *arg, uint32_t index)
{
	wp__placed_move(arg, worker_at(arg, index));
}

static void wake(void *arg, uint32_t index)
{
	wp_timers_nudge(&worker_at(arg, index)->home.carrier);
}

void wp__replaced_init(wp_placed *placed)
{
	placed->replaced = (wp_replacements){
		.start = start, .move = move, .wake = wake, .arg = placed};
	wp_replacements_init(&placed->replaced, &placed->placement, placed->group->size);
	CPU_ZERO(&placed->cpus);
	sched_getaffinity(0, sizeof(cpu_set_t), &placed->cpus);
}

void wp__replaced_settle(wp_placed *placed)
{
	if (placed->replaced.counts.most != 0)
		wp_replacements_settle(&placed->replaced);
}

void wp__replaced_end(wp_placed *placed)
{
	wp_replacements_end(&placed->replaced);
}

wp_replaced wp_group_replaced(wp_group *group)
{
	if (group->placed == NULL)
		return (wp_replaced){0};
	return wp_replacements_counts(&group->placed->replaced);
}
