/* SPDX-License-Identifier: Apache-2.0
 * data.c - the language of programs given as text: one thread after another, one operation per
 * line.
 *
 *   program NAME                      the first line; a line `end` separates two programs
 *   init x 5                          a location starts at 0 unless it has an init
 *   thread                            begins a thread; its registers r0 .. r7 start at 0
 *     store x 1 release               plain | relaxed | acquire | release | acq_rel | seq_cst
 *     r0 = load y acquire             plain: no order, checked for races
 *     r0 = exchange x 2 acq_rel       also add, or, and: return the old value
 *     r0 = cas x 0 1 acquire relaxed  expected, desired, order, order of the failure; old value
 *     r0 = cas_weak x 0 1 acquire relaxed     as cas; r7 := 1 if it took place, else 0
 *     fence seq_cst                   also acquire, release, acq_rel, light, heavy
 *     r0 = wait x 1                   futex: 0 woken, 1 x was not 1
 *     r0 = wait_until x 1             the same; may time out (2) if time-outs are explored
 *     r0 = wake x 1                   how many were woken
 *     step                            a scheduling point of its own
 *     r1 = r0 + 1                     + - & | ^ * ; local, as the next three: no step
 *     if r0 == 1 goto again           == != < <= > >=, unsigned
 *     goto again                      `again:` on a line of its own is the label
 *     assume r0 == 1                  otherwise the execution does not count
 *     assert r0 == 1                  otherwise the execution has failed
 *   observe 0:r0 1:r0 x               the outcome: registers of threads, final values
 *
 * Operands are numbers or registers. a[r0] is the location r0 places after `a`, where `array a 4`
 * stands before the first thread. A `#` begins a comment. A position is the line and the eight
 * registers; clear registers that are no longer used, because equal states would look different. */
#include "data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 32 };

static bool read_observe(data *data, char **words, int count)
{
	for (int i = 1; i < count; i++) {
		observed *what = &data->observed[data->observed_count];
		char *colon = strchr(words[i], ':');

		if (data->observed_count == OBSERVED_MOST)
			return data_fail(data, "more than %d things observed", OBSERVED_MOST);
		if (colon) {
			what->thread = atoi(words[i]);
			what->which = data_register(colon + 1);
			if (what->which < 0 || what->thread < 0 ||
			    what->thread >= data->program.threads)
				return data_fail(data, "%s: write 0:r0", words[i]);
		} else {
			what->thread = -1;
			what->which = data_find_location(data, words[i]);
			if (what->which < 0)
				return data_fail(data, "no location %s", words[i]);
		}
		data->observed_count++;
	}
	return true;
}

static bool read_array(data *data, char **words, int count)
{
	long size = count == 3 ? strtol(words[2], NULL, 10) : 0;

	if (count != 3 || !data_is_name(words[1]) || size < 1 || size > 64 || data->program.threads)
		return data_fail(data, "write, before the first thread: array a SIZE (1 .. 64)");
	for (long i = 0; i < size; i++) {
		char name[NAME + 24];

		snprintf(name, sizeof(name), i ? "%.20s_%ld" : "%.20s", words[1], i);
		if (data_add_location(data, name) < 0)
			return false;
	}
	return true;
}

static bool read_init(data *data, char **words, int count)
{
	instruction at = {.step.location = -1};
	operand value;

	if (count != 3 || data->program.threads)
		return data_fail(data, "write, before the first thread: init x VALUE");
	if (!data_read_location(data, words[1], &at) || !data_read_operand(data, words[2], &value))
		return false;
	if (value.is_register || at.index.is_register)
		return data_fail(data, "init takes numbers");
	data->program.initial[at.step.location + (int)at.index.value] = value.value;
	return true;
}

static bool read_thread(data *data)
{
	thread *thread = &data->threads[data->program.threads];

	if (data->program.threads == EXPLORE_THREADS)
		return data_fail(data, "more than %d threads", EXPLORE_THREADS);
	thread->code = calloc(CODE_MOST, sizeof(instruction));
	if (!thread->code)
		return data_fail(data, "no memory");
	data->program.threads++;
	return true;
}

static bool read_line(data *data, char **words, int count)
{
	int now = data->program.threads ? data->program.threads - 1 : 0;
	thread *thread = &data->threads[now];
	size_t last = strlen(words[0]) - 1;

	if (!strcmp(words[0], "program")) {
		if (*data->name || data->program.threads || data->program.locations)
			return data_fail(data, "a program begins, and the one before it has not "
					       "ended: `end` is missing");
		snprintf(data->name, sizeof(data->name), "%s", count > 1 ? words[1] : "?");
		return true;
	}
	if (!strcmp(words[0], "init"))
		return read_init(data, words, count);
	if (!strcmp(words[0], "array"))
		return read_array(data, words, count);
	if (!strcmp(words[0], "thread") && count == 1)
		return read_thread(data);
	if (!strcmp(words[0], "observe"))
		return read_observe(data, words, count);
	if (!data->program.threads)
		return data_fail(data, "%s stands before the first `thread`", words[0]);
	if (count == 1 && words[0][last] == ':') {
		int label;

		words[0][last] = '\0';
		label = data_label(data, thread, words[0]);
		if (label < 0)
			return false;
		if (thread->label_at[label] >= 0)
			return data_fail(data, "label %s stands twice", words[0]);
		thread->label_at[label] = thread->length;
		return true;
	}
	return data_read_instruction(data, thread, words, count);
}

static bool link_thread(data *data, thread *thread)
{
	for (int i = 0; i < thread->length; i++) {
		instruction *at = &thread->code[i];

		if (at->kind != IF && at->kind != GOTO)
			continue;
		if (thread->label_at[at->target] < 0) {
			data->line = at->line;
			return data_fail(data, "no label %s", thread->labels[at->target]);
		}
		at->target = thread->label_at[at->target];
	}
	return true;
}

static bool name_sites(data *data)
{
	int count = 0, at = 0;

	for (int t = 0; t < data->program.threads; t++)
		count += data->threads[t].length;
	data->sites = calloc((size_t)count + 1, sizeof(explore_site));
	data->texts = calloc((size_t)count + 1, sizeof(*data->texts));
	if (!data->sites || !data->texts)
		return data_fail(data, "no memory");
	for (int t = 0; t < data->program.threads; t++)
		for (int i = 0; i < data->threads[t].length; i++, at++) {
			snprintf(data->texts[at], sizeof(*data->texts), "thread %d", t);
			data->sites[at] = (explore_site){data->name, data->threads[t].code[i].line,
							 data->texts[at]};
			data->threads[t].code[i].step.site = (uint32_t)at;
		}
	data->program.sites = data->sites;
	data->program.sites_count = count;
	return true;
}

static bool parse(data *data, const char *text)
{
	char line[256], *words[WORDS + 1], *rest;

	while (*text) {
		size_t length = strcspn(text, "\n");
		int count = 0;

		data->line++;
		if (length >= sizeof(line))
			return data_fail(data, "longer than %zu bytes", sizeof(line) - 1);
		memcpy(line, text, length);
		line[length] = '\0';
		text += length + (text[length] == '\n');
		line[strcspn(line, "#")] = '\0';
		for (char *word = strtok_r(line, " \t\r", &rest); word && count < WORDS;
		     word = strtok_r(NULL, " \t\r", &rest))
			words[count++] = word;
		if (count == WORDS)
			return data_fail(data, "more than %d words", WORDS - 1);
		if (count && !read_line(data, words, count))
			return false;
	}
	if (!data->program.threads)
		return data_fail(data, "no thread");
	for (int t = 0; t < data->program.threads; t++)
		if (!link_thread(data, &data->threads[t]))
			return false;
	return name_sites(data);
}

explore_program *explore_parse(const char *text, char error[256])
{
	data *data = calloc(1, sizeof(*data));

	if (!data) {
		strcpy(error, "no memory");
		return NULL;
	}
	data->program = (explore_program){.name = data->name,
					  .start = data_start,
					  .at = data_at,
					  .next = data_next,
					  .outcome = data_outcome,
					  .destroy = data_destroy,
					  .own = data};
	data->error = error;
	error[0] = '\0';
	if (parse(data, text))
		return &data->program;
	data_destroy(&data->program);
	return NULL;
}
