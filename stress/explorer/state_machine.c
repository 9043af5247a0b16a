/* SPDX-License-Identifier: Apache-2.0
 * state_machine.c - what can happen in a state, and whether anything can.
 *
 *   thread                               its choices
 *   asleep                               time out, wake spuriously (where explored)
 *   at a wake of n, s sleepers there     one per set of min(n, s) of them
 *   at a weak compare-and-swap           it takes place; it does not
 *   at a choice                          one per value
 *   at anything else                     one, or none while its own buffer must drain first
 *   with a buffered store                the oldest drains
 *
 * x86-TSO  A read-modify-write (also a compare-and-swap that fails: the processor locks either
 *          way), a seq_cst store (an exchange there) and a seq_cst fence are possible only while
 *          the thread's own buffer is empty. Letting them drain it at once would reach the same
 *          states, since each drain is a step of its own and can always come before, but would add
 *          edges past the states between. A heavy fence does drain all buffers at once: were it to
 *          wait for a moment in which all are empty, others could keep it waiting for ever.
 * Spec     none: futex(2); Sewell et al., x86-TSO, 2010. Evidence
 *          tests/judge/explore/test_engines.py. */
#include "state_machine.h"

#include <stdio.h>
#include <string.h>

#define TOO_MANY "more than 12,000 choices out of one state: too many ways to wake sleepers"

/* What the other threads add: a value each, or two ways of a step, and a drain. */
enum { MOST = EXPLORE_CHOICES - EXPLORE_THREADS * (EXPLORE_VALUES + 2) };

static bool must_drain(const explore_step *step)
{
	switch (step->kind) {
	case EXPLORE_STORE:
	case EXPLORE_FENCE:
		return step->order == EXPLORE_SEQ_CST;
	case EXPLORE_WAIT: /* the system locks its queue */
	case EXPLORE_WAKE:
		return true;
	default:
		return explore_is_update(step->kind);
	}
}

static bool can_take(explore_machine *machine, int thread, const explore_step *step)
{
	const explore_actor *actor = &machine->actors[thread];

	if (step->kind == EXPLORE_END || actor->is_asleep)
		return false;
	if (actor->buffered && must_drain(step))
		return false;
	if (step->kind == EXPLORE_STORE && actor->buffered == EXPLORE_BUFFERED) {
		machine->is_bounded = true;
		return false;
	}
	return true;
}

static unsigned sleepers_on(explore_machine *machine, int location)
{
	unsigned sleepers = 0;

	for (int t = 0; t < machine->program->threads; t++)
		if (machine->actors[t].is_asleep &&
		    explore_machine_step(machine, t)->location == location)
			sleepers |= 1u << t;
	return sleepers;
}

/* One choice per set of min(operand, sleepers) sleepers, `room` at the most. */
static int add_wakes(explore_machine *machine, int thread, const explore_step *step,
		     explore_choice *choices, int room)
{
	unsigned sleepers = sleepers_on(machine, step->location), set = 0;
	int most = __builtin_popcount(sleepers), count = 0;

	if (step->operand < (uint64_t)most)
		most = (int)step->operand;
	do { /* every subset of the sleepers, in ascending order */
		if (__builtin_popcount(set) == most && count == room) {
			explore_machine_give_up(machine, TOO_MANY);
			return count;
		}
		if (__builtin_popcount(set) == most)
			choices[count++] =
				(explore_choice){EXPLORE_TAKE, (uint8_t)thread, (uint16_t)set};
		set = (set - sleepers) & sleepers;
	} while (set);
	return count;
}

static int add_values(explore_machine *machine, int thread, const explore_step *step,
		      explore_choice *choices)
{
	if (step->operand > EXPLORE_VALUES) {
		explore_machine_give_up(machine, "a choice among more than 64 values");
		return 0;
	}
	for (uint64_t value = 0; value < step->operand; value++)
		choices[value] = (explore_choice){EXPLORE_TAKE, (uint8_t)thread, (uint16_t)value};
	return (int)step->operand;
}

static bool may_fail_weakly(explore_machine *machine, const explore_step *step)
{
	return step->kind == EXPLORE_CAS && step->is_weak &&
	       explore_takes_place(step, explore_cut(step, machine->values[step->location]));
}

static int add_sleeper(const explore_machine *machine, int thread, const explore_step *step,
		       explore_choice *choices)
{
	const explore_actor *actor = &machine->actors[thread];
	int count = 0;

	if (machine->options->timeouts && step->has_deadline)
		choices[count++] = (explore_choice){EXPLORE_TIME_OUT, (uint8_t)thread, 0};
	if (machine->options->any_spurious || actor->spurious < machine->options->spurious)
		choices[count++] = (explore_choice){EXPLORE_WAKE_SPURIOUSLY, (uint8_t)thread, 0};
	return count;
}

int explore_machine_choices(explore_machine *machine, explore_choice choices[EXPLORE_CHOICES])
{
	int count = 0;

	for (int t = 0; t < machine->program->threads; t++) {
		const explore_step *step = explore_machine_step(machine, t);

		if (step->kind == EXPLORE_FAIL || step->kind == EXPLORE_ABANDON)
			return 0;
		if (machine->actors[t].is_asleep)
			count += add_sleeper(machine, t, step, choices + count);
		else if (step->kind == EXPLORE_WAKE && can_take(machine, t, step))
			count += add_wakes(machine, t, step, choices + count, MOST - count);
		else if (step->kind == EXPLORE_CHOOSE)
			count += add_values(machine, t, step, choices + count);
		else if (can_take(machine, t, step)) {
			choices[count++] = (explore_choice){EXPLORE_TAKE, (uint8_t)t, 0};
			if (may_fail_weakly(machine, step))
				choices[count++] =
					(explore_choice){EXPLORE_TAKE_NOT, (uint8_t)t, 0};
		}
		if (machine->actors[t].buffered)
			choices[count++] = (explore_choice){EXPLORE_DRAIN, (uint8_t)t, 0};
	}
	return count;
}

/* Nobody moves: have all ended, or do some sleep? */
static enum explore_verdict verdict_of_rest(explore_machine *machine)
{
	enum explore_verdict verdict = EXPLORE_ENDED;

	for (int t = 0; t < machine->program->threads; t++) {
		const explore_step *step = explore_machine_step(machine, t);

		if (!machine->actors[t].is_asleep)
			continue;
		if (explore_cut(step, machine->values[step->location]) !=
		    explore_cut(step, step->expected))
			return EXPLORE_LOST_WAKEUP;
		verdict = EXPLORE_ASLEEP;
	}
	return verdict;
}

enum explore_standing explore_machine_standing(explore_machine *machine,
					       const explore_choice *choices, int count,
					       enum explore_verdict *verdict)
{
	for (int i = 0; i < count; i++) /* a spurious wakeup is no way out */
		if (choices[i].kind != EXPLORE_WAKE_SPURIOUSLY)
			return EXPLORE_GOES_ON;
	for (int t = 0; t < machine->program->threads; t++) {
		int kind = explore_machine_step(machine, t)->kind;

		if (kind == EXPLORE_FAIL) {
			*verdict = explore_failure(explore_machine_step(machine, t));
			return EXPLORE_IS_OVER;
		}
		if (kind == EXPLORE_ABANDON)
			return EXPLORE_IS_ABANDONED;
	}
	*verdict = verdict_of_rest(machine);
	return EXPLORE_IS_OVER;
}

void explore_machine_outcome(explore_machine *machine, enum explore_verdict *verdict,
			     char text[EXPLORE_TEXT])
{
	static const char *const texts[EXPLORE_VERDICTS] = {
		[EXPLORE_ASLEEP] = "asleep",       [EXPLORE_LOST_WAKEUP] = "asleep",
		[EXPLORE_STUCK] = "stuck",         [EXPLORE_RACE] = "race",
		[EXPLORE_ASSERTION] = "assertion", [EXPLORE_CRASH] = "crash",
	};
	explore_position ends[EXPLORE_THREADS];

	machine->program->failed = NULL;
	if (*verdict == EXPLORE_ENDED) {
		for (int t = 0; t < machine->program->threads; t++)
			ends[t] = machine->actors[t].position;
		machine->program->outcome(machine->program, machine->values, ends, text);
	}
	if (machine->program->failed)
		*verdict = explore_failure(machine->program->failed);
	if (*verdict != EXPLORE_ENDED)
		snprintf(text, EXPLORE_TEXT, "%s", texts[*verdict]);
}
