/* SPDX-License-Identifier: Apache-2.0
 * placement.h - task placement (load balancing at submission): loads of carriers, flags of blocked
 * carriers, and the choice of a carrier by these.
 *
 *   submitter                              a task that is to block
 *   [policy.1] read loads, choose          [placement.3] flag its carrier as blocked
 *   push it there                          move the carrier's queue to the global one:
 *   [placement.1] load++; blocked by now:    pop; [placement.2] load -= what it moved;
 *         move that queue, too               push; [placement.5] count it there; wake one that
 *                                            is parked
 *   all are blocked: the global queue      .. it has blocked: [placement.4] clear the flag
 *
 *   carrier
 *   [placement.6] global tasks: take some,  a task ends: [placement.2] load--
 *         [placement.9] count them off;     stolen: [placement.2] from the victim's to the own
 *         there are more: wake one          nothing: word := parked; [carrier.6];
 *         that is parked                      [placement.6] global tasks: leave
 *
 * Why it works  Load and flag are one word. So a submitter that counts its task sees whether the
 *               carrier was flagged before; otherwise the task that flags it sees the push. The
 *               word of its park says whether a carrier is idle (carrier.h): the thread that counts
 *               a global task finds that word ([spare_carrier.5]), or the carrier finds the task
 *               ([carrier.6]). Tasks are counted after the push, and counted off by the thread that
 *               takes them, so for a while a count is below the number of tasks. A count below 0 is
 *               read as 0.
 *               A flag that another thread sets (the monitor) is for one step: either the end of
 *               the step reads the flag, or the monitor reads that the step has ended
 *               ([placement.10] .. [placement.13]).
 * Load          is what is queued and what runs; with `at_dequeue`, only what is queued.
 * Not promised  That the chosen carrier has the least load: other threads choose, too. That the
 *               flag of a carrier means anything while no task runs there. Queues and wakes are the
 *               caller's.
 * Prior art     The power of two choices (Mitzenmacher) in policy_two_choices.h; Go's sysmon, which
 *               retakes a P from a thread that is blocked in a system call.
 * Spec          specs/sched/placement/Placement.tla: CounterBalance, BlockingNeverTargeted,
 *               NoStrandedGlobal; specs/sched/compensation/Monitor.tla: MarkIsOfWhoRuns.
 * Evidence      make check-specs T='Placement|Monitor', make stress T='placement|monitor',
 *               tests/sched/placement/test_placement.py. */
#ifndef WP_PLACEMENT_H
#define WP_PLACEMENT_H

#include "sched/placement/policy.h"

/* Steps of one carrier, counted when a step begins and when it ends. Odd: a step runs. */
typedef wp_atomic(uint64_t) wp_progress;

/* `slots` has room for `count` > 0 carriers; no carrier has a load or is blocked. [before it is
 * shared | wait-free] */
void wp_placement_init(wp_placement *placement, wp_placement_slot *slots, uint32_t count,
		       enum wp_placement_policy policy, bool at_dequeue);

/* Counts a task, after the push to that carrier. Returns false if the carrier is not eligible, and
 * the caller moves its queue. [any thread | wait-free] */
bool wp_placement_submitted(wp_placement *placement, uint32_t carrier);

/* Counts off tasks taken from that carrier's queue, to be moved to the global one. [any thread |
 * wait-free] */
void wp_placement_moved(wp_placement *placement, uint32_t carrier, uint32_t many);

/* Counts tasks, after the push to the global queue. The caller then wakes a parked carrier, if
 * there is one. [any thread | wait-free] */
void wp_placement_spilled(wp_placement *placement, uint32_t many);

/* Moves the count of a task from the victim to the thief, which runs it. [the thief | wait-free] */
void wp_placement_stolen(wp_placement *placement, uint32_t victim, uint32_t thief);

/* A task of the carrier's own queue begins. [the carrier | wait-free] */
void wp_placement_begins(wp_placement *placement, uint32_t carrier);
/* A task ends. Returns true if the carrier is flagged as blocked, and the caller clears the flag.
 * [the carrier | wait-free] */
bool wp_placement_ends(wp_placement *placement, uint32_t carrier);

/* Flags the carrier as blocked: nobody is to choose it. Returns true if the caller moves its queue,
 * and false if it was flagged before. [a task that runs there | wait-free] */
bool wp_placement_mark(wp_placement *placement, uint32_t carrier);
/* Clears all its blocked flags. [the task that set one, or the carrier at the end of a step |
 * wait-free] */
void wp_placement_unmark(wp_placement *placement, uint32_t carrier);

/* Counts the begin of a step, or its end, before wp_placement_ends. [the carrier | wait-free] */
void wp_placement_step(wp_progress *progress);
/* The steps counted so far. [any thread | wait-free] */
uint64_t wp_placement_progress(wp_progress *progress);
/* Flags the carrier as blocked, because that step makes no progress, until the step ends. Returns
 * true if the step still runs, and the caller moves the queue. [one thread, if is_watched |
 * wait-free] */
bool wp_placement_suspect(wp_placement *placement, uint32_t carrier, wp_progress *progress,
			  uint64_t step);

/* Returns true if there are global tasks. The carrier takes them before its own, and a parked
 * carrier leaves its park for them. [the carrier | wait-free] */
bool wp_placement_has_global(const wp_placement *placement);
/* Counts off tasks taken from the global queue, and counts them as the carrier's: they were pushed
 * to its own queue, or one is about to run. Returns true if there are more, and the caller wakes a
 * parked carrier, if there is one. [the carrier | wait-free] */
bool wp_placement_drained(wp_placement *placement, uint32_t carrier, uint32_t many);

/* The carrier's load. [any thread | wait-free] */
uint32_t wp_placement_load(const wp_placement *placement, uint32_t carrier);

#endif
