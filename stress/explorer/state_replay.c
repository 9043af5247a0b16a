/* SPDX-License-Identifier: Apache-2.0
 * state_replay.c - executes one schedule again, without exploring any other.
 *
 *   schedule   KIND.THREAD.WOKEN for each choice, separated by spaces; a `|` where a cycle begins
 *
 * Why it works  A choice does not depend on numbers that the exploration has assigned. Each choice
 *               is checked to be possible, and a cycle is checked to end where it began. So the
 *               result is an execution of this program, or the schedule is refused.
 * Spec          none.
 * Evidence      tests/judge/explore/test_replay.py. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "state_space.h"

enum { CHOICE_TEXT = 16, TURNS_MOST = 1 << 10 };

static char *add(char *at, explore_choice choice)
{
	return at + sprintf(at, "%u.%u.%u ", choice.kind, choice.thread, choice.woken);
}

char *explore_schedule(const explore_choice *way, int count, const explore_route *around)
{
	int more = around ? around->count : 0;
	char *text = malloc((size_t)(count + more + 1) * CHOICE_TEXT), *at = text;

	if (!text)
		return NULL;
	*at = '\0';
	for (int i = 0; i < count; i++)
		at = add(at, way[i]);
	if (around && !around->leads_on)
		at += sprintf(at, "| ");
	for (int i = 0; i < more; i++)
		at = add(at, around->choices[i]);
	return text;
}

/* The state in which a cycle began. */
typedef struct mark {
	bool is_set;
	int event; /* the next event */
	uint64_t values[EXPLORE_LOCATIONS];
	explore_actor actors[EXPLORE_THREADS];
} mark;

static void note(const explore_machine *machine, mark *mark)
{
	memcpy(mark->values, machine->values, sizeof(mark->values));
	memcpy(mark->actors, machine->actors, sizeof(mark->actors));
}

static void set_mark(const explore_machine *machine, mark *mark)
{
	mark->is_set = true;
	mark->event = machine->history->count;
	note(machine, mark);
}

static bool is_same_actor(const explore_actor *a, const explore_actor *b)
{
	bool is_same = a->position == b->position && a->segment == b->segment &&
		       a->is_asleep == b->is_asleep && a->buffered == b->buffered &&
		       a->spurious == b->spurious;

	for (int i = 0; is_same && i < a->buffered; i++)
		is_same = a->buffer[i].location == b->buffer[i].location &&
			  a->buffer[i].value == b->buffer[i].value;
	return is_same;
}

static bool is_back(const explore_machine *machine, const mark *mark)
{
	for (int t = 0; t < machine->program->threads; t++)
		if (!is_same_actor(&machine->actors[t], &mark->actors[t]))
			return false;
	return !memcmp(machine->values, mark->values,
		       (size_t)machine->locations * sizeof(mark->values[0]));
}

static bool take(explore_space *space, explore_choice choice)
{
	int count = explore_machine_choices(&space->machine, space->choices);

	for (int i = 0; i < count; i++)
		if (!memcmp(&space->choices[i], &choice, sizeof(choice)))
			return explore_machine_take(&space->machine, choice);
	return false;
}

/* False: there is no such execution. */
static bool follow(explore_space *space, const char *schedule, mark *mark)
{
	unsigned kind, thread, woken;

	for (int length; *schedule; schedule += length) {
		length = 2;
		if (!strncmp(schedule, "| ", 2))
			set_mark(&space->machine, mark);
		else if (sscanf(schedule, "%u.%u.%u %n", &kind, &thread, &woken, &length) != 3 ||
			 !take(space,
			       (explore_choice){(uint8_t)kind, (uint8_t)thread, (uint16_t)woken}))
			return false;
	}
	return true;
}

/* Does the cycle return to the state in which it began? With merged positions it may take a few
 * more turns, so the state is recorded again after 1, 2, 4, 8, ... turns. */
static bool goes_round(explore_space *space, mark *mark)
{
	explore_machine *machine = &space->machine;
	const char *cycle = strchr(machine->options->replay, '|') + strlen("| ");
	explore_history *history = machine->history;
	bool is_round;

	machine->history = NULL; /* only one turn is shown */
	for (int turns = 1; !(is_round = is_back(machine, mark)) && turns < TURNS_MOST; turns++) {
		if (!(turns & (turns - 1)))
			note(machine, mark);
		if (!follow(space, cycle, mark))
			break;
	}
	machine->history = history;
	return is_round;
}

static bool judge(explore_space *space, mark *mark, enum explore_verdict *verdict)
{
	explore_machine *machine = &space->machine;
	int count = explore_machine_choices(machine, space->choices);

	*verdict = EXPLORE_RACE;
	if (machine->is_raced)
		return true;
	*verdict = EXPLORE_STUCK;
	if (mark->is_set)
		return goes_round(space, mark);
	return explore_machine_standing(machine, space->choices, count, verdict) == EXPLORE_IS_OVER;
}

void explore_space_replay(explore_space *space, explore_report *report)
{
	static mark mark;
	explore_machine *machine = &space->machine;
	explore_history history = {0};
	explore_outcome *outcome;
	enum explore_verdict verdict;
	char text[EXPLORE_TEXT];

	mark.is_set = false;
	machine->history = &history;
	explore_machine_reset(machine);
	report->stopped = "replay";
	if (!follow(space, machine->options->replay, &mark) || !judge(space, &mark, &verdict)) {
		snprintf(report->error, sizeof(report->error), "%s",
			 machine->error ? machine->error : "the schedule is none of this program");
		free(history.events);
		machine->history = NULL;
		return;
	}
	explore_machine_outcome(machine, &verdict, text);
	if (explore_is_failure(verdict))
		explore_history_fail(machine);
	machine->history = NULL;
	if (machine->is_raced)
		history.count = machine->events_raced;
	outcome = explore_count(report, text, verdict);
	outcome->example = (explore_example){.verdict = verdict,
					     .cycle_from = mark.is_set ? mark.event : -1,
					     .events = history.events,
					     .events_count = history.count};
}
