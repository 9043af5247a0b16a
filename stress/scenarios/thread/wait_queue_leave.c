/* SPDX-License-Identifier: Apache-2.0
 * wait_queue_leave.c - a close takes its threads out of their wait queues, and its free waits for
 * threads that still wake them.
 *
 *   releaser        close of the virtual thread's group     OS thread, behind it
 *   release 1       leaves the queue for it                 waits
 *
 * Result        `wait_queue_leave_line`: "served".
 * Why it works  The virtual thread is parked in the queue and never runs, so the close acts for it.
 *               Where it does run, the free writes plain memory, and the push reads that memory
 *               at its end, as a real push touches the carrier. A free that does not wait is
 *               therefore a data race.
 * Spec          specs/thread/WaitQueueLeave.tla. */
#include "sync/channel.h"
#include "sync/condition.h"
#include "sync/semaphore.h"
#include "stress.h"
#include "virtual.h"

struct state {
	wp_semaphore semaphore;
	wp_mutex mutex;
	wp_condition condition;
	wp_channel channel;
	struct virtual virtual;
	wp_waiter waiters[2]; /* the virtual thread's; the OS thread's */
	wp_wakers wakers;
	uint32_t is_freed; /* plain: stands for the group's memory */
	uint32_t seen;     /* what a push read there */
	uint32_t items[1];
};

/* As virtual_push, but touches the carrier after it. */
static void push(wp_vthread *thread)
{
	struct state *state =
		(struct state *)(void *)((char *)thread - offsetof(struct state, virtual));

	virtual_push(thread);
	state->seen = state->is_freed;
}

/* Parks the thread, and nothing runs it again. */
static void park_for_good(struct state *state)
{
	wp__vthread_park(&state->virtual.thread);
}

static void init(void *at)
{
	struct state *state = at;

	wp_semaphore_init(&state->semaphore, 0);
	wp_mutex_init(&state->mutex);
	wp_condition_init(&state->condition);
	wp_channel_init(&state->channel, NULL, 0);
	virtual_init(&state->virtual);
	state->virtual.thread.wakers = &state->wakers;
	wp__waiter_init(&state->waiters[0], &state->virtual.thread, push);
	wp__waiter_init(&state->waiters[1], NULL, NULL);
}

STRESS_INIT(init_line)
{
	init(state);
	wp__semaphore_begin(&state->semaphore, 1, &state->waiters[0]);
	park_for_good(state);
	wp__semaphore_begin(&state->semaphore, 1, &state->waiters[1]);
}

STRESS_ACTOR_CALL(release_one, wp_semaphore_release(&state->semaphore, 1))

/* Closes the group, after which the waiter's memory is reused. */
STRESS_ACTOR(close_group)
{
	wp__vthread_leave_line(&state->virtual.thread);
	wp_store_relaxed(&state->waiters[0].state, WP_WAITER_LOOK);
}

STRESS_ACTOR(behind)
{
	do
		wp__waiter_park(&state->waiters[1], WP_FOREVER);
	while (!wp__waiter_check(&state->semaphore.lock, &state->waiters[1]));
	result->r[0] = 1;
}

STRESS_TEST(wait_queue_leave_line, .claim = "A permit skips a thread that will not run.",
	    .upholds = "WaitQueueLeave!NoDeadGrant", .state_size = sizeof(struct state),
	    .init = init_line, .actors = {release_one, close_group, behind}, .results = 1,
	    .blocking = 1,
	    .outcomes = {
		    {"1", ACCEPTABLE, "served"},
		    {"asleep", FORBIDDEN,
		     "lost wakeup: the permit is with a thread that will not run"},
	    });

/* No thread waits behind it. Result: "permits; the contents of the waiter's memory". */
STRESS_INIT(init_alone)
{
	init(state);
	wp__semaphore_begin(&state->semaphore, 1, &state->waiters[0]);
	park_for_good(state);
}

STRESS_ACTOR(look_left)
{
	result->r[0] = wp_semaphore_permits(&state->semaphore);
	result->r[1] = wp_load_relaxed(&state->waiters[0].state);
}

STRESS_TEST(wait_queue_leave_granted,
	    .claim = "A close waits for a grant that has begun, and returns what was granted.",
	    .upholds = "WaitQueueLeave!NoTouchAfterLeave", .state_size = sizeof(struct state),
	    .init = init_alone, .actors = {release_one, close_group}, .arbiter = look_left,
	    .results = 2,
	    .outcomes = {
		    {"1,1", ACCEPTABLE, "the permit is there, and the memory is untouched"},
		    {"*,*", FORBIDDEN,
		     "the permit is lost, or use after free: a granter wrote into reused memory"},
	    });

/* The thread waits for a mutex, and is woken to try, or handed it. Result: "the next waiter has
 * it". */
STRESS_INIT(init_mutex)
{
	init(state);
	wp_mutex_try_lock(&state->mutex);
	wp__mutex_begin(&state->mutex, &state->waiters[0]);
	park_for_good(state);
	wp__mutex_begin(&state->mutex, &state->waiters[1]);
}

STRESS_ACTOR_CALL(unlock, wp_mutex_unlock(&state->mutex))

STRESS_ACTOR(lock_behind)
{
	do
		wp__waiter_park(&state->waiters[1], WP_FOREVER);
	while (!wp__mutex_check(&state->mutex, &state->waiters[1]));
	result->r[0] = 1;
}

STRESS_TEST(wait_queue_leave_mutex,
	    .claim = "A hand-over of a mutex skips a thread that will not run.",
	    .upholds = "WaitQueueLeave!NoLostWake", .state_size = sizeof(struct state),
	    .init = init_mutex, .actors = {unlock, close_group, lock_behind}, .results = 1,
	    .blocking = 1,
	    .outcomes = {
		    {"1", ACCEPTABLE, "the next waiter has the mutex"},
		    {"asleep", FORBIDDEN,
		     "lost wakeup: the next waiter sleeps, and no running thread has the mutex"},
	    });

/* The thread has the mutex, and the next one waits for it. Result: "the next one has it, and finds
 * it abandoned". */
STRESS_INIT(init_held)
{
	init(state);
	wp_mutex_try_lock(&state->mutex);
	wp__mutex_taken(&state->mutex, &state->virtual.thread);
	park_for_good(state);
}

STRESS_ACTOR_CALL(abandon, wp__vthread_abandon_held(&state->virtual.thread))

STRESS_ACTOR(lock_abandoned)
{
	wp__mutex_lock(&state->mutex, &state->waiters[1], WP_FOREVER);
	result->r[0] = 1;
	result->r[1] = wp_mutex_was_abandoned(&state->mutex);
}

STRESS_TEST(
	wait_queue_leave_held,
	.claim = "The mutex of a thread that will not run is unlocked, and marked as abandoned.",
	.upholds = "WaitQueueLeave!PassedOn", .state_size = sizeof(struct state), .init = init_held,
	.actors = {abandon, lock_abandoned}, .results = 2, .blocking = 1,
	.outcomes = {
		{"1,1", ACCEPTABLE, "the next waiter has the mutex, and finds it abandoned"},
		{"*,*", FORBIDDEN, "the next waiter has it, and is not told that it was abandoned"},
		{"asleep", FORBIDDEN, "lost wakeup: the mutex is with a thread that will not run"},
	});

/* The thread waits at a channel without slots, and the sender has gone on. Result: "what the next
 * receiver got". */
STRESS_INIT(init_receivers)
{
	init(state);
	wp__channel_begin_receive(&state->channel, &state->waiters[0].value, &state->waiters[0]);
	park_for_good(state);
}

STRESS_ACTOR(try_send)
{
	state->items[0] = 7;
	if (wp_channel_try_send(&state->channel, &state->items[0]) != WP_OK)
		result->r[0] += 2; /* no receiver was left */
}

STRESS_ACTOR(take_item)
{
	void *item;

	result->r[0] += wp_channel_count(&state->channel);
	if (wp_channel_try_receive(&state->channel, &item) == WP_OK)
		result->r[1] = *(uint32_t *)item;
}

STRESS_TEST(wait_queue_leave_item,
	    .claim = "An item given to a thread that will not run can be received.",
	    .upholds = "WaitQueueLeave!PassedOn", .state_size = sizeof(struct state),
	    .init = init_receivers, .actors = {try_send, close_group}, .arbiter = take_item,
	    .results = 2,
	    .outcomes = {
		    {"1,7", ACCEPTABLE, "the item was sent, came back, and was received"},
		    {"2,0", ACCEPTABLE, "the item was not sent, because no thread receives"},
		    {"*,*", LOST_WORK, "lost item: it was sent, and no thread received it"},
	    });

/* The thread waits at a condition. Result: "the next waiter was signalled". */
STRESS_INIT(init_signal)
{
	init(state);
	wp_mutex_try_lock(&state->mutex);
	wp__condition_begin(&state->condition, &state->mutex, &state->waiters[0]);
	park_for_good(state);
	wp_mutex_try_lock(&state->mutex);
	wp__condition_begin(&state->condition, &state->mutex, &state->waiters[1]);
}

STRESS_ACTOR_CALL(signal_one, wp_condition_signal(&state->condition))

STRESS_ACTOR(wait_behind)
{
	do
		wp__waiter_park(&state->waiters[1], WP_FOREVER);
	while (!wp__condition_check(&state->condition, &state->mutex, &state->waiters[1]));
	result->r[0] = 1;
}

STRESS_TEST(wait_queue_leave_signal, .claim = "A signal skips a thread that will not run.",
	    .upholds = "WaitQueueLeave!PassedOn", .state_size = sizeof(struct state),
	    .init = init_signal, .actors = {signal_one, close_group, wait_behind}, .results = 1,
	    .blocking = 1,
	    .outcomes = {
		    {"1", ACCEPTABLE, "the next waiter was signalled, and has the mutex"},
		    {"asleep", FORBIDDEN,
		     "lost wakeup: the signal is with a thread that will not run"},
	    });

/* The thread runs, ends, and its group is freed while a wake is still under way; in the scenario of
 * a user's unpark the thread may check before that. Result: "what the push found". */
STRESS_INIT(init_one)
{
	init(state);
	wp__semaphore_begin(&state->semaphore, 1, &state->waiters[0]);
	virtual_stray(&state->virtual);
}

/* The memory of the thread's word may hold anything now; here it makes a late wake push the
 * thread. */
static void free_group(struct state *state)
{
	uint32_t parked = state->waiters[0].number * WP_VTHREAD_NUMBER + WP_TASK_PARKED;

	wp__wakers_wait(&state->wakers);
	state->is_freed = 1;
	wp_store_relaxed(&state->virtual.thread.task.word, parked);
}

STRESS_ACTOR(end_and_free)
{
	do
		virtual_park(&state->virtual);
	while (!wp__waiter_check(&state->semaphore.lock, &state->waiters[0]));
	free_group(state);
}

STRESS_ACTOR_CALL(look_pushed, result->r[0] = state->seen)

STRESS_TEST(wait_queue_leave_free,
	    .claim = "A free waits for a thread that still wakes one of the group's threads.",
	    .upholds = "WaitQueueLeave!NoTouchAfterFree", .state_size = sizeof(struct state),
	    .init = init_one, .actors = {release_one, end_and_free}, .arbiter = look_pushed,
	    .results = 1, .blocking = 1,
	    .outcomes = {
		    {"0", ACCEPTABLE, "the push had ended before"},
		    {"1", FORBIDDEN, "use after free: a push touches freed memory"},
		    {"asleep", FORBIDDEN, "lost wakeup: the free waits for ever"},
	    });

/* Result: "the free has returned". */
STRESS_ACTOR(end_free_and_say)
{
	end_and_free(state, result);
	result->r[0] = 1;
}

STRESS_TEST(wait_queue_leave_ends, .claim = "A free that waits for a wake returns.",
	    .upholds = "WaitQueueLeave!FreeEnds", .state_size = sizeof(struct state),
	    .init = init_one, .actors = {release_one, end_free_and_say}, .results = 1,
	    .blocking = 1,
	    .outcomes = {
		    {"1", ACCEPTABLE, "the free has returned"},
		    {"asleep", FORBIDDEN, "lost wakeup: the free waits for ever"},
	    });

/* The same, where a mutex wakes the thread to try again. */
STRESS_INIT(init_told)
{
	init(state);
	wp_mutex_try_lock(&state->mutex);
	wp__mutex_begin(&state->mutex, &state->waiters[0]);
	virtual_stray(&state->virtual);
}

STRESS_ACTOR(lock_and_free)
{
	do
		virtual_park(&state->virtual);
	while (!wp__mutex_check(&state->mutex, &state->waiters[0]));
	free_group(state);
}

STRESS_TEST(wait_queue_leave_told,
	    .claim = "A free waits for a mutex that still wakes one of the group's threads.",
	    .upholds = "WaitQueueLeave!NoTouchAfterFree", .state_size = sizeof(struct state),
	    .init = init_told, .actors = {unlock, lock_and_free}, .arbiter = look_pushed,
	    .results = 1, .blocking = 1,
	    .outcomes = {
		    {"0", ACCEPTABLE, "the push had ended before"},
		    {"1", FORBIDDEN, "use after free: a push touches freed memory"},
		    {"asleep", FORBIDDEN,
		     "lost wakeup: the thread is not woken, or the free waits for ever"},
	    });
