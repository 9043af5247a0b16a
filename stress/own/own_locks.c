/* SPDX-License-Identifier: Apache-2.0
 * own_locks.c - the locks of POSIX and C11, written with steps of the engine.
 *
 *   mutex       a word: 0, or 1 + the thread that holds it; lock is a compare-and-swap that waits
 *   condition   a word that counts signals: wait reads it, unlocks, sleeps on it as a futex
 *   semaphore, barrier, once, rwlock   a word or two, and sleeping as a futex
 *
 * Why it works  A lock is an acquire, an unlock a release, as POSIX and C11 have it. A signal before
 *               the sleep changes the word, so the sleep ends at once: a wakeup without a signal for
 *               this thread, which POSIX allows.
 * Spec          none.
 * Evidence      tests/judge/own. */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <threads.h>
#include <time.h>

#include "own.h"

enum { WORD = 4, DEPTH = 4, KIND = 16, NEEDED = 8, GENERATION = 4 };

static void set_word(void *at, uint32_t value, const void *from)
{
	own_plain(at, WORD, true, false, from);
	memcpy(at, &value, WORD);
}

static uint32_t word_now(const void *at)
{
	uint32_t value;

	memcpy(&value, at, WORD);
	return value;
}

uint64_t own_sleep_on(void *at, uint32_t value, bool has_deadline, const char *what,
		      const void *from)
{
	explore_step step = {.kind = EXPLORE_WAIT,
			     .order = EXPLORE_RELAXED,
			     .size = WORD,
			     .has_deadline = has_deadline,
			     .location = OWN_NOTHING,
			     .expected = value};

	return own_step(step, at, what, from);
}

uint64_t own_wake(void *at, uint64_t most, const char *what, const void *from)
{
	explore_step step = {.kind = EXPLORE_WAKE,
			     .order = EXPLORE_RELAXED,
			     .size = WORD,
			     .location = OWN_NOTHING,
			     .operand = most};

	return own_step(step, at, what, from);
}

/* Who has waited until a time finds it on the clock. */
void own_pass_until(const struct timespec *until)
{
	int64_t ns = ((int64_t)until->tv_sec - OWN_START_S) * 1000000000 + until->tv_nsec;

	if (ns > (int64_t)own_now->clock_ns)
		own_now->clock_ns = (uint64_t)ns;
}

/* Mutexes. */

static uint32_t me(void)
{
	return (uint32_t)own_thread() + 1;
}

static int kind_of(const void *mutex)
{
	return (int)(word_now((const char *)mutex + KIND) & 3); /* without its other flags */
}

static void note_depth(void *mutex, int by)
{
	uint32_t depth = word_now((char *)mutex + DEPTH) + (uint32_t)by;

	memcpy((char *)mutex + DEPTH, &depth, WORD);
	own_is_pure = false;
	own_hold((char *)mutex + DEPTH, 0, by > 0);
}

/* 0, or what lock and trylock return at once. OWN_NOTHING: the word decides. */
static int lock_again(void *mutex, bool tries)
{
	if (!own_now || word_now(mutex) != me())
		return OWN_NOTHING;
	if (kind_of(mutex) == PTHREAD_MUTEX_RECURSIVE) {
		note_depth(mutex, 1);
		return 0;
	}
	return kind_of(mutex) == PTHREAD_MUTEX_ERRORCHECK && !tries ? EDEADLK : OWN_NOTHING;
}

static int lock(void *mutex, bool tries, const void *from)
{
	explore_step step = {.kind = EXPLORE_CAS,
			     .order = EXPLORE_ACQUIRE,
			     .fail_order = EXPLORE_RELAXED,
			     .size = WORD,
			     .is_lock = !tries,
			     .location = OWN_NOTHING,
			     .operand = own_now ? me() : 1};
	int at_once = lock_again(mutex, tries);

	if (at_once >= 0)
		return at_once;
	if (own_step(step, mutex, tries ? "trylock" : "lock", from))
		return EBUSY;
	if (own_now)
		own_hold(mutex, 0, true); /* so the position says whether it holds the mutex */
	return 0;
}

void own_lock_word(void *at, const char *what, const void *from)
{
	explore_step step = {.kind = EXPLORE_CAS,
			     .order = EXPLORE_ACQUIRE,
			     .fail_order = EXPLORE_RELAXED,
			     .size = WORD,
			     .is_lock = true,
			     .location = OWN_NOTHING,
			     .operand = me()};

	own_step(step, at, what, from);
	own_hold(at, 0, true);
}

void own_unlock_word(void *at, const char *what, const void *from)
{
	own_hold(at, 0, false);
	own_store(at, WORD, 0, EXPLORE_RELEASE, what, from);
}

static int unlock(void *mutex, const void *from)
{
	if (own_now && word_now(mutex) != me()) {
		if (kind_of(mutex) != PTHREAD_MUTEX_NORMAL)
			return EPERM;
		own_fail("unlocks a mutex that it does not hold", true, false, from);
	}
	if (kind_of(mutex) == PTHREAD_MUTEX_RECURSIVE && word_now((char *)mutex + DEPTH)) {
		note_depth(mutex, -1);
		return 0;
	}
	if (own_now)
		own_hold(mutex, 0, false);
	own_store(mutex, WORD, 0, EXPLORE_RELEASE, "unlock", from);
	return 0;
}

static void make_mutex(void *mutex, uint32_t kind, const void *from)
{
	set_word(mutex, 0, from);
	memset((char *)mutex + WORD, 0, sizeof(pthread_mutex_t) - WORD);
	memcpy((char *)mutex + KIND, &kind, WORD);
}

OWN(int, pthread_mutex_init, pthread_mutex_t *mutex, const pthread_mutexattr_t *attributes)
{
	int kind = PTHREAD_MUTEX_NORMAL;

	if (attributes)
		pthread_mutexattr_gettype(attributes, &kind);
	make_mutex(mutex, (uint32_t)kind, OWN_PC);
	return 0;
}

OWN(int, pthread_mutex_destroy, pthread_mutex_t *mutex)
{
	return 0;
}

OWN(int, pthread_mutex_lock, pthread_mutex_t *mutex)
{
	return lock(mutex, false, OWN_PC);
}

OWN(int, pthread_mutex_trylock, pthread_mutex_t *mutex)
{
	return lock(mutex, true, OWN_PC);
}

/* It may time out while another thread holds the mutex, however long that takes. */
static int lock_until(void *mutex, const struct timespec *until, const void *from)
{
	explore_step choice = {
		.kind = EXPLORE_CHOOSE, .size = 8, .location = OWN_NOTHING, .operand = 2};

	if (lock(mutex, true, from) == 0)
		return 0;
	if (!own_step(choice, NULL, "timedlock", from))
		return lock(mutex, false, from);
	own_pass_until(until);
	return ETIMEDOUT;
}

OWN(int, pthread_mutex_timedlock, pthread_mutex_t *mutex, const struct timespec *until)
{
	return lock_until(mutex, until, OWN_PC);
}

OWN(int, pthread_mutex_clocklock, pthread_mutex_t *mutex, clockid_t clock,
    const struct timespec *until)
{
	return lock_until(mutex, until, OWN_PC);
}

OWN(int, pthread_mutex_unlock, pthread_mutex_t *mutex)
{
	return unlock(mutex, OWN_PC);
}

OWN(int, mtx_init, mtx_t *mutex, int type)
{
	make_mutex(mutex, type & mtx_recursive ? PTHREAD_MUTEX_RECURSIVE : PTHREAD_MUTEX_NORMAL,
		   OWN_PC);
	return thrd_success;
}

OWN(void, mtx_destroy, mtx_t *mutex)
{
}

OWN(int, mtx_lock, mtx_t *mutex)
{
	return lock(mutex, false, OWN_PC) ? thrd_error : thrd_success;
}

OWN(int, mtx_trylock, mtx_t *mutex)
{
	return lock(mutex, true, OWN_PC) ? thrd_busy : thrd_success;
}

OWN(int, mtx_unlock, mtx_t *mutex)
{
	return unlock(mutex, OWN_PC) ? thrd_error : thrd_success;
}

/* Conditions. */

static int wait_for(void *condition, void *mutex, const struct timespec *until, const void *from)
{
	uint32_t signals = (uint32_t)own_load(condition, WORD, EXPLORE_RELAXED, "wait", from);
	uint64_t end;

	unlock(mutex, from);
	end = own_sleep_on(condition, signals, until != NULL, "wait", from);
	if (end == EXPLORE_TIMED_OUT)
		own_pass_until(until);
	lock(mutex, false, from);
	return end == EXPLORE_TIMED_OUT ? ETIMEDOUT : 0;
}

static int signal_to(void *condition, uint64_t most, const void *from)
{
	const char *what = most == 1 ? "signal" : "broadcast";

	own_update(EXPLORE_ADD, condition, WORD, 1, EXPLORE_RELAXED, what, from);
	own_wake(condition, most, what, from);
	return 0;
}

OWN(int, pthread_cond_init, pthread_cond_t *condition, const pthread_condattr_t *attributes)
{
	set_word(condition, 0, OWN_PC);
	return 0;
}

OWN(int, pthread_cond_destroy, pthread_cond_t *condition)
{
	return 0;
}

OWN(int, pthread_cond_wait, pthread_cond_t *condition, pthread_mutex_t *mutex)
{
	return wait_for(condition, mutex, NULL, OWN_PC);
}

OWN(int, pthread_cond_timedwait, pthread_cond_t *condition, pthread_mutex_t *mutex,
    const struct timespec *until)
{
	return wait_for(condition, mutex, until, OWN_PC);
}

OWN(int, pthread_cond_clockwait, pthread_cond_t *condition, pthread_mutex_t *mutex, clockid_t clock,
    const struct timespec *until)
{
	return wait_for(condition, mutex, until, OWN_PC);
}

OWN(int, pthread_cond_signal, pthread_cond_t *condition)
{
	return signal_to(condition, 1, OWN_PC);
}

OWN(int, pthread_cond_broadcast, pthread_cond_t *condition)
{
	return signal_to(condition, INT_MAX, OWN_PC);
}

OWN(int, cnd_init, cnd_t *condition)
{
	set_word(condition, 0, OWN_PC);
	return thrd_success;
}

OWN(void, cnd_destroy, cnd_t *condition)
{
}

OWN(int, cnd_wait, cnd_t *condition, mtx_t *mutex)
{
	return wait_for(condition, mutex, NULL, OWN_PC) ? thrd_error : thrd_success;
}

OWN(int, cnd_timedwait, cnd_t *condition, mtx_t *mutex, const struct timespec *until)
{
	return wait_for(condition, mutex, until, OWN_PC) ? thrd_timedout : thrd_success;
}

OWN(int, cnd_signal, cnd_t *condition)
{
	return signal_to(condition, 1, OWN_PC), thrd_success;
}

OWN(int, cnd_broadcast, cnd_t *condition)
{
	return signal_to(condition, INT_MAX, OWN_PC), thrd_success;
}

/* Semaphores. */

static int take(void *semaphore, bool tries, const struct timespec *until, const void *from)
{
	for (;;) {
		uint32_t count =
			(uint32_t)own_load(semaphore, WORD, EXPLORE_RELAXED, "sem_wait", from);

		if (count &&
		    own_cas(semaphore, WORD, count, count - 1, EXPLORE_ACQUIRE, "sem_wait", from))
			return 0;
		if (count)
			continue;
		if (tries)
			return errno = EAGAIN, -1;
		if (own_sleep_on(semaphore, 0, until != NULL, "sem_wait", from) !=
		    EXPLORE_TIMED_OUT)
			continue;
		own_pass_until(until);
		return errno = ETIMEDOUT, -1;
	}
}

OWN(int, sem_init, sem_t *semaphore, int is_shared, unsigned value)
{
	set_word(semaphore, value, OWN_PC);
	return 0;
}

OWN(int, sem_destroy, sem_t *semaphore)
{
	return 0;
}

OWN(int, sem_wait, sem_t *semaphore)
{
	return take(semaphore, false, NULL, OWN_PC);
}

OWN(int, sem_trywait, sem_t *semaphore)
{
	return take(semaphore, true, NULL, OWN_PC);
}

OWN(int, sem_timedwait, sem_t *semaphore, const struct timespec *until)
{
	return take(semaphore, false, until, OWN_PC);
}

OWN(int, sem_clockwait, sem_t *semaphore, clockid_t clock, const struct timespec *until)
{
	return take(semaphore, false, until, OWN_PC);
}

OWN(int, sem_post, sem_t *semaphore)
{
	own_update(EXPLORE_ADD, semaphore, WORD, 1, EXPLORE_RELEASE, "sem_post", OWN_PC);
	own_wake(semaphore, 1, "sem_post", OWN_PC);
	return 0;
}

OWN(int, sem_getvalue, sem_t *semaphore, int *value)
{
	uint32_t now = (uint32_t)own_load(semaphore, WORD, EXPLORE_RELAXED, "sem_getvalue", OWN_PC);

	own_plain((char *)value, sizeof(*value), true, false, OWN_PC);
	*value = (int)now;
	return 0;
}

/* Barriers. */

OWN(int, pthread_barrier_init, pthread_barrier_t *barrier, const pthread_barrierattr_t *attributes,
    unsigned count)
{
	if (!count)
		return EINVAL;
	set_word(barrier, 0, OWN_PC);
	set_word((char *)barrier + GENERATION, 0, OWN_PC);
	set_word((char *)barrier + NEEDED, count, OWN_PC);
	return 0;
}

OWN(int, pthread_barrier_destroy, pthread_barrier_t *barrier)
{
	return 0;
}

OWN(int, pthread_barrier_wait, pthread_barrier_t *barrier)
{
	static const char what[] = "barrier_wait";
	char *generation = (char *)barrier + GENERATION;
	uint32_t before = (uint32_t)own_load(generation, WORD, EXPLORE_RELAXED, what, OWN_PC), now;
	uint64_t arrived =
		own_update(EXPLORE_ADD, barrier, WORD, 1, EXPLORE_ACQ_REL, what, OWN_PC) + 1;

	own_plain((char *)barrier + NEEDED, WORD, false, false, OWN_PC);
	if (arrived == word_now((char *)barrier + NEEDED)) {
		own_store(barrier, WORD, 0, EXPLORE_RELAXED, what, OWN_PC);
		own_update(EXPLORE_ADD, generation, WORD, 1, EXPLORE_RELEASE, what, OWN_PC);
		own_wake(generation, INT_MAX, what, OWN_PC);
		return PTHREAD_BARRIER_SERIAL_THREAD;
	}
	for (;;) {
		now = (uint32_t)own_load(generation, WORD, EXPLORE_ACQUIRE, what, OWN_PC);
		if (now != before)
			return 0;
		own_sleep_on(generation, before, false, what, OWN_PC);
	}
}

/* Once. */

enum { NOT_YET, RUNS, IS_DONE };

typedef struct once_run {
	void *control;
	const void *from;
	bool is_done;
} once_run;

/* An exception that leaves the function lets the next caller try again. */
static void leave_once(const once_run *run)
{
	own_store(run->control, WORD, run->is_done ? IS_DONE : NOT_YET, EXPLORE_RELEASE, "once",
		  run->from);
	own_wake(run->control, INT_MAX, "once", run->from);
}

static void once(void *control, void (*function)(void), const void *from)
{
	static const char what[] = "once";

	for (;;) {
		uint64_t now = own_load(control, WORD, EXPLORE_ACQUIRE, what, from);

		if (now == IS_DONE)
			return;
		if (now == NOT_YET &&
		    own_cas(control, WORD, NOT_YET, RUNS, EXPLORE_ACQUIRE, what, from)) {
			__attribute__((cleanup(leave_once))) once_run run = {control, from, false};

			function();
			run.is_done = true;
			return;
		}
		own_sleep_on(control, RUNS, false, what, from);
	}
}

OWN(int, pthread_once, pthread_once_t *control, void (*run)(void))
{
	once(control, run, OWN_PC);
	return 0;
}

OWN(void, call_once, once_flag *control, void (*run)(void))
{
	once(control, run, OWN_PC);
}

/* Read-write locks: how many read; all bits, if one writes. */

OWN(int, pthread_rwlock_init, pthread_rwlock_t *lock, const pthread_rwlockattr_t *attributes)
{
	set_word(lock, 0, OWN_PC);
	return 0;
}

OWN(int, pthread_rwlock_destroy, pthread_rwlock_t *lock)
{
	return 0;
}

OWN(int, pthread_rwlock_wrlock, pthread_rwlock_t *lock)
{
	explore_step step = {.kind = EXPLORE_CAS,
			     .order = EXPLORE_ACQUIRE,
			     .fail_order = EXPLORE_RELAXED,
			     .size = WORD,
			     .is_lock = true,
			     .location = OWN_NOTHING,
			     .operand = UINT32_MAX};

	own_step(step, lock, "wrlock", OWN_PC);
	own_hold(lock, 1, true);
	return 0;
}

OWN(int, pthread_rwlock_trywrlock, pthread_rwlock_t *lock)
{
	if (!own_cas(lock, WORD, 0, UINT32_MAX, EXPLORE_ACQUIRE, "trywrlock", OWN_PC))
		return EBUSY;
	own_hold(lock, 1, true);
	return 0;
}

OWN(int, pthread_rwlock_rdlock, pthread_rwlock_t *lock)
{
	for (;;) {
		uint32_t now = (uint32_t)own_load(lock, WORD, EXPLORE_RELAXED, "rdlock", OWN_PC);

		if (now != UINT32_MAX &&
		    own_cas(lock, WORD, now, now + 1, EXPLORE_ACQUIRE, "rdlock", OWN_PC))
			return 0;
		if (now == UINT32_MAX)
			own_sleep_on(lock, now, false, "rdlock", OWN_PC);
	}
}

OWN(int, pthread_rwlock_tryrdlock, pthread_rwlock_t *lock)
{
	uint32_t now = (uint32_t)own_load(lock, WORD, EXPLORE_RELAXED, "tryrdlock", OWN_PC);

	return now != UINT32_MAX && own_cas(lock, WORD, now, now + 1, EXPLORE_ACQUIRE, "tryrdlock",
					    OWN_PC)
		       ? 0
		       : EBUSY;
}

OWN(int, pthread_rwlock_unlock, pthread_rwlock_t *lock)
{
	if (own_now && !word_now(lock))
		own_fail("unlocks a read-write lock that nobody holds", true, false, OWN_PC);
	if (word_now(lock) == UINT32_MAX) { /* this thread writes: otherwise it could not */
		own_hold(lock, 1, false);
		own_store(lock, WORD, 0, EXPLORE_RELEASE, "unlock", OWN_PC);
		own_wake(lock, INT_MAX, "unlock", OWN_PC);
	} else {
		own_update(EXPLORE_ADD, lock, WORD, UINT32_MAX, EXPLORE_RELEASE, "unlock", OWN_PC);
	}
	return 0;
}
