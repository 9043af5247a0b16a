/* SPDX-License-Identifier: Apache-2.0
 * compiled_run.c - runs an actor from one pause to the next.
 *
 * Why it works  The stack is restored and the state is filled with a pattern. What the actor does
 *               then follows from its position and from the value that it is given.
 * Spec          none.
 * Evidence      tests/judge/explore/test_engines.py. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "compiled.h"

int compiled_actor = NOTHING;
asked compiled_asked;
uint64_t compiled_given;
bool compiled_given_failed, compiled_is_over;

enum { FAULT_TEXT = 96 };

static char *describe_fault(char text[FAULT_TEXT])
{
	const explore_fault *fault = &explore_last_fault;

	if (fault->signal == SIGSEGV || fault->signal == SIGBUS)
		snprintf(text, FAULT_TEXT, "touches memory that is not there, at 0x%lx",
			 (unsigned long)(uintptr_t)fault->address);
	else
		snprintf(text, FAULT_TEXT, "%s",
			 fault->signal == SIGFPE   ? "divides by zero, or by too little (SIGFPE)"
			 : fault->signal == SIGILL ? "executes what is no instruction (SIGILL)"
						   : "traps (SIGTRAP)");
	return text;
}

/* Asks for the step that ends the execution. */
static void fail_at(const char *text, bool is_crash, const void *from, const wp__explore_site *site)
{
	compiled_is_over = true;
	compiled_asked = (asked){.step = {.kind = EXPLORE_FAIL,
					  .location = NOTHING,
					  .is_crash = is_crash,
					  .text = strdup(text)},
				 .site = site,
				 .from = from};
}

void compiled_end(const char *text, bool is_crash, const void *from, const wp__explore_site *site)
{
	fail_at(text, is_crash, from, site);
	if (compiled_actor == NOTHING) {
		compiled_now->failure = compiled_step();
		explore_escape(EXPLORE_FAULTS);
	}
	for (;;)
		explore_pause();
}

/* False: the actor has not reached its next operation, and `error` says what it did instead. */
static bool resume(int which)
{
	static const char *const ends[] = {
		"",
		"loops without a shared operation",
		"overflows its stack",
	};
	enum explore_return how;

	compiled_actor = which;
	compiled_is_over = false;
	how = explore_resume(which);
	compiled_actor = NOTHING;
	if (how == EXPLORE_FAULTS) { /* a step, so that the counterexample shows the way to it */
		char text[FAULT_TEXT];

		fail_at(describe_fault(text), true, (const char *)explore_last_fault.code + 1,
			NULL);
		return true;
	}
	if (how != EXPLORE_PAUSED)
		compiled_fail("actor %d of %s %s", which, compiled_now->test->name, ends[how]);
	return how == EXPLORE_PAUSED;
}

static stress_result *arbitrated;

static void arbitrate(void *state)
{
	compiled_now->test->arbiter(state, arbitrated);
}

void compiled_alone(stress_result *result)
{
	static const char *const how[] = {
		[EXPLORE_LOOPS] = "runs for seconds",
		[EXPLORE_OVERFLOWS] = "touches an actor's stack",
		[EXPLORE_FAULTS] = "touches memory that is not there, or overflows its stack",
	};
	char text[FAULT_TEXT];
	enum explore_return end;

	compiled_is_over = false;
	arbitrated = result;
	end = explore_alone(result ? arbitrate : compiled_now->test->init, EXPLORE_BASE);
	if (end == EXPLORE_FAULTS && compiled_is_over && result)
		compiled_now->program.failed = &compiled_now->failure;
	else if (end == EXPLORE_FAULTS && compiled_is_over)
		compiled_fail("init of %s fails: %s, at %s:%d", compiled_now->test->name,
			      compiled_now->failure.text,
			      compiled_now->sites[compiled_now->failure.site].file,
			      compiled_now->sites[compiled_now->failure.site].line);
	else if (end == EXPLORE_FAULTS)
		compiled_fail("%s of %s %s: %s, in @%lx", result ? "arbiter" : "init",
			      compiled_now->test->name, how[end], describe_fault(text),
			      (unsigned long)(uintptr_t)explore_last_fault.code + 1);
	else if (end != EXPLORE_PAUSED)
		compiled_fail("%s of %s %s", result ? "arbiter" : "init", compiled_now->test->name,
			      how[end]);
}

/* Makes the place of the step a location. */
static void locate(int which, explore_step *step, char *place)
{
	const char *what = compiled_now->sites[step->site].what;

	if (!place)
		return;
	if (!compiled_is_shared(place)) {
		compiled_fail("actor %d of %s: %s is outside the scenario's state", which,
			      compiled_now->test->name, compiled_bare(what));
		return;
	}
	if (!compiled_check_inside(which, place, step->size))
		return;
	if (explore_writes(step->kind))
		compiled_note_written(place, step->size);
	step->location = compiled_location(place, step->size, what, compiled_asked.site != NULL);
}

void compiled_check_same(int which, explore_position first, explore_position second,
			 const explore_step *after)
{
	const position *positions = compiled_now->actors[which].positions;
	char from[COMPILED_TEXT] = "its start", to[COMPILED_TEXT], again[COMPILED_TEXT];

	if (first == second || compiled_now->program.error)
		return;
	if (after)
		compiled_describe(after, from);
	compiled_describe(&positions[first].step, to);
	compiled_describe(&positions[second].step, again);
	compiled_fail("actor %d of %s is not deterministic, or reads its state in a way that the "
		      "compiler does not report: run twice it goes on differently after %s: to %s, "
		      "then to %s",
		      which, compiled_now->test->name, from, to,
		      strcmp(to, again) ? again : "the same with other values");
}

/* The position of the actor that has just paused. */
static explore_position capture(int which)
{
	explore_step step = compiled_step();
	const char *used =
		compiled_is_over ? explore_stack_end(which) - sizeof(top) : explore_used(which);

	locate(which, &step, compiled_asked.place);
	if (compiled_now->program.error)
		return 0;
	return compiled_number(&compiled_now->actors[which], &step, used,
			       (uint32_t)(explore_stack_end(which) - used));
}

static void body(void)
{
	int which = compiled_actor;
	top *mine = (top *)(void *)explore_stack_end(which) - 1;

	compiled_now->test->actors[which](EXPLORE_BASE, &mine->result);
	compiled_settle();
	compiled_asked = (asked){.step = {.kind = EXPLORE_END, .location = NOTHING}};
	for (;;)
		explore_pause();
}

/* Runs the paused actor to its next position. */
static explore_position advance(int which)
{
	explore_position to = resume(which) ? capture(which) : 0;

	if (!compiled_is_over)
		compiled_check_untouched(which);
	return to;
}

explore_position compiled_begin(int which, unsigned char pattern)
{
	compiled_fill(pattern);
	explore_begin(which, sizeof(top), body);
	return advance(which);
}

explore_position compiled_run(int which, explore_position from, uint64_t value, bool failed,
			      unsigned char pattern)
{
	const position *at = &compiled_now->actors[which].positions[from];

	compiled_fill(pattern);
	explore_restore(which, at->stack, at->used);
	if (at->step.kind == EXPLORE_PLAIN_LOAD)
		compiled_put(EXPLORE_BASE + compiled_now->places[at->step.location].offset,
			     at->step.size, value);
	compiled_given = value;
	compiled_given_failed = failed;
	return advance(which);
}
