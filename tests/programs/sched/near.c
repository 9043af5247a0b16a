/* SPDX-License-Identifier: Apache-2.0
 * near.c - four carriers of one domain, in two clusters, moved by hand: the helper and the victim
 * that are chosen. Prints, for each way, the carrier that was preferred, and the idle carrier
 * beside a victim. */
#include <stdio.h>

#include "sched/carrier.h"

enum { CARRIERS = 4 };

static wp_carrier carriers[CARRIERS];
static wp_carrier *by_index[CARRIERS];
static wp_domain domain;
static wp_mpsc_node tasks[CARRIERS][2];

static void begin(void)
{
	wp_domain_init(&domain, by_index, CARRIERS);
	for (uint32_t index = 0; index < CARRIERS; index++) {
		wp_carrier_init(&carriers[index], &domain, index);
		carriers[index].near_first = index / 2 * 2;
		carriers[index].near_end = index / 2 * 2 + 2;
	}
}

/* `lone` is parked, or, at CARRIERS, all but the victim. Returns the carrier that is sent to the
 * victim. */
static int helper_of(uint32_t victim, uint32_t lone)
{
	wp_mpsc_node *stolen;

	begin();
	for (uint32_t index = 0; index < CARRIERS; index++)
		if (index != victim && (lone == CARRIERS || index == lone) &&
		    !wp_carrier_advertise(&carriers[index], WP_PARKED_FUTEX, &stolen))
			return -1;
	wp_carrier_submit_internal(&carriers[victim], &tasks[victim][0]);
	for (int index = 0; index < CARRIERS; index++)
		if (wp_load_relaxed(&carriers[index].word) == WP_SEARCHING + victim)
			return index;
	return -1;
}

/* All but this one have tasks, and run. Prints the carrier from which it steals before it sleeps,
 * and then, as long as there is one, the next. */
static void print_victims_of(uint32_t index)
{
	begin();
	for (uint32_t other = 0; other < CARRIERS; other++)
		if (other != index)
			wp_carrier_submit(&carriers[other], &tasks[other][0]);
	printf("%u helps", index);
	for (int turn = 1; turn < CARRIERS; turn++) {
		wp_mpsc_node *stolen;

		if (wp_carrier_advertise(&carriers[index], WP_PARKED_FUTEX, &stolen) || !stolen)
			return;
		printf(" %d", (int)((wp_mpsc_node(*)[2])(void *)stolen - tasks));
	}
	printf("\n");
}

int main(void)
{
	for (uint32_t index = 0; index < CARRIERS; index++)
		printf("%u is helped by %d\n", index, helper_of(index, CARRIERS));
	for (uint32_t index = 0; index < CARRIERS; index++)
		for (uint32_t lone = 0; lone < CARRIERS; lone++)
			if (lone != index && helper_of(index, lone) != (int)lone)
				printf("%u, alone, does not help %u\n", lone, index);
	for (uint32_t index = 0; index < CARRIERS; index++)
		print_victims_of(index);
	return 0;
}
