/* SPDX-License-Identifier: Apache-2.0
 * conform_descriptor.c - the threads of specs/io/Descriptor.tla: readers, each of which reads once
 * from a descriptor until a deadline; the system and its poller; and a closer, which closes and
 * frees the descriptor.
 *
 *   reader                    system             poller              closer
 *   begin; wp__io_call; end   data + 1, and an   all retired: free   begin, CLOSING; shut; end
 *   the last: close it          edge, while it   an edge: take it,   begin, FREED; end
 *                               is open            and wake a reader
 *                             the end, and an
 *                               edge
 *
 * Why it works  The system's part of the descriptor is one word: the data that can be read, whether
 *               the stream has ended, whether an event is pending, and whether the number is this
 *               file's. A buffer holds two of the data, so that one alone does not fill it. The readers are OS
 *               threads. The deadline may come at any time while one sleeps.
 * Spec          specs/io/Descriptor.tla. Compared by wakeproof conform -t '^descriptor'. */
#include "io/descriptor.h"

#include "litmus.h"
#include "io/descriptor_poller.h"
#include "stress.h"

enum { READERS = 2, LATE = 1, SIZE = 2, OPEN = 1, EDGE = 2, FINISHED = 4, DATA = 8 };

struct state {
	wp_io io;
	wp_atomic(uint64_t) system;
	_Alignas(WP_LINE) wp_waiter waiters[READERS];
	wp_io_poller poller;
};

/* python/wakeproof/judge/conform/maps/descriptor.py reads the state at these places. */
_Static_assert(offsetof(struct state, io.users) == 4, "USERS");
_Static_assert(offsetof(struct state, io.ready[WP_IO_READ].lock.state) == 8, "LOCK");
_Static_assert(offsetof(struct state, io.ready[WP_IO_READ].edges) == 12, "EDGES");
_Static_assert(offsetof(struct state, io.ready[WP_IO_READ].is_shut) == 16, "SHUT");
_Static_assert(offsetof(struct state, io.empty) == 96, "EMPTY");
_Static_assert(offsetof(struct state, system) == 104, "SYSTEM");
_Static_assert(offsetof(struct state, waiters) == 128, "WAITERS");
_Static_assert(sizeof(wp_waiter) == 80, "EACH");
_Static_assert(offsetof(wp_waiter, line) == 16, "LINE");
_Static_assert(offsetof(wp_waiter, state) == 52, "STATE");
_Static_assert(offsetof(struct state, poller.retired) == 512, "RETIRED");

STRESS_INIT(init)
{
	wp__io_init(&state->io, 0, true, &state->poller);
	wp_init(&state->system, OPEN);
	wp_init(&state->poller.retired, NULL);
	for (int index = 0; index < READERS; index++) {
		wp__waiter_init(&state->waiters[index], NULL, NULL);
		state->waiters[index].why = WP_WAIT_READ;
	}
}

static void end(struct state *state)
{
	wp_io *io = &state->io;

	if (!wp__io_end(io))
		return;
	if (io->fd >= 0)
		litmus_fetch_and(&state->system, ~(uint64_t)(OPEN | EDGE), relaxed); /* [Close] */
	io->fd = -1;
	if (wp__io_leave(io))
		wp__io_poller_retire(io->poller, io);
}

static int64_t attempt(int fd, void *at)
{
	struct state *state = at;
	uint64_t word = litmus_load(&state->system, relaxed); /* [Try] */

	while (word >= DATA) {
		uint64_t data = word / DATA < SIZE ? word / DATA : SIZE, rest = word - data * DATA;

		if (litmus_cas(&state->system, &word, rest, relaxed, relaxed)) /* [Read] */
			return (int64_t)data;
	}
	return word & FINISHED ? 0 : -1; /* EAGAIN: kernel/io/descriptor_call.c */
}

static void reads(struct state *state, int index)
{
	int64_t result;

	if (!wp__io_begin(&state->io, 0))
		return;
	wp__io_call(&state->io, WP_IO_READ, &state->waiters[index], attempt, state, SIZE, LATE,
		    &result);
	end(state);
}

STRESS_ACTOR_CALL(reader_a, reads(state, 0))
STRESS_ACTOR_CALL(reader_b, reads(state, 1))

STRESS_ACTOR(closer)
{
	wp__io_begin(&state->io, WP_IO_CLOSING);
	wp_ready_shut(&state->io.ready[WP_IO_READ]);
	end(state);
	wp__io_begin(&state->io, WP_IO_CLOSING | WP_IO_FREED);
	end(state);
}

STRESS_ACTOR(poller)
{
	while (wp__io_poller_retired(&state->poller) == NULL) {
		uint64_t word = litmus_load(&state->system, relaxed); /* [Poll] */
		uint64_t less = word & ~(uint64_t)EDGE;

		if (word & EDGE &&
		    litmus_cas(&state->system, &word, less, relaxed, relaxed)) /* [Take] */
			wp_ready_tell(&state->io.ready[WP_IO_READ], !(word & FINISHED));
	}
}

static void arrive(struct state *state, int count)
{
	uint64_t word = OPEN;

	while (count > 0 && word & OPEN) {
		uint64_t more = (word + DATA) | EDGE;

		if (litmus_cas(&state->system, &word, more, relaxed, relaxed)) /* [Arrive] */
			count--;
	}
}

static void finish(struct state *state)
{
	uint64_t word = OPEN;

	while (word & OPEN) {
		uint64_t over = word | FINISHED | EDGE;

		if (litmus_cas(&state->system, &word, over, relaxed, relaxed)) /* [Finish] */
			return;
	}
}

STRESS_ACTOR(arrives)
{
	arrive(state, 1);
	finish(state);
}

STRESS_ACTOR_CALL(arrives_twice, arrive(state, 2))

STRESS_TEST(conform_descriptor,
	    .claim = "The compiled calls on a descriptor are the specified ones.",
	    .upholds = "Descriptor!ReadinessNotLost", .state_size = sizeof(struct state),
	    .init = init, .actors = {reader_a, closer, poller, arrives}, .results = 1,
	    .blocking = 1, .outcomes = {{"0", ACCEPTABLE, "all is done"}});
STRESS_TEST(conform_descriptor_open, .claim = "So they are with two readers, and nobody closes it.",
	    .upholds = "Descriptor!ReadinessNotLost", .state_size = sizeof(struct state),
	    .init = init, .actors = {reader_a, reader_b, poller, arrives_twice}, .results = 1,
	    .blocking = 1,
	    .outcomes = {{"0", ACCEPTABLE, "all is done"},
			 {"stuck", ACCEPTABLE, "its poller goes on"}});
