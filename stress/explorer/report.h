/* SPDX-License-Identifier: Apache-2.0
 * report.h - what report.c offers beyond explore.h: progress, and how much is printed. */
#ifndef WP_EXPLORER_REPORT_H
#define WP_EXPLORER_REPORT_H

#include <stdio.h>

#include "explore.h"

/* Engines call this once per execution, state or sample: it looks at the clock every 1024 calls, and
 * at most every two seconds it writes {"executions":..., "states":..., "seconds":...} as a line. */
void explore_progress(const explore_report *report);

void explore_estimate(double size); /* of executions or states in all; 0: unknown, as at first */

void explore_progress_to(FILE *stream); /* before the first: nowhere */

extern bool explore_shows_examples; /* true at first; false: counts alone */
extern bool explore_shows_sites;    /* false at first; true: the lines that were come to */

#endif
