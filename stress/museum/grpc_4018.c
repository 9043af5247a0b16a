/* SPDX-License-Identifier: Apache-2.0
 * grpc_4018.c - two kicks arrive as one, and the wrong one of them is answered.
 *
 * System     gRPC core (pollset on poll)
 * Issue      https://github.com/grpc/grpc/pull/4018
 * Year       2015
 * Seen       A call naps until the poll's timeout, though its thread was kicked: 5500 times slower.
 * Mechanism  One thread kicks the poller to look at its descriptors again; it marks the pollset for
 *            that. Another one kicks the worker itself, which shall return. Both bytes are read at
 *            one wakeup; the worker sees the mark, and polls again, as that kick asked.
 * Claim      A worker that was kicked itself returns.
 * Shows      asleep asleep asleep */
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* of the pollset */
static bool reevaluate, is_kicked_itself;
static int wakeup[2];

static void *kick_to_reevaluate(void *unused)
{
	pthread_mutex_lock(&mutex);
	reevaluate = true;
	write(wakeup[1], "", 1);
	pthread_mutex_unlock(&mutex);
	return unused;
}

static void kick_worker(void)
{
	pthread_mutex_lock(&mutex);
	is_kicked_itself = true;
	write(wakeup[1], "", 1);
	pthread_mutex_unlock(&mutex);
}

static void wait_for_kick(int timeout_ms)
{
	struct pollfd descriptor = {.fd = wakeup[0], .events = POLLIN};
	char bytes[8];

	if (poll(&descriptor, 1, timeout_ms) == 1)
		read(wakeup[0], bytes, sizeof(bytes));
}

static void *poll_work(void *unused)
{
	int timeout_ms = -1;
	bool is_again = true;

	while (is_again) {
		wait_for_kick(timeout_ms);
		pthread_mutex_lock(&mutex);
		is_again = reevaluate;
		reevaluate = false;
#ifdef FIXED
		if (is_kicked_itself)
			timeout_ms = 0; /* once more, but in no time */
#endif
		pthread_mutex_unlock(&mutex);
	}
	return unused;
}

int main(void)
{
	pthread_t worker, other;

	pipe(wakeup);
	pthread_create(&worker, NULL, poll_work, NULL);
	pthread_create(&other, NULL, kick_to_reevaluate, NULL);
	kick_worker();
	pthread_join(worker, NULL);
	pthread_join(other, NULL);
	return 0;
}
