/* SPDX-License-Identifier: Apache-2.0
 * inbox.c - producers, a consumer that takes one item for each readiness of the eventfd, and a
 * close in the middle; for the sanitizers. Prints the fate of the items. */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>

#include "binding.h"

enum { PRODUCERS = 3, ITEMS = 20000, PATIENCE_MS = 10000 };

static wp__inbox *inbox;
static wp__item *items[PRODUCERS][ITEMS];
static int refused[PRODUCERS];

/* Waits after each put until all items are taken, so that the consumer often finds the queue
 * empty. */
static void *produce(void *mine)
{
	wp__item **item = mine;

	for (int i = 0; i < ITEMS; i++) {
		if (wp__inbox_put(inbox, item[i]) != WP_OK) {
			refused[(item - items[0]) / ITEMS]++;
			wp__item_free(item[i]);
		}
		while (!wp_mpsc_is_quiescent(wp__inbox_mpsc(inbox)))
			sched_yield();
	}
	return NULL;
}

/* Takes one item a turn, until `total` are taken. 0: it slept beside an item. */
static int consume(int total)
{
	struct pollfd watched = {.fd = wp__inbox_fileno(inbox), .events = POLLIN};
	int taken = 0;

	while (taken < total) {
		wp__item *item;

		if (poll(&watched, 1, PATIENCE_MS) == 0)
			return 0;
		item = wp__inbox_take(inbox);
		taken += item != NULL;
		wp__item_free(item);
	}
	return taken;
}

int main(void)
{
	pthread_t producers[PRODUCERS];
	int taken, sum = 0;

	inbox = wp__inbox_new();
	for (int p = 0; p < PRODUCERS; p++) {
		for (int i = 0; i < ITEMS; i++)
			items[p][i] = wp__item_new();
		pthread_create(&producers[p], NULL, produce, items[p]);
	}
	taken = consume(PRODUCERS * ITEMS / 2);
	wp__inbox_close(inbox);
	for (int p = 0; p < PRODUCERS; p++) {
		pthread_join(producers[p], NULL);
		sum += refused[p];
	}
	printf("taken %d, refused or dropped %s, quiescent %d\n", taken,
	       sum <= PRODUCERS * ITEMS - taken ? "the rest" : "too many",
	       wp_mpsc_is_quiescent(wp__inbox_mpsc(inbox)));
	wp__inbox_free(inbox);
	return 0;
}
