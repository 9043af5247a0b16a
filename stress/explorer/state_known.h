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
	bool is_met; /* by the exploration, not only asked for */
} explore_way;

typedef struct explore_known {
	explore_step step;
	bool is_known;
	bool is_met;        /* by the exploration */
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

/* Asks the position, which is none that the exploration meets by that, for the value, and where it
 * leads for its step. False: machine->error. */
bool explore_machine_ask(explore_machine *machine, int thread, explore_position position,
			 const explore_way *value);

/* state_merge.c: finds the positions that behave equally by all that was met, and makes one stand
 * for all. Part: the exploration was cut short. For how many positions another one stands now than
 * before; 0 also with machine->error. */
uint32_t explore_machine_merge(explore_machine *machine, bool is_part);

/* True: so does every position as the one that stands for it, by what was met since as well. */
bool explore_machine_verify(explore_machine *machine);

void explore_machine_unmerge(explore_machine *machine); /* each stands for itself */

#endif
