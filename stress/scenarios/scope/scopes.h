/* SPDX-License-Identifier: Apache-2.0
 * scopes.h - a scope's children with two members, for scenarios: what is forked there, without the
 * threads.
 *
 * Why it works  Subtasks are actors that call what their threads do; the threads themselves are
 *               words (kernel/thread/vthread.h), where an interrupt shows.
 * Spec          none: this is the scenarios' harness. */
#ifndef WP_SCOPES_H
#define WP_SCOPES_H

#include "scope/scope_children.h"
#include "stress.h"
#include "scenarios/thread/virtual.h"

enum { LET_GO = 2 }; /* a thread's flag: its memory is another's */

/* As the children says. owner, waiters: of its owner, virtual or not. */
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

/* Both are counted in; the first failure cancels. */
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

/* The second one has left. */
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
