/* SPDX-License-Identifier: Apache-2.0
 * state_machine.c - the steps that are possible in a state, and the verdict where none is.
 *
 *   thread                               its choices
 *   asleep                               time out, spurious wakeup (if these are explored)
 *   at a wake of n, with s sleepers      one per set of min(n, s) sleepers
 *   at a weak compare-and-swap           it takes place, or fails spuriously
 *   at a choice                          one per value
 *   at any other step                    one; none while its own buffer must drain first
 *   with a buffered store                the oldest store drains
 *
 * x86-TSO   A read-modify-write, a seq_cst store and a seq_cst fence are possible only while the
 *           buffer of their own thread is empty. So is a compare-and-swap that fails, because the
 *           processor locks either way. A seq_cst store is an exchange on x86. Draining the buffer
 *           within the step would reach the same states, because each drain is a step of its own
 *           and can always come before; but it would add edges that skip the states between. A
 *           heavy fence does drain all buffers within its step: if it waited for a moment in which
 *           all are empty, other threads could keep it waiting for ever.
 * Paper     Sewell, Sarkar, Owens, Zappa Nardelli, Myreen, "x86-TSO", CACM 2010. futex(2).
 * Spec      none.
 * Evidence  tests/judge/explore/test_engines.py. */
#include "state_machine.h"

#include <stdio.h>
#include <string.h>

#define TOO_MANY "more than 12,000 choices out of one state: too many ways to wake sleepers"

/* Leaves room for the other threads: each adds its values, or two ways of one step, and a drain. */
enum { MOST = EXPLORE_CHOICES - EXPLORE_THREADS * (EXPLORE_VALUES + 2) };

static bool must_drain(const explore_step *step)
{
	switch (step->kind) {
	case EXPLORE_STORE:
	case EXPLORE_FENCE:
		return step->order == EXPLORE_SEQ_CST;
	case EXPLORE_WAIT: /* the kernel locks the queue */
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

/* Adds one choice per set of min(operand, sleepers) sleepers, but at most `room`. */
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

/* No thread moves: have all ended, or do some sleep? */
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
	for (int i = 0; i < count; i++) /* a thread may not rely on a spurious wakeup */
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
