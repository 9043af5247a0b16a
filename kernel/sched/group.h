/* SPDX-License-Identifier: Apache-2.0
 * group.h - a group is a scheduler that runs M tasks on N carriers, from its start to its close. A
 * carrier is a permanent OS thread with a run queue of its own, and idle carriers steal from busy
 * ones.
 *
 *   wp_group_config config = {.work_stealing = true};
 *   wp_group *group;
 *   wp_group_new(&group, &config);
 *   wp_group_submit(group, &task);                       (task.h: wp_task_init)
 *   wp_group_close(group, WP_FOREVER, false, NULL, NULL);
 *   wp_group_free(group);
 *
 *   carrier                                 the close
 *   bind, then again and again:             shut every list (carrier_tasks.h)
 *     run queued tasks, for yield_us        wait until every list is empty, or time is over
 *     none: steal from the longer queue     push the stop to each inbox
 *           of two siblings                 [group.1] wait for each exit, join
 *     none: park; run what the wake         hand back what is queued or parked, until every
 *           brought                         list is empty
 *   a stop is read: [worker.3] exited
 *
 * Why it works  A stop is a task that only its own carrier can take, so submitting it wakes that
 *               carrier as any other pinned submission does. After the joins the close is the only
 *               consumer of the queues. A listed task that is then neither queued nor parked is
 *               about to be queued by its unparker, and the close waits for that push. If a
 *               scheduler of the user holds a thread (vthread_start.h), the close waits only a
 *               bounded time, because only that scheduler can run the thread. A thread that stands
 *               in a wait queue leaves the queue before any thread is handed back, and what it was
 *               granted goes to the next waiter (wakers.h). A mutex that the thread holds is
 *               abandoned (mutex.h).
 * Not promised  Carriers at different real-time priorities may suffer priority inversion, because
 *               a carrier yields beside a push that is not over (mpsc.h): give all carriers one
 *               policy and one priority (`bind` may set it), or give each a domain of its own. A
 *               step may never end: a close that runs out of time returns WP_TIMEOUT. A thread may
 *               still be inside wp_task_unpark when the close returns: free the group only when
 *               none is. A step must not fork the process and return in the child, which has the
 *               queues but only one carrier.
 * Prior art     Go's scheduler, Tokio's multi-threaded runtime, and Java's ForkJoinPool with the
 *               carrier threads of its virtual threads.
 * Spec          specs/sched/Group.tla: NoTaskLost, NothingRunsAfterClose, StopsItself, WaitsForAll;
 *               specs/sched/GroupClose.tla: TurnIsPassedOn, WaitsForWhatRuns, OneConsumer,
 *               SleepsForHeld, Returns.
 * Evidence      make check-specs T='Group|GroupClose', tests/sched/test_group.py. */
#ifndef WP_GROUP_H
#define WP_GROUP_H

#include <stddef.h>
#include <stdint.h>

#include "sched/carrier_tasks.h"
#include "sched/compensation/spare_carrier.h"

typedef struct wp_group wp_group;

/* cdef: begin */
enum {
	WP_GROUP_CARRIERS = 1024, /* of a group; the capacity of an idle set */
	/* stacks for which addresses are reserved, if the process has that many */
	WP_GROUP_STACKS = 4194304,
	/* How long a close waits, beyond its deadline, for steps that still run. It waits at least
	 * as long for schedulers. */
	WP_CLOSE_GRACE_NS = 100000000,
};
/* cdef: end */

/* cdef: begin */
/* A zeroed configuration holds the defaults. */
typedef struct wp_group_config {
	/* At most WP_GROUP_CARRIERS. 0: one for each CPU that the calling thread may use; domain_of
	 * and cluster_of must then be NULL. */
	uint32_t carriers;
	uint32_t yield_us;  /* how long it drains its queue in one turn; 0: 50 */
	bool work_stealing; /* false: no ticket, token or idle bit is used */
	/* true: each carrier queues its own tasks in a bounded ring (local_queue_carrier.h). A
	 * thief takes half of a ring at once, and a full ring overflows to the run queue of its
	 * carrier. For a carrier without siblings this makes no difference, unless loads are
	 * counted. */
	bool bounded;
	/* At least this many virtual threads of one stack size can exist at once; the caches of the
	 * carriers add an eighth at the most (stack.h). 0: WP_GROUP_STACKS, or as many as the
	 * process has addresses for: of 2^43 addresses, or of an eighth of its limit, for each
	 * stack size. */
	uint32_t max_stacks;
	/* The most spare OS threads, which run carriers while pinned parks block their own threads
	 * (spare_thread.h). Default 0. */
	uint32_t spares;
	/* Events that each carrier's ring keeps, a power of two; 0: none, until wp_group_trace_on
	 * (trace.h). */
	uint32_t trace_events;
	/* How the group chooses the carrier of a task that is submitted without one
	 * (group_placement.h). WP_PLACE_HOME takes the calling carrier, or the next one in turn for
	 * other threads; the group then counts loads only if monitor_ms or spare_carriers is set.
	 */
	enum wp_placement_policy placement;
	bool load_at_dequeue; /* load: queued tasks; false: queued and running */
	/* true: an unpark places the task anew, and the chosen carrier is its home from then on.
	 * This does not apply to tasks that are pinned or settled, nor to groups that count no
	 * loads. */
	bool place_at_resume;
	/* A carrier counts as blocked, as after wp_group_block, if one of its steps takes longer
	 * than this while tasks are queued there, or for all carriers. The monitor notices it after
	 * at most twice this time, and the end of the step ends it. 0: there is no monitor. */
	uint32_t monitor_ms;
	/* The most spare carriers, which run tasks in place of blocked carriers (spare_carrier.h).
	 * They are additional to `carriers`, and both together are at most WP_GROUP_CARRIERS. Their
	 * indexes follow those of the others, each has a steal domain of its own, and `bind` is not
	 * called for them. Default 0. */
	uint32_t spare_carriers;
	/* The steal domain of each carrier, a number below `carriers`. Only carriers of one domain
	 * steal from one another. NULL: there is one domain. */
	const uint32_t *domain_of;
	/* The cluster of each carrier, a number below `carriers`. A carrier prefers siblings in its
	 * own cluster. NULL: there is one cluster. */
	const uint32_t *cluster_of;
	/* Runs first on each carrier's thread; `index` is the carrier's. NULL: nothing runs. */
	void (*bind)(void *arg, uint32_t index);
	void *arg;
} wp_group_config;

/* Makes a group and starts its carriers. Returns WP_OK; WP_MISUSED if a value is out of its range;
 * or WP_SYSTEM and sets errno if there is no memory or no thread, and then nothing is left behind.
 * [any thread | system calls] */
WP_API int wp_group_new(wp_group **group, const wp_group_config *config);

/* Frees a group after its close has returned WP_OK. No start, unpark or join may be in progress.
 * The call waits for wakers that still touch a thread of the group which has left its wait queue,
 * and for wp_vthread_run; so do not call it inside wp_vthread_run. [any thread | blocks briefly] */
WP_API void wp_group_free(wp_group *group);

/* Returns the number of carriers, without the spare ones. [any thread | wait-free] */
WP_API uint32_t wp_group_size(const wp_group *group);

/* Closes the group. From now on it accepts no start. The close waits until all tasks have ended or
 * until deadline_ns (CLOCK_MONOTONIC); with `cancel` it does not wait. It then stops the carriers
 * and hands each unfinished task back: it calls `each` with the task, unless `each` is NULL. `each`
 * must not close the group. An unpark of a handed-back task does nothing. Closes take turns: a
 * second one waits for the first. WP_OK: the group is closed. WP_TIMEOUT: a running step or another
 * close does not end, or a scheduler (vthread_start.h) has held threads, run or not, for longer
 * than WP_CLOSE_GRACE_NS and the deadline; nothing is handed back yet, so close again. A dump
 * (dump.h) names what is left. WP_INTERRUPTED: a signal handler ran; close again. WP_FORBIDDEN: the
 * caller is a carrier of this group. [any thread | blocks] */
WP_API int wp_group_close(wp_group *group, int64_t deadline_ns, bool cancel,
			  void (*each)(void *arg, wp_task *task, bool was_parked), void *arg);

/* Starts a task, made by wp_task_init, on that carrier. Returns WP_OK or WP_CLOSED. [any thread |
 * blocks briefly] */
WP_API int wp_group_start(wp_group *group, uint32_t index, wp_task *task);

/* Like wp_group_start, on a carrier that the group chooses. [any thread | blocks briefly] */
WP_API int wp_group_submit(wp_group *group, wp_task *task);

/* Announces that the calling task is about to block its carrier. Until the unblock, or the end of
 * the step, no task is placed on this carrier, and tasks that are queued there and not pinned move
 * to other carriers. Returns WP_OK. WP_ALREADY: the task has announced it before, and one unblock
 * ends both announcements. WP_FORBIDDEN: the caller is not a task on a carrier that counts loads.
 * [a task | blocks briefly, may wake others] */
WP_API int wp_group_block(void);
WP_API void wp_group_unblock(void);

/* Returns the counts of the group's spare carriers. [any thread | blocks briefly] */
WP_API wp_spare_carrier_group wp_group_spare_carriers(wp_group *group);

/* Unparks the task: it runs once more, even if it parks only later. [any thread, while the task
 * lives | as wp_carrier_submit] */
WP_API void wp_task_unpark(wp_task *task);

/* Returns the index of the calling carrier in this group, or -1 if the caller is no carrier of it.
 * [any thread | wait-free] */
WP_API int wp_group_running(const wp_group *group);

/* Returns the index of the home carrier of the task that the calling carrier runs, or -1 if the
 * caller is no carrier of this group. If the value differs from that of wp_group_running, the task
 * was stolen. [any thread | wait-free] */
WP_API int wp_group_home(const wp_group *group);

/* Counts of one carrier. All of them only grow, except `runnable` and `load`. */
typedef struct wp_carrier_counts {
	uint64_t runs;      /* steps */
	uint64_t directed;  /* stolen tasks that it ran after being woken to help a sibling */
	uint64_t probed;    /* stolen tasks from the longer of two siblings' queues */
	uint64_t recheck;   /* stolen tasks found by the recheck before a sleep */
	uint64_t fruitless; /* wakes to help a sibling that had nothing left */
	uint64_t drains;    /* turns of its loop that ran something */
	uint64_t parks;
	uint64_t wakes;         /* sent to it by others */
	uint64_t useless_wakes; /* of these wakes: there was nothing to run */
	uint64_t pinned;        /* pinned parks of virtual threads, which block its thread */
	uint64_t runnable;      /* tasks queued here, approximately */
	uint64_t load;          /* its load, for placement; 0 if not counted */
	uint64_t spilled;       /* tasks that overflowed its ring; 0 without a ring */
	uint64_t looted;        /* tasks that came into its ring together with a stolen one */
} wp_carrier_counts;

/* [any thread | wait-free, reads what others write] */
WP_API wp_carrier_counts wp_group_counts(wp_group *group, uint32_t index);

/* Placement counts of one carrier of a group that counts loads. All of them only grow. When the
 * group is quiet, the sum of `moved` over its carriers equals the sum of `taken`. */
typedef struct wp_placement_counts {
	/* The first three count decisions: at starts, and for resumed tasks if the group places
	 * these. */
	uint64_t home;     /* chosen as the caller, as next in turn or as the home */
	uint64_t other;    /* it was chosen instead of another carrier */
	uint64_t nowhere;  /* all carriers were blocked, and the task moved */
	uint64_t marks;    /* blocks announced by tasks */
	uint64_t suspects; /* blocks found by the monitor */
	uint64_t moved;    /* tasks that it passed to the group's queue while blocked */
	uint64_t taken;    /* tasks of that queue that this carrier ran */
} wp_placement_counts;

/* Returns placement counts; all are 0 if the group does not count loads. [any thread | wait-free,
 * reads what others write] */
WP_API wp_placement_counts wp_group_placement_counts(wp_group *group, uint32_t index);

/* Counts of the searches of one steal domain. All of them only grow. When no search is in flight,
 * started = no_idle + the sums of directed and fruitless over its carriers. */
typedef struct wp_domain_counts {
	uint64_t started;      /* searches that got a token */
	uint64_t denied;       /* searches that were refused, because enough were in flight */
	uint64_t denied_other; /* of these: the last that began was for another victim */
	uint64_t no_idle;      /* started, and found no idle carrier, or only one with a victim */
	uint64_t lost_tickets; /* attempts to steal from a queue that another thread was polling */
} wp_domain_counts;

/* Returns the search counts of that carrier's domain; all are 0 without work stealing. [any thread
 * | wait-free, reads what others write] */
WP_API wp_domain_counts wp_group_domain_counts(wp_group *group, uint32_t index);
/* cdef: end */

#endif
