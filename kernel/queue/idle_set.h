/* SPDX-License-Identifier: Apache-2.0
 * idle_set.h - a bitmap of the carriers that are idle. A carrier's bit is a hint where to look; it
 * is set as long as the carrier is parked.
 *
 *   member                   searcher
 *   [idle_set.1] set my bit  [idle_set.3] read the words; for each bit: try to wake that member
 *   [idle_set.2] clear my bit
 *
 * Why it works  Each bit has one writer, its member (a carrier). But a word holds 64 bits, so
 *               idle_set.1 and idle_set.2 are read-modify-writes. The carrier's own word
 *               (carrier.h) decides whether the carrier is parked; the bits only tell a searcher
 *               where to look.
 * Prior art     The mask of idle Ps in Go's scheduler.
 * Spec          specs/queue/IdleSet.tla: BitSetWhileParked, NoLostBit.
 * Evidence      make check-specs T=IdleSet, make stress T=idle_set. */
#ifndef WP_IDLE_SET_H
#define WP_IDLE_SET_H

#include "base/order.h"

enum {
	WP_IDLESET_BITS = 64, /* members per word */
	WP_IDLESET_WORDS =
		16, /* 1,024 members: more than any machine has last-level-cache siblings */
	WP_IDLESET_MEMBERS = WP_IDLESET_BITS * WP_IDLESET_WORDS,
};

/* 128 bytes, one cache line. Members set bits when they become idle, which is rare, and searchers
 * read the whole line. */
typedef struct wp_idle_set {
	_Alignas(WP_LINE) wp_atomic(uint64_t) words[WP_IDLESET_WORDS];
} wp_idle_set;

_Static_assert(sizeof(wp_idle_set) == WP_LINE, "the set fills its line");

/* Makes an empty set. [one thread, before the set is shared | wait-free] */
WP_INLINE void wp_idle_set_init(wp_idle_set *set)
{
	for (int word = 0; word < WP_IDLESET_WORDS; word++)
		wp_init(&set->words[word], 0);
}

/* Sets the member's bit. [the member | wait-free] */
WP_INLINE void wp_idle_set_add(wp_idle_set *set, uint32_t member)
{
	wp_atomic(uint64_t) *word = &set->words[member / WP_IDLESET_BITS];
	uint64_t bit = UINT64_C(1) << member % WP_IDLESET_BITS;

	/* [idle_set.1] release; pairs idle_set.3; upholds IdleSet!NoLostBit: a searcher that sees
	 * the bit sees the parked word. */
	wp_fetch_or_release(word, bit);
}

/* Clears the member's bit. [the member | wait-free] */
WP_INLINE void wp_idle_set_remove(wp_idle_set *set, uint32_t member)
{
	wp_atomic(uint64_t) *word = &set->words[member / WP_IDLESET_BITS];
	uint64_t bit = UINT64_C(1) << member % WP_IDLESET_BITS;

	/* [idle_set.2] relaxed: atomicity is enough, because no other member's bit changes and no
	 * data is passed on; pairs idle_set.3; upholds IdleSet!BitSetWhileParked. */
	wp_fetch_and_relaxed(word, ~bit);
}

/* Returns the bits of the members 64 * word to 64 * word + 63. [any thread | wait-free] */
WP_INLINE uint64_t wp_idle_set_word(wp_idle_set *set, uint32_t word)
{
	/* [idle_set.3] acquire; pairs idle_set.1, idle_set.2; upholds IdleSet!BitSetWhileParked. */
	return wp_load_acquire(&set->words[word]);
}

/* Returns true if the member's bit is set. [any thread | wait-free] */
WP_INLINE bool wp_idle_set_has(wp_idle_set *set, uint32_t member)
{
	return wp_idle_set_word(set, member / WP_IDLESET_BITS) >> member % WP_IDLESET_BITS & 1;
}

/* Returns true if none of the first `members` has its bit set. [any thread | wait-free] */
WP_INLINE bool wp_idle_set_is_empty(wp_idle_set *set, uint32_t members)
{
	for (uint32_t word = 0; word * WP_IDLESET_BITS < members; word++)
		if (wp_idle_set_word(set, word) != 0)
			return false;
	return true;
}

#endif
