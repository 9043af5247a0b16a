/* SPDX-License-Identifier: Apache-2.0
 * compiled_steps.c - instrumented operations: the step that an actor wants to take, and its line in
 * the source.
 *
 *   actor                                engine
 *   announces its step, pauses           takes the step, when and as the model allows
 *   goes on with the value
 *
 * Why it works  Init and arbiter run alone, so their operations act at once. What an actor leaves
 *               on its own stack must be the same in each run. Sites are therefore looked up after
 *               the actor has paused, on the engine's stack.
 * Spec          none.
 * Evidence      tests/judge/explore/test_engines.py. */
#include <stdio.h>
#include <string.h>

#include "compiled.h"
#include "overrides.h"

#define PREFIX "WP__EXPLORE_" /* of the instrument's names */

static uint32_t site_of(const char *file, int line, const char *what)
{
	uint32_t site = 0, count = (uint32_t)compiled_now->program.sites_count;
	char kept[NAME];

	snprintf(kept, sizeof(kept), "%s", file);
	for (; site < count; site++) {
		const explore_site *known = &compiled_now->sites[site];

		if (known->line == line && !strcmp(known->file, kept) && !strcmp(known->what, what))
			return site;
	}
	if (count < SITES_MOST) {
		memcpy(compiled_now->files[site], kept, NAME);
		compiled_now->sites[site] = (explore_site){compiled_now->files[site], line, what};
		compiled_now->program.sites_count++;
	}
	if (site == SITES_MOST)
		compiled_fail("the actors of %s come to more than %d different operations",
			      compiled_now->test->name, SITES_MOST);
	return site < SITES_MOST ? site : 0;
}

const char *compiled_bare(const char *what)
{
	return strncmp(what, PREFIX, strlen(PREFIX)) ? what : what + strlen(PREFIX);
}

void compiled_describe(const explore_step *step, char text[COMPILED_TEXT])
{
	const explore_site *site = &compiled_now->sites[step->site];
	const char *what = compiled_bare(site->what);

	if (step->kind == EXPLORE_END)
		snprintf(text, COMPILED_TEXT, "its end");
	else if (site->line)
		snprintf(text, COMPILED_TEXT, "%.32s at %s:%d", what, site->file, site->line);
	else
		snprintf(text, COMPILED_TEXT, "%s at %s", what, site->file);
}

static uint64_t act_directly(const explore_step *step, char *place)
{
	uint64_t old = place ? compiled_read(place, step->size) : 0;

	if (step->kind == EXPLORE_WAIT || step->kind == EXPLORE_CHOOSE)
		compiled_fail("%s: init or arbiter %s", compiled_now->test->name,
			      step->kind == EXPLORE_WAIT ? "sleeps in a futex" : "chooses");
	if (explore_writes(step->kind) && explore_takes_place(step, old))
		compiled_write(place, step->size, explore_updated(step, old));
	return step->kind == EXPLORE_HEAVY_FENCE ? 1 : old;
}

/* Announces the step and waits until the engine has taken it. */
static uint64_t operate(explore_step step, char *place, const wp__explore_site *site)
{
	if (compiled_actor == NOTHING)
		return act_directly(&step, place);
	if (place && !compiled_is_shared(place) && compiled_is_own_stack(place))
		return act_directly(&step, place);
	compiled_settle();
	compiled_asked = (asked){step, place, site, NULL};
	explore_pause();
	return compiled_given;
}

#define BIT(order) (1u << EXPLORE_##order)

/* The orders that C11 allows for an operation; all, for an operation without an order. */
static unsigned orders_of(int kind)
{
	switch (kind) {
	case EXPLORE_LOAD:
		return BIT(RELAXED) | BIT(ACQUIRE) | BIT(SEQ_CST);
	case EXPLORE_STORE:
		return BIT(RELAXED) | BIT(RELEASE) | BIT(SEQ_CST);
	case EXPLORE_FENCE:
	case EXPLORE_LIGHT_FENCE:
	case EXPLORE_HEAVY_FENCE:
		return ~BIT(PLAIN);
	default:
		return explore_is_update(kind) ? ~BIT(PLAIN) : ~0u;
	}
}

/* Refuses an order that the operation, or its failure, cannot have. */
static void check_order(const explore_step *step, const explore_site *site)
{
	static const char *const names[] = {"plain",   "relaxed", "acquire",
					    "release", "acq_rel", "seq_cst"};
	bool is_wrong = !(orders_of(step->kind) >> step->order & 1);
	bool fails_wrong =
		step->kind == EXPLORE_CAS && !(orders_of(EXPLORE_LOAD) >> step->fail_order & 1);

	if (is_wrong || fails_wrong)
		compiled_fail("%.64s at %s:%d: %s cannot be %s", compiled_bare(site->what),
			      site->file, site->line,
			      is_wrong ? "this operation" : "the failure of this operation",
			      names[is_wrong ? step->order : step->fail_order]);
}

/* Replaces the order. With relaxed, a heavy fence becomes a light one, and another fence
 * disappears. */
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

explore_step compiled_step(void)
{
	explore_step step = compiled_asked.step;
	const wp__explore_site *site = compiled_asked.site;
	const char *what = step.kind == EXPLORE_FAIL    ? "crash"
			   : step.kind == EXPLORE_FENCE ? "fence"
			   : explore_writes(step.kind)  ? "plain store"
							: "plain load";
	char file[24];

	if (site) {
		step.site = site_of(site->file, site->line, site->what);
	} else if (compiled_asked.from) {
		snprintf(file, sizeof(file), "@%lx", (unsigned long)(uintptr_t)compiled_asked.from);
		step.site = site_of(file, 0, what);
	}
	if (explore_overrides_count && site)
		override(&step, &compiled_now->sites[step.site]);
	if (site)
		check_order(&step, &compiled_now->sites[step.site]);
	return step;
}

static explore_step step_of(int kind, unsigned size, int order, uint64_t operand, uint64_t expected)
{
	explore_step step = {.kind = (uint8_t)kind,
			     .order = (uint8_t)(order                         ? order
						: kind == EXPLORE_PLAIN_STORE ? EXPLORE_PLAIN
									      : EXPLORE_RELAXED),
			     .size = (uint8_t)size,
			     .location = NOTHING};

	step.operand = explore_cut(&step, operand);
	step.expected = explore_cut(&step, expected);
	return step;
}

top *compiled_top(void)
{
	return (top *)(void *)explore_stack_end(compiled_actor) - 1;
}

/* Does an event happen that may happen `most` times at the most? The engine chooses. */
static bool happens(uint64_t *times, uint64_t most, const wp__explore_site *site)
{
	explore_step choice = {.kind = EXPLORE_CHOOSE,
			       .size = 8,
			       .operand = 2,
			       .order = EXPLORE_RELAXED,
			       .location = NOTHING};

	if (*times == most || !operate(choice, NULL, site))
		return false;
	++*times;
	return true;
}

/* A wait that finds its word as expected, and that a signal ends before any thread wakes it, was
 * never observed in the queue. So it need not enter the queue. Its system call is a fence all
 * the same. */
static bool is_interrupted(const explore_step *wait, char *place, const wp__explore_site *site)
{
	explore_step fence = {.kind = EXPLORE_FENCE, .order = EXPLORE_SEQ_CST, .location = NOTHING};
	explore_step look = {.kind = EXPLORE_LOAD,
			     .size = wait->size,
			     .order = EXPLORE_RELAXED,
			     .location = NOTHING};

	if (compiled_actor == NOTHING ||
	    !happens(&compiled_top()->interrupts, explore_interrupts_most, site))
		return false;
	if (explore_waits_are_fences)
		operate(fence, NULL, site);
	return operate(look, place, site) == wait->expected;
}

uint64_t wp__explore(int kind, const volatile void *place, unsigned size, int order,
		     uint64_t operand, uint64_t expected, const wp__explore_site *site)
{
	explore_step step = step_of(kind, size ? size : 8, order, operand, expected);

	if (kind == EXPLORE_WAIT) {
		step.has_deadline = operand != 0;
		step.operand = 0;
		if (is_interrupted(&step, (char *)(uintptr_t)place, site))
			return EXPLORE_INTERRUPTED;
	}
	if (kind == EXPLORE_FAIL)
		step.text = site->what;
	if (kind == EXPLORE_CHOOSE && (operand < 1 || operand > CHOICES_MOST))
		compiled_fail("%s: litmus_choose(%u): from 1 to %d are explored",
			      compiled_now->test->name, (unsigned)operand, CHOICES_MOST);
	if (kind == EXPLORE_HEAVY_FENCE) {
		if (compiled_actor != NOTHING &&
		    happens(&compiled_top()->failed_fences, explore_failing_heavy_most, site))
			return 0; /* the system refused: the fence orders nothing */
		operate(step, NULL, site);
		return 1; /* it works, overridden or not */
	}
	return operate(step, (char *)(uintptr_t)place, site);
}

_Bool wp__explore_cas(const volatile void *place, unsigned size, int order, int fail_order,
		      void *expected, uint64_t desired, _Bool is_weak, const wp__explore_site *site)
{
	explore_step step =
		step_of(EXPLORE_CAS, size, order, desired, compiled_read(expected, size));
	uint64_t old;

	if (compiled_actor != NOTHING && compiled_is_shared(expected))
		compiled_fail("actor %d of %s: `expected` of a compare-and-swap lies in the state: "
			      "copy it first",
			      compiled_actor, compiled_now->test->name);
	step.fail_order = (uint8_t)(fail_order ? fail_order : EXPLORE_RELAXED);
	step.is_weak = is_weak;
	compiled_given_failed = false;
	old = operate(step, (char *)(uintptr_t)place, site);
	if (old == step.expected && !compiled_given_failed)
		return 1;
	compiled_write(expected, size, old);
	return 0;
}

/* judge/explore/explored.py renames assert and abort to these. */
_Noreturn void wp__explored_assert_fail(const char *text, const char *file, unsigned line,
					const char *function);
_Noreturn void wp__explored_abort(void);

void wp__explored_assert_fail(const char *text, const char *file, unsigned line,
			      const char *function)
{
	wp__explore_site site = {file, (int)line, "assert"};

	compiled_end(text, false, NULL, &site);
}

void wp__explored_abort(void)
{
	compiled_end("calls abort", true, __builtin_return_address(0), NULL);
}

/* A fence that stood as assembly. judge/explore/assembly.py calls this in its place, where the
 * compiler holds values in registers that a call does not preserve. */
void wp__explored_fence(const void *from);

void wp__explored_fence(const void *from)
{
	explore_step fence = {
		.kind = EXPLORE_FENCE, .order = EXPLORE_SEQ_CST, .size = 8, .location = NOTHING};

	if (compiled_actor == NOTHING)
		return;
	compiled_settle();
	compiled_asked = (asked){fence, NULL, NULL, from};
	explore_pause();
}

#if defined(__x86_64__)
#define SAVE(n) "	movups %xmm" #n ", " #n "*16(%rsp)\n"
#define LOAD(n) "	movups " #n "*16(%rsp), %xmm" #n "\n"
#define ALL(act)                                                                              \
	act(0) act(1) act(2) act(3) act(4) act(5) act(6) act(7) act(8) act(9) act(10) act(11) \
		act(12) act(13) act(14) act(15)
/* One instruction after the other. */
/* clang-format off */
__asm__(".text\n.globl wp__explored_asm_fence\n"
	".type wp__explored_asm_fence, @function\nwp__explored_asm_fence:\n"
	"	push %rbp\n	mov %rsp, %rbp\n	pushfq\n	push %rax\n	push %rcx\n"
	"	push %rdx\n	push %rsi\n	push %rdi\n	push %r8\n	push %r9\n"
	"	push %r10\n	push %r11\n	sub $256, %rsp\n	and $-16, %rsp\n"
	ALL(SAVE)
	"	mov 8(%rbp), %rdi\n	cld\n	call wp__explored_fence\n"
	ALL(LOAD)
	"	lea -80(%rbp), %rsp\n	pop %r11\n	pop %r10\n	pop %r9\n	pop %r8\n"
	"	pop %rdi\n	pop %rsi\n	pop %rdx\n	pop %rcx\n	pop %rax\n"
	"	popfq\n	pop %rbp\n	ret\n"
	".size wp__explored_asm_fence, .-wp__explored_asm_fence\n");
/* clang-format on */
#endif

void wp__explore_yield(void)
{
	if (compiled_actor == NOTHING || !explore_turns_most ||
	    ++compiled_top()->turns <= explore_turns_most)
		return;
	compiled_now->program.is_bounded = true;
	operate((explore_step){.kind = EXPLORE_ABANDON, .location = NOTHING, .operand = 1}, NULL,
		NULL);
}

/* Events: words of the arena, behind the state. */

char *compiled_event_word(int event)
{
	return EXPLORE_BASE + STATE_MOST + event * EVENT;
}

int wp__explore_event_open(void)
{
	if (compiled_actor != NOTHING || compiled_now->events == EVENTS) {
		compiled_fail("%s: events are opened by init, %d at the most",
			      compiled_now->test->name, EVENTS);
		return -1;
	}
	return compiled_now->events++;
}

uint64_t wp__explore_event(int event, _Bool takes, const wp__explore_site *site)
{
	return wp__explore(takes ? EXPLORE_EXCHANGE : EXPLORE_ADD, compiled_event_word(event), 8,
			   EXPLORE_RELAXED, takes ? 0 : 1, 0, site);
}
