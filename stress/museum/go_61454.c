/* SPDX-License-Identifier: Apache-2.0
 * go_61454.c - nobody waits for the network, and nobody can run: between the two it was both.
 *
 * System     Go (runtime), in development
 * Issue      https://github.com/golang/go/issues/61454
 * Year       2023
 * Seen       "fatal error: all goroutines are asleep - deadlock!" in programs that are alive.
 * Mechanism  A thread that polls the network takes a goroutine off the count of those that wait for
 *            it, and makes it ready after that. A thread that finds nothing to run in between polls
 *            only if somebody waits for the network. Nobody does, so it takes the program for dead.
 * Claim      A program in which a goroutine can run is not dead.
 * Shows      assertion assertion assertion */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

static int network;
static atomic_int run_queue, netpoll_waiters = 1;

static bool take_runnable(void)
{
	int one = 1;

	return atomic_compare_exchange_strong(&run_queue, &one, 0);
}

static void make_ready(void)
{
#ifndef FIXED
	netpoll_waiters--;
#endif
	run_queue = 1;
#ifdef FIXED
	netpoll_waiters--;
#endif
}

/* The monitor polls, too. It does not count as a thread that runs. */
static void *monitor(void *unused)
{
	uint64_t count;

	if (read(network, &count, sizeof(count)) > 0)
		make_ready();
	return unused;
}

/* Finds a goroutine to run, or blocks in the network poller. */
static void find_runnable(void)
{
	bool has_waiters = netpoll_waiters;

	if (!take_runnable())
		assert(has_waiters); /* or all goroutines are asleep */
}

int main(void)
{
	pthread_t thread;
	uint64_t one = 1;

	network = eventfd(0, EFD_NONBLOCK);
	write(network, &one, sizeof(one));
	pthread_create(&thread, NULL, monitor, NULL);
	find_runnable();
	pthread_join(thread, NULL);
	return 0;
}
