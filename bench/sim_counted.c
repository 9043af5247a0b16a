/* SPDX-License-Identifier: Apache-2.0
 * sim_counted.c - the simulation over the kernel as it is, which counts the writes to the words that
 * carriers share: the tokens and the idle set of the domain, and of each carrier its word and the
 * tail of its queue. A compare-and-swap is a write, because it takes the cache line all the same. */
#define WP_INSTRUMENT "sim_counted.h"
#define VARIANT(name) counted_##name

#include "variant.h"

#include "sched/carrier.c"
#include "sched/run_queues.c"
#include "sched/search.c"
#include "sim_body.h"

static double of_tokens, of_idle, of_word[SIM_CARRIERS], of_tail[SIM_CARRIERS];

static bool is_in(const volatile void *word, const void *object, size_t size)
{
	return (uintptr_t)word - (uintptr_t)object < size;
}

static void count_write(const volatile void *word)
{
	size_t at;

	of_tokens += word == &domain.searching;
	of_idle += is_in(word, &domain.idle, sizeof(domain.idle));
	if (!is_in(word, carriers, SIM_CARRIERS * sizeof(*carriers)))
		return;
	at = ((uintptr_t)word - (uintptr_t)carriers) / sizeof(*carriers);
	of_word[at] += word == &carriers[at].home.carrier.word;
	of_tail[at] += word == &carriers[at].home.carrier.queue.tail;
}

static double most(const double *counts)
{
	double found = 0;

	for (uint32_t index = 0; index < SIM_CARRIERS; index++)
		found = counts[index] > found ? counts[index] : found;
	return found;
}

sim_writes sim_counted(const sim_load *load, uint64_t seed)
{
	of_tokens = of_idle = 0;
	memset(of_word, 0, sizeof(of_word));
	memset(of_tail, 0, sizeof(of_tail));
	run(load, seed, false);
	/* thousands a second, of simulated nanoseconds */
	return (sim_writes){of_tokens / now_ns * 1e6, of_idle / now_ns * 1e6,
			    most(of_word) / now_ns * 1e6, most(of_tail) / now_ns * 1e6};
}
