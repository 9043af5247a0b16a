/* SPDX-License-Identifier: Apache-2.0
 * trace.c - the rings of a group. */
#include "sched/trace.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "sched/vthread_stackful.h"
#include "sched/worker.h"

_Static_assert(sizeof(wp_trace_event) == WP_EVENT_RING_WORDS * sizeof(uint64_t),
	       "an event is as many words as a slot holds");

static void give(wp_traces *traces)
{
	free(traces->rings);
	free(traces->slots);
	free(traces);
}

/* Makes `count` rings, which continue the numbers of `before`, if there is one. Returns NULL if
 * there is no memory. */
static wp_traces *make(uint32_t count, uint32_t size, wp_traces *before)
{
	wp_traces *traces = calloc(1, sizeof(*traces));

	if (traces == NULL)
		return NULL;
	traces->count = count;
	traces->size = size;
	traces->before = before;
	traces->rings = calloc(count, sizeof(*traces->rings));
	traces->slots = calloc((size_t)count * size, sizeof(*traces->slots));
	if (traces->rings == NULL || traces->slots == NULL) {
		give(traces);
		return NULL;
	}
	for (uint32_t ring = 0; ring < count; ring++)
		wp_event_ring_init(&traces->rings[ring], traces->slots + (size_t)ring * size, size,
				   before == NULL ? 0 : wp_event_ring_count(&before->rings[ring]));
	return traces;
}

/* Switches tracing on, and makes larger rings if needed. [under the lock, or before it is shared |
 * allocates] */
static int switch_on(wp_group *group, uint32_t events)
{
	wp_tracing *tracing = &group->tracing;
	wp_traces *kept = tracing->kept;

	if (events == 0)
		events = kept == NULL ? WP_TRACE_USUAL : kept->size;
	if (kept == NULL || kept->size < events) {
		kept = make(group->config.carriers + 1, events, kept);
		if (kept == NULL)
			return WP_SYSTEM;
		tracing->kept = kept;
	}
	wp_event_ring_switch_to(&tracing->on, kept);
	return WP_OK;
}

int wp__tracing_begin(wp_group *group, uint32_t events)
{
	return events == 0 ? WP_OK : switch_on(group, events);
}

void wp__tracing_end(wp_tracing *tracing)
{
	while (tracing->kept != NULL) {
		wp_traces *before = tracing->kept->before;

		give(tracing->kept);
		tracing->kept = before;
	}
}

int wp_group_trace_on(wp_group *group, uint32_t events)
{
	int code;

	if ((events & (events - 1)) != 0 || events > WP_TRACE_MOST)
		return WP_MISUSED;
	wp_lock_acquire(&group->tracing.lock);
	code = switch_on(group, events);
	wp_lock_release(&group->tracing.lock);
	return code;
}

void wp_group_trace_off(wp_group *group)
{
	wp_lock_acquire(&group->tracing.lock);
	wp_event_ring_switch_to(&group->tracing.on, NULL);
	wp_lock_release(&group->tracing.lock);
}

/* Returns the newest rings, or NULL. [any thread | blocks briefly] */
static wp_traces *kept_of(wp_group *group)
{
	wp_traces *kept;

	wp_lock_acquire(&group->tracing.lock);
	kept = group->tracing.kept;
	wp_lock_release(&group->tracing.lock);
	return kept;
}

uint32_t wp_group_tracing(wp_group *group)
{
	wp_traces *to = wp_event_ring_on(&group->tracing.on);

	return to == NULL ? 0 : to->size;
}

uint32_t wp_group_traced(wp_group *group)
{
	wp_traces *kept = kept_of(group);

	return kept == NULL ? 0 : kept->size;
}

union words {
	wp_trace_event event;
	uint64_t words[WP_EVENT_RING_WORDS];
};

static void add(wp_traces *traces, uint32_t ring, const wp_trace_event *event)
{
	union words as = {.event = *event};
	bool is_shared = ring == traces->count - 1;

	if (is_shared)
		wp_lock_acquire(&traces->lock);
	wp_event_ring_add(&traces->rings[ring], as.words);
	if (is_shared)
		wp_lock_release(&traces->lock);
}

void wp__trace_of(wp_trace_event *event, const wp_task *task)
{
	event->task =
		task->is_virtual ? ((const wp_body *)(const void *)task)->number : (uintptr_t)task;
	if (task->name != NULL)
		strncpy(event->name, task->name, WP_TRACE_NAME - 1); /* the name was zeroed */
}

void wp__trace_add(wp_group *group, uint32_t ring, const wp_trace_event *event)
{
	wp_traces *to = wp_event_ring_on(&group->tracing.on);

	if (to != NULL && event->begin_ns != 0) /* else tracing was off when it began */
		add(to, ring, event);
}

void wp__trace_add_here(wp_group *group, const wp_trace_event *event)
{
	wp_worker *self = wp__worker_self();

	wp__trace_add(group,
		      self != NULL && self->group == group ? self->index : group->config.carriers,
		      event);
}

void wp__body_waited(wp_body *body, int code)
{
	wp_trace_event event = {.begin_ns = body->thread.waits_since_ns,
				.kind = WP_TRACE_WAIT,
				.a = body->rare->waits_for,
				.b = body->rare->waits_on,
				.c = (uint32_t)-code};

	body->thread.waits_since_ns = 0;
	if (!wp_event_ring_is_on(&body->group->tracing.on))
		return;
	event.duration_ns = wp_clock_ns() - event.begin_ns;
	wp__trace_of(&event, &body->thread.task);
	wp__trace_add_here(body->group, &event);
}

uint64_t wp_group_trace(wp_group *group, uint32_t ring, uint64_t *number, wp_trace_event *events,
			uint64_t room)
{
	uint64_t copied = 0, count, size;
	wp_traces *kept = kept_of(group);
	wp_event_ring *from;

	if (kept == NULL)
		return 0;
	from = &kept->rings[ring];
	size = from->mask + 1;
	count = wp_event_ring_count(from);
	if (count > size && *number < count - size)
		*number = count - size;
	for (; *number < count && copied < room; ++*number) {
		union words as;

		if (wp_event_ring_get(from, *number, as.words))
			events[copied++] = as.event;
	}
	return copied;
}

int64_t wp_trace_cost_ns(uint32_t events)
{
	wp_traces *traces = make(2, 1024, NULL);
	int64_t begin_ns = wp_clock_ns();

	if (traces == NULL)
		return -1;
	for (uint32_t event = 0; event < events; event++) {
		wp_trace_event one = {.begin_ns = wp_clock_ns(), .kind = WP_TRACE_RUN};

		one.duration_ns = wp_clock_ns() - one.begin_ns;
		add(traces, 0, &one);
	}
	give(traces);
	return wp_clock_ns() - begin_ns;
}
