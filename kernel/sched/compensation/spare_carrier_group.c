/* SPDX-License-Identifier: Apache-2.0
 * spare_carrier_group.c - the spare carriers of a group: their threads, queues, wakes. See
 * group_placement.h, spare_carrier.h. Not explored, because it makes threads:
 * stress/scenarios/sched/compensation/spare_carrier.c has the functions that it calls. */
#define _GNU_SOURCE
#include <sched.h>

#include "sched/placement/group_placement.h"

static wp_worker *worker_at(void *arg, uint32_t index)
{
	return &((wp_group_placement *)arg)->group->workers[index];
}

/* Runs on the CPUs of the thread that made the group, then as any carrier. */
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
	wp__group_placement_move(arg, worker_at(arg, index));
}

static void wake(void *arg, uint32_t index)
{
	wp_timers_nudge(&worker_at(arg, index)->home.carrier);
}

void wp__spare_carrier_group_init(wp_group_placement *placed)
{
	placed->replaced =
		(wp_spare_carriers){.start = start, .move = move, .wake = wake, .arg = placed};
	wp_spare_carriers_init(&placed->replaced, &placed->placement, placed->group->size);
	CPU_ZERO(&placed->cpus);
	sched_getaffinity(0, sizeof(cpu_set_t), &placed->cpus);
}

void wp__spare_carrier_group_settle(wp_group_placement *placed)
{
	if (placed->replaced.counts.most != 0)
		wp_spare_carriers_settle(&placed->replaced);
}

void wp__spare_carrier_group_end(wp_group_placement *placed)
{
	wp_spare_carriers_end(&placed->replaced);
}

wp_spare_carrier_group wp_group_spare_carriers(wp_group *group)
{
	if (group->placed == NULL)
		return (wp_spare_carrier_group){0};
	return wp_spare_carriers_counts(&group->placed->replaced);
}
