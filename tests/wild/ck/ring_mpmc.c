/* SPDX-License-Identifier: Apache-2.0
 * ring_mpmc.c - a ring of four slots: two threads enqueue an item each, and two dequeue what they
 * find.
 * Claim: each item comes once, with all that was written to it before, and none is lost.
 * BUG: the calls for one producer, although there are two. */
#include <assert.h>
#include <ck_ring.h>
#include <pthread.h>

enum { SLOTS = 4 };

static ck_ring_t ring;
static ck_ring_buffer_t buffer[SLOTS];
static int items[2];

static void *enqueue(void *item)
{
	*(int *)item = item == items ? 1 : 2;
#ifdef BUG
	assert(ck_ring_enqueue_spmc(&ring, buffer, item));
#else
	assert(ck_ring_enqueue_mpmc(&ring, buffer, item));
#endif
	return NULL;
}

static int dequeue(void)
{
	int *item;

	return ck_ring_dequeue_mpmc(&ring, buffer, &item) ? *item : 0;
}

int main(void)
{
	pthread_t first, second;
	int sum;

	ck_ring_init(&ring, SLOTS);
	pthread_create(&first, NULL, enqueue, &items[0]);
	pthread_create(&second, NULL, enqueue, &items[1]);
	sum = dequeue();
	pthread_join(first, NULL);
	pthread_join(second, NULL);
	sum += dequeue();
	sum += dequeue();
	assert(sum == 3);
	return 0;
}
