/* SPDX-License-Identifier: Apache-2.0
 * descriptor.c - a descriptor is closed by the last that uses it; its memory is freed by its poller; and
 * the end of that ends who waits for it.
 *
 *   callers                  closer                    `descriptor_close`: "used when closed, closed"
 *   begin; use it; end       begin, CLOSING; end
 *   the last: close it       the last: close it
 *
 * Why it works  `open` is what a system call would find; `used` is plain: a use that is not before
 *               the close is a race.
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

/* True: it was used when it was closed, or freed. */
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

STRESS_ACTOR(read_open)
{
	result->r[2] = wp_load_relaxed(&state->open);
}

STRESS_TEST(descriptor_close, .claim = "The last call under way closes it.",
	    .upholds = "Descriptor!FdIsOurs", .state_size = sizeof(struct state), .init = init,
	    .actors = {caller, other_caller, closer}, .arbiter = read_open, .results = 3,
	    .outcomes = {
		    {"0,0,0", ACCEPTABLE, "each was before the close, or was refused"},
		    {"*,*,1", FORBIDDEN, "nobody closes it"},
		    {"*,*,*", FORBIDDEN, "used after the close: it is another's"},
	    });

/* It is freed while a call is under way. Result: "used late, freed late, freed". */
static void freer(void *at, stress_result *result)
{
	use(at, WP_IO_CLOSING);
	result->r[1] = use(at, WP_IO_CLOSING | WP_IO_FREED);
}

STRESS_ACTOR(read_freed)
{
	result->r[2] = wp_load_relaxed(&state->freed);
}

/* Who begins after the free is wrong: this one has begun. */
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

STRESS_TEST(descriptor_free, .claim = "Its memory goes with the last call under way.",
	    .upholds = "Descriptor!IoIsAlive", .state_size = sizeof(struct state),
	    .init = init_begun, .actors = {user, freer}, .arbiter = read_freed, .results = 3,
	    .outcomes = {
		    {"0,0,1", ACCEPTABLE, "once, after both"},
		    {"*,*,0", FORBIDDEN, "never freed"},
		    {"*,*,*", FORBIDDEN, "freed under somebody, or twice"},
	    });

/* What was done with it comes before its memory is freed. Result: "freed, done". */
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

STRESS_TEST(descriptor_retire, .claim = "Its poller frees it after all that was done with it.",
	    .upholds = "Descriptor!EventIsAlive", .state_size = sizeof(struct state), .init = init,
	    .actors = {retirer, poller}, .results = 2,
	    .outcomes = {
		    {"1,1", ACCEPTABLE, "it is the poller's"},
		    {"0,1", ACCEPTABLE, "in a later round"},
		    {"*,*", FORBIDDEN, "freed before the last use of it"},
	    });

/* Its group and a descriptor hold the poller. Result: "the group is the last, the other one is". */
static uint32_t drop(struct state *state)
{
	if (!wp__io_poller_drop(&state->poller))
		return 0;
	state->used = state->memory = 0; /* both are done with it */
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

STRESS_TEST(descriptor_epoll, .claim = "The last that holds a poller frees it, after all others.",
	    .upholds = "Descriptor!EventIsAlive", .state_size = sizeof(struct state), .init = init,
	    .actors = {holding_group, holding_io}, .results = 2,
	    .outcomes = {
		    {"1,0", ACCEPTABLE, "the group is the last"},
		    {"0,1", ACCEPTABLE, "the descriptor is"},
		    {"*,*", FORBIDDEN, "both, or nobody"},
	    });

/* An OS thread waits for a descriptor whose poller ends: its group is closed. Result: "how it
 * ended". */
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

STRESS_ACTOR(ending)
{
	wp__io_poller_end(&state->poller);
}

STRESS_TEST(descriptor_end, .claim = "When its poller ends nobody waits for it any more.",
	    .upholds = "Descriptor!EndWakesWaiter", .state_size = sizeof(struct state),
	    .init = init, .actors = {waiter, ending}, .results = 1, .blocking = 1,
	    .outcomes = {
		    {"1", ACCEPTABLE, "it is told that it is closed"},
		    {"2", ACCEPTABLE, "its poller had ended: it is refused"},
		    {"asleep", FORBIDDEN, "it waits for what nobody will tell"},
		    {"*", FORBIDDEN, "nothing was ready"},
	    });

/* It leaves the list that its poller walks along at its end. Result: "shut as it left, shut". */
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
	    .claim = "The end of a poller touches no descriptor that has left its list.",
	    .upholds = "Descriptor!EndWalksListed", .state_size = sizeof(struct state),
	    .init = init_listed, .actors = {leaver, ending}, .arbiter = look_again, .results = 2,
	    .blocking = 1,
	    .outcomes = {
		    {"0,0", ACCEPTABLE, "it left before"},
		    {"1,1", ACCEPTABLE, "it was shut, and then left"},
		    {"*,*", FORBIDDEN, "it was touched when it had left"},
		    {"asleep", FORBIDDEN, "a lock is kept"},
	    });

/* A virtual thread waits in a call, and its group is closed: it never runs again. Result:
 * "open". */
struct dying {
	struct state state;
	struct virtual virtual;
};

static void abandon(wp_waiter *waiter)
{
	if (wp__io_abandon(waiter))
		close_it((struct state *)waiter->value); /* whose first is the descriptor */
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
	    .claim = "What is closed is closed in the end, whatever became of its callers.",
	    .upholds = "Descriptor!ClosedInTheEnd", .state_size = sizeof(struct dying),
	    .init = init_dying, .actors = {closes, close_group}, .arbiter = read_open_alone,
	    .results = 1,
	    .outcomes = {
		    {"0", ACCEPTABLE, "the last of both has closed it"},
		    {"*", FORBIDDEN, "it stays open: a thread that never runs again is counted"},
	    });
