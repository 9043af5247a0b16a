/* SPDX-License-Identifier: Apache-2.0
 * wakeup.c - a thread gives work twice and signals each time; the main thread waits for the
 * descriptor, acknowledges, and looks for work, until it has seen the last.
 * Claim: a signal after a change ends a wait that begins after the look.
 * BUG: the main thread looks for work before it acknowledges. */
#include <glib.h>
#include <gwakeup.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>

enum { CHANGES = 2 };

static GWakeup *wakeup;
static atomic_int work;

static void *change(void *unused)
{
	for (int at = 1; at <= CHANGES; at++) {
		atomic_store_explicit(&work, at, memory_order_relaxed);
		g_wakeup_signal(wakeup);
	}
	return unused;
}

int main(void)
{
	pthread_t other;
	GPollFD asked;
	int seen = 0;

	wakeup = g_wakeup_new();
	g_wakeup_get_pollfd(wakeup, &asked);
	pthread_create(&other, NULL, change, NULL);
	while (seen != CHANGES) {
		struct pollfd ready = {.fd = asked.fd, .events = POLLIN};

		poll(&ready, 1, -1);
#ifdef BUG
		seen = atomic_load_explicit(&work, memory_order_relaxed);
		g_wakeup_acknowledge(wakeup);
#else
		g_wakeup_acknowledge(wakeup);
		seen = atomic_load_explicit(&work, memory_order_relaxed);
#endif
	}
	pthread_join(other, NULL);
	g_wakeup_free(wakeup);
	return 0;
}
