/* SPDX-License-Identifier: Apache-2.0
 * calls.h - counts the system calls of the kernel's code between begin and end.
 *
 * The program is linked with --wrap=syscall and --wrap=sched_yield. Every system call of kernel/
 * goes through one of the two, except the clock of a futex, which makes none. */
#ifndef WP_BENCH_CALLS_H
#define WP_BENCH_CALLS_H

#include <stdint.h>

/* Counts from 0. The numbers below are divided by `operations`. [one thread] */
void calls_begin(uint64_t operations);
void calls_end(void);

/* Per operation, between the last begin and its end. */
extern double calls_waits; /* FUTEX_WAIT */
extern double calls_wakes; /* FUTEX_WAKE */
extern double calls_all;   /* all system calls: these two, sched_yield and the others */

/* If set, it is called for a futex wake in place of the system. For carriers as data. */
extern void (*calls_wake_instead)(void *word);

#endif
