/* SPDX-License-Identifier: Apache-2.0
 * own.h - what own.c tells core.c, and, in its capsule "wakeproof._native.own.virtual", other
 * extension modules.
 */
#ifndef WP__OWN_H
#define WP__OWN_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <stdint.h>

#define WP__OWN_VIRTUAL "wakeproof._native.own.virtual"
#define WP__OWN_HERE "wakeproof._native.own.Here" /* the type of `here` */

typedef struct wp__own {
	/* Whether the calling OS thread runs a virtual thread now. [any thread | wait-free] */
	bool (*is_virtual)(void);
	/* That thread, borrowed; NULL: it runs none. */
	PyObject *(*thread)(void);
	/* The calling virtual thread holds a mutex from now on, or no longer. 0; -1: an exception. */
	int (*hold)(PyObject *thread, PyObject *mutex, bool holds);
} wp__own;

/* For core.c, future.c, calls.c, channels.c and sockets.c, which are parts of the same module. */

/* Begin a step: its thread's values of threading.local in, those of the OS thread aside. values: what
 * the last unmount returned. 0; -1: an exception. */
int wp__own_mount(PyObject *thread, uint64_t number, PyObject *values);
/* End it: what the thread keeps. NULL: nothing, or an exception. */
PyObject *wp__own_unmount(void);
/* The next step of the calling OS thread does not follow the last one at once. */
void wp__own_rests(void);
/* The calling virtual thread, borrowed; NULL: it is none. */
PyObject *wp__own_thread(void);
/* A new list of the virtual threads that have begun and not ended. NULL: no memory. */
PyObject *wp__core_threads(void);
/* Adds what core.c has to the module; nothing, where it has nothing. 0; -1: an exception. */
int wp__core_fill(PyObject *module);
/* The same of future.c, calls.c, channels.c and sockets.c. */
int wp__future_fill(PyObject *module);
int wp__calls_fill(PyObject *module);
int wp__channel_fill(PyObject *module);
int wp__sockets_fill(PyObject *module);

/* Of core.c, for other modules, as `wp__own` says. */
int wp__core_hold(PyObject *thread, PyObject *mutex, bool holds);
/* Of core.c, for future.c. Whether the caller is a virtual thread that runs a call of a pool. */
bool wp__core_permitted(void);
/* The caller asks for the outcome of a thread, perhaps of one that it has just started. */
void wp__core_asks(void);
/* Set a signal, and wake all that wait for it. 0; -1: an exception of a callback. */
int wp__signal_set(PyObject *signal);
/* Wait for a signal, for seconds or None, as the caller can. 0: set, or the time is over; -1: an
 * exception. */
int wp__signal_wait(PyObject *signal, PyObject *timeout_s);

/* Of future.c, for calls.c. A new future of a call, with the pool's permits or NULL. NULL: an exception. */
PyObject *wp__future_new(PyObject *call, PyObject *permits);
/* The call no longer is: a cancel has nobody to tell. */
void wp__future_forget(PyObject *future);
/* 1: the call may run; 0: it was cancelled; -1: an exception. */
int wp__future_begin(PyObject *future);
bool wp__future_is_done(PyObject *future);
/* Its outcome. 0; -1: an exception of a callback. */
int wp__future_succeed(PyObject *future, PyObject *value);
int wp__future_fail(PyObject *future, PyObject *error);

#endif
