/* SPDX-License-Identifier: Apache-2.0
 * own_futex.c - the system calls futex and membarrier.
 *
 *   futex wait, wake      steps of the engine, which has a wait queue for each word
 *   requeue               who sleeps on one word is moved to the queue of another one:
 *
 *   a thread that requeues                        a thread that sleeps on `from`
 *   lock                                          is woken, and told that it was moved
 *   wakes some of `from`, moves the others:       sleeps on a word of its own
 *   `moved_to` of each is `to`
 *   unlock
 *
 *   who wakes `to`: lock; wakes sleepers of `to`, or takes a thread that was moved there and wakes
 *   it by that thread's own word; unlock
 *
 * Why it works  A thread was moved when `moved_to` says so, at one step, under the lock. Between that
 *               and its sleep on its own word a wake of `to` finds it in `moved_to`, so no wake is
 *               missed. The lock is relaxed: it orders nothing but these calls. Programs that never
 *               requeue take no lock.
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
static bool requeues;                         /* in some execution */

void own_unlearn_futexes(void)
{
	requeues = false;
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

/* The threads that were moved to the word, a bit each. */
static uint64_t moved_threads(const char *word)
{
	uint64_t threads = 0;

	own_is_pure = own_is_causal = false;
	for (int t = 0; t < EXPLORE_THREADS; t++)
		if (moved_to[t] == word)
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

/* Wakes one of the threads that were moved to the word. */
static void wake_moved(const char *word, const char *what, const void *from)
{
	uint64_t threads = moved_threads(word);
	uint64_t nth = choose((uint64_t)__builtin_popcountll(threads), what, from);
	int thread;

	while (nth--)
		threads &= threads - 1;
	thread = __builtin_ctzll(threads);
	set_moved(thread, NULL);
	own_store(word_of(thread), WORD, 1, EXPLORE_RELAXED, what, from);
	own_wake(word_of(thread), 1, what, from);
}

/* Under the lock. Any of those who sleep on the word may be woken first. */
static long wake_any(uint32_t *word, uint64_t most, const char *what, const void *from)
{
	uint64_t woken = 0;

	while (woken < most && moved_threads((char *)word)) {
		bool is_direct = choose(2, what, from) && own_wake(word, 1, what, from);

		if (!is_direct)
			wake_moved((char *)word, what, from);
		woken++;
	}
	return (long)(woken + (woken < most ? own_wake(word, most - woken, what, from) : 0));
}

static long wake(uint32_t *word, uint32_t most, const void *from)
{
	static const char what[] = "futex wake";
	long woken;

	if (!requeues)
		return (long)own_wake(word, most, what, from);
	lock(what, from);
	woken = wake_any(word, most, what, from);
	unlock(what, from);
	return woken;
}

/* Moves sleepers; returns how many. The step's `expected` tells them so (own_replay.c). */
static long move(uint32_t *from_word, uint64_t most, const uint32_t *to_word, const char *what,
		 const void *from)
{
	explore_step step = {.kind = EXPLORE_WAKE,
			     .order = EXPLORE_RELAXED,
			     .size = WORD,
			     .location = OWN_NOTHING,
			     .operand = most,
			     .expected = OWN_IS_MOVED};
	uint64_t before = moved_threads((char *)from_word), threads = 0;
	long count = 0;

	for (; before && most; before &= before - 1, most--, count++)
		set_moved(__builtin_ctzll(before), to_word);
	step.operand = most;
	if (most)
		threads = own_step(step, from_word, what, from);
	for (; threads; threads &= threads - 1, count++)
		set_moved(__builtin_ctzll(threads), to_word);
	return count;
}

/* `value`: what the word must hold; NULL: anything. */
static long requeue(uint32_t *from_word, uint32_t wakes, uint32_t moves, uint32_t *to_word,
		    const uint32_t *value, const void *from)
{
	static const char what[] = "futex requeue";
	long woken, moved;

	if (!requeues) {
		requeues = true;
		own_program.error = EXPLORE_START_AGAIN;
	}
	lock(what, from);
	if (value && own_load(from_word, WORD, EXPLORE_RELAXED, what, from) != *value) {
		unlock(what, from);
		return errno = EAGAIN, -1;
	}
	woken = wake_any(from_word, wakes, what, from);
	moved = move(from_word, moves, to_word, what, from);
	unlock(what, from);
	return value ? woken + moved : woken;
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
		 const void *from)
{
	uint64_t end = own_sleep_on(word, value, time != NULL, "futex wait", from);

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
	uint32_t moves = (uint32_t)(uintptr_t)time;

	switch (operation & FUTEX_CMD_MASK) {
	case FUTEX_WAIT: /* for a while, not until then */
	case FUTEX_WAIT_BITSET:
		return wait(word, value, time, (operation & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET,
			    from);
	case FUTEX_WAKE:
	case FUTEX_WAKE_BITSET:
		return wake(word, value, from);
	case FUTEX_REQUEUE:
		return requeue(word, value, moves, other, NULL, from);
	case FUTEX_CMP_REQUEUE:
		return requeue(word, value, moves, other, &last, from);
	default:
		own_refuse("futex operation %d is not modelled", operation & FUTEX_CMD_MASK);
		own_pause();
		return -1;
	}
}

pid_t own__gettid(void);
ssize_t own__getrandom(void *to, size_t size, unsigned flags);

/* Are the bits with which FUTEX_WAIT_BITSET and FUTEX_WAKE_BITSET select all? */
static bool has_all_bits(long operation, long bits)
{
	operation &= FUTEX_CMD_MASK;
	return (operation != FUTEX_WAIT_BITSET && operation != FUTEX_WAKE_BITSET) ||
	       (uint32_t)bits == FUTEX_BITSET_MATCH_ANY;
}

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
	if (own_now && number == SYS_futex && has_all_bits(two, six))
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
