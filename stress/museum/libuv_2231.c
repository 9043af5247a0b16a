/* SPDX-License-Identifier: Apache-2.0
 * libuv_2231.c - the handle is gone before its loop is woken.
 *
 * System     libuv 1.27 (uv_async_send)
 * Issue      https://github.com/libuv/libuv/pull/2231
 * Year       2019
 * Seen       A use of freed memory in uv_async_send.
 * Mechanism  The sender marks the handle as pending, and then reads the handle's loop, to wake it. If
 *            the loop is awake for another reason, it sees the mark, calls the callback, and the
 *            callback closes the handle and frees it in between.
 * Claim      A handle is there as long as a sender uses it.
 * Shows      race race race */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { IDLE, BUSY, PENDING };

struct loop {
	sem_t wakeup;
};

static struct loop loop;
static struct handle {
	struct loop *loop;
	atomic_int pending;
} *handle;

static void *send(void *unused)
{
	int idle = IDLE;

	if (!atomic_compare_exchange_strong(&handle->pending, &idle, BUSY))
		return unused;
	sem_post(&handle->loop->wakeup);
#ifdef FIXED
	atomic_store(&handle->pending, PENDING);
#endif
	return unused;
}

static void *disturb(void *unused) /* another handle wakes the loop */
{
	sem_post(&loop.wakeup);
	return unused;
}

/* Returns whether the callback was called. */
static int look_at_handle(void)
{
	int seen = handle->pending;

#ifdef FIXED
	while (seen == BUSY)
		seen = handle->pending;
#endif
	if (seen == IDLE)
		return 0;
	free(handle); /* the callback closes it */
	return 1;
}

int main(void)
{
	pthread_t threads[2];

	sem_init(&loop.wakeup, 0, 0);
	handle = malloc(sizeof(*handle));
	handle->loop = &loop;
	atomic_init(&handle->pending, IDLE);
	pthread_create(&threads[0], NULL, send, NULL);
	pthread_create(&threads[1], NULL, disturb, NULL);
	do
		sem_wait(&loop.wakeup);
	while (!look_at_handle());
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
