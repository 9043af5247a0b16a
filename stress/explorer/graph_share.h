/* SPDX-License-Identifier: Apache-2.0
 * graph_share.h - one search of graphs by several processes or in parts: items, claims, reports.
 *
 * Spec      none.
 * Evidence  tests/judge/explore/test_parallel.py. */
#ifndef WP_EXPLORER_GRAPH_SHARE_H
#define WP_EXPLORER_GRAPH_SHARE_H

#include "graph.h"

#include <stddef.h>

/* Memory that all processes share. Each field is accessed by __atomic_ functions. */
typedef struct explore_share {
	uint64_t next;    /* the item that is claimed next */
	uint64_t counted; /* executions, for max_executions */
	struct {
		uint64_t executions, blocked;
	} of[EXPLORE_JOBS];
} explore_share;

/* The bytes that a process has sent so far. */
typedef struct explore_letter {
	char *bytes;
	size_t size, room;
} explore_letter;

/* graph_search.c */
void explore_search_begin(explore_search *search, explore_program *program,
			  const explore_options *options, explore_report *report, double started);
void explore_search_end(explore_search *search);

/* graph_share.c. False: a process has learned something that changes the program, and one process
 * must learn it alone. */
bool explore_search_shared(explore_program *program, const explore_options *options,
			   explore_report *report, double started);

/* graph_share.c. Explores options->part of options->parts. A report that is stopped by "learned" says
 * that the program has changed while the part was explored, so it is no part of the others' search. */
void explore_search_part(explore_program *program, const explore_options *options,
			 explore_report *report, double started);

/* graph_merge.c. explore_report_send writes a report to standard output. explore_report_merge adds
 * the report in a letter to another report; false: the letter is not whole. explore_report_order
 * sorts outcomes as a search by one process would have met them. */
void explore_report_send(const explore_program *program, const explore_report *report);
bool explore_report_merge(explore_report *report, const explore_letter *letter);
void explore_report_order(explore_report *report);

#endif
