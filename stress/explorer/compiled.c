/* SPDX-License-Identifier: Apache-2.0
 * compiled.c - a program that consists of the compiled actors of a scenario.
 *
 *   actor, at a shared operation            engine
 *   wp__explore: announces it, pauses       stores the stack and the operation: a position
 *   goes on with the value                  restores a position and resumes it, once per value
 *
 * Why it works  Between two operations an actor depends only on its own stack and on the value it
 *               was given, because every access to shared memory is an operation. Atomics, futexes
 *               and events are instrumented operations (compiled_steps.c), plain accesses are hooks
 *               of the compiler (compiled_plain.c).
 *               So the memory that a resumed actor finds does not matter: the value that it loads
 *               is put there just before. Each step is run twice, with other contents of memory,
 *               and must reach the same position both times.
 * Spec          none.
 * Evidence      tests/judge/explore/test_engines.py. */
#include "compiled.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAIRS = 2 };

/* The contents of memory that was not put there. No bit is the same in both runs of a pair. */
static const unsigned char patterns[PAIRS][2] = {{0xa5, 0x5a}, {0x3c, 0xc3}};

compiled *compiled_now;

void compiled_fail(const char *format, ...)
{
	va_list arguments;

	if (compiled_now->program.error)
		return;
	va_start(arguments, format);
	vsnprintf(compiled_now->error, sizeof(compiled_now->error), format, arguments);
	va_end(arguments);
	compiled_now->program.error = compiled_now->error;
}

static explore_position run(int which, const turn *turn, unsigned char pattern)
{
	if (!turn)
		return compiled_begin(which, pattern);
	return compiled_run(which, turn->from, turn->value, turn->failed, pattern);
}

/* The position that both runs reach, from the start or by `turn`. If a value may have been mistaken
 * for the pattern, the runs are repeated with other patterns. */
static explore_position run_twice(int which, const turn *turn, const explore_step *after)
{
	explore_position to = 0, again = 0;

	for (int pair = 0; pair < PAIRS && !compiled_now->program.error; pair++) {
		compiled_has_guessed = false;
		to = again = run(which, turn, patterns[pair][0]);
		if (!compiled_now->program.error)
			again = run(which, turn, patterns[pair][1]);
		if (to == again || !compiled_has_guessed)
			break;
	}
	compiled_check_same(which, to, again, after);
	return to;
}

static explore_position start(explore_program *program, int which)
{
	actor *actor;

	compiled_now = program->own;
	actor = &compiled_now->actors[which];
	if (!actor->has_started) {
		actor->first = run_twice(which, NULL, NULL);
		actor->has_started = true;
	}
	return actor->first;
}

static const explore_step *at(explore_program *program, int which, explore_position position)
{
	return &((compiled *)program->own)->actors[which].positions[position].step;
}

static explore_position next(explore_program *program, int which, explore_position from,
			     uint64_t value, bool failed)
{
	actor *actor;
	turn *known, new = {.from = from, .value = value, .failed = failed, .is_used = true};
	explore_step after;

	compiled_now = program->own;
	actor = &compiled_now->actors[which];
	known = compiled_turn(actor, from, value, failed);
	if (known->is_used)
		return known->to;
	after = actor->positions[from].step; /* a copy, because the positions may move */
	new.to = run_twice(which, &new, &after);
	if (program->error)
		return from;
	*known = new;
	actor->turns_count++;
	return new.to;
}

static int compare_ends(explore_program *program, int which, explore_position a, explore_position b)
{
	const position *positions = ((compiled *)program->own)->actors[which].positions;
	const position *one = &positions[a], *other = &positions[b];

	return memcmp(one->stack + one->used - sizeof(stress_result),
		      other->stack + other->used - sizeof(stress_result), sizeof(stress_result));
}

/* Puts memory into the final state of the execution. */
static void put_final(const uint64_t *values)
{
	char *events_at = compiled_event_word(0);

	memcpy(EXPLORE_BASE, compiled_now->image, compiled_now->test->state_size);
	memcpy(events_at, compiled_now->image + (events_at - EXPLORE_BASE), EVENTS * EVENT);
	for (int location = 0; location < compiled_now->program.locations; location++)
		compiled_write(EXPLORE_BASE + compiled_now->places[location].offset,
			       compiled_now->places[location].size, values[location]);
}

static void outcome(explore_program *program, const uint64_t *values, const explore_position *ends,
		    char text[EXPLORE_TEXT])
{
	stress_result all = {{0}}, one;
	size_t used = 0;

	compiled_now = program->own;
	for (int which = 0; which < program->threads; which++) {
		const position *end = &compiled_now->actors[which].positions[ends[which]];

		memcpy(&one, end->stack + end->used - sizeof(one), sizeof(one));
		for (int i = 0; i < STRESS_RESULTS; i++)
			all.r[i] += one.r[i];
	}
	if (compiled_now->test->arbiter) { /* finds the sum, as on real cores, and may change it */
		put_final(values);
		compiled_alone(&all);
	}
	text[0] = '\0';
	for (int i = 0; i < compiled_now->test->results && used < EXPLORE_TEXT; i++)
		used += (size_t)snprintf(text + used, EXPLORE_TEXT - used, i ? ",%lld" : "%lld",
					 (long long)all.r[i]);
}

static void forget(compiled *compiled)
{
	for (int which = 0; which < EXPLORE_THREADS; which++)
		compiled_forget(&compiled->actors[which]);
}

static void destroy(explore_program *program)
{
	forget(program->own);
	free(program->own);
}

static void restart(explore_program *program)
{
	compiled *compiled = program->own;

	forget(compiled);
	memset(compiled->location_at, 0, sizeof(compiled->location_at));
	memset(compiled->is_assumed, 0, sizeof(compiled->is_assumed));
	program->locations = 0;
	program->is_bounded = false;
	program->error = NULL;
}

explore_program *explore_compiled(const stress_test *test, char error[256])
{
	compiled *compiled = calloc(1, sizeof(*compiled));

	if (!compiled || !explore_map()) {
		snprintf(error, 256, "no memory at the explorer's fixed addresses");
		free(compiled);
		return NULL;
	}
	if (test->state_size > STATE_MOST) {
		snprintf(error, 256, "%s: state_size is %zu, at most %d are explored", test->name,
			 test->state_size, STATE_MOST);
		free(compiled);
		return NULL;
	}
	compiled->test = test;
	for (int i = 0; i < STRESS_ACTORS; i++)
		memcpy(&compiled->code[i], &test->actors[i], sizeof(compiled->code[i]));
	compiled->program = (explore_program){.name = test->name,
					      .code = compiled->code,
					      .state_size = test->state_size,
					      .sites = compiled->sites,
					      .start = start,
					      .at = at,
					      .next = next,
					      .outcome = outcome,
					      .compare_ends = compare_ends,
					      .restart = restart,
					      .destroy = destroy,
					      .own = compiled};
	while (compiled->program.threads < STRESS_ACTORS && test->actors[compiled->program.threads])
		compiled->program.threads++;
	compiled_now = compiled;
	memset(EXPLORE_BASE, 0, EXPLORE_ARENA);
	if (test->init)
		compiled_alone(NULL);
	memcpy(compiled->image, EXPLORE_BASE, EXPLORE_ARENA);
	if (compiled_check_image() && !compiled->program.error)
		return &compiled->program;
	snprintf(error, 256, "%s", compiled->error);
	destroy(&compiled->program);
	return NULL;
}
