/* SPDX-License-Identifier: Apache-2.0
 * conform_idle_set.c - the threads of specs/queue/IdleSet.tla: three members in two words, and a
 * searcher.
 *
 *   member, for ever                         searcher, for ever
 *   parked := 1, set my bit                  each word: for each bit, in any order:
 *   choose: sleep until parked is 0, or not      parked: 1 to 0? found, begin again
 *   clear my bit, parked := 0
 *
 * Why it works  `parked` stands for the word of the carrier, and the choice for its look at the
 *               queues.
 * Spec          specs/queue/IdleSet.tla. Compared by wakeproof conform -t idle_set. */
#include "queue/idle_set.h"
#include "litmus.h"
#include "stress.h"

enum { MEMBERS = 3, PER_WORD = 2, WORDS = 2 };

struct state {
	wp_idle_set set;
	wp_atomic(uint64_t) parked[MEMBERS];
};

STRESS_INIT(init)
{
	wp_idle_set_init(&state->set);
}

/* The bit of the spec's member. The first two members share a word. */
static uint32_t bit_of(uint32_t member)
{
	return member / PER_WORD * WP_IDLESET_BITS + member % PER_WORD;
}

_Noreturn static void live(struct state *state, uint32_t member)
{
	for (;;) {
		wp_store_relaxed(&state->parked[member], 1); /* [Advertise] */
		wp_idle_set_add(&state->set, bit_of(member));
		if (litmus_choose(2) == 1)                                   /* [Recheck] */
			while (wp_load_relaxed(&state->parked[member]) == 1) /* [Woken] */
				continue;
		wp_idle_set_remove(&state->set, bit_of(member));
		wp_store_relaxed(&state->parked[member], 0); /* [Exit] */
	}
}

STRESS_ACTOR_CALL(member_0, live(state, 0))
STRESS_ACTOR_CALL(member_1, live(state, 1))
STRESS_ACTOR_CALL(member_2, live(state, 2))

/* True: one of the members in `bits` was parked and is woken. */
static bool wake_one(struct state *state, uint32_t word, uint64_t bits)
{
	while (bits != 0) {
		unsigned skip = litmus_choose((unsigned)__builtin_popcountll(bits)); /* [Pick] */
		uint64_t left = bits, yes = 1;
		uint32_t index;

		while (skip-- > 0)
			left &= left - 1;
		index = (uint32_t)__builtin_ctzll(left);
		if (wp_cas_relaxed(&state->parked[word * PER_WORD + index], &yes, 0)) /* [Try] */
			return true;
		bits &= ~(UINT64_C(1) << index);
	}
	return false;
}

STRESS_ACTOR(searcher)
{
	for (;;) {
		litmus_step(); /* [Begin] */
		for (uint32_t word = 0; word < WORDS; word++)
			if (wake_one(state, word, wp_idle_set_word(&state->set, word)))
				break;
	}
}

STRESS_TEST(conform_idle_set, .claim = "The compiled idle set is the specified one.",
	    .upholds = "IdleSet!NoLostBit", .state_size = sizeof(struct state), .init = init,
	    .actors = {member_0, member_1, member_2, searcher}, .results = 1,
	    .outcomes = {{"stuck", ACCEPTABLE, "they go on for ever"}});
