/* SPDX-License-Identifier: Apache-2.0
 * library.h - what glibc's own files get from the rest of glibc: the system calls of futexes, and the
 * mutex.  Cancellation of a thread that waits is left out. */
#pragma once
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define __timespec64 timespec
#undef __always_inline
#define __always_inline inline __attribute__((always_inline))
#define attribute_hidden
#define versioned_symbol(...)
#define compat_symbol(...)
#define libc_hidden_ver(...)
#define libc_hidden_def(...)
#define libc_hidden_proto(...)
#define LIBC_PROBE(...)
#define OTHER_SHLIB_COMPAT(...) 0
#define strong_alias(name, other) extern __typeof(name) other __attribute__((alias(#name)));
#define valid_nanoseconds(ns) ((ns) >= 0 && (ns) < 1000000000)

#define __PTHREAD_COND_CLOCK_MONOTONIC_MASK 2
#define __PTHREAD_COND_SHARED_MASK 1
#define FUTEX_PRIVATE 0
#define FUTEX_SHARED 1

#define __pthread_cleanup_push(buffer, run, arg) ((void)(buffer), (void)(run), (void)(arg))
#define __pthread_cleanup_pop(buffer, runs) ((void)(buffer))
#define __pthread_mutex_unlock_usercnt(mutex, unused) unlock_to_wait(mutex)
#define __pthread_mutex_cond_lock(mutex) lock_after_wait(mutex)

int unlock_to_wait(pthread_mutex_t *mutex); /* the program's: here it may let a thread be slow */
int lock_after_wait(pthread_mutex_t *mutex);
int __pthread_cond_signal(pthread_cond_t *cond);
int __pthread_cond_broadcast(pthread_cond_t *cond);

static inline void futex_wait_simple(unsigned *word, unsigned value, int unused)
{
	(void)unused;
	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static inline void futex_wake(unsigned *word, int most, int unused)
{
	(void)unused;
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, most, NULL, NULL, 0);
}

static inline int __futex_abstimed_wait_cancelable64(unsigned *word, unsigned value,
						     clockid_t unused, const struct timespec *until,
						     int private_)
{
	(void)unused;
	(void)until;
	(void)private_;
	return syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0) ? errno : 0;
}

static inline bool futex_abstimed_supported_clockid(clockid_t clock)
{
	return clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC;
}
