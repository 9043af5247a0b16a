/* SPDX-License-Identifier: Apache-2.0
 * Python.h - what lock.c and parking_lot.c get from the rest of CPython. */
#pragma once
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define Py_INTERNAL_PYTHREAD_H
#define HAVE_PTHREAD_H 1
#define HAVE_SEM_TIMEDWAIT 1
#define HAVE_SCHED_H 1
#define SIZEOF_LONG 8
#define Py_UNREACHABLE() abort()
#define Py_FatalError(why) abort()
#define _Py_FatalErrorFormat(...) abort()
#define _Py_CONTAINER_OF(at, type, member) ((type *)((char *)(at) - offsetof(type, member)))
#define PyAPI_FUNC(type) extern type
#define _Py_THREAD_ATTACHED 1

typedef intptr_t Py_ssize_t;
typedef int64_t PyTime_t;
typedef unsigned long PyThread_ident_t;
typedef struct {
	int state;
} PyThreadState;
typedef struct {
	uint8_t v;
} _PyOnceFlag;
typedef enum PyLockStatus {
	PY_LOCK_FAILURE = 0,
	PY_LOCK_ACQUIRED = 1,
	PY_LOCK_INTR,
} PyLockStatus;

/* The program's: the time in ns that a thread sees. */
extern _Thread_local PyTime_t now_ns;

static inline int PyTime_MonotonicRaw(PyTime_t *found)
{
	*found = now_ns;
	return 0;
}

static inline int PyTime_TimeRaw(PyTime_t *found)
{
	return PyTime_MonotonicRaw(found);
}

static inline PyTime_t _PyTime_Add(PyTime_t time, PyTime_t more)
{
	return time + more;
}

static inline PyTime_t _PyDeadline_Get(PyTime_t deadline)
{
	return deadline - now_ns;
}

static inline void _PyTime_AsTimespec_clamp(PyTime_t time, struct timespec *found)
{
	found->tv_sec = time / 1000000000;
	found->tv_nsec = time % 1000000000;
}

static inline int Py_MakePendingCalls(void)
{
	return 0;
}

/* Only of locks that know their thread. */
static inline PyThread_ident_t PyThread_get_thread_ident_ex(void)
{
	return (PyThread_ident_t)pthread_self();
}

static inline PyThreadState *_PyThreadState_GET(void)
{
	return NULL;
}

static inline void PyEval_ReleaseThread(PyThreadState *unused)
{
	(void)unused;
}

static inline void PyEval_AcquireThread(PyThreadState *unused)
{
	(void)unused;
}

#define Py_CPYTHON_ATOMIC_H
#include "cpython/pyatomic.h"
#undef Py_CPYTHON_ATOMIC_H
#define Py_CPYTHON_LOCK_H
#include "cpython/lock.h"
#undef Py_CPYTHON_LOCK_H
