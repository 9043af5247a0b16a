/* SPDX-License-Identifier: Apache-2.0
 * sim_shipped.c - the simulation over twin search_shipped: the searches without the re-checks. */
#define WP_TWIN_search_shipped 1
#define VARIANT(name) shipped_##name

#include "variant.h"

#include "../kernel/sched/carrier.c"
#include "../kernel/sched/search.c"
#include "sim_body.h"

sim_found sim_shipped(const sim_load *load, uint64_t seed, bool may_lose)
{
	return run(load, seed, may_lose);
}

double parks_shipped(uint32_t count, uint64_t ops)
{
	return parks(count, ops);
}
