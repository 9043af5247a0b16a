/* SPDX-License-Identifier: Apache-2.0
 * scope_children.h - the subtasks of one scope: counted in until they have ended, or shut out. For
 * scope.c.
 *
 *   owner                                     subtask
 *   enter: not cancelled? in the list         [scope_children.2] cancelled? it runs nothing
 *   wait until the list is empty, or the      record: not cancelled? what came of it;
 *     scope is cancelled: look, or in line      the first that decides? cancel
 *                                             leave, when it has ended: off the list, unless it
 *   whoever cancels, once                       is in the canceller's hand; empty: wake
 *   [scope_children.1] cancelled
 *   each member but the caller: in its hand,
 *     interrupt it; has it left? off the list
 *   wake
 *
 * Why it works  Each step is under the lock, but the interrupts: these push threads, and call
 *               schedulers. A member that ends while it is being interrupted stays in the list
 *               until the canceller is back, which lets go of its thread in its stead. So nobody
 *               interrupts a thread whose memory is another's, and the owner waits for the
 *               canceller if that has a member in its hand, or is one.
 * Not promised  That a member stops: it is interrupted, and may go on.
 * Spec          specs/scope/Scope.tla: CancelOnce, NoForkRunsAfterCancel, CancelReachesAll,
 *               NoResultAfterCancel, FirstFailureWins, JoinWakes, TimerCancelled,
 *               UntouchedAfterEnd.
 * Evidence      make check-specs T=Scope, make stress T=scope. */
#ifndef WP_SCOPE_CHILDREN_H
#define WP_SCOPE_CHILDREN_H

#include "thread/wait_queue.h"

enum wp_outcome { WP_UNAVAILABLE, WP_SUCCESS, WP_FAILURE, WP_OUTCOMES };

/* Under the lock of its scope's list, once it is in; thread: whoever makes it. */
typedef struct wp_member {
	struct wp_member *next, *prev;
	wp_vthread *thread;
	enum wp_outcome outcome;
	bool has_left; /* while it was in the canceller's hand */
} wp_member;

/* is_cancelled: scope_children.1. The rest: under the lock, or whoever makes it. */
typedef struct wp_scope_children {
	wp_lock lock;
	wp_atomic(uint32_t) is_cancelled;
	bool is_late, is_over;
	wp_member *members;
	wp_member *hand;                    /* that is being interrupted */
	wp_member *first[WP_OUTCOMES];      /* by outcome */
	enum wp_outcome decides;            /* its first one cancels; WP_UNAVAILABLE: none does */
	wp_wait_queue line;                 /* the owner, or nobody */
	void (*push)(wp_vthread *thread);   /* as a waiter's */
	void (*let_go)(wp_vthread *thread); /* of a member that was in the canceller's hand */
} wp_scope_children;

/* [before it is shared | wait-free] */
WP_INLINE void wp__scope_children_init(wp_scope_children *children, enum wp_outcome decides,
				       void (*push)(wp_vthread *thread),
				       void (*let_go)(wp_vthread *thread))
{
	wp_init(&children->lock.state, 0);
	wp_init(&children->is_cancelled, 0);
	children->is_late = children->is_over = false;
	children->members = children->hand = NULL;
	for (int outcome = 0; outcome < WP_OUTCOMES; outcome++)
		children->first[outcome] = NULL;
	children->decides = decides;
	children->line.first = children->line.last = NULL;
	children->push = push;
	children->let_go = let_go;
}

/* [any thread | wait-free] */
WP_INLINE bool wp__scope_children_is_cancelled(wp_scope_children *children)
{
	/* [scope_children.2] relaxed: stale costs a run that is interrupted, or is ordered by the
	 * lock; pairs scope_children.1; upholds Scope!NoForkRunsAfterCancel. */
	return wp_load_relaxed(&children->is_cancelled) != 0;
}

/* Before its thread runs anything. [the member | wait-free] */
WP_INLINE bool wp__scope_children_may_begin(wp_scope_children *children)
{
	return !wp__scope_children_is_cancelled(children);
}

/* Counts it in; false: cancelled, it must not start. [the owner | blocks shortly] */
bool wp__scope_children_enter(wp_scope_children *children, wp_member *member);

/* What came of it. True: the caller is to cancel. [the member | blocks shortly] */
bool wp__scope_children_record(wp_scope_children *children, wp_member *member,
			       enum wp_outcome outcome);

/* It has ended, or never started. True: the caller lets go of its thread; false: who cancels will.
 * The children may be gone when this returns. [its runner, or who counted it in | blocks
 * shortly] */
bool wp__scope_children_leave(wp_scope_children *children, wp_member *member);

/* True: it was this call that cancelled it. `caller`: its thread, or NULL. `is_late`: it is the
 * deadline's. [the owner, a member, or any thread that is back before the owner's last wait | as
 * children->push] */
bool wp__scope_children_cancel(wp_scope_children *children, const wp_vthread *caller, bool is_late);

/* True: nobody is in; or it is cancelled, and that is enough. False: in line, park, and begin
 * again.
 * [the owner | blocks shortly] */
bool wp__scope_children_begin(wp_scope_children *children, wp_waiter *waiter, bool or_cancelled);

/* The whole wait: WP_OK, or WP_INTERRUPTED. [the owner | blocks] */
int wp__scope_children_wait(wp_scope_children *children, wp_waiter *waiter, bool or_cancelled);

/* Its deadline cannot cancel it any more. True: it has. [the owner | blocks shortly] */
bool wp__scope_children_end(wp_scope_children *children);

#endif
