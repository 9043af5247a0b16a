/* SPDX-License-Identifier: Apache-2.0
 * sim_ours.c - the simulation over the kernel as it is. */
#include "sim_body.h"

sim_found sim_ours(const sim_load *load, uint64_t seed, bool may_lose)
{
	return run(load, seed, may_lose);
}

double parks_ours(uint32_t count, uint64_t ops)
{
	return parks(count, ops);
}
