/* SPDX-License-Identifier: Apache-2.0
 * own_history.c - the calls and returns of an object's operations, for `wakeproof linear`.
 *
 *   wakeproof_call("push", 1)   "push 1 2:1"         1 return of thread 2 came before this call
 *   wakeproof_return(0)         "push 1 2:1 = 0;"
 *
 * Why it works  An operation comes before another one if its return happens before the other's
 *               call. Under SC each call acquires and each return releases one word, so all returns
 *               that came before, in this interleaving, happen before the call: real time. Under
 *               other models that word would be a fence that the program does not have. There the
 *               program's own synchronization decides.
 *               An execution's history is written to a file, once, and its outcome is its number.
 * Spec          none.
 * Evidence      tests/judge/linear/test_own.py. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "own.h"

enum { HISTORIES = 1 << 16, ROOM = EXPLORE_THREADS * OWN_HISTORY };

static void note(const char *text)
{
	own_fiber *me = own_now;
	size_t size = strlen(text);

	own_is_pure = false; /* what happened before is no part of the position */
	if (me->history_size + size > OWN_HISTORY) {
		own_refuse("thread %d calls too many operations: its history has more than %d "
			   "bytes",
			   own_thread(), OWN_HISTORY);
		own_pause();
	}
	memcpy(me->history + me->history_size, text, size);
	me->history_size += (uint32_t)size;
}

static bool is_in_operation(void)
{
	return own_now->history_size && own_now->history[own_now->history_size - 1] != ';';
}

/* It becomes a method's name, and is cut at 60 bytes. */
static bool is_name(const char *text)
{
	size_t size = 0;

	while (isalnum((unsigned char)text[size]) || text[size] == '_')
		size++;
	return size && size <= 60 && !text[size] && !isdigit((unsigned char)text[0]);
}

OWN(void, wakeproof_call, const char *operation, long argument)
{
	char text[OWN_MESSAGE];
	int used;

	if (!own_now)
		return;
	if (!is_name(operation)) {
		own_refuse("linear_call(%.60s, ...): the name of an operation has letters, digits "
			   "and _, at most 60",
			   operation);
		own_pause();
	}
	if (is_in_operation()) {
		own_refuse("thread %d calls %s before its last operation has returned: "
			   "linear_return is missing",
			   own_thread(), operation);
		own_pause();
	}
	if (own_is_sc)
		own_update(EXPLORE_ADD, OWN_CLOCK, 4, 0, EXPLORE_ACQUIRE, operation, OWN_PC);
	used = snprintf(text, sizeof(text), "%.60s %ld", operation, argument);
	for (int t = 0; t < own_program.threads; t++) {
		int known = 0;

		while (t != own_thread() && known < own_fibers[t].returns &&
		       own_fibers[t].returned_in[known] < own_now->clock.at[t])
			known++;
		if (known)
			used += snprintf(text + used, sizeof(text) - (size_t)used, " %d:%d", t,
					 known);
	}
	note(text);
}

OWN(void, wakeproof_return, long value)
{
	char text[OWN_MESSAGE];

	if (!own_now)
		return;
	if (!is_in_operation()) {
		own_refuse("thread %d returns %ld from no operation: linear_call is missing",
			   own_thread(), value);
		own_pause();
	}
	snprintf(text, sizeof(text), " = %ld;", value);
	note(text);
	if (own_now->returns == OWN_RETURNS) {
		own_refuse("thread %d returns from more than %d operations", own_thread(),
			   OWN_RETURNS);
		own_pause();
	}
	own_now->returned_in[own_now->returns++] = own_now->segment;
	if (own_is_sc)
		own_update(EXPLORE_ADD, OWN_CLOCK, 4, 0, EXPLORE_RELEASE, "return", OWN_PC);
}

/* The number of a history, which is new or known. */
static unsigned number(const char *history)
{
	static struct {
		uint64_t a, b;
	} known[HISTORIES];
	static unsigned numbers[HISTORIES], count;
	static FILE *file;
	own_digest digest = {13, 14};
	uint32_t slot;

	for (const char *at = history; *at; at++)
		digest = own_mix(digest, (unsigned char)*at);
	slot = digest.a % HISTORIES;
	while (numbers[slot] && (known[slot].a != digest.a || known[slot].b != digest.b))
		slot = (slot + 1) % HISTORIES;
	if (numbers[slot])
		return numbers[slot];
	if (2 * count >= HISTORIES) {
		own_refuse("more than %d histories", HISTORIES / 2);
		return 0;
	}
	known[slot].a = digest.a;
	known[slot].b = digest.b;
	numbers[slot] = ++count;
	if (!file && getenv("WAKEPROOF_HISTORIES"))
		file = fopen(getenv("WAKEPROOF_HISTORIES"), "w");
	if (!file && getenv("WAKEPROOF_HISTORIES"))
		own_refuse("the file of histories, %s, cannot be written: %s",
			   getenv("WAKEPROOF_HISTORIES"), strerror(errno));
	if (file) {
		fprintf(file, "%u %s\n", count, history);
		fflush(file);
	}
	return count;
}

bool own_history_outcome(const char *const histories[EXPLORE_THREADS], char text[EXPLORE_TEXT])
{
	static char all[ROOM + EXPLORE_THREADS * 8];
	size_t used = 0;

	for (int t = 0; t < own_program.threads; t++)
		if (histories[t])
			used += (size_t)snprintf(all + used, sizeof(all) - used, "%d|%s|", t,
						 histories[t]);
	if (used)
		snprintf(text, EXPLORE_TEXT, "history %u", number(all));
	return used > 0;
}
