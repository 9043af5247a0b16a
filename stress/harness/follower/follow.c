/* SPDX-License-Identifier: Apache-2.0
 * follow.c - runs a compiled scenario along given schedules, without tables, states or search.
 *
 *   FILE, one line each                   stdout
 *   j FILE LINE FILE LINE                 (a step at the first place is followed by one at the
 *                                         second)
 *   w NAME BITS                           (locations with NAME in their names wrap at that width)
 *   p                                     p: a path begins, and init makes the state
 *   s THREAD VALUE WOKEN                  s FILE LINE VALUE ASLEEP [OFFSET VALUE]...
 *                                         x WHY: the step cannot be taken; the next path follows
 *
 * The VALUE of a step is the result of a choice, or the way in which a sleeper wakes by itself
 * (enum explore_woken). WOKEN has one bit per thread that a wake chooses. The output has the site,
 * the value that the step returned (of joined steps the last one), the sleeping threads, and the
 * current values of the places that were touched. These include places that the actors wrote as
 * plain memory before their next operations.
 *
 * Why it works  Each actor is a coroutine that stops at every instrumented operation. The operation
 *               is then done on the real memory, and the actor runs on.
 * Spec          the paths are made from TLC's graphs.
 * Evidence      tests/judge/test_paths.py. */
#include "follow.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/engine/registry.h"

enum { JOINS = 4096, WRAPS = 8, TOUCHED = 256 };

typedef struct place {
	char file[64];
	int line;
} place;

static const stress_test *test;
static struct {
	place from, to;
} joins[JOINS];
static struct {
	char name[64];
	unsigned bits;
} wraps[WRAPS];
static int joins_count, wraps_count;
static struct {
	char *place;
	unsigned size;
} touched[TOUCHED];
static int touched_count;
static const char *why; /* why the step cannot be taken; NULL: it can */

void follow_touch(char *place, unsigned size)
{
	for (int i = 0; i < touched_count; i++)
		if (touched[i].place == place)
			return;
	if (touched_count == TOUCHED) {
		why = "it touches too many places";
		return;
	}
	touched[touched_count].place = place;
	touched[touched_count++].size = size;
}

/* Actors. */

static int count(void)
{
	int actors_count = 0;

	while (actors_count < STRESS_ACTORS && test->actors[actors_count])
		actors_count++;
	return actors_count;
}

static void body(void)
{
	test->actors[follow_running](EXPLORE_BASE, &follow_actors[follow_running].result);
	follow_actors[follow_running].is_done = true;
	explore_pause();
}

/* Numbers that wrap early, as in the explorer's joins.c. */
static void wrap(const follow_operation *wants)
{
	for (int i = 0; i < wraps_count; i++)
		if (strstr(wants->site.what, wraps[i].name))
			follow_write(wants->place, wants->size,
				     follow_read(wants->place, wants->size) &
					     ((UINT64_C(1) << wraps[i].bits) - 1));
}

/* Lets the actor run to its next operation. */
static void run(int which, uint64_t given)
{
	static const char *const returns[] = {NULL, "the actor runs on without a step",
					      "the actor overflows its stack",
					      "the actor touches memory that is not there"};

	const char *wrong;

	follow_actors[which].given = given;
	follow_running = which;
	wrong = returns[explore_resume(which)];
	why = wrong ? wrong : why;
	follow_running = FOLLOW_NOBODY;
}

static void begin(void)
{
	memset(EXPLORE_BASE, 0, EXPLORE_ARENA);
	memset(follow_actors, 0, sizeof(follow_actors));
	follow_events = 0;
	touched_count = 0;
	why = NULL;
	if (test->init)
		test->init(EXPLORE_BASE);
	for (int which = 0; which < count() && !why; which++) {
		explore_begin(which, 0, body);
		run(which, 0);
	}
}

/* Steps. */

static uint64_t wait(int which)
{
	follow_actor *own = &follow_actors[which];

	if (follow_do(&own->wants) != own->wants.expected) {
		run(which, EXPLORE_AGAIN);
		return EXPLORE_AGAIN;
	}
	own->is_asleep = true;
	return EXPLORE_WOKEN;
}

static uint64_t wake(int which, unsigned woken)
{
	follow_operation wants = follow_actors[which].wants;
	uint64_t sleepers = 0, chosen = (uint64_t)__builtin_popcount(woken);

	for (int other = 0; other < count(); other++) {
		bool can = follow_actors[other].is_asleep &&
			   follow_actors[other].wants.place == wants.place;

		sleepers += can;
		if (woken >> other & 1 && !can)
			why = "it wakes a thread that does not sleep there";
	}
	if (chosen != (sleepers < wants.operand ? sleepers : wants.operand))
		why = "it wakes another number of sleepers";
	for (int other = 0; other < count() && !why; other++)
		if (woken >> other & 1) {
			follow_actors[other].is_asleep = false;
			run(other, EXPLORE_WOKEN);
		}
	if (!why)
		run(which, chosen);
	return chosen;
}

static uint64_t step(int which, uint64_t value, unsigned woken)
{
	follow_actor *own = &follow_actors[which];
	follow_operation wants = own->wants;

	if (wants.place)
		follow_touch(wants.place, wants.size);
	if (own->is_asleep) {
		own->is_asleep = false;
		run(which, value);
		return value;
	}
	switch (wants.kind) {
	case EXPLORE_WAIT:
		return wait(which);
	case EXPLORE_WAKE:
		return wake(which, woken);
	case EXPLORE_CHOOSE:
		if (value >= wants.operand)
			why = "there are fewer choices";
		break;
	case EXPLORE_LOCAL: /* the value that litmus_return gives */
		value = wants.operand;
		break;
	default:
		value = follow_do(&wants);
		wrap(&wants);
	}
	if (!why)
		run(which, value);
	return value;
}

static bool is_at(const wp__explore_site *site, const place *at)
{
	return site->line == at->line && !strcmp(site->file, at->file);
}

static bool are_joined(const wp__explore_site *from, const wp__explore_site *to)
{
	for (int i = 0; i < joins_count; i++)
		if (is_at(from, &joins[i].from) && is_at(to, &joins[i].to))
			return true;
	return false;
}

/* Takes the step and the steps that are joined to it. */
static void follow(int which, uint64_t value, unsigned woken)
{
	wp__explore_site first = follow_actors[which].wants.site, site = first;
	unsigned asleep = 0;

	touched_count = 0;
	for (;;) {
		value = step(which, value, woken);
		if (why || follow_actors[which].is_asleep || follow_actors[which].is_done ||
		    !are_joined(&site, &follow_actors[which].wants.site))
			break;
		site = follow_actors[which].wants.site;
	}
	if (why) {
		printf("x [%s:%d] %s\n", site.file, site.line, why);
		return;
	}
	for (int other = 0; other < count(); other++)
		asleep |= (unsigned)follow_actors[other].is_asleep << other;
	printf("s %s %d %" PRIu64 " %u", first.file, first.line, value, asleep);
	for (int i = 0; i < touched_count; i++)
		printf(" %td %" PRIu64, touched[i].place - EXPLORE_BASE,
		       follow_read(touched[i].place, touched[i].size));
	putchar('\n');
}

static void refuse(const char *what, const char *value)
{
	fprintf(stderr, "follow: %s: %s\n", what, value);
	exit(2);
}

static void take(const char *line)
{
	uint64_t value;
	unsigned which, woken;
	place *from = &joins[joins_count].from, *to = &joins[joins_count].to;

	if (line[0] == 'p') {
		begin();
		puts("p");
		if (why)
			printf("x %s\n", why);
	} else if (sscanf(line, "s %u %" SCNu64 " %u", &which, &value, &woken) == 3) {
		if (why)
			return;
		if (which >= (unsigned)count() || follow_actors[which].is_done)
			printf("x %s\n", why = "the thread has ended");
		else
			follow((int)which, value, woken);
	} else if (joins_count < JOINS - 1 && sscanf(line, "j %63s %d %63s %d", from->file,
						     &from->line, to->file, &to->line) == 4)
		joins_count++;
	else if (wraps_count < WRAPS - 1 &&
		 sscanf(line, "w %63s %u", wraps[wraps_count].name, &wraps[wraps_count].bits) ==
			 2 &&
		 wraps[wraps_count].bits - 1 < 63)
		wraps_count++;
	else
		refuse(line, "is no line of a schedule");
}

int main(int arguments, char **argument)
{
	char line[256];
	FILE *file;

	if (arguments != 3)
		refuse("follow", "give TEST FILE");
	test = stress_find_test(argument[1]);
	if (!test)
		refuse(argument[1], "is no scenario of this program");
	file = fopen(argument[2], "r");
	if (!file)
		refuse(argument[2], "cannot be read");
	if (!explore_map())
		refuse("memory", "the fixed addresses are taken");
	while (fgets(line, sizeof(line), file))
		take(line);
	fclose(file);
	return 0;
}
