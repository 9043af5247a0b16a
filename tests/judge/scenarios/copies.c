/* Copies of whole structs and of ranges of bytes are seen word by word, or refused. */
#include "hand_over.h"

enum { WORDS = 40, TOO_MANY = 200 };

struct record {
	uint32_t low, high;
	uint64_t wide;
	uint32_t last;
};

struct state {
	wp_atomic(uint32_t) flag;
	wp_atomic(uint32_t) word, other;
	struct record data, copy;
	struct {
		uint32_t low, high;
	} pair, pair_copy;
	struct {
		uint32_t low : 3, high : 7;
	} bits;
	struct {
		uint64_t words[WORDS];
	} many, many_copy;
	struct {
		uint64_t words[TOO_MANY];
	} huge, huge_copy;
};

/* low, high, wide and last as digits */
static int64_t sum(const struct record *record)
{
	return record->low + 10 * record->high + 100 * (int64_t)record->wide + 1000 * record->last;
}

WRITER(copy_all, state->data = (struct record){1, 2, 3, 4}; state->copy = state->data)
READER(read_copy, sum(&state->copy))
TEST(copies_struct, copy_all, read_copy);

WRITER(copy_call, state->data = (struct record){1, 2, 3, 4};
       memcpy(&state->copy, &state->data, sizeof(state->copy)))
TEST(copies_call, copy_call, read_copy);

WRITER(write_fields, state->copy.low = 1; state->copy.high = 2; state->copy.wide = 3;
       state->copy.last = 4)

STRESS_ACTOR(read_local)
{
	struct record local;

	if (!wp_load_acquire(&state->flag))
		return;
	local = state->copy;
	result->r[0] = sum(&local);
}
TEST(copies_to_local, write_fields, read_local);

STRESS_ACTOR(copy_later)
{
	if (!wp_load_acquire(&state->flag))
		return;
	state->data = state->copy;
	state->data.high++;
	result->r[0] = sum(&state->data);
}
TEST(copies_onwards, write_fields, copy_later);

WRITER(copy_pair, state->pair.low = 3; state->pair.high = 4; state->pair_copy = state->pair)
READER(read_pair, state->pair_copy.low + 10 * state->pair_copy.high)
TEST(copies_pair, copy_pair, read_pair);

WRITER(set, state->copy.low = 9; memset(&state->copy, 0, sizeof(state->copy)); state->copy.last = 1;
       memset(&state->copy.wide, 1, 1))
TEST(copies_set, set, read_copy);

WRITER(reset, state->copy.low = 9; state->copy = (struct record){.last = 2})
TEST(copies_zeros, reset, read_copy);

WRITER(move, state->many.words[0] = 5; state->many.words[1] = 6;
       memmove(state->many.words + 1, state->many.words, 16))
READER(read_moved, state->many.words[1] + 10 * state->many.words[2])
TEST(copies_overlap, move, read_moved);

WRITER(copy_many, state->many.words[WORDS - 1] = 5; state->many_copy = state->many)
READER(read_many, state->many_copy.words[WORDS - 1])
TEST(copies_many, copy_many, read_many);

WRITER(copy_itself, state->copy.low = 7; struct record *volatile same = &state->copy;
       state->copy = *same)
TEST(copies_itself, copy_itself, read_copy);

WRITER(copy_itself_again, state->copy.low = 7; struct record *volatile same = &state->copy, local;
       memcpy(&local, same, sizeof(local)); state->copy = *same; state->copy.high = local.low)
TEST(copies_itself_again, copy_itself_again, read_copy);

/* The explorer fills memory with these bytes, among others. */
WRITER(write_patterns, volatile uint8_t *bytes = (volatile uint8_t *)&state->copy; bytes[0] = 0xa5;
       bytes[1] = bytes[0]; bytes[2] = 0x5a; bytes[3] = bytes[2]; bytes[4] = 0x9d;
       bytes[5] = bytes[4]; bytes[6] = 0x3c; bytes[7] = bytes[6])
READER(read_patterns, state->copy.low ^ state->copy.high)
TEST(copies_patterns, write_patterns, read_patterns);

WRITER(write_byte, ((char *)&state->copy.wide)[0] = 7)
TEST(copies_bytes, write_byte, read_copy);

WRITER(copy_word, state->copy.low = 7; memcpy((void *)&state->word, &state->copy.low, 4))
READER(read_word, wp_load_relaxed(&state->word))
TEST(copies_into_atomic, copy_word, read_word);

/* Two atomics in one copy. */
WRITER(copy_atomics, wp_store_relaxed(&state->word, 3); wp_store_relaxed(&state->other, 4);
       memcpy(&state->pair, (void *)&state->word, 8))
READER(read_both, state->pair.low + 10 * state->pair.high + 0 * wp_load_relaxed(&state->other))
TEST(copies_of_atomics, copy_atomics, read_both);

/* Each of these races: the store of the copy, the load of the copy, a byte that is set. */
STRESS_ACTOR_CALL(race_copy, result->r[0] = state->copy.last)
TEST(copies_race_store, copy_all, race_copy);

STRESS_ACTOR(race_load)
{
	struct record local = state->copy;

	result->r[0] = sum(&local);
}
TEST(copies_race_load, write_fields, race_load);
TEST(copies_race_set, set, race_copy);

/* gcc reports no read of the neighbouring bits. */
WRITER(write_bits, state->bits.low = 2; state->bits.high = 77)
READER(read_bits, state->bits.low + 10 * state->bits.high)
TEST(copies_bits, write_bits, read_bits);

/* Refused. */
WRITER(copy_huge, state->huge.words[0] = 1; state->huge_copy = state->huge)
READER(read_huge, state->huge_copy.words[0])
TEST(copies_huge, copy_huge, read_huge);

WRITER(copy_part, memset((char *)&state->word + 1, 1, 2))
TEST(copies_part, copy_part, read_word);
