/* SPDX-License-Identifier: Apache-2.0
 * state_races.h - data races, as the state engine meets them; for state_steps.c. */
#ifndef WP_EXPLORER_STATE_RACES_H
#define WP_EXPLORER_STATE_RACES_H

#include "state_known.h"

/* Which plain accesses a thread has made since its last step; each set is kept once. */
typedef struct explore_segment {
	uint16_t *accesses; /* location << 1 | writes, ascending, each once */
	int count;
} explore_segment;

typedef struct explore_segments {
	explore_segment *items; /* 0: no access */
	uint32_t count, room;
	uint32_t *table; /* open addressing, number + 1 */
	uint32_t table_size;
	uint16_t *open; /* of the segment under way */
	int open_count, open_room;
} explore_segments;

/* A step of the thread begins: what it has done before is ordered before it. */
void explore_races_step(explore_machine *machine, int thread);
/* It is about to access the location; `is_plain`: else it is an atomic step. */
void explore_races_access(explore_machine *machine, int thread, int location, bool writes,
			  bool is_plain);
/* Its plain accesses have come to the next step. */
void explore_races_end(explore_machine *machine, int thread);
void explore_races_fini(explore_machine *machine);

#endif
