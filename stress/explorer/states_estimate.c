/* SPDX-License-Identifier: Apache-2.0
 * states_estimate.c - estimates the number of states from the growth of the levels.
 *
 *   ratio     of the size of a level to the size of the one before: it falls from level to level
 *   sum       of the levels to come, if the logarithm of the ratio falls by the same amount each
 *             time
 *
 * Why it works  It is a heuristic. The levels of most programs rise and fall like a bell curve,
 *               and the logarithm of that is a parabola. The band takes half the fall and twice the
 *               fall. The result is 0, unknown, as long as the ratio does not fall, or hardly
 *               falls.
 * Spec          none.
 * Evidence      tests/judge/explore/test_estimate.py. */
#include <math.h>

#include "state_space.h"

enum { TO_COME_MOST = 10000, BAND_MOST = 100 };

void explore_levels_add(explore_levels *levels, uint32_t states)
{
	levels->latest[levels->count++ % EXPLORE_LEVELS] = states;
	levels->states += states;
}

static double logarithm(const explore_levels *levels, uint32_t back)
{
	return log(levels->latest[(levels->count - 1 - back) % EXPLORE_LEVELS]);
}

/* The sum of the levels after one of `size`, which is given as a logarithm. */
static double sum_on(double size, double growth, double fall)
{
	double sum = 0;

	for (int level = 0; level < TO_COME_MOST && size > 0; level++) {
		growth -= fall;
		size += growth;
		sum += exp(size);
	}
	return sum;
}

explore_size explore_levels_size(const explore_levels *levels, uint64_t known)
{
	int half = EXPLORE_LEVELS / 2;
	explore_size found;
	double size, early, late, fall, whole = (double)levels->states, least = (double)known;

	if (levels->count < EXPLORE_LEVELS)
		return (explore_size){0};
	size = logarithm(levels, 0);
	late = (size - logarithm(levels, (uint32_t)half)) / half;
	early = logarithm(levels, (uint32_t)half) - logarithm(levels, EXPLORE_LEVELS - 1);
	early /= half - 1;
	fall = (early - late) / (half - 0.5);
	if (fall <= 0)
		return (explore_size){0};
	/* For the latest level; so far it was for the middle of the later half. */
	late -= fall * (half - 1) / 2;
	found = (explore_size){.about = fmax(least, whole + sum_on(size, late, fall)),
			       .low = fmax(least, whole + sum_on(size, late, 2 * fall)),
			       .high = fmax(least, whole + sum_on(size, late, fall / 2))};
	return found.high > BAND_MOST * found.low ? (explore_size){0} : found;
}
