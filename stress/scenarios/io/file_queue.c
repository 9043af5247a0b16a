/* SPDX-License-Identifier: Apache-2.0
 * file_queue.c - threads request file operations from a poller, and cancel them; the poller ends.
 *
 *   requester                       poller
 *   request; wake the poller        try_park; can_park? requests?
 *
 * Result        `file_queue`: "would block, word, wakeups".
 * Why it works  The poller never really blocks: whether it would is the result. Its actor also
 *               plays the system, in which an operation ends at once, or when the system is asked
 *               to cancel it.
 * Spec          specs/io/FileQueue.tla. */
#include "io/file_queue.h"

#include "sched/poller.h"
#include "stress.h"

struct state {
	wp_domain domain;
	wp_carrier *by_index[1];
	wp_carrier carrier;
	wp_poller poller;
	wp_file_queue queue;
	wp_file_op op, second;
	wp_latch nudged;
	wp_waiter waiter, idle;
	wp_atomic(uint32_t) wakeups;
	bool has_begun, was_told; /* plain: used by the system only */
};

static void wakeup(void *arg)
{
	struct state *state = arg;

	wp_fetch_add_relaxed(&state->wakeups, 1);
}

STRESS_INIT(init)
{
	wp_domain_init(&state->domain, state->by_index, 1);
	wp_carrier_init(&state->carrier, &state->domain, 0);
	state->carrier.poller = &state->poller;
	state->poller.config.wakeup = wakeup;
	state->poller.config.arg = state;
	wp__file_queue_init(&state->queue);
	wp_init(&state->wakeups, 0);
}

STRESS_ACTOR_CALL(asker, wp__file_queue_ask(&state->queue, &state->op, &state->carrier))

STRESS_ACTOR(poller)
{
	wp_mpsc_node *stolen;

	result->r[0] = wp__poller_park(&state->poller, &state->carrier, &stolen) &&
		       wp__poller_may_block(&state->poller, &state->carrier) &&
		       !wp__file_queue_is_asked(&state->queue);
}

STRESS_ACTOR(read_wakeups)
{
	result->r[1] = wp_load_relaxed(&state->carrier.word);
	result->r[2] = wp_load_relaxed(&state->wakeups);
}

STRESS_TEST(file_queue, .claim = "A poller does not block while a request waits.",
	    .upholds = "FileQueue!OpNotLost", .state_size = sizeof(struct state), .init = init,
	    .actors = {poller, asker}, .arbiter = read_wakeups, .results = 3,
	    .outcomes = {
		    {"1,3,1", ACCEPTABLE, "the poller blocks, and the wakeup ends that"},
		    {"0,*,*", ACCEPTABLE,
		     "the poller saw the request, or was woken before the request came"},
		    {"1,*,*", FORBIDDEN, "lost wakeup: the poller blocks, and nobody wakes it"},
	    });

/* The caller cancels its operation, and reuses its memory as soon as it learns that the operation
 * has ended. Result: "given to the system, and again". */
STRESS_INIT(init_asked)
{
	init(state);
	wp_latch_init(&state->op.done);
	state->op.is_begun = state->op.is_cancelled = state->op.has_ended = false;
	wp__file_queue_list(&state->queue, &state->op);
}

STRESS_ACTOR(canceller)
{
	wp__file_queue_cancel(&state->queue, &state->op, NULL);
	wp__waiter_init(&state->waiter, NULL, NULL);
	wp__latch_wait(&state->op.done, &state->waiter, WP_FOREVER);
	wp_lock_acquire(&state->queue.lock);
	state->op.is_begun = state->op.is_cancelled = state->op.has_ended = false;
	wp_lock_release(&state->queue.lock);
}

/* An operation that the system was given ends at once. */
STRESS_ACTOR(system_and_poller)
{
	bool is_begun = false;
	wp_file_op *op = wp__file_queue_take(&state->queue, &is_begun);

	result->r[0] = op != NULL;
	if (op != NULL)
		wp__file_queue_finish(&state->queue, op, 0);
	result->r[1] = wp__file_queue_take(&state->queue, &is_begun) != NULL;
}

STRESS_TEST(file_queue_cancel,
	    .claim = "A caller may reuse an operation's memory after it has ended.",
	    .upholds = "FileQueue!OpIsAlive", .state_size = sizeof(struct state),
	    .init = init_asked, .actors = {canceller, system_and_poller}, .results = 2,
	    .blocking = 1,
	    .outcomes = {
		    {"0,0", ACCEPTABLE, "the operation was cancelled before it began"},
		    {"1,0", ACCEPTABLE, "the operation has ended"},
		    {"asleep", FORBIDDEN,
		     "lost wakeup: the operation has ended, and its caller was not woken"},
		    {"*,*", FORBIDDEN,
		     "use after free: the system is given memory that its owner has reused"},
	    });

/* The system ends an operation when it is asked to. Result: "begun, asked to cancel, cancelled with
 * no request to the system". */
STRESS_ACTOR_CALL(canceller_alone, wp__file_queue_cancel(&state->queue, &state->op, NULL))

STRESS_ACTOR(patient_system)
{
	bool is_begun = false;
	wp_file_op *op = wp__file_queue_take(&state->queue, &is_begun);

	state->has_begun = op != NULL;
	state->was_told = wp__file_queue_take(&state->queue, &is_begun) != NULL && is_begun;
	result->r[0] = state->has_begun;
	result->r[1] = state->was_told;
}

STRESS_ACTOR_CALL(read_told,
		  result->r[2] = state->has_begun && !state->was_told && !state->op.is_listed)

STRESS_TEST(file_queue_told, .claim = "The system is asked to end an operation that was cancelled.",
	    .upholds = "FileQueue!CancelNotLost", .state_size = sizeof(struct state),
	    .init = init_asked, .actors = {canceller_alone, patient_system}, .arbiter = read_told,
	    .results = 3,
	    .outcomes = {
		    {"0,0,0", ACCEPTABLE, "the operation does not begin"},
		    {"1,*,0", ACCEPTABLE,
		     "the system was asked, or will be: the cancellation is in the list"},
		    {"*,*,*", FORBIDDEN, "the operation may take for ever, and its caller waits"},
	    });

/* The poller ends. Result: "accepted, left in the list". */
STRESS_ACTOR_CALL(late_asker, result->r[0] = wp__file_queue_ask(&state->queue, &state->op, NULL))
STRESS_ACTOR_CALL(ending_poller, wp__file_queue_shut(&state->queue))
STRESS_ACTOR_CALL(read_list, result->r[1] = state->queue.first != NULL)

STRESS_TEST(file_queue_over,
	    .claim = "Every operation that a ring accepts ends, also when its poller ends.",
	    .upholds = "FileQueue!OpNotLost", .state_size = sizeof(struct state), .init = init,
	    .actors = {late_asker, ending_poller}, .arbiter = read_list, .results = 2,
	    .outcomes = {
		    {"0,0", ACCEPTABLE, "refused"},
		    {"1,0", ACCEPTABLE, "the operation was accepted, and has ended"},
		    {"*,*", FORBIDDEN,
		     "the operation was accepted, and no poller is left to take it"},
	    });

/* The system takes for ever unless it is asked to cancel. The poller sleeps when it has nothing to
 * do, until the caller wakes it. Result: "given to the system, asked to cancel, its caller has
 * returned". */
STRESS_INIT(init_patient)
{
	init_asked(state);
	wp_latch_init(&state->nudged);
}

STRESS_ACTOR(caller_who_cancels)
{
	wp__file_queue_cancel(&state->queue, &state->op, NULL);
	wp_latch_open(&state->nudged);
	wp__waiter_init(&state->waiter, NULL, NULL);
	result->r[2] = wp__latch_wait(&state->op.done, &state->waiter, WP_FOREVER) == WP_OK;
}

STRESS_ACTOR(sleeping_poller)
{
	bool is_begun = false;
	wp_file_op *op = wp__file_queue_take(&state->queue, &is_begun);

	result->r[0] = op != NULL;
	wp__waiter_init(&state->idle, NULL, NULL);
	wp__latch_wait(&state->nudged, &state->idle, WP_FOREVER);
	op = wp__file_queue_take(&state->queue, &is_begun);
	if (op == NULL)
		return;
	result->r[1] = is_begun;
	wp__file_queue_finish(&state->queue, op, -ECANCELED);
}

STRESS_TEST(file_queue_cancel_ends, .claim = "A caller that cancels an operation returns.",
	    .upholds = "FileQueue!CancelEnds", .state_size = sizeof(struct state),
	    .init = init_patient, .actors = {caller_who_cancels, sleeping_poller}, .results = 3,
	    .blocking = 1,
	    .outcomes = {
		    {"0,0,1", ACCEPTABLE, "the operation was cancelled before it began"},
		    {"1,1,1", ACCEPTABLE, "the system was asked, and ended the operation"},
		    {"asleep", FORBIDDEN, "the system takes for ever, and the caller waits"},
		    {"*,*,*", FORBIDDEN,
		     "the caller returned, though nothing had ended the operation"},
	    });

/* One operation is in the list, another is requested, and the poller has room for only one of them.
 * Result: "left in the list, would block". */
STRESS_ACTOR_CALL(asker_of_second, wp__file_queue_ask(&state->queue, &state->second, NULL))

STRESS_ACTOR(poller_of_one)
{
	bool is_begun = false;

	wp__file_queue_take(&state->queue, &is_begun);
}

STRESS_ACTOR(read_rest)
{
	result->r[0] = state->queue.first != NULL;
	result->r[1] = !wp__file_queue_is_asked(&state->queue);
}

STRESS_TEST(file_queue_rest,
	    .claim = "A poller that takes some of the requests does not forget the others.",
	    .upholds = "FileQueue!OpNotLost", .state_size = sizeof(struct state),
	    .init = init_asked, .actors = {poller_of_one, asker_of_second}, .arbiter = read_rest,
	    .results = 2,
	    .outcomes = {
		    {"1,0", ACCEPTABLE, "the poller will take the second operation"},
		    {"*,*", FORBIDDEN,
		     "the poller blocks beside the second operation, or looks for none"},
	    });

/* The system has an operation when its poller ends, and writes into the buffer. The caller is
 * handed back when the poller has ended, and reuses the buffer. Result: "the buffer's owner in the
 * end", where 2 is the caller. */
struct ending {
	struct state state;
	wp_latch entered, ended; /* the system has a result; the poller has ended */
	wp_waiter owner, poller;
	wp_atomic(uint32_t) buffer;
	uint32_t plain; /* plain, as the buffer is */
};

STRESS_INIT_OF(ending, init_inside)
{
	bool is_begun = false;

	init_asked(&state->state);
	wp_latch_init(&state->entered);
	wp_latch_init(&state->ended);
	wp_init(&state->buffer, 0);
	state->plain = 0;
	wp__file_queue_take(&state->state.queue, &is_begun);
	state->state.queue.inside = 1;
}

STRESS_ACTOR_OF(ending, writing_system)
{
	wp_store_relaxed(&state->buffer, 1);
	state->plain = 1;
	wp_latch_open(&state->entered);
}

static void ending_with_inside(void *at, stress_result *result)
{
	struct ending *ending = at;
	struct state *state = &ending->state;

	wp__file_queue_shut(&state->queue);
	while (wp__file_queue_is_inside(&state->queue)) {
		wp__waiter_init(&ending->poller, NULL, NULL);
		wp__latch_wait(&ending->entered, &ending->poller, WP_FOREVER);
		state->queue.inside--;
		wp__file_queue_finish(&state->queue, &state->op, -ECANCELED);
	}
	wp_latch_open(&ending->ended);
}

STRESS_ACTOR_OF(ending, owner_handed_back)
{
	wp__waiter_init(&state->owner, NULL, NULL);
	wp__latch_wait(&state->ended, &state->owner, WP_FOREVER);
	wp_store_relaxed(&state->buffer, 2);
	state->plain = 2;
}

static void read_buffer(void *at, stress_result *result)
{
	result->r[0] = wp_load_relaxed(&((struct ending *)at)->buffer);
}

STRESS_TEST(file_queue_inside,
	    .claim = "A poller does not end while the system uses a caller's buffer.",
	    .upholds = "FileQueue!BufferOutlivesOp", .state_size = sizeof(struct ending),
	    .init = init_inside, .actors = {owner_handed_back, ending_with_inside, writing_system},
	    .arbiter = read_buffer, .results = 1, .blocking = 1,
	    .outcomes = {
		    {"2", ACCEPTABLE,
		     "the system had finished with the buffer before the caller reused it"},
		    {"asleep", FORBIDDEN, "the caller is not handed back"},
		    {"*", FORBIDDEN,
		     "use after free: the system writes into a buffer that the caller has reused"},
	    });

/* One operation is in the list, and a thread that is away from home requests another. The ring's
 * count is plain, as all of a ring is, because the ring has one user. Result: "given to the system,
 * by the poller". */
STRESS_ACTOR_CALL(asker_away, wp__file_queue_ask(&state->queue, &state->second, NULL))

STRESS_ACTOR(only_user)
{
	bool is_begun = false;

	while (wp__file_queue_take(&state->queue, &is_begun) != NULL) {
		wp__file_queue_enter(&state->queue);
		result->r[1]++;
	}
}

STRESS_ACTOR_CALL(read_inside, result->r[0] = state->queue.inside)

STRESS_TEST(file_queue_home, .claim = "Only the poller gives operations to the system.",
	    .upholds = "FileQueue!IoCompletionAtHome", .state_size = sizeof(struct state),
	    .init = init_asked, .actors = {only_user, asker_away}, .arbiter = read_inside,
	    .results = 2,
	    .outcomes = {
		    {"1,1", ACCEPTABLE, "the second operation is in the list, for the next turn"},
		    {"2,2", ACCEPTABLE, "the poller gave both to the system"},
		    {"*,*", FORBIDDEN, "a thread that is away from home gave one to the system"},
	    });
