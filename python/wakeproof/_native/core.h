/* SPDX-License-Identifier: Apache-2.0
 * core.h - the thread objects of core.c, for calls.c, which starts one for each call of a pool, and for
 * sockets.c, which parks them. */
#ifndef WP__CORE_H
#define WP__CORE_H

#include "own.h"

/* What the thread objects of Python are: the fields of `Handle` (_runtime/vthread_base.py), with those
 * names. NULL: None. */
#define FIELDS(each)                                                                        \
	each(call) each(context) each(coroutine) each(signal) each(error) each(greenlet)    \
		each(group) each(mutexes) each(hub) each(locals) each(name) each(permitted) \
			each(resume) each(scope) each(open) each(value) each(wait)
#define FIELD(name) PyObject *name;
typedef struct vthread {
	PyObject_HEAD struct vthread *next,
		**back; /* in the list of those that run; NULL: it is in none */
	FIELDS(FIELD)
	void *native;   /* the kernel's thread */
	void *place;    /* the kernel's group */
	PyObject *life; /* of the group: a list, [True] until the group is freed */
	uint64_t number;
	long pid; /* of the process that has made it */
	int home, pins;
	bool copies, has_ended, is_closed, is_coroutine, is_heard, is_started, is_placed, runs;
} vthread;

#define OF(object) ((vthread *)(void *)(object))

/* Where the threads of a pool run: of one group, found out for the first of them. */
typedef struct wp__place {
	PyObject *life; /* as that of a thread; NULL: not known */
	void *place;
	long pid;
	int home;
	bool is_placed;
} wp__place;

/* A new thread in `group`, not started, that will call `fn`. name: a str, or NULL. NULL: an exception. */
vthread *wp__core_new(PyObject *fn, bool awaits, PyObject *name, PyObject *group, wp__place *at);
/* Start it. 0; -1: an exception. */
int wp__core_begin(vthread *self);
/* Take the first step of a thread: what `resume` is set to at first. */
PyObject *wp__core_first(PyObject *thread);
/* Whether the caller, which is `thread`, can leave its carrier to wait. */
bool wp__core_may_leave(PyObject *thread);
/* Parks the caller, which is `thread`. 0: *said is what ended it; -1: an exception. */
int wp__core_park(PyObject *thread, int64_t deadline, int why, uint32_t on, int *said);
/* This process. After code of the user, 0: it is still that; -1: it was a child, or an exception. */
long wp__core_pid(void);
int wp__core_is_parent(long before);
/* The exception that is set, which is cleared: a new reference. */
PyObject *wp__core_error(void);

#endif
