/* SPDX-License-Identifier: Apache-2.0
 * poller_case.h - a poller, and a group with some, for pollers.c and pollers_two.c.
 *
 * Why it works  A poller here sleeps at an eventfd of its own, which its wakeup signals; each of
 *               its steps is counted. `turns` is plain: the tasks of one carrier take turns at it.
 *               With "step" behind the case, pollers have no stack. */
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "sched/poller.h"
#include "../vthreads_case.h"
#include "sched/worker.h"

/* One poller. blocks: it is inside its system call. */
struct one {
	int event;
	uint32_t carrier;
	bool has_io, leaves, steps_aside, spins;
	bool has_yielded, is_aside; /* one without a stack, when it goes on */
	wp_vthread *resumes;        /* the poller resumes it when it has parked its carrier */
	int result;
	wp_atomic(uint32_t) told; /* to end */
	wp_atomic(uint32_t) looks, blocks, wakeups, aside, unasked;
	wp_vthread *thread;
};

static bool has_no_stack;
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
	int ms = until_ns == WP_FOREVER
			 ? PATIENCE_S * 1000
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

enum next { NEXT_YIELD, NEXT_ASIDE, NEXT_END };

/* From one yield to the next. */
static enum next look(struct one *one, int code)
{
	turns[one->carrier]++;
	wp_fetch_add_release(&one->looks, 1);
	if (code == WP_CLOSED || wp_load_acquire(&one->told) != 0)
		return NEXT_END;
	if (one->spins || wp_poller_try_park() != WP_OK)
		return NEXT_YIELD;
	if (one->steps_aside) { /* descheduled: the others run */
		wp_fetch_add_release(&one->aside, 1);
		return NEXT_ASIDE;
	}
	if (one->resumes != NULL)
		wp_vthread_unpark(one->resumes);
	block(one);
	if (!one->leaves)
		check(wp_poller_unpark() == WP_OK, "an unpark of the carrier");
	return NEXT_YIELD;
}

static void come_back(struct one *one)
{
	if (wp_poller_can_park())
		wp_fetch_add_relaxed(&one->unasked, 1);
	check(wp_poller_unpark() == WP_OK, "an unpark of the carrier");
}

static int polls(void *arg)
{
	struct one *one = arg;
	enum next next = NEXT_YIELD;

	while (next != NEXT_END) {
		next = look(one, wp_poller_maybe_yield(one->has_io));
		if (next == NEXT_ASIDE) {
			wp_vthread_park_until(in_ms(1));
			wp_vthread_yield(); /* the time may be over before it parks */
			come_back(one);
		}
	}
	return one->result;
}

/* The same without a stack: it returns to leave, and learns when it goes on why. */
static enum wp_step polls_by_steps(wp_task *task)
{
	struct one *one = wp_vthread_arg((wp_vthread *)(void *)task);
	enum next next = NEXT_YIELD;

	if (one->is_aside) {
		wp__vthread_park_end();
		come_back(one);
	} else if (one->has_yielded) {
		next = look(one, wp__poller_yield_end());
	}
	one->is_aside = one->has_yielded = false;
	while (next != NEXT_END) {
		int code;

		if (next == NEXT_ASIDE) {
			bool parks = wp__vthread_park_begin(in_ms(1)) == WP_MUST_PARK;

			one->is_aside = true;
			return parks ? WP_STEP_PARK : WP_STEP_YIELD;
		}
		code = wp__poller_yield_begin(one->has_io);
		one->has_yielded = code == WP_OK;
		if (one->has_yielded)
			return WP_STEP_POLL;
		next = look(one, code);
	}
	return WP_STEP_DONE;
}

static void open_poller(struct one *one, uint32_t carrier)
{
	wp_poller_config config = {.name = "poller", .run = polls, .wakeup = wake, .arg = one};

	if (has_no_stack)
		config.step = polls_by_steps;
	one->carrier = carrier;
	one->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (wp_poller_register(group, carrier, &config, &one->thread) != WP_OK)
		lost("a poller");
}

/* After the close of the group, which has ended it. */
static void close_poller(struct one *one)
{
	int result = has_no_stack ? 0 : one->result;

	check(join(one->thread, "the end of a poller") == result, "how a poller failed");
	close(one->event);
}

static inline void close_all(struct one *ones, uint32_t many)
{
	check(wp_group_close(group, patience(), false, NULL, NULL) == WP_OK, "the close");
	for (uint32_t at = 0; at < many; at++)
		close_poller(&ones[at]);
	wp_group_free(group);
}

static inline int takes_a_turn(void *arg)
{
	turns[0]++;
	return 0;
}

static wp_vthread *start_on(int carrier, int (*run)(void *), void *arg)
{
	wp_vthread_config config = {.name = "one", .run = run, .arg = arg, .carrier = carrier};

	return start_as(&config);
}

/* CASE [step] */
int main(int argc, char **argv)
{
	has_no_stack = argc == 3 && strcmp(argv[2], "step") == 0;
	return run_case(argc - has_no_stack, argv);
}
