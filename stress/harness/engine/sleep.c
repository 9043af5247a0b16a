/* SPDX-License-Identifier: Apache-2.0
 * sleep.c - scenarios with actors that may sleep: one state at a time, and each round is watched.
 *
 *   member                               watchdog (watch.c)
 *   round, meet, run the actor           all done or asleep, twice the same: rescued := 1, wake
 *   wp_futex_wait: turn odd, sleep
 *   woken: turn even; if rescued, leave  (the actor is left where it slept;
 *   the actor; done := round; meet        its round counts as "asleep") */
#include "engine.h"

enum { ROUNDS_PER_PLAN = 16 };

/* In short steps: from side by side to one actor being well inside its system call when the other
 * starts. */
static const unsigned skews[] = {1, 32, 512, 4096, 16384, 16384};

void wp__stress_wait_begin(const void *word, uint32_t expected);
void wp__stress_wait_begin(const void *word, uint32_t expected)
{
	stress_watch *watch;

	if (!stress_self)
		return;
	watch = &stress_self->watch;
	wp_store_relaxed(&watch->word, (uintptr_t)word);
	wp_store_relaxed(&watch->expected, expected);
	wp_store_release(&watch->turn, wp_load_relaxed(&watch->turn) + 1);
}

/* Keeps errno, because the caller reads it afterwards. */
void wp__stress_wait_end(void);
void wp__stress_wait_end(void)
{
	stress_watch *watch;

	if (!stress_self)
		return;
	watch = &stress_self->watch;
	wp_store_release(&watch->turn, wp_load_relaxed(&watch->turn) + 1);
	if (wp_load_acquire(&watch->rescued))
		longjmp(stress_self->out_of_actor, STRESS_ASLEEP);
}

/* Judges the round and makes the next state. [member 0, while the others wait] */
static void settle(stress_run *run, const stress_span *span, uint64_t round)
{
	run->samples++;
	if (wp_load_relaxed(&run->is_abandoned)) {
		run->stuck++;
	} else if (wp_load_acquire(&run->rescued_round) == round) {
		run->asleep++;
		run->asleep_changed += wp_load_relaxed(&run->rescued_change);
	} else {
		run->test->loops->settle(span);
		return;
	}
	wp_store_relaxed(&run->is_abandoned, 0);
	if (run->test->fini)
		run->test->fini(run->states);
	stress__renew(run->test, run->states);
}

/* Runs the actor, up to a sleep that the watchdog ended or an endless loop. */
static void act(stress_member *member, const stress_span *span)
{
	int why = setjmp(member->out_of_actor);

	if (why) {
		stress_left(member, why);
		return;
	}
	member->in_actor = 1;
	member->run->test->loops->act[member->index](span);
	member->in_actor = 0;
}

void stress_sleep_body(stress_member *member)
{
	stress_run *run = member->run;
	stress_span span = {.states = run->states,
			    .end = 1,
			    .direct = member->tally.direct,
			    .tally = &member->tally};

	memcpy(span.seen, run->seen, sizeof(span.seen));
	memcpy(span.wide, run->wide, sizeof(span.wide));
	for (uint64_t round = 1;; round++) {
		if (member->index == 0 && round % ROUNDS_PER_PLAN == 1)
			stress_plan(run);
		if (member->index == 0)
			wp_store_release(&run->round, round);
		stress_meet(member);
		if (run->stop)
			return;
		if (round % ROUNDS_PER_PLAN == 1)
			stress_place(member);
		if (run->test->loops->delayed)
			stress_delays(stress_random(&member->random));
		stress_skew(member, skews[stress_random(&member->random) % 6]);
		act(member, &span);
		stress_delays(0);
		wp_store_relaxed(&member->watch.rescued, 0);
		wp_store_release(&member->watch.done, round);
		stress_meet(member);
		if (member->index == 0)
			settle(run, &span, round);
	}
}
