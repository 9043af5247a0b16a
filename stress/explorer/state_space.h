/* SPDX-License-Identifier: Apache-2.0
 * state_space.h - all states met so far, packed; inside the state engine only.
 *
 *   state    memory | thread 0 | thread 1 | ... | who ran last, preemptions (if they are bounded)
 *   memory   a tree of pairs over the locations; a location that has its initial value is 0
 *   thread   its position, whether it sleeps, which plain accesses it has made since its last step;
 *            if there is more to say, the number of a pair
 *
 * Spec  none. Evidence  tests/judge/explore/test_engines.py. */
#ifndef WP_EXPLORER_STATE_SPACE_H
#define WP_EXPLORER_STATE_SPACE_H

#include "state_machine.h"
#include "state_table.h"
#include "states.h"

enum { EXPLORE_STATE_WORDS = EXPLORE_THREADS + 2 };

/* How many states are so many steps from the start: the levels that are known whole, the latest. */
enum { EXPLORE_LEVELS = 8 };
typedef struct explore_levels {
	uint32_t latest[EXPLORE_LEVELS]; /* a ring: level n is at n % EXPLORE_LEVELS */
	uint32_t count;
	uint64_t states; /* of all levels */
} explore_levels;

/* states_estimate.c. `known`: states met so far. */
void explore_levels_add(explore_levels *levels, uint32_t states);
explore_size explore_levels_size(const explore_levels *levels, uint64_t known);

typedef struct explore_space {
	explore_machine machine;
	explore_budget budget;
	explore_table pairs, states;
	uint32_t *parents; /* by state: from where it was first reached */
	uint16_t *taken;   /* and by which of the choices there */
	uint32_t ways_room;
	int height;          /* the memory's tree has 2^height leaves */
	bool is_too_low;     /* a location was found beyond them: begin again with a higher tree */
	bool is_raced;       /* already at the start */
	bool is_cut;         /* by the bound on preemptions */
	uint64_t most;       /* states, until positions are merged; 0: they are not */
	uint64_t looks_at;   /* when there are so many, whether positions are one rightly */
	bool is_wrong;       /* they are not */
	bool has_back_edges; /* some edge does not lead one level deeper: there may be cycles */
	explore_levels levels;
	uint32_t expanded; /* states whose edges are known */
	uint32_t loaded[EXPLORE_STATE_WORDS];
	explore_choice choices[EXPLORE_CHOICES]; /* of the loaded state */
	int choices_count;
} explore_space;

bool explore_space_init(explore_space *space, explore_program *program,
			const explore_options *options);
void explore_space_fini(explore_space *space);

/* state_pack.c. Of memory: the root that has the machine's value of the location; EXPLORE_NONE: no
 * room. Unpacking turns the machine's values under the old root into those under the new one. */
uint32_t explore_pack_value(explore_space *space, uint32_t root, int location);
void explore_unpack_memory(explore_space *space, uint32_t old, uint32_t new, int level, int first);
uint32_t explore_pack_actor(explore_space *space, const explore_actor *actor);
void explore_unpack_actor(const explore_space *space, uint32_t word, explore_actor *actor);

/* Empties it, for a tree of that height, and puts the initial state in as number 0. */
bool explore_space_begin(explore_space *space, int height);

/* Makes the machine that state, with its choices; choices that the bound on preemptions forbids are
 * left out. */
void explore_space_load(explore_space *space, uint32_t state);

/* Takes the choice and gives the state it leads to; the machine stands there until the next
 * explore_machine_undo. EXPLORE_NONE: it is not there and may not be added, or a race
 * (machine.is_raced), or an error. */
uint32_t explore_space_follow(explore_space *space, int choice, bool may_add);

/* Notes that a new state was reached so. */
bool explore_space_note(explore_space *space, uint32_t state, uint32_t parent, int choice);

/* The outcome's counterexample: the shortest way to the state, then, if `around` is not NULL, those
 * choices. */
typedef struct explore_route {
	explore_choice *choices;
	int count, room;
	bool leads_on; /* it is no cycle */
} explore_route;
void explore_space_example(explore_space *space, uint32_t state, const explore_route *around,
			   explore_outcome *outcome);

/* Initialises it and explores all states, or samples. */
void explore_space_search(explore_space *space, explore_program *program,
			  const explore_options *options, explore_report *report);

/* Cycles: reports EXPLORE_STUCK. */
void explore_space_cycles(explore_space *space, explore_report *report);

/* Random walks. */
void explore_space_sample(explore_space *space, explore_report *report);

/* state_replay.c. Schedule: the choices as text; NULL: no memory. Replay: options->replay alone. */
char *explore_schedule(const explore_choice *way, int count, const explore_route *around);
void explore_space_replay(explore_space *space, explore_report *report);

/* states_grow.c */
void explore_states_growing(explore_program *program, const explore_options *options,
			    explore_report *report);

#endif
