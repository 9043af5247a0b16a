/* SPDX-License-Identifier: Apache-2.0
 * hand_over.h - one actor writes, and then sets the flag of a `struct state`; the other reads when
 * it is set. */
#include <string.h>

#include "base/order.h"
#include "stress.h"

#define READER(name, ...)                                      \
	STRESS_ACTOR(name)                                     \
	{                                                      \
		if (wp_load_acquire(&state->flag))             \
			result->r[0] = (int64_t)(__VA_ARGS__); \
	}
#define WRITER(name, ...)                          \
	STRESS_ACTOR(name)                         \
	{                                          \
		__VA_ARGS__;                       \
		wp_store_release(&state->flag, 1); \
	}
#define TEST(name_, writer, reader)                                                               \
	STRESS_TEST(name_, .claim = "None.", .upholds = "None!None",                              \
		    .state_size = sizeof(struct state), .actors = {writer, reader}, .results = 1, \
		    .outcomes = {{"*", ACCEPTABLE, "never judged"}})
