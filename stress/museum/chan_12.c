/* SPDX-License-Identifier: Apache-2.0
 * chan_12.c - readers and writers wait for one condition, and the signal wakes the wrong kind.
 *
 * System     chan before 0.0.3 (channels of Go for C, buffered channel)
 * Issue      https://github.com/tylertreat/chan/issues/12
 * Year       2014
 * Seen       A test with 100 receivers deadlocks: they wait, and a sender waits for room.
 * Mechanism  Who receives signals if a sender waits, and who sends if a receiver waits; both wait
 *            for one condition. Two receivers wait. The first one is woken, takes the only message,
 *            and signals, as a sender waits by now. But the signal wakes the second receiver, which
 *            finds nothing, and waits again. The sender waits as well, and there is room.
 * Claim      A sender waits only while there is no room.
 * Shows      asleep asleep asleep */
#include <pthread.h>

enum { RECEIVERS = 2, CAPACITY = 1 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
#ifdef FIXED
static pthread_cond_t has_message = PTHREAD_COND_INITIALIZER;
static pthread_cond_t has_room = PTHREAD_COND_INITIALIZER;
#else
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
#define has_message changed
#define has_room changed
#endif
static int size, receivers_waiting, senders_waiting;

static void send_message(void)
{
	pthread_mutex_lock(&mutex);
	while (size == CAPACITY) {
		senders_waiting++;
		pthread_cond_wait(&has_room, &mutex);
		senders_waiting--;
	}
	size++;
	if (receivers_waiting)
		pthread_cond_signal(&has_message);
	pthread_mutex_unlock(&mutex);
}

static void *receive_message(void *unused)
{
	pthread_mutex_lock(&mutex);
	while (!size) {
		receivers_waiting++;
		pthread_cond_wait(&has_message, &mutex);
		receivers_waiting--;
	}
	size--;
	if (senders_waiting)
		pthread_cond_signal(&has_room);
	pthread_mutex_unlock(&mutex);
	return unused;
}

int main(void)
{
	pthread_t threads[RECEIVERS];

	for (int i = 0; i < RECEIVERS; i++)
		pthread_create(&threads[i], NULL, receive_message, NULL);
	for (int i = 0; i < RECEIVERS; i++)
		send_message();
	for (int i = 0; i < RECEIVERS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
