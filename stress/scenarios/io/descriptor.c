/* SPDX-License-Identifier: Apache-2.0
 * descriptor.c - the last user of a descriptor closes it, its poller frees its memory, and the
 * poller's end ends all waits for it.
 *
 *   callers                  closer
 *   begin; use it; end       begin, CLOSING; end
 *   last one out: close it   last one out: close it
 *
 * Result        `descriptor_close`: "used when closed, closed".
 * Why it works  `open` stands for the descriptor that a system call would find. `used` is plain, so
 *               a use that does not happen before the close is a data race.
 * Spec          specs/io/Descriptor.tla. */
#include "io/descriptor.h"

#include <errno.h>

#include "io/descriptor_poller.h"
#include "stress.h"
#include "scenarios/thread/virtual.h"

struct state {
	wp_io io;
	wp_io_poller poller;
	wp_atomic(uint32_t) open;
	uint32_t used; /* plain */
	wp_atomic(uint32_t) freed;
	uint32_t memory; /* plain */
	wp_waiter waiter;
};

STRESS_INIT(init)
{
	wp__io_init(&state->io, 0, true, &state->poller);
	wp_init(&state->poller.retired, NULL);
	wp_init(&state->poller.holders, 2);
	state->poller.lock = (wp_lock){0};
	state->poller.first = NULL;
	state->poller.is_over = false;
	wp_init(&state->open, 1);
	state->used = 1;
	wp_init(&state->freed, 0);
	state->memory = 1;
}

static void close_it(struct state *state)
{
	if (state->io.fd >= 0) {
		wp_store_relaxed(&state->open, 0);
		state->used = 0;
	}
	state->io.fd = -1;
	if (wp__io_leave(&state->io)) {
		wp_fetch_add_relaxed(&state->freed, 1);
		state->memory = 0;
	}
}

static void end(struct state *state)
{
	if (wp__io_end(&state->io))
		close_it(state);
}

/* True if the descriptor was in use when it was closed, or was freed already. */
static bool use(struct state *state, uint32_t flags)
{
	bool is_late;

	if (!wp__io_begin(&state->io, flags))
		return false;
	is_late =
		!(flags & WP_IO_FREED) && (wp_load_relaxed(&state->open) == 0 || state->used == 0);
	is_late = is_late || wp_load_relaxed(&state->freed) != 0 || state->memory == 0;
	end(state);
	return is_late;
}

static void caller(void *at, stress_result *result)
{
	result->r[0] = use(at, 0);
}

static void other_caller(void *at, stress_result *result)
{
	result->r[1] = use(at, 0);
}

static void closer(void *at, stress_result *result)
{
	use(at, WP_IO_CLOSING);
}

STRESS_ACTOR_CALL(read_open, result->r[2] = wp_load_relaxed(&state->open))

STRESS_TEST(descriptor_close, .claim = "The last call under way closes the descriptor.",
	    .upholds = "Descriptor!FdIsOurs", .state_size = sizeof(struct state), .init = init,
	    .actors = {caller, other_caller, closer}, .arbiter = read_open, .results = 3,
	    .outcomes = {
		    {"0,0,0", ACCEPTABLE, "each use came before the close, or was refused"},
		    {"*,*,1", FORBIDDEN, "leak: nobody closes the descriptor"},
		    {"*,*,*", FORBIDDEN,
		     "use after close: the number may be another file's by now"},
	    });

/* The descriptor is freed while a call is under way. Result: "used late, freed late, freed". */
static void freer(void *at, stress_result *result)
{
	use(at, WP_IO_CLOSING);
	result->r[1] = use(at, WP_IO_CLOSING | WP_IO_FREED);
}

STRESS_ACTOR_CALL(read_freed, result->r[2] = wp_load_relaxed(&state->freed))

/* No call may begin after the free, so this call has begun already. */
STRESS_INIT(init_begun)
{
	init(state);
	wp__io_begin(&state->io, 0);
}

STRESS_ACTOR(user)
{
	result->r[0] = wp_load_relaxed(&state->open) == 0 || state->used == 0 ||
		       wp_load_relaxed(&state->freed) != 0 || state->memory == 0;
	end(state);
}

STRESS_TEST(descriptor_free, .claim = "The last call under way frees the descriptor's memory.",
	    .upholds = "Descriptor!IoIsAlive", .state_size = sizeof(struct state),
	    .init = init_begun, .actors = {user, freer}, .arbiter = read_freed, .results = 3,
	    .outcomes = {
		    {"0,0,1", ACCEPTABLE, "freed once, after both calls"},
		    {"*,*,0", FORBIDDEN, "leak: the memory is never freed"},
		    {"*,*,*", FORBIDDEN, "freed during a call, or freed twice"},
	    });

/* Every use of the descriptor happens before its memory is freed. Result: "freed, done". */
STRESS_ACTOR(retirer)
{
	state->used = 0;
	wp__io_poller_retire(&state->poller, &state->io);
}

STRESS_ACTOR(poller)
{
	wp_io *io = wp__io_poller_retired(&state->poller);

	result->r[0] = io != NULL;
	result->r[1] = io == NULL || state->used == 0;
}

STRESS_TEST(descriptor_retire, .claim = "The poller frees a descriptor after every use of it.",
	    .upholds = "Descriptor!EventIsAlive", .state_size = sizeof(struct state), .init = init,
	    .actors = {retirer, poller}, .results = 2,
	    .outcomes = {
		    {"1,1", ACCEPTABLE, "the poller has freed the descriptor"},
		    {"0,1", ACCEPTABLE, "the poller frees it in a later round"},
		    {"*,*", FORBIDDEN, "use after free: the memory was freed before the last use"},
	    });

/* The group and one descriptor hold the poller. Result: "the group released it last, the descriptor
 * did". */
static uint32_t drop(struct state *state)
{
	if (!wp__io_poller_drop(&state->poller))
		return 0;
	state->used = state->memory = 0; /* both holders have released the poller */
	return 1;
}

STRESS_ACTOR(holding_group)
{
	state->used++;
	result->r[0] = drop(state);
}

STRESS_ACTOR(holding_io)
{
	state->memory++;
	result->r[1] = drop(state);
}

STRESS_TEST(descriptor_epoll,
	    .claim = "The last holder of a poller frees it, after all the others have let go.",
	    .upholds = "Descriptor!EventIsAlive", .state_size = sizeof(struct state), .init = init,
	    .actors = {holding_group, holding_io}, .results = 2,
	    .outcomes = {
		    {"1,0", ACCEPTABLE, "the group was the last holder"},
		    {"0,1", ACCEPTABLE, "the descriptor was the last holder"},
		    {"*,*", FORBIDDEN, "both freed the poller, or neither did"},
	    });

/* An OS thread waits for a descriptor while its group is closed, which ends the poller. Result:
 * "how the wait ended". */
STRESS_ACTOR(waiter)
{
	wp_ready *ready = &state->io.ready[WP_IO_READ];
	bool is_told;

	if (!wp__io_poller_list(&state->poller, &state->io)) {
		result->r[0] = 2;
		return;
	}
	wp__waiter_init(&state->waiter, NULL, NULL);
	result->r[0] = wp__ready_wait(ready, &state->waiter, wp_ready_look(ready), WP_FOREVER,
				      &is_told) == WP_CLOSED;
}

STRESS_ACTOR_CALL(ending, wp__io_poller_end(&state->poller))

STRESS_TEST(descriptor_end, .claim = "No thread waits for a descriptor after its poller has ended.",
	    .upholds = "Descriptor!EndWakesWaiter", .state_size = sizeof(struct state),
	    .init = init, .actors = {waiter, ending}, .results = 1, .blocking = 1,
	    .outcomes = {
		    {"1", ACCEPTABLE, "the wait ended with the error for a closed group"},
		    {"2", ACCEPTABLE, "the poller had ended before: the wait is refused"},
		    {"asleep", FORBIDDEN,
		     "lost wakeup: the thread waits for an event that no poller will report"},
		    {"*", FORBIDDEN, "the wait ended as ready, though nothing was"},
	    });

/* The descriptor leaves the list that its poller walks as it ends. Result: "shut when it left,
 * shut". */
static bool is_shut(struct state *state)
{
	wp_ready *ready = &state->io.ready[WP_IO_READ];
	bool is_shut;

	wp_lock_acquire(&ready->lock);
	is_shut = ready->is_shut;
	wp_lock_release(&ready->lock);
	return is_shut;
}

STRESS_INIT(init_listed)
{
	init(state);
	wp__io_poller_list(&state->poller, &state->io);
}

STRESS_ACTOR(leaver)
{
	if (!wp__io_begin(&state->io, WP_IO_CLOSING) || !wp__io_end(&state->io))
		return;
	wp__io_poller_unlist(&state->poller, &state->io);
	result->r[0] = is_shut(state);
}

static void look_again(void *at, stress_result *result)
{
	result->r[1] = is_shut(at);
}

STRESS_TEST(descriptor_end_walks,
	    .claim = "A poller that ends touches no descriptor that has left its list.",
	    .upholds = "Descriptor!EndWalksListed", .state_size = sizeof(struct state),
	    .init = init_listed, .actors = {leaver, ending}, .arbiter = look_again, .results = 2,
	    .blocking = 1,
	    .outcomes = {
		    {"0,0", ACCEPTABLE, "the descriptor had left before"},
		    {"1,1", ACCEPTABLE, "the descriptor was shut, and left after that"},
		    {"*,*", FORBIDDEN,
		     "use after free: the poller touched a descriptor that had left"},
		    {"asleep", FORBIDDEN, "a lock was never released"},
	    });

/* A virtual thread waits in a call while its group is closed, so it never runs again. Result:
 * "open". */
struct dying {
	struct state state;
	struct virtual virtual;
};

static void abandon(wp_waiter *waiter)
{
	if (wp__io_abandon(waiter))
		close_it((struct state *)waiter->value); /* the descriptor is the first member */
}

static void init_dying(void *at)
{
	struct dying *dying = at;
	struct state *state = &dying->state;

	init(state);
	virtual_init(&dying->virtual);
	wp__waiter_init(&state->waiter, &dying->virtual.thread, virtual_push);
	state->waiter.leave = abandon;
	state->waiter.value = &state->io;
	wp__io_begin(&state->io, 0);
	wp__ready_begin(&state->io.ready[WP_IO_READ], 0, &state->waiter);
	wp__vthread_park(&dying->virtual.thread);
}

static void closes(void *at, stress_result *result)
{
	struct state *state = &((struct dying *)at)->state;

	wp__io_begin(&state->io, WP_IO_CLOSING);
	wp_ready_shut(&state->io.ready[WP_IO_READ]);
	end(state);
}

static void close_group(void *at, stress_result *result)
{
	wp__vthread_leave_line(&((struct dying *)at)->virtual.thread);
}

static void read_open_alone(void *at, stress_result *result)
{
	result->r[0] = wp_load_relaxed(&((struct dying *)at)->state.open);
}

STRESS_TEST(descriptor_dies,
	    .claim = "A close is completed in the end, whatever became of the callers.",
	    .upholds = "Descriptor!ClosedInTheEnd", .state_size = sizeof(struct dying),
	    .init = init_dying, .actors = {closes, close_group}, .arbiter = read_open_alone,
	    .results = 1,
	    .outcomes = {
		    {"0", ACCEPTABLE, "the last of the two has closed it"},
		    {"*", FORBIDDEN, "leak: a thread that never runs again is counted as a user"},
	    });

/* A thread reads twice from a stream, with a buffer of two bytes. One byte comes, and then another
 * one, or the end of the stream. Result: "first, second"; 0: the end. */
enum { FINISHED = 1, BYTE = 2, SIZE = 2 };

struct stream {
	wp_io io;
	wp_atomic(uint32_t) held; /* what the system holds: the end, and bytes */
	wp_waiter waiters[2];
};

static void init_stream(void *at)
{
	struct stream *stream = at;

	wp__io_init(&stream->io, 0, true, NULL);
	wp_init(&stream->held, 0);
	for (int index = 0; index < 2; index++)
		stream->waiters[index].why = WP_WAIT_READ;
}

static int64_t takes(int fd, void *at)
{
	struct stream *stream = at;
	uint32_t held = wp_load_relaxed(&stream->held);

	while (held >= BYTE) {
		uint32_t bytes = held / BYTE < SIZE ? held / BYTE : SIZE;

		if (wp_cas_relaxed(&stream->held, &held, held - bytes * BYTE))
			return (int64_t)bytes;
	}
	if (held & FINISHED)
		return 0;
	wp__errno_set(EAGAIN);
	return -1;
}

static void comes(struct stream *stream, uint32_t what)
{
	wp_fetch_add_relaxed(&stream->held, what);
}

static uint64_t reads(struct stream *stream, int index)
{
	int64_t count = 0;

	if (wp__io_call(&stream->io, WP_IO_READ, &stream->waiters[index], takes, stream, SIZE,
			WP_FOREVER, &count) != WP_OK)
		return 9;
	return (uint64_t)count;
}

/* In between, the explorer's store buffer is emptied, which has no room for two waits. */
static void reader(void *at, stress_result *result)
{
	result->r[0] = reads(at, 0);
	comes(at, 0);
	if (result->r[0] == 1)
		result->r[1] = reads(at, 1);
}

/* An event reports what is true when the poller takes it. */
static void reports(struct stream *stream)
{
	bool is_data = !(wp_load_relaxed(&stream->held) & FINISHED);

	wp_ready_tell(&stream->io.ready[WP_IO_READ], is_data);
}

static void system_of_two(void *at, stress_result *result)
{
	for (int byte = 0; byte < 2; byte++) {
		comes(at, BYTE);
		reports(at);
	}
}

STRESS_TEST(descriptor_empty,
	    .claim = "A read that is left out would have found nothing, and the next byte is read.",
	    .upholds = "Descriptor!ReadinessNotLost", .state_size = sizeof(struct stream),
	    .init = init_stream, .actors = {reader, system_of_two}, .results = 2, .blocking = 1,
	    .outcomes = {
		    {"1,1", ACCEPTABLE, "each byte by a read of its own"},
		    {"2,0", ACCEPTABLE, "both bytes by one read"},
		    {"asleep", FORBIDDEN, "lost wakeup: a byte is there, and its reader sleeps"},
		    {"*,*", FORBIDDEN, "a byte is missing"},
	    });

/* One event reports three bytes, one more than the buffer holds. */
static void reader_of_all(void *at, stress_result *result)
{
	result->r[0] = reads(at, 0);
	result->r[1] = reads(at, 1);
}

static void system_of_three(void *at, stress_result *result)
{
	comes(at, 3 * BYTE);
	reports(at);
}

STRESS_TEST(
	descriptor_empty_full,
	.claim =
		"A read that has filled its buffer may have left something, so the next one reads.",
	.upholds = "Descriptor!ReadinessNotLost", .state_size = sizeof(struct stream),
	.init = init_stream, .actors = {reader_of_all, system_of_three}, .results = 2,
	.blocking = 1,
	.outcomes = {
		{"2,1", ACCEPTABLE, "all bytes"},
		{"asleep", FORBIDDEN, "lost wakeup: a byte is there, and its reader sleeps"},
		{"*,*", FORBIDDEN, "a byte is missing"},
	});

/* One event reports the byte and the end of the stream. Nothing else will be reported. */
static void system_of_end(void *at, stress_result *result)
{
	comes(at, BYTE);
	comes(at, FINISHED);
	reports(at);
}

STRESS_TEST(descriptor_empty_end,
	    .claim = "A thread that has read the last byte of a stream reads its end, too.",
	    .upholds = "Descriptor!ReadinessNotLost", .state_size = sizeof(struct stream),
	    .init = init_stream, .actors = {reader, system_of_end}, .results = 2, .blocking = 1,
	    .outcomes = {
		    {"1,0", ACCEPTABLE, "the byte, and the end"},
		    {"asleep", FORBIDDEN,
		     "lost wakeup: the stream has ended, and its reader waits for more"},
		    {"*,*", FORBIDDEN, "the byte is missing, or the end"},
	    });

/* The deadline passes while a thread waits, which has left its read out. The byte has come before,
 * and its edge has yet to be counted. Result: "how the call ended, bytes". */
static void hasty(void *at, stress_result *result)
{
	struct stream *stream = at;
	int64_t count = 0;

	wp__io_emptied(&stream->io, 0);
	comes(stream, BYTE);
	result->r[0] = (uint64_t)wp__io_call(&stream->io, WP_IO_READ, &stream->waiters[0], takes,
					     stream, SIZE, 0, &count) == WP_OK;
	result->r[1] = (uint64_t)count;
}

static void late_poller(void *at, stress_result *result)
{
	wp_ready_tell(&((struct stream *)at)->io.ready[WP_IO_READ], true);
}

STRESS_TEST(descriptor_empty_late, .claim = "A call whose deadline has passed has tried to read.",
	    .upholds = "Descriptor!ReadsBeforeLate", .state_size = sizeof(struct stream),
	    .init = init_stream, .actors = {hasty, late_poller}, .results = 2, .blocking = 1,
	    .outcomes = {
		    {"1,1", ACCEPTABLE, "the byte"},
		    {"*,*", FORBIDDEN, "the byte was there, and the call says that it is late"},
		    {"asleep", FORBIDDEN, "a wait without a deadline"},
	    });
