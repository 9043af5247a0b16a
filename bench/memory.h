/* SPDX-License-Identifier: Apache-2.0
 * memory.h - the memory that the process takes. */
#ifndef WP_BENCH_MEMORY_H
#define WP_BENCH_MEMORY_H

/* In kilobytes: resident memory and page tables. */
double memory_resident_kb(void);

#endif
