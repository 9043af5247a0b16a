/* SPDX-License-Identifier: Apache-2.0
 * scope.h - structured concurrency: what is forked in a scope has ended when the scope is closed.
 *
 *   owner                                subtask, a virtual thread
 *   open     its caller owns it          cancelled? ends at once
 *   fork     counted, and started        its outcome, unless cancelled; the first one that decides
 *   join     until all have ended, or      cancels: no more forks, all are interrupted, the owner
 *            it is cancelled               is woken
 *   close    cancels it, unless joined;  leaves when it has ended
 *            waits until all have left
 *
 * Why it works  The steps that meet are the children's (scope_children.h). A subtask leaves when
 *               its thread has ended (vthread_start.h, `left`), and only then its memory is given
 *               back. A thread's open scopes are a stack, innermost last: a close ends those within
 *               first, and a subtask that ends closes what it left open. A deadline is a virtual
 *               thread without a stack, which a close interrupts and waits for.
 * Handed back   If a close hands the owner back, nobody closes its scope: it leaves the line of its join,
 *               and the memory of scope and subtasks must stay until these have ended. It does if
 *               they are in the owner's group; close another group of theirs before the owner's is
 *               freed.
 * Not promised  That a subtask stops when it is interrupted: a close waits for it. That an OS
 *               thread, or a virtual one that no scope has forked, closes what it has opened.
 * Spec          specs/scope/Scope.tla, Nesting.tla.
 * Evidence      make check-specs T='Scope|Nesting', make stress T=scope,
 *               tests/scope/test_scope_kernel.py. */
#ifndef WP_SCOPE_H
#define WP_SCOPE_H

#include "sched/vthread_start.h"
#include "scope/scope_children.h"

/* What a join waits for, and gives. */
enum wp_scope_policy {
	WP_SCOPE_ALL,   /* the first failure cancels the others */
	WP_SCOPE_ANY,   /* the first success cancels the others */
	WP_SCOPE_AWAIT, /* all end, however they do */
};

/* Zeroed, it is what to use. */
typedef struct wp_scope_config {
	const char *name; /* outlives it; NULL: none */
	enum wp_scope_policy policy;
	int64_t deadline_ns; /* CLOCK_MONOTONIC; cancels it, unless it is joined; 0, WP_FOREVER: none */
	wp_vthread_config forks; /* each is as this says, but for run, step, arg and left */
} wp_scope_config;

/* 0 .. 4: only forward. */
enum wp_scope_state {
	WP_SCOPE_OPEN,
	WP_SCOPE_FORKED,
	WP_SCOPE_JOINING,
	WP_SCOPE_JOINED,
	WP_SCOPE_CLOSED,
};

/* children: see there. timer, is_timing: the deadline's. The rest: the owner. It stays where it is
 * from its open to its close. */
typedef struct wp_scope {
	wp_scope_children children;
	enum wp_scope_state state;
	struct wp_scope **owner; /* where its thread has its innermost scope: that thread's alone */
	struct wp_scope *outer;  /* around it, or that has forked its owner; NULL: none */
	wp_group *group;
	wp_scope_config config;
	wp_vthread *timer; /* NULL: no deadline, or it was over */
	bool is_timing;
} wp_scope;

/* One fork, in memory of the owner's until the close. member: see scope_children.h. The rest: the
 * owner, then its thread. */
typedef struct wp_subtask {
	wp_member member;
	wp_scope *scope;
	int (*run)(void *arg);
	void *arg;
	int failure;
} wp_subtask;

/* Opens it in the caller's innermost scope. WP_OK; WP_SYSTEM, WP_CLOSED: the thread of its deadline
 * could not start, and it is not open. [any thread, before it is shared | as wp_vthread_start] */
WP_API int wp_scope_open(wp_scope *scope, wp_group *group, const wp_scope_config *config);

/* Starts run(arg), which gives 0 or how it failed, in a virtual thread. WP_OK: so it is, or the
 * scope is cancelled, and it never runs. WP_FORBIDDEN: the caller is not the owner. WP_MISUSED:
 * after a join, or a close. As wp_vthread_new and _start: WP_SYSTEM, WP_CLOSED. But for the first
 * of these, it did not begin, and will not. [the owner | as wp_vthread_start] */
WP_API int wp_scope_fork(wp_scope *scope, wp_subtask *subtask, int (*run)(void *arg), void *arg);

/* Waits until all subtasks have ended, or it is cancelled. WP_OK: the policy is met. WP_FAILED: a
 * subtask failed (ALL), or none succeeded (ANY). WP_TIMEOUT: its deadline cancelled it.
 * WP_CANCELLED: somebody did. *decisive, if not NULL: the first success of ANY, else the first
 * failure; NULL: none. WP_INTERRUPTED: join it again, or close it; no more forks. WP_FORBIDDEN, as
 * fork; WP_MISUSED: it was joined, or closed. [the owner | blocks] */
WP_API int wp_scope_join(wp_scope *scope, wp_subtask **decisive);

/* No more forks; interrupts all subtasks but the caller; wakes a join. Once; then nothing. [the
 * owner, a subtask, or any thread that is back before the close is called | as
 * wp_vthread_interrupt] */
WP_API void wp_scope_cancel(wp_scope *scope);

/* [as wp_scope_cancel | wait-free] */
WP_API bool wp_scope_is_cancelled(wp_scope *scope);

/* Cancels it, unless it was joined; waits for all subtasks; an interrupt meanwhile is one for
 * later. WP_OK, also if it was closed. WP_MISUSED: it is closed, but has forked and was never
 * joined, or scopes opened in it were open: these are closed, too. WP_FORBIDDEN: the caller is not
 * the owner.
 * [the owner | blocks] */
WP_API int wp_scope_close(wp_scope *scope);

/* WP_OK: success; WP_FAILED: failure, in *failure, if not NULL; WP_CANCELLED: the scope was
 * cancelled before it ended, or it never began; WP_MISUSED: its scope is not joined. [the owner |
 * wait-free] */
WP_API int wp_subtask_outcome(const wp_subtask *subtask, int *failure);

/* The caller's innermost open scope, else the one that has forked it; NULL: none. [any thread |
 * wait-free] */
WP_API wp_scope *wp_scope_current(void);

#endif
