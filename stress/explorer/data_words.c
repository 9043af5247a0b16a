/* SPDX-License-Identifier: Apache-2.0
 * data_words.c - parses the words of a line: registers, numbers, locations, orders, labels.
 *
 * Spec      none.
 * Evidence  tests/judge/explore/test_data.py. */
#include "data.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool data_fail(data *data, const char *format, ...)
{
	char text[200];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	snprintf(data->error, 256, "line %d: %s", data->line, text);
	return false;
}

int data_find_location(data *data, const char *name)
{
	for (int i = 0; i < data->program.locations; i++)
		if (strcmp(data->names[i], name) == 0)
			return i;
	return -1;
}

int data_add_location(data *data, const char *name)
{
	int found = data_find_location(data, name);

	if (found >= 0)
		return found;
	if (data->program.locations == EXPLORE_LOCATIONS || strlen(name) >= NAME) {
		data_fail(data, "no room for location %s", name);
		return -1;
	}
	strcpy(data->names[data->program.locations], name);
	data->program.location_names[data->program.locations] =
		data->names[data->program.locations];
	return data->program.locations++;
}

bool data_is_name(const char *word)
{
	if (!isalpha((unsigned char)*word) && *word != '_')
		return false;
	for (; *word; word++)
		if (!isalnum((unsigned char)*word) && *word != '_')
			return false;
	return true;
}

int data_register(const char *word)
{
	return word[0] == 'r' && word[1] >= '0' && word[1] < '0' + REGISTERS && !word[2]
		       ? word[1] - '0'
		       : -1;
}

bool data_read_operand(data *data, const char *word, operand *operand)
{
	char *end;

	operand->is_register = data_register(word) >= 0;
	if (operand->is_register) {
		operand->value = (uint64_t)data_register(word);
		return true;
	}
	operand->value = (uint64_t)strtoll(word, &end, 0);
	return (*end == '\0' && end != word) ||
	       data_fail(data, "%s is neither a number nor r0 .. r7", word);
}

bool data_read_location(data *data, const char *word, instruction *at)
{
	char name[NAME];
	const char *bracket = strchr(word, '[');
	size_t length = bracket ? (size_t)(bracket - word) : strlen(word);

	at->index = (operand){false, 0};
	if (length == 0 || length >= NAME)
		return data_fail(data, "%s is not a location", word);
	memcpy(name, word, length);
	name[length] = '\0';
	if (!data_is_name(name) || data_register(name) >= 0)
		return data_fail(data, "%s is not a location", word);
	if (bracket) {
		char index[NAME];
		size_t rest = strlen(bracket);

		if (rest < 3 || rest > NAME || bracket[rest - 1] != ']')
			return data_fail(data, "%s: write a[3] or a[r0]", word);
		memcpy(index, bracket + 1, rest - 2);
		index[rest - 2] = '\0';
		if (data_find_location(data, name) < 0)
			return data_fail(data, "%s is no array: declare `array %s SIZE`", name,
					 name);
		if (!data_read_operand(data, index, &at->index))
			return false;
	}
	at->step.location = data_add_location(data, name);
	return at->step.location >= 0;
}

bool data_read_order(data *data, const char *word, uint8_t *order)
{
	static const char *const names[] = {"plain",   "relaxed", "acquire",
					    "release", "acq_rel", "seq_cst"};

	for (uint8_t i = 0; i < 6; i++)
		if (strcmp(word, names[i]) == 0) {
			*order = i;
			return true;
		}
	return data_fail(
		data, "%s is no order: plain, relaxed, acquire, release, acq_rel or seq_cst", word);
}

int data_label(data *data, thread *thread, const char *name)
{
	for (int i = 0; i < thread->labels_count; i++)
		if (!strcmp(thread->labels[i], name))
			return i;
	if (thread->labels_count == LABELS_MOST || strlen(name) >= NAME) {
		data_fail(data, "no room for label %s", name);
		return -1;
	}
	thread->label_at[thread->labels_count] = -1;
	strcpy(thread->labels[thread->labels_count], name);
	return thread->labels_count++;
}
