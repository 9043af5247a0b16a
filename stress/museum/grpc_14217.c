/* SPDX-License-Identifier: Apache-2.0
 * grpc_14217.c - it waits in the old set, and the descriptor comes into the new one.
 *
 * System     gRPC core (epollex)
 * Issue      https://github.com/grpc/grpc/pull/14217
 * Year       2018
 * Seen       A thread never returns from pollset_work, and its data has arrived.
 * Mechanism  A pollset without descriptors has an epoll set that is empty, and a thread waits in it.
 *            When the first descriptor is added, the pollset gets a new epoll set with that one. The
 *            thread that is in the old set is not told.
 * Claim      Who polls a pollset returns when one of its descriptors is ready.
 * Shows      asleep asleep asleep */
#include <pthread.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* of the pollset */
static int active_set;
static int wakeup; /* an eventfd that is in each set */
static int data;

static void add(int set, int number)
{
	struct epoll_event in = {.events = EPOLLIN, .data.fd = number};

	epoll_ctl(set, EPOLL_CTL_ADD, number, &in);
}

static int new_set(void)
{
	int set = epoll_create1(0);

	add(set, wakeup);
	return set;
}

static void activate(int set)
{
	pthread_mutex_lock(&mutex);
	active_set = set;
	pthread_mutex_unlock(&mutex);
#ifdef FIXED
	write(wakeup, &(uint64_t){1}, sizeof(uint64_t)); /* kicks who polls */
#endif
}

static int current_set(void)
{
	int set;

	pthread_mutex_lock(&mutex);
	set = active_set;
	pthread_mutex_unlock(&mutex);
	return set;
}

static void *pollset_work(void *unused)
{
	struct epoll_event found = {.data.fd = wakeup};
	uint64_t count;

	while (found.data.fd == wakeup)
		if (epoll_wait(current_set(), &found, 1, -1) == 1)
			read(found.data.fd, &count, sizeof(count));
	return unused;
}

int main(void)
{
	pthread_t worker;
	uint64_t one = 1;
	int set;

	wakeup = eventfd(0, EFD_NONBLOCK);
	data = eventfd(0, EFD_NONBLOCK);
	active_set = new_set();
	set = new_set();
	add(set, data);
	pthread_create(&worker, NULL, pollset_work, NULL);
	activate(set);
	write(data, &one, sizeof(one)); /* data arrives */
	pthread_join(worker, NULL);
	return 0;
}
