/* SPDX-License-Identifier: Apache-2.0
 * async_simple_458.c - the first in line is the same again, and the second one is gone.
 *
 * System     async_simple (coro::ConditionVariable)
 * Issue      https://github.com/alibaba/async_simple/issues/458
 * Year       2026
 * Seen       notify follows a waiter that no longer exists.
 * Mechanism  Waiters are a stack of nodes that lie in their coroutines. notifyOne reads the first
 *            node and its successor, then exchanges the one for the other. In between, notifyAll
 *            wakes all of them; the second one ends, and the first one waits again, with the same
 *            node. The exchange succeeds, and the node that is gone is the first one.
 * Claim      Who notifies finds waiters that wait.
 * Shows      crash crash crash */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

typedef struct node {
	_Atomic(struct node *) next;
} node;

static node first; /* in the frame of a coroutine that will wait again */
static _Atomic(node *) stack;
#ifdef FIXED
static pthread_mutex_t notify_mutex = PTHREAD_MUTEX_INITIALIZER;
#endif

static void lock_notify(void)
{
#ifdef FIXED
	pthread_mutex_lock(&notify_mutex);
#endif
}

static void unlock_notify(void)
{
#ifdef FIXED
	pthread_mutex_unlock(&notify_mutex);
#endif
}

static void push(node *waiter)
{
	node *head = stack;

	do {
		waiter->next = head;
	} while (!atomic_compare_exchange_strong(&stack, &head, waiter));
}

static void notify_one(void)
{
	node *waiter;

	lock_notify();
	waiter = stack;
	while (waiter && !atomic_compare_exchange_strong(&stack, &waiter, waiter->next)) {
	}
	unlock_notify();
}

/* Here the one who notifies runs the coroutines that it resumes. */
static void *notify_all(void *unused)
{
	node *waiter;

	lock_notify();
	waiter = atomic_exchange(&stack, NULL);
	unlock_notify();
	while (waiter) {
		node *next = waiter->next;

		if (waiter == &first)
			push(&first); /* it does not find what it waits for */
		else
			free(waiter); /* its coroutine ends */
		waiter = next;
	}
	return unused;
}

int main(void)
{
	pthread_t other;

	push(malloc(sizeof(node)));
	push(&first);
	pthread_create(&other, NULL, notify_all, NULL);
	notify_one();
	pthread_join(other, NULL);
	notify_one();
	return 0;
}
