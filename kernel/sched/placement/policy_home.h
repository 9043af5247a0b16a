/* SPDX-License-Identifier: Apache-2.0
 * policy_home.h - a placement policy: the home, or the next carrier that is eligible. */
#ifndef WP_POLICY_HOME_H
#define WP_POLICY_HOME_H

#include "sched/placement/policy_draw.h"

/* See wp__policy. */
WP_INLINE uint32_t wp__place_home(const wp_placement *placement, wp__among all, uint32_t home,
				  uint64_t *random)
{
	(void)random;
	return wp__place_scan(placement, all, home, UINT32_MAX - 1);
}

#endif
