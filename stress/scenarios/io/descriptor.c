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
	wp__io_init(&state->io, 0, &state->poller);
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
