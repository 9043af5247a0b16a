/* SPDX-License-Identifier: Apache-2.0
 * group_placement.h - placement in a group: which thread counts what, and where the tasks of a
 * blocked carrier go. Only the files of the group use it.
 *
 *   submitter                              a carrier
 *   push the task to its home; wake the      each turn: is there a moved task? take one, run it
 *     carrier (carrier.h); count it            its own queue has a task, too: get help
 *   the home is blocked: move its queue,       more are left: wake a parked carrier
 *     wake a parked carrier                  a step ends: count it off; clear the flag
 *                                            about to sleep (carrier.h): not if some are moved
 *
 *   unparker of a task, with place_at_resume
 *   choose a carrier, which is the task's home from now on (carrier_tasks.h); push, count
 *
 * Why it works  A task keeps its home: the carrier that takes it from the moved tasks runs it as a
 *               stolen one. A carrier that is about to sleep first writes its word and then looks
 *               for moved tasks; a thread that has moved some then looks at the words. [carrier.6]
 *               of the park and [spare_carrier.5] of the wake order the two. A carrier that is
 *               woken for a moved task takes that one first. If its own queue has a task, it may
 *               have been woken for that as well, so it wakes a sibling for it, as a thread that
 *               gives up a role does (spare_thread.h).
 *               To move a queue takes its ticket, so every carrier of a group that counts loads has
 *               a domain: without work stealing a domain of its own.
 *               A thread that has blocked or unblocked a carrier then settles the spare carriers
 *               (spare_carrier.h). The monitor flags a carrier as blocked when its step makes no
 *               progress while something is queued there; the end of that step clears the flag
 *               (placement.h).
 *               Decisions are counted on the cache line of the chosen carrier, where the push
 *               counts next.
 * Not promised  The timers, the poller and the pinned tasks of a blocked carrier wait, with a spare
 *               carrier or without (for pinned parks spare_thread.h helps). A moved task may leave
 *               its steal domain.
 * Prior art     Go's sysmon; Java's ForkJoinPool.ManagedBlocker, which compensates for a worker
 *               that announces that it blocks.
 * Spec          specs/sched/placement/Placement.tla, Monitor.tla, SpareCarrier.tla;
 *               specs/sched/search_nudged.models.toml: wakes; search_given.models.toml: help.
 * Evidence      tests/sched/placement/test_group_placement.py. */
#ifndef WP_GROUP_PLACEMENT_H
#define WP_GROUP_PLACEMENT_H

#include <sched.h>

#include "queue/private_fifo.h"
#include "sched/placement/placement.h"
#include "sched/worker.h"

/* The placement of one group. `moved` has the tasks of blocked carriers and their count, under the
 * lock. */
typedef struct wp_group_placement {
	wp_placement placement;
	_Alignas(WP_LINE) wp_lock lock;
	wp_private_fifo moved;
	wp_spare_carriers replaced;
	cpu_set_t cpus; /* of the thread that made the group */
	wp_group *group;
	wp_lock watching; /* guards all fields below */
	wp_cond over;
	bool has_monitor, is_over;
	uint32_t *seats; /* memory of the placement's clusters */
	pthread_t monitor;
} wp_group_placement;

WP_INLINE bool wp__group_placement_is_wanted(const wp_group_config *config)
{
	return config->placement != WP_PLACE_HOME || config->monitor_ms != 0 ||
	       config->spare_carriers != 0;
}

/* The first allocates a group's placement, and returns NULL if there is no memory. The second frees
 * it. [before the group is shared | allocates] */
wp_group_placement *wp__group_placement_new(wp_group *group);
void wp__group_placement_free(wp_group_placement *placed);

/* Chooses the carrier of a task. `here` is where the task would go without loads. [any thread |
 * wait-free] */
uint32_t wp__group_placement_choose(wp_group_placement *placed, uint32_t here);
/* Returns the load of a carrier. [any thread | wait-free] */
uint32_t wp__group_placement_load(wp_group_placement *placed, uint32_t index);

/* Counts a task that the carrier has polled. [the carrier | wait-free] */
void wp__group_placement_polled(wp_worker *mine, wp_mpsc_node *node);
/* Counts a task that the carrier has stolen. [the carrier | wait-free] */
void wp__group_placement_stole(wp_worker *mine, wp_task *task);
/* The first is called when a step begins, and the second when it has ended. [the carrier |
 * wait-free] */
void wp__group_placement_begins(wp_worker *mine);
void wp__group_placement_ended(wp_worker *mine);

/* Moves the queue of a blocked carrier to the group's queue. [any thread | blocks briefly, may wake
 * a carrier] */
void wp__group_placement_move(wp_group_placement *placed, wp_worker *from);

/* Wakes a carrier that is parked and not an idle spare, if there is one. [any thread | one system
 * call at the most] */
void wp__group_placement_wake_one(wp_group_placement *placed, uint32_t after);

/* The spare carriers (spare_carrier_group.c). init sets their functions. Call settle after a
 * carrier was blocked or unblocked. Call end before the stops. */
void wp__spare_carrier_group_init(wp_group_placement *placed);
void wp__spare_carrier_group_settle(wp_group_placement *placed);
void wp__spare_carrier_group_end(wp_group_placement *placed);

/* Starts the monitor (monitor.c), if the group has one. Returns 0, or an errno if there is no
 * thread. [the maker of the group | system calls] */
int wp__monitor_begin(wp_group_placement *placed);
/* Ends the monitor, and returns when it has ended. [the close | blocks briefly] */
void wp__monitor_end(wp_group_placement *placed);

/* Takes a moved task, or returns NULL if there is none. [the carrier | blocks briefly, may wake
 * others] */
wp_mpsc_node *wp__group_placement_take(wp_worker *mine);
/* Returns true if there are moved tasks. [the carrier | wait-free] */
WP_INLINE bool wp__group_placement_is_wanted_at(wp_worker *mine)
{
	return mine->home.carrier.is_placed &&
	       wp_placement_has_global(&mine->group->placed->placement);
}

/* Returns true if the carrier's loop must interrupt its own queues, for moved tasks or to give up
 * its role. [the carrier | wait-free] */
WP_INLINE bool wp__worker_is_called(wp_worker *mine)
{
	return mine->role.is_wanted || wp__group_placement_is_wanted_at(mine);
}

/* Called when the carrier's word says parked. Returns false if the carrier must end its park, for
 * moved tasks. [the carrier | wait-free] */
bool wp__group_placement_rest(wp_worker *mine);

/* Pushes the moved tasks to their homes, to be handed back. [the close | blocks briefly] */
void wp__group_placement_give_back(wp_group_placement *placed);

#endif
