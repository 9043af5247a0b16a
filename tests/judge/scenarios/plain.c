/* Plain memory that is hard to explore is seen as it is, or refused, and never taken for
 * constant. */
#include "hand_over.h"

struct state {
	wp_atomic(uint32_t) flag;
	wp_atomic(uint32_t) word;
	union {
		uint64_t wide;
		uint8_t bytes[8];
		struct {
			uint32_t low, high;
		} pair;
	} data, copy;
};

WRITER(write_low, state->data.pair.low = 7)
READER(read_low, state->data.pair.low)
TEST(plain_same, write_low, read_low);

WRITER(write_byte, state->data.bytes[1] = 7)
READER(read_wide, state->data.wide)
TEST(plain_overlap, write_byte, read_wide);

WRITER(copy_struct, state->copy = state->data; state->data.pair.low = 7; state->copy = state->data)
READER(read_copy, state->copy.pair.low)
TEST(plain_copy, copy_struct, read_copy);

WRITER(set_memory, memset(state->data.bytes, 7, 3))
TEST(plain_memset, set_memory, read_low);

WRITER(add, state->data.pair.low += 7; state->data.pair.low *= 2)
TEST(plain_add, add, read_low);

void *__tsan_memset(void *to, int byte, unsigned long size);
WRITER(set_reported, __tsan_memset(state->data.bytes, 7, 3))
TEST(plain_memset_reported, set_reported, read_low);

WRITER(write_atomic, wp_store_relaxed(&state->word, 7))
READER(read_atomic_plainly, *(uint32_t *)(void *)&state->word)
TEST(plain_of_atomic, write_atomic, read_atomic_plainly);

struct odd {
	wp_atomic(uint8_t) flag;
	struct tail {
		char bytes[9];
	} tail;
};

static void read_tail(void *at, stress_result *result)
{
	struct tail tail = ((struct odd *)at)->tail;

	for (int i = 0; i < 9; i++)
		result->r[0] += tail.bytes[i];
}

static void init_tail(void *at)
{
	memset(at, 1, sizeof(struct odd));
}
STRESS_TEST(plain_tail, .claim = "None.", .upholds = "None!None", .init = init_tail,
	    .state_size = sizeof(struct odd), .actors = {read_tail, read_tail}, .results = 1,
	    .outcomes = {{"*", ACCEPTABLE, "never judged"}});

STRESS_ACTOR_CALL(race, result->r[0] = *(uint32_t *)(void *)&state->word)
TEST(plain_race, write_atomic, race);
