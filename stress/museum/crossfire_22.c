/* SPDX-License-Identifier: Apache-2.0
 * crossfire_22.c - it wakes a sender that has sent already, and no other.
 *
 * System     crossfire (bounded channel)
 * Issue      https://github.com/frostyplanet/crossfire-rs/pull/23
 * Year       2025
 * Seen       The tests of the channel with many senders hang: it is empty, and a sender sleeps.
 * Mechanism  A sender that finds the channel full leaves its waker in the line, and tries once more.
 *            The second try may succeed, while its waker is still in line. The receiver that makes
 *            room next wakes that one, which has no use for it, and not the sender behind it, which
 *            sleeps.
 * Claim      A sender is woken if there is room.
 * Shows      asleep asleep asleep */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

enum { SENDERS = 2, PLACES = 8, CAPACITY = 1, INITIAL = 1, TRIES_AGAIN = 0, SLEEPS, IS_WOKEN };

static struct sender {
	atomic_int state;
	sem_t wakeup;
} senders[SENDERS];
static struct sender *line[PLACES];
static int first, last; /* in line */
static pthread_mutex_t line_mutex = PTHREAD_MUTEX_INITIALIZER;
static atomic_int messages = INITIAL;
static sem_t sent; /* messages that the receiver does not know yet */

static bool try_send(void)
{
	int count = messages;

	while (count < CAPACITY)
		if (atomic_compare_exchange_strong(&messages, &count, count + 1)) {
			sem_post(&sent);
			return true;
		}
	return false;
}

static void wake_a_sender(void)
{
	pthread_mutex_lock(&line_mutex);
	while (first < last) {
		struct sender *sender = line[first++];
		int state = atomic_exchange(&sender->state, IS_WOKEN);

		if (state == SLEEPS)
			sem_post(&sender->wakeup);
#ifdef FIXED
		if (state == SLEEPS)
			break; /* who only tries again may not need it: the next one, too */
#else
		break;
#endif
	}
	pthread_mutex_unlock(&line_mutex);
}

static void get_in_line(struct sender *me)
{
	me->state = TRIES_AGAIN;
	pthread_mutex_lock(&line_mutex);
	line[last++] = me;
	pthread_mutex_unlock(&line_mutex);
}

static void *send(void *of)
{
	struct sender *me = of; /* it is in line: the channel was full */

	while (!try_send()) {
		int state = TRIES_AGAIN;

		if (atomic_compare_exchange_strong(&me->state, &state, SLEEPS))
			sem_wait(&me->wakeup);
		if (try_send())
			break;
		get_in_line(me);
	}
	return NULL;
}

static void receive(void)
{
	sem_wait(&sent);
	messages--;
	wake_a_sender();
}

int main(void)
{
	pthread_t threads[SENDERS];

	sem_init(&sent, 0, INITIAL);
	for (int i = 0; i < SENDERS; i++) {
		sem_init(&senders[i].wakeup, 0, 0);
		get_in_line(&senders[i]);
		pthread_create(&threads[i], NULL, send, &senders[i]);
	}
	for (int i = 0; i < INITIAL + SENDERS; i++)
		receive();
	for (int i = 0; i < SENDERS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
