/* SPDX-License-Identifier: Apache-2.0
 * netty_5258.c - a task that comes while the loop is said to be awake.
 *
 * System     netty 4.1.0 (epoll transport)
 * Issue      https://github.com/netty/netty/pull/5258
 * Year       2016
 * Seen       Tasks of the event loop wait until the next timer, or for ever.
 * Mechanism  Who submits a task writes to the event descriptor only if it sets `wakenUp` from 0 to
 *            1. The loop looks for tasks, sets it to 0, and waits in epoll_wait. A task that was
 *            submitted between the two, while it was still 1, writes nothing, and the loop does not
 *            look again before it waits.
 * Claim      A task that is submitted is run.
 * Shows      asleep asleep asleep */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

static int set, event;
static atomic_int tasks;
static atomic_int woken_up = 1; /* by an earlier task, which is done */

static void *submit(void *unused)
{
	uint64_t one = 1;

	tasks++;
	if (!atomic_exchange(&woken_up, 1))
		write(event, &one, sizeof(one));
	return unused;
}

static int run_tasks(void)
{
	return atomic_exchange(&tasks, 0);
}

static void loop(void)
{
	struct epoll_event found;
	uint64_t count;

	for (int done = 0; !done; done = run_tasks()) {
		int limit_ms = tasks ? 0 : -1, was_woken = atomic_exchange(&woken_up, 0);

#ifdef FIXED
		if (was_woken && tasks)
			limit_ms = 0;
#else
		(void)was_woken;
#endif
		if (epoll_wait(set, &found, 1, limit_ms) == 1)
			read(event, &count, sizeof(count));
	}
}

int main(void)
{
	pthread_t submitter;
	struct epoll_event in = {.events = EPOLLIN};

	set = epoll_create1(0);
	event = eventfd(0, EFD_NONBLOCK);
	epoll_ctl(set, EPOLL_CTL_ADD, event, &in);
	pthread_create(&submitter, NULL, submit, NULL);
	loop();
	pthread_join(submitter, NULL);
	return 0;
}
