/* SPDX-License-Identifier: Apache-2.0
 * placement.h - where a task is to queue: loads of carriers, and who chooses by them.
 *
 *   submitter                              a task that is to block
 *   [policy.1] read loads, choose          [placement.3] mark its carrier
 *   push it there                          move the carrier's queue to the global one:
 *   [placement.1] load++; marked meanwhile:  pop; [placement.2] load -= what it moved;
 *         move that queue, too               push; [placement.5] count it there; wake one that
 *                                            is parked
 *   all are marked: the global queue       .. it has blocked: [placement.4] unmark
 *
 *   carrier
 *   [placement.6] global tasks: take some,  a task ends: [placement.2] load--
 *         [placement.9] count them off;     stolen: [placement.2] from the victim's to the own
 *         there are more: wake one          nothing: word := parked; [carrier.6];
 *         that is parked                      [placement.6] global tasks: leave
 *
 * Why it works  Load and mark are one word, so who counts its task sees whether the carrier was
 *               marked before; else who marked it sees the push. Who is idle the word of its park
 *               says (carrier.h): who counts a global task finds that word ([spare_carrier.5]), or
 *               the carrier finds the task ([carrier.6]). Tasks are counted after the push, and
 *               taken off by whoever takes them, so a count is below what is there for a while;
 *               below 0 counts as 0.
 *               A mark that another thread makes is for one step: either its end reads the mark, or
 *               who made it reads that the step has ended ([placement.10] .. [placement.13]).
 * Counted       is what is queued and what runs; `at_dequeue`: what is queued.
 * Not promised  That a chosen carrier has the least load: others choose, too. Anything about who is
 *               marked while no task runs there. Queues, and a wake, are the caller's.
 * Spec          specs/sched/placement/Placement.tla: CounterBalance, BlockingNeverTargeted,
 *               NoStrandedGlobal; specs/sched/compensation/Monitor.tla: MarkIsOfWhoRuns.
 * Evidence      make check-specs T='Placement|Monitor', make stress T='placement|monitor',
 *               tests/sched/placement/test_placement.py. */
#ifndef WP_PLACEMENT_H
#define WP_PLACEMENT_H

#include "sched/placement/policy.h"

/* Steps of one carrier: one more when a step begins, and when it ends. Odd: it runs. */
typedef wp_atomic(uint64_t) wp_progress;

/* `slots` has room for `count` > 0 carriers: none has a load, or is marked. [before it is shared |
 * wait-free] */
void wp_placement_init(wp_placement *placement, wp_placement_slot *slots, uint32_t count,
		       enum wp_placement_policy policy, bool at_dequeue);

/* After a push to that carrier. False: it is marked, and the caller moves its queue. [any thread |
 * wait-free] */
bool wp_placement_submitted(wp_placement *placement, uint32_t carrier);

/* Tasks were taken from that carrier's queue to be moved to the global one. [any thread |
 * wait-free] */
void wp_placement_moved(wp_placement *placement, uint32_t carrier, uint32_t many);

/* After a push of so many to the global queue. The caller then wakes one that is parked, if any is.
 * [any thread | wait-free] */
void wp_placement_spilled(wp_placement *placement, uint32_t many);

/* A task goes from the victim's queue to the thief, who runs it. [the thief | wait-free] */
void wp_placement_stolen(wp_placement *placement, uint32_t victim, uint32_t thief);

/* A task of the own queue begins. [the carrier | wait-free] */
void wp_placement_begins(wp_placement *placement, uint32_t carrier);
/* One ends. True: it is marked, and the caller unmarks it. [the carrier | wait-free] */
bool wp_placement_ends(wp_placement *placement, uint32_t carrier);

/* Nobody is to choose it. True: the caller moves its queue; false: it was marked before. [a task
 * that runs there | wait-free] */
bool wp_placement_mark(wp_placement *placement, uint32_t carrier);
/* No mark is left. [who marked it, or at the end of a step | wait-free] */
void wp_placement_unmark(wp_placement *placement, uint32_t carrier);

/* A step begins, or has ended, before wp_placement_ends. [the carrier | wait-free] */
void wp_placement_step(wp_progress *progress);
/* [any thread | wait-free] */
uint64_t wp_placement_progress(wp_progress *progress);
/* That step makes no progress: nobody is to choose its carrier until it ends. True: it runs still,
 * and the caller moves the queue. [one thread, if is_watched | wait-free] */
bool wp_placement_suspect(wp_placement *placement, uint32_t carrier, wp_progress *progress,
			  uint64_t step);

/* There are global tasks, which come before its own; and a carrier that has parked leaves. [the
 * carrier | wait-free] */
bool wp_placement_has_global(const wp_placement *placement);
/* So many were taken from the global queue, and pushed to its own, or one is run. True: there are
 * more, and the caller wakes one that is parked, if any is. [the carrier | wait-free] */
bool wp_placement_drained(wp_placement *placement, uint32_t carrier, uint32_t many);

/* What is counted, or 0. [any thread | wait-free] */
uint32_t wp_placement_load(const wp_placement *placement, uint32_t carrier);

#endif
