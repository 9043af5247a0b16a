/* SPDX-License-Identifier: Apache-2.0
 * own_hooks.c - the functions that code compiled with -fsanitize=thread calls: atomic operations,
 * fences, plain accesses.
 *
 *   the compiler's memory order   0 relaxed, 1 consume, 2 acquire, 3 release, 4 acq_rel, 5 seq_cst
 *
 * Why it works  gcc and clang compile C11 atomics, __atomic and __sync to these calls alone. Consume
 *               is acquire, as compilers have it.
 * Spec          none.
 * Evidence      tests/judge/own. */
#include <string.h>

#include "own.h"

uint64_t own_given;
bool own_given_failed;

static uint64_t act_directly(const explore_step *step, void *at)
{
	uint64_t old = 0;

	if (at)
		memcpy(&old, at, step->size);
	if (at && explore_writes(step->kind) && explore_takes_place(step, old)) {
		uint64_t new = explore_updated(step, old);

		memcpy(at, &new, step->size);
	}
	return old;
}

static bool is_same_load(const own_await *one, const own_await *other)
{
	return one->at == other->at && one->from == other->from && one->value == other->value;
}

/* The newest load ends a round of the loop that was like the round before. Returns its length in
 * loads; 0: it does not. */
static int round_length(const own_await *loads, int count)
{
	const own_await *newest = &loads[count - 1];

	for (int length = 1; 2 * length < count; length++) {
		bool is_round =
			newest[-length].at == newest->at && newest[-length].from == newest->from;

		for (int i = 1; i <= length && is_round; i++)
			is_round = is_same_load(&newest[-i], &newest[-i - length]);
		if (is_round)
			return length;
	}
	return 0;
}

/* Names the place of a load that waits. If nothing has changed for two rounds, it is the place of
 * the round before, though the loop has counted on. */
static void note_place(void)
{
	own_await *newest = &own_now->awaits[own_now->awaits_count - 1];
	int length = round_length(own_now->awaits, own_now->awaits_count);

	newest->digest = length ? newest[-length].digest : own_digest_of(own_now);
	own_now->again = &newest->digest;
}

uint64_t own_step(explore_step step, void *at, const char *what, const void *from)
{
	own_last = from;
	if (!own_now)
		return act_directly(&step, at);
	if ((char *)at >= OWN_BASE) /* no free may be concurrent with it */
		own_note_access(at, step.size, false);
	if (at)
		own_check_heap(at, step.size, explore_writes(step.kind), from);
	own_settle();
	step.location = at ? own_location(at, step.size, what) : OWN_NOTHING;
	step.site = own_site(from, what);
	own_given_failed = false;
	own_now->spin_at = NULL;
	if (!own_now->is_awaiting)
		own_now->awaits_count = 0;
	own_now->asked = step;
	if (own_now->is_awaiting)
		note_place();
	own_pause();
	own_now->again = NULL;
	return own_given;
}

void own_fail(const char *text, bool is_crash, bool is_race, const void *from)
{
	own_is_causal = false;
	own_now->asked = (explore_step){.kind = EXPLORE_FAIL,
					.location = OWN_NOTHING,
					.is_crash = is_crash,
					.is_race = is_race,
					.text = text,
					.site = own_site(from, is_race ? "race" : "failure")};
	for (;;)
		own_pause();
}

static int order_of(int order)
{
	return (order &= 7) == 0 ? EXPLORE_RELAXED : order == 1 ? EXPLORE_ACQUIRE : order;
}

static explore_step step_of(int kind, int size, int order, uint64_t value)
{
	explore_step step = {.kind = (uint8_t)kind,
			     .order = (uint8_t)order,
			     .size = (uint8_t)size,
			     .location = OWN_NOTHING};

	step.operand = explore_cut(&step, value);
	return step;
}

uint64_t own_load(void *at, int size, int order, const char *what, const void *from)
{
	return own_step(step_of(EXPLORE_LOAD, size, order, 0), at, what, from);
}

void own_store(void *at, int size, uint64_t value, int order, const char *what, const void *from)
{
	own_step(step_of(EXPLORE_STORE, size, order, value), at, what, from);
}

uint64_t own_update(int kind, void *at, int size, uint64_t value, int order, const char *what,
		    const void *from)
{
	return own_step(step_of(kind, size, order, value), at, what, from);
}

bool own_cas(void *at, int size, uint64_t expected, uint64_t value, int order, const char *what,
	     const void *from)
{
	explore_step step = step_of(EXPLORE_CAS, size, order, value);

	step.expected = explore_cut(&step, expected);
	step.fail_order = EXPLORE_RELAXED;
	return own_step(step, at, what, from) == step.expected;
}

/* A mutex of Rust's standard library: 0, or a number of the thread that holds it. Its lock waits in
 * the engine, so nobody ever sees that others wait for it: the number is never 2. */
static uint64_t lock_std(void *at, const void *from)
{
	explore_step step =
		step_of(EXPLORE_CAS, 4, EXPLORE_ACQUIRE, 1 + 4 * (uint64_t)own_thread());

	step.fail_order = EXPLORE_RELAXED;
	step.is_lock = true;
	return own_step(step, at, "lock", from);
}

static uint64_t unlock_std(void *at, const void *from)
{
	own_store(at, 4, 0, EXPLORE_RELEASE, "unlock", from);
	return 1;
}

/* A loop that only waits for a while sees what it saw at first. */
static uint64_t spin_std(void *at, int order, const void *from)
{
	if (own_now->spin_at != at || own_now->spin_from != from) {
		own_now->spin_value = own_load(at, 4, order, "load", from);
		own_now->spin_at = at;
		own_now->spin_from = from;
	}
	return own_now->spin_value;
}

/* A load in a loop that waits for another thread and counts how often it has looked. */
static uint64_t await_std(void *at, int size, int order, const void *from)
{
	own_fiber *me = own_now;
	own_await *await;

	if (me->awaits_count == OWN_AWAITS)
		memmove(me->awaits, me->awaits + 1,
			(size_t)--me->awaits_count * sizeof(*me->awaits));
	await = &me->awaits[me->awaits_count++];
	await->at = at;
	await->from = from;
	me->is_awaiting = true;
	await->value = own_load(at, size, order, "load", from);
	me->is_awaiting = false;
	return await->value;
}

static bool exchange_if(void *at, void *expected, uint64_t value, int size, int order,
			int fail_order, bool is_weak, const void *from)
{
	explore_step step = step_of(EXPLORE_CAS, size, order_of(order), value);
	uint64_t old = 0;

	memcpy(&step.expected, expected, (size_t)size);
	step.fail_order = (uint8_t)order_of(fail_order);
	step.is_weak = is_weak;
	old = own_step(step, at, "compare-and-swap", from);
	if (old == step.expected && !own_given_failed)
		return true;
	memcpy(expected, &old, (size_t)size);
	return false;
}

/* An update that the engine does not have: a load, and a compare-and-swap until it succeeds. */
static uint64_t update_by_cas(void *at, int size, int order, uint64_t value, bool is_nand,
			      const void *from)
{
	for (;;) {
		uint64_t old = own_load(at, size, EXPLORE_RELAXED, "load of an update", from);
		uint64_t new = is_nand ? ~(old & value) : old ^ value;

		if (own_cas(at, size, old, new, order_of(order), "update", from))
			return old;
	}
}

/* The compiler's names. */

#define UPDATE(bits, name, kind, value)                                                     \
	uint##bits##_t __tsan_atomic##bits##_##name(void *at, uint##bits##_t v, int order); \
	uint##bits##_t __tsan_atomic##bits##_##name(void *at, uint##bits##_t v, int order)  \
	{                                                                                   \
		return (uint##bits##_t)own_update(kind, at, (bits) / 8, (uint64_t)(value),  \
						  order_of(order), #name, OWN_PC);          \
	}
#define BY_CAS(bits, name, is_nand)                                                              \
	uint##bits##_t __tsan_atomic##bits##_##name(void *at, uint##bits##_t v, int order);      \
	uint##bits##_t __tsan_atomic##bits##_##name(void *at, uint##bits##_t v, int order)       \
	{                                                                                        \
		return (uint##bits##_t)update_by_cas(at, (bits) / 8, order, v, is_nand, OWN_PC); \
	}
#define EXCHANGE_IF(bits, name, is_weak)                                                          \
	int __tsan_atomic##bits##_compare_exchange_##name(void *at, void *expected,               \
							  uint##bits##_t v, int order, int fail); \
	int __tsan_atomic##bits##_compare_exchange_##name(void *at, void *expected,               \
							  uint##bits##_t v, int order, int fail)  \
	{                                                                                         \
		return exchange_if(at, expected, v, (bits) / 8, order, fail, is_weak, OWN_PC);    \
	}
#define ATOMICS(bits)                                                                              \
	uint##bits##_t __tsan_atomic##bits##_load(void *at, int order);                            \
	void __tsan_atomic##bits##_store(void *at, uint##bits##_t v, int order);                   \
	uint##bits##_t __tsan_atomic##bits##_exchange(void *at, uint##bits##_t v, int order);      \
	uint##bits##_t __tsan_atomic##bits##_compare_exchange_val(                                 \
		void *at, uint##bits##_t expected, uint##bits##_t v, int order, int fail);         \
	uint##bits##_t __tsan_atomic##bits##_load(void *at, int order)                             \
	{                                                                                          \
		if (OF_STD(bits, OWN_SPIN, OWN_PC))                                                \
			return (uint##bits##_t)spin_std(at, order_of(order), OWN_PC);              \
		if (own_now && own_is_std(OWN_AWAIT, OWN_PC))                                      \
			return (uint##bits##_t)await_std(at, (bits) / 8, order_of(order), OWN_PC); \
		return (uint##bits##_t)own_load(at, (bits) / 8, order_of(order), "load", OWN_PC);  \
	}                                                                                          \
	void __tsan_atomic##bits##_store(void *at, uint##bits##_t v, int order)                    \
	{                                                                                          \
		own_store(at, (bits) / 8, v, order_of(order), "store", OWN_PC);                    \
	}                                                                                          \
	uint##bits##_t __tsan_atomic##bits##_compare_exchange_val(                                 \
		void *at, uint##bits##_t expected, uint##bits##_t v, int order, int fail)          \
	{                                                                                          \
		if (OF_STD(bits, OWN_LOCK, OWN_PC))                                                \
			return (uint##bits##_t)lock_std(at, OWN_PC);                               \
		exchange_if(at, &expected, v, (bits) / 8, order, fail, false, OWN_PC);             \
		return expected;                                                                   \
	}                                                                                          \
	uint##bits##_t __tsan_atomic##bits##_exchange(void *at, uint##bits##_t v, int order)       \
	{                                                                                          \
		if (OF_STD(bits, OWN_UNLOCK, OWN_PC))                                              \
			return (uint##bits##_t)unlock_std(at, OWN_PC);                             \
		return (uint##bits##_t)own_update(EXPLORE_EXCHANGE, at, (bits) / 8, v,             \
						  order_of(order), "exchange", OWN_PC);            \
	}                                                                                          \
	UPDATE(bits, fetch_add, EXPLORE_ADD, v)                                                    \
	UPDATE(bits, fetch_sub, EXPLORE_ADD, -(uint64_t)v)                                         \
	UPDATE(bits, fetch_or, EXPLORE_OR, v)                                                      \
	UPDATE(bits, fetch_and, EXPLORE_AND, v)                                                    \
	BY_CAS(bits, fetch_xor, false)                                                             \
	BY_CAS(bits, fetch_nand, true)                                                             \
	EXCHANGE_IF(bits, strong, false)                                                           \
	EXCHANGE_IF(bits, weak, true)
#define OF_STD(bits, kind, from) ((bits) == 32 && own_now && own_is_std(kind, from))
ATOMICS(8)
ATOMICS(16)
ATOMICS(32)
ATOMICS(64)

void __tsan_atomic_thread_fence(int order);
void __tsan_atomic_signal_fence(int order);

void __tsan_atomic_thread_fence(int order)
{
	explore_step step = step_of(EXPLORE_FENCE, 8, order_of(order), 0);

	if (own_now && step.order != EXPLORE_RELAXED)
		own_step(step, NULL, "fence", OWN_PC);
}

/* A fence that stood as assembly, where the compiler holds values in registers that a call does not
 * preserve; judge/explore/assembly.py puts this call there. */
void own_asm_fence(const void *from);

void own_asm_fence(const void *from)
{
	if (own_now)
		own_step(step_of(EXPLORE_FENCE, 8, EXPLORE_SEQ_CST, 0), NULL, "mfence", from);
}

#define SAVE(n) "movups %xmm" #n ", " #n "*16(%rsp)\n"
#define LOAD(n) "movups " #n "*16(%rsp), %xmm" #n "\n"
#define ALL(act)                                                                              \
	act(0) act(1) act(2) act(3) act(4) act(5) act(6) act(7) act(8) act(9) act(10) act(11) \
		act(12) act(13) act(14) act(15)
/* clang-format off */
__asm__(".text\n.globl own__wp__explored_asm_fence\n"
	".type own__wp__explored_asm_fence, @function\nown__wp__explored_asm_fence:\n"
	"push %rbp\nmov %rsp, %rbp\npushfq\npush %rax\npush %rcx\npush %rdx\npush %rsi\n"
	"push %rdi\npush %r8\npush %r9\npush %r10\npush %r11\nsub $256, %rsp\nand $-16, %rsp\n"
	ALL(SAVE)
	"mov 8(%rbp), %rdi\ncld\ncall own_clean\ncall own_asm_fence\n"
	ALL(LOAD)
	"lea -80(%rbp), %rsp\npop %r11\npop %r10\npop %r9\npop %r8\npop %rdi\npop %rsi\n"
	"pop %rdx\npop %rcx\npop %rax\npopfq\npop %rbp\nret\n");
/* clang-format on */

/* The light side of membarrier: the compiler keeps its place, and the heavy side does the rest. */
void __tsan_atomic_signal_fence(int order)
{
	if (own_now && order_of(order) == EXPLORE_SEQ_CST)
		own_step(step_of(EXPLORE_LIGHT_FENCE, 8, EXPLORE_SEQ_CST, 0), NULL, "signal fence",
			 OWN_PC);
}

/* The pointer to the virtual functions of an object: a write only if it changes. */
void __tsan_vptr_update(void **at, void *new);
void __tsan_vptr_read(void **at);

void __tsan_vptr_update(void **at, void *new)
{
	own_plain((char *)at, sizeof(*at), *at != new, false, OWN_PC);
}

void __tsan_vptr_read(void **at)
{
	own_plain((char *)at, sizeof(*at), false, false, OWN_PC);
}

#define TSAN_READ(place, size, is_volatile) own_plain(place, size, false, is_volatile, OWN_PC)
#define TSAN_WRITE(place, size, is_volatile) own_plain(place, size, true, is_volatile, OWN_PC)
#include "tsan_hooks.h"
