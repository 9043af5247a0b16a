/* SPDX-License-Identifier: Apache-2.0
 * print.c - prints the ring of an actor as lines of text; recorder.h has the format. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recorder.h"

static void print_value(uint64_t value)
{
	uint64_t offset = value - (uint64_t)(uintptr_t)recorder_all.state;

	if (offset < recorder_all.state_bytes)
		printf(" @%llu", (unsigned long long)offset);
	else
		printf(" %lld", (long long)value);
}

void recorder_print(const recorder_actor *it)
{
	const wp_events *events = &it->events;

	if (events->count > events->mask + 1) {
		fprintf(stderr, "recorder: the ring of actor %d holds %llu events, it had %llu\n",
			it->index, (unsigned long long)events->mask + 1,
			(unsigned long long)events->count);
		exit(1);
	}
	for (uint64_t n = 0; n < events->count; n++) {
		const wp_event *event = &events->ring[n];

		printf("e %d %llu %llu %s %d %s", it->index, (unsigned long long)event->begin,
		       (unsigned long long)event->end, event->site->file, event->site->line,
		       *event->site->name ? event->site->name : "-");
		if (event->place)
			print_value(event->place);
		else
			printf(" -");
		print_value(event->operand);
		print_value(event->result);
		printf(" %llu\n", (unsigned long long)event->happened);
	}
	printf("x %d %s\n", it->index,
	       wp_load_acquire(&it->place) == RETURNED ? "returned" : "stopped");
}
