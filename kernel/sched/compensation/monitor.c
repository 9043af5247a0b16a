/* SPDX-License-Identifier: Apache-2.0
 * monitor.c - a watchdog thread that periodically looks for carriers which make no progress: see
 * group_placement.h. Not explored, because it is a thread:
 * stress/scenarios/sched/compensation/monitor.c has the functions that it calls. */
#include "sched/placement/group_placement.h"

#include "base/error.h"
#include "sched/run_queues.h"

/* Marks a carrier that is in the same step as at the last look, while something is queued behind it
 * or in the global queue, and moves its queue. The mark stays until the step ends. Meanwhile only what
 * comes to its own queue is moved, and nothing is counted again. [the monitor | as
 * wp__group_placement_move] */
static void look(wp_group_placement *placed, wp_worker *one)
{
	uint64_t step = wp_placement_progress(&one->progress), before = one->seen;
	bool is_marked = one->suspected == step;

	one->seen = step;
	if (step != before || step % 2 == 0 ||
	    !(wp__carrier_has_some(&one->home.carrier) ||
	      (!is_marked && wp_placement_has_global(&placed->placement))))
		return;
	if (wp_placement_suspect(&placed->placement, one->index, &one->progress, step)) {
		if (!is_marked)
			wp__count_shared(&placed->placement.slots[one->index].tally.suspects);
		one->suspected = step;
		wp__group_placement_move(placed, one);
	}
	wp__spare_carrier_group_settle(placed);
}

static void *watch(void *arg)
{
	wp_group_placement *placed = arg;
	wp_group *group = placed->group;
	int64_t period_ns = (int64_t)group->config.monitor_ms * 1000000, until_ns;

	wp_lock_acquire(&placed->watching);
	while (!placed->is_over) {
		until_ns = wp_clock_ns() + period_ns;
		while (!placed->is_over && wp_clock_ns() < until_ns)
			wp_cond_wait(&placed->over, &placed->watching, until_ns);
		for (uint32_t index = 0; !placed->is_over && index < group->config.carriers;
		     index++)
			look(placed, &group->workers[index]);
	}
	wp_lock_release(&placed->watching);
	return NULL;
}

int wp__monitor_begin(wp_group_placement *placed)
{
	int code;

	if (!placed->placement.is_watched)
		return 0;
	code = pthread_create(&placed->monitor, NULL, watch, placed);
	placed->has_monitor = code == 0;
	return code;
}

void wp__monitor_end(wp_group_placement *placed)
{
	if (!placed->has_monitor)
		return;
	wp_lock_acquire(&placed->watching);
	placed->is_over = true;
	wp_cond_signal(&placed->over);
	wp_lock_release(&placed->watching);
	pthread_join(placed->monitor, NULL);
	placed->has_monitor = false;
}
