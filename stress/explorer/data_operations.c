/* SPDX-License-Identifier: Apache-2.0
 * data_operations.c - parses the lines of a thread that are operations; data.c describes them.
 *
 * Spec      none.
 * Evidence  tests/judge/explore/test_data.py. */
#include <stdio.h>
#include <string.h>

#include "data.h"

static bool is_one_of(uint8_t order, unsigned allowed)
{
	return allowed >> order & 1;
}

#define BIT(order) (1u << EXPLORE_##order)
enum {
	LOADS = BIT(PLAIN) | BIT(RELAXED) | BIT(ACQUIRE) | BIT(SEQ_CST),
	STORES = BIT(PLAIN) | BIT(RELAXED) | BIT(RELEASE) | BIT(SEQ_CST),
	UPDATES = BIT(RELAXED) | BIT(ACQUIRE) | BIT(RELEASE) | BIT(ACQ_REL) | BIT(SEQ_CST),
	FENCES = BIT(ACQUIRE) | BIT(RELEASE) | BIT(ACQ_REL) | BIT(SEQ_CST),
};

static bool check_order(data *data, const char *what, uint8_t order, unsigned allowed)
{
	return is_one_of(order, allowed) || data_fail(data, "%s cannot have this order", what);
}

static bool read_load(data *data, char **words, int count, instruction *at)
{
	if (count != 3)
		return data_fail(data, "write: r0 = load x ORDER");
	if (!data_read_location(data, words[1], at) ||
	    !data_read_order(data, words[2], &at->step.order))
		return false;
	at->kind = at->step.order == EXPLORE_PLAIN ? EXPLORE_PLAIN_LOAD : EXPLORE_LOAD;
	return check_order(data, "a load", at->step.order, LOADS);
}

static bool read_store(data *data, char **words, int count, instruction *at)
{
	if (count != 4)
		return data_fail(data, "write: store x VALUE ORDER");
	if (!data_read_location(data, words[1], at) || !data_read_operand(data, words[2], &at->a) ||
	    !data_read_order(data, words[3], &at->step.order))
		return false;
	at->kind = at->step.order == EXPLORE_PLAIN ? EXPLORE_PLAIN_STORE : EXPLORE_STORE;
	return check_order(data, "a store", at->step.order, STORES);
}

static bool read_update(data *data, char **words, int count, instruction *at)
{
	if (count != 4)
		return data_fail(data, "write: r0 = %s x VALUE ORDER", words[0]);
	at->kind = !strcmp(words[0], "exchange") ? EXPLORE_EXCHANGE
		   : !strcmp(words[0], "add")    ? EXPLORE_ADD
		   : !strcmp(words[0], "or")     ? EXPLORE_OR
						 : EXPLORE_AND;
	return data_read_location(data, words[1], at) &&
	       data_read_operand(data, words[2], &at->a) &&
	       data_read_order(data, words[3], &at->step.order) &&
	       check_order(data, words[0], at->step.order, UPDATES);
}

static bool read_cas(data *data, char **words, int count, instruction *at)
{
	if (count != 6)
		return data_fail(data, "write: r0 = %s x EXPECTED DESIRED ORDER FAIL_ORDER",
				 words[0]);
	at->kind = EXPLORE_CAS;
	at->step.is_weak = !strcmp(words[0], "cas_weak");
	return data_read_location(data, words[1], at) &&
	       data_read_operand(data, words[2], &at->b) &&
	       data_read_operand(data, words[3], &at->a) &&
	       data_read_order(data, words[4], &at->step.order) &&
	       check_order(data, words[0], at->step.order, UPDATES) &&
	       data_read_order(data, words[5], &at->step.fail_order) &&
	       check_order(data, "the failure", at->step.fail_order, LOADS & ~1u);
}

static bool read_fence(data *data, char **words, int count, instruction *at)
{
	if (count != 2)
		return data_fail(data, "write: fence ORDER, fence light or fence heavy");
	at->kind = EXPLORE_FENCE;
	if (!strcmp(words[1], "light") || !strcmp(words[1], "heavy")) {
		at->kind = *words[1] == 'l' ? EXPLORE_LIGHT_FENCE : EXPLORE_HEAVY_FENCE;
		at->step.order = EXPLORE_SEQ_CST;
		return true;
	}
	return data_read_order(data, words[1], &at->step.order) &&
	       check_order(data, "a fence", at->step.order, FENCES);
}

static bool read_futex(data *data, char **words, int count, instruction *at)
{
	if (count != 3)
		return data_fail(data, "write: r0 = wait x EXPECTED, or r0 = wake x COUNT");
	at->kind = !strcmp(words[0], "wake") ? EXPLORE_WAKE : EXPLORE_WAIT;
	at->step.has_deadline = !strcmp(words[0], "wait_until");
	return data_read_location(data, words[1], at) &&
	       data_read_operand(data, words[2], at->kind == EXPLORE_WAKE ? &at->a : &at->b);
}

static bool read_condition(data *data, char **words, instruction *at)
{
	static const char *const operators[] = {"==", "!=", "<", "<=", ">", ">="};

	for (int i = 0; i < 6; i++)
		if (!strcmp(words[1], operators[i])) {
			strcpy(at->operator, operators[i]);
			return data_read_operand(data, words[0], &at->a) &&
			       data_read_operand(data, words[2], &at->b);
		}
	return data_fail(data, "%s is no comparison: == != < <= > >=", words[1]);
}

static bool read_jump(data *data, thread *thread, char **words, int count, instruction *at)
{
	bool is_if = !strcmp(words[0], "if");

	at->kind = is_if ? IF : GOTO;
	if (count != (is_if ? 6 : 2) || (is_if && strcmp(words[4], "goto")))
		return data_fail(data, "write: if A == B goto LABEL, or goto LABEL");
	if (is_if && !read_condition(data, words + 1, at))
		return false;
	at->target = data_label(data, thread, words[count - 1]);
	return at->target >= 0;
}

static bool read_local(data *data, char **words, int count, instruction *at)
{
	at->kind = SET;
	if (count == 1) {
		strcpy(at->operator, "+");
		at->b = (operand){false, 0};
		return data_read_operand(data, words[0], &at->a);
	}
	if (count != 3 || strlen(words[1]) != 1 || !strchr("+-&|^*", *words[1]))
		return data_fail(data, "write: r0 = A, or r0 = A + B (+ - & | ^ *)");
	strcpy(at->operator, words[1]);
	return data_read_operand(data, words[0], &at->a) &&
	       data_read_operand(data, words[2], &at->b);
}

bool data_read_instruction(data *data, thread *thread, char **words, int count)
{
	instruction *at = &thread->code[thread->length];
	const char *word;

	if (thread->length == CODE_MOST)
		return data_fail(data, "a thread has more than %d lines", CODE_MOST);
	*at = (instruction){.into = -1, .line = data->line, .step = {.size = 8, .location = -1}};
	thread->length++;
	if (count > 2 && !strcmp(words[1], "=")) {
		at->into = data_register(words[0]);
		if (at->into < 0)
			return data_fail(data, "%s is no register: r0 .. r7", words[0]);
		words += 2;
		count -= 2;
	}
	word = words[0];
	if (!strcmp(word, "load"))
		return read_load(data, words, count, at);
	if (!strcmp(word, "store"))
		return read_store(data, words, count, at);
	if (!strcmp(word, "exchange") || !strcmp(word, "add") || !strcmp(word, "or") ||
	    !strcmp(word, "and"))
		return read_update(data, words, count, at);
	if (!strcmp(word, "cas") || !strcmp(word, "cas_weak"))
		return read_cas(data, words, count, at);
	if (!strcmp(word, "fence"))
		return read_fence(data, words, count, at);
	if (!strcmp(word, "wait") || !strcmp(word, "wait_until") || !strcmp(word, "wake"))
		return read_futex(data, words, count, at);
	if (!strcmp(word, "if") || !strcmp(word, "goto"))
		return read_jump(data, thread, words, count, at);
	if (!strcmp(word, "step") && count == 1) {
		at->kind = EXPLORE_LOCAL;
		return true;
	}
	if (!strcmp(word, "assume") || !strcmp(word, "assert")) {
		at->kind = word[2] == 's' && word[3] == 'u' ? ASSUME : ASSERT;
		if (count == 4)
			snprintf(at->text, sizeof(at->text), "%s %s %s", words[1], words[2],
				 words[3]);
		return count == 4 ? read_condition(data, words + 1, at)
				  : data_fail(data, "write: %s A == B", word);
	}
	return at->into >= 0 ? read_local(data, words, count, at)
			     : data_fail(data, "%s is not an operation", word);
}
