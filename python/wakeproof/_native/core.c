/* SPDX-License-Identifier: Apache-2.0
 * core.c - the hot path of Python's virtual threads: make, start, step, yield, park, join.
 *
 *   caller                     carrier
 *   VirtualThread(fn)  init    step      the kernel calls it, without the GIL
 *   .start()           start     mount   threading.local is the thread's own (own.c)
 *   .join()            wait      resume  a coroutine is sent None; a greenlet is switched to
 *                                unmount
 *                                finish  its joiners are woken
 *
 * Why it works   The class of _runtime/vthread_base.py has its fields from here. Without this file
 *                _runtime/plain_core.py does the same, call by call.
 *                Functions of the kernel that cannot wait are called with the GIL (without it: with
 *                the thread state attached, which costs nothing). cffi lets it go at
 *                each call, and with two OS threads that costs a change of threads each time. Calls
 *                that may sleep are made without it.
 *                The kernel knows a thread by its address. A list has a reference to it from its
 *                start to its end. Meanwhile it is no garbage, and the collector does not know it:
 *                each young collection would visit all that wait.
 * Signal         setter: is_set := true, then each waiter off the list, and woken; waiter: into the
 *                list, then looks, then parks. Both have the GIL or the lock of the signal, so
 *                one sees what the other has done (specs/thread/Latch.tla, NoLostWaiter).
 * Without GIL    The list of all threads has a lock; so has each signal, for its waiters, and each
 *                thread, for the fields that others read while it runs: its own object's lock. Under
 *                them nothing is called that could run code of Python: the kernel's unpark may give
 *                the thread to a scheduler of the user, so it is called after, with a reference to
 *                the group, and a late one does nothing, because the wait has a number. Flags are
 *                atomic words; of two callers of `start` one gets the thread by an exchange. What is
 *                left belongs to one OS thread: the greenlets, and the state of a step.
 *                The collector stops all threads and does not know young objects, so what is in the
 *                list stays tracked.
 * Where          CPython 3.11 to 3.14, and 3.13 and 3.14 without the GIL.
 * Evidence       tests/thread/test_vthread.py, tests/python/test_core.py; wakeproof bench. */
#include "core.h"

#if PY_VERSION_HEX < 0x030F0000 && !defined(PYPY_VERSION)

#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <structmember.h>
#include <unistd.h>

#include "spin.h"

/* ---- the kernel ---- */

enum { DONE, YIELD, PARK }; /* enum wp_step; `bind` compares */

/* Each but park_for and parker_park is called with the GIL: none of them waits for another thread. */
static struct {
	void *(*vthread_new)(void *group, uint64_t number, const char *name, int carrier,
			     bool is_pinned, bool has_no_locals, const void *scheduler);
	int (*vthread_home)(void *thread);
	int (*vthread_placed)(void *thread);
	int (*vthread_start)(void *thread);
	int (*submit_next)(void *thread, bool starts);
	void (*vthread_free)(void *thread);
	void (*vthread_unpark)(void *thread);
	void (*vthread_unpark_if)(void *thread, uint32_t number);
	int64_t (*park_number)(void);
	int (*park_begin_for)(int64_t deadline_ns, int why, uint32_t on);
	int (*park_end)(void);
	int (*park_for)(int64_t deadline_ns, int why, uint32_t on);
	int (*group_block)(void);
	int (*group_unblock)(void);
	uint64_t (*group_tracing)(void *group);
	void *(*parker_new)(void);
	void (*parker_free)(void *parker);
	int (*parker_park)(void *parker, int64_t deadline_ns);
	bool (*parker_unpark)(void *parker);
	int (*vthread_settle)(void);
	bool (*has_none)(void);
	int (*then)(int said);
	int (*first_step)(uint64_t number); /* of Python, by cffi */
} kernel;

static struct {
	int ok, timeout, interrupted, must_park, join, here, sleep;
	int64_t forever;
} code;

/* ---- Python ---- */

static vthread *first_of_all, **end_of_all = &first_of_all; /* in the order of their starts */
static Py_ssize_t count_of_all;
GUARD(all_lock) /* of the list and its count */

/* What is called in Python: where it is slow anyway, or where an exception is made. */
#define CALLED(each)                                                                            \
	each(nothing) each(partial) each(thread_type) each(bindings) each(check_callable)       \
		each(checked) each(place) each(is_coroutine) each(know) each(failed) each(send) \
			each(keep) each(report) each(in_child) each(refuse_start)               \
				each(closed_start) each(context_to_start) each(deadline_ns)     \
					each(interrupted) each(hopeless) each(wait_long)        \
						each(soon_s) each(signal) each(refuse_yield)    \
							each(refuse_join) each(refuse_park)
#define OBJECT(name) PyObject *name;
static struct {
	CALLED(OBJECT)
} py;
static const char *const called[] = {
#define STRING(name) #name,
	CALLED(STRING)};

static PyObject *bodies_object, *str_make, *str_check_process, *str_abandon, *str_is_poller,
	*str_life, *str_name, *str_dunder_name, *str_reduce, *str_reduce_ex, *str_group,
	*str_check_join, *str_end, *said_done, *said_yield, *said_park, *no_arguments, *only_park,
	*only_yield, *only_done, *str_runner;

/* What the next step of a thread does. */
enum { FIRST, NEXT_OF_COROUTINE, NEXT_OF_CALL, BY_PYTHON /* calls what `_resume` was set to */ };

/* The items of a group's `_life`: [True] until it is freed; the others never change. */
enum { IS_ALIVE, PLACE, PROCESS, IS_PLACED };

/* Greenlet's own table of functions, as its header has it. */
static void **greenlets;
enum { GREENLET_NEW = 3, GREENLET_CURRENT = 4, GREENLET_SWITCH = 6 };

static PyObject *new_greenlet(PyObject *body)
{
	return ((PyObject * (*)(PyObject *, PyObject *)) greenlets[GREENLET_NEW])(body, NULL);
}

static PyObject *current_greenlet(void)
{
	return ((PyObject * (*)(void)) greenlets[GREENLET_CURRENT])();
}

static PyObject *switch_to(PyObject *greenlet, PyObject *args)
{
	return ((PyObject * (*)(PyObject *, PyObject *, PyObject *))
			greenlets[GREENLET_SWITCH])(greenlet, args, NULL);
}

static long pid;                      /* of this process */
static _Thread_local PyObject *known; /* the group that this carrier was made known for; borrowed */

/* The `_life` of the group of which a thread was made last, of this process; with the GIL only. */
static PyObject *last_life;
static void *last_place;

static void forked(void)
{
	pid = (long)getpid();
	known = NULL;
	last_life = NULL;
	gil_is_due = false;
	sleepers = watchers = 0;
}

/* A field that Python may have set. */
static bool is_some(PyObject *field)
{
	return field != NULL && field != Py_None;
}

static bool is_alive(PyObject *life)
{
	return PyList_GET_ITEM(life, IS_ALIVE) == Py_True;
}

/* The kernel's group, which is of this process. */
static void *place_of(PyObject *life)
{
	void *place;

	if (life == last_life)
		return last_place;
	place = PyLong_AsVoidPtr(PyList_GET_ITEM(life, PLACE));
#ifndef Py_GIL_DISABLED
	Py_XSETREF(last_life, Py_NewRef(life));
	last_place = place;
#endif
	return place;
}

/* Whether the group was made in this process. */
static bool is_here(PyObject *life)
{
	return life == last_life || PyLong_AsLong(PyList_GET_ITEM(life, PROCESS)) == pid;
}

/* Whether it has a thread of the kernel that may be called. */
static bool is_whole(const vthread *one)
{
	return one->native != NULL && is_some(one->group);
}

/* The memory of threads that ended, for new ones; each links to the next by `next`. As much as the
 * kernel's (kept.h): a program that starts many threads at once does so again, and what is not
 * allocated the collector of CPython does not count. Nor does it count what is not freed, so it runs
 * more often in a program that has had more threads than that: there nothing is kept. */
enum { KEPT_MOST = 11520 }; /* 1.8 MB */
static Py_ssize_t most_at_once;
static vthread *kept;
static int kept_count;

/* Of VirtualThread, not of a subclass: a new object. */
static PyObject *allocate(PyTypeObject *type, Py_ssize_t nothing)
{
	vthread *one = kept;

	if (one == NULL || (PyObject *)type != py.thread_type)
		return PyType_GenericAlloc(type, nothing);
	kept = one->next;
	kept_count--;
	memset(one, 0, (size_t)type->tp_basicsize);
	PyObject_Init((PyObject *)one, type);
	PyObject_GC_Track((PyObject *)one);
	return (PyObject *)one;
}

/* Keep its memory, or give it back. What the collector has finalized is marked for ever: its memory is
 * not for a thread that is yet to be finalized. */
static void free_memory(vthread *one, PyTypeObject *type)
{
#ifndef Py_GIL_DISABLED
	if ((PyObject *)type == py.thread_type && kept_count < KEPT_MOST &&
	    most_at_once <= KEPT_MOST && !PyObject_GC_IsFinalized((PyObject *)one)) {
		one->next = kept;
		kept = one;
		kept_count++;
		return;
	}
#endif
	type->tp_free((PyObject *)one);
}

static void enlist(vthread *one)
{
	Py_INCREF((PyObject *)one);
	LOCK(all_lock);
	one->next = NULL;
	one->back = end_of_all;
	*end_of_all = one;
	end_of_all = &one->next;
	PUT(count_of_all, count_of_all + 1);
	UNLOCK(all_lock);
#ifndef Py_GIL_DISABLED
	/* What is in the list is no garbage, and all that it refers to neither. */
	PyObject_GC_UnTrack((PyObject *)one);
	if (count_of_all > most_at_once)
		most_at_once = count_of_all;
#endif
}

/* The list may have the last reference to it. */
static void unlist(vthread *one)
{
	bool is_in;

	LOCK(all_lock);
	is_in = one->back != NULL;
	if (is_in) {
		*one->back = one->next;
		*(one->next != NULL ? &one->next->back : &end_of_all) = one->back;
		one->back = NULL;
		PUT(count_of_all, count_of_all - 1);
	}
	UNLOCK(all_lock);
	if (!is_in)
		return;
#ifndef Py_GIL_DISABLED
	PyObject_GC_Track((PyObject *)one);
#endif
	Py_DECREF((PyObject *)one);
}

/* Another thread may read the field meanwhile: it finds the old value or this one, whose reference is
 * the field's now. */
static inline PyObject *swap(vthread *self, PyObject **field, PyObject *value)
{
	PyObject *old;

	LOCK_OF(self);
	old = *field;
	*field = value;
	UNLOCK_OF(self);
	return old;
}

#define SWAP(self, field, value) swap(OF(self), &OF(self)->field, value)
#define SET(self, field, value) Py_XDECREF(SWAP(self, field, value))

/* A field of what few threads have: borrowed. */
static PyObject *few_of(PyObject *self, size_t at)
{
	char *few = (char *)LOOK_FOR(OF(self)->few);

	return few == NULL ? NULL : LOOK_FOR(*(PyObject **)(void *)(few + at));
}

/* Where that field is. NULL: no memory. */
static PyObject **room_of(PyObject *self, size_t at)
{
	wp__few *made;

	if (LOOK_FOR(OF(self)->few) == NULL) {
		made = PyMem_Calloc(1, sizeof *made);
		if (made == NULL) {
			PyErr_NoMemory();
			return NULL;
		}
		LOCK_OF(OF(self));
		if (OF(self)->few == NULL) {
			PUBLISH(OF(self)->few, made);
			made = NULL;
		}
		UNLOCK_OF(OF(self));
		PyMem_Free(made);
	}
	return (PyObject **)(void *)((char *)OF(self)->few + at);
}

static int put_few(PyObject *self, size_t at, PyObject *value)
{
	PyObject **field = room_of(self, at);

	Py_XDECREF(field == NULL ? value : swap(OF(self), field, value));
	return field == NULL ? -1 : 0;
}

/* Takes the reference to the value. 0; -1: no memory. */
static inline int set_few(PyObject *self, size_t at, PyObject *value)
{
	bool has_none = value == NULL && LOOK_FOR(OF(self)->few) == NULL;

	return has_none ? 0 : put_few(self, at, value);
}

#define AT(field) offsetof(wp__few, field)
#define OF_FEW(self, field) few_of(self, AT(field))
#define SET_FEW(self, field, value) set_few(self, AT(field), value)

static PyObject *error_here(void)
{
	PyObject *kind, *error, *trace;

	PyErr_Fetch(&kind, &error, &trace);
	PyErr_NormalizeException(&kind, &error, &trace);
	if (trace != NULL)
		PyException_SetTraceback(error, trace);
	Py_XDECREF(kind);
	Py_XDECREF(trace);
	return error;
}

/* ---- Signal ---- */

typedef struct signal {
	PyObject_HEAD PyObject *first,
		*waiters; /* the first, or NULL; a list of the others, or NULL */
	bool is_set;
} signal;

/* A coroutine function whose call is C. */
typedef struct in_c {
	PyObject_HEAD vectorcallfunc call;
	PyObject *fn;
} in_c;

/* One wait of a virtual thread, or, with a parker, of an OS thread. */
typedef struct waiter {
	PyObject_HEAD PyObject *thread;
	void *parker;
	uint32_t number; /* of the park */
} waiter;

static PyTypeObject *signal_type, *waiter_type, *until_type, *parking_type, *yielding_type,
	*in_c_type;
static PyObject *over; /* an `until` of what has ended */

/* The kernel's thread, with a reference to its group, which keeps both alive; NULL: it was closed. */
static void *hold(PyObject *thread, PyObject **group)
{
	void *native;

	LOCK_OF(OF(thread));
	native = is_whole(OF(thread)) ? OF(thread)->native : NULL;
	*group = native == NULL ? NULL : Py_NewRef(OF(thread)->group);
	UNLOCK_OF(OF(thread));
	return native;
}

/* Of the steps that run here: whether there are any, and whether they have woken an OS thread; the
 * arrivals before that. */
static _Thread_local bool is_in_step, has_woken;
static _Thread_local unsigned seen_arrivals;

static void note_wake(void)
{
	if (!has_woken)
		seen_arrivals = LOOK(arrivals);
	has_woken = true;
	PUT(gil_is_due, HAS_GIL); /* the step is about to end */
}

static void wake(waiter *one)
{
	PyObject *group;
	void *native;

	if (one->parker != NULL) {
		if (is_in_step)
			note_wake();
		kernel.parker_unpark(one->parker);
		return;
	}
	native = hold(one->thread, &group);
	if (native != NULL)
		kernel.vthread_unpark_if(native, one->number);
	Py_XDECREF(group);
}

static PyObject *waiter_call(PyObject *self, PyObject *args, PyObject *named)
{
	(void)args;
	(void)named;
	wake((waiter *)self);
	Py_RETURN_NONE;
}

static void waiter_dealloc(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);

	Py_XDECREF(((waiter *)self)->thread);
	PyObject_Free(self);
	Py_DECREF(type);
}

static PyObject *waiter_park(PyObject *self, PyObject *seconds);

static PyMethodDef waiter_methods[] = {
	{"park", waiter_park, METH_O, "Park for some seconds; return whether it was woken."},
	{0},
};
static PyType_Slot waiter_slots[] = {{Py_tp_methods, waiter_methods},
				     {Py_tp_call, waiter_call},
				     {Py_tp_dealloc, waiter_dealloc},
				     {0, NULL}};
static PyType_Spec waiter_spec = {.name = "wakeproof._native.own.Waiter",
				  .basicsize = sizeof(waiter),
				  .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
				  .slots = waiter_slots};

/* An allocation may collect garbage, and so run code of Python, which may do what the caller is about
 * to do. Hence whoever allocates looks again before it stores. */

/* Stores `made` where there is nothing yet, and returns what is there: borrowed; NULL: no memory.
 * [the owner of the field is locked] */
static PyObject *keep_first(PyObject **field, PyObject *made)
{
	if (*field == NULL)
		PUBLISH(*field, made);
	else
		Py_XDECREF(made);
	return *field;
}

/* All of them in the list, which most signals never need. NULL: no memory. [self is locked, as for
 * the next two] */
static PyObject *list_of(signal *self)
{
	PyObject *list =
		self->waiters != NULL ? self->waiters : keep_first(&self->waiters, PyList_New(0));

	if (list != NULL && self->first != NULL) {
		if (PyList_Insert(list, 0, self->first) != 0)
			return NULL;
		Py_CLEAR(self->first);
	}
	return list;
}

static bool has_others(const signal *self)
{
	return self->waiters != NULL && PyList_GET_SIZE(self->waiters) > 0;
}

/* 0; -1: no memory. */
static int append(signal *self, PyObject *one)
{
	if (self->first != NULL || has_others(self))
		return list_of(self) == NULL ? -1 : PyList_Append(self->waiters, one);
	self->first = Py_NewRef(one);
	return 0;
}

/* Off the list: a new reference; NULL: nobody waits. */
static PyObject *pop(signal *self)
{
	PyObject *one;

	LOCK_OF(self);
	one = self->first;
	self->first = NULL;
	if (one == NULL && has_others(self)) {
		one = Py_NewRef(PyList_GET_ITEM(self->waiters, 0));
		PyList_SetSlice(self->waiters, 0, 1, NULL);
	}
	UNLOCK_OF(self);
	return one;
}

/* In the list. NULL: an exception. */
static waiter *enter(signal *self, PyObject *thread, void *parker)
{
	waiter *one = PyObject_New(waiter, waiter_type);
	int failed;

	if (one == NULL)
		return NULL;
	one->thread = Py_XNewRef(thread);
	one->parker = parker;
	LOCK_OF(self);
	failed = append(self, (PyObject *)one);
	/* After the last allocation: a finaliser may have parked. */
	one->number = parker != NULL ? 0 : (uint32_t)kernel.park_number();
	UNLOCK_OF(self);
	if (failed)
		Py_CLEAR(one);
	return one;
}

/* Whether it was in the list still: nobody has woken it. The caller has a reference to it. */
static bool leave_list(signal *self, const waiter *one)
{
	bool was_first, was_in;

	LOCK_OF(self);
	was_first = was_in = self->first == (const PyObject *)one;
	if (was_first)
		Py_CLEAR(self->first);
	for (Py_ssize_t n = 0; !was_in && has_others(self) && n < PyList_GET_SIZE(self->waiters);
	     n++)
		if (PyList_GET_ITEM(self->waiters, n) == (const PyObject *)one)
			was_in = PyList_SetSlice(self->waiters, n, n + 1, NULL) == 0;
	UNLOCK_OF(self);
	return was_in;
}

/* 0; -1: an exception of a callback. All waiters are woken also then. */
static int set_signal(signal *self)
{
	PyObject *kind = NULL, *error = NULL, *trace = NULL;

	PUBLISH(self->is_set, true);
	for (PyObject *first = pop(self), *said; first != NULL; first = pop(self)) {
		if (Py_IS_TYPE(first, waiter_type)) {
			wake((waiter *)first);
		} else {
			said = PyObject_CallNoArgs(first);
			if (said == NULL && kind == NULL)
				PyErr_Fetch(&kind, &error, &trace);
			else if (said == NULL)
				PyErr_Clear();
			Py_XDECREF(said);
		}
		Py_DECREF(first);
	}
	if (kind == NULL)
		return 0;
	PyErr_Restore(kind, error, trace);
	return -1;
}

int wp__signal_set(PyObject *self)
{
	return set_signal((signal *)self);
}

static PyObject *signal_set(PyObject *self, PyObject *nothing)
{
	(void)nothing;
	if (set_signal((signal *)self) != 0)
		return NULL;
	Py_RETURN_NONE;
}

static PyObject *signal_call(PyObject *self, PyObject *args, PyObject *named)
{
	static char *names[] = {"callback", "is_first", NULL};
	signal *mine = (signal *)self;
	PyObject *callback;
	int is_first = 0;
	bool failed;

	if (!PyArg_ParseTupleAndKeywords(args, named, "O|$p:call", names, &callback, &is_first))
		return NULL;
	LOCK_OF(mine);
	failed = is_first ? list_of(mine) == NULL || PyList_Insert(mine->waiters, 0, callback) != 0
			  : append(mine, callback) != 0;
	UNLOCK_OF(mine);
	if (failed)
		return NULL;
	Py_RETURN_NONE;
}

/* Ends the park with that number if it was refused, so that a late wakeup does nothing. */
static void end_park(PyObject *thread, uint32_t number)
{
	if (kernel.park_number() == (int64_t)number && OF(thread)->native != NULL) {
		kernel.vthread_unpark(OF(thread)->native);
		kernel.park_begin_for(0, 0, 0);
	}
}

static int raise_interrupted(PyObject *thread)
{
	PyObject *error = PyObject_CallOneArg(py.interrupted, thread);

	if (error != NULL)
		PyErr_SetObject((PyObject *)Py_TYPE(error), error);
	Py_XDECREF(error);
	return -1;
}

/* It was woken, and the event is not set: nothing is left that could set it. */
static int raise_hopeless(void)
{
	Py_XDECREF(PyObject_CallNoArgs(py.hopeless));
	return -1;
}

/* One wait of a virtual thread, from park to park. */
typedef struct turns {
	signal *of;
	PyObject *thread;
	waiter *one; /* owned: who leaves the list looks for it by its address */
	uint32_t number;
	bool took_other; /* a permit that was meant for another wait */
} turns;

/* 1: park now; 0: done; -1: an exception. */
static int turns_begin(turns *mine)
{
	SET(mine->thread, wait, Py_NewRef((PyObject *)mine->of));
	mine->one = enter(mine->of, mine->thread, NULL);
	if (mine->one == NULL)
		return -1;
	mine->number = mine->one->number;
	if (LOOK_FOR(mine->of->is_set) && leave_list(mine->of, mine->one))
		return 0;
	return 1;
}

/* After a park that has said so: 1: park again; 0: done; -1: an exception. */
static int turns_after(turns *mine, int said)
{
	bool was_woken = !leave_list(mine->of, mine->one);

	Py_CLEAR(mine->one);
	if (was_woken) {
		end_park(mine->thread, mine->number);
		return LOOK_FOR(mine->of->is_set) ? 0 : raise_hopeless();
	}
	if (said == code.interrupted)
		return raise_interrupted(mine->thread);
	if (said == code.timeout)
		return 0;
	mine->took_other = true;
	return turns_begin(mine);
}

static void turns_end(turns *mine)
{
	PyObject *group = NULL;
	void *native;

	SET(mine->thread, wait, NULL);
	if (mine->one != NULL)
		leave_list(mine->of, mine->one);
	Py_CLEAR(mine->one);
	native = mine->took_other ? hold(mine->thread, &group) : NULL;
	if (native != NULL)
		kernel.vthread_unpark(native);
	Py_XDECREF(group);
	mine->took_other = false;
}

/* ---- park ---- */

/* What an OS thread has for its callables. */
static _Thread_local struct {
	long alive;        /* callables that have begun and not ended */
	PyObject *idle;    /* a list of the greenlets without a callable; NULL: none yet */
	PyObject *next;    /* the thread whose callable the greenlet begins that is switched to */
	PyObject *context; /* of that callable */
	bool lasts;        /* idle greenlets stay until the OS thread ends */
} here;

bool wp__core_may_leave(PyObject *thread)
{
	return OF(thread)->resumes == NEXT_OF_CALL && OF(thread)->pins == 0;
}

/* Switches to the carrier until the next step. 0; -1: an exception, such as GreenletExit. */
static int leave(PyObject *thread, PyObject *said)
{
	PyObject *mine = current_greenlet(), *hub, *back, *old;

	if (mine == NULL)
		return -1;
	old = SWAP(thread, body, mine);
	hub = Py_NewRef(OF(thread)->base);
	back = switch_to(hub,
			 said); /* no code of Python runs between the begin of a park and this */
	Py_DECREF(hub);
	Py_XDECREF(old);
	Py_XDECREF(back);
	return back == NULL ? -1 : 0;
}

/* Parks the caller and its carrier. In a group with spare carriers others do its work meanwhile. */
static int park_pinned(int64_t deadline, int why, uint32_t on)
{
	bool is_marked;
	int said;

	Py_BEGIN_ALLOW_THREADS is_marked = kernel.group_block() == code.ok;
	said = kernel.park_for(deadline, why, on);
	if (is_marked)
		kernel.group_unblock();
	Py_END_ALLOW_THREADS return said;
}

int wp__core_park(PyObject *thread, int64_t deadline, int why, uint32_t on, int *said)
{
	if (!wp__core_may_leave(thread)) {
		*said = park_pinned(deadline, why, on);
		return 0;
	}
	*said = kernel.park_begin_for(deadline, why, on);
	if (*said != code.must_park)
		return 0;
	if (leave(thread, only_park) != 0)
		return -1;
	*said = kernel.park_end();
	return 0;
}

static PyObject *park(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
	int64_t deadline = count < 2 ? 0 : PyLong_AsLongLong(args[1]);
	int why = count < 3 ? 0 : (int)PyLong_AsLong(args[2]), said;
	uint32_t on = count < 4 ? 0 : (uint32_t)PyLong_AsUnsignedLongMask(args[3]);

	(void)module;
	if (count < 2 || PyErr_Occurred())
		return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_TypeError, "park: of 2 to 4");
	return wp__core_park(args[0], deadline, why, on, &said) == 0 ? PyLong_FromLong(said) : NULL;
}

/* Yields, if the caller is a virtual thread that may. Whether it is a virtual thread. */
static PyObject *yield_here(PyObject *module, PyObject *nothing)
{
	PyObject *thread = wp__own_thread();
	int failed = 0;

	(void)module;
	(void)nothing;
	if (thread == NULL)
		Py_RETURN_FALSE;
	Py_INCREF(thread);
	if (wp__core_may_leave(thread))
		failed = leave(thread, only_yield);
	Py_DECREF(thread);
	if (failed)
		return NULL;
	Py_RETURN_TRUE;
}

static PyObject *leave_for(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
	PyObject *said;
	int failed;

	(void)module;
	if (count != 2)
		return PyErr_Format(PyExc_TypeError, "leave: of 2");
	said = PyTuple_Pack(1, args[1]);
	failed = said == NULL ? -1 : leave(args[0], said);
	Py_XDECREF(said);
	if (failed)
		return NULL;
	Py_RETURN_NONE;
}

/* ---- an OS thread that starts threads ---- */

/* A carrier that a start has woken needs the GIL, which the starter has. Who waits for each thread that
 * it starts lets the GIL go at the start: the thread has often ended when the starter asks for it. Who
 * starts many keeps the GIL, and its carrier runs them one after the other. */
static _Thread_local struct {
	unsigned starts;   /* since the calling OS thread has asked for an outcome */
	bool asks_at_once; /* the last time it had started one only */
} starter;

void wp__core_asks(void)
{
	if (starter.starts != 0 && wp__own_thread() == NULL) {
		starter.asks_at_once = starter.starts == 1;
		starter.starts = 0;
	}
}

static int start_native(void *native)
{
	int how;

	if (wp__own_thread() != NULL)
		return kernel.vthread_start(native);
	if (starter.starts++ != 0 || !starter.asks_at_once)
		return kernel.vthread_start(native);
	if (LOOK(watchers) != 0) {
		PUT(gil_is_due, HAS_GIL);
		return kernel.vthread_start(native);
	}
	Py_BEGIN_ALLOW_THREADS how = kernel.vthread_start(native);
	Py_END_ALLOW_THREADS return how;
}

/* ---- waits for a signal ---- */

static pthread_key_t parkers;

static void *parker_here(void)
{
	void *parker = pthread_getspecific(parkers);

	if (parker == NULL) {
		parker = kernel.parker_new();
		if (parker == NULL || pthread_setspecific(parkers, parker) != 0) {
			PyErr_NoMemory();
			return NULL;
		}
	}
	return parker;
}

static void free_parker(void *parker)
{
	kernel.parker_free(parker);
}

/* 0: deadline_ns is set; -1: an exception. */
static int deadline_of(PyObject *timeout_s, int64_t *deadline_ns)
{
	PyObject *said;

	if (timeout_s == Py_None) {
		*deadline_ns = code.forever;
		return 0;
	}
	said = PyObject_CallOneArg(py.deadline_ns, timeout_s);
	if (said == NULL)
		return -1;
	*deadline_ns = PyLong_AsLongLong(said);
	Py_DECREF(said);
	return PyErr_Occurred() ? -1 : 0;
}

enum { RAISED = INT_MIN }; /* beside the kernel's codes */

/* Looks for the permit, and then for the GIL. WP_OK, WP_TIMEOUT: not found. [without the GIL] */
static int look_below(void *parker, int64_t until_ns)
{
	int said;

	do
		said = kernel.parker_park(parker, 0);
	while (said == code.timeout && clock_ns() < until_ns);
	if (said != code.timeout)
		await_gil(until_ns);
	return said;
}

/* WP_OK: the permit was taken. WP_TIMEOUT. RAISED: an exception. */
static int park_below(void *parker, int64_t deadline)
{
	bool looks = is_only_one(1) && starter.asks_at_once && may_look(&for_permit), has_missed;
	int64_t until_ns = clock_ns() + LOOK_NS;
	int said;

	do {
		Py_BEGIN_ALLOW_THREADS PUT(gil_is_due, false);
		said = looks ? look_below(parker, until_ns) : kernel.parker_park(parker, deadline);
		Py_END_ALLOW_THREADS has_missed = looks && said == code.timeout;
		__atomic_add_fetch(&arrivals, 1, __ATOMIC_RELAXED);
		if (looks)
			has_looked(&for_permit, clock_ns() < until_ns);
		looks = false;
		if ((has_missed || said == code.interrupted) && PyErr_CheckSignals() != 0) {
			said = RAISED;
			break;
		}
	} while (has_missed || said == code.interrupted);
	is_only_one(-1);
	return said;
}

/* Of a wait for long: parks for some seconds; whether it was woken. */
static PyObject *waiter_park(PyObject *self, PyObject *seconds)
{
	int64_t deadline;
	int said;

	if (deadline_of(seconds, &deadline) != 0)
		return NULL;
	said = park_below(((waiter *)self)->parker, deadline);
	return said == RAISED ? NULL : PyBool_FromLong(said == code.ok);
}

/* Of an OS thread. A wakeup comes with the GIL, so none is on its way when this has returned. 0; -1:
 * an exception. A wait without a limit that takes long goes on in Python, which looks for deadlocks. */
static int wait_below(signal *self, int64_t deadline)
{
	void *parker = parker_here();
	waiter *one = parker == NULL ? NULL : enter(self, NULL, parker);
	bool is_endless = deadline == code.forever, was_woken;
	int said = RAISED;
	PyObject *goes_on;

	if (one == NULL)
		return -1;
	if (LOOK_FOR(self->is_set) && leave_list(self, one)) { /* since the caller looked */
		Py_DECREF(one);
		return 0;
	}
	if (!is_endless || deadline_of(py.soon_s, &deadline) == 0)
		said = park_below(parker, deadline);
	if (is_endless && said == code.timeout) {
		goes_on = PyObject_CallFunctionObjArgs(py.wait_long, (PyObject *)self,
						       (PyObject *)one, NULL);
		said = goes_on == NULL ? RAISED : code.ok;
		Py_XDECREF(goes_on);
	}
	was_woken = !leave_list(self, one);
	Py_DECREF(one);
	/* The permit that has come since, or comes now. */
	for (int took = said; was_woken && took != code.ok;) {
		Py_BEGIN_ALLOW_THREADS took = kernel.parker_park(parker, code.forever);
		Py_END_ALLOW_THREADS
	}
	if (said == RAISED)
		return -1;
	return is_endless && !LOOK_FOR(self->is_set) ? raise_hopeless() : 0;
}

static int wait_inside(signal *self, PyObject *thread, int64_t deadline, int why)
{
	turns mine = {.of = self, .thread = thread};
	int goes_on = turns_begin(&mine), said;

	while (goes_on > 0)
		goes_on = wp__core_park(thread, deadline, why, 0, &said) != 0
				  ? -1
				  : turns_after(&mine, said);
	turns_end(&mine);
	return goes_on;
}

static int wait_for(signal *self, PyObject *timeout_s, int why)
{
	PyObject *thread = wp__own_thread();
	int64_t deadline;
	int failed;

	if (deadline_of(timeout_s, &deadline) != 0)
		return -1;
	if (LOOK_FOR(self->is_set) || deadline == 0)
		return 0;
	if (thread == NULL)
		return wait_below(self, deadline);
	Py_INCREF(thread);
	failed = wait_inside(self, thread, deadline, why);
	Py_DECREF(thread);
	return failed;
}

int wp__signal_wait(PyObject *self, PyObject *timeout_s)
{
	return wait_for((signal *)self, timeout_s, code.join);
}

bool wp__core_permitted(void)
{
	PyObject *thread = wp__own_thread();

	return thread != NULL && is_some(OF(thread)->permitted);
}

static PyObject *signal_wait(PyObject *self, PyObject *args, PyObject *named)
{
	static char *names[] = {"timeout_s", "why", NULL};
	PyObject *timeout_s = Py_None;
	int why = code.join;

	if (!PyArg_ParseTupleAndKeywords(args, named, "|Oi:wait", names, &timeout_s, &why) ||
	    wait_for((signal *)self, timeout_s, why) != 0)
		return NULL;
	return PyBool_FromLong(LOOK_FOR(((signal *)self)->is_set));
}

/* ---- what a coroutine awaits ----
 *
 * What the C of `park`, `sleep`, `yield_now` and `join` makes takes the place of a coroutine, so it refuses what a
 * coroutine refuses: to be awaited twice, or by two threads, or never. */

typedef enum awaited { NOT_YET, AWAITED, NO_MORE } awaited;

/* Whether the caller, a coroutine function that runs as a virtual thread, may go on with it; else an
 * exception. `by`: whether the caller is the one that it is of. */
static bool may_go_on(awaited how, bool by)
{
	if (how == NO_MORE)
		PyErr_SetString(PyExc_RuntimeError, "cannot reuse already awaited coroutine");
	else if (!by)
		PyErr_SetString(PyExc_RuntimeError,
				"a virtual thread awaits what another one has called");
	else
		return true;
	return false;
}

static void never_awaited(awaited how, const char *name)
{
	PyObject *kind, *error, *trace;

	if (how != NOT_YET)
		return;
	PyErr_Fetch(&kind, &error, &trace);
	if (PyErr_WarnFormat(PyExc_RuntimeWarning, 1, "coroutine '%s' was never awaited", name) !=
	    0)
		PyErr_WriteUnraisable(NULL);
	PyErr_Restore(kind, error, trace);
}

typedef struct until {
	PyObject_HEAD turns turns; /* of no signal: it is set */
	PyObject *joined;          /* the thread whose end it is, or NULL */
	int64_t deadline;
	bool is_parked;
	uint8_t how; /* an `awaited` */
} until;

static PyObject *until_new(PyObject *of, PyObject *thread, PyObject *joined, int64_t deadline)
{
	until *made = PyObject_GC_New(until, until_type);

	if (made == NULL)
		return NULL;
	made->turns = (turns){.of = (signal *)Py_XNewRef(of), .thread = Py_XNewRef(thread)};
	made->joined = Py_XNewRef(joined);
	made->deadline = deadline;
	made->is_parked = false;
	made->how = joined == NULL ? AWAITED : NOT_YET;
	PyObject_GC_Track(made);
	return (PyObject *)made;
}

static PyObject *signal_until(PyObject *self, PyObject *args)
{
	PyObject *thread;
	long long deadline;

	if (!PyArg_ParseTuple(args, "OL:until", &thread, &deadline))
		return NULL;
	return until_new(self, thread, NULL, deadline);
}

static PySendResult until_send(PyObject *self, PyObject *sent, PyObject **result)
{
	until *mine = (until *)self;
	PyObject *thread = mine->turns.thread;
	int goes_on = 0, said;

	(void)sent;
	*result = NULL;
	if (mine->turns.of == NULL) {
		*result = Py_NewRef(Py_True);
		return PYGEN_RETURN;
	}
	if (!may_go_on(mine->how, thread == wp__own_thread()))
		return PYGEN_ERROR;
	mine->how = AWAITED;
	if (!mine->is_parked && (LOOK_FOR(mine->turns.of->is_set) || mine->deadline == 0)) {
		*result = PyBool_FromLong(LOOK_FOR(mine->turns.of->is_set));
		mine->how = NO_MORE;
		return PYGEN_RETURN;
	}
	goes_on = mine->is_parked ? turns_after(&mine->turns, kernel.park_end())
				  : turns_begin(&mine->turns);
	mine->is_parked = false;
	while (goes_on > 0) {
		if (OF(thread)->pins != 0) {
			said = park_pinned(mine->deadline, code.join, 0);
		} else {
			said = kernel.park_begin_for(mine->deadline, code.join, 0);
		}
		if (said == code.must_park) {
			mine->is_parked = true;
			*result = Py_NewRef(said_park);
			return PYGEN_NEXT;
		}
		goes_on = turns_after(&mine->turns, said);
	}
	turns_end(&mine->turns);
	mine->how = NO_MORE;
	if (goes_on < 0)
		return PYGEN_ERROR;
	*result = mine->joined != NULL && LOOK_FOR(OF(mine->joined)->is_closed)
			  ? PyObject_CallMethodNoArgs(mine->joined, str_check_join)
			  : PyBool_FromLong(LOOK_FOR(mine->turns.of->is_set));
	return *result == NULL ? PYGEN_ERROR : PYGEN_RETURN;
}

#if PY_VERSION_HEX >= 0x030C0000 && !defined(Py_GIL_DISABLED)
static PyObject *stop_true; /* StopIteration(True), used again while nobody has it */

/* An `await` takes the value out of an object that each return would make: from 3.12 on the interpreter
 * asks tp_iternext and not am_send. */
static bool stop_with_true(void)
{
	PyObject *traceback;

	if (stop_true == NULL)
		stop_true = PyObject_CallOneArg(PyExc_StopIteration, Py_True);
	if (stop_true == NULL || Py_REFCNT(stop_true) != 1)
		return false;
	traceback = PyException_GetTraceback(stop_true);
	if (traceback != NULL)
		PyException_SetTraceback(stop_true, Py_None);
	Py_XDECREF(traceback);
	PyErr_SetRaisedException(Py_NewRef(stop_true));
	return true;
}
#else
static bool stop_with_true(void)
{
	return false;
}
#endif

/* tp_iternext of a type with am_send. */
static PyObject *by_send(PyObject *self, PySendResult (*send)(PyObject *, PyObject *, PyObject **))
{
	PyObject *result = NULL;
	PySendResult said = send(self, Py_None, &result);

	if (said == PYGEN_NEXT)
		return result;
	if (said == PYGEN_RETURN) {
		/* NULL alone says None */
		if (result != Py_None && (result != Py_True || !stop_with_true()))
			PyErr_SetObject(PyExc_StopIteration, result);
		Py_DECREF(result);
	}
	return NULL;
}

static uint8_t *how_of(PyObject *self);

static PyObject *coroutine_send(PyObject *self, PyObject *value)
{
	PyObject *next = Py_TYPE(self)->tp_iternext(self);

	(void)value;
	if (next == NULL && !PyErr_Occurred())
		PyErr_SetNone(PyExc_StopIteration);
	return next;
}

static PyObject *coroutine_throw(PyObject *self, PyObject *args)
{
	PyObject *kind, *error = NULL, *trace = NULL;

	if (!PyArg_ParseTuple(args, "O|OO:throw", &kind, &error, &trace))
		return NULL;
	*how_of(self) = NO_MORE;
	if (PyExceptionInstance_Check(kind))
		PyErr_SetObject((PyObject *)Py_TYPE(kind), kind);
	else if (PyExceptionClass_Check(kind))
		PyErr_SetObject(kind, error);
	else
		PyErr_Format(PyExc_TypeError, "throw: %R is no exception", kind);
	return NULL;
}

static PyObject *coroutine_close(PyObject *self, PyObject *nothing)
{
	(void)nothing;
	*how_of(self) = NO_MORE;
	Py_RETURN_NONE;
}

static PyMethodDef coroutine_methods[] = {
	{"send", coroutine_send, METH_O, "Go on, as a coroutine does."},
	{"throw", coroutine_throw, METH_VARARGS, "Raise an exception where it is awaited."},
	{"close", coroutine_close, METH_NOARGS, "Say that nobody awaits it any more."},
	{0},
};

static PyObject *until_next(PyObject *self)
{
	return by_send(self, until_send);
}

static int until_traverse(PyObject *self, visitproc visit, void *arg)
{
	until *mine = (until *)self;

	Py_VISIT(Py_TYPE(self));
	Py_VISIT((PyObject *)mine->turns.of);
	Py_VISIT(mine->turns.thread);
	Py_VISIT(mine->joined);
	return 0;
}

static int until_clear(PyObject *self)
{
	until *mine = (until *)self;

	never_awaited(mine->how, "join");
	mine->how = NO_MORE;
	if (mine->turns.of != NULL && mine->turns.thread != NULL) /* its coroutine was closed */
		turns_end(&mine->turns);
	Py_CLEAR(mine->turns.of);
	Py_CLEAR(mine->turns.thread);
	Py_CLEAR(mine->joined);
	return 0;
}

static void until_dealloc(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);

	PyObject_GC_UnTrack(self);
	until_clear(self);
	PyObject_GC_Del(self);
	Py_DECREF(type);
}

static PyType_Slot until_slots[] = {{Py_tp_methods, coroutine_methods},
				    {Py_am_await, PyObject_SelfIter},
				    {Py_am_send, until_send},
				    {Py_tp_iter, PyObject_SelfIter},
				    {Py_tp_iternext, until_next},
				    {Py_tp_traverse, until_traverse},
				    {Py_tp_clear, until_clear},
				    {Py_tp_dealloc, until_dealloc},
				    {0, NULL}};
static PyType_Spec until_spec = {.name = "wakeproof._native.own.Until",
				 .basicsize = sizeof(until),
				 .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC |
					  Py_TPFLAGS_DISALLOW_INSTANTIATION,
				 .slots = until_slots};

static PyObject *signal_leave(PyObject *self, PyObject *one)
{
	return PyBool_FromLong(leave_list((signal *)self, (waiter *)one));
}

static PyObject *is_waiter(PyObject *module, PyObject *one)
{
	(void)module;
	return PyBool_FromLong(Py_IS_TYPE(one, waiter_type));
}

static PyObject *signal_get(PyObject *self, void *nothing)
{
	(void)nothing;
	return PyBool_FromLong(LOOK_FOR(((signal *)self)->is_set));
}

static int signal_put(PyObject *self, PyObject *value, void *nothing)
{
	int truth = value == NULL ? 0 : PyObject_IsTrue(value);

	(void)nothing;
	PUBLISH(((signal *)self)->is_set, truth > 0);
	return truth < 0 ? -1 : 0;
}

static PyObject *signal_waiters(PyObject *self, void *nothing)
{
	PyObject *list;

	(void)nothing;
	LOCK_OF((signal *)self);
	list = Py_XNewRef(list_of((signal *)self));
	UNLOCK_OF((signal *)self);
	return list;
}

static int signal_traverse(PyObject *self, visitproc visit, void *arg)
{
	Py_VISIT(Py_TYPE(self));
	Py_VISIT(((signal *)self)->first);
	Py_VISIT(((signal *)self)->waiters);
	return 0;
}

static int signal_clear(PyObject *self)
{
	Py_CLEAR(((signal *)self)->first);
	Py_CLEAR(((signal *)self)->waiters);
	return 0;
}

static void signal_dealloc(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);

	PyObject_GC_UnTrack(self);
	signal_clear(self);
	type->tp_free(self);
	Py_DECREF(type);
}

static PyMethodDef signal_methods[] = {
	{"set", signal_set, METH_NOARGS,
	 "Set the event, and wake all waiters, also if a callback raises an exception."},
	{"call", (PyCFunction)(void *)signal_call, METH_VARARGS | METH_KEYWORDS,
	 "Register a callback, which the thread that sets the event calls; before all others, if "
	 "`is_first`."},
	{"wait", (PyCFunction)(void *)signal_wait, METH_VARARGS | METH_KEYWORDS,
	 "Wait until the event is set; return False if the time ran out."},
	{"_leave", signal_leave, METH_O, "Take a waiter off the list; whether it was there."},
	{"until", signal_until, METH_VARARGS, "Await it: the calling thread, and a deadline."},
	{0},
};
static PyGetSetDef signal_fields[] = {
	{"is_set", signal_get, signal_put, "Whether the event is set.", NULL},
	{"_waiters", signal_waiters, NULL, "Who waits, and what is called.", NULL},
	{0}};
static PyType_Slot signal_slots[] = {{Py_tp_methods, signal_methods},
				     {Py_tp_getset, signal_fields},
				     {Py_tp_new, PyType_GenericNew},
				     {Py_tp_traverse, signal_traverse},
				     {Py_tp_clear, signal_clear},
				     {Py_tp_dealloc, signal_dealloc},
				     {Py_tp_doc, "An event that is set once, and never cleared."},
				     {0, NULL}};
static PyType_Spec signal_spec = {.name = "wakeproof._native.own.Signal",
				  .basicsize = sizeof(signal),
				  .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC |
					   Py_TPFLAGS_BASETYPE,
				  .slots = signal_slots};

typedef struct parking {
	PyObject_HEAD int64_t deadline;
	uint32_t on; /* is_told: the number of the thread that is parked by it */
	uint8_t why;
	bool is_parked, is_told; /* is_told: gives what `park` returns, not the kernel's code */
	bool sleeps, had_permit; /* sleeps: `deadline` is a duration until it is awaited first */
	uint8_t how;             /* an `awaited` */
} parking;

static parking *parking_of(int64_t deadline, bool is_told)
{
	parking *made = PyObject_New(parking, parking_type);

	if (made == NULL)
		return NULL;
	made->deadline = deadline;
	made->on = 0;
	made->why = 0;
	made->is_parked = made->sleeps = made->had_permit = false;
	made->is_told = is_told;
	made->how = is_told ? NOT_YET : AWAITED;
	return made;
}

/* As `park`, of which the first argument is the caller. */
static PyObject *parking_new(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
	parking *made;

	(void)module;
	if (count < 2)
		return PyErr_Format(PyExc_TypeError, "parking: of 2 to 4");
	made = parking_of(PyLong_AsLongLong(args[1]), false);
	if (made == NULL)
		return NULL;
	made->why = count < 3 ? 0 : (uint8_t)PyLong_AsLong(args[2]);
	made->on = count < 4 ? 0 : (uint32_t)PyLong_AsUnsignedLongMask(args[3]);
	if (PyErr_Occurred())
		Py_CLEAR(made);
	return (PyObject *)made;
}

/* Await a permit, as the calling coroutine function: seconds or None. */
static PyObject *permit(PyObject *module, PyObject *timeout_s)
{
	PyObject *thread = wp__own_thread();
	int64_t deadline;

	(void)module;
	if (thread == NULL || !OF(thread)->is_coroutine)
		return PyObject_CallNoArgs(py.refuse_park);
	return deadline_of(timeout_s, &deadline) != 0 ? NULL
						      : (PyObject *)parking_of(deadline, true);
}

static uint32_t id_of(PyObject *thread)
{
	return (uint32_t)OF(thread)->number;
}

static PySendResult parking_send(PyObject *self, PyObject *sent, PyObject **result)
{
	parking *mine = (parking *)self;
	PyObject *thread = wp__own_thread();
	int said;

	(void)sent;
	*result = NULL;
	if (mine->is_told) {
		if (!may_go_on(mine->how,
			       thread != NULL && (!mine->is_parked || mine->on == id_of(thread))))
			return PYGEN_ERROR;
		mine->on = id_of(thread);
		if (mine->sleeps && mine->how == NOT_YET)
			mine->deadline += clock_ns();
		mine->how = AWAITED;
	}
	do {
		if (mine->is_parked) {
			said = kernel.park_end();
		} else if (thread != NULL && OF(thread)->pins != 0) {
			said = park_pinned(mine->deadline, mine->why, mine->on);
		} else {
			said = kernel.park_begin_for(mine->deadline, mine->why,
						     mine->is_told ? 0 : mine->on);
			if (said == code.must_park) {
				mine->is_parked = true;
				*result = Py_NewRef(said_park);
				return PYGEN_NEXT;
			}
		}
		mine->is_parked = false;
		mine->had_permit |= mine->sleeps && said == code.ok;
	} while (mine->sleeps && said == code.ok);
	if (mine->had_permit) /* it is not for a sleep: the next park takes it */
		kernel.vthread_unpark(OF(thread)->native);
	if (!mine->is_told) {
		*result = PyLong_FromLong(said);
		return *result == NULL ? PYGEN_ERROR : PYGEN_RETURN;
	}
	mine->how = NO_MORE;
	if (said == code.interrupted && thread != NULL)
		raise_interrupted(thread);
	else
		*result = mine->sleeps ? Py_NewRef(Py_None) : PyBool_FromLong(said == code.ok);
	return *result == NULL ? PYGEN_ERROR : PYGEN_RETURN;
}

static PyObject *parking_next(PyObject *self)
{
	return by_send(self, parking_send);
}

/* Of an object without references. */
static void plain_dealloc(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);

	PyObject_Free(self);
	Py_DECREF(type);
}

static void parking_dealloc(PyObject *self)
{
	never_awaited(((parking *)self)->how, ((parking *)self)->sleeps ? "sleep" : "park");
	plain_dealloc(self);
}

static PyType_Slot parking_slots[] = {{Py_tp_methods, coroutine_methods},
				      {Py_am_await, PyObject_SelfIter},
				      {Py_am_send, parking_send},
				      {Py_tp_iter, PyObject_SelfIter},
				      {Py_tp_iternext, parking_next},
				      {Py_tp_dealloc, parking_dealloc},
				      {0, NULL}};
static PyType_Spec parking_spec = {.name = "wakeproof._native.own.Parking",
				   .basicsize = sizeof(parking),
				   .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
				   .slots = parking_slots};

/* Of a yield: nothing but whether it has yielded. */
typedef struct yielding {
	PyObject_HEAD bool is_over;
	uint8_t how; /* an `awaited` */
} yielding;

static PySendResult yielding_send(PyObject *self, PyObject *sent, PyObject **result)
{
	yielding *mine = (yielding *)self;

	(void)sent;
	if (!may_go_on(mine->how, true))
		return PYGEN_ERROR;
	mine->how = mine->is_over ? NO_MORE : AWAITED;
	*result = Py_NewRef(mine->is_over ? Py_None : said_yield);
	mine->is_over = true;
	return mine->how == NO_MORE ? PYGEN_RETURN : PYGEN_NEXT;
}

static PyObject *yielding_next(PyObject *self)
{
	return by_send(self, yielding_send);
}

static void yielding_dealloc(PyObject *self)
{
	never_awaited(((yielding *)self)->how, "yield_now");
	plain_dealloc(self);
}

static PyType_Slot yielding_slots[] = {{Py_tp_methods, coroutine_methods},
				       {Py_am_await, PyObject_SelfIter},
				       {Py_am_send, yielding_send},
				       {Py_tp_iter, PyObject_SelfIter},
				       {Py_tp_iternext, yielding_next},
				       {Py_tp_dealloc, yielding_dealloc},
				       {0, NULL}};
static PyType_Spec yielding_spec = {.name = "wakeproof._native.own.Yielding",
				    .basicsize = sizeof(yielding),
				    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
				    .slots = yielding_slots};

static uint8_t *how_of(PyObject *self)
{
	if (Py_IS_TYPE(self, until_type))
		return &((until *)self)->how;
	if (Py_IS_TYPE(self, parking_type))
		return &((parking *)self)->how;
	return &((yielding *)self)->how;
}

/* The caller must be a coroutine function that runs as a virtual thread; in a pinned section it
 * yields nothing. */
static PyObject *yielding_new(PyObject *module, PyObject *nothing)
{
	PyObject *thread = wp__own_thread();
	yielding *made;

	(void)module;
	(void)nothing;
	if (thread == NULL || !OF(thread)->is_coroutine)
		return PyObject_CallNoArgs(py.refuse_yield);
	made = PyObject_New(yielding, yielding_type);
	if (made != NULL) {
		made->is_over = OF(thread)->pins != 0;
		made->how = NOT_YET;
	}
	return (PyObject *)made;
}

/* ---- contexts ---- */

/* A copy of the context of the last start. The next start needs no copy of its own if the variables
 * are the same object, which is immutable. A callable copies it at its first step, so that those that
 * have not begun have no contexts, which the collector would visit. A coroutine borrows, for each
 * step, a context that all of them use in turn. If a step has set a variable, or if something still
 * refers to the context, such as a token of the variable, the coroutine keeps that context, and
 * the others get another one. */
static PyObject *seen, *lent;
static size_t vars_at; /* in a context; 0: it was not found, and each start copies */

static PyObject *vars_of(PyObject *context)
{
	return *(PyObject **)(void *)((char *)context + vars_at);
}

static void find_vars(void)
{
	PyObject *context = PyContext_New();

	for (size_t at = sizeof(PyObject);
	     context != NULL && !vars_at && at < (size_t)Py_TYPE(context)->tp_basicsize;
	     at += sizeof(PyObject *)) {
		PyObject *word = *(PyObject **)(void *)((char *)context + at);

		if (word != NULL && strcmp(Py_TYPE(word)->tp_name, "hamt") == 0)
			vars_at = at;
	}
	Py_XDECREF(context);
	PyErr_Clear();
}

/* Whether the caller's variables are those of the last start. */
static bool is_seen(void)
{
	PyObject *now = PyThreadState_Get()->context;

	return vars_at && seen != NULL && now != NULL && vars_of(now) == vars_of(seen);
}

/* A context that is equal to the caller's, and that nobody enters: a new reference. NULL: an exception. */
static PyObject *seen_context(void)
{
	PyObject *copy = PyContext_CopyCurrent();

#ifndef Py_GIL_DISABLED
	if (copy != NULL && vars_at) {
		Py_XSETREF(seen, Py_NewRef(copy));
		Py_CLEAR(lent);
	}
#endif
	return copy;
}

/* That of a callable, for its first step. NULL: an exception. */
static PyObject *own_context(const vthread *self)
{
	return self->copies ? PyContext_Copy(self->base) : Py_NewRef(self->base);
}

/* The context for a step of a coroutine, until `take_back`. NULL: an exception. */
static PyObject *lend(vthread *self)
{
	PyObject *context = lent;

	if (!self->copies)
		return Py_NewRef(self->base);
	if (context == NULL || vars_of(context) != vars_of(self->base))
		return PyContext_Copy(self->base);
	lent = NULL; /* meanwhile other OS threads run steps */
	return context;
}

static void take_back(vthread *self, PyObject *context)
{
	if (!self->copies || context == NULL) {
		Py_XDECREF(context);
	} else if (Py_REFCNT(context) == 1 && vars_of(context) == vars_of(self->base)) {
		Py_XSETREF(lent, context);
	} else {
		SET(self, base, context);
		self->copies = false;
	}
}

/* ---- a step ---- */

/* What a step of Python has raised: the error of the thread. */
static PyObject *failed(PyObject *thread)
{
	PyObject *error = error_here(), *said;

	said = error == NULL ? NULL : PyObject_CallFunctionObjArgs(py.failed, thread, error, NULL);
	Py_XDECREF(error);
	if (said == NULL)
		return NULL;
	Py_DECREF(said);
	return Py_NewRef(said_done);
}

/* After code of the user: a child process that it has forked ends here. */
static int is_parent(long before)
{
	PyObject *error, *said;

	if (pid == before)
		return 0;
	error = PyErr_Occurred() ? error_here() : Py_NewRef(Py_None);
	said = error == NULL ? NULL : PyObject_CallOneArg(py.in_child, error);
	Py_XDECREF(error);
	Py_XDECREF(said);
	return -1;
}

/* Sends None, until it yields what a step may say. */
static PySendResult send_none(PyObject *thread, PyObject **result)
{
	PyObject *coroutine = Py_XNewRef(OF(thread)->body), *said;
	PySendResult how = PyIter_Send(coroutine, Py_None, result);

	while (how == PYGEN_NEXT && *result != said_yield && *result != said_park) {
		said = PyObject_CallFunctionObjArgs(py.send, thread, *result, NULL);
		Py_DECREF(*result);
		*result = said; /* of the next await, or what it returned: Done, value */
		how = said == NULL ? PYGEN_ERROR : PYGEN_NEXT;
		if (said != NULL && PyTuple_CheckExact(said)) {
			*result = Py_NewRef(PyTuple_GET_ITEM(said, 0));
			Py_DECREF(said);
			how = PYGEN_RETURN;
		}
	}
	Py_DECREF(coroutine);
	return how;
}

/* What its steps do from the next one on: not what Python has set. */
static void goes_on(PyObject *thread, uint8_t how)
{
	PUT(OF(thread)->resumes, how);
	SET_FEW(thread, resume, NULL);
}

/* 0; -1: an exception. */
static int make_coroutine(PyObject *thread)
{
	PyObject *made = PyObject_CallNoArgs(OF(thread)->call);

	if (made == NULL)
		return -1;
	SET(thread, body, made);
	goes_on(thread, NEXT_OF_COROUTINE);
	return 0;
}

static PyObject *step_of_coroutine(PyObject *thread)
{
	PyObject *context = lend(OF(thread)), *result = NULL;
	PySendResult how = PYGEN_ERROR;
	long before = pid;

	if (context != NULL && PyContext_Enter(context) == 0) {
		if (OF(thread)->resumes == NEXT_OF_COROUTINE || make_coroutine(thread) == 0)
			how = send_none(thread, &result);
		if (how == PYGEN_ERROR) {
			PyObject *kind, *error, *trace;

			PyErr_Fetch(&kind, &error, &trace);
			PyContext_Exit(context);
			PyErr_Restore(kind, error, trace);
		} else if (PyContext_Exit(context) != 0) {
			Py_CLEAR(result);
			how = PYGEN_ERROR;
		}
	}
	take_back(OF(thread), context);
	if (is_parent(before) != 0)
		return NULL;
	if (how == PYGEN_NEXT)
		return result;
	if (how == PYGEN_ERROR)
		return failed(thread);
	SET(thread, value, result);
	return Py_NewRef(said_done);
}

/* For calls of a pool, which wait for a permit before they begin. */
static PyObject *first_of_coroutine(PyObject *module, PyObject *thread)
{
	(void)module;
	goes_on(thread, FIRST);
	return step_of_coroutine(thread);
}

/* ---- the greenlets of an OS thread, which callables use one after the other ---- */

/* A new greenlet costs at least a memory mapping; the reuse of an idle one costs only a switch. */
enum { IDLE_MOST = 64 }; /* each takes about 10 KB */

/* glibc's, before whatever else ends with the thread: greenlet's own state, cffi's thread state. */
extern int __cxa_thread_atexit_impl(void (*end)(void *), void *arg, void *module)
	__attribute__((weak));
extern void *__dso_handle;

static bool is_ending(void)
{
#if PY_VERSION_HEX >= 0x030D0000
	return Py_IsFinalizing();
#else
	return _Py_IsFinalizing();
#endif
}

/* A greenlet can end only in its OS thread. */
static void end_idle(void *arg)
{
	PyGILState_STATE before;

	(void)arg;
	if (here.idle == NULL || !Py_IsInitialized() || is_ending() ||
	    PyGILState_GetThisThreadState() == NULL)
		return;
	before = PyGILState_Ensure();
	here.lasts = false;
	Py_CLEAR(here.idle);
	PyGILState_Release(before);
}

/* Of a carrier; a thread of Python drops its own state before its end would be told here. */
static void last(void)
{
	here.lasts = __cxa_thread_atexit_impl != NULL &&
		     __cxa_thread_atexit_impl(end_idle, NULL, &__dso_handle) == 0;
}

/* 0; -1: an exception, which none of the callable is. */
static int run_body(PyObject *thread, PyObject *context)
{
	PyObject *call = Py_NewRef(OF(thread)->call), *value = NULL, *said;
	long before = pid;

	if (PyContext_Enter(context) == 0) {
		value = PyObject_CallNoArgs(call);
		if (value == NULL) {
			PyObject *kind, *error, *trace;

			PyErr_Fetch(&kind, &error, &trace);
			PyContext_Exit(context);
			PyErr_Restore(kind, error, trace);
		} else if (PyContext_Exit(context) != 0) {
			Py_CLEAR(value);
		}
	}
	Py_DECREF(call);
	if (is_parent(before) != 0)
		return -1;
	if (value != NULL) {
		SET(thread, value, value);
		return 0;
	}
	said = failed(thread);
	Py_XDECREF(said);
	return said == NULL ? -1 : 0;
}

/* What a greenlet runs: one callable after the other, while others are alive or its OS thread keeps it,
 * and few greenlets are idle. */
static PyObject *bodies(PyObject *module, PyObject *nothing)
{
	(void)module;
	(void)nothing;
	for (;;) {
		PyObject *thread = here.next, *context = here.context, *hub, *mine, *back;
		int failed;

		if (thread == NULL) {
			PyErr_SetString(PyExc_RuntimeError, "a greenlet of a virtual thread was "
							    "switched to from outside");
			return NULL;
		}
		here.next = here.context = NULL;
		hub = Py_NewRef(OF(thread)->base);
		failed = run_body(thread, context);
		Py_DECREF(context);
		Py_DECREF(thread);
		here.alive--;
		if (here.alive == 0 && !here.lasts)
			Py_CLEAR(here.idle); /* each ends: no greenlet outlives the OS thread */
		if (here.idle == NULL && (here.alive > 0 || here.lasts))
			here.idle = PyList_New(0);
		mine = failed || here.idle == NULL || PyList_GET_SIZE(here.idle) >= IDLE_MOST
			       ? NULL
			       : current_greenlet();
		if (mine == NULL || PyList_Append(here.idle, mine) != 0) {
			Py_XDECREF(mine);
			Py_DECREF(hub);
			return failed || PyErr_Occurred() ? NULL : Py_NewRef(said_done);
		}
		Py_DECREF(mine);
		back = switch_to(hub, only_done);
		Py_DECREF(hub);
		if (back == NULL)
			return NULL; /* GreenletExit: the last reference to this greenlet goes */
		Py_DECREF(back);
	}
}

/* An idle greenlet, or a new one. NULL: an exception. */
static PyObject *take_greenlet(void)
{
	Py_ssize_t count = here.idle == NULL ? 0 : PyList_GET_SIZE(here.idle);

	while (count-- > 0) {
		PyObject *one = Py_NewRef(PyList_GET_ITEM(here.idle, count));

		if (PyList_SetSlice(here.idle, count, count + 1, NULL) != 0)
			Py_CLEAR(one);
		/* It has ended, if somebody else has switched to it. */
		if (one == NULL || PyObject_IsTrue(one) == 1)
			return one;
		Py_DECREF(one);
	}
	return new_greenlet(bodies_object);
}

/* Begins a callable, in a greenlet of its own. */
static PyObject *first_of_call(PyObject *module, PyObject *thread)
{
	int home = kernel.vthread_settle(), failed = 0;
	PyObject *context = own_context(OF(thread)), *hub = current_greenlet(),
		 *body = context == NULL || hub == NULL ? NULL : take_greenlet(), *said;

	(void)module;
	if (home >= 0) {
		OF(thread)->home = home;
		if (!here.lasts)
			last();
	} else if (body != NULL) { /* the OS thread is its scheduler's */
		said = PyLong_FromUnsignedLong(PyThread_get_thread_ident());
		failed = said == NULL || PyObject_SetAttr(thread, str_runner, said) != 0;
		Py_XDECREF(said);
	}
	if (body == NULL || failed) {
		Py_XDECREF(context);
		Py_XDECREF(hub);
		Py_XDECREF(body);
		return NULL;
	}
	here.alive++;
	SET(thread, base, hub);
	SET(thread, body, Py_NewRef(body));
	goes_on(thread, NEXT_OF_CALL);
	here.next = Py_NewRef(thread);
	here.context = context;
	said = switch_to(body, no_arguments);
	Py_DECREF(body);
	return said;
}

/* For tests: callables of the calling OS thread that are alive, and greenlets that are idle. */
static PyObject *greenlets_here(PyObject *module, PyObject *nothing)
{
	(void)module;
	(void)nothing;
	return Py_BuildValue("ln", here.alive,
			     here.idle == NULL ? (Py_ssize_t)0 : PyList_GET_SIZE(here.idle));
}

/* For tests: how many looks before a sleep have missed, and have found what they looked for; how many
 * steps have followed others with the GIL, after a wakeup of an OS thread, and without. */
static PyObject *looks_here(PyObject *module, PyObject *nothing)
{
	(void)module;
	(void)nothing;
	return Py_BuildValue("nnnn", LOOK(looks[false]), LOOK(looks[true]), LOOK(followed[true]),
			     LOOK(followed[false]));
}

static PyObject *next_of_call(PyObject *thread)
{
	PyObject *body = Py_NewRef(OF(thread)->body), *said = switch_to(body, no_arguments);

	Py_DECREF(body);
	return said;
}

PyObject *wp__core_first(PyObject *thread)
{
	return OF(thread)->is_coroutine ? first_of_coroutine(NULL, thread)
					: first_of_call(NULL, thread);
}

PyObject *(*wp__core_first_pooled)(PyObject *thread);

long wp__core_pid(void)
{
	return pid;
}

int wp__core_is_parent(long before)
{
	return is_parent(before);
}

PyObject *wp__core_error(void)
{
	return error_here();
}

static PyObject *resume(PyObject *thread)
{
	PyObject *by, *said;

	switch (OF(thread)->resumes) {
	case NEXT_OF_COROUTINE:
		return step_of_coroutine(thread);
	case NEXT_OF_CALL:
		return next_of_call(thread);
	case FIRST:
		return is_some(OF(thread)->permitted) ? wp__core_first_pooled(thread)
						      : wp__core_first(thread);
	default:
		by = Py_NewRef(OF_FEW(thread, resume));
		said = PyObject_CallOneArg(by, thread);
		Py_DECREF(by);
		return said;
	}
}

static int truth_of(PyObject *owner, PyObject *name)
{
	PyObject *said = PyObject_GetAttr(owner, name);
	int truth = said == NULL ? -1 : PyObject_IsTrue(said);

	Py_XDECREF(said);
	return truth;
}

/* Drops what the thread ran with, and wakes its joiners: it never runs again. */
static int finish(PyObject *thread)
{
	PyObject *said, *call = SWAP(thread, permitted, NULL), *done, *mutexes;
	int failed = 0;

	Py_INCREF(thread); /* the list has the last reference, if nobody else wants it */
	unlist(OF(thread));
	mutexes = OF_FEW(thread, mutexes);
	if (OF_FEW(thread, mutex) != NULL || (mutexes != NULL && PySet_GET_SIZE(mutexes) > 0)) {
		said = PyObject_CallMethodNoArgs(thread, str_abandon);
		failed |= said == NULL;
		Py_XDECREF(said);
	}
	SET(thread, call, Py_NewRef(py.nothing));
	SET(thread, body, NULL);
	SET(thread, base, NULL);
	SET_FEW(thread, locals, NULL);
	if (OF_FEW(thread, error) != NULL) {
		said = PyObject_CallOneArg(py.keep, thread);
		failed |= said == NULL;
		Py_XDECREF(said);
	}
	LOCK_OF(OF(thread)); /* for `done_of` */
	PUBLISH(OF(thread)->has_ended, true);
	done = Py_XNewRef(OF_FEW(thread, signal));
	UNLOCK_OF(OF(thread));
	if (is_some(call)) {
		said = PyObject_CallMethodNoArgs(call, str_end);
		failed |= said == NULL;
		Py_XDECREF(said);
	}
	Py_XDECREF(call);
	if (done != NULL)
		failed |= set_signal((signal *)done) != 0;
	Py_XDECREF(done);
	Py_DECREF(thread);
	return failed ? -1 : 0;
}

static PyObject *finished(PyObject *module, PyObject *thread)
{
	(void)module;
	if (finish(thread) != 0)
		return NULL;
	Py_RETURN_NONE;
}

/* Frames of a thread, without the GIL. Who reads them holds the thread, and its next step waits until
 * they are read: both write their own word, and look at the other's after a fence. With the GIL frames
 * are read between two instructions of Python. */
#ifdef Py_GIL_DISABLED
static void await_readers(vthread *thread)
{
	FENCE();
	while (LOOK_FOR(thread->is_held)) {
		Py_BEGIN_ALLOW_THREADS /* the reader may wait for a collection that waits for us */
		sched_yield();
		Py_END_ALLOW_THREADS
	}
}

static PyObject *hold_frames(PyObject *self, PyObject *nothing)
{
	(void)nothing;
	if (TAKE(OF(self)->is_held))
		Py_RETURN_FALSE;
	FENCE();
	if (!LOOK_FOR(OF(self)->runs))
		Py_RETURN_TRUE;
	PUBLISH(OF(self)->is_held, false);
	Py_RETURN_FALSE;
}

static PyObject *release_frames(PyObject *self, PyObject *nothing)
{
	(void)nothing;
	PUBLISH(OF(self)->is_held, false);
	Py_RETURN_NONE;
}
#else
static void await_readers(vthread *thread)
{
	(void)thread;
}

static PyObject *hold_frames(PyObject *self, PyObject *nothing)
{
	(void)self;
	(void)nothing;
	Py_RETURN_TRUE;
}

static PyObject *release_frames(PyObject *self, PyObject *nothing)
{
	(void)self;
	(void)nothing;
	Py_RETURN_NONE;
}
#endif

/* One step, with the GIL. What it is to say to the kernel; an exception may be set. */
static int step_of(PyObject *thread)
{
	PyObject *group = OF(thread)->group, *said, *kept;
	int how = DONE, is_poller = 0;

	Py_INCREF(thread);
	if (group != known) {
		said = PyObject_CallOneArg(py.know, group);
		known = said == NULL ? NULL : group;
		Py_XDECREF(said);
	}
	if (PyErr_Occurred())
		PyErr_WriteUnraisable(thread);
	if (wp__own_mount(thread, OF(thread)->number, OF_FEW(thread, locals)) != 0) {
		Py_DECREF(thread);
		return DONE;
	}
	PUT(OF(thread)->runs, true);
	await_readers(OF(thread));
	said = resume(thread);
	if (said != NULL) {
		how = said == said_park    ? PARK
		      : said == said_yield ? YIELD
		      : said == said_done  ? DONE
					   : (int)PyLong_AsLong(said);
		Py_DECREF(said);
	}
	if (said ==
	    NULL) /* no memory for a greenlet; what the user's code raises does not come here */
		SET_FEW(thread, error, error_here());
	kept = wp__own_unmount();
	SET_FEW(thread, locals, kept);
	PUBLISH(OF(thread)->runs, false);
	if (how == DONE && (PyObject *)Py_TYPE(thread) != py.thread_type)
		is_poller = truth_of((PyObject *)Py_TYPE(thread), str_is_poller);
	/* A poller is forgotten later, when the kernel has removed it from its carrier. */
	if (how == DONE && is_poller == 0)
		finish(thread);
	Py_DECREF(thread);
	return how;
}

/* For the OS thread that was woken, which may have waited for the GIL. */
static void look_for_arrival(int64_t until_ns)
{
	bool has_come = false;

	if (!may_look(&for_arrival))
		return;
	while (!has_come && clock_ns() < until_ns)
		has_come = LOOK(arrivals) != seen_arrivals;
	has_looked(&for_arrival, has_come);
}

/* The OS thread that was woken often starts the next virtual thread at once. */
static void look_for_start(int64_t until_ns)
{
	bool has_none;

	if (!is_only_one(0) || !may_look(&for_start))
		return;
	__atomic_add_fetch(&watchers, 1, __ATOMIC_RELAXED);
	do
		has_none = kernel.has_none();
	while (has_none && clock_ns() < until_ns);
	__atomic_sub_fetch(&watchers, 1, __ATOMIC_RELAXED);
	has_looked(&for_start, !has_none);
}

/* After steps that have woken an OS thread. */
static void look(void)
{
	int64_t until_ns = clock_ns() + LOOK_NS;

	has_woken = false;
	PUT(gil_is_due, false);
	if (kernel.has_none())
		look_for_start(until_ns);
	else
		look_for_arrival(until_ns);
}

/* As `step_of`, without an exception. */
static int step_whole(uint64_t number)
{
	int how = step_of((PyObject *)(uintptr_t)number);

	if (PyErr_Occurred())
		PyErr_WriteUnraisable((PyObject *)NULL);
	return how;
}

/* A step, and the next ones: BATCH_STEPS, and for BATCH_NS once they have woken an OS thread. */
static int steps(uint64_t number)
{
	int how = step_whole(number), next;
	int64_t until_ns = 0;

	for (int left = BATCH_STEPS; HAS_GIL && how <= PARK; left--) {
		if (has_woken && until_ns == 0)
			until_ns = clock_ns() + BATCH_NS;
		if (until_ns == 0 ? left <= 0 : clock_ns() >= until_ns)
			break;
		next = kernel.then(how);
		if (next < 0)
			break;
		how = next;
		PUT(followed[until_ns != 0], followed[until_ns != 0] + 1);
	}
	return how;
}

/* The kernel calls it on a carrier. The first time cffi makes a thread state, which it keeps until the
 * OS thread ends. */
static int step(uint64_t number)
{
	PyGILState_STATE before;
	int how;

	if (is_in_step) /* `kernel.then` calls it */
		return step_whole(number);
	if (PyGILState_GetThisThreadState() == NULL)
		return kernel.first_step(number);
	if (LOOK(gil_is_due))
		await_gil(clock_ns() + LOOK_NS);
	before = PyGILState_Ensure();
	is_in_step = true;
	how = steps(number);
	is_in_step = false;
	wp__own_rests();
	PyGILState_Release(before);
	if (has_woken)
		look();
	return how;
}

static PyObject *first_step(PyObject *module, PyObject *number)
{
	int how = step_of((PyObject *)PyLong_AsVoidPtr(number));

	(void)module;
	wp__own_rests();
	return PyErr_Occurred() ? NULL : PyLong_FromLong(how);
}

/* ---- make, start, join, and the end of the object ---- */

/* 1: yes; 0: no; -1: an exception. */
static int is_coroutine(PyObject *fn)
{
	PyObject *said;
	int truth;

	if (PyMethod_Check(fn))
		fn = PyMethod_GET_FUNCTION(fn);
	if (PyFunction_Check(fn))
		return (((PyCodeObject *)PyFunction_GET_CODE(fn))->co_flags & CO_COROUTINE) != 0;
	if (PyCFunction_Check(fn) || Py_IS_TYPE(fn, in_c_type))
		return !PyCFunction_Check(fn);
	said = PyObject_CallOneArg(py.is_coroutine, fn);
	truth = said == NULL ? -1 : PyObject_IsTrue(said);
	Py_XDECREF(said);
	return truth;
}

/* Where it is to run: its group, and the index of a carrier. 0; -1: an exception. */
static int settle(vthread *self, PyObject *asked, int *home)
{
	PyObject *caller = wp__own_thread(), *both, *said;

	if ((asked == NULL || asked == Py_None) && caller != NULL && is_whole(OF(caller))) {
		*home = code.here; /* in a group of this process, that is alive */
		Py_XSETREF(self->life, Py_NewRef(OF(caller)->life));
		Py_XSETREF(self->group, Py_NewRef(OF(caller)->group));
		return 0;
	}
	both = PyObject_CallOneArg(py.place, asked == NULL ? Py_None : asked);
	if (both == NULL)
		return -1;
	Py_XSETREF(self->group, Py_NewRef(PyTuple_GET_ITEM(both, 0)));
	*home = (int)PyLong_AsLong(PyTuple_GET_ITEM(both, 1));
	Py_DECREF(both);
	said = PyObject_CallMethodNoArgs(self->group, str_check_process);
	Py_XDECREF(said);
	if (said != NULL)
		Py_XSETREF(self->life, PyObject_GetAttr(self->group, str_life));
	return PyErr_Occurred() ? -1 : 0;
}

/* What the thread calls: fn, or fn with its arguments. args: NULL if there is fn only. */
static PyObject *bound(PyObject *fn, PyObject *args, PyObject *named)
{
	if (args != NULL &&
	    (PyTuple_GET_SIZE(args) != 1 || (named != NULL && PyDict_GET_SIZE(named) != 0)))
		return PyObject_Call(py.partial, args, named);
	/* As the body of a thread it is a coroutine, which dumps show. */
	return Py_NewRef(Py_IS_TYPE(fn, in_c_type) ? ((in_c *)fn)->fn : fn);
}

/* The kernel's thread, for one that has its group, its name and what it calls. 0; -1: an exception. */
static int make(vthread *self, bool awaits, int home)
{
	bool is_plain = (PyObject *)Py_TYPE(self) == py.thread_type &&
			OF_FEW((PyObject *)self, name) == NULL;
	void *place = place_of(self->life);
	PyObject *index, *made;

	self->is_coroutine = awaits;
	if (is_plain && kernel.group_tracing(place) == 0) {
		self->native =
			kernel.vthread_new(place, (uintptr_t)self, NULL, home, false, false, NULL);
		if (self->native == NULL) {
			PyErr_NoMemory();
			return -1;
		}
		self->home = kernel.vthread_home(self->native);
		return 0;
	}
	index = PyLong_FromLong(home);
	made = index == NULL ? NULL
			     : PyObject_CallMethodObjArgs((PyObject *)self, str_make, self->group,
							  index, NULL);
	Py_XDECREF(index);
	Py_XDECREF(made);
	return made == NULL ? -1 : 0;
}

static int fill(vthread *self, PyObject *fn, PyObject *args, PyObject *named, PyObject *asked)
{
	int home, awaits = is_coroutine(fn);

	if (awaits < 0 || settle(self, asked, &home) != 0)
		return -1;
	Py_XSETREF(self->call, bound(fn, args, named));
	return self->call == NULL ? -1 : make(self, awaits, home);
}

/* Of a new thread; the first is 1. */
static uint64_t next_number(void)
{
	static uint64_t last;

	return ADD(last, 1);
}

/* Whether the place is of this process, and of a group that has not been freed. */
static bool is_known(const wp__place *at)
{
	return at->life != NULL && is_here(at->life) && is_alive(at->life);
}

vthread *wp__core_new(PyObject *fn, bool awaits, PyObject *name, PyObject *group, wp__place *at)
{
	PyTypeObject *type = (PyTypeObject *)py.thread_type;
	vthread *self = OF(type->tp_alloc(type, 0));
	int home = at->home, failed = 0;

	if (self == NULL)
		return NULL;
	self->number = next_number();
	if (is_known(at)) {
		self->life = Py_NewRef(at->life);
		self->group = Py_NewRef(group);
	} else {
		failed = settle(self, group, &home);
		if (!failed && self->group == group) {
			Py_XSETREF(at->life, Py_NewRef(self->life));
			at->home = home;
		}
	}
	self->call = Py_NewRef(fn);
	failed = failed || SET_FEW((PyObject *)self, name, Py_XNewRef(name)) != 0;
	if (!failed && make(self, awaits, home) == 0)
		return self;
	Py_DECREF((PyObject *)self);
	return NULL;
}

/* Takes `name` and `group` out of what `fn` gets by name. 0; -1: an exception. */
static int options(vthread *self, PyObject *rest, PyObject **asked)
{
	PyObject *name = PyDict_GetItemWithError(rest, str_name);

	*asked = Py_XNewRef(PyDict_GetItemWithError(rest, str_group));
	if (PyErr_Occurred())
		return -1;
	name = PyObject_CallOneArg(py.checked, name == NULL ? Py_None : name);
	if (name == NULL)
		return -1;
	if (name == Py_None)
		Py_CLEAR(name);
	if (SET_FEW((PyObject *)self, name, name) != 0 ||
	    (PyDict_Contains(rest, str_name) && PyDict_DelItem(rest, str_name) != 0) ||
	    (*asked != NULL && PyDict_DelItem(rest, str_group) != 0))
		return -1;
	return 0;
}

static int init(PyObject *object, PyObject *args, PyObject *named)
{
	vthread *self = OF(object);
	PyObject *fn, *asked = NULL, *rest = NULL;
	int failed = 0;

	if (PyTuple_GET_SIZE(args) < 1) {
		PyErr_SetString(PyExc_TypeError, "VirtualThread: fn is missing");
		return -1;
	}
	fn = PyTuple_GET_ITEM(args, 0);
	if (!PyCallable_Check(fn)) {
		Py_XDECREF(PyObject_CallOneArg(py.check_callable, fn));
		return -1;
	}
	if (named != NULL && PyDict_GET_SIZE(named) > 0) {
		rest = PyDict_Copy(named);
		failed = rest == NULL ? -1 : options(self, rest, &asked);
	}
	self->number = next_number();
	failed = failed || fill(self, fn, args, rest, asked) != 0 ? -1 : 0;
	Py_XDECREF(asked);
	Py_XDECREF(rest);
	return failed;
}

/* The call of the class, but of no subclass. With fn alone, as mostly, no tuple is made of the
 * arguments. */
static PyObject *call_of_class(PyObject *type, PyObject *const *args, size_t flags, PyObject *names)
{
	Py_ssize_t count = PyVectorcall_NARGS(flags),
		   named = names == NULL ? 0 : PyTuple_GET_SIZE(names);
	PyObject *self, *tuple, *dict;

	if (((PyTypeObject *)type)->tp_init == init && count == 1 && named == 0 &&
	    PyCallable_Check(args[0])) {
		self = ((PyTypeObject *)type)->tp_alloc((PyTypeObject *)type, 0);
		if (self == NULL)
			return NULL;
		OF(self)->number = next_number();
		if (fill(OF(self), args[0], NULL, NULL, NULL) != 0)
			Py_CLEAR(self);
		return self;
	}
	tuple = PyTuple_New(count);
	dict = named == 0 ? NULL : PyDict_New();
	for (Py_ssize_t n = 0; tuple != NULL && n < count; n++)
		PyTuple_SET_ITEM(tuple, n, Py_NewRef(args[n]));
	for (Py_ssize_t n = 0; dict != NULL && n < named; n++)
		if (PyDict_SetItem(dict, PyTuple_GET_ITEM(names, n), args[count + n]) != 0)
			Py_CLEAR(dict);
	self = tuple == NULL || (named != 0 && dict == NULL)
		       ? NULL
		       : PyType_Type.tp_call(type, tuple, dict);
	Py_XDECREF(tuple);
	Py_XDECREF(dict);
	return self;
}

static PyObject *refused(PyObject *by, PyObject *self)
{
	PyObject *said = PyObject_CallOneArg(by, self);

	Py_XDECREF(said);
	return NULL;
}

/* ---- start ---- */

/* What its `start` needs: the context, given, or a copy of the caller's; its home. -1: an
 * exception. */
static int prepare(vthread *self, PyObject *context)
{
	PyObject *bindings = NULL, *said;
	bool is_plain;

	if (!is_here(self->life)) { /* a child, forked since it was made */
		said = PyObject_CallMethodNoArgs(self->group, str_check_process);
		if (said == NULL)
			return -1;
		Py_DECREF(said);
	}
	if (context != NULL && context != Py_None) {
		Py_INCREF(context);
	} else if (is_seen()) { /* it has no bindings either */
		context = Py_NewRef(seen);
		self->copies = true;
	} else {
		if (PyContextVar_Get(py.bindings, NULL, &bindings) != 0)
			return -1;
		is_plain = bindings == NULL || bindings == Py_None;
		context = is_plain ? seen_context() : PyObject_CallNoArgs(py.context_to_start);
		self->copies = is_plain && context == seen;
		Py_XDECREF(bindings);
	}
	if (context == NULL)
		return -1;
	SET(self, base, context);
	if (PyList_GET_ITEM(self->life, IS_PLACED) == Py_True)
		self->home = kernel.vthread_placed(self->native);
	return 0;
}

/* Starts it in a context that is given, or None: a copy of the caller's. If `is_next`, it may run
 * next, if the caller yields. Of several callers one passes the first look: what follows it runs code
 * of Python, so the flag is set before that. 0; -1: an exception. */
static int begin(PyObject *object, PyObject *context, bool is_next)
{
	vthread *self = OF(object);
	PyObject *group;
	void *native;
	int how = code.ok, failed;

	native = hold(object, &group); /* alive meanwhile */
	if (native == NULL || TAKE(self->is_started)) {
		Py_XDECREF(group);
		refused(py.refuse_start, object);
		return -1;
	}
	failed = prepare(self, context);
	if (!failed) {
		enlist(self);
		how = is_next ? kernel.submit_next(native, true) : start_native(native);
	}
	if (failed || how != code.ok) {
		PUT(self->is_started, false);
		unlist(self);
	}
	Py_DECREF(group);
	if (how != code.ok)
		refused(py.closed_start, object);
	return failed || how != code.ok ? -1 : 0;
}

int wp__core_begin(vthread *self)
{
	return begin((PyObject *)self, NULL, false);
}

static PyObject *begin_as(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
	if (begin(self, count > 0 ? args[0] : NULL, count > 1 && args[1] == Py_True) != 0)
		return NULL;
	Py_RETURN_NONE;
}

static PyObject *start(PyObject *self, PyObject *nothing)
{
	(void)nothing;
	return begin(self, NULL, false) == 0 ? Py_NewRef(self) : NULL;
}

/* Its signal, made when it is asked for first: borrowed. NULL: an exception. */
static signal *done_of(PyObject *self)
{
	PyObject *found = OF_FEW(self, signal), *made, **field;

	if (found != NULL)
		return (signal *)found;
	field = room_of(self, AT(signal));
	made = field == NULL ? NULL : PyObject_CallNoArgs(py.signal);
	if (made == NULL)
		return NULL;
	/* `finish` says that it has ended, and then sets the signal that is here */
	LOCK_OF(OF(self));
	found = keep_first(field, made);
	if (OF(self)->has_ended)
		PUBLISH(((signal *)found)->is_set, true);
	UNLOCK_OF(OF(self));
	return (signal *)found;
}

static PyObject *done_get(PyObject *self, void *nothing)
{
	(void)nothing;
	return Py_XNewRef((PyObject *)done_of(self));
}

/* Await its end, as the calling coroutine function. */
static PyObject *joining_of(PyObject *other, PyObject *timeout_s)
{
	PyObject *thread = wp__own_thread(), *said;
	signal *done;
	int64_t deadline;
	bool is_one;

	if (thread == NULL || !OF(thread)->is_coroutine)
		return PyObject_CallNoArgs(py.refuse_join);
	if (deadline_of(timeout_s, &deadline) != 0)
		return NULL;
	is_one = PyObject_TypeCheck(other, (PyTypeObject *)py.thread_type);
	/* What is left of its checks, for one of the same group that has begun. */
	if (!is_one || other == thread || LOOK(OF(other)->is_closed) ||
	    !LOOK(OF(other)->is_started) ||
	    (!LOOK_FOR(OF(other)->has_ended) && LOOK(OF(other)->group) != OF(thread)->group)) {
		said = PyObject_CallMethodNoArgs(other, str_check_join);
		if (said == NULL)
			return NULL;
		Py_DECREF(said);
	}
	if (!is_one)
		return PyErr_Format(PyExc_TypeError, "join: of no virtual thread");
	if (LOOK_FOR(OF(other)->has_ended))
		return Py_NewRef(over);
	done = done_of(other);
	return done == NULL ? NULL : until_new((PyObject *)done, thread, other, deadline);
}

/* As `joining_of`: thread, seconds or None. */
static PyObject *joining(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
	(void)module;
	if (count != 2)
		return PyErr_Format(PyExc_TypeError, "joining: of 2");
	return joining_of(args[0], args[1]);
}

/* That of the field, or else what is made: a new reference. NULL: an exception. */
static PyObject *keep(PyObject *self, size_t at, PyObject *made)
{
	PyObject **field = made == NULL ? NULL : room_of(self, at), *found;

	if (field == NULL) {
		Py_XDECREF(made);
		return NULL;
	}
	LOCK_OF(OF(self));
	found = Py_XNewRef(keep_first(field, made));
	UNLOCK_OF(OF(self));
	return found;
}

static PyObject *few_get(PyObject *self, void *at)
{
	PyObject *found;

	LOCK_OF(OF(self));
	found = Py_XNewRef(few_of(self, (uintptr_t)at));
	UNLOCK_OF(OF(self));
	return found == NULL ? Py_NewRef(Py_None) : found;
}

int wp__core_hold(PyObject *thread, PyObject *mutex, bool holds)
{
	PyObject *set;
	int failed;

	if (OF_FEW(thread, mutex) == (holds ? NULL : mutex))
		return SET_FEW(thread, mutex, holds ? Py_NewRef(mutex) : NULL);
	set = OF_FEW(thread, mutexes);
	set = set != NULL ? Py_NewRef(set) : keep(thread, AT(mutexes), PySet_New(NULL));
	if (set == NULL)
		return -1;
	failed = holds ? PySet_Add(set, mutex) : PySet_Discard(set, mutex);
	Py_DECREF(set);
	return failed < 0 ? -1 : 0;
}

/* A new set. NULL: an exception. */
static PyObject *held_get(PyObject *self, void *nothing)
{
	PyObject *others = few_get(self, (void *)AT(mutexes)),
		 *one = few_get(self, (void *)AT(mutex)),
		 *set = PySet_New(others == Py_None ? NULL : others);

	(void)nothing;
	if (set != NULL && one != Py_None && PySet_Add(set, one) != 0)
		Py_CLEAR(set);
	Py_DECREF(others);
	Py_DECREF(one);
	return set;
}

/* To none. */
static int held_put(PyObject *self, PyObject *none, void *nothing)
{
	(void)none;
	(void)nothing;
	return SET_FEW(self, mutex, NULL) | SET_FEW(self, mutexes, NULL);
}

static PyObject *scopes_get(PyObject *self, void *nothing)
{
	PyObject *found = OF_FEW(self, open);

	(void)nothing;
	return found != NULL ? Py_NewRef(found) : keep(self, AT(open), PyList_New(0));
}

/* Waits until the thread has ended, without its checks; returns whether it has. */
static PyObject *waits(PyObject *self, PyObject *timeout_s)
{
	signal *done;
	bool is_set;
	int failed;

	wp__core_asks();
	if (LOOK_FOR(OF(self)->has_ended) && timeout_s == Py_None)
		Py_RETURN_TRUE;
	done = done_of(self);
	if (done == NULL)
		return NULL;
	Py_INCREF((PyObject *)done);
	failed = wait_for(done, timeout_s, code.join);
	is_set = LOOK_FOR(done->is_set);
	Py_DECREF((PyObject *)done);
	return failed ? NULL : PyBool_FromLong(is_set);
}

static void finalize(PyObject *object)
{
	vthread *self = OF(object);
	PyObject *kind, *error, *trace, *said;
	void *native = self->native;

	if (!is_whole(self) || !is_here(self->life))
		return; /* its arguments were refused, its group was closed, or it is the parent's */
	if (is_alive(self->life)) {
		self->native = NULL; /* a hook may keep this object */
		kernel.vthread_free(native);
	}
	if (OF_FEW(object, error) == NULL)
		return;
	PyErr_Fetch(&kind, &error, &trace);
	said = PyObject_CallOneArg(py.report, object);
	if (said == NULL)
		PyErr_WriteUnraisable(object);
	Py_XDECREF(said);
	PyErr_Restore(kind, error, trace);
}

#define VISIT(field) Py_VISIT(self->field);
#define CLEAR(field) Py_CLEAR(self->field);
#define VISIT_FEW(field) Py_VISIT(self->few->field);
#define CLEAR_FEW(field) Py_CLEAR(self->few->field);

static int traverse(PyObject *object, visitproc visit, void *arg)
{
	vthread *self = OF(object);

	Py_VISIT(Py_TYPE(object));
	FIELDS(VISIT)
	Py_VISIT(self->base);
	Py_VISIT(self->body);
	if (self->few != NULL) {
		FEW(VISIT_FEW)
		Py_VISIT(self->few->resume);
		Py_VISIT(self->few->mutex);
	}
	return 0;
}

static int clear(PyObject *object)
{
	vthread *self = OF(object);

	FIELDS(CLEAR)
	Py_CLEAR(self->base);
	Py_CLEAR(self->body);
	if (self->few != NULL) {
		FEW(CLEAR_FEW)
		Py_CLEAR(self->few->resume);
		Py_CLEAR(self->few->mutex);
	}
	return 0;
}

static void dealloc(PyObject *object)
{
	PyTypeObject *type = Py_TYPE(object);

	PyObject_GC_UnTrack(object);
	if (OF(object)->weakrefs != NULL)
		PyObject_ClearWeakRefs(object);
	clear(object);
	Py_CLEAR(OF(object)->life);
	PyMem_Free(OF(object)->few);
	free_memory(OF(object), type);
	Py_DECREF(type);
}

/* Of VirtualThread: what a class of Python does beside its base's is for attributes that this one has
 * not. A subclass has finalized its object. */
static void dealloc_of_class(PyObject *object)
{
	PyTypeObject *type = Py_TYPE(object);
	bool may_stay = (PyObject *)type != py.thread_type || type->tp_finalize != finalize ||
			OF_FEW(object, error) != NULL;

	PyObject_GC_UnTrack(object);
	Py_TRASHCAN_BEGIN(object, dealloc_of_class) if (may_stay)
	{
		PyObject_GC_Track(object);
		may_stay = PyObject_CallFinalizerFromDealloc(object) != 0;
	}
	else
	{
		finalize(object);
	}
	if (!may_stay)
		dealloc(object);
	Py_TRASHCAN_END
}

static PyObject *address_get(PyObject *self, void *nothing)
{
	void *native = LOOK(OF(self)->native);

	(void)nothing;
	return native == NULL ? Py_NewRef(Py_None) : PyLong_FromVoidPtr(native);
}

static int address_put(PyObject *self, PyObject *value, void *nothing)
{
	void *native = value == NULL || value == Py_None ? NULL : PyLong_AsVoidPtr(value);

	(void)nothing;
	LOCK_OF(OF(self));
	PUT(OF(self)->native, native);
	UNLOCK_OF(OF(self));
	return PyErr_Occurred() ? -1 : 0;
}

/* ---- all threads that have begun and not ended, by number, as a dict has them ---- */

static PyObject *all_values(PyObject *self, PyObject *nothing)
{
	(void)self;
	(void)nothing;
	return wp__core_threads();
}

PyObject *wp__core_threads(void)
{
	Py_ssize_t count = LOOK(count_of_all), n = 0;
	PyObject *list = PyList_New(count);
	bool is_so = false;

	if (list == NULL)
		return NULL;
	LOCK(all_lock);
	if (count == count_of_all) {
		is_so = true;
		for (vthread *one = first_of_all; one != NULL; one = one->next)
			PyList_SET_ITEM(list, n++, Py_NewRef((PyObject *)one));
	}
	UNLOCK(all_lock);
	/* Else one has begun or ended: in another thread, or in garbage that the allocation has found. */
	return is_so ? list : (Py_DECREF(list), wp__core_threads());
}

/* The one with that number: a new reference, or NULL. */
static PyObject *find(PyObject *number)
{
	void *address = PyLong_AsVoidPtr(number);
	vthread *one;

	LOCK(all_lock);
	one = first_of_all;
	while (one != NULL && one != address)
		one = one->next;
	Py_XINCREF((PyObject *)one);
	UNLOCK(all_lock);
	return (PyObject *)one;
}

static PyObject *all_get(PyObject *self, PyObject *number)
{
	PyObject *one = find(number);

	(void)self;
	return one == NULL && !PyErr_Occurred() ? Py_NewRef(Py_None) : one;
}

/* The kernel gives the number, of a thread that has not ended. */
static PyObject *all_of_kernel(PyObject *self, PyObject *number)
{
	void *address = PyLong_AsVoidPtr(number);

	(void)self;
	return PyErr_Occurred() ? NULL : Py_NewRef((PyObject *)address);
}

static PyObject *all_pop(PyObject *self, PyObject *number)
{
	PyObject *one = all_of_kernel(self, number);

	if (one != NULL)
		unlist(OF(one));
	return one;
}

static int all_put(PyObject *self, PyObject *number, PyObject *one)
{
	(void)self;
	(void)number;
	if (one != NULL) {
		enlist(OF(one));
		return 0;
	}
	one = find(number);
	if (one != NULL)
		unlist(OF(one));
	Py_XDECREF(one);
	return PyErr_Occurred() ? -1 : 0;
}

static Py_ssize_t all_length(PyObject *self)
{
	(void)self;
	return LOOK(count_of_all);
}

static PyMethodDef all_methods[] = {
	{"values", all_values, METH_NOARGS, "A list of them, in the order of their starts."},
	{"get", all_get, METH_O, "The thread with that number; None: it has ended."},
	{"pop", all_pop, METH_O, "Take one out that has not ended."},
	{0},
};
static PyType_Slot all_slots[] = {{Py_tp_methods, all_methods},
				  {Py_mp_subscript, all_of_kernel},
				  {Py_mp_ass_subscript, all_put},
				  {Py_mp_length, all_length},
				  {0, NULL}};
static PyType_Spec all_spec = {.name = "wakeproof._native.own.Threads",
			       .basicsize = sizeof(PyObject),
			       .flags = Py_TPFLAGS_DEFAULT,
			       .slots = all_slots};

static int few_put(PyObject *self, PyObject *value, void *at)
{
	return set_few(self, (uintptr_t)at, value == Py_None ? NULL : Py_XNewRef(value));
}

static int resume_put(PyObject *self, PyObject *value, void *nothing)
{
	(void)nothing;
	PUT(OF(self)->resumes, BY_PYTHON);
	return SET_FEW(self, resume, Py_XNewRef(value));
}

enum { CONTEXT, COROUTINE, HUB, GREENLET }; /* of a callable that has begun: the last two */

static PyObject **part_of(PyObject *self, uintptr_t which)
{
	return which == CONTEXT || which == HUB ? &OF(self)->base : &OF(self)->body;
}

static PyObject *part_get(PyObject *self, void *which)
{
	PyObject *found = NULL;

	LOCK_OF(OF(self));
	if ((LOOK(OF(self)->resumes) == NEXT_OF_CALL) == ((uintptr_t)which >= HUB))
		found = Py_XNewRef(*part_of(self, (uintptr_t)which));
	UNLOCK_OF(OF(self));
	return found == NULL ? Py_NewRef(Py_None) : found;
}

static int part_put(PyObject *self, PyObject *value, void *which)
{
	Py_XDECREF(swap(OF(self), part_of(self, (uintptr_t)which),
			value == Py_None ? NULL : Py_XNewRef(value)));
	return 0;
}

#define FIELD_FEW(field) {"_" #field, few_get, few_put, NULL, (void *)AT(field)},

PyObject *wp__field_get(PyObject *self, void *at)
{
	PyObject *found;

	LOCK_OF(OF(self));
	found = *(PyObject **)(void *)((char *)self + (uintptr_t)at);
	Py_XINCREF(found);
	UNLOCK_OF(OF(self));
	return found == NULL ? Py_NewRef(Py_None) : found;
}

int wp__field_put(PyObject *self, PyObject *value, void *at)
{
	PyObject **field = (PyObject **)(void *)((char *)self + (uintptr_t)at);

	Py_XDECREF(swap(OF(self), field, Py_XNewRef(value)));
	return 0;
}

#ifdef Py_GIL_DISABLED
#define FIELD_LOCKED(field) \
	{"_" #field, wp__field_get, wp__field_put, NULL, (void *)offsetof(vthread, field)},
#define FIELDS_LOCKED FIELDS(FIELD_LOCKED)
#define FIELDS_PLAIN
#else
#define MEMBER(field) {"_" #field, T_OBJECT, offsetof(vthread, field), 0, NULL},
#define FIELDS_LOCKED
#define FIELDS_PLAIN FIELDS(MEMBER)
#endif

static PyMethodDef core_methods[] = {
	{"_begin", (PyCFunction)(void *)begin_as, METH_FASTCALL,
	 "Start it: its context, or None; whether it may run next."},
	{"start", start, METH_NOARGS, "start($self, /)\n--\n\nStart the thread, and return it."},
	{"_waits", waits, METH_O, "Wait until it has ended; seconds, or None."},
	{"_hold", hold_frames, METH_NOARGS,
	 "Keep it from running until `_release`; False: it runs, or is held."},
	{"_release", release_frames, METH_NOARGS, "Let it run again."},
	{0},
};
static PyGetSetDef core_fields[] = {
	{"_address", address_get, address_put, "The kernel's handle.", NULL},
	{"_done", done_get, NULL, "A signal that is set when the thread has ended.", NULL},
	{"_held", held_get, held_put, "The mutexes that it holds.", NULL},
	{"_scopes", scopes_get, NULL, "The scopes that it has open.", NULL},
	{"_context", part_get, part_put, "The context that it starts in.", (void *)CONTEXT},
	{"_coroutine", part_get, part_put, "What its function has made.", (void *)COROUTINE},
	{"_hub", part_get, NULL, "The greenlet that a callable leaves to.", (void *)HUB},
	{"_greenlet", part_get, NULL, "The greenlet of a callable.", (void *)GREENLET},
	{"_resume", NULL, resume_put, "What its next steps call.", NULL},
	FEW(FIELD_FEW) FIELDS_LOCKED{0}};
#define VALUE(field, type) {"_" #field, type, offsetof(vthread, field), 0, NULL}
static PyMemberDef core_members[] = {
	FIELDS_PLAIN VALUE(number, T_ULONGLONG),
	VALUE(home, T_INT),
	VALUE(pins, T_INT),
	VALUE(has_ended, T_BOOL),
	VALUE(is_closed, T_BOOL),
	VALUE(is_coroutine, T_BOOL),
	VALUE(is_heard, T_BOOL),
	VALUE(is_started, T_BOOL),
	VALUE(runs, T_BOOL),
	{"__weaklistoffset__", T_PYSSIZET, offsetof(vthread, weakrefs), READONLY, NULL},
	{0}};
static PyType_Slot core_slots[] = {{Py_tp_init, init},
				   {Py_tp_finalize, finalize},
				   {Py_tp_traverse, traverse},
				   {Py_tp_clear, clear},
				   {Py_tp_dealloc, dealloc},
				   {Py_tp_methods, core_methods},
				   {Py_tp_members, core_members},
				   {Py_tp_getset, core_fields},
				   {0, NULL}};
static PyType_Spec core_spec = {.name = "wakeproof._native.own.Core",
				.basicsize = sizeof(vthread),
				.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE |
					 Py_TPFLAGS_HAVE_GC,
				.slots = core_slots};

/* ---- coroutine functions whose call is C ----
 *
 * The call makes what is awaited, and no coroutine: 208 bytes for each that waits, and a frame for each
 * step.  All else of it is the function in Python, which is called with other arguments as well, and by
 * who may not call it: then the error comes when it is awaited. */

static PyObject *call_by_python(PyObject *self, PyObject *const *args, size_t flags,
				PyObject *names)
{
	return PyObject_Vectorcall(((in_c *)self)->fn, args, flags, names);
}

/* Whether there are so many arguments, and the caller may await. */
static bool is_plain_call(size_t flags, PyObject *names, Py_ssize_t least, Py_ssize_t most)
{
	Py_ssize_t count = PyVectorcall_NARGS(flags);
	PyObject *thread = wp__own_thread();

	return names == NULL && count >= least && count <= most && thread != NULL &&
	       OF(thread)->is_coroutine;
}

static PyObject *call_park(PyObject *self, PyObject *const *args, size_t flags, PyObject *names)
{
	if (!is_plain_call(flags, names, 0, 1))
		return call_by_python(self, args, flags, names);
	return permit(NULL, PyVectorcall_NARGS(flags) == 0 ? Py_None : args[0]);
}

/* Longer ones, one of 0 and what is no number of seconds are for the function in Python. */
static PyObject *call_sleep(PyObject *self, PyObject *const *args, size_t flags, PyObject *names)
{
	double seconds = 0;
	parking *made;

	if (is_plain_call(flags, names, 1, 1) &&
	    (PyFloat_CheckExact(args[0]) || PyLong_CheckExact(args[0])))
		seconds = PyFloat_AsDouble(args[0]);
	if (PyErr_Occurred()) /* too large */
		PyErr_Clear();
	if (!(seconds > 0 && seconds < 1e9))
		return call_by_python(self, args, flags, names);
	made = parking_of((int64_t)ceil(seconds * 1e9), true);
	if (made == NULL)
		return NULL;
	made->sleeps = true;
	made->why = (uint8_t)code.sleep;
	return (PyObject *)made;
}

static PyObject *call_yield(PyObject *self, PyObject *const *args, size_t flags, PyObject *names)
{
	if (!is_plain_call(flags, names, 0, 0))
		return call_by_python(self, args, flags, names);
	return yielding_new(NULL, NULL);
}

static PyObject *call_join(PyObject *self, PyObject *const *args, size_t flags, PyObject *names)
{
	if (!is_plain_call(flags, names, 1, 2))
		return call_by_python(self, args, flags, names);
	return joining_of(args[0], PyVectorcall_NARGS(flags) == 1 ? Py_None : args[1]);
}

static PyObject *in_c_new(PyObject *module, PyObject *fn)
{
	static const struct {
		const char *name;
		vectorcallfunc call;
	} calls[] = {{"park", call_park},
		     {"sleep", call_sleep},
		     {"yield_now", call_yield},
		     {"join", call_join}};
	PyObject *name = PyObject_GetAttr(fn, str_dunder_name);
	in_c *made = NULL;

	(void)module;
	for (size_t n = 0; name != NULL && n < sizeof calls / sizeof *calls; n++) {
		if (PyUnicode_CompareWithASCIIString(name, calls[n].name) != 0)
			continue;
		made = PyObject_GC_New(in_c, in_c_type);
		if (made == NULL)
			break;
		made->call = calls[n].call;
		made->fn = Py_NewRef(fn);
		PyObject_GC_Track(made);
	}
	if (name != NULL && made == NULL && !PyErr_Occurred())
		PyErr_Format(PyExc_TypeError, "in_c: there is no %R", fn);
	Py_XDECREF(name);
	return (PyObject *)made;
}

/* All but how it is pickled is the function's, `__class__` among it. */
static PyObject *in_c_getattro(PyObject *self, PyObject *name)
{
	return name == str_reduce || name == str_reduce_ex
		       ? PyObject_GenericGetAttr(self, name)
		       : PyObject_GetAttr(((in_c *)self)->fn, name);
}

static PyObject *in_c_reduce(PyObject *self, PyObject *nothing)
{
	(void)nothing;
	return PyObject_GetAttrString(self, "__qualname__");
}

static PyMethodDef in_c_methods[] = {
	{"__reduce__", in_c_reduce, METH_NOARGS, "Its name, by which a pickle finds it."}, {0}};

static PyObject *in_c_repr(PyObject *self)
{
	return PyObject_Repr(((in_c *)self)->fn);
}

static int in_c_traverse(PyObject *self, visitproc visit, void *arg)
{
	Py_VISIT(Py_TYPE(self));
	Py_VISIT(((in_c *)self)->fn);
	return 0;
}

static int in_c_clear(PyObject *self)
{
	Py_CLEAR(((in_c *)self)->fn);
	return 0;
}

static void in_c_dealloc(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);

	PyObject_GC_UnTrack(self);
	in_c_clear(self);
	PyObject_GC_Del(self);
	Py_DECREF(type);
}

static PyMemberDef in_c_members[] = {
	{"__vectorcalloffset__", T_PYSSIZET, offsetof(in_c, call), READONLY, NULL}, {0}};
static PyType_Slot in_c_slots[] = {{Py_tp_call, PyVectorcall_Call},
				   {Py_tp_members, in_c_members},
				   {Py_tp_methods, in_c_methods},
				   {Py_tp_getattro, in_c_getattro},
				   {Py_tp_repr, in_c_repr},
				   {Py_tp_traverse, in_c_traverse},
				   {Py_tp_clear, in_c_clear},
				   {Py_tp_dealloc, in_c_dealloc},
				   {0, NULL}};
static PyType_Spec in_c_spec = {.name = "wakeproof._native.own.InC",
				.basicsize = sizeof(in_c),
				.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC |
					 Py_TPFLAGS_HAVE_VECTORCALL |
					 Py_TPFLAGS_DISALLOW_INSTANTIATION,
				.slots = in_c_slots};

/* ---- the module ---- */

/* Takes a dict: name -> object of Python; addresses; codes; the greenlets. */
static PyObject *bind_core(PyObject *module, PyObject *args)
{
	PyObject *objects, *addresses, *codes;
	uintptr_t each[sizeof kernel / sizeof(uintptr_t)];
	long long numbers[8];

	(void)module;
	if (!PyArg_ParseTuple(args, "O!O!O!", &PyDict_Type, &objects, &PyTuple_Type, &addresses,
			      &PyTuple_Type, &codes))
		return NULL;
	if (PyTuple_GET_SIZE(addresses) != (Py_ssize_t)(sizeof each / sizeof *each) ||
	    PyTuple_GET_SIZE(codes) != (Py_ssize_t)(sizeof numbers / sizeof *numbers))
		return PyErr_Format(PyExc_TypeError, "bind: of %zu and %zu",
				    sizeof each / sizeof *each, sizeof numbers / sizeof *numbers);
	for (size_t n = 0; n < sizeof called / sizeof *called; n++) {
		PyObject *found = PyDict_GetItemString(objects, called[n]);

		if (found == NULL)
			return PyErr_Format(PyExc_TypeError, "bind: %s is missing", called[n]);
		((PyObject **)&py)[n] = Py_NewRef(found);
	}
	for (size_t n = 0; n < sizeof each / sizeof *each; n++)
		each[n] = (uintptr_t)PyLong_AsVoidPtr(PyTuple_GET_ITEM(addresses, n));
	for (size_t n = 0; n < sizeof numbers / sizeof *numbers; n++)
		numbers[n] = PyLong_AsLongLong(PyTuple_GET_ITEM(codes, n));
	((PyTypeObject *)py.thread_type)->tp_vectorcall = call_of_class;
	((PyTypeObject *)py.thread_type)->tp_alloc = allocate;
	((PyTypeObject *)py.thread_type)->tp_dealloc = dealloc_of_class;
	greenlets = PyCapsule_Import("greenlet._C_API", 0);
	if (greenlets == NULL || PyErr_Occurred())
		return NULL;
	memcpy(&kernel, each, sizeof kernel);
	code.ok = (int)numbers[0];
	code.timeout = (int)numbers[1];
	code.interrupted = (int)numbers[2];
	code.must_park = (int)numbers[3];
	code.join = (int)numbers[4];
	code.here = (int)numbers[5];
	code.forever = numbers[6];
	code.sleep = (int)numbers[7];
	return PyLong_FromVoidPtr((void *)step);
}

static PyMethodDef functions[] = {
	{"bind_core", bind_core, METH_VARARGS,
	 "Take what is called; return the address of the step."},
	{"first_step", first_step, METH_O, "The first step on an OS thread."},
	{"first_of_coroutine", first_of_coroutine, METH_O, "Begin a coroutine function."},
	{"first_of_call", first_of_call, METH_O, "Begin a callable."},
	{"bodies", bodies, METH_NOARGS, "Run callables, in a greenlet."},
	{"greenlets_here", greenlets_here, METH_NOARGS,
	 "Callables of the calling OS thread that are alive, and greenlets that are idle."},
	{"looks", looks_here, METH_NOARGS,
	 "How many looks before a sleep have missed, and have found what they looked for; how many "
	 "steps have followed others with the GIL, after a wakeup of an OS thread, and without."},
	{"forget", finished, METH_O,
	 "Drop what the thread ran with and wake its joiners, because it never runs again."},
	{"park", (PyCFunction)(void *)park, METH_FASTCALL,
	 "Park the caller: thread, deadline, why, on what."},
	{"leave", (PyCFunction)(void *)leave_for, METH_FASTCALL,
	 "Switch to the carrier until the next step: thread, what the step returns."},
	{"parking", (PyCFunction)(void *)parking_new, METH_FASTCALL, "Await a park: as `park`."},
	{"permit", permit, METH_O, "Await a permit: seconds or None."},
	{"in_c", in_c_new, METH_O, "A coroutine function of `coroutine`, whose call is C."},
	{"joining", (PyCFunction)(void *)joining, METH_FASTCALL,
	 "Await the end of a thread: thread, seconds or None."},
	{"is_waiter", is_waiter, METH_O, "Whether a callback of a signal wakes a thread."},
	{"yield_here", yield_here, METH_NOARGS,
	 "Yield, if the caller is a virtual thread that may; return whether it is one."},
	{"yielding", yielding_new, METH_NOARGS, "Await a yield."},
	{0},
};

static PyTypeObject *type_of(PyObject *module, PyType_Spec *spec)
{
	PyObject *type = PyType_FromSpec(spec);

	if (type != NULL && PyModule_AddObjectRef(module, strrchr(spec->name, '.') + 1, type) != 0)
		Py_CLEAR(type);
	return (PyTypeObject *)type;
}

static int add_all(PyObject *module)
{
	PyObject *type = PyType_FromSpec(&all_spec),
		 *all = type == NULL ? NULL : PyObject_CallNoArgs(type);
	int failed = PyModule_AddObjectRef(module, "threads", all);

	Py_XDECREF(type);
	Py_XDECREF(all);
	return failed;
}

static PyObject *alone(PyObject *said)
{
	return PyTuple_Pack(1, said);
}

int wp__core_fill(PyObject *module)
{
	forked();
	count_cpus();
	if (pthread_key_create(&parkers, free_parker) != 0 ||
	    pthread_atfork(NULL, NULL, forked) != 0)
		return -1;
	signal_type = type_of(module, &signal_spec);
	waiter_type = type_of(module, &waiter_spec);
	until_type = type_of(module, &until_spec);
	parking_type = type_of(module, &parking_spec);
	yielding_type = type_of(module, &yielding_spec);
	in_c_type = type_of(module, &in_c_spec);
	if (until_type != NULL)
		over = until_new(NULL, NULL, NULL, 0);
	if (over == NULL)
		return -1;
	find_vars();
	said_done = PyLong_FromLong(DONE);
	said_yield = PyLong_FromLong(YIELD);
	said_park = PyLong_FromLong(PARK);
	no_arguments = PyTuple_New(0);
	only_park = alone(said_park);
	only_yield = alone(said_yield);
	only_done = alone(said_done);
	str_runner = PyUnicode_InternFromString("_runner");
	str_make = PyUnicode_InternFromString("_make");
	str_check_process = PyUnicode_InternFromString("_check_process");
	str_abandon = PyUnicode_InternFromString("_abandon_held");
	str_is_poller = PyUnicode_InternFromString("_is_poller");
	str_life = PyUnicode_InternFromString("_life");
	str_check_join = PyUnicode_InternFromString("_check_join");
	str_end = PyUnicode_InternFromString("end");
	str_name = PyUnicode_InternFromString("name");
	str_dunder_name = PyUnicode_InternFromString("__name__");
	str_reduce = PyUnicode_InternFromString("__reduce__");
	str_reduce_ex = PyUnicode_InternFromString("__reduce_ex__");
	str_group = PyUnicode_InternFromString("group");
	if (signal_type == NULL || waiter_type == NULL || until_type == NULL ||
	    parking_type == NULL || yielding_type == NULL || in_c_type == NULL ||
	    type_of(module, &core_spec) == NULL || add_all(module) != 0 ||
	    PyModule_AddFunctions(module, functions) != 0)
		return -1;
	bodies_object = PyObject_GetAttrString(module, "bodies");
	return bodies_object == NULL ? -1 : 0;
}

#else

int wp__core_fill(PyObject *module)
{
	(void)module;
	return 0;
}

int wp__core_hold(PyObject *thread, PyObject *mutex, bool holds)
{
	PyObject *set = PyObject_GetAttrString(thread, "_held");
	int failed = -1;

	if (set != NULL)
		failed = holds ? PySet_Add(set, mutex) : PySet_Discard(set, mutex);
	Py_XDECREF(set);
	return failed < 0 ? -1 : 0;
}

#endif
