/* SPDX-License-Identifier: Apache-2.0
 * placement.h - task placement (load balancing at submission). It counts the load of each carrier,
 * flags carriers that are blocked, and chooses a carrier by loads and flags.
 *
 *   submitter                              a task that will block
 *   [policy.1] read loads, choose          [placement.3] flag its carrier as blocked
 *   push it there                          move the carrier's queue to the global one:
 *   [placement.1] load++; if the carrier       pop; [placement.2] load -= what it moved;
 *         is blocked by now, move that         push; [placement.5] count it there; wake a
 *         queue, too                           parked carrier
 *   all are blocked: use the global queue  when it no longer blocks: [placement.4] clear the flag
 *
 *   carrier
 *   [placement.6] global tasks: take some,  a task ends: [placement.2] load--
 *         [placement.9] count them off;     it steals: [placement.2] moves the count from the
 *         there are more: wake a parked       victim to itself
 *         carrier                           it has no task: word := parked; [carrier.6];
 *                                             [placement.6] global tasks: end the park
 *
 * Why it works  Load and flag are one word. So a submitter that counts its task sees whether the
 *               carrier was flagged before; otherwise the task that flags it sees the push. A
 *               carrier's own word (carrier.h) says whether it is idle. The thread that counts a
 *               global task finds that word ([spare_carrier.5]), or the carrier finds the task
 *               ([carrier.6]). Tasks are counted after the push, and counted off by the thread that
 *               takes them. So for a while a count is below the number of tasks, and a count below
 *               0 is read as 0.
 *               A flag that the monitor sets is for one step: either the end of the step reads the
 *               flag, or the monitor reads that the step has ended ([placement.10] to
 *               [placement.13]).
 * Load          A load counts the queued tasks and the running one; with `at_dequeue`, only the
 *               queued tasks.
 * Not promised  The chosen carrier may not have the least load, because other threads choose, too.
 *               The flag of a carrier means nothing while no task runs there. The caller has the
 *               queues, and wakes carriers.
 * Prior art     The power of two choices (Mitzenmacher) in policy_two_choices.h; Go's sysmon, which
 *               retakes a P from a thread that is blocked in a system call.
 * Spec          specs/sched/placement/Placement.tla: CounterBalance, BlockingNeverTargeted,
 *               NoStrandedGlobal; specs/sched/compensation/Monitor.tla: MarkIsOfWhoRuns.
 * Evidence      make check-specs T='Placement|Monitor', make stress T='placement|monitor',
 *               tests/sched/placement/test_placement.py. */
#ifndef WP_PLACEMENT_H
#define WP_PLACEMENT_H

#include "sched/placement/policy.h"

/* The steps of one carrier, counted when a step begins and when it ends. If the number is odd, a
 * step runs. */
typedef wp_atomic(uint64_t) wp_progress;

/* Makes a placement in which no carrier has a load or is blocked. `slots` has room for `count` > 0
 * carriers. [before it is shared | wait-free] */
void wp_placement_init(wp_placement *placement, wp_placement_slot *slots, uint32_t count,
		       enum wp_placement_policy policy, bool at_dequeue);

/* Counts a task, after the push to that carrier. Returns false if the carrier is not eligible; the
 * caller must then move the carrier's queue. [any thread | wait-free] */
bool wp_placement_submitted(wp_placement *placement, uint32_t carrier);

/* Counts off tasks that were taken from that carrier's queue to be moved to the global one. [any
 * thread | wait-free] */
void wp_placement_moved(wp_placement *placement, uint32_t carrier, uint32_t many);

/* Counts tasks, after the push to the global queue. The caller must then wake a parked carrier, if
 * there is one. [any thread | wait-free] */
void wp_placement_spilled(wp_placement *placement, uint32_t many);

/* Moves the count of a task from the victim to the thief, which runs it. [the thief | wait-free] */
void wp_placement_stolen(wp_placement *placement, uint32_t victim, uint32_t thief);

/* Called when a task of the carrier's own queue begins. [the carrier | wait-free] */
void wp_placement_begins(wp_placement *placement, uint32_t carrier);
/* Called when a task ends. Returns true if the carrier is flagged as blocked; the caller must then
 * clear the flag. [the carrier | wait-free] */
bool wp_placement_ends(wp_placement *placement, uint32_t carrier);

/* Flags the carrier as blocked, so that it is not chosen. Returns true if the caller must move its
 * queue, and false if it was flagged before. [a task that runs there | wait-free] */
bool wp_placement_mark(wp_placement *placement, uint32_t carrier);
/* Clears all blocked flags of the carrier. [the task that set one, or the carrier at the end of a
 * step | wait-free] */
void wp_placement_unmark(wp_placement *placement, uint32_t carrier);

/* Counts the beginning of a step, or its end; the end before wp_placement_ends. [the carrier |
 * wait-free] */
void wp_placement_step(wp_progress *progress);
/* Returns the steps counted so far. [any thread | wait-free] */
uint64_t wp_placement_progress(wp_progress *progress);
/* Flags the carrier as blocked until that step ends, because the step makes no progress. Returns
 * true if the step still runs; the caller must then move the queue. [one thread, if is_watched |
 * wait-free] */
bool wp_placement_suspect(wp_placement *placement, uint32_t carrier, wp_progress *progress,
			  uint64_t step);

/* Returns true if there are global tasks. The carrier takes them before its own tasks, and a parked
 * carrier ends its park for them. [the carrier | wait-free] */
bool wp_placement_has_global(const wp_placement *placement);
/* Counts off tasks that were taken from the global queue, and counts them for the carrier: they
 * were pushed to its own queue, or one is about to run. Returns true if there are more; the caller
 * must then wake a parked carrier, if there is one. [the carrier | wait-free] */
bool wp_placement_drained(wp_placement *placement, uint32_t carrier, uint32_t many);

/* Returns the carrier's load. [any thread | wait-free] */
uint32_t wp_placement_load(const wp_placement *placement, uint32_t carrier);

#endif
