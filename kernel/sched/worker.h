/* SPDX-License-Identifier: Apache-2.0
 * worker.h - the thread of one carrier: its loop, its exit, its counts. For group.c alone.
 *
 *   the loop
 *   fire the timers that are due; in a long drain every 16 runs
 *   loads are counted: run one task of a blocked carrier (group_placement.h)
 *   drain the own queues, for yield_us; between two looks at the clock, threads that yield pass to
 *            one another directly; the stop was among the tasks: [worker.3] exited
 *   nothing ran: steal from the longer queue of two siblings, drawn at random
 *   nothing there: park, at most until a timer is due; run what the wake brought; if it brought
 *            nothing: fire, drain, and park at once
 *
 * Why it works  Between a wake that brought nothing and the next park, nothing takes long
 *               (carrier.h).
 * Prior art     Probing the longer of two random queues is the power of two choices, applied to
 *               work stealing.
 * Spec          specs/sched/Group.tla: Pop, Stop. Evidence tests/sched/test_group.py. */
#ifndef WP_WORKER_H
#define WP_WORKER_H

#include <pthread.h>

#include "sched/compensation/spare_thread.h"
#include "sched/group.h"
#include "sched/group_close.h"
#include "sched/poller.h"
#include "sched/trace.h"
#include "sched/vthread_stackful.h"
#include "thread/wakers.h"

/* One carrier of a group. home: carrier_tasks.h. exited: worker.3. The last cache line: the owner.
 */
typedef struct wp_worker {
	wp_carrier_tasks home;
	wp_group *group;
	wp_mpsc_node stop;
	pthread_t thread;
	bool has_thread, is_stopped;
	uint32_t index;
	wp_atomic(uint32_t) exited;
	wp_role role;
	wp_poller poller;
	wp_carrier_io *io;      /* of its poller, if the kernel made that; else NULL */
	wp_watching *watching;  /* of the OS thread that carries it now */
	bool has_stop;          /* the stop was read */
	wp_private_fifo behind; /* tasks set aside since then, not to be run */
	wp_stacks *usual;       /* the pool of WP_STACK_BYTES stacks */
	wp_stack_cache stacks;  /* its cache of these */
	_Alignas(WP_LINE) uint64_t random;
	/* The task that it runs or has run last, NULL while it sleeps: worker.1, worker_idle.1,
	 * worker.2. */
	wp_atomic(wp_task *) mounted;
	wp_carrier_tasks *runs_for; /* the home of the task that it runs */
	uint32_t turns;             /* runs left until it looks at the clock, including this one */
	int64_t until_ns;           /* the deadline of its last sleep; 0: it did not sleep */
	wp_progress progress;       /* steps begun and ended, if the group is watched */
	uint64_t seen;              /* progress at the monitor's last look; the monitor's alone */
	uint64_t made; /* virtual threads made from its cache of stacks; the role's holder */
	wp_atomic(uint64_t) runs, directed, probed, recheck, fruitless;
	wp_atomic(uint64_t) drains, parks, wakes, useless_wakes, pinned;
} wp_worker;

/* Tasks that a close has taken off the lists. A task that is off its list does not need next and
 * back, so these link the taken tasks, and `back` says whether the task was parked. */
typedef struct wp_taken {
	wp_task *first, *last;
} wp_taken;

struct wp_group {
	wp_group_config config; /* its `carriers` includes the spare ones */
	uint32_t size;          /* carriers without the spare ones */
	wp_tracing tracing;
	wp_closing closing;
	/* Waiting to be handed back when all lists are empty, by this close or the next one. */
	wp_taken taken;
	wp_domain *domains;                     /* by number */
	wp_carrier **members;                   /* of all domains, one domain after the other */
	struct wp_local_queue_carrier *bounded; /* by carrier; NULL: no carrier has a ring */
	wp_worker *workers;
	wp_bodies bodies;
	wp_spare_threads spares;
	wp_wakers wakers;                  /* threads inside the group that are not its carriers */
	struct wp_group_placement *placed; /* NULL: loads are not counted */
	wp_carrier_tasks **homes;          /* by number, if resumed tasks are placed; else NULL */
	uint32_t blocking; /* pollers that block without parking; under the lock of `closing` */
	wp_atomic(uint32_t) next; /* submit.1 */
};

/* Notes, for a dump, the task that runs. [the role's holder | wait-free] */
WP_INLINE void wp__worker_runs(wp_worker *mine, wp_task *task)
{
	/* [worker.1] relaxed: stale costs a dump a name, never a task; pairs dump.1, worker.2;
	 * upholds Dump!RunnerIsNamed. */
	wp_store_relaxed(&mine->mounted, task);
}

/* The task noted last. [the role's holder | wait-free] */
WP_INLINE wp_task *wp__worker_mounted(wp_worker *mine)
{
	/* [worker.2] relaxed: ordered by program order on one thread, and by the role's lock
	 * between two; pairs worker.1; upholds Dump!RunnerIsNamed. */
	return wp_load_relaxed(&mine->mounted);
}

/* The function of a carrier's thread; its argument is the worker. */
void *wp__worker_begin(void *arg);

/* The carrier that the calling thread carries, or NULL. [any thread | wait-free] */
wp_worker *wp__worker_self(void);

/* Carries that worker, then others, on the calling thread, until the thread is to end. Returns NULL
 * if returns at once. [an OS thread of the group | blocks] */
void wp__worker_carry(wp_group *group, wp_worker *mine);
/* Makes the calling thread carry that worker. [the role's holder | system calls] */
void wp__worker_mount(wp_worker *mine, wp_watching *watching);

/* Steals a task from a sibling, or returns NULL. [the carrier | as wp_carrier_steal] */
wp_mpsc_node *wp__worker_probe(wp_worker *mine);
/* Sleeps, unless there is something to do. Returns the task that a wake or the recheck brought, or
 * NULL. [the carrier | blocks] */
wp_mpsc_node *wp__worker_park(wp_worker *mine);
/* Counts the end of a park, and returns `stolen`, the task that it brought, or NULL. [the carrier |
 * wait-free] */
wp_mpsc_node *wp__worker_left(wp_worker *mine, wp_mpsc_node *stolen);
/* Writes the events of a sleep. [the carrier | wait-free] */
void wp__worker_slept(wp_worker *mine, int64_t since_ns, wp_mpsc_node *stolen);

/* Ends the park that its poller began, if any: the poller is back, or was descheduled. [the carrier
 * | wakes one carrier at the most] */
void wp__poller_unpark(wp_worker *mine);
/* Tells its poller to end, after the stop was read. Returns false if there is no poller. [the
 * carrier | as wp_vthread_interrupt] */
bool wp__poller_stays(wp_worker *mine);
/* Takes its poller's turn: returns the poller's task to run now, or NULL if it is not here. [the
 * carrier | as wp_carrier_poll] */
wp_task *wp__poller_turn(wp_worker *mine);
/* At the very end: gives what was set aside for the poller's end to the close. [the carrier |
 * wait-free] */
void wp__poller_leave_behind(wp_worker *mine);

/* As wp__carrier_tasks_pass, for the calling carrier; also returns NULL when it is the loop's turn.
 * [any thread | wait-free] */
wp_task *wp__worker_pass(wp_task *task, bool yields);

/* Replaces zeroes in the configuration by defaults. Returns WP_OK or WP_MISUSED. [any thread | a
 * system call] */
int wp__group_settle(wp_group_config *config);
/* Allocates a group, without threads; NULL: no memory. The second frees it. [before it is shared |
 * allocates] */
wp_group *wp__group_make(const wp_group_config *config);
void wp__group_give(wp_group *group);

/* A carrier of the group, each in turn. [any thread | wait-free] */
uint32_t wp__group_next(wp_group *group);
/* The carrier for a task that was submitted without one. [any thread | wait-free] */
uint32_t wp__group_choose(wp_group *group);
wp_carrier_tasks *wp__group_home(wp_group *group, uint32_t index);
/* As wp_group_start, on that home. [any thread | blocks shortly] */
int wp__group_start(wp_carrier_tasks *home, wp_task *task);

#endif
