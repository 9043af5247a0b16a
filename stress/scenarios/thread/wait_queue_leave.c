/* SPDX-License-Identifier: Apache-2.0
 * wait_queue_leave.c - a close has its threads leave the lines where they stand, and its free waits for who
 * wakes them.
 *
 *   releaser        close of the virtual thread's group     OS thread, behind it   `wait_queue_leave_line`: "served"
 *   release 1       leaves its line for it                  waits
 *
 * Why it works  The virtual thread is in line, parked, and never runs: the close acts for it. Where
 *               it does run, what "the free" writes is plain, and who pushes the thread reads that,
 *               as a push goes on to touch the carrier: a free that does not wait is a race.
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
	uint32_t is_freed; /* plain: the group */
	uint32_t seen;     /* what a push read there */
	uint32_t items[1];
};

/* As virtual_push, and touches the carrier after it. */
static void push(wp_vthread *thread)
{
	struct state *state =
		(struct state *)(void *)((char *)thread - offsetof(struct state, virtual));

	virtual_push(thread);
	state->seen = state->is_freed;
}

/* What parks: nothing runs it. */
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

STRESS_ACTOR(release_one)
{
	wp_semaphore_release(&state->semaphore, 1);
}

/* Its memory is another's afterwards. */
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

STRESS_TEST(wait_queue_leave_line, .claim = "A permit goes past a thread that will not run.",
	    .upholds = "WaitQueueLeave!NoDeadGrant", .state_size = sizeof(struct state),
	    .init = init_line, .actors = {release_one, close_group, behind}, .results = 1,
	    .blocking = 1,
	    .outcomes = {
		    {"1", ACCEPTABLE, "served"},
		    {"asleep", FORBIDDEN, "the permit is with a thread that will not run"},
	    });

/* Nobody is behind it. Result: "permits; what is in the memory of the waiter". */
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
	    .claim = "A close waits for a grant that has begun, and gives back what it was.",
	    .upholds = "WaitQueueLeave!NoTouchAfterLeave", .state_size = sizeof(struct state),
	    .init = init_alone, .actors = {release_one, close_group}, .arbiter = look_left,
	    .results = 2,
	    .outcomes = {
		    {"1,1", ACCEPTABLE, "the permit is there, the memory is left alone"},
		    {"*,*", FORBIDDEN,
		     "the permit is lost, or a granter has written to memory of another"},
	    });

/* At a mutex: told to look, or handed it. Result: "the next one has it". */
STRESS_INIT(init_mutex)
{
	init(state);
	wp_mutex_try_lock(&state->mutex);
	wp__mutex_begin(&state->mutex, &state->waiters[0]);
	park_for_good(state);
	wp__mutex_begin(&state->mutex, &state->waiters[1]);
}

STRESS_ACTOR(unlock)
{
	wp_mutex_unlock(&state->mutex);
}

STRESS_ACTOR(lock_behind)
{
	do
		wp__waiter_park(&state->waiters[1], WP_FOREVER);
	while (!wp__mutex_check(&state->mutex, &state->waiters[1]));
	result->r[0] = 1;
}

STRESS_TEST(wait_queue_leave_mutex, .claim = "A mutex goes past a thread that will not run.",
	    .upholds = "WaitQueueLeave!NoLostWake", .state_size = sizeof(struct state),
	    .init = init_mutex, .actors = {unlock, close_group, lock_behind}, .results = 1,
	    .blocking = 1,
	    .outcomes = {
		    {"1", ACCEPTABLE, "it has it"},
		    {"asleep", FORBIDDEN,
		     "it is free, or with a thread that will not run, and the next sleeps"},
	    });

/* The thread has the mutex, and the next waits for it. Result: "it has it, and is told". */
STRESS_INIT(init_held)
{
	init(state);
	wp_mutex_try_lock(&state->mutex);
	wp__mutex_taken(&state->mutex, &state->virtual.thread);
	park_for_good(state);
}

STRESS_ACTOR(abandon)
{
	wp__vthread_abandon_held(&state->virtual.thread);
}

STRESS_ACTOR(lock_abandoned)
{
	wp__mutex_lock(&state->mutex, &state->waiters[1], WP_FOREVER);
	result->r[0] = 1;
	result->r[1] = wp_mutex_was_abandoned(&state->mutex);
}

STRESS_TEST(wait_queue_leave_held,
	    .claim = "A mutex of a thread that will not run is unlocked, and marked.",
	    .upholds = "WaitQueueLeave!PassedOn", .state_size = sizeof(struct state),
	    .init = init_held, .actors = {abandon, lock_abandoned}, .results = 2, .blocking = 1,
	    .outcomes = {
		    {"1,1", ACCEPTABLE, "it has it, and is told"},
		    {"*,*", FORBIDDEN,
		     "it has it, and is not told that what it guards may be half done"},
		    {"asleep", FORBIDDEN, "it is with a thread that will not run"},
	    });

/* At a channel without slots, whose sender has gone on. Result: "what the next receiver got". */
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
		result->r[0] += 2; /* there was no receiver any more */
}

STRESS_ACTOR(take_item)
{
	void *item;

	result->r[0] += wp_channel_count(&state->channel);
	if (wp_channel_try_receive(&state->channel, &item) == WP_OK)
		result->r[1] = *(uint32_t *)item;
}

STRESS_TEST(wait_queue_leave_item,
	    .claim = "An item that was given to a thread that will not run can be received.",
	    .upholds = "WaitQueueLeave!PassedOn", .state_size = sizeof(struct state),
	    .init = init_receivers, .actors = {try_send, close_group}, .arbiter = take_item,
	    .results = 2,
	    .outcomes = {
		    {"1,7", ACCEPTABLE, "sent, come back, and received"},
		    {"2,0", ACCEPTABLE, "not sent: nobody receives"},
		    {"*,*", LOST_WORK, "sent, and lost"},
	    });

/* At a condition. Result: "the next one was signalled". */
STRESS_INIT(init_signal)
{
	init(state);
	wp_mutex_try_lock(&state->mutex);
	wp__condition_begin(&state->condition, &state->mutex, &state->waiters[0]);
	park_for_good(state);
	wp_mutex_try_lock(&state->mutex);
	wp__condition_begin(&state->condition, &state->mutex, &state->waiters[1]);
}

STRESS_ACTOR(signal_one)
{
	wp_condition_signal(&state->condition);
}

STRESS_ACTOR(wait_behind)
{
	do
		wp__waiter_park(&state->waiters[1], WP_FOREVER);
	while (!wp__condition_check(&state->condition, &state->mutex, &state->waiters[1]));
	result->r[0] = 1;
}

STRESS_TEST(wait_queue_leave_signal, .claim = "A signal goes past a thread that will not run.",
	    .upholds = "WaitQueueLeave!PassedOn", .state_size = sizeof(struct state),
	    .init = init_signal, .actors = {signal_one, close_group, wait_behind}, .results = 1,
	    .blocking = 1,
	    .outcomes = {
		    {"1", ACCEPTABLE, "signalled, and it has the mutex"},
		    {"asleep", FORBIDDEN, "the signal is with a thread that will not run"},
	    });

/* The thread runs, ends, and its group is freed while it is still being woken; for a user's unpark
 * it may look before that. Result: "what the push found". */
STRESS_INIT(init_one)
{
	init(state);
	wp__semaphore_begin(&state->semaphore, 1, &state->waiters[0]);
	virtual_stray(&state->virtual);
}

/* What was the thread's word is anything now: here, what has a late wake push. */
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

STRESS_ACTOR(look_pushed)
{
	result->r[0] = state->seen;
}

STRESS_TEST(wait_queue_leave_free, .claim = "A free waits for who wakes a thread of the group.",
	    .upholds = "WaitQueueLeave!NoTouchAfterFree", .state_size = sizeof(struct state),
	    .init = init_one, .actors = {release_one, end_and_free}, .arbiter = look_pushed,
	    .results = 1, .blocking = 1,
	    .outcomes = {
		    {"0", ACCEPTABLE, "the push has ended before"},
		    {"1", FORBIDDEN, "a push touches what is freed"},
		    {"asleep", FORBIDDEN, "the free waits for ever"},
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
		    {"1", ACCEPTABLE, "it has returned"},
		    {"asleep", FORBIDDEN, "the free waits for ever"},
	    });

/* The same, told to look at a mutex. */
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
	    .claim = "A free waits for who tells a thread of the group to look.",
	    .upholds = "WaitQueueLeave!NoTouchAfterFree", .state_size = sizeof(struct state),
	    .init = init_told, .actors = {unlock, lock_and_free}, .arbiter = look_pushed,
	    .results = 1, .blocking = 1,
	    .outcomes = {
		    {"0", ACCEPTABLE, "the push has ended before"},
		    {"1", FORBIDDEN, "a push touches what is freed"},
		    {"asleep", FORBIDDEN, "it is not told, or the free waits for ever"},
	    });
