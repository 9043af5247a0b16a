/* SPDX-License-Identifier: Apache-2.0
 * repeat_delays.c - the compiler's hooks in a program that is repeated on real cores: each does what
 * the program says, some after a delay. Calls that lock, wait or wake are delayed as well, by the
 * linker's --wrap.
 *
 * Spec          none.
 * Evidence      tests/judge/own/test_stress.py. */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include "repeat.h"

enum {
	ONE_IN_PAUSES = 32,     /* accesses per delay of 10 to 200 pauses */
	ONE_IN_YIELD = 256,     /* accesses per sched_yield */
	ONE_IN_SLEEP = 1 << 12, /* accesses per sleep */
	PAUSES_LEAST = 10,
	PAUSES_SPREAD = 190,
	CALLS_WEIGH = 8, /* a call is delayed as often as this many accesses */
	SLEEP_NS = 50000,
};

static uint64_t seed_of_run;
static _Thread_local uint64_t random_state;

void repeat_delays(uint64_t seed)
{
	seed_of_run = seed | 1;
}

static uint64_t draw(void)
{
	static uint64_t threads;

	if (!random_state) /* the order in which threads begin is chance, too */
		random_state = seed_of_run + __atomic_add_fetch(&threads, 2, __ATOMIC_RELAXED);
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state * UINT64_C(0x2545f4914f6cdd1d) >> 8;
}

static void delay(unsigned weight)
{
	uint64_t r;

	if (!seed_of_run)
		return;
	r = draw();
	if (r % (ONE_IN_SLEEP / weight) == 3)
		nanosleep(&(struct timespec){0, SLEEP_NS}, NULL);
	else if (r % (ONE_IN_YIELD / weight) == 1)
		sched_yield();
	else if (r % (ONE_IN_PAUSES / weight) == 0)
		for (uint64_t n = PAUSES_LEAST + (r >> 32) % PAUSES_SPREAD; n; n--)
			__builtin_ia32_pause();
}

/* The compiler's names. Every order is seq_cst here: a weaker one allows nothing less, and what it
 * allows beyond that is found by the build without delays. */

#define UPDATE(bits, name)                                                                \
	uint##bits##_t __tsan_atomic##bits##_##name(uint##bits##_t *at, uint##bits##_t v, \
						    int order);                           \
	uint##bits##_t __tsan_atomic##bits##_##name(uint##bits##_t *at, uint##bits##_t v, \
						    int order)                            \
	{                                                                                 \
		delay(1);                                                                 \
		return __atomic_##name(at, v, __ATOMIC_SEQ_CST);                          \
	}
#define EXCHANGE_IF(bits, name)                                                                   \
	int __tsan_atomic##bits##_compare_exchange_##name(uint##bits##_t *at,                     \
							  uint##bits##_t *expected,               \
							  uint##bits##_t v, int order, int fail); \
	int __tsan_atomic##bits##_compare_exchange_##name(uint##bits##_t *at,                     \
							  uint##bits##_t *expected,               \
							  uint##bits##_t v, int order, int fail)  \
	{                                                                                         \
		delay(1);                                                                         \
		return __atomic_compare_exchange_n(at, expected, v, false, __ATOMIC_SEQ_CST,      \
						   __ATOMIC_SEQ_CST);                             \
	}
#define ATOMICS(bits)                                                                       \
	uint##bits##_t __tsan_atomic##bits##_load(uint##bits##_t *at, int order);           \
	void __tsan_atomic##bits##_store(uint##bits##_t *at, uint##bits##_t v, int order);  \
	uint##bits##_t __tsan_atomic##bits##_exchange(uint##bits##_t *at, uint##bits##_t v, \
						      int order);                           \
	uint##bits##_t __tsan_atomic##bits##_compare_exchange_val(                          \
		uint##bits##_t *at, uint##bits##_t expected, uint##bits##_t v, int order,   \
		int fail);                                                                  \
	uint##bits##_t __tsan_atomic##bits##_load(uint##bits##_t *at, int order)            \
	{                                                                                   \
		delay(1);                                                                   \
		return __atomic_load_n(at, __ATOMIC_SEQ_CST);                               \
	}                                                                                   \
	void __tsan_atomic##bits##_store(uint##bits##_t *at, uint##bits##_t v, int order)   \
	{                                                                                   \
		delay(1);                                                                   \
		if (order == __ATOMIC_SEQ_CST)                                              \
			__atomic_store_n(at, v, __ATOMIC_SEQ_CST);                          \
		else                                                                        \
			__atomic_store_n(at, v, __ATOMIC_RELEASE);                          \
	}                                                                                   \
	uint##bits##_t __tsan_atomic##bits##_exchange(uint##bits##_t *at, uint##bits##_t v, \
						      int order)                            \
	{                                                                                   \
		delay(1);                                                                   \
		return __atomic_exchange_n(at, v, __ATOMIC_SEQ_CST);                        \
	}                                                                                   \
	uint##bits##_t __tsan_atomic##bits##_compare_exchange_val(                          \
		uint##bits##_t *at, uint##bits##_t expected, uint##bits##_t v, int order,   \
		int fail)                                                                   \
	{                                                                                   \
		delay(1);                                                                   \
		__atomic_compare_exchange_n(at, &expected, v, false, __ATOMIC_SEQ_CST,      \
					    __ATOMIC_SEQ_CST);                              \
		return expected;                                                            \
	}                                                                                   \
	UPDATE(bits, fetch_add)                                                             \
	UPDATE(bits, fetch_sub)                                                             \
	UPDATE(bits, fetch_or)                                                              \
	UPDATE(bits, fetch_and)                                                             \
	UPDATE(bits, fetch_xor)                                                             \
	UPDATE(bits, fetch_nand)                                                            \
	EXCHANGE_IF(bits, strong)                                                           \
	EXCHANGE_IF(bits, weak)
ATOMICS(8)
ATOMICS(16)
ATOMICS(32)
ATOMICS(64)

void __tsan_atomic_thread_fence(int order);
void __tsan_atomic_signal_fence(int order);

void __tsan_atomic_thread_fence(int order)
{
	delay(1);
	if (order == __ATOMIC_SEQ_CST)
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
	else
		__atomic_thread_fence(__ATOMIC_ACQ_REL);
}

void __tsan_atomic_signal_fence(int order)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

void __tsan_vptr_update(void **at, void *new);
void __tsan_vptr_read(void **at);

void __tsan_vptr_update(void **at, void *new)
{
	delay(1);
}

void __tsan_vptr_read(void **at)
{
	delay(1);
}

void *__tsan_memcpy(void *to, const void *from, size_t size);
void *__tsan_memmove(void *to, const void *from, size_t size);
void *__tsan_memset(void *at, int byte, size_t size);

void *__tsan_memcpy(void *to, const void *from, size_t size)
{
	return memcpy(to, from, size);
}

void *__tsan_memmove(void *to, const void *from, size_t size)
{
	return memmove(to, from, size);
}

void *__tsan_memset(void *at, int byte, size_t size)
{
	return memset(at, byte, size);
}

#define TSAN_READ(place, size, is_volatile) ((void)(place), delay(1))
#define TSAN_WRITE(place, size, is_volatile) ((void)(place), delay(1))
#include "tsan_hooks.h"

/* Calls. */

#define WRAP(name, parameters, arguments)       \
	int __real_##name parameters;           \
	int __wrap_##name parameters;           \
	int __wrap_##name parameters            \
	{                                       \
		delay(CALLS_WEIGH);             \
		return __real_##name arguments; \
	}
WRAP(pthread_mutex_lock, (pthread_mutex_t * m), (m))
WRAP(pthread_mutex_unlock, (pthread_mutex_t * m), (m))
WRAP(pthread_cond_wait, (pthread_cond_t * c, pthread_mutex_t *m), (c, m))
WRAP(pthread_cond_signal, (pthread_cond_t * c), (c))
WRAP(pthread_cond_broadcast, (pthread_cond_t * c), (c))
WRAP(pthread_join, (pthread_t t, void **r), (t, r))
WRAP(sem_wait, (sem_t * s), (s))
WRAP(sem_post, (sem_t * s), (s))

long __real_syscall(long n, long a, long b, long c, long d, long e, long f);
long __wrap_syscall(long n, long a, long b, long c, long d, long e, long f);

long __wrap_syscall(long n, long a, long b, long c, long d, long e, long f)
{
	delay(CALLS_WEIGH);
	return __real_syscall(n, a, b, c, d, e, f);
}
