/* SPDX-License-Identifier: Apache-2.0
 * sim_many.c - the simulation with several searches in flight: the token is a count with a limit.
 *
 * Everything else is the kernel's, including the look after each release. No specification and no
 * scenario covers this token; it is only measured. */
#define VARIANT(name) many_##name

#include "variant.h"

static uint32_t limit;

static bool start_one_of_many(wp_domain *domain)
{
	uint32_t count = wp_load_relaxed(&domain->searching);

	while (count < limit)
		if (wp_cas_acquire(&domain->searching, &count, count + 1))
			return true;
	return false;
}

static void stop_one_of_many(wp_domain *domain)
{
	wp_fetch_add_release(&domain->searching, (uint32_t)-1);
}

#define wp_search_start start_one_of_many
#define wp_search_stop stop_one_of_many

#include "sched/carrier.c"
#include "sched/run_queues.c"
#include "sched/search.c"
#include "sim_body.h"

sim_found sim_many(const sim_load *load, uint64_t seed, bool may_lose)
{
	limit = load->searchers;
	return run(load, seed, may_lose);
}
