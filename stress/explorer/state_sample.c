/* SPDX-License-Identifier: Apache-2.0
 * state_sample.c - random walks, for programs with too many states to see all.
 *
 *   uniform   each step is one of the choices, with equal probability
 *   PCT       threads and buffers have priorities, and the highest one that can move does; at d - 1
 *             random steps the one that moves falls below all others
 *
 * Why it works  It never claims a proof. Per walk, PCT finds a bug of depth d, one that takes d
 *               ordered events, with probability at least 1 / (n k^(d - 1)), for n threads and
 *               buffers and k steps. The longest walk with an end so far gives k. The bound
 *               therefore holds for the walks with an end that were drawn since k last grew. A
 *               thread that changes nothing by its step, or has run alone for long, falls as well:
 *               it spins, and would keep the others from what it waits for.
 * Paper         PCT: Burckhardt, Kothari, Musuvathi, Nagarakatte, ASPLOS 2010.
 * Spec          none.
 * Evidence      tests/judge/explore/test_engines.py. */
#include <stdlib.h>
#include <string.h>

#include "report.h"
#include "state_space.h"

enum { STEPS_MOST = 20000, ALONE_MOST = 64, MOVERS = 2 * EXPLORE_THREADS };

typedef struct walk {
	explore_machine *machine;
	uint64_t random;
	int priorities[MOVERS]; /* of threads, then of buffers; the highest priority runs */
	int lowest;
	uint64_t changes[EXPLORE_PCT_DEPTH - 1]; /* steps at which the mover falls */
	/* The number of walks with an end that were drawn since `longest` last grew. */
	uint64_t longest, since;
	int last, alone; /* the last mover, and its steps since another one moved */
} walk;

/* splitmix64 (Steele, Lea, Flood, OOPSLA 2014) */
static uint64_t draw(walk *walk, uint64_t below)
{
	uint64_t z = walk->random += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return (z ^ z >> 31) % below;
}

static void prepare(walk *walk, int depth)
{
	for (int i = 0; i < MOVERS; i++) { /* a random order */
		int other = (int)draw(walk, (uint64_t)i + 1);

		walk->priorities[i] = walk->priorities[other];
		walk->priorities[other] = i + 1;
	}
	walk->lowest = 0;
	walk->last = -1;
	walk->alone = 0;
	for (int i = 0; i + 1 < depth; i++)
		walk->changes[i] = draw(walk, walk->longest);
}

static int mover_of(explore_choice choice)
{
	return choice.thread + (choice.kind == EXPLORE_DRAIN ? EXPLORE_THREADS : 0);
}

static int highest(walk *walk, const explore_choice *choices, int count)
{
	int best = 0, same = 1;

	for (int i = 1; i < count; i++) {
		int mover = mover_of(choices[i]), first = mover_of(choices[best]);

		if (walk->priorities[mover] > walk->priorities[first]) {
			best = i;
			same = 1;
		} else if (mover == first && draw(walk, (uint64_t)++same) == 0)
			best = i;
	}
	return best;
}

static bool has_changed(const explore_machine *machine)
{
	for (int i = 0; i < machine->undo_count; i++)
		if (machine->values[machine->undo[i].location] != machine->undo[i].value)
			return true;
	for (int t = 0; t < machine->program->threads; t++)
		if (machine->touched >> t & 1 &&
		    (machine->before[t].position != machine->actors[t].position ||
		     machine->before[t].is_asleep != machine->actors[t].is_asleep ||
		     machine->before[t].buffered != machine->actors[t].buffered))
			return true;
	return false;
}

static void lower(walk *walk, uint64_t step, int mover, int depth)
{
	bool must_fall = !has_changed(walk->machine);

	walk->alone = mover == walk->last ? walk->alone + 1 : 0;
	walk->last = mover;
	for (int i = 0; i + 1 < depth; i++)
		must_fall |= walk->changes[i] == step;
	if (must_fall || walk->alone >= ALONE_MOST) {
		walk->priorities[mover] = --walk->lowest;
		walk->alone = 0;
	}
}

/* False: the walk had no end within STEPS_MOST. */
static bool walk_once(walk *walk, explore_choice *choices, enum explore_standing *standing,
		      enum explore_verdict *verdict)
{
	explore_machine *machine = walk->machine;
	int depth = machine->options->pct_depth;

	explore_machine_reset(machine);
	prepare(walk, depth);
	for (uint64_t step = 0; step < STEPS_MOST && !machine->error; step++) {
		int count = explore_machine_choices(machine, choices), at;

		*standing = machine->is_raced
				    ? EXPLORE_IS_OVER
				    : explore_machine_standing(machine, choices, count, verdict);
		if (machine->is_raced)
			*verdict = EXPLORE_RACE;
		if (*standing != EXPLORE_GOES_ON) {
			walk->since = step > walk->longest ? 0 : walk->since + 1;
			walk->longest = step > walk->longest ? step : walk->longest;
			return true;
		}
		at = depth ? highest(walk, choices, count) : (int)draw(walk, (uint64_t)count);
		explore_machine_take(machine, choices[at]);
		if (depth)
			lower(walk, step, mover_of(choices[at]), depth);
	}
	return false;
}

static void keep_example(explore_machine *machine, explore_outcome *outcome)
{
	explore_history *history = machine->history;

	if (explore_is_failure(outcome->verdict))
		explore_history_fail(machine);
	if (machine->is_raced)
		history->count = machine->events_raced;
	if (!explore_wants_example(outcome, history->count))
		return;
	free(outcome->example.events);
	outcome->example.verdict = outcome->verdict;
	memcpy(outcome->example.outcome, outcome->text, EXPLORE_TEXT);
	outcome->example.events = history->events;
	outcome->example.events_count = history->count;
	history->events = NULL;
	history->count = history->room = 0;
}

static void count_walk(walk *walk, enum explore_standing standing, enum explore_verdict verdict,
		       explore_report *report)
{
	char text[EXPLORE_TEXT];

	if (standing == EXPLORE_IS_ABANDONED) {
		report->blocked++;
		return;
	}
	explore_machine_outcome(walk->machine, &verdict, text);
	report->executions += verdict == EXPLORE_ENDED;
	keep_example(walk->machine, explore_count(report, text, verdict));
}

/* 1 / (n k^(d - 1)) */
static double bound_of(const walk *walk)
{
	const explore_options *options = walk->machine->options;
	double bound = 1.0 / walk->machine->program->threads;

	if (options->model == EXPLORE_TSO)
		bound /= 2; /* buffers move as well */
	for (int i = 1; i < options->pct_depth; i++)
		bound /= (double)walk->longest;
	return bound;
}

void explore_space_sample(explore_space *space, explore_report *report)
{
	explore_machine *machine = &space->machine;
	const explore_options *options = machine->options;
	walk walk = {.machine = machine, .random = options->seed, .longest = 1};
	explore_history history = {0};
	double start = explore_cpu_seconds();

	report->stopped = "sample";
	machine->history = &history;
	for (uint64_t i = 0; i < options->sample && !machine->error; i++) {
		enum explore_standing standing = EXPLORE_IS_ABANDONED;
		enum explore_verdict verdict = EXPLORE_ENDED;

		if (walk_once(&walk, space->choices, &standing, &verdict))
			count_walk(&walk, standing, verdict, report);
		else
			report->bounded++;
		if (options->max_seconds > 0 &&
		    explore_cpu_seconds() - start > options->max_seconds) {
			report->stopped = "max_seconds";
			break;
		}
	}
	report->depth = walk.longest;
	if (options->pct_depth && walk.since) {
		report->pct_bound = bound_of(&walk);
		report->pct_samples = walk.since;
	}
	machine->history = NULL;
	free(history.events);
	if (machine->error)
		strncat(report->error, machine->error, sizeof(report->error) - 1);
}
