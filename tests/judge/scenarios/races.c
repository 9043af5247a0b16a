/* Tests of the judges themselves: plain memory that two actors touch at once. */
#include "litmus.h"
#include "stress.h"

struct state {
	wp_atomic(uint32_t) flag;
	uint32_t count;
	volatile uint32_t left, right;
	uint32_t many[64];
};

#define TEST(name_, first, second, results_)                                       \
	STRESS_TEST(name_, .claim = "None.", .upholds = "None!None",               \
		    .state_size = sizeof(struct state), .actors = {first, second}, \
		    .results = results_, .outcomes = {{"*", ACCEPTABLE, "never judged"}})
#define ACTOR(name, ...)     \
	STRESS_ACTOR(name)   \
	{                    \
		__VA_ARGS__; \
	}

ACTOR(adds, state->count = state->count + 1)
TEST(lost_update, adds, adds, 1);

ACTOR(counts, for (int i = 0; i < 3; i++) state->count = state->count + 1)
ACTOR(reads, result->r[0] = state->count)
TEST(reader, counts, reads, 1);

ACTOR(to_left, state->left = 1; result->r[0] = state->right)
ACTOR(to_right, state->right = 1; result->r[1] = state->left)
TEST(volatile_buffering, to_left, to_right, 2);

ACTOR(spins, while (!state->left); result->r[0] = 1)
ACTOR(ends, litmus_store(&state->flag, 1, seq_cst); state->left = 1)
TEST(volatile_spin, spins, ends, 1);

ACTOR(gives, state->count = 5; state->left = 6; litmus_store(&state->flag, 1, release))
ACTOR(takes, if (litmus_load(&state->flag, acquire)) result->r[0] = state->count + state->left)
TEST(handed_over, gives, takes, 1);

ACTOR(gives_late, state->count = 5; litmus_store(&state->flag, 1, relaxed))
TEST(relaxed, gives_late, takes, 1);

ACTOR(scatters, uint32_t where = litmus_choose(64); uint32_t more = litmus_choose(2);
      state->many[where] = 1; if (more) state->count = 1; litmus_store(&state->flag, 1, relaxed))
ACTOR(reads_one, litmus_store(&state->flag, 2, relaxed); result->r[0] = state->many[7])
ACTOR(reads_other, litmus_store(&state->flag, 2, relaxed); result->r[0] = state->right)
TEST(scattered, scatters, reads_other, 1);
TEST(scattered_race, scatters, reads_one, 1);
