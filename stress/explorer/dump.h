/* SPDX-License-Identifier: Apache-2.0
 * dump.h - the whole graph of states as text, for `wakeproof conform` (--dump FILE). */
#ifndef WP_EXPLORER_DUMP_H
#define WP_EXPLORER_DUMP_H

#include "explore.h"

/* Explores, and writes the graph if the exploration was complete. */
void explore_dump(explore_program *program, const explore_options *options, const char *file,
		  explore_report *report);

#endif
