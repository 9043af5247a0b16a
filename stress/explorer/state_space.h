/* SPDX-License-Identifier: Apache-2.0
 * state_space.h - all states met so far, packed into words. Used inside the state engine only.
 *
 *   state    memory | thread 0 | thread 1 | ... | last thread, preemptions (if these are bounded)
 *   memory   a tree of pairs over the locations; a location that has its initial value is 0
 *   thread   its position, whether it sleeps, and its plain accesses since its last step; if that
 *            is not all, the number of a pair
 *
 * Spec      none.
 * Evidence  tests/judge/explore/test_engines.py. */
#ifndef WP_EXPLORER_STATE_SPACE_H
#define WP_EXPLORER_STATE_SPACE_H

#include "state_machine.h"
#include "state_table.h"
#include "states.h"

enum { EXPLORE_STATE_WORDS = EXPLORE_THREADS + 2 };

/* The sizes of the latest levels. A level is the set of states at one distance from the start. */
enum { EXPLORE_LEVELS = 8 };
typedef struct explore_levels {
	uint32_t latest[EXPLORE_LEVELS]; /* a ring: level n is at n % EXPLORE_LEVELS */
	uint32_t count;
	uint64_t states; /* of all levels */
} explore_levels;

/* states_estimate.c. `known`: the number of states met so far. */
void explore_levels_add(explore_levels *levels, uint32_t states);
explore_size explore_levels_size(const explore_levels *levels, uint64_t known);

typedef struct explore_space {
	explore_machine machine;
	explore_budget budget;
	explore_table pairs, states;
	uint32_t *parents; /* by state: the state from which it was first reached */
	uint16_t *taken;   /* by state: the choice by which it was first reached */
	uint32_t ways_room;
	int height; /* the tree of the memory has 2^height leaves */
	/* A location was found for which the tree has no leaf: the search starts again with a
	 * higher tree. */
	bool is_too_low;
	bool is_raced; /* the initial state races */
	bool is_cut;   /* the bound on preemptions has forbidden a choice */
	uint64_t most; /* most states until positions are merged; 0: they are not merged */
	/* When there are this many states, the search checks whether positions were merged
	 * rightly. */
	uint64_t looks_at;
	bool is_wrong;       /* they were not */
	bool has_back_edges; /* some edge does not lead one level deeper, so there may be cycles */
	explore_levels levels;
	uint32_t expanded; /* number of states with known edges */
	/* The targets of promised choices, state by state, for cycles.c; see explore_space_keep. */
	uint32_t *kept, *kept_from;
	uint32_t kept_count, kept_room, kept_states, kept_from_room;
	bool keeps_no_more;          /* there was no room for the edges of a state */
	struct explore_ahead *ahead; /* several threads share the search; NULL: one */
	bool is_view;                /* a reader's, of state_ahead.c: it adds no pair */
	bool is_unknown;             /* a view would have had to add one */
	uint32_t loaded[EXPLORE_STATE_WORDS];
	explore_choice choices[EXPLORE_CHOICES]; /* of the loaded state */
	int choices_count;
} explore_space;

bool explore_space_init(explore_space *space, explore_program *program,
			const explore_options *options);
void explore_space_fini(explore_space *space);

/* state_pack.c. explore_pack_value returns the root of a memory that has the machine's value at the
 * location; EXPLORE_NONE: no room. explore_unpack_memory turns the machine's values under the old
 * root into those under the new root. */
uint32_t explore_pack_value(explore_space *space, uint32_t root, int location);
void explore_unpack_memory(explore_space *space, uint32_t old, uint32_t new, int level, int first);
uint32_t explore_pack_actor(explore_space *space, const explore_actor *actor);
void explore_unpack_actor(const explore_space *space, uint32_t word, explore_actor *actor);

/* Empties the space, for a tree of that height, and adds the initial state as number 0. */
bool explore_space_begin(explore_space *space, int height);

/* Puts the machine into that state, with its choices. Choices that the bound on preemptions forbids
 * are left out. */
void explore_space_load(explore_space *space, uint32_t state);

/* Takes the choice and returns the state to which it leads. The machine stays there until the next
 * explore_machine_undo. EXPLORE_NONE: the state is new and may not be added, or there was a race
 * (machine.is_raced) or an error. */
uint32_t explore_space_follow(explore_space *space, int choice, bool may_add);

/* Takes the choice and makes the record of the state to which it leads. The machine stays there
 * until the next explore_machine_undo. False: there was a race or an error, or a view lacks
 * something. */
bool explore_space_foresee(explore_space *space, int choice, uint32_t *record);

/* Records how a new state was reached. */
bool explore_space_note(explore_space *space, uint32_t state, uint32_t parent, int choice);

/* Keeps the target of an edge of the state that is being expanded. explore_space_kept ends the state.
 * What is not kept, because memory is limited, is found out again by cycles.c. */
void explore_space_keep(explore_space *space, uint32_t to);
void explore_space_kept(explore_space *space);

/* Sets the counterexample of the outcome: the shortest path to the state, and then the choices in
 * `around`, if it is not NULL. */
typedef struct explore_route {
	explore_choice *choices;
	int count, room;
	bool leads_on; /* it is a path, not a cycle */
} explore_route;
void explore_space_example(explore_space *space, uint32_t state, const explore_route *around,
			   explore_outcome *outcome);

/* Initialises the space and explores all states, or samples. */
void explore_space_search(explore_space *space, explore_program *program,
			  const explore_options *options, explore_report *report);

/* Finds fair cycles and reports EXPLORE_STUCK. */
void explore_space_cycles(explore_space *space, explore_report *report);

/* Draws random walks. */
void explore_space_sample(explore_space *space, explore_report *report);

/* state_replay.c. explore_schedule writes the choices as text; NULL: no memory.
 * explore_space_replay executes options->replay and nothing else. */
char *explore_schedule(const explore_choice *way, int count, const explore_route *around);
void explore_space_replay(explore_space *space, explore_report *report);

/* states_grow.c */
void explore_states_growing(explore_program *program, const explore_options *options,
			    explore_report *report);

#endif
