/* SPDX-License-Identifier: Apache-2.0
 * scopes.h - a scope's children with two members: its subtasks, without their threads.
 *
 * Why it works  Subtasks are actors that call the functions that their threads call. The threads
 *               themselves are words (kernel/thread/vthread.h), in which an interrupt shows.
 * Spec          none: this is the scenarios' harness. */
#ifndef WP_SCOPES_H
#define WP_SCOPES_H

#include "scope/scope_children.h"
#include "stress.h"
#include "scenarios/thread/virtual.h"

enum { LET_GO = 2 }; /* a flag of a thread's word: the thread's memory was released */

/* The children have two members. `owner` and `waiters` are the scope's owner, virtual or not. */
struct state {
	wp_scope_children children;
	wp_member members[2];
	struct virtual threads[2];
	struct virtual owner;
	wp_waiter waiters[2];
	uint32_t data[2]; /* plain: the wait hands them over */
	wp_atomic(uint32_t) is_told;
	uint32_t outcome;
	bool is_in, is_late;
};

WP_INLINE void let_go(wp_vthread *thread)
{
	wp_store_relaxed(&thread->interrupted, LET_GO);
}

/* Both members are counted in; the first failure cancels. */
WP_INLINE void init(void *at)
{
	struct state *state = at;

	wp__scope_children_init(&state->children, WP_FAILURE, virtual_push, let_go);
	virtual_init(&state->owner);
	for (int one = 0; one < 2; one++) {
		virtual_init(&state->threads[one]);
		state->members[one].thread = &state->threads[one].thread;
		wp__scope_children_enter(&state->children, &state->members[one]);
	}
	wp__waiter_init(&state->waiters[0], NULL, NULL);
	wp__waiter_init(&state->waiters[1], &state->owner.thread, virtual_push);
}

WP_INLINE void leave(struct state *state, int one)
{
	if (wp__scope_children_leave(&state->children, &state->members[one]))
		let_go(state->members[one].thread);
}

/* The second member has left. */
WP_INLINE void init_one(void *at)
{
	struct state *state = at;

	init(state);
	leave(state, 1);
	wp_store_relaxed(&state->threads[1].thread.interrupted, 0);
}

WP_INLINE void cancel(void *at, stress_result *result)
{
	wp__scope_children_cancel(&((struct state *)at)->children, NULL, false);
}

#endif
