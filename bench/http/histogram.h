/* SPDX-License-Identifier: Apache-2.0
 * histogram.h - counts of times in the layout of HdrHistogram: three digits, from 1 ns up.
 *
 * Up to 2,048 every value has a slot. Above that, each doubling is divided into 1,024 slots. A slot
 * is printed by its middle, so the reader's own HdrHistogram puts it into the slot of the time
 * itself. */
#ifndef BENCH_HTTP_HISTOGRAM_H
#define BENCH_HTTP_HISTOGRAM_H

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>

enum {
	HALF_BITS = 10,
	HALF = 1 << HALF_BITS, /* slots of a doubling */
	DOUBLINGS = 31,        /* up to 2^41 ns, 36 minutes */
	SLOTS = HALF * (DOUBLINGS + 1),
};

typedef struct histogram {
	uint64_t counts[SLOTS];
} histogram;

static inline unsigned histogram_shift(uint64_t value)
{
	return value < 2 * HALF ? 0 : 63u - (unsigned)__builtin_clzll(value) - HALF_BITS;
}

static inline void histogram_add(histogram *to, int64_t ns)
{
	const uint64_t value = ns < 0 ? 0 : (uint64_t)ns;
	const unsigned shift = histogram_shift(value);
	const uint64_t slot = (uint64_t)HALF * shift + (value >> shift);
	to->counts[slot < SLOTS ? slot : SLOTS - 1]++;
}

static inline void histogram_merge(histogram *to, const histogram *from)
{
	for (unsigned at = 0; at < SLOTS; at++)
		to->counts[at] += from->counts[at];
}

/* Prints [[ns, count], ..] of the slots in use. */
static inline void histogram_print(const histogram *of)
{
	const char *between = "[";
	for (uint64_t at = 0; at < SLOTS; at++) {
		if (of->counts[at] == 0)
			continue;
		const unsigned shift = at < 2 * HALF ? 0 : (unsigned)(at / HALF) - 1;
		const uint64_t low = (at - (uint64_t)HALF * shift) << shift;
		const uint64_t middle = low + ((UINT64_C(1) << shift) >> 1);
		printf("%s[%" PRIu64 ", %" PRIu64 "]", between, middle, of->counts[at]);
		between = ", ";
	}
	printf("%s]", between[0] == '[' ? "[" : "");
}

#endif
