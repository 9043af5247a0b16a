/* SPDX-License-Identifier: Apache-2.0
 * readiness.c - a thread waits until its descriptor is ready; the poller or a close wakes it, and a
 * thread whose group is closed tries no more.
 *
 *   reader                     system and poller
 *   check; try: no data:       data++
 *   wait                       edge: wake the waiter
 *
 * Result        `readiness`: "read".
 * Why it works  `data` stands for the system's buffer. It is relaxed, because a system call orders
 *               nothing that the program could see. Waiters really sleep.
 * Spec          specs/io/Descriptor.tla. */
#include "io/readiness.h"
#include "stress.h"
#include "scenarios/thread/virtual.h"

struct state {
	wp_ready ready;
	wp_atomic(uint32_t) data;
	wp_waiter waiters[2];
	struct virtual virtual;
};

STRESS_INIT(init)
{
	wp_ready_init(&state->ready);
	wp_init(&state->data, 0);
}

static bool try_read(struct state *state)
{
	uint32_t data = wp_load_relaxed(&state->data);

	while (data > 0)
		if (wp_cas_relaxed(&state->data, &data, data - 1))
			return true;
	return false;
}

/* How the wait ended; 1: the thread has read. */
static uint32_t read_one(struct state *state, wp_waiter *waiter)
{
	bool is_told = false;

	for (;;) {
		uint32_t seen = wp_ready_look(&state->ready);
		int code;

		if (try_read(state)) {
			if (is_told)
				wp_ready_pass(&state->ready);
			return 1;
		}
		wp__waiter_init(waiter, NULL, NULL);
		code = wp__ready_wait(&state->ready, waiter, seen, WP_FOREVER, &is_told);
		if (code != WP_OK)
			return code == WP_CLOSED ? 2 : 3;
	}
}

STRESS_ACTOR_CALL(reader, result->r[0] = read_one(state, &state->waiters[0]))
STRESS_ACTOR_CALL(other_reader, result->r[1] = read_one(state, &state->waiters[1]))

STRESS_ACTOR(poller)
{
	wp_fetch_add_relaxed(&state->data, 1);
	wp_ready_tell(&state->ready, true);
}

STRESS_TEST(readiness,
	    .claim = "A thread that waits for a descriptor is woken when the descriptor is ready.",
	    .upholds = "Descriptor!ReadinessNotLost", .state_size = sizeof(struct state),
	    .init = init, .actors = {reader, poller}, .results = 1, .blocking = 1,
	    .outcomes = {
		    {"1", ACCEPTABLE, "the thread has read"},
		    {"asleep", FORBIDDEN,
		     "lost wakeup: the descriptor is ready, and the waiter sleeps"},
		    {"*", FORBIDDEN,
		     "the wait ended as closed, though nobody has closed the descriptor"},
	    });

/* Two threads wait, two items come, and one edge reports both. */
STRESS_ACTOR(poller_of_two)
{
	wp_fetch_add_relaxed(&state->data, 2);
	wp_ready_tell(&state->ready, true);
}

STRESS_TEST(readiness_pass,
	    .claim = "A woken thread passes the readiness on, so all items are read.",
	    .upholds = "Descriptor!ReadinessNotLost", .state_size = sizeof(struct state),
	    .init = init, .actors = {reader, other_reader, poller_of_two}, .results = 2,
	    .blocking = 1,
	    .outcomes = {
		    {"1,1", ACCEPTABLE, "both threads have read"},
		    {"asleep", FORBIDDEN,
		     "lost wakeup: one thread has read, and the other sleeps beside the rest"},
		    {"*,*", FORBIDDEN,
		     "the wait ended as closed, though nobody has closed the descriptor"},
	    });

/* One item comes after the other, each with its edge. Both may come before the first check. */
STRESS_ACTOR(poller_of_each)
{
	poller(state, result);
	poller(state, result);
}

STRESS_ACTOR(reader_of_each)
{
	result->r[0] = read_one(state, &state->waiters[0]);
	result->r[1] = read_one(state, &state->waiters[1]);
}

STRESS_TEST(readiness_all, .claim = "A thread reads as often as there is something to read.",
	    .upholds = "Descriptor!ReadsAll", .state_size = sizeof(struct state), .init = init,
	    .actors = {reader_of_each, poller_of_each}, .results = 2, .blocking = 1,
	    .outcomes = {
		    {"1,1", ACCEPTABLE, "the thread has read both items"},
		    {"asleep", FORBIDDEN,
		     "lost wakeup: there is something to read, and the thread sleeps"},
		    {"*,*", FORBIDDEN,
		     "the wait ended as closed, though nobody has closed the descriptor"},
	    });

STRESS_ACTOR_CALL(closer, wp_ready_shut(&state->ready))

STRESS_TEST(readiness_close, .claim = "A close wakes every waiter.",
	    .upholds = "Descriptor!CloseWakesWaiter", .state_size = sizeof(struct state),
	    .init = init, .actors = {reader, closer}, .results = 1, .blocking = 1,
	    .outcomes = {
		    {"2", ACCEPTABLE, "the wait ended with the error for a closed descriptor"},
		    {"asleep", FORBIDDEN, "lost wakeup: the thread waits for a closed descriptor"},
		    {"*", FORBIDDEN, "the wait ended as ready, though there was nothing to read"},
	    });

/* A parked virtual thread is first in the queue, and its group is closed. Behind it an OS thread
 * reads. */
STRESS_INIT(init_dying)
{
	init(state);
	virtual_init(&state->virtual);
	wp__waiter_init(&state->waiters[1], &state->virtual.thread, virtual_push);
	wp__ready_begin(&state->ready, 0, &state->waiters[1]);
	wp__vthread_park(&state->virtual.thread);
}

STRESS_ACTOR_CALL(close_group, wp__vthread_leave_line(&state->virtual.thread))

STRESS_TEST(readiness_dies,
	    .claim = "Readiness skips a thread of a closed group, and reaches the next.",
	    .upholds = "Descriptor!ReadinessNotLost", .state_size = sizeof(struct state),
	    .init = init_dying, .actors = {reader, poller, close_group}, .results = 1,
	    .blocking = 1,
	    .outcomes = {
		    {"1", ACCEPTABLE, "the thread has read"},
		    {"asleep", FORBIDDEN,
		     "lost wakeup: the descriptor is ready, and the notified thread will not run"},
		    {"*", FORBIDDEN,
		     "the wait ended as closed, though nobody has closed the descriptor"},
	    });
