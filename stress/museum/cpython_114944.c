/* SPDX-License-Identifier: Apache-2.0
 * cpython_114944.c - a waiter is taken off the list twice, by its waker and by itself.
 *
 * System     CPython 3.13, before its release (parking lot)
 * Issue      https://github.com/python/cpython/issues/114944
 * Year       2024
 * Seen       A segmentation fault in _PyParkingLot_Park.
 * Mechanism  Who wakes all takes the waiters off the list, under the lock, and posts each one's
 *            semaphore after that. A waiter whose wait is interrupted in between takes itself off
 *            the list once more. Who wakes one marks the waiter, so that it waits for the post.
 * Claim      A waiter is taken off the list once.
 * Shows      crash crash crash */
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

struct node {
	struct node *previous, *next;
};

static pthread_mutex_t bucket = PTHREAD_MUTEX_INITIALIZER;
static struct node root = {&root, &root};
static struct waiter {
	struct node node; /* the first member */
	bool is_unparking;
	sem_t wakeup;
} waiter;

static void insert(struct node *node)
{
	node->previous = &root;
	node->next = root.next;
	root.next->previous = node;
	root.next = node;
}

static void unlink_node(struct node *node)
{
	node->previous->next = node->next;
	node->next->previous = node->previous;
	node->previous = node->next = NULL;
}

/* Returns false if it was interrupted; here it is the time that interrupts it. */
static bool wait_for(sem_t *wakeup)
{
	struct timespec soon;

	clock_gettime(CLOCK_REALTIME, &soon);
	soon.tv_sec++;
	return !sem_timedwait(wakeup, &soon);
}

static void *park(void *unused)
{
	pthread_mutex_lock(&bucket);
	insert(&waiter.node);
	pthread_mutex_unlock(&bucket);
	if (wait_for(&waiter.wakeup))
		return unused;
	pthread_mutex_lock(&bucket);
	if (waiter.is_unparking) {
		pthread_mutex_unlock(&bucket);
		sem_wait(&waiter.wakeup);
		return unused;
	}
	unlink_node(&waiter.node);
	pthread_mutex_unlock(&bucket);
	return unused;
}

static void unpark_all(void)
{
	struct waiter *found = NULL;

	pthread_mutex_lock(&bucket);
	if (root.next != &root) {
		found = (struct waiter *)root.next;
		unlink_node(&found->node);
#ifdef FIXED
		found->is_unparking = true;
#endif
	}
	pthread_mutex_unlock(&bucket);
	if (found)
		sem_post(&found->wakeup);
}

int main(void)
{
	pthread_t thread;

	sem_init(&waiter.wakeup, 0, 0);
	pthread_create(&thread, NULL, park, NULL);
	unpark_all();
	pthread_join(thread, NULL);
	return 0;
}
