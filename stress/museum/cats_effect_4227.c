/* SPDX-License-Identifier: Apache-2.0
 * cats_effect_4227.c - woken for two reasons, it believes the wrong one.
 *
 * System     Cats Effect 3.6 (work-stealing pool with integrated polling)
 * Issue      https://github.com/typelevel/cats-effect/pull/4227
 * Year       2025
 * Seen       A fiber whose I/O is complete runs only when the next timer fires.
 * Mechanism  A parked worker polls. The event's callback puts a fiber into the worker's own queue,
 *            and tells the pool that there is work; the pool unparks a parked worker, which is this
 *            one. The worker finds that it was unparked, so it looks for work of others, finds none,
 *            and parks again, without a look at its own queue.
 * Claim      A fiber in a worker's own queue is run.
 * Shows      asleep asleep asleep */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

static int set, io, interrupt;
static int local_queue; /* of the worker, which alone touches it */
static atomic_bool is_parked;
static atomic_int external_queue;

static void unpark_a_worker(void)
{
	uint64_t one = 1;

	if (atomic_exchange(&is_parked, false))
		write(interrupt, &one, sizeof(one));
}

/* Returns whether there was an event other than an interrupt. */
static bool poll_events(void)
{
	struct epoll_event found;
	uint64_t count;

	if (epoll_wait(set, &found, 1, -1) != 1)
		return false;
	read(found.data.fd, &count, sizeof(count));
	if (found.data.fd != io)
		return false;
	local_queue++; /* the callback */
	unpark_a_worker();
	return true;
}

static void work(void)
{
	for (;;) {
		bool has_events, is_unparked;

		is_parked = true;
		has_events = poll_events();
		is_unparked = !atomic_exchange(&is_parked, false);
#ifdef FIXED
		if (has_events)
			return; /* runs what is in the local queue */
#endif
		if (is_unparked && external_queue)
			return;
		if (!is_unparked && has_events)
			return;
	}
}

static void *complete(void *unused)
{
	uint64_t one = 1;

	write(io, &one, sizeof(one));
	return unused;
}

static void watch(int number)
{
	struct epoll_event in = {.events = EPOLLIN, .data.fd = number};

	epoll_ctl(set, EPOLL_CTL_ADD, number, &in);
}

int main(void)
{
	pthread_t device;

	set = epoll_create1(0);
	io = eventfd(0, EFD_NONBLOCK);
	interrupt = eventfd(0, EFD_NONBLOCK);
	watch(io);
	watch(interrupt);
	pthread_create(&device, NULL, complete, NULL);
	work();
	pthread_join(device, NULL);
	return 0;
}
