/* SPDX-License-Identifier: Apache-2.0
 * wait_queue.c - a grant ends the wait that it is meant for, and nothing else; here a semaphore's.
 *
 *   releaser         virtual thread        user
 *   release 1        acquire 1             unpark
 *
 * Result        `wait_queue_stray`: "acquired".
 * Why it works  The virtual thread steps as kernel/thread/vthread.h requires, and its carrier
 *               really sleeps. The arbiter counts the semaphore's permits, and the permit that is
 *               left in the thread's word.
 * Spec          specs/thread/WaitQueue.tla. */
#include "sync/semaphore.h"
#include "stress.h"
#include "things.h"
#include "virtual.h"

struct state {
	wp_semaphore semaphore;
	struct virtual virtual;
	wp_waiter waiter;
};

STRESS_INIT(init)
{
	wp_semaphore_init(&state->semaphore, 0);
	virtual_init(&state->virtual);
	wp__waiter_init(&state->waiter, &state->virtual.thread, virtual_push);
}

STRESS_ACTOR_CALL(release_one, wp_semaphore_release(&state->semaphore, 1))
STRESS_ACTOR_CALL(stray, virtual_stray(&state->virtual))

STRESS_ACTOR(strayed)
{
	if (!wp__semaphore_begin(&state->semaphore, 1, &state->waiter))
		do
			virtual_park(&state->virtual);
		while (!wp__waiter_check(&state->semaphore.lock, &state->waiter));
	result->r[0] = 1;
}

STRESS_TEST(wait_queue_stray, .claim = "A grant ends the park that the waiter is in now.",
	    .upholds = "WaitQueue!NoLostGrant", .state_size = sizeof(struct state), .init = init,
	    .actors = {release_one, strayed, stray}, .results = 1, .blocking = 1,
	    .outcomes = {
		    {"1", ACCEPTABLE,
		     "the grant ended the first park, or the one after the user's unpark"},
		    {"asleep", FORBIDDEN,
		     "lost wakeup: the permit is granted, and the thread sleeps in a later park"},
	    });

/* The user's unpark came first, and the waiter does not park again. Result: "permits, taken or
 * left; the thread's own". */
static void init_unparked(void *at)
{
	init(at);
	stray(at, NULL);
}

STRESS_ACTOR(impatient)
{
	bool is_taken = wp__semaphore_begin(&state->semaphore, 1, &state->waiter);

	if (!is_taken) {
		virtual_park(&state->virtual);
		is_taken = !wp__semaphore_cancel(&state->semaphore, &state->waiter);
	} else {
		wp__vthread_take(&state->virtual.thread); /* the user's permit */
	}
	result->r[0] = is_taken;
}

STRESS_ACTOR(count_both)
{
	result->r[0] += wp_semaphore_permits(&state->semaphore);
	result->r[1] = wp__vthread_take(&state->virtual.thread);
}

STRESS_TEST(wait_queue_permit, .claim = "A late grant leaves the thread no permit.",
	    .upholds = "WaitQueue!NoStrayPermit", .state_size = sizeof(struct state),
	    .init = init_unparked, .actors = {release_one, impatient}, .arbiter = count_both,
	    .results = 2,
	    .outcomes = {
		    {"1,0", ACCEPTABLE,
		     "the permit was taken or left, and no permit is left for a later park"},
		    {"1,1", FORBIDDEN, "the grant unparked a thread that did not wait any more"},
		    {"*,*", FORBIDDEN, "a permit of the semaphore is lost"},
	    });

/* As an impatient waiter, but its park is refused. */
STRESS_ACTOR(refused)
{
	result->r[0] = 1;
	if (wp__semaphore_begin(&state->semaphore, 1, &state->waiter))
		return;
	wp__waiter_refused(&state->waiter);
	result->r[0] = !wp__semaphore_cancel(&state->semaphore, &state->waiter);
}

STRESS_TEST(wait_queue_refused,
	    .claim = "A grant that meets a refused park leaves the thread no permit.",
	    .upholds = "WaitQueue!NoStrayPermit", .state_size = sizeof(struct state), .init = init,
	    .actors = {release_one, refused}, .arbiter = count_both, .results = 2,
	    .outcomes = {
		    {"1,0", ACCEPTABLE,
		     "the permit was taken or left, and no permit is left for a later park"},
		    {"1,1", FORBIDDEN, "the grant unparked a thread that did not wait any more"},
		    {"*,*", FORBIDDEN, "a permit of the semaphore is lost"},
	    });

/* A waiter leaves the queue, and its memory is used for another wait, while another thread grants.
 * Result: "granted, as both report; the next wait was granted". */
struct reused {
	struct things things;
	wp_waiter waiter;
	int is_granted, has_got_out;
};

STRESS_INIT_OF(reused, init_in_line)
{
	wp_init(&state->things.lock.state, 0);
	wp__waiter_init(&state->waiter, NULL, NULL);
	wp__wait_queue_add(&state->things.line, &state->waiter);
}

STRESS_ACTOR_OF(reused, gives)
{
	state->is_granted = things_give(&state->things);
}

STRESS_ACTOR_OF(reused, reuses)
{
	state->has_got_out = wp__waiter_cancel(&state->things.lock, &state->waiter);
	wp_store_relaxed(&state->waiter.state, WP_WAITER_WAITS);
}

STRESS_ACTOR_OF(reused, look_again)
{
	result->r[0] = state->is_granted + state->has_got_out;
	result->r[1] = wp_load_relaxed(&state->waiter.state) == WP_WAITER_GRANTED;
}

STRESS_TEST(
	wait_queue_reused, .claim = "No granter touches a waiter that has left the queue.",
	.upholds = "WaitQueue!UntouchedAfterGrant", .state_size = sizeof(struct reused),
	.init = init_in_line, .actors = {gives, reuses}, .arbiter = look_again, .results = 2,
	.blocking = 1,
	.outcomes = {
		{"1,0", ACCEPTABLE, "the granter had finished with the waiter, or never had it"},
		{"*,1", FORBIDDEN,
		 "use after free: a granter writes into memory that is used for something else"},
		{"*,*", FORBIDDEN, "the waiter was granted and left, or neither"},
		{"asleep", FORBIDDEN,
		 "lost wakeup: the waiter waits for a granter that never comes"},
	});

/* A waiter gives up while one thing is given. Result: "things, left or with the waiter". */
STRESS_ACTOR_OF(reused, gives_up)
{
	result->r[0] = !wp__waiter_cancel(&state->things.lock, &state->waiter);
}

static void count_things(void *at, stress_result *result)
{
	result->r[0] += ((struct reused *)at)->things.count;
}

STRESS_TEST(wait_queue_given, .claim = "A given thing is with the object, or with one waiter.",
	    .upholds = "WaitQueue!NothingLost", .state_size = sizeof(struct reused),
	    .init = init_in_line, .actors = {gives, gives_up}, .arbiter = count_things,
	    .results = 1, .blocking = 1,
	    .outcomes = {
		    {"1", REQUIRED, "the thing was given to the waiter, or left for the next"},
		    {"asleep", FORBIDDEN,
		     "lost wakeup: the waiter waits for a granter that never comes"},
		    {"*", FORBIDDEN, "the thing was given to a waiter that has left, or twice"},
	    });
