/* SPDX-License-Identifier: Apache-2.0
 * report.h - what report.c offers beyond explore.h: progress, and how much is printed. */
#ifndef WP_EXPLORER_REPORT_H
#define WP_EXPLORER_REPORT_H

#include <stdio.h>

#include "explore.h"

/* What limits are in: the processor time of this process, which other work on the machine leaves
 * alone.
 */
double explore_cpu_seconds(void);

/* Is it time for a line of progress? At most every two seconds. */
bool explore_is_due(void);

/* Writes {"executions":..., "states":..., "seconds":...} as a line. */
void explore_progress(const explore_report *report);

void explore_estimate(explore_size size); /* of executions or states in all */

void explore_print_example(const explore_program *program, const explore_example *example);

void explore_progress_to(FILE *stream); /* before the first: nowhere */

extern bool explore_shows_examples; /* true at first; false: counts alone */
extern bool explore_shows_sites;    /* false at first; true: the lines that were come to */

#endif
