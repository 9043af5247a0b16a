/* SPDX-License-Identifier: Apache-2.0
 * worker_trace.h - the events of a carrier (trace.h). The holder of the carrier's role (role.h)
 * writes them. */
#ifndef WP_WORKER_TRACE_H
#define WP_WORKER_TRACE_H

#include "sched/worker.h"

/* Returns true if tracing is on. If it is off, nothing is done for events. */
WP_INLINE bool wp__worker_is_traced(wp_worker *mine)
{
	return wp_event_ring_is_on(&mine->group->tracing.on);
}

WP_INLINE int64_t wp__worker_now_ns(wp_worker *mine)
{
	return wp__worker_is_traced(mine) ? wp_clock_ns() : 0;
}

WP_INLINE void wp__worker_trace(wp_worker *mine, wp_trace_event event)
{
	event.duration_ns = wp_clock_ns() - event.begin_ns;
	wp__trace_add(mine->group, mine->index, &event);
}

/* Returns the number of tasks that are queued there, for an event. */
WP_INLINE uint32_t wp__worker_depth(wp_worker *mine, wp_carrier_tasks *home)
{
	return wp__worker_is_traced(mine) ? (uint32_t)wp_carrier_tasks_runnable(home) : 0;
}

WP_INLINE uint32_t wp__worker_home_of(wp_task *task)
{
	return ((wp_worker *)(void *)task->home)->index;
}

#endif
