/* SPDX-License-Identifier: Apache-2.0
 * worker.h - the thread of one carrier: its loop, its exit, its counts. For group.c alone.
 *
 *   fire the timers that are due; in a long drain every 16 runs
 *   placed: one task whose carrier is marked (group_placement.h)
 *   drain the own queues, for yield_us; the stop was among it: [worker.3] exited; between two looks
 *   at
 *            the clock threads that yield pass to one another
 *   nothing: steal from the longer queue of two siblings, drawn at random
 *   nothing: park, until a timer is due at the latest; run what the wake brought; that is nothing:
 *            fire, drain, and park at once
 *
 * Why it works  Between a wake that brought nothing and the next park there is nothing that takes
 *               long (carrier.h).
 * Spec          specs/sched/Group.tla: Pop, Stop. Evidence  tests/sched/test_group.py. */
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

/* One carrier. home: see there. exited: worker.3. The last line: the owner. */
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
	wp_carrier_io *io;      /* of its poller, if that is the kernel's own; else NULL */
	wp_watching *watching;  /* of the thread that carries */
	bool has_stop;          /* it was read */
	wp_private_fifo behind; /* since then: what is not to run */
	wp_stacks *usual;       /* those of WP_STACK_BYTES */
	wp_stack_cache stacks;  /* of these */
	_Alignas(WP_LINE) uint64_t random;
	wp_atomic(wp_task *)
		mounted; /* worker.1, worker_idle.1, worker.2: what it runs, or has run last; NULL: it sleeps */
	wp_carrier_tasks *runs_for; /* the home of the task that it runs */
	uint32_t turns;             /* runs until it looks at the clock, this one among them */
	int64_t until_ns;           /* the deadline of its last sleep; 0: it did not sleep */
	wp_progress progress;       /* if somebody watches */
	uint64_t seen;              /* of that, by the monitor, who alone has it */
	uint64_t made; /* virtual threads, from the cache of stacks; who has the role */
	wp_atomic(uint64_t) runs, directed, probed, recheck, fruitless;
	wp_atomic(uint64_t) drains, parks, wakes, useless_wakes, pinned;
} wp_worker;

/* What a close has taken off its lists. A task that is off its list has no use for next and back:
 * these link them, and say whether it was parked. */
typedef struct wp_taken {
	wp_task *first, *last;
} wp_taken;

struct wp_group {
	wp_group_config config; /* its carriers: with spare ones */
	uint32_t size;          /* without */
	wp_tracing tracing;
	wp_closing closing;
	/* to be handed back when all lists are empty: by this close, or the next one */
	wp_taken taken;
	wp_domain *domains;                     /* by number */
	wp_carrier **members;                   /* of all domains, one after the other */
	struct wp_local_queue_carrier *bounded; /* by carrier; NULL: none is */
	wp_worker *workers;
	wp_bodies bodies;
	wp_spare_threads spares;
	wp_wakers wakers;                  /* others that are inside */
	struct wp_group_placement *placed; /* NULL: nobody counts loads */
	wp_carrier_tasks **homes; /* by number, if tasks are placed where they go on; or NULL */
	uint32_t blocking; /* pollers that block without parking; under the lock of `closing` */
	wp_atomic(uint32_t) next; /* submit.1 */
};

/* For a dump. [who has its role | wait-free] */
WP_INLINE void wp__worker_runs(wp_worker *mine, wp_task *task)
{
	/* [worker.1] relaxed: stale costs a dump a name, never a task; pairs dump.1, worker.2;
	 * upholds Dump!RunnerIsNamed. */
	wp_store_relaxed(&mine->mounted, task);
}

/* [who has its role | wait-free] */
WP_INLINE wp_task *wp__worker_mounted(wp_worker *mine)
{
	/* [worker.2] relaxed: ordered by the program, and the role by its lock; pairs worker.1;
	 * upholds Dump!RunnerIsNamed. */
	return wp_load_relaxed(&mine->mounted);
}

/* The thread's function; its argument is the worker. */
void *wp__worker_begin(void *arg);

/* The carrier that this thread is, or NULL. [any thread | wait-free] */
wp_worker *wp__worker_self(void);

/* The calling thread carries that one, and the next ones, until it is to end. NULL: none.
 * [an OS thread of the group | blocks] */
void wp__worker_carry(wp_group *group, wp_worker *mine);
/* The calling thread carries that one from now on. [who has its role | system calls] */
void wp__worker_mount(wp_worker *mine, wp_watching *watching);

/* A task from a sibling, or NULL. [the carrier | as wp_carrier_steal] */
wp_mpsc_node *wp__worker_probe(wp_worker *mine);
/* Sleeps, unless there is something to do: a task that it was sent for, or NULL. [the carrier |
 * blocks] */
wp_mpsc_node *wp__worker_park(wp_worker *mine);
/* It has left a park with that task, which it gives, or NULL: counted. [the carrier | wait-free] */
wp_mpsc_node *wp__worker_left(wp_worker *mine, wp_mpsc_node *stolen);
/* It slept: an event. [the carrier | wait-free] */
void wp__worker_slept(wp_worker *mine, int64_t since_ns, wp_mpsc_node *stolen);

/* Its poller has parked it, and is descheduled, or back. [the carrier | wakes somebody at the
 * most] */
void wp__poller_unpark(wp_worker *mine);
/* The stop was read. True: it has a poller, which is told to end. [the carrier] */
bool wp__poller_stays(wp_worker *mine);
/* It runs now; or NULL: it is not here. [the carrier] */
wp_task *wp__poller_turn(wp_worker *mine);
/* The last: what its poller's end has kept from the close. [the carrier] */
void wp__poller_leave_behind(wp_worker *mine);

/* As wp__carrier_tasks_pass, for the calling carrier; NULL also: it is the loop's turn. [any thread
 * | wait-free] */
wp_task *wp__worker_pass(wp_task *task, bool yields);

/* What is 0 becomes its default. WP_OK, or WP_MISUSED. [any thread | a system call] */
int wp__group_settle(wp_group_config *config);
/* Its memory: no carrier runs. NULL: there is none. [before it is shared | allocates] */
wp_group *wp__group_make(const wp_group_config *config);
void wp__group_give(wp_group *group);

/* A carrier of a group, in turn. [any thread | wait-free] */
uint32_t wp__group_next(wp_group *group);
/* Where a task goes that nobody has a carrier for. [any thread | wait-free] */
uint32_t wp__group_choose(wp_group *group);
wp_carrier_tasks *wp__group_home(wp_group *group, uint32_t index);
/* As wp_group_start, at that home. [any thread | blocks shortly] */
int wp__group_start(wp_carrier_tasks *home, wp_task *task);

#endif
