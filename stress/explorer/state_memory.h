/* SPDX-License-Identifier: Apache-2.0
 * state_memory.h - how steps change a state; for state_steps.c. */
#ifndef WP_EXPLORER_STATE_MEMORY_H
#define WP_EXPLORER_STATE_MEMORY_H

#include "state_known.h"

void explore_copy_actor(explore_actor *to, const explore_actor *from);

/* Returns the thread for a change, and saves its part of the state first. */
explore_actor *explore_touch(explore_machine *machine, int thread);

/* The value that the thread sees. `writer` receives the event that wrote it. */
uint64_t explore_look(const explore_machine *machine, int thread, const explore_step *step,
		      int *writer);

void explore_drain(explore_machine *machine, int thread);
uint64_t explore_load(explore_machine *machine, int thread, const explore_step *step);
void explore_store(explore_machine *machine, int thread, const explore_step *step);
uint64_t explore_update(explore_machine *machine, int thread, const explore_step *step,
			bool is_failed);

#endif
