/* SPDX-License-Identifier: Apache-2.0
 * memory.h - what the process takes of the machine's memory. */
#ifndef WP_BENCH_MEMORY_H
#define WP_BENCH_MEMORY_H

/* Kilobytes: resident, and its page tables. */
double memory_resident_kb(void);

#endif
