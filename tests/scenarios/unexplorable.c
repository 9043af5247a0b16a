/* Scenarios that the explorer must refuse, each with its own message. */
#include "order.h"
#include "stress.h"

struct state {
	wp_atomic(uint64_t) word;
	uint64_t plain;
};

static uint64_t counter;

static void counting(void *at, stress_result *result)
{
	(void)at;
	result->r[0] = (int64_t)++counter;
}

static void looping(void *at, stress_result *result)
{
	(void)at;
	(void)result;
	for (volatile int turn = 1; turn; turn = 1)
		continue;
}

static uint64_t deep(uint64_t depth)
{
	volatile uint64_t here[64] = {depth};

	return depth ? deep(depth - 1) + here[depth % 64] : here[0];
}

static void overflowing(void *at, stress_result *result)
{
	(void)at;
	result->r[0] = (int64_t)deep(1000000);
}

static void stray(void *at, stress_result *result)
{
	(void)at;
	result->r[0] = *(volatile int64_t *)8;
}

static void mixing(void *at, stress_result *result)
{
	struct state *state = at;

	wp_store_relaxed(&state->word, 1);
	result->r[0] = wp_load_relaxed((wp_atomic(uint32_t) *)(void *)&state->word);
}

static void timing(void *at, stress_result *result)
{
	struct state *state = at;
	uint64_t now = 0;

#if defined(__x86_64__)
	now = __builtin_ia32_rdtsc();
#else
	__asm__ __volatile__("mrs %0, cntvct_el0" : "=r"(now));
#endif
	wp_store_relaxed(&state->word, 1);
	result->r[0] = (int64_t)(now % 1000003) + (int64_t)wp_load_relaxed(&state->word);
}

static void quiet(void *at, stress_result *result)
{
	(void)result;
	wp_store_relaxed(&((struct state *)at)->word, 1);
}

#define REFUSED(name_, actor)                                                        \
	STRESS_TEST(name_, .claim = "None.", .upholds = "None!None",                 \
		.state_size = sizeof(struct state), .actors = {actor, quiet},        \
		.results = 1, .outcomes = {{"*", ACCEPTABLE, "never judged"}})

REFUSED(refused_static, counting);
REFUSED(refused_loop, looping);
REFUSED(refused_overflow, overflowing);
REFUSED(refused_stray, stray);
REFUSED(refused_mixed, mixing);
REFUSED(refused_time, timing);
