/* SPDX-License-Identifier: Apache-2.0
 * stdexec_2230.c - the queue was not empty, so it tells nobody; and nobody could see that.
 *
 * System     NVIDIA stdexec (timed_thread_context)
 * Issue      https://github.com/NVIDIA/stdexec/issues/2230
 * Year       2026
 * Seen       A cancelled timer runs to its end, or a command waits for 2 s.
 * Mechanism  A producer swaps the head of a queue for its node, and then links the node to the one
 *            before. Between the two the consumer sees the queue as empty, and sleeps. A producer
 *            wakes it only if the queue was empty at the swap. A second one that swaps before the
 *            first node was taken finds the queue filled, and does not.
 * Claim      A command in the queue is run.
 * Shows      asleep asleep asleep */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

enum { COMMANDS = 2 };

struct node {
	_Atomic(struct node *) next;
};

static struct node none, commands[COMMANDS];
static _Atomic(struct node *) head = &none; /* of the producers */
static struct node *tail = &none;           /* of the consumer */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool is_ready; /* under the mutex */

/* Returns whether the queue was empty. */
static bool push(struct node *node)
{
	struct node *before;

	atomic_store(&node->next, NULL);
	before = atomic_exchange(&head, node);
	atomic_store(&before->next, node);
	return before == &none;
}

/* Returns a node, or NULL if there is none or the next one is not linked yet. */
static struct node *pop(void)
{
	struct node *first = tail, *next = atomic_load(&first->next);

	if (first == &none) {
		if (!next)
			return NULL;
		tail = first = next;
		next = atomic_load(&first->next);
	}
	if (!next) {
		if (first != atomic_load(&head))
			return NULL;
		push(&none);
		next = atomic_load(&first->next);
		if (!next)
			return NULL;
	}
	tail = next;
	return first;
}

static void schedule(struct node *command)
{
	bool was_empty = push(command);

#ifdef FIXED
	was_empty = true;
#endif
	if (!was_empty)
		return;
	pthread_mutex_lock(&mutex);
	is_ready = true;
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&mutex);
}

static void *run(void *unused)
{
	for (int done = 0; done < COMMANDS;) {
		while (pop())
			done++;
		if (done == COMMANDS)
			break;
		pthread_mutex_lock(&mutex);
		while (!is_ready)
			pthread_cond_wait(&changed, &mutex);
		is_ready = false;
		pthread_mutex_unlock(&mutex);
	}
	return unused;
}

static void *schedule_second(void *unused)
{
	schedule(&commands[1]);
	return unused;
}

int main(void)
{
	pthread_t worker, producer;

	pthread_create(&worker, NULL, run, NULL);
	pthread_create(&producer, NULL, schedule_second, NULL);
	schedule(&commands[0]);
	pthread_join(producer, NULL);
	pthread_join(worker, NULL);
	return 0;
}
