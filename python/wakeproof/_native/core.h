/* SPDX-License-Identifier: Apache-2.0
 * core.h - the thread objects of core.c, for calls.c, which starts one for each call of a pool, and for
 * sockets.c, which parks them. */
#ifndef WP__CORE_H
#define WP__CORE_H

#include "free.h"
#include "own.h"

/* What the thread objects of Python are: fields of `Handle` (_runtime/vthread_base.py), with those
 * names. NULL: None. FEW: what few threads have at a time, in memory of its own. */
#define FIELDS(each) each(call) each(group) each(permitted) each(value) each(wait)
#define FEW(each) \
	each(signal) each(error) each(mutexes) each(locals) each(name) each(scope) each(open)
#define FIELD(name) PyObject *name;
typedef struct wp__few {
	FEW(FIELD)
	PyObject *resume; /* what its next step calls, while `resumes` is BY_PYTHON */
	PyObject *mutex;  /* one that it holds; `mutexes` has the others */
} wp__few;

typedef struct vthread {
	PyObject_HEAD struct vthread *next,
		**back; /* in the list of those that run; NULL: it is in none */
	FIELDS(FIELD)
	/* Its context and its coroutine; while `resumes` is NEXT_OF_CALL: the greenlet to which it
	 * leaves, and its own. */
	PyObject *base, *body;
	PyObject *weakrefs;
	PyObject *life; /* `_life` of its group */
	wp__few *few;   /* NULL: it has none of them */
	void *native;   /* the kernel's thread */
	uint64_t number;
	int home, pins;
	uint8_t resumes; /* what its next step does, see core.c */
	bool copies, has_ended, is_closed, is_coroutine, is_heard, is_started, runs;
#ifdef Py_GIL_DISABLED
	bool is_held; /* somebody reads its frames; it begins no step */
#endif
} vthread;

#define OF(object) ((vthread *)(void *)(object))

/* Where the threads of a pool run: of one group, found out for the first of them. */
typedef struct wp__place {
	PyObject *life; /* as that of a thread; NULL: not known */
	int home;
} wp__place;

/* A new thread in `group`, not started, that will call `fn`. name: a str, or NULL. NULL: an exception. */
vthread *wp__core_new(PyObject *fn, bool awaits, PyObject *name, PyObject *group, wp__place *at);
/* Start it. 0; -1: an exception. */
int wp__core_begin(vthread *self);
/* Take the first step of a thread. */
PyObject *wp__core_first(PyObject *thread);
/* The same of a thread that runs a call of a pool; of calls.c. */
extern PyObject *(*wp__core_first_pooled)(PyObject *thread);
/* Whether the caller, which is `thread`, can leave its carrier to wait. */
bool wp__core_may_leave(PyObject *thread);
/* Parks the caller, which is `thread`. 0: *said is what ended it; -1: an exception. */
int wp__core_park(PyObject *thread, int64_t deadline, int why, uint32_t on, int *said);
/* A field of any object, at an offset, as an attribute: under the object's lock. NULL is None. */
PyObject *wp__field_get(PyObject *self, void *at);
int wp__field_put(PyObject *self, PyObject *value, void *at);
/* This process. After code of the user, 0: it is still that; -1: it was a child, or an exception. */
long wp__core_pid(void);
int wp__core_is_parent(long before);
/* The exception that is set, which is cleared: a new reference. */
PyObject *wp__core_error(void);

#endif
