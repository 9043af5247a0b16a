/* SPDX-License-Identifier: Apache-2.0
 * fifo_spsc.c - a list of nodes: one thread enqueues two items, another one dequeues them.
 * Claim: items arrive once, in their order, with all that was written to them before.
 * BUG: the item is written after it was enqueued. */
#include <assert.h>
#include <ck_fifo.h>
#include <pthread.h>

enum { ITEMS = 2, ATTEMPTS = 3 };

static ck_fifo_spsc_t fifo;
static ck_fifo_spsc_entry_t nodes[ITEMS + 1];
static int items[ITEMS];

static void *produce(void *unused)
{
	for (int at = 0; at < ITEMS; at++) {
#ifndef BUG
		items[at] = at + 1;
#endif
		ck_fifo_spsc_enqueue(&fifo, &nodes[at + 1], &items[at]);
#ifdef BUG
		items[at] = at + 1;
#endif
	}
	return unused;
}

int main(void)
{
	pthread_t producer;
	int last = 0;
	int *item;

	ck_fifo_spsc_init(&fifo, &nodes[0]);
	pthread_create(&producer, NULL, produce, NULL);
	for (int attempt = 0; attempt < ATTEMPTS; attempt++)
		if (ck_fifo_spsc_dequeue(&fifo, &item)) {
			assert(*item == last + 1);
			last = *item;
		}
	pthread_join(producer, NULL);
	while (ck_fifo_spsc_dequeue(&fifo, &item)) {
		assert(*item == last + 1);
		last = *item;
	}
	assert(last == ITEMS);
	return 0;
}
