/* SPDX-License-Identifier: Apache-2.0
 * by_hand.c - token, idle set and carriers, moved by one thread. Prints their results. */
#include <stdio.h>
#include <string.h>

#include "sched/run_queues.h"

enum { CARRIERS = 200, TASKS = 50 };

static wp_carrier carriers[CARRIERS];
static wp_carrier *by_index[CARRIERS];
static wp_domain domain;
static wp_mpsc_node tasks[2][TASKS];

static void begin(void)
{
	memset(carriers, 0, sizeof(carriers));
	wp_domain_init(&domain, by_index, CARRIERS);
	for (uint32_t index = 0; index < CARRIERS; index++)
		wp_carrier_init(&carriers[index], &domain, index);
}

/* Half as many as carriers; refused; one given back, one taken again. */
static void print_tokens(void)
{
	int taken = 0, again;

	begin();
	while (wp_search_start(&domain))
		taken++;
	wp_search_stop(&domain);
	again = wp_search_start(&domain);
	printf("tokens %d %d %d\n", taken, again, wp_search_start(&domain));
}

static int members(void)
{
	int count = 0;

	for (uint32_t index = 0; index < WP_IDLESET_MEMBERS; index++)
		count += wp_idle_set_has(&domain.idle, index);
	return count;
}

/* Each member is added twice, and then removed twice; prints the size. */
static void print_idle(void)
{
	static const uint32_t some[] = {0, 63, 64, 128, CARRIERS - 1};

	begin();
	printf("idle");
	for (unsigned at = 0; at < 2 * sizeof(some) / sizeof(*some); at++) {
		wp_idle_set_add(&domain.idle, some[at / 2]);
		printf(" %d", members());
	}
	for (unsigned at = 0; at < 2 * sizeof(some) / sizeof(*some); at++) {
		wp_idle_set_remove(&domain.idle, some[at / 2]);
		printf(" %d", members());
	}
	printf("\n");
}

/* One of many carriers is parked. It is sent to the victim and brings the task, and the token is
 * free again. */
static void print_search(uint32_t victim, uint32_t parked)
{
	wp_mpsc_node *stolen;
	int sent;

	begin();
	if (!wp_carrier_advertise(&carriers[parked], WP_PARKED_FUTEX, &stolen))
		return;
	wp_carrier_submit_internal(&carriers[victim], &tasks[0][0]);
	sent = (int)wp_load_relaxed(&carriers[parked].word) - WP_SEARCHING;
	stolen = wp_carrier_leave(&carriers[parked]);
	printf("%u is sent to %d, brings its task %d, token %u\n", parked, sent,
	       stolen == &tasks[0][0], wp_load_relaxed(&domain.searching));
}

/* A carrier puts off a steal, and is sent to a second victim meanwhile. It serves the first, and gives
 * both tokens back; of the two searches one counts as one without an idle carrier. */
static void print_two_victims(void)
{
	wp_carrier *sent = &carriers[1];
	wp_mpsc_node *stolen;
	bool first, second;

	begin();
	sent->delay_ns = 1;
	if (!wp_carrier_advertise(sent, WP_PARKED_FUTEX, &stolen))
		return;
	wp_carrier_submit_internal(&carriers[2], &tasks[0][0]);
	first = wp_carrier_put_off(sent);
	wp_carrier_submit_internal(&carriers[3], &tasks[0][1]);
	second = wp_carrier_put_off(sent);
	stolen = wp_carrier_leave(sent);
	printf("put off %d %d, brings the first task %d, searches %u, without an idle one %u, "
	       "tokens %u\n",
	       first, second, stolen == &tasks[0][0],
	       (unsigned)wp__count_read(&domain.counts.started),
	       (unsigned)wp__count_read(&domain.counts.no_idle),
	       wp_load_relaxed(&domain.searching));
}

/* Queue and inbox are full: the largest number that come from one of them in a row; each in its
 * order. */
static void print_turns(void)
{
	unsigned longest = 0, run = 0, next[2] = {0, 0}, disorder = 0;
	int last = -1;

	begin();
	for (unsigned at = 0; at < TASKS; at++) {
		wp_carrier_submit(&carriers[0], &tasks[0][at]);
		wp_carrier_submit_pinned(&carriers[0], &tasks[1][at]);
	}
	for (unsigned at = 0; at < 2 * TASKS; at++) {
		wp_mpsc_node *task = wp_carrier_poll(&carriers[0]);
		int from = task >= tasks[1];

		disorder += task != &tasks[from][next[from]++];
		run = from == last ? run + 1 : 1;
		longest = run > longest ? run : longest;
		last = from;
	}
	printf("turns %u disorder %u\n", longest, disorder);
}

int main(void)
{
	print_tokens();
	print_idle();
	print_search(3, 150);
	print_search(150, 64);
	print_search(199, 0);
	print_two_victims();
	print_turns();
	return 0;
}
