/* SPDX-License-Identifier: Apache-2.0
 * calls.h - counts the system calls of the kernel's code, between begin and end.
 *
 * The program is linked with --wrap=syscall and --wrap=sched_yield: whatever kernel/ asks of the
 * system goes through one of the two, except a futex's clock, which is no system call. */
#ifndef WP_BENCH_CALLS_H
#define WP_BENCH_CALLS_H

#include <stdint.h>

/* Counts from 0 on; `operations` are what the numbers below are shares of. [one thread] */
void calls_begin(uint64_t operations);
void calls_end(void);

/* Per operation, between the last begin and its end. */
extern double calls_waits; /* FUTEX_WAIT */
extern double calls_wakes; /* FUTEX_WAKE */
extern double calls_all;   /* these, sched_yield and all others */

/* While it is set, a futex wake is told here and not to the system. For carriers as data. */
extern void (*calls_wake_instead)(void *word);

#endif
