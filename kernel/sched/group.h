/* SPDX-License-Identifier: Apache-2.0
 * group.h - carriers from start to close: permanent threads that run tasks.
 *
 *   carrier                                 the close
 *   bind, then again and again:             shut every list (carrier_tasks.h)
 *     drain the queues, for yield_us        wait for every list, or not (any longer)
 *     nothing: steal from the longer queue  to each inbox: the stop
 *              of two siblings              [group.1] wait for each exit, join
 *     nothing: park; run what the wake      hand back what is queued or parked, until every
 *              brought                           list is empty
 *   the stop: [worker.3] exited
 *
 * Why it works  The stop is a task that its carrier alone can take, so it is woken to stop as for
 *               any other pinned submission. After the joins the close is the
 *               only consumer. A task that is neither queued nor parked then is about to be queued
 *               by its unparker: the close waits for that push. What a scheduler has it does not
 *               wait for any longer than its own time: that thread is nobody's but the scheduler's.
 *               A thread that stands in a line leaves it before any is handed back, and what it was
 *               granted is passed on (wakers.h); a mutex that it has is abandoned (mutex.h).
 * Not promised  Carriers at different real-time priorities: an inversion, see biased_lock.h. Give
 *               them all one policy and one priority (`bind` may set it), or each a domain of its
 *               own. That a step ends: a close whose time is over says so. That nobody is inside
 *               wp_task_unpark when the close returns: free the group when nobody is. A fork: a
 *               step must not return in the child, which has the queues and one carrier.
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
	WP_GROUP_CARRIERS = 1024,  /* the most; as many as an idle set holds */
	WP_GROUP_STACKS = 4194304, /* addresses are reserved for so many, if there are */
	WP_CLOSE_GRACE_NS =
		100000000, /* for steps that run when the time of a close is over; at least so
					  long a close waits for schedulers */
};
/* cdef: end */

/* cdef: begin */
/* Zeroed, it is what to use. */
typedef struct wp_group_config {
	/* At most WP_GROUP_CARRIERS; 0: as many as CPUs that the calling thread may use, and then
	 * neither domain_of nor cluster_of. */
	uint32_t carriers;
	uint32_t yield_us;  /* a carrier looks up from its queue after so long; 0: 50 */
	bool work_stealing; /* false: no path takes ticket, token or idle bit */
	/* What a carrier queues for itself is in a ring, half of which is stolen at once, or goes
	 * to its run queue when it is full (local_queue_carrier.h). Without siblings it makes no
	 * difference, unless loads are counted. */
	bool bounded;
	/* So many virtual threads can have one of the same size at once, at the least; at most an
	 * eighth more, for what carriers keep (stack.h). 0: WP_GROUP_STACKS, or what the process
	 * has addresses for: of 2^43, or an eighth of its limit, for each size. */
	uint32_t max_stacks;
	/* OS threads, at most, that carry on while pinned parks block carriers; 0 */
	uint32_t spares;
	/* To keep of each carrier, a power of two; 0: none, until wp_group_trace_on (trace.h). */
	uint32_t trace_events;
	/* Of a task for which nobody has a carrier (group_placement.h). Home: the calling one, or
	 * the next in turn; then no load is counted. */
	enum wp_placement_policy placement;
	bool load_at_dequeue; /* a load is what is queued; false: with what runs */
	/* Who unparks a task has it placed anew, and the carrier that is chosen is its home from
	 * then on: not if it is pinned, or has settled, nor where no load is counted. */
	bool place_at_resume;
	/* A carrier whose step takes longer, while something is queued there, is marked as by
	 * wp_group_block, until the step ends; at the latest after twice as long. 0: none is. */
	uint32_t monitor_ms;
	/* Carriers, at most, that stand in for those that are marked (spare_carrier.h), beside the
	 * others, WP_GROUP_CARRIERS with these, and each alone in a steal domain; their indexes
	 * follow. `bind` is not called for them. 0. */
	uint32_t spare_carriers;
	/* By carrier, each below `carriers`: who may steal from one another; NULL: all. */
	const uint32_t *domain_of;
	const uint32_t *cluster_of; /* by carrier: whom to prefer; NULL: all are alike */
	/* Runs first on each carrier's thread, with its index; NULL: nothing. */
	void (*bind)(void *arg, uint32_t index);
	void *arg;
} wp_group_config;

/* Starts the carriers. WP_OK; WP_MISUSED: a value out of its range; or WP_SYSTEM and errno: no
 * memory, or no thread; none is left then. [any thread | system calls] */
WP_API int wp_group_new(wp_group **group, const wp_group_config *config);

/* After a close that said WP_OK, when nobody is inside a start, an unpark or a join any more. Waits
 * for those who still wake its threads from a line that they have left, and for wp_vthread_run: not
 * to be called inside that. [any thread | blocks shortly] */
WP_API void wp_group_free(wp_group *group);

WP_API uint32_t
wp_group_size(const wp_group *group); /* without spare carriers [any thread | wait-free] */

/* Closes it: no start is accepted any more; waits until all tasks have ended, or until deadline_ns
 * (CLOCK_MONOTONIC), or, if it cancels, not at all; stops the carriers; hands back every task that
 * has not ended to `each` (NULL: to nobody), which must not close it; an unpark of one of these
 * does nothing. One close at a time: a second one waits for the first. WP_OK: closed. WP_TIMEOUT:
 * steps that run do not end, or another close does not, or a scheduler (vthread_start.h) has
 * threads, run or not, for longer than WP_CLOSE_GRACE_NS and the deadline; nothing is handed back
 * yet: close it again. A dump (dump.h) names what is left. WP_INTERRUPTED: a signal handler ran:
 * close it again. WP_FORBIDDEN: the caller is one of its carriers. [any thread | blocks] */
WP_API int wp_group_close(wp_group *group, int64_t deadline_ns, bool cancel,
			  void (*each)(void *arg, wp_task *task, bool was_parked), void *arg);

/* Starts a task, made by wp_task_init, on that carrier. WP_OK or WP_CLOSED. [any thread | blocks
 * shortly] */
WP_API int wp_group_start(wp_group *group, uint32_t index, wp_task *task);

/* The same, where the group places it. */
WP_API int wp_group_submit(wp_group *group, wp_task *task);

/* The task that calls is to block its carrier: until its unblock, or the end of its step, none is
 * placed there, and what is queued there, and is not pinned, goes to the others. WP_ALREADY: it has
 * said so before, and one unblock ends both. WP_FORBIDDEN: no carrier that counts loads runs it. [a
 * task | blocks shortly, may wake others] */
WP_API int wp_group_block(void);
WP_API void wp_group_unblock(void);

/* What came of its spare_carriers. [any thread | blocks shortly] */
WP_API wp_spare_carrier_group wp_group_spare_carriers(wp_group *group);

/* Has the task run once more, however late its park. [any thread, while the task lives | as
 * wp_carrier_submit] */
WP_API void wp_task_unpark(wp_task *task);

/* The index of the calling carrier of this group; -1: the caller is none. [any thread |
 * wait-free] */
WP_API int wp_group_running(const wp_group *group);

/* The index of the home of the task that the calling carrier of this group runs; -1: the caller is
 * none. Another one than wp_group_running says: the task is stolen. [any thread | wait-free] */
WP_API int wp_group_home(const wp_group *group);

/* Of one carrier; all but runnable and load ever grow. */
typedef struct wp_carrier_counts {
	uint64_t runs;      /* steps */
	uint64_t directed;  /* of these stolen: woken to help a sibling */
	uint64_t probed;    /* of these stolen: from the longer of two siblings' queues */
	uint64_t recheck;   /* of these stolen: found before a sleep */
	uint64_t fruitless; /* woken to help a sibling that had nothing left */
	uint64_t drains;    /* turns of its loop that ran something */
	uint64_t parks;
	uint64_t wakes;         /* that others sent it */
	uint64_t useless_wakes; /* of these: there was nothing to run */
	uint64_t pinned;        /* parks of virtual threads that it slept through */
	uint64_t runnable;      /* tasks queued here, about */
	uint64_t load;          /* by which it is chosen; 0, if nobody counts it */
	uint64_t spilled;       /* tasks that left its full ring; 0, if it has none */
	uint64_t looted;        /* tasks that came into its ring with one that it stole; as well */
} wp_carrier_counts;

/* [any thread | wait-free, reads what others write] */
WP_API wp_carrier_counts wp_group_counts(wp_group *group, uint32_t index);

/* Of one carrier of a group that counts loads; all ever grow. When nothing goes on, what was moved
 * is what was taken, in all. */
typedef struct wp_placement_counts {
	/* Of starts, and of tasks that go on, where these are placed. */
	uint64_t home;     /* for which it was chosen: by itself, as next in turn, or as the home */
	uint64_t other;    /* instead of another one */
	uint64_t nowhere;  /* as each was marked: then they are moved */
	uint64_t marks;    /* by tasks */
	uint64_t suspects; /* marks by the monitor */
	uint64_t moved;    /* tasks that went to the group's queue, for it was marked */
	uint64_t taken;    /* tasks of that queue that it has run */
} wp_placement_counts;

/* All are 0 if nobody counts loads. [any thread | wait-free, reads what others write] */
WP_API wp_placement_counts wp_group_placement_counts(wp_group *group, uint32_t index);

/* Of the searches of one steal domain; all ever grow. When nobody searches, started = no_idle +
 * the directed and fruitless of its carriers. */
typedef struct wp_domain_counts {
	uint64_t started;      /* searches that got the token */
	uint64_t denied;       /* that did not: another was in flight */
	uint64_t denied_other; /* of these: it was for another victim */
	uint64_t no_idle;      /* started, and woke nobody */
	uint64_t lost_tickets; /* attempts to steal from a queue that another was just polling */
} wp_domain_counts;

/* Of the domain of that carrier; without work stealing all are 0. [any thread | wait-free, reads
 * what others write] */
WP_API wp_domain_counts wp_group_domain_counts(wp_group *group, uint32_t index);
/* cdef: end */

#endif
