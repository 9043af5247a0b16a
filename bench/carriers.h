/* SPDX-License-Identifier: Apache-2.0
 * carriers.h - groups of one carrier, and of two with a CPU each, for rows with real carriers. */
#ifndef WP_BENCH_CARRIERS_H
#define WP_BENCH_CARRIERS_H

#include "bench.h"
#include "sched/group.h"

/* Carriers that sleep while no row uses them. The first call makes them. */
wp_group *carriers_of_one(void);
wp_group *carriers_of_two(bool stealing);
wp_group *carriers_placed(enum wp_placement_policy policy, bool at_dequeue, bool stealing);

/* How often another process has taken their CPUs so far. Each carrier is asked. [carriers sleep] */
long carriers_preemptions(wp_group *group);

/* An `ended` callback counts in this word, and the program's own thread sleeps on it, so that the
 * carriers have the CPUs. */
extern wp_atomic(uint32_t) carriers_ended;
void carriers_count_end(wp_task *task);
void carriers_count(wp_atomic(uint32_t) *count);
void carriers_await(wp_atomic(uint32_t) *count, uint32_t many);

/* Starts the task, or ends the program with an error. */
void carriers_start(wp_group *group, uint32_t index, wp_task *task);

/* CPU time of the process, that is, of the carriers. Other processes would share their wall
 * clock. */
double carriers_process_ns(void);

/* For peers.c. pingpong.c: two tasks that unpark each other, wherever stealing puts them, or each
 * on its own carrier. group.c: CPU time of tasks at once, and of an unpark of 4,096. */
double bench_near(uint64_t ops);
double bench_far(uint64_t ops);
double bench_tasks(uint64_t ops);
double bench_wake(uint64_t ops);
/* timer.c: a timer is armed and cancelled among a million. */
double bench_timers(uint64_t ops);

/* parker.c: two threads with one word each: store and FUTEX_WAKE, FUTEX_WAIT and clear. */
double bench_bare_futex(uint64_t ops);

#endif
