/* SPDX-License-Identifier: Apache-2.0
 * pollers_case.h - a poller, and a group with some, for pollers.c and pollers_two.c.
 *
 * Why it works  A poller here sleeps at an eventfd of its own, which its wakeup signals; each of its
 *               steps is counted. `turns` is plain: what one carrier runs takes turns at its own. */
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "poller.h"
#include "vthreads_case.h"
#include "worker.h"

/* One poller. blocks: inside its system call. */
struct one {
	int event;
	uint32_t carrier;
	bool has_io, leaves, steps_aside, spins;
	wp_vthread *resumes; /* by the poller, when it has parked its carrier */
	int result;
	wp_atomic(uint32_t) told; /* to end */
	wp_atomic(uint32_t) looks, blocks, wakeups, aside, unasked;
	wp_vthread *thread;
};

static uint64_t turns[2];

static void wake(void *arg)
{
	struct one *one = arg;

	wp_fetch_add_relaxed(&one->wakeups, 1);
	if (!one->spins && eventfd_write(one->event, 1) != 0)
		lost("a wakeup");
}

static void block(struct one *one)
{
	int64_t until_ns = wp_poller_until(), now_ns = wp_clock_ns();
	int ms = until_ns == WP_FOREVER ? PATIENCE_S * 1000
					: (int)((until_ns > now_ns ? until_ns - now_ns : 0) / MS + 1);
	eventfd_t signals;

	if (!wp_poller_can_park())
		return;
	wp_fetch_add_release(&one->blocks, 1);
	if (poll(&(struct pollfd){one->event, POLLIN, 0}, 1, ms) == 1)
		eventfd_read(one->event, &signals);
	else if (until_ns == WP_FOREVER)
		lost("the wakeup of a poller that blocks");
}

static int polls(void *arg)
{
	struct one *one = arg;

	while (wp_load_acquire(&one->told) == 0) {
		int code = wp_poller_maybe_yield(one->has_io);

		turns[one->carrier]++;
		wp_fetch_add_release(&one->looks, 1);
		if (code == WP_CLOSED)
			break;
		if (one->spins || wp_poller_try_park() != WP_OK)
			continue;
		if (one->steps_aside) { /* descheduled: the others run */
			wp_fetch_add_release(&one->aside, 1);
			wp_vthread_park_until(in_ms(1));
			if (wp_poller_can_park())
				wp_fetch_add_relaxed(&one->unasked, 1);
		} else {
			if (one->resumes != NULL)
				wp_vthread_unpark(one->resumes);
			block(one);
		}
		if (!one->leaves)
			check(wp_poller_unpark() == WP_OK, "an unpark of the carrier");
	}
	return one->result;
}

static void open_poller(struct one *one, uint32_t carrier)
{
	wp_poller_config config = {.name = "poller", .run = polls, .wakeup = wake, .arg = one};

	one->carrier = carrier;
	one->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	check(wp_poller_register(group, carrier, &config, &one->thread) == WP_OK, "a poller");
}

/* After the group's close, which has ended it. */
static void close_poller(struct one *one)
{
	check(join(one->thread, "the end of a poller") == one->result, "how a poller failed");
	close(one->event);
}

static inline void close_all(struct one *ones, uint32_t many)
{
	check(wp_group_close(group, in_ms(PATIENCE_S * 1000), false, NULL, NULL) == WP_OK,
	      "the close");
	for (uint32_t at = 0; at < many; at++)
		close_poller(&ones[at]);
	wp_group_free(group);
}

static inline int takes_a_turn(void *arg)
{
	(void)arg;
	turns[0]++;
	return 0;
}

static wp_vthread *start_on(int carrier, int (*run)(void *), void *arg)
{
	wp_vthread_config config = {.name = "one", .run = run, .arg = arg, .carrier = carrier};

	return start_as(&config);
}
