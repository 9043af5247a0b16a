/* Scenarios that the explorer must refuse, each with its own message. */
#include <string.h>

#include "litmus.h"
#include "stress.h"

struct state {
	wp_atomic(uint64_t) word;
	uint64_t plain;
};

static uint64_t counter;

static void counting(void *at, stress_result *result)
{
	result->r[0] = (int64_t)++counter;
}

static void looping(void *at, stress_result *result)
{
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
	result->r[0] = (int64_t)deep(1000000);
}

static void stray(void *at, stress_result *result)
{
	result->r[0] = *(volatile int64_t *)8;
}

STRESS_ACTOR(mixing)
{
	wp_store_relaxed(&state->word, 1);
	result->r[0] = wp_load_relaxed((wp_atomic(uint32_t) *)(void *)&state->word);
}

/* Stands for a clock: it returns another value each time, and no hook reports the read. */
__attribute__((noinline, no_sanitize("thread"))) static uint64_t clock_now(void)
{
	static uint64_t now;

	return ++now;
}

STRESS_ACTOR(timing)
{
	uint64_t now = clock_now();

	wp_store_relaxed(&state->word, 1);
	result->r[0] = (int64_t)(now % 1000003) + (int64_t)wp_load_relaxed(&state->word);
}

STRESS_ACTOR(timing_late)
{
	state->plain = 1;
	timing(state, result);
}

static void choosing(void *at, stress_result *result)
{
	result->r[0] = litmus_choose(65);
}

STRESS_ACTOR_CALL(choosing_none, result->r[0] = litmus_choose((unsigned)state->plain))

STRESS_ACTOR(beyond)
{
	(state + 1)->plain = 1;
	result->r[0] = 1;
}

STRESS_ACTOR_CALL(beyond_atomic, result->r[0] = (int64_t)wp_load_relaxed(&(state + 1)->word))

static void beyond_set(void *at, stress_result *result)
{
	memset((char *)at + sizeof(struct state), 1, 3);
}

__attribute__((noinline, no_sanitize_thread)) static void set_unseen(volatile char *place)
{
	*place = 1;
}

static void beyond_unseen(void *at, stress_result *result)
{
	set_unseen((char *)at + sizeof(struct state));
}

static void unseen(void *at, stress_result *result)
{
	set_unseen(at);
}

#define ONE(n) wp_store_relaxed(&state->word + (n - n), n);
#define TEN(n)    \
	ONE(n##0) \
	ONE(n##1) ONE(n##2) ONE(n##3) ONE(n##4) ONE(n##5) ONE(n##6) ONE(n##7) ONE(n##8) ONE(n##9)
#define HUNDRED(n) \
	TEN(n##0)  \
	TEN(n##1) TEN(n##2) TEN(n##3) TEN(n##4) TEN(n##5) TEN(n##6) TEN(n##7) TEN(n##8) TEN(n##9)

STRESS_ACTOR(many){HUNDRED(1) HUNDRED(2) HUNDRED(3) HUNDRED(4) HUNDRED(5) HUNDRED(6) HUNDRED(7)
			   HUNDRED(8) HUNDRED(9) HUNDRED(10) HUNDRED(11)}

STRESS_ACTOR_CALL(quiet, wp_store_relaxed(&state->word, 1))

#define REFUSED(name_, actor)                                                                   \
	STRESS_TEST(name_, .claim = "None.", .upholds = "None!None",                            \
		    .state_size = sizeof(struct state), .actors = {actor, quiet}, .results = 1, \
		    .outcomes = {{"*", ACCEPTABLE, "never judged"}})

	REFUSED(refused_static, counting);
REFUSED(refused_loop, looping);
REFUSED(refused_overflow, overflowing);
REFUSED(refused_stray, stray);
REFUSED(refused_mixed, mixing);
REFUSED(refused_time, timing);
REFUSED(refused_time_late, timing_late);
REFUSED(refused_choice, choosing);
REFUSED(refused_no_choice, choosing_none);
REFUSED(refused_beyond, beyond);
REFUSED(refused_beyond_atomic, beyond_atomic);
REFUSED(refused_beyond_set, beyond_set);
REFUSED(refused_beyond_unseen, beyond_unseen);
REFUSED(refused_unseen, unseen);
REFUSED(refused_many, many);

STRESS_INIT(init_beyond)
{
	state[2].plain = 1;
}
STRESS_TEST(refused_init_beyond, .claim = "None.", .upholds = "None!None",
	    .state_size = sizeof(struct state), .init = init_beyond, .actors = {quiet, quiet},
	    .results = 1, .outcomes = {{"*", ACCEPTABLE, "never judged"}});

static void init_looping(void *at)
{
	looping(at, NULL);
}
STRESS_TEST(refused_init_loop, .claim = "None.", .upholds = "None!None",
	    .state_size = sizeof(struct state), .init = init_looping, .actors = {quiet, quiet},
	    .results = 1, .outcomes = {{"*", ACCEPTABLE, "never judged"}});

#define REFUSED_ARBITER(name_, arbiter_)                                          \
	STRESS_TEST(name_, .claim = "None.", .upholds = "None!None",              \
		    .state_size = sizeof(struct state), .actors = {quiet, quiet}, \
		    .arbiter = arbiter_, .results = 1,                            \
		    .outcomes = {{"*", ACCEPTABLE, "never judged"}})
REFUSED_ARBITER(refused_arbiter_loop, looping);
REFUSED_ARBITER(refused_arbiter_stray, stray);
