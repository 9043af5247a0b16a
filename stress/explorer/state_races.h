/* SPDX-License-Identifier: Apache-2.0
 * state_races.h - the data races that the state engine meets; for state_steps.c. */
#ifndef WP_EXPLORER_STATE_RACES_H
#define WP_EXPLORER_STATE_RACES_H

#include "state_known.h"

/* The plain accesses of a thread since its last step. Each set is kept once. */
typedef struct explore_segment {
	uint16_t *accesses; /* location << 1 | writes, ascending, each once */
	int count;
} explore_segment;

typedef struct explore_segments {
	explore_segment *items; /* item 0 has no access */
	uint32_t count, room;
	uint32_t *table; /* number + 1; open addressing */
	uint32_t table_size;
	uint16_t *open; /* of the segment that is being made */
	int open_count, open_room;
} explore_segments;

/* A step of the thread begins. The earlier accesses of the thread happen before it. */
void explore_races_step(explore_machine *machine, int thread);
/* The thread is about to access the location. `is_plain` false: by an atomic step. */
void explore_races_access(explore_machine *machine, int thread, int location, bool writes,
			  bool is_plain);
/* The plain accesses of the thread have reached its next step. */
void explore_races_end(explore_machine *machine, int thread);
void explore_races_fini(explore_machine *machine);

/* Of a view; see explore_machine_view. */
bool explore_races_view(explore_machine *view, const explore_machine *machine);
void explore_races_view_fini(explore_machine *view);

#endif
