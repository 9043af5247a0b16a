/* SPDX-License-Identifier: Apache-2.0
 * spare_thread.h - while a pinned park blocks the OS thread of a carrier, a spare one carries on.
 * For worker.c and group.c alone.
 *
 *   who carries, about to block        a spare
 *   offers the role, sleeps            takes it; runs the carrier's loop
 *   is woken: nobody has taken it?       at each turn: fires what is due;
 *     takes it back                      asked for? gives the role up, waits for another
 *     else a timer that is due asks;
 *     takes the role when it is free
 *
 * Why it works  Who has the role runs the carrier's loop, or a thread on its stack; it changes
 *               hands under one lock, so all that is the carrier's own passes with it. A carrier
 *               that sleeps notices a timer (timer.h), so it notices who asks. A stop leaves the
 *               role to whoever has lent it: the carrier ends with the last of them.
 *               Who gets the role goes on, perhaps for long, and polls nothing; but whoever woke
 *               the carrier for a task may have left. So who gives it up has a sibling look for
 *               that.
 * Not promised  A spare for each: where none is left, the carrier sleeps. That a thread goes on at
 *               once: it waits for the step that runs.
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

/* Of one OS thread: where virtual threads leave to, and whether overflows of their stacks are
 * reported. */
typedef struct wp_watching {
	wp_fiber under;
	wp_stack_watch watch;
	bool is_on; /* since a thread with a stack ran there */
} wp_watching;

/* Of a group. Zeroed is none. most: how many may be started. */
typedef struct wp_spare_threads {
	wp_roles roles;
	uint32_t started, most;
	pthread_t *threads;
} wp_spare_threads;

/* One pinned park, on the stack of whoever parks. */
typedef struct wp_loan {
	wp_timer timer;
	struct wp_worker *of; /* NULL: no carrier parks */
	wp_watching *watching;
	/* what the carrier runs: another one, if that has mounted who parks */
	struct wp_task *mounted;
	struct wp_carrier_tasks *runs_for;
	int64_t begin_ns; /* if events are kept */
	bool is_lent;
} wp_loan;

/* The calling carrier, if it is one, is about to block: counts that, and lends its role, if there
 * is a spare. [who has the role, any other thread | may start a thread] */
void wp__spare_thread_lend(wp_loan *loan);
/* It blocks no more, and has its role when this returns. [who has lent it | blocks] */
void wp__spare_thread_return(wp_loan *loan, wp_task *task);

/* It was asked for. [who has the role, at a turn of its loop] */
void wp__spare_thread_give(struct wp_worker *mine);
/* The stop was read. True: the carrier has ended; false: who has lent the role is to end it. [who
 * has the role, at a turn of its loop] */
bool wp__spare_thread_stop(struct wp_worker *mine);
/* The next role of a thread that has none; NULL: it is to end. [an OS thread of the group |
 * blocks] */
struct wp_worker *wp__spare_thread_next(struct wp_group *group);

/* All carriers have ended: their threads are to end, too; joins those of the spares. [the close |
 * blocks shortly] */
void wp__spare_threads_end(wp_spare_threads *spares);

#endif
