/* SPDX-License-Identifier: Apache-2.0
 * trace.c - the rings of a group. */
#include "trace.h"

#include <stdlib.h>

#include "worker.h"

#ifndef WP_EXPLORE

_Static_assert(sizeof(wp_trace_event) == WP_RING_WORDS * sizeof(uint64_t),
	       "an event is as many words as a slot holds");

wp_traces *wp__traces_new(uint32_t carriers, uint32_t size)
{
	wp_traces *traces = calloc(1, sizeof(*traces));

	if (traces == NULL)
		return NULL;
	traces->count = carriers + 1;
	traces->rings = calloc(traces->count, sizeof(*traces->rings));
	traces->slots = calloc((size_t)traces->count * size, sizeof(*traces->slots));
	if (traces->rings == NULL || traces->slots == NULL) {
		wp__traces_free(traces);
		return NULL;
	}
	for (uint32_t ring = 0; ring < traces->count; ring++)
		wp_ring_init(&traces->rings[ring], traces->slots + (size_t)ring * size, size);
	return traces;
}

void wp__traces_free(wp_traces *traces)
{
	if (traces == NULL)
		return;
	free(traces->rings);
	free(traces->slots);
	free(traces);
}

union words {
	wp_trace_event event;
	uint64_t words[WP_RING_WORDS];
};

void wp__traces_add(wp_traces *traces, uint32_t ring, wp_trace_event event)
{
	union words as = {.event = event};
	bool is_shared = ring == traces->count - 1;

	if (is_shared)
		wp_lock_acquire(&traces->lock);
	wp_ring_add(&traces->rings[ring], as.words);
	if (is_shared)
		wp_lock_release(&traces->lock);
}

uint64_t wp_group_trace(wp_group *group, uint32_t ring, uint64_t *number, wp_trace_event *events,
			uint64_t room)
{
	uint64_t copied = 0, count, size;
	wp_ring *from;

	if (group->traces == NULL)
		return 0;
	from = &group->traces->rings[ring];
	size = from->mask + 1;
	count = wp_ring_count(from);
	if (count > size && *number < count - size)
		*number = count - size;
	for (; *number < count && copied < room; ++*number) {
		union words as;

		if (wp_ring_get(from, *number, as.words))
			events[copied++] = as.event;
	}
	return copied;
}

int64_t wp_trace_cost_ns(uint32_t events)
{
	wp_traces *traces = wp__traces_new(1, 1024);
	int64_t begin_ns = wp_clock_ns();

	if (traces == NULL)
		return -1;
	for (uint32_t event = 0; event < events; event++) {
		wp_trace_event one = {.begin_ns = wp_clock_ns(), .kind = WP_TRACE_RUN};

		one.duration_ns = wp_clock_ns() - one.begin_ns;
		wp__traces_add(traces, 0, one);
	}
	wp__traces_free(traces);
	return wp_clock_ns() - begin_ns;
}

#endif
