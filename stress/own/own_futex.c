/* SPDX-License-Identifier: Apache-2.0
 * own_futex.c - the system calls futex and membarrier.
 *
 *   futex wait, wake      steps of the engine, which has a wait queue for each word
 *   requeue, bits         who sleeps on one word is moved to the queue of another one, or of the
 *                         same one, where a waker selects by the bits that each has:
 *
 *   a thread that requeues or wakes               a thread that sleeps on `from`
 *   lock                                          is told that it was moved
 *   moves who sleeps on `from`:                   sleeps on a word of its own
 *   `moved_to` of each is `to`
 *   wakes those that it selects among all with
 *   `moved_to`, each by that thread's own word
 *   unlock
 *
 * Why it works  A thread was moved when `moved_to` says so, at one step, under the lock. Between that
 *               and its sleep on its own word a wake of `to` finds it in `moved_to`, so no wake is
 *               missed. Who sleeps has set its bits before, and changes them when it is awake. The
 *               lock is relaxed: it orders nothing but these calls. Programs that neither requeue
 *               nor use bits take no lock.
 * Spec          none.
 * Evidence      tests/judge/own/test_futex.py. */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "own.h"

enum { WORD = 4 };

static const char *moved_to[EXPLORE_THREADS]; /* a word; NULL: it was not moved, or is woken */
static uint32_t bits_of[EXPLORE_THREADS];     /* of its latest wait; kept if `moves_any` */
static bool moves_any;                        /* in some execution */

void own_unlearn_futexes(void)
{
	moves_any = false;
}

/* From now on this program's calls take the lock. */
static void learn_moves(void)
{
	if (!moves_any) {
		moves_any = true;
		own_program.error = EXPLORE_START_AGAIN;
	}
}

void own_reset_futexes(void)
{
	memset(moved_to, 0, sizeof(moved_to));
}

/* A thread that was moved sleeps on its own word while that is 0. */
static char *word_of(int thread)
{
	return OWN_MOVED + WORD + thread * WORD;
}

static void lock(const char *what, const void *from)
{
	explore_step step = {.kind = EXPLORE_CAS,
			     .order = EXPLORE_RELAXED,
			     .fail_order = EXPLORE_RELAXED,
			     .size = WORD,
			     .is_lock = true,
			     .location = OWN_NOTHING,
			     .operand = 1};

	own_step(step, OWN_MOVED, what, from);
	own_hold(OWN_MOVED, 0, true);
}

static void unlock(const char *what, const void *from)
{
	own_hold(OWN_MOVED, 0, false);
	own_store(OWN_MOVED, WORD, 0, EXPLORE_RELAXED, what, from);
}

/* The threads that were moved to the word and have one of the bits. */
static uint64_t moved_threads(const void *word, uint32_t bits)
{
	uint64_t threads = 0;

	own_is_pure = own_is_causal = false;
	for (int t = 0; t < EXPLORE_THREADS; t++)
		if (moved_to[t] == word && bits_of[t] & bits)
			threads |= UINT64_C(1) << t;
	return threads;
}

static void set_moved(int thread, const void *word)
{
	own_is_pure = own_is_causal = false;
	moved_to[thread] = word;
}

static uint64_t choose(uint64_t count, const char *what, const void *from)
{
	explore_step step = {
		.kind = EXPLORE_CHOOSE, .size = 8, .location = OWN_NOTHING, .operand = count};

	return count == 1 ? 0 : own_step(step, NULL, what, from);
}

/* Moves sleepers; returns how many. The step's `expected` tells them so (own_replay.c). */
static uint64_t move_sleepers(void *from_word, uint64_t most, const void *to_word, const char *what,
			      const void *from)
{
	explore_step step = {.kind = EXPLORE_WAKE,
			     .order = EXPLORE_RELAXED,
			     .size = WORD,
			     .location = OWN_NOTHING,
			     .operand = most,
			     .expected = OWN_IS_MOVED};
	uint64_t threads = own_step(step, from_word, what, from);
	uint64_t count = (uint64_t)__builtin_popcountll(threads);

	for (; threads; threads &= threads - 1)
		set_moved(__builtin_ctzll(threads), to_word);
	return count;
}

/* Under the lock. Any of those with one of the bits may be woken first. */
static uint64_t wake_some(void *word, uint64_t most, uint32_t bits, const char *what,
			  const void *from)
{
	uint64_t threads, count, woken = 0;

	if (!most)
		return 0;
	if (bits == FUTEX_BITSET_MATCH_ANY && !moved_threads(word, bits))
		return own_wake(word, most, what, from);
	move_sleepers(word, EXPLORE_THREADS, word, what, from);
	threads = moved_threads(word, bits);
	count = (uint64_t)__builtin_popcountll(threads);
	most = most < count ? most : count;
	for (; woken < most; woken++, threads &= threads - 1) {
		uint64_t passed = choose(count - (most - woken) + 1, what, from);
		int thread;

		for (count -= passed + 1; passed; passed--)
			threads &= threads - 1;
		thread = __builtin_ctzll(threads);
		set_moved(thread, NULL);
		own_store(word_of(thread), WORD, 1, EXPLORE_RELAXED, what, from);
		own_wake(word_of(thread), 1, what, from);
	}
	return woken;
}

static long wake(uint32_t *word, uint32_t most, uint32_t bits, const void *from)
{
	static const char what[] = "futex wake";
	uint64_t woken;

	if (!moves_any)
		return (long)own_wake(word, most, what, from);
	lock(what, from);
	woken = wake_some(word, most, bits, what, from);
	unlock(what, from);
	return (long)woken;
}

/* Who was moved to the one word is moved to the other one first. */
static uint64_t move(void *from_word, uint64_t most, const void *to_word, const char *what,
		     const void *from)
{
	uint64_t before = moved_threads(from_word, FUTEX_BITSET_MATCH_ANY), count = 0;

	for (; before && count < most; before &= before - 1, count++)
		set_moved(__builtin_ctzll(before), to_word);
	return count +
	       (count < most ? move_sleepers(from_word, most - count, to_word, what, from) : 0);
}

/* `value`: what the word must hold; NULL: anything. */
static long requeue(uint32_t *from_word, uint32_t wakes, uint32_t moves, uint32_t *to_word,
		    const uint32_t *value, const void *from)
{
	static const char what[] = "futex requeue";
	uint64_t woken, moved;

	learn_moves();
	lock(what, from);
	if (value && own_load(from_word, WORD, EXPLORE_RELAXED, what, from) != *value) {
		unlock(what, from);
		return errno = EAGAIN, -1;
	}
	woken = wake_some(from_word, wakes, FUTEX_BITSET_MATCH_ANY, what, from);
	moved = move(from_word, moves, to_word, what, from);
	unlock(what, from);
	return (long)(value ? woken + moved : woken);
}

/* Of a thread that was moved. Returns an explore_woken. */
static uint64_t sleep_moved(bool has_deadline, const void *from)
{
	static const char what[] = "futex wait, moved";
	char *mine = word_of(own_thread());
	uint64_t end = EXPLORE_WOKEN;

	while (end != EXPLORE_TIMED_OUT && !own_load(mine, WORD, EXPLORE_RELAXED, what, from))
		end = own_sleep_on(mine, 0, has_deadline, what, from);
	if (end == EXPLORE_TIMED_OUT) {
		lock(what, from);
		end = moved_to[own_thread()] ? EXPLORE_TIMED_OUT : EXPLORE_WOKEN;
		set_moved(own_thread(), NULL);
		unlock(what, from);
	}
	own_store(mine, WORD, 0, EXPLORE_RELAXED, what, from);
	return end == EXPLORE_TIMED_OUT ? end : EXPLORE_WOKEN;
}

static long wait(uint32_t *word, uint32_t value, const struct timespec *time, bool is_until,
		 uint32_t bits, const void *from)
{
	uint64_t end;

	if (moves_any) {
		own_is_pure = own_is_causal = false;
		bits_of[own_thread()] = bits;
	}
	end = own_sleep_on(word, value, time != NULL, "futex wait", from);
	if (end == OWN_IS_MOVED)
		end = sleep_moved(time != NULL, from);
	if (end == EXPLORE_TIMED_OUT && is_until)
		own_pass_until(time);
	errno = end == EXPLORE_AGAIN ? EAGAIN : ETIMEDOUT;
	return end == EXPLORE_WOKEN ? 0 : -1;
}

static long futex(uint32_t *word, int operation, uint32_t value, const struct timespec *time,
		  uint32_t *other, uint32_t last, const void *from)
{
	uint32_t moves = (uint32_t)(uintptr_t)time, bits = FUTEX_BITSET_MATCH_ANY;
	int command = operation & FUTEX_CMD_MASK;

	if (command == FUTEX_WAIT_BITSET || command == FUTEX_WAKE_BITSET) {
		if (!last)
			return errno = EINVAL, -1;
		bits = last;
		if (bits != FUTEX_BITSET_MATCH_ANY)
			learn_moves();
	}
	switch (command) {
	case FUTEX_WAIT: /* for a while, not until then */
	case FUTEX_WAIT_BITSET:
		return wait(word, value, time, command == FUTEX_WAIT_BITSET, bits, from);
	case FUTEX_WAKE:
	case FUTEX_WAKE_BITSET:
		return wake(word, value, bits, from);
	case FUTEX_REQUEUE:
		return requeue(word, value, moves, other, NULL, from);
	case FUTEX_CMP_REQUEUE:
		return requeue(word, value, moves, other, &last, from);
	default:
		own_refuse("futex operation %d is not modelled", command);
		own_pause();
		return -1;
	}
}

pid_t own__gettid(void);
ssize_t own__getrandom(void *to, size_t size, unsigned flags);

OWN(long, syscall, long number, ...)
{
	va_list arguments;
	long one, two, three, four, five, six;

	va_start(arguments, number);
	one = va_arg(arguments, long);
	two = va_arg(arguments, long);
	three = va_arg(arguments, long);
	four = va_arg(arguments, long);
	five = va_arg(arguments, long);
	six = va_arg(arguments, long);
	va_end(arguments);
	if (own_now && number == SYS_futex)
		return futex((uint32_t *)one, (int)two, (uint32_t)three, (const void *)four,
			     (uint32_t *)five, (uint32_t)six, OWN_PC);
	if (number == SYS_gettid)
		return own__gettid();
	if (number == SYS_getrandom)
		return own__getrandom((void *)one, (size_t)two, 0);
	if (own_now && number == SYS_membarrier && one != MEMBARRIER_CMD_QUERY) {
		explore_step step = {.kind = EXPLORE_HEAVY_FENCE,
				     .order = EXPLORE_SEQ_CST,
				     .size = 8,
				     .location = OWN_NOTHING};

		own_step(step, NULL, "membarrier", OWN_PC);
		return 0;
	}
	own_refuse("system call %ld is not modelled", number);
	if (own_now)
		own_pause();
	return -1;
}
