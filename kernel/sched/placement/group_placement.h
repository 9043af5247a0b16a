/* SPDX-License-Identifier: Apache-2.0
 * group_placement.h - placement in a group: who counts what, and where tasks go whose carrier is
 * marked. For the files of group.h alone.
 *
 *   whoever queues a task                  a carrier
 *   push it to its home, wake (carrier.h)    each turn: moved tasks? takes one, runs it
 *   count it                                   its own queue has something, too: gets help
 *   the home is marked: move its queue,        more are left: nudges one that is parked
 *     nudge one that is parked               a step ends: off the count; unmark
 *                                            parked (carrier.h): leaves, if some are moved
 *
 *   whoever resumes a parked task, if that is asked for (place_at_resume)
 *   chooses; that is its home from now on (carrier_tasks.h); push, count
 *
 * Why it works  A task keeps its home: on whoever takes it from the moved ones it is as a stolen
 *               one. A carrier looks for moved tasks when its word says parked, and who has moved
 *               some then looks at the words: [carrier.6] of its park and [spare_carrier.5] of the
 *               wake order them. Woken for a moved task, it takes that first; and if its own queue
 *               has something it may have been woken for that as well, so it has a sibling look, as
 *               who gives up a role (spare_thread.h).
 *               Queues are moved by their tickets: without work stealing each carrier of a group
 *               that counts loads is alone in a domain.
 *               Who has marked a carrier, or taken a mark off, sees to spare_carriers
 *               (spare_carrier.h). A monitor marks a carrier whose step makes no progress while
 *               something is queued there; the end of that step unmarks it (placement.h).
 *               Decisions are counted on the line of who is chosen, which the push counts on next.
 * Not promised  That timers, pollers and pinned tasks of a marked carrier go on, with a spare
 *               carrier or without (spare_thread.h does that for pinned parks). That a moved task
 *               stays in its steal domain.
 * Spec          specs/sched/placement/Placement.tla, Monitor.tla, SpareCarrier.tla;
 *               specs/sched/search_nudged.models.toml: wakes; search_given.models.toml: help.
 * Evidence      tests/sched/placement/test_group_placement.py. */
#ifndef WP_GROUP_PLACEMENT_H
#define WP_GROUP_PLACEMENT_H

#include <sched.h>

#include "queue/private_fifo.h"
#include "sched/placement/placement.h"
#include "sched/worker.h"

/* Of a group. moved: under the lock, as its count. */
typedef struct wp_group_placement {
	wp_placement placement;
	_Alignas(WP_LINE) wp_lock lock;
	wp_private_fifo moved;
	wp_spare_carriers replaced;
	cpu_set_t cpus; /* of who made the group */
	wp_group *group;
	wp_lock watching; /* the rest: under it */
	wp_cond over;
	bool has_monitor, is_over;
	uint32_t *seats; /* of the placement's clusters */
	pthread_t monitor;
} wp_group_placement;

WP_INLINE bool wp__group_placement_is_wanted(const wp_group_config *config)
{
	return config->placement != WP_PLACE_HOME || config->monitor_ms != 0 ||
	       config->spare_carriers != 0;
}

/* NULL: no memory. [before the group is shared | allocates] */
wp_group_placement *wp__group_placement_new(wp_group *group);
void wp__group_placement_free(wp_group_placement *placed);

/* Where a task is to start, which else would there. [any thread | wait-free] */
uint32_t wp__group_placement_choose(wp_group_placement *placed, uint32_t here);
/* [any thread | wait-free] */
uint32_t wp__group_placement_load(wp_group_placement *placed, uint32_t index);

/* It has polled that task. [the carrier | wait-free] */
void wp__group_placement_polled(wp_worker *mine, wp_mpsc_node *node);
/* It has stolen it. [the carrier | wait-free] */
void wp__group_placement_stole(wp_worker *mine, wp_task *task);
/* A step begins; it has ended. [the carrier | wait-free] */
void wp__group_placement_begins(wp_worker *mine);
void wp__group_placement_ended(wp_worker *mine);

/* What is queued at a marked carrier. [any thread | blocks shortly, may wake somebody] */
void wp__group_placement_move(wp_group_placement *placed, wp_worker *from);

/* One that is parked, and not dormant, if any is. [any thread | one system call at the most] */
void wp__group_placement_wake_one(wp_group_placement *placed, uint32_t after);

/* Spare carriers (spare_carrier_group.c): the calls; after a mark, or its end; before the stops. */
void wp__spare_carrier_group_init(wp_group_placement *placed);
void wp__spare_carrier_group_settle(wp_group_placement *placed);
void wp__spare_carrier_group_end(wp_group_placement *placed);

/* Starts the monitor (monitor.c), if one is wanted: 0, or why there is no thread. [who makes the
 * group | system calls] */
int wp__monitor_begin(wp_group_placement *placed);
/* It has ended. [the close | blocks shortly] */
void wp__monitor_end(wp_group_placement *placed);

/* A task whose home is marked, or NULL: none is there. [the carrier | blocks shortly, may wake
 * others]
 */
wp_mpsc_node *wp__group_placement_take(wp_worker *mine);
/* Tasks are there. [the carrier | wait-free] */
WP_INLINE bool wp__group_placement_is_wanted_at(wp_worker *mine)
{
	return mine->home.carrier.is_placed &&
	       wp_placement_has_global(&mine->group->placed->placement);
}

/* Its loop is to look up from its own queues: for these, or for who asks for its role. [the carrier
 * | wait-free] */
WP_INLINE bool wp__worker_is_called(wp_worker *mine)
{
	return mine->role.is_wanted || wp__group_placement_is_wanted_at(mine);
}

/* Its word says parked. False: it is to leave. [the carrier | wait-free] */
bool wp__group_placement_rest(wp_worker *mine);

/* What was moved goes home, to be handed back. [the close | blocks shortly] */
void wp__group_placement_give_back(wp_group_placement *placed);

#endif
