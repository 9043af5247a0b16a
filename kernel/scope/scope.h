/* SPDX-License-Identifier: Apache-2.0
 * scope.h - structured concurrency. A scope is a block of code in which its owner forks virtual
 * threads (subtasks). When the scope is closed, all of them have ended.
 *
 *   owner                                subtask, a virtual thread
 *   open     the caller becomes owner    is the scope cancelled already? end at once
 *   fork     count a subtask, start it   run; record the outcome, unless the scope is cancelled
 *   join     wait until all have ended,  the first decisive outcome cancels the scope: it forbids
 *              or the scope is             more forks, interrupts all subtasks, and wakes the owner
 *              cancelled                 leave when the thread has ended
 *   close    cancel, unless joined;
 *              wait until all have left
 *
 *   state     meaning
 *   OPEN      Nothing has been forked yet.
 *   FORKED    There are forks, and no join has begun.
 *   JOINING   A join has begun.
 *   JOINED    A join has ended, and outcomes can be read.
 *   CLOSED    All subtasks have left.
 *
 * Usage         wp_scope_open(&scope, group, &(wp_scope_config){0});
 *               wp_scope_fork(&scope, &tasks[0], fetch, &one);
 *               wp_scope_fork(&scope, &tasks[1], fetch, &other);
 *               if (wp_scope_join(&scope, NULL) == WP_OK)        neither fetch has failed
 *                       combine(&one, &other);
 *               wp_scope_close(&scope);
 *
 * Why it works  The steps that race are in scope_children.h. A subtask leaves when its thread has
 *               ended (vthread_start.h, `left`), and its memory is reused only after that. The open
 *               scopes of a thread form a stack. A close first ends the scopes that are open within
 *               it, and a subtask that ends closes the scopes that it left open. A deadline is a
 *               virtual thread without a stack, which the close interrupts and waits for.
 * Prior art     Trio's nurseries; the policies are those of Java's StructuredTaskScope.
 * Handed back   If the close of a group hands the owner back, its scope is never closed. The owner
 *               leaves the wait queue of its join, and the memory of the scope and of the subtasks
 *               must stay until the subtasks have ended. If they are in the owner's group, it does
 *               stay. If they are in another group, close that group before the owner's group is
 *               freed.
 * Not promised  A subtask may not stop when it is interrupted: a close waits for it. An OS thread,
 *               or a virtual thread that no scope has forked, may end without closing the scopes
 *               that it has opened.
 * Spec          specs/scope/Scope.tla, Nesting.tla.
 * Evidence      make check-specs T='Scope|Nesting', make stress T=scope,
 *               tests/scope/test_scope_kernel.py. */
#ifndef WP_SCOPE_H
#define WP_SCOPE_H

#include "sched/vthread_start.h"
#include "scope/scope_children.h"

/* What a join waits for and what it returns. */
enum wp_scope_policy {
	WP_SCOPE_ALL,   /* the first failure cancels the others */
	WP_SCOPE_ANY,   /* the first success cancels the others */
	WP_SCOPE_AWAIT, /* all end, whatever their outcomes */
};

/* A zeroed configuration holds the defaults. */
typedef struct wp_scope_config {
	const char *name; /* must outlive the scope; NULL: none */
	enum wp_scope_policy policy;
	int64_t deadline_ns;     /* CLOCK_MONOTONIC, cancels if not joined; 0, WP_FOREVER: none */
	wp_vthread_config forks; /* for each fork; run, step, arg and left are ignored */
} wp_scope_config;

/* A scope goes through its states in this order, and may skip some. */
enum wp_scope_state {
	WP_SCOPE_OPEN,
	WP_SCOPE_FORKED,
	WP_SCOPE_JOINING,
	WP_SCOPE_JOINED,
	WP_SCOPE_CLOSED,
};

/* For `children` see scope_children.h. `timer` and `is_timing` belong to the deadline's thread; the
 * other fields to the owner. A scope must not move between open and close. */
typedef struct wp_scope {
	wp_scope_children children;
	enum wp_scope_state state;
	struct wp_scope **owner; /* where its thread stores its innermost scope; private */
	struct wp_scope *outer; /* the scope around it, or the one that forked its owner; or NULL */
	wp_group *group;
	wp_scope_config config;
	wp_vthread *timer; /* NULL: no deadline, or one that had passed at the open */
	bool is_timing;
} wp_scope;

/* One fork. It lies in the owner's memory until the close. For `member` see scope_children.h; the
 * other fields belong to the owner, and then to the subtask's thread. */
typedef struct wp_subtask {
	wp_member member;
	wp_scope *scope;
	int (*run)(void *arg);
	void *arg;
	int failure;
} wp_subtask;

/* Opens a scope in the caller's innermost one. Returns WP_OK. Returns WP_SYSTEM or WP_CLOSED if the
 * thread of its deadline could not start; the scope is then not open. [any thread, before it is
 * shared | as wp_vthread_start] */
WP_API int wp_scope_open(wp_scope *scope, wp_group *group, const wp_scope_config *config);

/* Starts run(arg) in a virtual thread; run returns 0, or the code of its failure. Returns WP_OK if
 * the subtask was started, or if the scope is cancelled and the subtask never runs. With any other
 * code the subtask has not begun, and will not. WP_FORBIDDEN: the caller is not the owner.
 * WP_MISUSED: the scope was joined or closed. WP_SYSTEM or WP_CLOSED: as wp_vthread_new and
 * wp_vthread_start. [the owner | as wp_vthread_start] */
WP_API int wp_scope_fork(wp_scope *scope, wp_subtask *subtask, int (*run)(void *arg), void *arg);

/* Waits until all subtasks have ended, or the scope is cancelled. WP_OK: the policy is met.
 * WP_FAILED: a subtask failed (ALL), or none succeeded (ANY). WP_TIMEOUT: the deadline cancelled
 * the scope. WP_CANCELLED: a thread cancelled it. WP_INTERRUPTED: join it again or close it, but do
 * not fork any more. WP_FORBIDDEN: the caller is not the owner. WP_MISUSED: the scope was joined or
 * closed before. If `decisive` is not NULL, *decisive becomes the first success for ANY, else the
 * first failure, or NULL. [the owner | blocks] */
WP_API int wp_scope_join(wp_scope *scope, wp_subtask **decisive);

/* Cancels the scope: forbids more forks, interrupts all subtasks but the caller, and wakes the
 * join. A second call does nothing. [the owner, a subtask, or any thread that returns before the
 * close begins | as wp_vthread_interrupt] */
WP_API void wp_scope_cancel(wp_scope *scope);

/* [as wp_scope_cancel | wait-free] */
WP_API bool wp_scope_is_cancelled(wp_scope *scope);

/* Cancels the scope unless it was joined, and waits for all subtasks. If the owner is interrupted
 * meanwhile, the interrupt is kept for later. Returns WP_OK, also if the scope was closed before.
 * WP_MISUSED: the scope is closed now, but it had forks and no join, or scopes opened within it
 * were still open, which are closed too. WP_FORBIDDEN: the caller is not the owner. [the owner |
 * blocks] */
WP_API int wp_scope_close(wp_scope *scope);

/* Returns the outcome of a subtask. WP_OK: success. WP_FAILED: failure; its code is in *failure, if
 * `failure` is not NULL. WP_CANCELLED: the scope was cancelled before the subtask ended, or the
 * subtask never began. WP_MISUSED: its scope has not been joined. [the owner | wait-free] */
WP_API int wp_subtask_outcome(const wp_subtask *subtask, int *failure);

/* Returns the caller's innermost open scope, or else the scope that has forked the caller, or else
 * NULL. [any thread | wait-free] */
WP_API wp_scope *wp_scope_current(void);

#endif
