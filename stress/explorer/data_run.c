/* SPDX-License-Identifier: Apache-2.0
 * data_run.c - runs a program that data.c has read, from one position to the next.
 *
 * Spec      none.
 * Evidence  tests/judge/explore/test_data.py. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data.h"
#include "room.h"

enum { LOCAL_STEPS_MOST = 10000 };

static uint64_t value_of(const state *state, operand operand)
{
	return operand.is_register ? state->registers[operand.value] : operand.value;
}

static bool holds(const state *state, const instruction *at)
{
	uint64_t a = value_of(state, at->a), b = value_of(state, at->b);

	switch (at->operator[0]) {
	case '=':
		return a == b;
	case '!':
		return a != b;
	case '<':
		return at->operator[1] ? a <= b : a<b;
	default:
		return at->operator[1] ? a >= b : a> b;
	}
}

static uint64_t computed(const state *state, const instruction *at)
{
	uint64_t a = value_of(state, at->a), b = value_of(state, at->b);

	switch (at->operator[0]) {
	case '+':
		return a + b;
	case '-':
		return a - b;
	case '&':
		return a & b;
	case '|':
		return a | b;
	case '^':
		return a ^ b;
	default:
		return a * b;
	}
}

/* Executes local instructions up to the next step. */
static void settle(data *data, const thread *thread, state *state)
{
	for (int steps = 0; state->pc < thread->length; steps++) {
		const instruction *at = &thread->code[state->pc];

		if (steps > LOCAL_STEPS_MOST) {
			data->program.error = "a loop without a shared operation";
			return;
		}
		switch (at->kind) {
		case SET:
			state->registers[at->into] = computed(state, at);
			state->pc++;
			break;
		case GOTO:
			state->pc = at->target;
			break;
		case IF:
			state->pc = holds(state, at) ? at->target : state->pc + 1;
			break;
		case ASSUME:
		case ASSERT:
			if (!holds(state, at))
				return;
			state->pc++;
			break;
		default:
			return;
		}
	}
}

static uint64_t hash(const state *state)
{
	uint64_t hash = (uint64_t)state->pc * UINT64_C(0x9e3779b97f4a7c15);

	for (int i = 0; i < REGISTERS; i++) {
		hash = (hash ^ state->registers[i]) * UINT64_C(0xff51afd7ed558ccd);
		hash ^= hash >> 32;
	}
	return hash;
}

static void grow(thread *thread)
{
	uint32_t size = thread->table_size ? thread->table_size * 2 : 64;
	uint32_t *table = calloc(size, sizeof(*table));

	for (uint32_t p = 0; p < thread->states_count; p++) {
		uint64_t slot = hash(&thread->states[p]) & (size - 1);

		while (table[slot])
			slot = (slot + 1) & (size - 1);
		table[slot] = p + 1;
	}
	free(thread->table);
	thread->table = table;
	thread->table_size = size;
}

static explore_position position_of(thread *thread, const state *state)
{
	uint64_t slot;

	if (2 * (thread->states_count + 1) > thread->table_size)
		grow(thread);
	for (slot = hash(state) & (thread->table_size - 1); thread->table[slot];
	     slot = (slot + 1) & (thread->table_size - 1))
		if (!memcmp(&thread->states[thread->table[slot] - 1], state, sizeof(*state)))
			return thread->table[slot] - 1;
	if (!explore_has_room(thread->states, thread->states_count, thread->states_room, 64))
		abort();
	thread->states[thread->states_count] = *state;
	thread->table[slot] = ++thread->states_count;
	return thread->states_count - 1;
}

explore_position data_start(explore_program *program, int which)
{
	data *data = program->own;
	thread *thread = &data->threads[which];
	state state;

	memset(&state, 0, sizeof(state));
	settle(data, thread, &state);
	return position_of(thread, &state);
}

const explore_step *data_at(explore_program *program, int which, explore_position position)
{
	data *data = program->own;
	thread *thread = &data->threads[which];
	const state *state = &thread->states[position];
	const instruction *at = &thread->code[state->pc];

	if (state->pc >= thread->length) {
		data->step = (explore_step){.kind = EXPLORE_END, .location = -1};
		return &data->step;
	}
	data->step = at->step;
	data->step.kind = at->kind == ASSUME   ? EXPLORE_ABANDON
			  : at->kind == ASSERT ? EXPLORE_FAIL
					       : (uint8_t)at->kind;
	data->step.operand = at->kind == ASSUME ? 0 : value_of(state, at->a);
	data->step.expected = value_of(state, at->b);
	if (at->kind == ASSERT)
		data->step.text = at->text;
	if (data->step.location >= 0)
		data->step.location += (int)value_of(state, at->index);
	if (data->step.location >= program->locations)
		program->error = "an index beyond the last location";
	return &data->step;
}

explore_position data_next(explore_program *program, int which, explore_position position,
			   uint64_t value, bool failed)
{
	data *data = program->own;
	thread *thread = &data->threads[which];
	state state = thread->states[position];
	const instruction *at = &thread->code[state.pc];

	if (at->into >= 0)
		state.registers[at->into] = value;
	if (at->kind == EXPLORE_CAS && at->step.is_weak)
		state.registers[REGISTERS - 1] =
			!failed && value == value_of(&thread->states[position], at->b);
	state.pc++;
	settle(data, thread, &state);
	return position_of(thread, &state);
}

void data_outcome(explore_program *program, const uint64_t *values, const explore_position *ends,
		  char text[EXPLORE_TEXT])
{
	data *data = program->own;
	size_t used = 0;

	text[0] = '\0';
	for (int i = 0; i < data->observed_count && used < EXPLORE_TEXT; i++) {
		const observed *what = &data->observed[i];
		uint64_t value = what->thread < 0 ? values[what->which]
						  : data->threads[what->thread]
							    .states[ends[what->thread]]
							    .registers[what->which];

		used += (size_t)snprintf(text + used, EXPLORE_TEXT - used, "%s%lld", i ? "," : "",
					 (long long)value);
	}
}

void data_destroy(explore_program *program)
{
	data *data = program->own;

	for (int t = 0; t < EXPLORE_THREADS; t++) {
		free(data->threads[t].code);
		free(data->threads[t].states);
		free(data->threads[t].table);
	}
	free(data->sites);
	free(data->texts);
	free(data);
}
