/* SPDX-License-Identifier: Apache-2.0
 * counters.c - three carriers of one domain, moved by hand: the counters that each search changes.
 * Prints, after each move: started, denied, denied for another victim, no idle, lost tickets. */
#include <pthread.h>
#include <stdio.h>

#include "sched/run_queues.h"

enum { CARRIERS = 3 };

static wp_carrier carriers[CARRIERS];
static wp_carrier *by_index[CARRIERS];
static wp_domain domain;
static wp_mpsc_node tasks[8];

static void print(const char *move)
{
	wp_search_counts *counts = &domain.counts;

	printf("%s: %d %d %d %d %d\n", move, (int)wp__count_read(&counts->started),
	       (int)wp__count_read(&counts->denied), (int)wp__count_read(&counts->denied_other),
	       (int)wp__count_read(&counts->no_idle), (int)wp__count_read(&counts->lost_tickets));
}

static void park(uint32_t index)
{
	wp_mpsc_node *stolen;

	if (!wp_carrier_advertise(&carriers[index], WP_PARKED_FUTEX, &stolen))
		printf("carrier %u found work\n", index);
}

/* As a stealer that takes its time. It leaves when another one has lost against it. */
static void *hold_ticket(void *arg)
{
	uint64_t *ticket = arg;

	while (wp__count_read(&domain.counts.lost_tickets) == 0)
		wp_yield();
	wp_biased_lock_release(&carriers[0].ticket, *ticket);
	return NULL;
}

static void steal_against_another(void)
{
	pthread_t other;
	uint64_t ticket;

	if (!wp_biased_lock_try_acquire(&carriers[0].ticket, &ticket) ||
	    pthread_create(&other, NULL, hold_ticket, &ticket) != 0) {
		printf("no ticket, or no thread\n");
		return;
	}
	if (wp_carrier_steal(&carriers[0]) == NULL)
		printf("nothing stolen\n");
	pthread_join(other, NULL);
}

int main(void)
{
	wp_domain_init(&domain, by_index, CARRIERS);
	for (uint32_t index = 0; index < CARRIERS; index++)
		wp_carrier_init(&carriers[index], &domain, index);
	wp_carrier_submit(&carriers[0], &tasks[0]);
	print("nobody is idle");
	wp_carrier_poll(&carriers[0]);
	park(1);
	wp_carrier_submit(&carriers[2], &tasks[1]);
	print("1 is sent to 2");
	wp_carrier_submit(&carriers[2], &tasks[2]);
	print("once more for 2");
	wp_carrier_submit(&carriers[0], &tasks[3]);
	print("for 0 meanwhile");
	wp_carrier_leave(&carriers[1]);
	print("1 has helped 2");
	wp_carrier_poll(&carriers[2]);
	wp_carrier_poll(&carriers[0]);
	park(1);
	wp_carrier_submit(&carriers[1], &tasks[4]);
	print("1 is woken for its own");
	wp_carrier_submit(&carriers[0], &tasks[5]);
	print("1 looks idle, and is awake");
	steal_against_another();
	if (wp__count_read(&domain.counts.lost_tickets) != 0)
		printf("a ticket was lost\n");
	return 0;
}
