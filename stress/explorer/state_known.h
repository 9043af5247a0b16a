/* SPDX-License-Identifier: Apache-2.0
 * state_known.h - what is known of the positions of a thread, and which of them are merged. */
#ifndef WP_EXPLORER_STATE_KNOWN_H
#define WP_EXPLORER_STATE_KNOWN_H

#include "state_machine.h"

enum { EXPLORE_WAYS_MOST = 32 };

typedef struct explore_way { /* the position to which a value leads */
	uint64_t value;
	explore_position next;
	bool is_failed;
	bool is_met; /* by the exploration, not only by a question */
} explore_way;

typedef struct explore_known {
	explore_step step;
	bool is_known;
	bool is_met;        /* by the exploration */
	bool has_more_ways; /* than are kept */
	uint8_t ways_count, ways_room;
	explore_way *ways;
	uint32_t same_as; /* the position that represents this one, + 1; 0: itself */
} explore_known;

static inline explore_position explore_stands_for(const explore_machine *machine, int thread,
						  explore_position position)
{
	const explore_known *known = machine->known[thread];

	return position < machine->known_room[thread] && known[position].same_as
		       ? known[position].same_as - 1
		       : position;
}

/* Asks to which position the value leads from `position`, and for the step there. The answer does
 * not count as met by the exploration. False: machine->error. */
bool explore_machine_ask(explore_machine *machine, int thread, explore_position position,
			 const explore_way *value);

/* state_merge.c: finds the positions that behave equally by all that was met, and lets one
 * represent them. `is_part`: the exploration was cut short. Returns for how many positions the
 * representative has changed; also 0 with machine->error. */
uint32_t explore_machine_merge(explore_machine *machine, bool is_part);

/* True: every position still behaves as its representative, also by what was met since the
 * merge. */
bool explore_machine_verify(explore_machine *machine);

void explore_machine_unmerge(explore_machine *machine); /* each represents itself */

#endif
