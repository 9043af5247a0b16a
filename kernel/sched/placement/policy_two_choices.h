/* SPDX-License-Identifier: Apache-2.0
 * policy_two_choices.h - a placement policy, the power of two choices: two carriers are drawn at
 * random, and it chooses the less loaded one. */
#ifndef WP_POLICY_TWO_CHOICES_H
#define WP_POLICY_TWO_CHOICES_H

#include "sched/placement/policy_draw.h"

/* See wp__policy. */
WP_INLINE uint32_t wp__place_two_choices(const wp_placement *placement, wp__among all,
					 uint32_t home, uint64_t *random)
{
	(void)home;
	return wp__place_of_two(placement, all, random);
}

#endif
