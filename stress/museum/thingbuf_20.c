/* SPDX-License-Identifier: Apache-2.0
 * thingbuf_20.c - its node is in the queue already, so the new waker is not taken.
 *
 * System     thingbuf (asynchronous channel, send_ref)
 * Issue      https://github.com/hawkw/thingbuf/pull/20
 * Year       2021
 * Seen       A sender waits for ever, though there is room.
 * Mechanism  A sender that finds no room puts its node into the queue, and its waker into the node.
 *            It is polled again before it is woken, now in another task, with another waker. As the
 *            node is in the queue, nothing is done. The receiver wakes the old waker.
 * Claim      The waker of the last poll is woken.
 * Shows      asleep asleep asleep */
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stddef.h>

enum { TASKS = 2 };

static sem_t wakers[TASKS];
static bool has_room;
static pthread_mutex_t queue = PTHREAD_MUTEX_INITIALIZER;
static struct node { /* of the only sender */
	bool is_queued;
	sem_t *waker;
} node;

/* Returns whether the sender got room. */
static bool poll_send(sem_t *waker)
{
	bool is_sent;

	pthread_mutex_lock(&queue);
	is_sent = has_room;
	if (!is_sent) {
#ifdef FIXED
		node.waker = waker;
#else
		if (!node.is_queued)
			node.waker = waker;
#endif
		node.is_queued = true;
	}
	pthread_mutex_unlock(&queue);
	return is_sent;
}

static void *receive(void *unused)
{
	pthread_mutex_lock(&queue);
	has_room = true;
	if (node.is_queued) {
		node.is_queued = false;
		sem_post(node.waker);
	}
	pthread_mutex_unlock(&queue);
	return unused;
}

int main(void)
{
	pthread_t receiver;
	bool is_sent;

	for (int i = 0; i < TASKS; i++)
		sem_init(&wakers[i], 0, 0);
	pthread_create(&receiver, NULL, receive, NULL);
	is_sent = poll_send(&wakers[0]);
	while (!is_sent) { /* the other task has it now */
		is_sent = poll_send(&wakers[1]);
		if (!is_sent)
			sem_wait(&wakers[1]);
	}
	pthread_join(receiver, NULL);
	return 0;
}
