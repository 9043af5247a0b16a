/* SPDX-License-Identifier: Apache-2.0
 * sim_shipped.c - the simulation, compiled with twin search_shipped: the searches without the
 * re-checks. */
#define VARIANT(name) shipped_##name

#include "variant.h"

#include "sched/carrier.c"
#include "sched/run_queues.c"
#include "sched/search.c"
#include "sim_body.h"

sim_found sim_shipped(const sim_load *load, uint64_t seed, bool may_lose)
{
	return run(load, seed, may_lose);
}

double parks_shipped(uint32_t count, uint64_t ops)
{
	return parks(count, ops);
}
