/* SPDX-License-Identifier: Apache-2.0
 * file_queue.c - threads ask a poller for operations on files, and cancel them; it is over.
 *
 *   asker                           poller                     `file_queue`: "would block, word, wakeups"
 *   ask; nudge                      try_park; can_park? asked?
 *
 * Why it works  Nobody blocks in the poller: that it would is the result. The system is the
 *               poller's actor, too: what it was given ends at once, or when it is told.
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
	bool has_begun, was_told; /* plain: the system's */
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

STRESS_ACTOR(asker)
{
	wp__file_queue_ask(&state->queue, &state->op, &state->carrier);
}

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

STRESS_TEST(file_queue, .claim = "A poller does not block beside what is asked.",
	    .upholds = "FileQueue!OpNotLost", .state_size = sizeof(struct state), .init = init,
	    .actors = {poller, asker}, .arbiter = read_wakeups, .results = 3,
	    .outcomes = {
		    {"1,3,1", ACCEPTABLE, "it blocks, and the wakeup ends that"},
		    {"0,*,*", ACCEPTABLE, "it has seen it, or was woken before it asked"},
		    {"1,*,*", FORBIDDEN, "it blocks, and nobody wakes it"},
	    });

/* Its caller does not want it any more, and reuses its memory when it is told that it has ended.
 * Result: "given to the system, and again". */
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

/* What it was given ends at once. */
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
	    .claim = "Who is told that an operation has ended may reuse its memory.",
	    .upholds = "FileQueue!OpIsAlive", .state_size = sizeof(struct state),
	    .init = init_asked, .actors = {canceller, system_and_poller}, .results = 2,
	    .blocking = 1,
	    .outcomes = {
		    {"0,0", ACCEPTABLE, "it was cancelled before it began"},
		    {"1,0", ACCEPTABLE, "it has ended"},
		    {"asleep", FORBIDDEN, "it has ended, and its caller is not told"},
		    {"*,*", FORBIDDEN, "what is another's is given to the system"},
	    });

/* The system ends it when it is told. Result: "begun, told, cancelled and nobody will tell". */
STRESS_ACTOR(canceller_alone)
{
	wp__file_queue_cancel(&state->queue, &state->op, NULL);
}

STRESS_ACTOR(patient_system)
{
	bool is_begun = false;
	wp_file_op *op = wp__file_queue_take(&state->queue, &is_begun);

	state->has_begun = op != NULL;
	state->was_told = wp__file_queue_take(&state->queue, &is_begun) != NULL && is_begun;
	result->r[0] = state->has_begun;
	result->r[1] = state->was_told;
}

STRESS_ACTOR(read_told)
{
	result->r[2] = state->has_begun && !state->was_told && !state->op.is_listed;
}

STRESS_TEST(file_queue_told, .claim = "The system is told to end what is cancelled.",
	    .upholds = "FileQueue!CancelNotLost", .state_size = sizeof(struct state),
	    .init = init_asked, .actors = {canceller_alone, patient_system}, .arbiter = read_told,
	    .results = 3,
	    .outcomes = {
		    {"0,0,0", ACCEPTABLE, "it does not begin"},
		    {"1,*,0", ACCEPTABLE, "it is told, or will be: it is listed"},
		    {"*,*,*", FORBIDDEN, "it may take for ever, and its caller waits"},
	    });

/* Its poller ends. Result: "accepted, left in the list". */
STRESS_ACTOR(late_asker)
{
	result->r[0] = wp__file_queue_ask(&state->queue, &state->op, NULL);
}

STRESS_ACTOR(ending_poller)
{
	wp__file_queue_shut(&state->queue);
}

STRESS_ACTOR(read_list)
{
	result->r[1] = state->queue.first != NULL;
}

STRESS_TEST(file_queue_over, .claim = "What a ring accepts ends, also when its poller ends.",
	    .upholds = "FileQueue!OpNotLost", .state_size = sizeof(struct state), .init = init,
	    .actors = {late_asker, ending_poller}, .arbiter = read_list, .results = 2,
	    .outcomes = {
		    {"0,0", ACCEPTABLE, "refused"},
		    {"1,0", ACCEPTABLE, "accepted, and ended"},
		    {"*,*", FORBIDDEN, "accepted, and nobody is there to take it"},
	    });

/* The system takes for ever unless it is told: the poller, when it has nothing to do, sleeps until
 * the caller nudges it. Result: "given to the system, told to end it, its caller came back". */
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

STRESS_TEST(file_queue_cancel_ends, .claim = "A caller that cancels comes back.",
	    .upholds = "FileQueue!CancelEnds", .state_size = sizeof(struct state),
	    .init = init_patient, .actors = {caller_who_cancels, sleeping_poller}, .results = 3,
	    .blocking = 1,
	    .outcomes = {
		    {"0,0,1", ACCEPTABLE, "it was cancelled before it began"},
		    {"1,1,1", ACCEPTABLE, "the system was told, and ended it"},
		    {"asleep", FORBIDDEN, "the system takes for ever, and its caller waits"},
		    {"*,*,*", FORBIDDEN, "it came back, and nobody had ended it"},
	    });

/* One is in the list, another is asked, and the poller takes one of them: it has room for no more.
 * Result: "left in the list, would block". */
STRESS_ACTOR(asker_of_second)
{
	wp__file_queue_ask(&state->queue, &state->second, NULL);
}

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
	    .claim = "A poller that takes some of what is asked does not forget the rest.",
	    .upholds = "FileQueue!OpNotLost", .state_size = sizeof(struct state),
	    .init = init_asked, .actors = {poller_of_one, asker_of_second}, .arbiter = read_rest,
	    .results = 2,
	    .outcomes = {
		    {"1,0", ACCEPTABLE, "the poller will take the second"},
		    {"*,*", FORBIDDEN,
		     "the poller blocks beside the second, or looks for what is not there"},
	    });

/* The system has an operation when its poller ends, and writes into its buffer; its caller is
 * handed back when the poller has ended, and reuses the buffer. Result: "the buffer in the end": 2:
 * its caller's. */
struct ending {
	struct state state;
	wp_latch entered, ended; /* a result of the system's; the poller */
	wp_waiter owner, poller;
	wp_atomic(uint32_t) buffer;
	uint32_t plain; /* the same */
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
	    .claim = "A poller does not end while the system has somebody's buffer.",
	    .upholds = "FileQueue!BufferOutlivesOp", .state_size = sizeof(struct ending),
	    .init = init_inside, .actors = {owner_handed_back, ending_with_inside, writing_system},
	    .arbiter = read_buffer, .results = 1, .blocking = 1,
	    .outcomes = {
		    {"2", ACCEPTABLE, "the system was done with it before its caller reused it"},
		    {"asleep", FORBIDDEN, "its caller is not handed back"},
		    {"*", FORBIDDEN, "the system writes into what is another's"},
	    });

/* One is in the list, and a thread that is away from home asks for another. The ring's count is
 * plain, as all of a ring is: it has one user. Result: "given to the system, by the poller". */
STRESS_ACTOR(asker_away)
{
	wp__file_queue_ask(&state->queue, &state->second, NULL);
}

STRESS_ACTOR(only_user)
{
	bool is_begun = false;

	while (wp__file_queue_take(&state->queue, &is_begun) != NULL) {
		wp__file_queue_enter(&state->queue);
		result->r[1]++;
	}
}

STRESS_ACTOR(read_inside)
{
	result->r[0] = state->queue.inside;
}

STRESS_TEST(file_queue_home, .claim = "The poller alone gives operations to the system.",
	    .upholds = "FileQueue!IoCompletionAtHome", .state_size = sizeof(struct state),
	    .init = init_asked, .actors = {only_user, asker_away}, .arbiter = read_inside,
	    .results = 2,
	    .outcomes = {
		    {"1,1", ACCEPTABLE, "the second is in the list, for the next turn"},
		    {"2,2", ACCEPTABLE, "the poller has given both"},
		    {"*,*", FORBIDDEN, "a thread that is away from home gave one"},
	    });
