/* SPDX-License-Identifier: Apache-2.0
 * bun_37190.c - the one who shall fetch the next message waits for it, further up in its own stack.
 *
 * System     Bun (messages between workers)
 * Issue      https://github.com/oven-sh/bun/pull/37190
 * Year       2026
 * Seen       A handler of a message that waits for the next one hangs.
 * Mechanism  Who sends a message posts a task that drains the queue, unless one is posted. The mark
 *            for that stays until the queue is drained. A handler that the drain calls runs
 *            the event loop, to wait for the next message. Whether that is in the queue already or
 *            comes now: nobody posts a task, as the drain under the handler is still marked.
 * Claim      A message that was sent is handled.
 * Shows      asleep asleep asleep */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>

enum { MESSAGES = 2 };
enum { SCHEDULED = 1, QUEUED_ONE = 2 };

static atomic_uint state; /* the mark, and the number of messages in the queue */
static sem_t tasks;       /* of the event loop: each one is a drain */
static int handled;

static void drain(void);

static void send_message(void)
{
	unsigned seen = state;

	while (!atomic_compare_exchange_weak(&state, &seen, (seen + QUEUED_ONE) | SCHEDULED)) {
	}
	if (!(seen & SCHEDULED))
		sem_post(&tasks);
}

static void run_event_loop_until(int count)
{
	while (handled < count) {
		sem_wait(&tasks);
		drain();
	}
}

static void handle_message(void)
{
	handled++;
	if (handled == 1)
		run_event_loop_until(MESSAGES);
}

/* Takes a message from the queue, or takes the mark away if there is none. */
static bool take_message(void)
{
	unsigned seen = state, next;

	do {
		if (seen < QUEUED_ONE)
			next = 0;
		else
			next = seen - QUEUED_ONE;
#ifdef FIXED
		if (next < QUEUED_ONE)
			next = 0; /* who sends the next message posts a task */
#endif
	} while (!atomic_compare_exchange_weak(&state, &seen, next));
#ifdef FIXED
	if (next >= QUEUED_ONE)
		sem_post(&tasks); /* for what is behind this message */
#endif
	return seen >= QUEUED_ONE;
}

static void drain(void)
{
	while (take_message())
		handle_message();
}

static void *send_all(void *unused)
{
	for (int i = 0; i < MESSAGES; i++)
		send_message();
	return unused;
}

int main(void)
{
	pthread_t sender;

	sem_init(&tasks, 0, 0);
	pthread_create(&sender, NULL, send_all, NULL);
	run_event_loop_until(MESSAGES);
	pthread_join(sender, NULL);
	return 0;
}
