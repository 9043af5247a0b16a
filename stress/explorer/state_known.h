/* SPDX-License-Identifier: Apache-2.0
 * state_known.h - what is known of a thread's positions, and which of them are one. */
#ifndef WP_EXPLORER_STATE_KNOWN_H
#define WP_EXPLORER_STATE_KNOWN_H

#include "state_machine.h"

enum { EXPLORE_WAYS_MOST = 32 };

typedef struct explore_way { /* where a value leads */
	uint64_t value;
	explore_position next;
	bool is_failed;
} explore_way;

typedef struct explore_known {
	explore_step step;
	bool is_known;
	bool has_more_ways; /* than are kept */
	uint8_t ways_count, ways_room;
	explore_way *ways;
	uint32_t same_as; /* + 1: the position that stands for this one; 0: itself */
} explore_known;

static inline explore_position explore_stands_for(const explore_machine *machine, int thread,
						  explore_position position)
{
	const explore_known *known = machine->known[thread];

	return position < machine->known_room[thread] && known[position].same_as
		       ? known[position].same_as - 1
		       : position;
}

/* state_merge.c: finds the positions that behave equally as far as is known, and makes one stand
 * for all. False: nothing has changed, or machine->error. */
bool explore_machine_merge(explore_machine *machine);

#endif
