/* SPDX-License-Identifier: Apache-2.0
 * timer.c - the timers of one carrier, driven line by line; test_timer.py compares.
 *
 *   a NUMBER DEADLINE   arm, unless it is armed: is it the first?
 *   c NUMBER            cancel: was it armed?
 *   d NOW               fire what is due: the numbers, in that order
 *   e                   the earliest deadline
 *   i NS                the deadline so far from now; with the time before and after
 *   m COUNT             that many are armed, in a scattered order; half are cancelled; the rest
 *                       fires: are all due in order, and is nothing left? */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "sched/timer.h"

enum { TIMERS = 64 };

typedef struct numbered {
	wp_timer timer;
	wp_task task;
	int number;
} numbered;

static wp_timers timers;
static numbered few[TIMERS];

static wp_task *due(wp_timer *timer)
{
	return &((numbered *)(void *)timer)->task;
}

static int number_of(wp_task *task)
{
	return ((numbered *)(void *)((char *)task - offsetof(numbered, task)))->number;
}

static void fire(int64_t now_ns)
{
	wp_task *task;

	while ((task = wp_timers_due(&timers, now_ns)) != NULL)
		printf("%d ", number_of(task));
	printf("\n");
}

static void many(int count)
{
	numbered *all = calloc((size_t)count, sizeof(*all));
	int last = -1, cancelled = 0, fired = 0;
	bool in_order = true;
	wp_task *task;

	for (int index = 0; index < count; index++) {
		all[index].number = (int)((uint32_t)index * UINT32_C(2654435761) % 1000003);
		wp_timer_init(&all[index].timer, due);
		wp_timer_arm(&timers, &all[index].timer, all[index].number);
	}
	for (int index = 0; index < count; index += 2)
		cancelled += wp_timer_cancel(&all[index].timer);
	for (; (task = wp_timers_due(&timers, WP_FOREVER - 1)) != NULL; fired++) {
		in_order = in_order && last <= number_of(task);
		last = number_of(task);
	}
	printf("%d %d %d %d\n", cancelled, fired, in_order,
	       wp_timers_earliest(&timers) == WP_FOREVER);
	free(all);
}

static void in(int64_t duration_ns)
{
	int64_t before_ns = wp_clock_ns(), deadline_ns = wp_deadline_in(duration_ns);

	printf("%" PRId64 " %" PRId64 " %" PRId64 "\n", before_ns, deadline_ns, wp_clock_ns());
}

int main(void)
{
	char what;

	wp_timers_init(&timers);
	for (int index = 0; index < TIMERS; index++) {
		few[index].number = index;
		wp_timer_init(&few[index].timer, due);
	}
	while (scanf(" %c", &what) == 1) {
		int64_t number = 0, ns = 0;

		if (what != 'e' && scanf("%" SCNd64, &number) != 1)
			return 1;
		if (what == 'a' && scanf("%" SCNd64, &ns) != 1)
			return 1;
		switch (what) {
		case 'a':
			printf("%d\n", wp_timer_arm(&timers, &few[number].timer, ns));
			break;
		case 'c':
			printf("%d\n", wp_timer_cancel(&few[number].timer));
			break;
		case 'd':
			fire(number);
			break;
		case 'e':
			printf("%" PRId64 "\n", wp_timers_earliest(&timers));
			break;
		case 'i':
			in(number);
			break;
		case 'm':
			many((int)number);
			break;
		default:
			return 1;
		}
		fflush(stdout);
	}
	return 0;
}
