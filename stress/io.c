/* SPDX-License-Identifier: Apache-2.0
 * io.c - a descriptor is closed by the last that uses it; its memory is freed by its poller.
 *
 *   callers                  closer                    `io_close`: "used when closed, closed"
 *   begin; use it; end       begin, CLOSING; end
 *   the last: close it       the last: close it
 *
 * Why it works  `open` is what a system call would find; `used` is plain: a use that is not before the
 *               close is a race.
 * Spec          specs/Io.tla. */
#include "io.h"

#include "poller_epoll.h"
#include "stress.h"

struct state {
	wp_io io;
	wp_epoll epoll;
	wp_atomic(uint32_t) open;
	uint32_t used; /* plain */
	wp_atomic(uint32_t) freed;
	uint32_t memory; /* plain */
};

static void init(void *at)
{
	struct state *state = at;

	wp__io_init(&state->io, 0, &state->epoll);
	wp_init(&state->epoll.retired, NULL);
	wp_init(&state->epoll.holders, 2);
	wp_init(&state->open, 1);
	state->used = 1;
	wp_init(&state->freed, 0);
	state->memory = 1;
}

static void end(struct state *state)
{
	if (!wp__io_end(&state->io))
		return;
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

/* True: it was used when it was closed, or freed. */
static bool use(struct state *state, uint32_t flags)
{
	bool is_late;

	if (!wp__io_begin(&state->io, flags))
		return false;
	is_late = !(flags & WP_IO_FREED) &&
		  (wp_load_relaxed(&state->open) == 0 || state->used == 0);
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
	(void)result;
	use(at, WP_IO_CLOSING);
}

static void read_open(void *at, stress_result *result)
{
	result->r[2] = wp_load_relaxed(&((struct state *)at)->open);
}

STRESS_TEST(io_close, .claim = "The last call under way closes it.",
	.upholds = "Io!FdIsOurs", .state_size = sizeof(struct state), .init = init,
	.actors = {caller, other_caller, closer}, .arbiter = read_open, .results = 3,
	.outcomes = {
		{"0,0,0", ACCEPTABLE, "each was before the close, or was refused"},
		{"*,*,1", FORBIDDEN, "nobody closes it"},
		{"*,*,*", FORBIDDEN, "used after the close: it is another's"},
	});

STRESS_TWIN(io_closes_now, .of = "io_close", .defect = "the close waits for nobody",
	.shows = "1,*,0", .seen_by = SEEN_CHECK | SEEN_SC | SEEN_TSO | SEEN_RC11,
	.chance = SEEN_STRESS | SEEN_DELAYED);
STRESS_TWIN(io_begins_late, .of = "io_close", .defect = "a call begins while it is closing",
	.shows = "1,*,0",
	.seen_by = SEEN_CHECK | SEEN_STRESS | SEEN_DELAYED | SEEN_SC | SEEN_TSO | SEEN_RC11);

/* It is freed while a call is under way. Result: "used late, freed late, freed". */
static void freer(void *at, stress_result *result)
{
	use(at, WP_IO_CLOSING);
	result->r[1] = use(at, WP_IO_CLOSING | WP_IO_FREED);
}

static void read_freed(void *at, stress_result *result)
{
	result->r[2] = wp_load_relaxed(&((struct state *)at)->freed);
}

/* Who begins after the free is wrong: this one has begun. */
static void init_begun(void *at)
{
	init(at);
	wp__io_begin(&((struct state *)at)->io, 0);
}

static void user(void *at, stress_result *result)
{
	struct state *state = at;

	result->r[0] = wp_load_relaxed(&state->open) == 0 || state->used == 0 ||
		       wp_load_relaxed(&state->freed) != 0 || state->memory == 0;
	end(state);
}

STRESS_TEST(io_free, .claim = "Its memory goes with the last call under way.",
	.upholds = "Io!IoIsAlive", .state_size = sizeof(struct state), .init = init_begun,
	.actors = {user, freer}, .arbiter = read_freed, .results = 3,
	.outcomes = {
		{"0,0,1", ACCEPTABLE, "once, after both"},
		{"*,*,0", FORBIDDEN, "never freed"},
		{"*,*,*", FORBIDDEN, "freed under somebody, or twice"},
	});

STRESS_TWIN(io_frees_in_use, .of = "io_free", .defect = "is freed while a call is under way",
	.shows = "1,*,*", .seen_by = SEEN_CHECK | SEEN_SC | SEEN_TSO | SEEN_RC11,
	.chance = SEEN_STRESS | SEEN_DELAYED);

/* What was done with it comes before its memory is freed. Result: "freed, done". */
static void retirer(void *at, stress_result *result)
{
	struct state *state = at;

	(void)result;
	state->used = 0;
	wp__epoll_retire(&state->epoll, &state->io);
}

static void poller(void *at, stress_result *result)
{
	struct state *state = at;
	wp_io *io = wp__epoll_retired(&state->epoll);

	result->r[0] = io != NULL;
	result->r[1] = io == NULL || state->used == 0;
}

STRESS_TEST(io_retire, .claim = "Its poller frees it after all that was done with it.",
	.upholds = "Io!EventIsAlive", .state_size = sizeof(struct state), .init = init,
	.actors = {retirer, poller}, .results = 2,
	.outcomes = {
		{"1,1", ACCEPTABLE, "it is the poller's"},
		{"0,1", ACCEPTABLE, "in a later round"},
		{"*,*", FORBIDDEN, "freed before the last use of it"},
	});

/* Its group and a descriptor hold the epoll. Result: "the group is the last, the other one is". */
static uint32_t drop(struct state *state)
{
	if (!wp__epoll_drop(&state->epoll))
		return 0;
	state->used = state->memory = 0; /* both are done with it */
	return 1;
}

static void holding_group(void *at, stress_result *result)
{
	struct state *state = at;

	state->used++;
	result->r[0] = drop(state);
}

static void holding_io(void *at, stress_result *result)
{
	struct state *state = at;

	state->memory++;
	result->r[1] = drop(state);
}

STRESS_TEST(io_epoll, .claim = "The last that holds an epoll frees it, after all others.",
	.upholds = "Io!EventIsAlive", .state_size = sizeof(struct state), .init = init,
	.actors = {holding_group, holding_io}, .results = 2,
	.outcomes = {
		{"1,0", ACCEPTABLE, "the group is the last"},
		{"0,1", ACCEPTABLE, "the descriptor is"},
		{"*,*", FORBIDDEN, "both, or nobody"},
	});
