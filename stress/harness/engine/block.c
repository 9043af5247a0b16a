/* SPDX-License-Identifier: Apache-2.0
 * block.c - scenarios that never sleep: a block of independent states, and a rendezvous per stride.
 *
 * Why it works  The actors start each stride together and run through it at full speed. A small
 *               stride keeps them side by side, a large one lets them drift apart, and the sweep
 *               covers both. Counting is a phase of its own that all threads share. A block in
 *               which an actor looped for ever counts as one sample, "stuck". */
#include "engine.h"

enum { SKEW = 24 }; /* short steps, about 20 ns at most: the first actor must vary */

static stress_span span_of(stress_member *member)
{
	stress_run *run = member->run;
	stress_span span = {
		.states = run->states, .direct = member->tally.direct, .tally = &member->tally};

	memcpy(span.seen, run->seen, sizeof(span.seen));
	memcpy(span.wide, run->wide, sizeof(span.wide));
	return span;
}

/* An actor that is taken out of a stride goes on with the next one: longjmp keeps the span, which is
 * the caller's. One setjmp per block, because it takes as long as an actor or two. */
static void act(stress_member *member, stress_span *span)
{
	stress_run *run = member->run;
	int why;

	if (run->test->loops->delayed)
		stress_delays(stress_random(&member->random));
	span->end = 0;
	why = setjmp(member->out_of_actor);
	if (why)
		stress_left(member, why);
	while (span->end < run->used) {
		span->first = span->end;
		span->end = span->first + run->stride < run->used ? span->first + run->stride
								  : run->used;
		stress_meet(member);
		if (wp_load_relaxed(&run->is_abandoned))
			continue;
		stress_skew(member, SKEW);
		member->in_actor = 1;
		run->test->loops->act[member->index](span);
		member->in_actor = 0;
	}
	stress_delays(0);
}

static void settle(stress_member *member, stress_span *span)
{
	stress_run *run = member->run;
	size_t part = (run->used + (size_t)run->actors - 1) / (size_t)run->actors;

	span->first = part * (size_t)member->index;
	span->end = span->first + part < run->used ? span->first + part : run->used;
	if (!wp_load_relaxed(&run->is_abandoned)) {
		if (span->first < span->end)
			run->test->loops->settle(span);
		return;
	}
	for (size_t i = span->first; i < span->end; i++) {
		char *state = run->states + i * stress_step(run->test);

		if (run->test->fini)
			run->test->fini(state);
		stress__renew(run->test, state);
	}
}

void stress_block_body(stress_member *member)
{
	stress_run *run = member->run;
	stress_span span = span_of(member);

	for (;;) {
		if (member->index == 0)
			stress_plan(run);
		stress_meet(member);
		if (run->stop)
			return;
		stress_place(member);
		act(member, &span);
		stress_meet(member);
		settle(member, &span);
		stress_meet(member);
	}
}
