/* SPDX-License-Identifier: Apache-2.0
 * policy_least_loaded.h - a placement policy: the carrier with the least load.
 *
 * The scan begins at a random carrier. If it always began at the first carrier, that one would get
 * all tasks that come before its new load is seen. The scan ends at a carrier that has no load. */
#ifndef WP_POLICY_LEAST_LOADED_H
#define WP_POLICY_LEAST_LOADED_H

#include "sched/placement/policy_draw.h"

/* See wp__policy. */
WP_INLINE uint32_t wp__place_least_loaded(const wp_placement *placement, wp__among all,
					  uint32_t home, uint64_t *random)
{
	(void)home;
	return wp__place_scan(placement, all, wp__place_draw(random, all.count), 0);
}

#endif
