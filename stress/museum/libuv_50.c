/* SPDX-License-Identifier: Apache-2.0
 * libuv_50.c - the mark of a new event is cleared with that of the old one.
 *
 * System     libuv 0.10 (uv_async_send)
 * Issue      https://github.com/libuv/libuv/pull/50
 * Year       2014
 * Seen       A callback is not called, although uv_async_send was, and the loop waits.
 * Mechanism  The loop looks whether `pending` is set, sets it to 0 in a second step, and calls the
 *            callback. A send between the two steps finds `pending` set, writes nothing, and its
 *            mark is trampled. The callback runs after that, but it may see less than the sender
 *            did before: also on x86, where the 0 may wait in a store buffer meanwhile.
 * Claim      After each send the callback sees what was done before it.
 * Shows      ended asleep asleep */
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

enum { SENDERS = 2 };

static int wakeup[2];
static atomic_int pending, sent;
static int seen;

static void *produce(void *unused)
{
	atomic_fetch_add_explicit(&sent, 1, memory_order_relaxed);
	if (!atomic_exchange(&pending, 1)) /* uv_async_send */
		write(wakeup[1], "", 1);
	return unused;
}

static void run_callback(void)
{
	seen = atomic_load_explicit(&sent, memory_order_relaxed);
}

static void loop(void)
{
	char byte;

	while (seen < SENDERS) {
		read(wakeup[0], &byte, 1);
#ifdef FIXED
		if (atomic_exchange(&pending, 0))
			run_callback();
#else
		if (!atomic_load_explicit(&pending, memory_order_relaxed))
			continue;
		atomic_store_explicit(&pending, 0, memory_order_relaxed);
		run_callback();
#endif
	}
}

int main(void)
{
	pthread_t threads[SENDERS];

	pipe(wakeup);
	for (int i = 0; i < SENDERS; i++)
		pthread_create(&threads[i], NULL, produce, NULL);
	loop();
	for (int i = 0; i < SENDERS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
