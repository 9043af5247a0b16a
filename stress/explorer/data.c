/* SPDX-License-Identifier: Apache-2.0
 * data.c - a program given as text: one thread after another, one operation per line.
 *
 *   program NAME                      first line
 *   init x 5                          locations start at 0 unless said
 *   thread                            begins a thread; its registers r0 .. r7 start at 0
 *     store x 1 release               plain | relaxed | acquire | release | acq_rel | seq_cst
 *     r0 = load y acquire             plain: no order, checked for races
 *     r0 = exchange x 2 acq_rel       also add, or, and: gives the old value
 *     r0 = cas x 0 1 acquire relaxed  expected, desired, order, order of the failure; old value
 *     r0 = cas_weak x 0 1 acquire relaxed     as cas; r7 := 1 if it took place, else 0
 *     fence seq_cst                   also acquire, release, acq_rel, light, heavy
 *     r0 = wait x 1                   futex: 0 woken, 1 x was not 1
 *     r0 = wait_until x 1             the same; may time out (2) where timeouts are explored
 *     r0 = wake x 1                   how many were woken
 *     step                            a scheduling point of its own
 *     r1 = r0 + 1                     + - & | ^ * ; local, as the next three: no step
 *     if r0 == 1 goto again           == != < <= > >=, unsigned
 *     goto again                      `again:` on a line of its own names the place
 *     assume r0 == 1                  else the execution does not count
 *     assert r0 == 1                  else it has failed
 *   observe 0:r0 1:r0 x               the outcome: registers of threads, final values
 *
 * Operands are numbers or registers; a[r0] is the location `a` moved by r0 places, where
 * `array a 4` stands before the first thread. A `#` begins a comment. A position is the place and the
 * eight registers: clear what is dead, or equal states look different. */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "program.h"

enum { REGISTERS = 8, CODE_MOST = 512, LABELS_MOST = 64, OBSERVED_MOST = 24, NAME = 32, WORDS = 32,
       LOCAL_STEPS_MOST = 10000 };

enum local { SET = 64, IF, GOTO, ASSUME, ASSERT }; /* beyond enum explore_kind */

typedef struct operand {
	bool is_register;
	uint64_t value; /* or the register's number */
} operand;

typedef struct instruction {
	int kind;        /* enum explore_kind or enum local */
	int into;        /* register, or -1 */
	explore_step step;
	operand index;   /* of the location */
	operand a, b;    /* operand and expected; or the two sides */
	char operator[3];
	int target;      /* IF, GOTO: instruction; before linking: label */
	int line;
} instruction;

typedef struct state { /* what a position names */
	int64_t pc;
	uint64_t registers[REGISTERS];
} state;

typedef struct thread {
	instruction *code;
	int length;
	state *states; /* by position */
	uint32_t states_count, states_room;
	uint32_t *table; /* open addressing, position + 1 */
	uint32_t table_size;
	char labels[LABELS_MOST][NAME];
	int label_at[LABELS_MOST], labels_count;
} thread;

typedef struct observed {
	int thread; /* -1: a location */
	int which;
} observed;

typedef struct data {
	explore_program program;
	thread threads[EXPLORE_THREADS];
	char names[EXPLORE_LOCATIONS][NAME];
	char name[NAME * 2];
	observed observed[OBSERVED_MOST];
	int observed_count;
	explore_site *sites;
	char (*texts)[NAME * 2];
	explore_step step; /* what `at` returned last */
	char *error;       /* while parsing */
	int line;
} data;

static bool fail(data *data, const char *format, ...)
{
	char text[200];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	snprintf(data->error, 256, "line %d: %s", data->line, text);
	return false;
}

/* Names. */

static int find_location(data *data, const char *name)
{
	for (int i = 0; i < data->program.locations; i++)
		if (strcmp(data->names[i], name) == 0)
			return i;
	return -1;
}

static int add_location(data *data, const char *name)
{
	int found = find_location(data, name);

	if (found >= 0)
		return found;
	if (data->program.locations == EXPLORE_LOCATIONS || strlen(name) >= NAME) {
		fail(data, "no room for location %s", name);
		return -1;
	}
	strcpy(data->names[data->program.locations], name);
	data->program.location_names[data->program.locations] =
		data->names[data->program.locations];
	return data->program.locations++;
}

static bool is_name(const char *word)
{
	if (!isalpha((unsigned char)*word) && *word != '_')
		return false;
	for (; *word; word++)
		if (!isalnum((unsigned char)*word) && *word != '_')
			return false;
	return true;
}

static int register_of(const char *word)
{
	return word[0] == 'r' && word[1] >= '0' && word[1] < '0' + REGISTERS && !word[2]
		       ? word[1] - '0'
		       : -1;
}

static bool read_operand(data *data, const char *word, operand *operand)
{
	char *end;

	operand->is_register = register_of(word) >= 0;
	if (operand->is_register) {
		operand->value = (uint64_t)register_of(word);
		return true;
	}
	operand->value = (uint64_t)strtoll(word, &end, 0);
	return *end == '\0' && end != word ? true
					   : fail(data, "%s is neither a number nor r0 .. r7", word);
}

/* x, or a[3], or a[r0]. */
static bool read_location(data *data, const char *word, instruction *at)
{
	char name[NAME];
	const char *bracket = strchr(word, '[');
	size_t length = bracket ? (size_t)(bracket - word) : strlen(word);

	at->index = (operand){false, 0};
	if (length == 0 || length >= NAME)
		return fail(data, "%s is not a location", word);
	memcpy(name, word, length);
	name[length] = '\0';
	if (!is_name(name) || register_of(name) >= 0)
		return fail(data, "%s is not a location", word);
	if (bracket) {
		char index[NAME];
		size_t rest = strlen(bracket);

		if (rest < 3 || rest > NAME || bracket[rest - 1] != ']')
			return fail(data, "%s: write a[3] or a[r0]", word);
		memcpy(index, bracket + 1, rest - 2);
		index[rest - 2] = '\0';
		if (find_location(data, name) < 0)
			return fail(data, "%s is no array: declare `array %s SIZE`", name, name);
		if (!read_operand(data, index, &at->index))
			return false;
	}
	at->step.location = add_location(data, name);
	return at->step.location >= 0;
}

static bool read_order(data *data, const char *word, uint8_t *order)
{
	static const char *const names[] = {"plain",   "relaxed", "acquire",
					    "release", "acq_rel", "seq_cst"};

	for (uint8_t i = 0; i < 6; i++)
		if (strcmp(word, names[i]) == 0) {
			*order = i;
			return true;
		}
	return fail(data, "%s is no order: plain, relaxed, acquire, release, acq_rel or seq_cst",
		    word);
}

/* Lines. */

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
	return is_one_of(order, allowed) ? true : fail(data, "%s cannot have this order", what);
}

static bool read_load(data *data, char **words, int count, instruction *at)
{
	if (count != 3)
		return fail(data, "write: r0 = load x ORDER");
	if (!read_location(data, words[1], at) || !read_order(data, words[2], &at->step.order))
		return false;
	at->kind = at->step.order == EXPLORE_PLAIN ? EXPLORE_PLAIN_LOAD : EXPLORE_LOAD;
	return check_order(data, "a load", at->step.order, LOADS);
}

static bool read_store(data *data, char **words, int count, instruction *at)
{
	if (count != 4)
		return fail(data, "write: store x VALUE ORDER");
	if (!read_location(data, words[1], at) || !read_operand(data, words[2], &at->a) ||
	    !read_order(data, words[3], &at->step.order))
		return false;
	at->kind = at->step.order == EXPLORE_PLAIN ? EXPLORE_PLAIN_STORE : EXPLORE_STORE;
	return check_order(data, "a store", at->step.order, STORES);
}

static bool read_update(data *data, char **words, int count, instruction *at)
{
	if (count != 4)
		return fail(data, "write: r0 = %s x VALUE ORDER", words[0]);
	at->kind = !strcmp(words[0], "exchange") ? EXPLORE_EXCHANGE
		   : !strcmp(words[0], "add")    ? EXPLORE_ADD
		   : !strcmp(words[0], "or")     ? EXPLORE_OR
						 : EXPLORE_AND;
	return read_location(data, words[1], at) && read_operand(data, words[2], &at->a) &&
	       read_order(data, words[3], &at->step.order) &&
	       check_order(data, words[0], at->step.order, UPDATES);
}

static bool read_cas(data *data, char **words, int count, instruction *at)
{
	if (count != 6)
		return fail(data, "write: r0 = %s x EXPECTED DESIRED ORDER FAIL_ORDER", words[0]);
	at->kind = EXPLORE_CAS;
	at->step.is_weak = !strcmp(words[0], "cas_weak");
	return read_location(data, words[1], at) && read_operand(data, words[2], &at->b) &&
	       read_operand(data, words[3], &at->a) &&
	       read_order(data, words[4], &at->step.order) &&
	       check_order(data, words[0], at->step.order, UPDATES) &&
	       read_order(data, words[5], &at->step.fail_order) &&
	       check_order(data, "the failure", at->step.fail_order, LOADS & ~1u);
}

static bool read_fence(data *data, char **words, int count, instruction *at)
{
	if (count != 2)
		return fail(data, "write: fence ORDER, fence light or fence heavy");
	at->kind = EXPLORE_FENCE;
	if (!strcmp(words[1], "light") || !strcmp(words[1], "heavy")) {
		at->kind = *words[1] == 'l' ? EXPLORE_LIGHT_FENCE : EXPLORE_HEAVY_FENCE;
		at->step.order = EXPLORE_SEQ_CST;
		return true;
	}
	return read_order(data, words[1], &at->step.order) &&
	       check_order(data, "a fence", at->step.order, FENCES);
}

static bool read_futex(data *data, char **words, int count, instruction *at)
{
	if (count != 3)
		return fail(data, "write: r0 = wait x EXPECTED, or r0 = wake x COUNT");
	at->kind = !strcmp(words[0], "wake") ? EXPLORE_WAKE : EXPLORE_WAIT;
	at->step.has_deadline = !strcmp(words[0], "wait_until");
	return read_location(data, words[1], at) &&
	       read_operand(data, words[2], at->kind == EXPLORE_WAKE ? &at->a : &at->b);
}

static bool read_condition(data *data, char **words, instruction *at)
{
	static const char *const operators[] = {"==", "!=", "<", "<=", ">", ">="};

	for (int i = 0; i < 6; i++)
		if (!strcmp(words[1], operators[i])) {
			strcpy(at->operator, operators[i]);
			return read_operand(data, words[0], &at->a) &&
			       read_operand(data, words[2], &at->b);
		}
	return fail(data, "%s is no comparison: == != < <= > >=", words[1]);
}

static int label_number(data *data, thread *thread, const char *name)
{
	for (int i = 0; i < thread->labels_count; i++)
		if (!strcmp(thread->labels[i], name))
			return i;
	if (thread->labels_count == LABELS_MOST || strlen(name) >= NAME) {
		fail(data, "no room for label %s", name);
		return -1;
	}
	thread->label_at[thread->labels_count] = -1;
	strcpy(thread->labels[thread->labels_count], name);
	return thread->labels_count++;
}

static bool read_jump(data *data, thread *thread, char **words, int count, instruction *at)
{
	bool is_if = !strcmp(words[0], "if");

	at->kind = is_if ? IF : GOTO;
	if (count != (is_if ? 6 : 2) || (is_if && strcmp(words[4], "goto")))
		return fail(data, "write: if A == B goto LABEL, or goto LABEL");
	if (is_if && !read_condition(data, words + 1, at))
		return false;
	at->target = label_number(data, thread, words[count - 1]);
	return at->target >= 0;
}

static bool read_local(data *data, char **words, int count, instruction *at)
{
	at->kind = SET;
	if (count == 1) {
		strcpy(at->operator, "+");
		at->b = (operand){false, 0};
		return read_operand(data, words[0], &at->a);
	}
	if (count != 3 || strlen(words[1]) != 1 || !strchr("+-&|^*", *words[1]))
		return fail(data, "write: r0 = A, or r0 = A + B (+ - & | ^ *)");
	strcpy(at->operator, words[1]);
	return read_operand(data, words[0], &at->a) && read_operand(data, words[2], &at->b);
}

static bool read_instruction(data *data, thread *thread, char **words, int count)
{
	instruction *at = &thread->code[thread->length];
	const char *word;

	if (thread->length == CODE_MOST)
		return fail(data, "a thread has more than %d lines", CODE_MOST);
	*at = (instruction){.into = -1, .line = data->line, .step = {.size = 8, .location = -1}};
	thread->length++;
	if (count > 2 && !strcmp(words[1], "=")) {
		at->into = register_of(words[0]);
		if (at->into < 0)
			return fail(data, "%s is no register: r0 .. r7", words[0]);
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
		return count == 4 ? read_condition(data, words + 1, at)
				  : fail(data, "write: %s A == B", word);
	}
	return at->into >= 0 ? read_local(data, words, count, at)
			     : fail(data, "%s is not an operation", word);
}

static bool read_observe(data *data, char **words, int count)
{
	for (int i = 1; i < count; i++) {
		observed *what = &data->observed[data->observed_count];
		char *colon = strchr(words[i], ':');

		if (data->observed_count == OBSERVED_MOST)
			return fail(data, "more than %d things observed", OBSERVED_MOST);
		if (colon) {
			what->thread = atoi(words[i]);
			what->which = register_of(colon + 1);
			if (what->which < 0 || what->thread < 0 ||
			    what->thread >= data->program.threads)
				return fail(data, "%s: write 0:r0", words[i]);
		} else {
			what->thread = -1;
			what->which = find_location(data, words[i]);
			if (what->which < 0)
				return fail(data, "no location %s", words[i]);
		}
		data->observed_count++;
	}
	return true;
}

static bool read_array(data *data, char **words, int count)
{
	long size = count == 3 ? strtol(words[2], NULL, 10) : 0;

	if (count != 3 || !is_name(words[1]) || size < 1 || size > 64 || data->program.threads)
		return fail(data, "write, before the first thread: array a SIZE (1 .. 64)");
	for (long i = 0; i < size; i++) {
		char name[NAME + 24];

		snprintf(name, sizeof(name), i ? "%.20s_%ld" : "%.20s", words[1], i);
		if (add_location(data, name) < 0)
			return false;
	}
	return true;
}

static bool read_init(data *data, char **words, int count)
{
	instruction at = {.step.location = -1};
	operand value;

	if (count != 3 || data->program.threads)
		return fail(data, "write, before the first thread: init x VALUE");
	if (!read_location(data, words[1], &at) || !read_operand(data, words[2], &value))
		return false;
	if (value.is_register || at.index.is_register)
		return fail(data, "init takes numbers");
	data->program.initial[at.step.location + (int)at.index.value] = value.value;
	return true;
}

static bool read_thread(data *data)
{
	thread *thread = &data->threads[data->program.threads];

	if (data->program.threads == EXPLORE_THREADS)
		return fail(data, "more than %d threads", EXPLORE_THREADS);
	thread->code = calloc(CODE_MOST, sizeof(instruction));
	if (!thread->code)
		return fail(data, "no memory");
	data->program.threads++;
	return true;
}

static bool read_line(data *data, char **words, int count)
{
	int now = data->program.threads ? data->program.threads - 1 : 0;
	thread *thread = &data->threads[now];
	size_t last = strlen(words[0]) - 1;

	if (!strcmp(words[0], "program")) {
		snprintf(data->name, sizeof(data->name), "%s", count > 1 ? words[1] : "");
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
		return fail(data, "%s stands before the first `thread`", words[0]);
	if (count == 1 && words[0][last] == ':') {
		int label;

		words[0][last] = '\0';
		label = label_number(data, thread, words[0]);
		if (label < 0)
			return false;
		if (thread->label_at[label] >= 0)
			return fail(data, "label %s stands twice", words[0]);
		thread->label_at[label] = thread->length;
		return true;
	}
	return read_instruction(data, thread, words, count);
}

static bool link_thread(data *data, thread *thread)
{
	for (int i = 0; i < thread->length; i++) {
		instruction *at = &thread->code[i];

		if (at->kind != IF && at->kind != GOTO)
			continue;
		if (thread->label_at[at->target] < 0) {
			data->line = at->line;
			return fail(data, "no label %s", thread->labels[at->target]);
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
		return fail(data, "no memory");
	for (int t = 0; t < data->program.threads; t++)
		for (int i = 0; i < data->threads[t].length; i++, at++) {
			snprintf(data->texts[at], sizeof(*data->texts), "thread %d", t);
			data->sites[at] = (explore_site){
				data->name, data->threads[t].code[i].line, data->texts[at]};
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
			return fail(data, "longer than %zu bytes", sizeof(line) - 1);
		memcpy(line, text, length);
		line[length] = '\0';
		text += length + (text[length] == '\n');
		line[strcspn(line, "#")] = '\0';
		for (char *word = strtok_r(line, " \t\r", &rest); word && count < WORDS;
		     word = strtok_r(NULL, " \t\r", &rest))
			words[count++] = word;
		if (count == WORDS)
			return fail(data, "more than %d words", WORDS - 1);
		if (count && !read_line(data, words, count))
			return false;
	}
	if (!data->program.threads)
		return fail(data, "no thread");
	for (int t = 0; t < data->program.threads; t++)
		if (!link_thread(data, &data->threads[t]))
			return false;
	return name_sites(data);
}

/* Running. */

static uint64_t value_of(const state *state, operand operand)
{
	return operand.is_register ? state->registers[operand.value] : operand.value;
}

static bool holds(const state *state, const instruction *at)
{
	uint64_t a = value_of(state, at->a), b = value_of(state, at->b);

	switch (at->operator[0]) {
	case '=':
		return a == b;
	case '!':
		return a != b;
	case '<':
		return at->operator[1] ? a <= b : a < b;
	default:
		return at->operator[1] ? a >= b : a > b;
	}
}

static uint64_t computed(const state *state, const instruction *at)
{
	uint64_t a = value_of(state, at->a), b = value_of(state, at->b);

	switch (at->operator[0]) {
	case '+':
		return a + b;
	case '-':
		return a - b;
	case '&':
		return a & b;
	case '|':
		return a | b;
	case '^':
		return a ^ b;
	default:
		return a * b;
	}
}

/* Takes local instructions until the next step. */
static void settle(data *data, const thread *thread, state *state)
{
	for (int steps = 0; state->pc < thread->length; steps++) {
		const instruction *at = &thread->code[state->pc];

		if (steps > LOCAL_STEPS_MOST) {
			data->program.error = "a loop without a shared operation";
			return;
		}
		switch (at->kind) {
		case SET:
			state->registers[at->into] = computed(state, at);
			state->pc++;
			break;
		case GOTO:
			state->pc = at->target;
			break;
		case IF:
			state->pc = holds(state, at) ? at->target : state->pc + 1;
			break;
		case ASSUME:
		case ASSERT:
			if (!holds(state, at))
				return;
			state->pc++;
			break;
		default:
			return;
		}
	}
}

static uint64_t hash(const state *state)
{
	uint64_t hash = (uint64_t)state->pc * UINT64_C(0x9e3779b97f4a7c15);

	for (int i = 0; i < REGISTERS; i++) {
		hash = (hash ^ state->registers[i]) * UINT64_C(0xff51afd7ed558ccd);
		hash ^= hash >> 32;
	}
	return hash;
}

static void grow(thread *thread)
{
	uint32_t size = thread->table_size ? thread->table_size * 2 : 64;
	uint32_t *table = calloc(size, sizeof(*table));

	for (uint32_t p = 0; p < thread->states_count; p++) {
		uint64_t slot = hash(&thread->states[p]) & (size - 1);

		while (table[slot])
			slot = (slot + 1) & (size - 1);
		table[slot] = p + 1;
	}
	free(thread->table);
	thread->table = table;
	thread->table_size = size;
}

static explore_position position_of(thread *thread, const state *state)
{
	uint64_t slot;

	if (2 * (thread->states_count + 1) > thread->table_size)
		grow(thread);
	for (slot = hash(state) & (thread->table_size - 1); thread->table[slot];
	     slot = (slot + 1) & (thread->table_size - 1))
		if (!memcmp(&thread->states[thread->table[slot] - 1], state, sizeof(*state)))
			return thread->table[slot] - 1;
	if (thread->states_count == thread->states_room) {
		thread->states_room = thread->states_room ? thread->states_room * 2 : 64;
		thread->states =
			realloc(thread->states, thread->states_room * sizeof(*thread->states));
	}
	thread->states[thread->states_count] = *state;
	thread->table[slot] = ++thread->states_count;
	return thread->states_count - 1;
}

static explore_position start(explore_program *program, int which)
{
	data *data = program->own;
	thread *thread = &data->threads[which];
	state state;

	memset(&state, 0, sizeof(state));
	settle(data, thread, &state);
	return position_of(thread, &state);
}

static const explore_step *at(explore_program *program, int which, explore_position position)
{
	data *data = program->own;
	thread *thread = &data->threads[which];
	const state *state = &thread->states[position];
	const instruction *at = &thread->code[state->pc];

	if (state->pc >= thread->length) {
		data->step = (explore_step){.kind = EXPLORE_END, .location = -1};
		return &data->step;
	}
	data->step = at->step;
	data->step.kind = at->kind == ASSUME   ? EXPLORE_ABANDON
			  : at->kind == ASSERT ? EXPLORE_FAIL
					       : (uint8_t)at->kind;
	data->step.operand = value_of(state, at->a);
	data->step.expected = value_of(state, at->b);
	if (at->kind == ASSERT)
		data->step.text = "assert";
	if (data->step.location >= 0)
		data->step.location += (int)value_of(state, at->index);
	if (data->step.location >= program->locations)
		program->error = "an index beyond the last location";
	return &data->step;
}

static explore_position next(explore_program *program, int which, explore_position position,
			     uint64_t value, bool failed)
{
	data *data = program->own;
	thread *thread = &data->threads[which];
	state state = thread->states[position];
	const instruction *at = &thread->code[state.pc];

	if (at->into >= 0)
		state.registers[at->into] = value;
	if (at->kind == EXPLORE_CAS && at->step.is_weak)
		state.registers[REGISTERS - 1] =
			!failed && value == value_of(&thread->states[position], at->b);
	state.pc++;
	settle(data, thread, &state);
	return position_of(thread, &state);
}

static void outcome(explore_program *program, const uint64_t *values, const explore_position *ends,
		    char text[EXPLORE_TEXT])
{
	data *data = program->own;
	size_t used = 0;

	text[0] = '\0';
	for (int i = 0; i < data->observed_count && used < EXPLORE_TEXT; i++) {
		const observed *what = &data->observed[i];
		uint64_t value = what->thread < 0
					 ? values[what->which]
					 : data->threads[what->thread]
						   .states[ends[what->thread]]
						   .registers[what->which];

		used += (size_t)snprintf(text + used, EXPLORE_TEXT - used, "%s%lld",
					 i ? "," : "", (long long)value);
	}
}

static void destroy(explore_program *program)
{
	data *data = program->own;

	for (int t = 0; t < EXPLORE_THREADS; t++) {
		free(data->threads[t].code);
		free(data->threads[t].states);
		free(data->threads[t].table);
	}
	free(data->sites);
	free(data->texts);
	free(data);
}

uint64_t explore_updated(const explore_step *step, uint64_t old)
{
	switch (step->kind) {
	case EXPLORE_ADD:
		return explore_cut(step, old + step->operand);
	case EXPLORE_OR:
		return explore_cut(step, old | step->operand);
	case EXPLORE_AND:
		return explore_cut(step, old & step->operand);
	default:
		return explore_cut(step, step->operand);
	}
}

explore_program *explore_parse(const char *text, char error[256])
{
	data *data = calloc(1, sizeof(*data));

	if (!data) {
		strcpy(error, "no memory");
		return NULL;
	}
	data->program = (explore_program){.name = data->name,
					  .start = start,
					  .at = at,
					  .next = next,
					  .outcome = outcome,
					  .destroy = destroy,
					  .own = data};
	data->error = error;
	error[0] = '\0';
	if (parse(data, text))
		return &data->program;
	destroy(&data->program);
	return NULL;
}
