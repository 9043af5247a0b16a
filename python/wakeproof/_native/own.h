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

typedef struct wp__own {
	/* Whether the calling OS thread runs a virtual thread now. [any thread | wait-free] */
	bool (*is_virtual)(void);
} wp__own;

/* For core.c, which is part of the same module. */

/* Begin a step: its thread's values of threading.local in, those of the OS thread aside. values: what
 * the last unmount returned. 0; -1: an exception. */
int wp__own_mount(PyObject *thread, uint64_t number, PyObject *values);
/* End it: what the thread keeps. NULL: nothing, or an exception. */
PyObject *wp__own_unmount(void);
/* The calling virtual thread, borrowed; NULL: it is none. */
PyObject *wp__own_thread(void);
/* A new list of the virtual threads that have begun and not ended. NULL: no memory. */
PyObject *wp__core_threads(void);
/* Adds what core.c has to the module; nothing, where it has nothing. 0; -1: an exception. */
int wp__core_fill(PyObject *module);

#endif
