/* SPDX-License-Identifier: Apache-2.0
 * ring_spsc.c - a ring of two slots: one thread enqueues three items, another one dequeues them.
 * Claim: items arrive once, in their order, with all that was written to them before.
 * BUG: a second consumer, which a ring for one consumer does not allow. */
#include <assert.h>
#include <ck_ring.h>
#include <pthread.h>
#include <stdlib.h>

enum { SLOTS = 2, ITEMS = 2, ATTEMPTS = 3 };

static ck_ring_t ring;
static ck_ring_buffer_t buffer[SLOTS];
static int items[ITEMS];

static void *produce(void *unused)
{
	for (int at = 0; at < ITEMS; at++) {
		items[at] = at + 1;
		for (int attempt = 0; attempt < ATTEMPTS; attempt++)
			if (ck_ring_enqueue_spsc(&ring, buffer, &items[at]))
				break;
	}
	return NULL;
}

static void *consume(void *unused)
{
	int last = 0;
	int *item;

	for (int attempt = 0; attempt < ATTEMPTS; attempt++)
		if (ck_ring_dequeue_spsc(&ring, buffer, &item)) {
			assert(*item == last + 1 || (last == 0 && *item == 2));
			assert(*item > last);
			last = *item;
			*item = 0;
		}
	return NULL;
}

int main(void)
{
	pthread_t producer, other;

	ck_ring_init(&ring, SLOTS);
	pthread_create(&producer, NULL, produce, NULL);
#ifdef BUG
	pthread_create(&other, NULL, consume, NULL);
#endif
	consume(NULL);
	pthread_join(producer, NULL);
#ifdef BUG
	pthread_join(other, NULL);
#endif
	return 0;
}
