/* SPDX-License-Identifier: Apache-2.0
 * free.h - for the extension modules that also run without the GIL: words that several threads
 * use, and the module's word that it needs no GIL.
 *
 * With the GIL a step of one thread ends before another thread's begins, so that FENCE and LOCK do
 * nothing there. LOCK_OF takes the lock that each object has without the GIL; whoever has it calls no
 * code of Python. TAKE sets a flag, and gives whether it was set: of several callers one gets false. */
#ifndef WP__FREE_H
#define WP__FREE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h> /* else Py_GIL_DISABLED is not known yet */

#ifdef Py_GIL_DISABLED
#define GUARD(name) static PyMutex name;
#define LOCK(name) PyMutex_Lock(&(name))
#define UNLOCK(name) PyMutex_Unlock(&(name))
#define LOCK_OF(object) LOCK((object)->ob_base.ob_mutex)
#define UNLOCK_OF(object) UNLOCK((object)->ob_base.ob_mutex)
#define FENCE() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define TAKE(flag) __atomic_exchange_n(&(flag), true, __ATOMIC_ACQ_REL)
#define ADD(word, more) __atomic_add_fetch(&(word), more, __ATOMIC_RELAXED)
#define NEEDS_NO_GIL(module) PyUnstable_Module_SetGIL(module, Py_MOD_GIL_NOT_USED)
#else
#define GUARD(name)
#define LOCK(name) ((void)0)
#define UNLOCK(name) ((void)0)
#define LOCK_OF(object) ((void)(object))
#define UNLOCK_OF(object) ((void)(object))
#define FENCE() ((void)0)
#define TAKE(flag) ((flag) || ((flag) = true, false))
#define ADD(word, more) ((word) += (more))
#define NEEDS_NO_GIL(module) (0)
#endif

/* relaxed: atomicity is enough; a lock or a fence beside it orders what matters. */
#define LOOK(word) __atomic_load_n(&(word), __ATOMIC_RELAXED)
#define PUT(word, value) __atomic_store_n(&(word), value, __ATOMIC_RELAXED)
/* acquire and release: what was written before the word was put is seen by who finds it. */
#define LOOK_FOR(word) __atomic_load_n(&(word), __ATOMIC_ACQUIRE)
#define PUBLISH(word, value) __atomic_store_n(&(word), value, __ATOMIC_RELEASE)

#endif
