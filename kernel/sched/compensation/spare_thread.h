/* SPDX-License-Identifier: Apache-2.0
 * spare_thread.h - compensation. While a pinned park (the park of a virtual thread that may not
 * leave its carrier) blocks the OS thread of a carrier, a spare thread runs the carrier. Only
 * worker.c and group.c use it.
 *
 *   the carrying thread, about to block   a spare thread
 *   offers the role (role.h), sleeps      takes the role; runs the carrier's loop
 *   is woken: is the role still on offer?   at each turn: fires due timers; if it was
 *     yes: takes it back                    asked for the role: gives it up, waits for
 *     no: asks by a timer that is due;      another one
 *         takes the role when it is free
 *
 * Why it works  The holder of the role runs the carrier's loop, or a task on its stack. The role
 *               changes hands under one lock, so all that belongs to the carrier changes hands with
 *               it. A sleeping carrier notices a timer (timer.h), and a request for its role comes
 *               as a timer that is due. When a stop is read, the role goes back to its lenders: the
 *               carrier ends with the last of them.
 *               A thread that gets the role back continues its own task, perhaps for long, and
 *               polls nothing. But a submitter that woke the carrier for a task may rely on it. So
 *               a thread that gives a role up wakes a sibling for that task.
 * Not promised  There may be no spare thread for a pinned park; then the carrier sleeps. A thread
 *               whose park has ended does not continue at once: it waits for the step that runs.
 * Prior art     Java's virtual threads expand their pool in the same way during file I/O (JEP 444);
 *               Go hands the P of a thread in a system call to another M (handoffp).
 * Spec          specs/sched/compensation/SpareThread.tla: OneHolder, ExitsAlone, StopIsLast,
 *               OthersRun; specs/sched/search_given.models.toml: Search with roles that are given
 *               up.
 * Evidence      make check-specs T='SpareThread|SearchGiven', make stress T=spare_thread,
 *               tests/sched/compensation/test_spare_thread.py. */
#ifndef WP_SPARE_THREAD_H
#define WP_SPARE_THREAD_H

#include <pthread.h>

#include "sched/compensation/role.h"
#include "sched/timer.h"
#include "thread/fiber.h"
#include "thread/overflow.h"

struct wp_worker;
struct wp_group;

/* The state of one OS thread: the fiber to which virtual threads leave, and whether overflows of
 * their stacks are reported. */
typedef struct wp_watching {
	wp_fiber under;
	wp_stack_watch watch;
	bool is_on; /* set when a thread with a stack first ran there */
} wp_watching;

/* The spare threads of a group. A zeroed one has none. `most` is the number that may be started. */
typedef struct wp_spare_threads {
	wp_roles roles;
	uint32_t started, most;
	pthread_t *threads;
} wp_spare_threads;

/* One pinned park; it lies on the stack of the thread that parks. */
typedef struct wp_loan {
	wp_timer timer;
	struct wp_worker *of; /* NULL: the caller is no carrier */
	wp_watching *watching;
	/* The thread that the carrier runs. It is not the parking one, if that has mounted another
	 * thread. */
	struct wp_task *mounted;
	struct wp_carrier_tasks *runs_for;
	int64_t begin_ns; /* when the park began, if events are kept */
	bool is_lent;
} wp_loan;

/* Called by a thread that is about to block. If it is a carrier, this counts the block, and lends
 * the carrier's role if there is a spare thread. [the role's holder, any other thread | may start a
 * thread] */
void wp__spare_thread_lend(wp_loan *loan);
/* Ends the loan, when the caller no longer blocks. When this returns, the caller has its role
 * again. [the lender | blocks] */
void wp__spare_thread_return(wp_loan *loan, wp_task *task);

/* Gives the role up, when a lender has asked for it. [the role's holder, at a turn of its loop |
 * blocks briefly] */
void wp__spare_thread_give(struct wp_worker *mine);
/* Gives the role up, when the stop was read. Returns true if the carrier has ended, and false if a
 * lender of the role will end it. [the role's holder, at a turn of its loop | blocks briefly] */
bool wp__spare_thread_stop(struct wp_worker *mine);
/* Waits until the calling thread, which has no role, gets one. Returns NULL if the thread must end.
 * [an OS thread of the group | blocks] */
struct wp_worker *wp__spare_thread_next(struct wp_group *group);

/* Ends and joins the spare threads, when all carriers have ended. [the close | blocks briefly] */
void wp__spare_threads_end(wp_spare_threads *spares);

#endif
