/* SPDX-License-Identifier: Apache-2.0
 * scope_children.h - the members of a scope: its subtasks, until they have ended. For scope.c only.
 *
 *   owner, each step under the lock           subtask
 *   enter: unless cancelled, list the member  [scope_children.2] cancelled? run nothing
 *   wait: is the list empty, or the scope     record, under the lock: unless cancelled, record
 *     cancelled? done; else park                the outcome; is it the first decisive one? cancel
 *                                             leave, under the lock: leave the list, unless the
 *   canceller, once, under the lock             member is in `hand`; if the list is empty now,
 *   [scope_children.1] cancelled := true        wake the owner
 *   each member but the caller: put it in
 *     `hand`; unlock, interrupt it, lock; if
 *     it has left, take it off the list
 *   wake the owner
 *
 * Why it works  Every step is under the lock except the interrupts, which push threads and call
 *               schedulers. A member that ends while it is being interrupted stays in the list
 *               until the canceller has come back. The canceller then releases the thread in the
 *               member's place. So no interrupt reaches a thread after its memory has been reused.
 *               The owner waits for the canceller if the canceller has a member in `hand`, or is a
 *               member itself.
 * Not promised  An interrupted member may not stop; it may continue.
 * Spec          specs/scope/Scope.tla: CancelOnce, NoForkRunsAfterCancel, CancelReachesAll,
 *               NoResultAfterCancel, FirstFailureWins, JoinWakes, TimerCancelled,
 *               UntouchedAfterEnd.
 * Evidence      make check-specs T=Scope, make stress T=scope. */
#ifndef WP_SCOPE_CHILDREN_H
#define WP_SCOPE_CHILDREN_H

#include "thread/wait_queue.h"

enum wp_outcome { WP_UNAVAILABLE, WP_SUCCESS, WP_FAILURE, WP_OUTCOMES };

/* Once a member is listed its fields are under the lock of the list. `thread` is written when the
 * member is made. */
typedef struct wp_member {
	struct wp_member *next, *prev;
	wp_vthread *thread;
	enum wp_outcome outcome;
	bool has_left; /* it left while the canceller had it in `hand` */
} wp_member;

/* `is_cancelled` is written by scope_children.1; the other fields are under the lock, or are
 * written once, when this is made. */
typedef struct wp_scope_children {
	wp_lock lock;
	wp_atomic(uint32_t) is_cancelled;
	bool is_late, is_over;
	wp_member *members;
	wp_member *hand;                    /* the member that is being interrupted */
	wp_member *first[WP_OUTCOMES];      /* the first member of each outcome */
	enum wp_outcome decides;            /* the decisive outcome; WP_UNAVAILABLE: none is */
	wp_wait_queue line;                 /* the owner, if it waits */
	void (*push)(wp_vthread *thread);   /* as a waiter's */
	void (*let_go)(wp_vthread *thread); /* for a member that left while in `hand` */
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
	/* [scope_children.2] relaxed: a value that is stale costs a run that is interrupted, or is
	 * ordered by the lock; pairs scope_children.1; upholds Scope!NoForkRunsAfterCancel. */
	return wp_load_relaxed(&children->is_cancelled) != 0;
}

/* Returns false if the scope is cancelled; the member's thread must then run nothing. [the member |
 * wait-free] */
WP_INLINE bool wp__scope_children_may_begin(wp_scope_children *children)
{
	return !wp__scope_children_is_cancelled(children);
}

/* Lists a member. Returns false if the scope is cancelled; the member must then not start. [the
 * owner | blocks briefly] */
bool wp__scope_children_enter(wp_scope_children *children, wp_member *member);

/* Records an outcome. Returns true if it is decisive; the caller must then cancel. [the member |
 * blocks briefly] */
bool wp__scope_children_record(wp_scope_children *children, wp_member *member,
			       enum wp_outcome outcome);

/* Ends a membership, because the thread has ended or never started. Returns true if the caller must
 * release the thread, and false if the canceller will. When this returns, the memory of the
 * children may be gone. [the member's runner, or the thread that listed it | blocks briefly] */
bool wp__scope_children_leave(wp_scope_children *children, wp_member *member);

/* Cancels the scope. Returns true if this call did it. `caller` is the calling thread, or NULL;
 * `is_late` is true if the deadline cancels. [the owner, a member, or any thread that returns
 * before the owner's last wait | as children->push] */
bool wp__scope_children_cancel(wp_scope_children *children, const wp_vthread *caller, bool is_late);

/* Begins the owner's wait. Returns true if no member is left, or if `or_cancelled` is true and the
 * scope is cancelled. Returns false if the owner is queued; it must then park, and begin again.
 * [the owner | blocks briefly] */
bool wp__scope_children_begin(wp_scope_children *children, wp_waiter *waiter, bool or_cancelled);

/* The complete wait. Returns WP_OK or WP_INTERRUPTED. [the owner | blocks] */
int wp__scope_children_wait(wp_scope_children *children, wp_waiter *waiter, bool or_cancelled);

/* Stops the deadline from cancelling the scope. Returns true if it has done so already. [the owner
 * | blocks briefly] */
bool wp__scope_children_end(wp_scope_children *children);

#endif
