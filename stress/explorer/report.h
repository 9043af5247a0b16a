/* SPDX-License-Identifier: Apache-2.0
 * report.h - more of report.c than explore.h has: progress, and how much is printed. */
#ifndef WP_EXPLORER_REPORT_H
#define WP_EXPLORER_REPORT_H

#include <stdio.h>

#include "explore.h"

/* The CPU time of the calling thread. Limits are set in it, because other work on the machine does
 * not change it, nor do the threads that share a search. */
double explore_cpu_seconds(void);

/* Is it time for a line of progress? At most every two seconds. */
bool explore_is_due(void);

/* Writes {"executions":..., "states":..., "seconds":...} as a line. */
void explore_progress(const explore_report *report);

void explore_estimate(explore_size size); /* the estimated number of executions or states */

void explore_print_example(const explore_program *program, const explore_example *example);

void explore_progress_to(FILE *stream); /* until it is called, no progress is written */

extern bool explore_shows_examples; /* initially true; false: only counts */
extern bool explore_shows_sites;    /* initially false; true: also the lines that were reached */

#endif
