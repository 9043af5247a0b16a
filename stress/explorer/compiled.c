/* SPDX-License-Identifier: Apache-2.0
 * compiled.c - the program that a scenario's compiled actors are.
 *
 *   actor, at a shared operation        engine
 *   wp__explore: announces it, pauses   notes stack bytes and operation: a position
 *   goes on with the value              restores a position, resumes it with a value, once per pair
 *
 * Why it works  Between two operations an actor depends on its own stack and the value it was given,
 *               for every access to shared memory is an operation: atomics, futexes and events by
 *               the seam (kernel/seam.h), plain accesses by the hooks that -fsanitize=thread calls.
 *               So the memory that a resumed actor finds does not matter: what it loads is put there
 *               just before. Each step is run twice, and must come to the same position both times.
 * Plain memory  A location that no actor writes is not worth a step: its loads are answered with the
 *               initial value. If somebody writes it after all, the exploration starts again,
 *               knowing that (EXPLORE_START_AGAIN). The value of a plain store is known when the
 *               actor comes to its next operation.
 * Spec          none. Evidence  tests/test_explore_engines.py. */
#define WP_EXPLORE /* the seam's declarations */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coroutine.h"
#include "overrides.h"
#include "scenario.h"

enum {
	EVENTS = 16,            /* eventfds of a scenario */
	STATE_MOST = EXPLORE_ARENA - 4096,
	SITES_MOST = 1024,
	NAME = 48,
	STORES_IN_A_ROW = 4096, /* plain ones, without another step */
	NOTHING = -1,
	FIRST_RUN = 0xa5,       /* patterns of memory that was not put there */
	SECOND_RUN = 0x5a,
};

typedef struct position {
	explore_step step;
	uint32_t used;              /* bytes of stack */
	char *stack;
	explore_position next;      /* of a plain store */
	explore_position same_hash; /* + 1; chain */
} position;

typedef struct turn { /* from a position, with a value, to the next */
	explore_position from, to;
	uint64_t value;
	bool failed, is_used;
} turn;

typedef struct actor {
	position *positions;
	uint32_t count, room;
	explore_position *buckets; /* + 1 */
	uint32_t buckets_count;
	turn *turns; /* open addressing */
	uint32_t turns_count, turns_room;
	explore_position first;
	bool has_started;
} actor;

typedef struct compiled {
	explore_program program;
	const stress_test *test;
	actor actors[EXPLORE_THREADS];
	char image[EXPLORE_ARENA];        /* after init */
	int16_t location_at[EXPLORE_ARENA]; /* first byte: location + 1; other bytes: -(location + 1) */
	struct { uint32_t offset; uint8_t size; } places[EXPLORE_LOCATIONS];
	char names[EXPLORE_LOCATIONS][NAME];
	bool is_written[EXPLORE_ARENA];   /* plain locations, by first byte; kept over a restart */
	bool is_assumed[EXPLORE_ARENA];   /* was answered with its initial value */
	explore_site sites[SITES_MOST];
	char files[SITES_MOST][NAME];
	char error[256];
} compiled;

static compiled *now;           /* the program whose actors may run */
static int running = NOTHING;   /* actor, or NOTHING: init, arbiter: operations act directly */
static explore_step announced;  /* by the actor that has paused */
static char *announced_place;
static uint64_t given;          /* to the actor that is resumed */
static bool given_failed;
static char shadow[EXPLORE_ARENA]; /* what the arena must hold when the actor pauses */
static int events;              /* opened by init */

static void fail(const char *format, ...)
{
	va_list arguments;

	if (now->program.error)
		return;
	va_start(arguments, format);
	vsnprintf(now->error, sizeof(now->error), format, arguments);
	va_end(arguments);
	now->program.error = now->error;
}

/* Memory. */

static uint64_t read_memory(const void *at, unsigned size)
{
	uint64_t value = 0;

	memcpy(&value, at, size); /* little-endian, as both architectures are */
	return value;
}

static void write_memory(void *at, unsigned size, uint64_t value)
{
	memcpy(at, &value, size);
}

static bool is_shared(const volatile char *place)
{
	return place >= EXPLORE_BASE && place < EXPLORE_BASE + EXPLORE_ARENA;
}

static bool is_own_stack(const volatile char *place)
{
	char *end = explore_stack_end(running);

	return place >= end - EXPLORE_STACK && place < end;
}

/* The location at `place`, made now if there is none; NOTHING after an error. */
static int location_of(const char *place, unsigned size, const char *what)
{
	uint32_t offset = (uint32_t)(place - EXPLORE_BASE);
	int16_t found = now->location_at[offset];
	int location = now->program.locations;

	if (found > 0 && now->places[found - 1].size == size)
		return found - 1;
	for (unsigned i = 0; i < size; i++)
		if (now->location_at[offset + i]) {
			int other = abs(now->location_at[offset + i]) - 1;

			fail("%u bytes at state+%u (%s) overlap %u bytes at state+%u (%s): accesses "
			     "of mixed size are not explored",
			     size, offset, what, (unsigned)now->places[other].size,
			     now->places[other].offset, now->names[other]);
			return NOTHING;
		}
	if (location == EXPLORE_LOCATIONS) {
		fail("more than %d locations", EXPLORE_LOCATIONS);
		return NOTHING;
	}
	for (unsigned i = 0; i < size; i++)
		now->location_at[offset + i] = (int16_t)(i ? -(location + 1) : location + 1);
	now->places[location].offset = offset;
	now->places[location].size = (uint8_t)size;
	if (strncmp(what, "plain", 5))
		snprintf(now->names[location], NAME, "%s", what);
	else
		snprintf(now->names[location], NAME, "state+%u", offset);
	now->program.location_names[location] = now->names[location];
	now->program.location_offsets[location] = offset;
	now->program.initial[location] = read_memory(now->image + offset, size);
	return now->program.locations++;
}

/* Operations. */

/* The base name; of a scenario file with its folder, for kernel/ has files of the same names. */
static const char *short_name(const char *file)
{
	const char *base = strrchr(file, '/'), *folder = base;

	if (!base)
		return file;
	while (folder > file && folder[-1] != '/')
		folder--;
	return strncmp(folder, "stress/", 7) ? base + 1 : folder;
}

static uint32_t site_of(const char *file, int line, const char *what)
{
	uint32_t site = 0, count = (uint32_t)now->program.sites_count;

	file = short_name(file);
	while (site < count && (now->sites[site].line != line || strcmp(now->sites[site].file, file) ||
				strcmp(now->sites[site].what, what)))
		site++;
	if (site == count && count < SITES_MOST) {
		snprintf(now->files[site], sizeof(now->files[site]), "%s", file);
		now->sites[site] = (explore_site){now->files[site], line, what};
		now->program.sites_count++;
	}
	return site < SITES_MOST ? site : SITES_MOST - 1;
}

static uint64_t act_directly(const explore_step *step, char *place)
{
	uint64_t old = place ? read_memory(place, step->size) : 0;

	if (step->kind == EXPLORE_WAIT)
		fail("%s: init or arbiter sleeps in a futex", now->test->name);
	if (explore_writes(step->kind) && explore_takes_place(step, old))
		write_memory(place, step->size, explore_updated(step, old));
	return step->kind == EXPLORE_HEAVY_FENCE ? 1 : old;
}

/* Announces the step and waits until the engine has taken it. */
static uint64_t operate(explore_step step, char *place)
{
	if (running == NOTHING)
		return act_directly(&step, place);
	if (place && !is_shared(place) && is_own_stack(place))
		return act_directly(&step, place);
	announced = step;
	announced_place = place;
	explore_pause();
	if (step.kind == EXPLORE_PLAIN_STORE)
		write_memory(place, step.size, step.operand); /* as compiled code would now */
	return given;
}

/* Relaxed: a heavy fence becomes a light one, another fence none. */
static void override(explore_step *step, const explore_site *site)
{
	for (int i = 0; i < explore_overrides_count; i++)
		if (explore_overrides[i].line == site->line &&
		    !strcmp(explore_overrides[i].file, site->file))
			step->order = (uint8_t)explore_overrides[i].order;
	if (step->order > EXPLORE_RELAXED)
		return;
	if (step->kind == EXPLORE_HEAVY_FENCE)
		step->kind = EXPLORE_LIGHT_FENCE;
	else if (step->kind == EXPLORE_FENCE || step->kind == EXPLORE_LIGHT_FENCE)
		step->kind = EXPLORE_LOCAL;
}

static explore_step step_of(int kind, unsigned size, int order, uint64_t operand,
			    uint64_t expected, const wp__explore_site *site)
{
	explore_step step = {.kind = (uint8_t)kind,
			     .order = (uint8_t)(order ? order
					       : kind == EXPLORE_PLAIN_STORE ? EXPLORE_PLAIN
									     : EXPLORE_RELAXED),
			     .size = (uint8_t)size,
			     .location = NOTHING};

	if (running != NOTHING) /* the program's sites are those that actors come to */
		step.site = site_of(site->file, site->line, site->what);
	step.operand = explore_cut(&step, operand);
	step.expected = explore_cut(&step, expected);
	if (explore_overrides_count && running != NOTHING)
		override(&step, &now->sites[step.site]);
	return step;
}

uint64_t wp__explore(int kind, const volatile void *place, unsigned size, int order,
		     uint64_t operand, uint64_t expected, const wp__explore_site *site)
{
	explore_step step = step_of(kind, size ? size : 8, order, operand, expected, site);

	if (kind == EXPLORE_WAIT) {
		step.has_deadline = operand != 0;
		step.operand = 0;
	}
	if (kind == EXPLORE_FAIL)
		step.text = site->what;
	if (kind == EXPLORE_HEAVY_FENCE) {
		operate(step, NULL);
		return 1; /* works, overridden or not */
	}
	return operate(step, (char *)(uintptr_t)place);
}

_Bool wp__explore_cas(const volatile void *place, unsigned size, int order, int fail_order,
		      void *expected, uint64_t desired, _Bool is_weak, const wp__explore_site *site)
{
	explore_step step = step_of(EXPLORE_CAS, size, order, desired,
				    read_memory(expected, size), site);
	uint64_t old;

	if (running != NOTHING && is_shared(expected))
		fail("actor %d of %s: `expected` of a compare-and-swap lies in the state: copy it first",
		     running, now->test->name);
	step.fail_order = (uint8_t)(fail_order ? fail_order : EXPLORE_RELAXED);
	step.is_weak = is_weak;
	given_failed = false;
	old = operate(step, (char *)(uintptr_t)place);
	if (old == step.expected && !given_failed)
		return 1;
	write_memory(expected, size, old);
	return 0;
}

/* What an actor has at the end of its stack. */
typedef struct top {
	uint64_t turns; /* of loops that wait for others and change memory */
	stress_result result;
} top;

void wp__explore_yield(void)
{
	top *mine;

	if (running == NOTHING || !explore_turns_most)
		return;
	mine = (top *)(void *)explore_stack_end(running) - 1;
	if (++mine->turns <= explore_turns_most)
		return;
	now->program.is_bounded = true;
	operate((explore_step){.kind = EXPLORE_ABANDON, .location = NOTHING}, NULL);
}

/* Memory that is not the engine's. Before a step the arena holds a pattern, another one in the second
 * run: what is read and was not put there differs, and what is written and not reported shows. */

static void fill(unsigned char pattern)
{
	memset(EXPLORE_BASE, pattern, now->test->state_size);
	memset(shadow, pattern, now->test->state_size);
}

static void put_there(char *place, unsigned size, uint64_t value)
{
	write_memory(place, size, value);
	write_memory(shadow + (place - EXPLORE_BASE), size, value);
}

static void check_untouched(int which)
{
	if (!now->program.error && memcmp(EXPLORE_BASE, shadow, now->test->state_size))
		fail("actor %d of %s writes its state in a way that the compiler does not report, or "
		     "copies more than one word at once: memset, memcpy, a struct",
		     which, now->test->name);
}

static bool is_written(const char *place, unsigned size)
{
	return memchr(now->is_written + (place - EXPLORE_BASE), true, size) != NULL;
}

/* Somebody writes there: a plain load may not be answered with the initial value, nor have been. */
static void note_written(const char *place, unsigned size)
{
	uint32_t offset = (uint32_t)(place - EXPLORE_BASE);

	memset(now->is_written + offset, true, size);
	if (memchr(now->is_assumed + offset, true, size))
		now->program.error = EXPLORE_START_AGAIN;
}

/* Plain accesses, as the compiler reports them. */

static void plain(char *place, unsigned size, bool writes, const void *from)
{
	explore_step step;
	char file[24];

	if (running == NOTHING || is_own_stack(place))
		return;
	if (!is_shared(place)) {
		extern char __data_start, end;

		if (writes || (place >= &__data_start && place < &end))
			fail("actor %d of %s %s memory outside its state, at %p", running,
			     now->test->name, writes ? "writes" : "reads", (void *)place);
		else if (place >= EXPLORE_BASE && place < explore_stack_end(EXPLORE_THREADS - 1))
			fail("actor %d of %s reads another's stack", running, now->test->name);
		return;
	}
	if (!writes && !is_written(place, size)) {
		memset(now->is_assumed + (place - EXPLORE_BASE), true, size);
		put_there(place, size, read_memory(now->image + (place - EXPLORE_BASE), size));
		return;
	}
	snprintf(file, sizeof(file), "@%lx", (unsigned long)(uintptr_t)from);
	step = (explore_step){.kind = writes ? EXPLORE_PLAIN_STORE : EXPLORE_PLAIN_LOAD,
			      .size = (uint8_t)size,
			      .location = NOTHING,
			      .site = site_of(file, 0, writes ? "plain store" : "plain load")};
	announced = step;
	announced_place = place;
	explore_pause();
}

static void plain_long(char *place, unsigned size, bool writes, const void *from)
{
	if (running == NOTHING || is_own_stack(place))
		return;
	if (writes && is_shared(place)) {
		fail("actor %d of %s writes %u bytes of its state at once", running,
		     now->test->name, size);
		return;
	}
	for (unsigned i = 0; i < size; i += 8)
		plain(place + i, 8, false, from);
}

#define FROM __builtin_return_address(0)
#define HOOK(name, call)          \
	void name(void *place);   \
	void name(void *place)    \
	{                         \
		call;             \
	}
#define HOOKS(size)                                                            \
	HOOK(__tsan_read##size, plain(place, size, false, FROM))               \
	HOOK(__tsan_write##size, plain(place, size, true, FROM))               \
	HOOK(__tsan_unaligned_read##size, plain(place, size, false, FROM))     \
	HOOK(__tsan_unaligned_write##size, plain(place, size, true, FROM))
HOOKS(1)
HOOKS(2)
HOOKS(4)
HOOKS(8)
HOOK(__tsan_read16, plain_long(place, 16, false, FROM))
HOOK(__tsan_write16, plain_long(place, 16, true, FROM))
HOOK(__tsan_func_entry, (void)place)

void __tsan_init(void);
void __tsan_func_exit(void);
void __tsan_read_range(void *place, unsigned long size);
void __tsan_write_range(void *place, unsigned long size);

void __tsan_init(void)
{
}

void __tsan_func_exit(void)
{
}

void __tsan_read_range(void *place, unsigned long size)
{
	plain_long(place, (unsigned)size, false, FROM);
}

void __tsan_write_range(void *place, unsigned long size)
{
	plain_long(place, (unsigned)size, true, FROM);
}

/* Events: words of the arena behind the state. */

static char *event_word(int event)
{
	return EXPLORE_BASE + STATE_MOST + event * 64;
}

int wp__explore_event_open(void)
{
	if (running != NOTHING || events == EVENTS) {
		fail("%s: events are opened by init, %d at the most", now->test->name, EVENTS);
		return -1;
	}
	return events++;
}

uint64_t wp__explore_event(int event, _Bool takes, const wp__explore_site *site)
{
	return wp__explore(takes ? EXPLORE_EXCHANGE : EXPLORE_ADD, event_word(event), 8,
			   EXPLORE_RELAXED, takes ? 0 : 1, 0, site);
}

/* Positions. */

static uint64_t hash_of(const explore_step *step, const char *stack, uint32_t used)
{
	uint64_t hash = step->kind ^ step->operand * 31 ^ step->expected * 37 ^
			(uint64_t)step->site * 41 ^ (uint64_t)(step->location + 1) * 43;

	for (uint32_t i = 0; i + 8 <= used; i += 8) {
		hash = (hash ^ read_memory(stack + i, 8)) * UINT64_C(0x9e3779b97f4a7c15);
		hash ^= hash >> 29;
	}
	return hash;
}

static bool is_same_step(const explore_step *a, const explore_step *b)
{
	return a->kind == b->kind && a->order == b->order && a->fail_order == b->fail_order &&
	       a->size == b->size && a->is_weak == b->is_weak &&
	       a->has_deadline == b->has_deadline && a->location == b->location &&
	       a->site == b->site && a->operand == b->operand && a->expected == b->expected;
}

static void rehash(actor *actor)
{
	actor->buckets_count = actor->buckets_count ? actor->buckets_count * 2 : 256;
	free(actor->buckets);
	actor->buckets = calloc(actor->buckets_count, sizeof(*actor->buckets));
	for (uint32_t p = 0; p < actor->count; p++) {
		position *at = &actor->positions[p];
		uint64_t slot = hash_of(&at->step, at->stack, at->used) & (actor->buckets_count - 1);

		at->same_hash = actor->buckets[slot];
		actor->buckets[slot] = p + 1;
	}
}

/* The number of the position that has this step and these stack bytes. */
static explore_position number_of(actor *actor, const explore_step *step, const char *stack,
				  uint32_t used)
{
	position *fresh;
	uint64_t slot;

	if (actor->count >= actor->buckets_count)
		rehash(actor);
	slot = hash_of(step, stack, used) & (actor->buckets_count - 1);
	for (explore_position p = actor->buckets[slot]; p; p = actor->positions[p - 1].same_hash) {
		const position *at = &actor->positions[p - 1];

		if (at->used == used && is_same_step(&at->step, step) &&
		    !memcmp(at->stack, stack, used))
			return p - 1;
	}
	if (actor->count == actor->room) {
		actor->room = actor->room ? actor->room * 2 : 256;
		actor->positions = realloc(actor->positions, actor->room * sizeof(position));
	}
	fresh = &actor->positions[actor->count];
	*fresh = (position){.step = *step, .used = used, .stack = malloc(used)};
	memcpy(fresh->stack, stack, used);
	fresh->same_hash = actor->buckets[slot];
	actor->buckets[slot] = ++actor->count;
	return actor->count - 1;
}

/* False: `error` says what the actor did instead of coming to its next operation. */
static bool resume(int which)
{
	static const char *const ends[] = {
		"", "loops for seconds without a shared operation", "overflows its stack",
		"touches memory that is not there",
	};
	enum explore_return how;

	running = which;
	how = explore_resume(which);
	running = NOTHING;
	if (how != EXPLORE_PAUSED)
		fail("actor %d of %s %s", which, now->test->name, ends[how]);
	return how == EXPLORE_PAUSED;
}

/* Takes the announced step's place as a location. */
static void locate(explore_step *step)
{
	if (!announced_place)
		return;
	if (!is_shared(announced_place)) {
		fail("actor %d of %s: %s is outside the scenario's state", running, now->test->name,
		     now->sites[step->site].what);
		return;
	}
	if (explore_writes(step->kind))
		note_written(announced_place, step->size);
	step->location = location_of(announced_place, step->size, now->sites[step->site].what);
}

/* The position of the actor that has just paused. A plain store's value shows when the actor has
 * gone on: so it goes on, and the positions are chained. */
static explore_position capture(int which)
{
	actor *actor = &now->actors[which];
	static char stack[EXPLORE_STACK];
	explore_position first = 0, previous = 0;

	for (int stores = 0; stores < STORES_IN_A_ROW && !now->program.error; stores++) {
		explore_step step = announced;
		char *place = announced_place;
		const char *used = explore_used(which);
		uint32_t size = (uint32_t)(explore_stack_end(which) - used);
		bool is_store = step.kind == EXPLORE_PLAIN_STORE;
		explore_position number;

		locate(&step);
		if (now->program.error)
			return 0;
		if (is_store) {
			memcpy(stack, used, size);
			if (!resume(which))
				return 0;
			step.operand = read_memory(place, step.size);
			write_memory(shadow + (place - EXPLORE_BASE), step.size, step.operand);
			used = stack;
		}
		number = number_of(actor, &step, used, size);
		if (stores)
			actor->positions[previous].next = number;
		else
			first = number;
		previous = number;
		if (!is_store)
			return first;
	}
	fail("actor %d of %s stores for ever without a shared operation", which, now->test->name);
	return 0;
}

static void body(void)
{
	int which = running;
	top *mine = (top *)(void *)explore_stack_end(which) - 1;

	now->test->actors[which](EXPLORE_BASE, &mine->result);
	announced = (explore_step){.kind = EXPLORE_END, .location = NOTHING};
	announced_place = NULL;
	for (;;)
		explore_pause();
}

/* Runs the paused actor to its next position. */
static explore_position advance(int which)
{
	explore_position to = resume(which) ? capture(which) : 0;

	check_untouched(which);
	return to;
}

static explore_position begin(int which, unsigned char pattern)
{
	fill(pattern);
	explore_begin(which, sizeof(top), body);
	return advance(which);
}

/* Time, addresses or randomness that the actor looks at make two runs of one step differ. */
static void check_same(int which, explore_position first, explore_position second,
		       const explore_step *after)
{
	const explore_site *site = after ? &now->sites[after->site] : NULL;

	if (first == second || now->program.error)
		return;
	fail("actor %d of %s is not deterministic, or reads its state in a way that the "
	     "compiler does not report (memcpy): run twice it goes on differently after %s%s%s",
	     which, now->test->name, site ? site->what : "its start", site ? " at " : "",
	     site ? site->file : "");
}

static explore_position start(explore_program *program, int which)
{
	actor *actor;

	now = program->own;
	actor = &now->actors[which];
	if (!actor->has_started) {
		actor->first = begin(which, FIRST_RUN);
		if (!program->error)
			check_same(which, actor->first, begin(which, SECOND_RUN), NULL);
		actor->has_started = true;
	}
	return actor->first;
}

static const explore_step *at(explore_program *program, int which, explore_position position)
{
	return &((compiled *)program->own)->actors[which].positions[position].step;
}

static explore_position run(int which, explore_position from, uint64_t value, bool failed,
			    unsigned char pattern)
{
	const position *at = &now->actors[which].positions[from];

	fill(pattern);
	explore_restore(which, at->stack, at->used);
	if (at->step.kind == EXPLORE_PLAIN_LOAD)
		put_there(EXPLORE_BASE + now->places[at->step.location].offset, at->step.size,
			  value);
	given = value;
	given_failed = failed;
	return advance(which);
}

static turn *find_turn(actor *actor, explore_position from, uint64_t value, bool failed)
{
	uint64_t slot = (from * UINT64_C(0x9e3779b97f4a7c15)) ^
			(value + failed) * UINT64_C(0xff51afd7ed558ccd);

	for (slot ^= slot >> 31;; slot++) {
		turn *turn = &actor->turns[slot & (actor->turns_room - 1)];

		if (!turn->is_used ||
		    (turn->from == from && turn->value == value && turn->failed == failed))
			return turn;
	}
}

static void grow_turns(actor *actor)
{
	turn *old = actor->turns;
	uint32_t room = actor->turns_room;

	actor->turns_room = room ? room * 2 : 1024;
	actor->turns = calloc(actor->turns_room, sizeof(*actor->turns));
	for (uint32_t i = 0; i < room; i++)
		if (old[i].is_used)
			*find_turn(actor, old[i].from, old[i].value, old[i].failed) = old[i];
	free(old);
}

static explore_position next(explore_program *program, int which, explore_position from,
			     uint64_t value, bool failed)
{
	explore_position to, again;
	actor *actor;
	turn *turn;

	now = program->own;
	actor = &now->actors[which];
	if (actor->positions[from].step.kind == EXPLORE_PLAIN_STORE)
		return actor->positions[from].next;
	if (2 * (actor->turns_count + 1) > actor->turns_room)
		grow_turns(actor);
	turn = find_turn(actor, from, value, failed);
	if (turn->is_used)
		return turn->to;
	to = run(which, from, value, failed, FIRST_RUN);
	again = program->error ? to : run(which, from, value, failed, SECOND_RUN);
	check_same(which, to, again, &actor->positions[from].step);
	if (program->error)
		return from;
	*turn = (struct turn){from, to, value, failed, true};
	actor->turns_count++;
	return to;
}

static void outcome(explore_program *program, const uint64_t *values, const explore_position *ends,
		    char text[EXPLORE_TEXT])
{
	stress_result all = {{0}};
	size_t used = 0;

	now = program->own;
	for (int which = 0; which < program->threads; which++) {
		const position *end = &now->actors[which].positions[ends[which]];
		stress_result one;

		memcpy(&one, end->stack + end->used - sizeof(one), sizeof(one));
		for (int i = 0; i < STRESS_RESULTS; i++)
			all.r[i] += one.r[i];
	}
	if (now->test->arbiter) {
		stress_result last = {{0}};

		memcpy(EXPLORE_BASE, now->image, now->test->state_size);
		memcpy(event_word(0), now->image + (event_word(0) - EXPLORE_BASE), EVENTS * 64);
		for (int location = 0; location < program->locations; location++)
			write_memory(EXPLORE_BASE + now->places[location].offset,
				     now->places[location].size, values[location]);
		now->test->arbiter(EXPLORE_BASE, &last);
		for (int i = 0; i < STRESS_RESULTS; i++)
			all.r[i] += last.r[i];
	}
	text[0] = '\0';
	for (int i = 0; i < now->test->results && used < EXPLORE_TEXT; i++)
		used += (size_t)snprintf(text + used, EXPLORE_TEXT - used, i ? ",%lld" : "%lld",
					 (long long)all.r[i]);
}

static void forget(compiled *compiled)
{
	for (int which = 0; which < EXPLORE_THREADS; which++) {
		actor *actor = &compiled->actors[which];

		for (uint32_t p = 0; p < actor->count; p++)
			free(actor->positions[p].stack);
		free(actor->positions);
		free(actor->buckets);
		free(actor->turns);
		*actor = (struct actor){0};
	}
}

static void destroy(explore_program *program)
{
	forget(program->own);
	free(program->own);
}

static void restart(explore_program *program)
{
	compiled *compiled = program->own;

	forget(compiled);
	memset(compiled->location_at, 0, sizeof(compiled->location_at));
	memset(compiled->is_assumed, 0, sizeof(compiled->is_assumed));
	program->locations = 0;
	program->is_bounded = false;
	program->error = NULL;
}

explore_program *explore_compiled(const stress_test *test, char error[256])
{
	compiled *compiled = calloc(1, sizeof(*compiled));

	if (!compiled || !explore_map()) {
		snprintf(error, 256, "no memory at the explorer's fixed addresses");
		free(compiled);
		return NULL;
	}
	if (test->state_size > STATE_MOST) {
		snprintf(error, 256, "%s: state_size is %zu, at most %d are explored", test->name,
			 test->state_size, STATE_MOST);
		free(compiled);
		return NULL;
	}
	compiled->test = test;
	compiled->program = (explore_program){.name = test->name,
					      .sites = compiled->sites,
					      .start = start,
					      .at = at,
					      .next = next,
					      .outcome = outcome,
					      .restart = restart,
					      .destroy = destroy,
					      .own = compiled};
	while (compiled->program.threads < STRESS_ACTORS && test->actors[compiled->program.threads])
		compiled->program.threads++;
	now = compiled;
	events = 0;
	memset(EXPLORE_BASE, 0, EXPLORE_ARENA);
	if (test->init)
		test->init(EXPLORE_BASE);
	memcpy(compiled->image, EXPLORE_BASE, EXPLORE_ARENA);
	if (!compiled->program.error)
		return &compiled->program;
	snprintf(error, 256, "%s", compiled->error);
	destroy(&compiled->program);
	return NULL;
}
