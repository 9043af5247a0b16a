/* SPDX-License-Identifier: Apache-2.0
 * worker.h - a worker is a carrier of a group, with the loop that an OS thread runs for it, its
 * exit and its counts. Only the files of the group use it.
 *
 *   the loop
 *   fire the timers that are due; in a long drain every 16 runs
 *   if loads are counted: run one task of a blocked carrier (group_placement.h)
 *   run the tasks of the own queues, for yield_us; between two looks at the clock, threads that
 *            yield pass to one another directly; if the stop was among the tasks: [worker.3] exited
 *   nothing ran: steal from the longer queue of two siblings, drawn at random
 *   nothing was there: park, at most until a timer is due; run what the wake brought; if it
 *            brought nothing: fire timers, run the own queues, and park again
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

/* One carrier of a group. For `home` see carrier_tasks.h; `exited` is written by worker.3; the
 * fields of the last cache line by the owner. */
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
	wp_carrier_io *io;      /* of its poller, if io/ has made that; else NULL */
	wp_watching *watching;  /* of the OS thread that runs its loop now */
	bool has_stop;          /* the stop was read */
	wp_private_fifo behind; /* tasks set aside since then; they do not run */
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
	uint64_t seen;              /* progress at the monitor's last look; only the monitor's */
	uint64_t suspected;         /* the last step that it has marked; only the monitor's */
	uint64_t made;              /* threads made from its cache of stacks; its runner's */
	wp_atomic(uint64_t) runs, directed, probed, recheck, fruitless;
	wp_atomic(uint64_t) drains, parks, wakes, useless_wakes, pinned;
} wp_worker;

/* The tasks that a close has taken off the lists. A task that is off its list does not need `next`
 * and `back`. So `next` links the taken tasks, and `back` tells whether the task was parked. */
typedef struct wp_taken {
	wp_task *first, *last;
} wp_taken;

struct wp_group {
	wp_group_config config; /* its `carriers` includes the spare ones */
	uint32_t size;          /* carriers without the spare ones */
	wp_tracing tracing;
	wp_closing closing;
	/* The tasks that this close or the next one hands back when all lists are empty. */
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

/* Records, for a dump, the task that runs. [the thread that holds the carrier's role (role.h) |
 * wait-free] */
WP_INLINE void wp__worker_runs(wp_worker *mine, wp_task *task)
{
	/* [worker.1] relaxed: a value that is stale costs a dump a name, never a task; pairs
	 * dump.1, worker.2; upholds Dump!RunnerIsNamed. */
	wp_store_relaxed(&mine->mounted, task);
}

/* Returns the task that was recorded last. [the role's holder | wait-free] */
WP_INLINE wp_task *wp__worker_mounted(wp_worker *mine)
{
	/* [worker.2] relaxed: ordered by program order on one thread, and by the role's lock
	 * between two; pairs worker.1; upholds Dump!RunnerIsNamed. */
	return wp_load_relaxed(&mine->mounted);
}

/* The function of a carrier's thread; its argument is the worker. */
void *wp__worker_begin(void *arg);

/* The carrier whose loop the calling thread runs, or NULL. A virtual thread may continue on another
 * OS thread. So a function that reads this is not inlined, and does not read it after a switch. */
extern _Thread_local wp_worker *wp__worker_here __attribute__((tls_model("initial-exec")));

/* Returns the carrier whose loop the calling thread runs, or NULL. [any thread | wait-free] */
wp_worker *wp__worker_self(void);

/* Runs the loop of that carrier, and then those of others, on the calling thread, until the thread
 * must end. If `mine` is NULL, returns at once. [an OS thread of the group | blocks] */
void wp__worker_carry(wp_group *group, wp_worker *mine);
/* Makes the calling thread run that carrier. [the role's holder | system calls] */
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

/* Ends the park that the carrier's poller began, if any: the poller is back, or was descheduled.
 * [the carrier | wakes one carrier at the most] */
void wp__poller_unpark(wp_worker *mine);
/* Tells the carrier's poller to end, after the stop was read. Returns false if there is no poller.
 * [the carrier | as wp_vthread_interrupt] */
bool wp__poller_stays(wp_worker *mine);
/* The turn of the carrier's poller. Returns the poller's task, which must run now, or NULL if it is
 * not here. [the carrier | as wp_carrier_poll] */
wp_task *wp__poller_turn(wp_worker *mine);
/* Called at the very end. Gives the tasks that were set aside until the end of the poller to the
 * close. [the carrier | wait-free] */
void wp__poller_leave_behind(wp_worker *mine);

/* Like wp__carrier_tasks_pass, for the calling carrier. It also returns NULL when it is the loop's
 * turn. The caller reads wp__worker_here by it. [any thread | wait-free] */
WP_INLINED wp_task *wp__worker_pass(wp_task *task, bool yields)
{
	wp_worker *mine = wp__worker_here;
	wp_task *next;

	if (mine == NULL || mine->turns == 1 || wp_event_ring_is_on(&mine->group->tracing.on))
		return NULL;
	next = wp__carrier_tasks_pass(&mine->home, task, yields);
	if (next == NULL)
		return NULL;
	mine->turns--;
	wp__count(&mine->runs);
	wp__worker_runs(mine, next);
	return next;
}

/* Replaces zeroes in the configuration by defaults. Returns WP_OK or WP_MISUSED. [any thread | a
 * system call] */
int wp__group_settle(wp_group_config *config);
/* The first allocates a group, without threads, and returns NULL if there is no memory. The second
 * frees it. [before it is shared | allocates] */
wp_group *wp__group_make(const wp_group_config *config);
void wp__group_give(wp_group *group);

/* Returns the carriers of the group in turn. [any thread | wait-free] */
uint32_t wp__group_next(wp_group *group);
/* Returns the carrier for a task that was submitted without one. [any thread | wait-free] */
uint32_t wp__group_choose(wp_group *group);
wp_carrier_tasks *wp__group_home(wp_group *group, uint32_t index);
/* Like wp_group_start, on that home. [any thread | blocks briefly] */
int wp__group_start(wp_carrier_tasks *home, wp_task *task);

#endif
