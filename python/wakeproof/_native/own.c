/* SPDX-License-Identifier: Apache-2.0
 * own.c - what CPython keeps for each OS thread, kept for each virtual thread: the values of
 * threading.local, who has a threading.RLock, and who waits for a lock.
 *
 *   carrier, before a step   mount     the thread state's dict aside, the virtual thread's in
 *   virtual thread           runs      threading.local finds its own values, as every C caller of
 *                                      PyThreadState_GetDict does
 *   carrier, after the step  unmount   its dict out, for its next step; the carrier's back
 *
 * Why it works   CPython reads the dict from the thread state at each access, and never keeps it.
 *                What it caches, it keeps by the thread state's id (asyncio: the running loop), so
 *                each mount has an id of its own. From 3.13 on threading.local looks for its values
 *                by two words beside the dict, and asyncio has one (3.14: two, with the running
 *                task); these change with it.
 *                Until 3.12 a threading.local is found in the dict by its address, and takes its
 *                entries with it when it dies, out of the dicts of all thread states. A dict that
 *                is aside belongs to none: `local_dealloc` here takes them out of those.
 *                An RLock compares its owner's number. Those of OS threads are addresses, thus even;
 *                a virtual thread's is odd. Methods of locks are exchanged in their definitions, so
 *                that locks, and methods that are bound, from before go through them as well.
 * The line       Virtual threads that wait for a lock or a SimpleQueue stand in a line beside it:
 *                _runtime/line.py has the protocol, and why no wakeup is lost. A release of any
 *                thread looks at the line; only releases of Python's methods exist, but for the end
 *                of an OS thread until 3.12.
 *                Methods of Lock and SimpleQueue are exchanged while wakeproof.install is in effect.
 *                When it is undone, those that wait are put back at once, and those that wake when
 *                nobody waits. A thread that had begun to wait just before puts the latter in again
 *                as it stands in line, before it tries.
 * Without GIL    A thread state and `mine` are touched by their own thread only. The owner of an
 *                RLock is one word: a thread finds its own number there only if it has written it,
 *                or if a release has, which gave it the lock before it looked.
 *                The lines of the waiters have a lock, and a count beside it that a release looks at.
 *                A waiter stands in line before it tries the lock, a release frees the lock before it
 *                looks at the count, and both have a fence in between: the second of the two sees
 *                the step of the first. Install before the threads begin: a release that is under way
 *                while methods are exchanged wakes nobody.
 * Where          CPython 3.11 to 3.14, and 3.13 and 3.14 without the GIL. Elsewhere there is nothing
 *                in this module.
 * Evidence       tests/python/test_own.py, tests/python/test_standard_locks.py. */
#include "own.h"

#if PY_VERSION_HEX < 0x030F0000 && !defined(PYPY_VERSION)

#include <pthread.h>
#include <stdint.h>

#include "free.h"
#include "steps.h"

#define HAS_KEY (PY_VERSION_HEX >= 0x030D0000) /* threading.local looks by two words more */
#if HAS_KEY
/* What asyncio.get_running_loop and (3.14) current_task give: words behind the public part of a
 * thread state (Include/internal/pycore_tstate.h). Until 3.12 they are in dicts. */
#define HAS_TASK (PY_VERSION_HEX >= 0x030E0000)
enum { LOOP_WORD = HAS_TASK ? 4 : 0, WORDS = HAS_TASK ? 2 : 1, PARTS = 3 + WORDS };
#define BEHIND(state, word) (((PyObject **)(void *)((char *)(state) + sizeof(PyThreadState)))[word])
#endif

#ifdef Py_GIL_DISABLED
#define HAS_LIST 0
#else
#define HAS_LIST 1
#endif

enum { FIRST_ID = 62 }; /* bit: the interpreter counts from 1 */

/* What an OS thread keeps aside while it runs a virtual thread. From its first mount to its end. */
typedef struct below {
#if HAS_LIST
	struct below *next, *before; /* of those that are mounted */
#endif
	PyObject *thread; /* that it runs; NULL: none, or none that may park */
	uint64_t number;  /* as owner of an RLock; 0: that of the OS thread */
	PyObject *dict;
#if HAS_KEY
	PyObject *key, *sentinel, *loop[WORDS];
#endif
	uint64_t id;
	unsigned long ident; /* of the OS thread */
	bool is_mounted;
} below;

static _Thread_local below *mine;
static pthread_key_t ends;
#if HAS_LIST
static below *mounted; /* the first */
#endif
static PyObject *tasks; /* the threads of a run of judge/schedules, which keep values as well */
static uint64_t mounts = (uint64_t)1 << FIRST_ID;

static void forget_below(void *arg)
{
	below *own = arg;

	mine = NULL;
	if (!own->is_mounted) /* else it may be in the list, which only who has the GIL may change */
		free(own);
}

static below *below_here(void)
{
	if (mine == NULL) {
		mine = calloc(1, sizeof *mine);
		if (mine == NULL || pthread_setspecific(ends, mine) != 0) {
			free(mine);
			mine = NULL;
			PyErr_NoMemory();
			return NULL;
		}
		mine->ident = PyThread_get_thread_ident();
	}
	return mine;
}

#if HAS_KEY
static PyObject *packed(PyObject *each[PARTS])
{
	PyObject *values = PyTuple_New(PARTS);

	for (int at = 0; at < PARTS; at++)
		if (values == NULL)
			Py_XDECREF(each[at]);
		else
			PyTuple_SET_ITEM(values, at,
					 each[at] == NULL ? Py_NewRef(Py_None) : each[at]);
	return values;
}

static PyObject *unpacked(PyObject *values, int at)
{
	PyObject *part = values == NULL ? Py_None : PyTuple_GET_ITEM(values, at);

	return part == Py_None ? NULL : Py_NewRef(part);
}
#endif

int wp__own_mount(PyObject *thread, uint64_t number, PyObject *values)
{
	PyThreadState *state = PyThreadState_Get();
	below *own = below_here();

	if (own == NULL)
		return -1;
	if (own->is_mounted) {
		PyErr_SetString(PyExc_SystemError, "mount: twice");
		return -1;
	}
	own->number = 2 * number + 1;
	own->dict = state->dict;
	own->id = state->id;
#if HAS_KEY
	own->key = state->threading_local_key;
	own->sentinel = state->threading_local_sentinel;
	for (int at = 0; at < WORDS; at++)
		own->loop[at] = BEHIND(state, LOOP_WORD + at);
	state->dict = unpacked(values, 0);
	state->threading_local_key = unpacked(values, 1);
	state->threading_local_sentinel = unpacked(values, 2);
	for (int at = 0; at < WORDS; at++)
		BEHIND(state, LOOP_WORD + at) = unpacked(values, 3 + at);
#else
	state->dict = Py_XNewRef(values);
#endif
	state->id = ADD(mounts, 1);
#if HAS_LIST
	own->before = NULL;
	own->next = mounted;
	if (mounted != NULL)
		mounted->before = own;
	mounted = own;
#endif
	own->is_mounted = true;
	own->thread = Py_NewRef(thread);
	if (thread != Py_None) /* else it is a thread of a run of judge/schedules */
		step_begins((uintptr_t)thread);
	return 0;
}

static PyObject *mount(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
	(void)module;
	if (count != 3)
		return PyErr_Format(PyExc_TypeError, "mount: of 3");
	if (wp__own_mount(args[0], PyLong_AsUnsignedLongLong(args[1]),
			  args[2] == Py_None ? NULL : args[2]) != 0)
		return NULL;
	Py_RETURN_NONE;
}

/* What the virtual thread had in its dict, or NULL: to be mounted with it again. */
PyObject *wp__own_unmount(void)
{
	PyThreadState *state = PyThreadState_Get();
	below *own = mine;
	PyObject *dict = state->dict, *thread;
#if HAS_KEY
	PyObject *each[PARTS] = {dict, state->threading_local_key, state->threading_local_sentinel};
	bool is_any = false;
#endif

	if (own == NULL || !own->is_mounted)
		return PyErr_Format(PyExc_SystemError, "unmount: nothing is mounted");
	state->dict = own->dict;
	state->id = own->id;
	own->dict = NULL;
#if HAS_KEY
	state->threading_local_key = own->key;
	state->threading_local_sentinel = own->sentinel;
	own->key = own->sentinel = NULL;
	for (int at = 0; at < WORDS; at++) {
		each[3 + at] = BEHIND(state, LOOP_WORD + at);
		BEHIND(state, LOOP_WORD + at) = own->loop[at];
		own->loop[at] = NULL;
	}
#endif
#if HAS_LIST
	*(own->before != NULL ? &own->before->next : &mounted) = own->next;
	if (own->next != NULL)
		own->next->before = own->before;
#endif
	own->is_mounted = false;
	own->number = 0;
	thread = own->thread;
	own->thread = NULL;
	if (thread != Py_None)
		step_ends(thread);
	Py_XDECREF(thread);
#if HAS_KEY
	for (int at = 0; at < PARTS; at++)
		is_any = is_any || each[at] != NULL;
	return is_any ? packed(each) : NULL;
#else
	return dict;
#endif
}

static PyObject *unmount(PyObject *module, PyObject *nothing)
{
	PyObject *kept = wp__own_unmount();

	(void)module;
	(void)nothing;
	wp__own_rests();
	return kept != NULL || PyErr_Occurred() ? kept : Py_NewRef(Py_None);
}

void wp__own_rests(void)
{
	if (runs != NULL)
		runs->follows = false;
}

PyObject *wp__own_thread(void)
{
	return mine == NULL || mine->thread == Py_None ? NULL : mine->thread;
}

/* The dict of the OS thread, whoever runs on it: what belongs to that and not to a virtual one. */
static PyObject *own_dict(PyObject *module, PyObject *nothing)
{
	PyObject *dict;

	(void)module;
	(void)nothing;
	if (mine != NULL && mine->is_mounted) {
		if (mine->dict == NULL)
			mine->dict = PyDict_New();
		dict = mine->dict;
	} else {
		dict = PyThreadState_GetDict();
	}
	return dict == NULL ? PyErr_NoMemory() : Py_NewRef(dict);
}

/* ---- the end of an OS thread of the kernel ---- */

#ifdef Py_GIL_DISABLED
/* glibc's: called at the end of the OS thread, before cffi hears of it. */
extern int __cxa_thread_atexit_impl(void (*end)(void *), void *arg, void *module)
	__attribute__((weak));
extern void *__dso_handle;

enum { VALUES_OF_VALUES = 4 };

/* Lets values die while the thread state is whole: a finaliser runs Python code, which may look for a
 * threading.local, wait for a lock, and leave new values. */
static void drop_values(PyThreadState *state)
{
	if (state->dict != NULL)
		PyDict_Clear(state->dict);
	for (int n = 0; n < VALUES_OF_VALUES && state->threading_local_sentinel != NULL; n++) {
		PyObject *key = state->threading_local_key;
		PyObject *sentinel = state->threading_local_sentinel;

		state->threading_local_key = state->threading_local_sentinel = NULL;
		Py_DECREF(sentinel); /* threading.local drops the values of its key */
		Py_DECREF(key);
	}
}

static void drop_state(void *arg)
{
	PyThreadState *state = PyGILState_GetThisThreadState();

	(void)arg;
	if (state == NULL || !Py_IsInitialized() || Py_IsFinalizing() ||
	    PyThreadState_GetUnchecked() != NULL) /* the thread called exit() from Python */
		return;
	PyEval_RestoreThread(state);
	drop_values(state);
	PyGILState_Release(PyGILState_UNLOCKED); /* of the call that has made it */
}
#endif

/* cffi makes a thread state for the calling OS thread, and when that has ended, another thread drops
 * it. Without the GIL this frees memory that the wrong thread takes for its own, if it has the address
 * of the one that has ended. So the OS thread drops it itself. */
static PyObject *drop_at_end(PyObject *module, PyObject *nothing)
{
	(void)module;
	(void)nothing;
#ifdef Py_GIL_DISABLED
	static _Thread_local bool is_asked;

	if (!is_asked && __cxa_thread_atexit_impl != NULL)
		is_asked = __cxa_thread_atexit_impl(drop_state, NULL, &__dso_handle) == 0;
#endif
	Py_RETURN_NONE;
}

/* ---- here: which virtual thread the caller is ---- */

static PyObject *here_thread(PyObject *self, void *nothing)
{
	(void)self;
	(void)nothing;
	return Py_NewRef(mine == NULL || mine->thread == NULL ? Py_None : mine->thread);
}

static int here_set_thread(PyObject *self, PyObject *value, void *nothing)
{
	below *own = below_here();
	PyObject *old;

	(void)self;
	(void)nothing;
	if (own == NULL)
		return -1;
	old = own->thread;
	own->thread = value == NULL || value == Py_None ? NULL : Py_NewRef(value);
	Py_XDECREF(old);
	return 0;
}

/* A sub-interpreter that a virtual thread runs knows nothing of wakeproof: it has the OS thread. */
static bool is_ours(void)
{
	return PyInterpreterState_Get() == PyInterpreterState_Main();
}

static bool is_here(void)
{
	return mine != NULL && mine->thread != NULL && is_ours();
}

static const wp__own told_to_others = {is_here, wp__own_thread, wp__core_hold};

static PyGetSetDef here_fields[] = {
	{"thread", here_thread, here_set_thread, "The calling virtual thread; None: it is none.",
	 NULL},
	{0},
};
static PyType_Slot here_slots[] = {{Py_tp_getset, here_fields}, {0, NULL}};
static PyType_Spec here_spec = {.name = WP__OWN_HERE,
				.basicsize = sizeof(PyObject),
				.flags = Py_TPFLAGS_DEFAULT,
				.slots = here_slots};

/* ---- a threading.local that dies ---- */

#if !HAS_KEY
static destructor old_dealloc;

static void forget_in(PyObject *dict, PyObject *key)
{
	if (dict != NULL && PyDict_CheckExact(dict) && PyDict_GetItemWithError(dict, key) != NULL &&
	    PyDict_DelItem(dict, key) != 0)
		PyErr_Clear();
}

/* In the dict of a thread that is not mounted. */
static void forget_of(PyObject *thread, PyObject *key)
{
	PyObject *dict = PyObject_GetAttrString(thread, "_locals");

	forget_in(dict, key);
	Py_XDECREF(dict);
}

static void local_dealloc(PyObject *local)
{
	PyObject *kind, *error, *trace, *threads, *task, *key;
	Py_ssize_t at = 0;

	PyErr_Fetch(&kind, &error, &trace);
	key = PyUnicode_FromFormat("thread.local.%p",
				   local); /* as Modules/_threadmodule.c makes it */
	if (key != NULL) {
		for (below *own = mounted; own != NULL; own = own->next)
			forget_in(own->dict, key);
		threads = wp__core_threads();
		for (Py_ssize_t n = 0; threads != NULL && n < PyList_GET_SIZE(threads); n++)
			forget_of(PyList_GET_ITEM(threads, n), key);
		Py_XDECREF(threads);
		while (tasks != NULL && PyDict_Next(tasks, &at, NULL, &task))
			forget_of(task, key);
		Py_DECREF(key);
	}
	PyErr_Clear();
	PyErr_Restore(kind, error, trace);
	old_dealloc(local);
}
#endif

/* ---- a virtual thread that may have no values in a threading.local ---- */

static setattrofunc old_set;
static PyObject *refusal, *has_none; /* Python's exception; the name of the threads' attribute */

/* [the caller is a virtual thread] 1: it may have none; -1: an error */
static int may_have_none(void)
{
	PyObject *flag = mine->thread == Py_None ? Py_NewRef(Py_False)
						 : PyObject_GetAttr(mine->thread, has_none);
	int is = flag == NULL ? -1 : PyObject_IsTrue(flag);

	Py_XDECREF(flag);
	return is;
}

static int local_set(PyObject *local, PyObject *name, PyObject *value)
{
	int no = is_here() && value != NULL && refusal != NULL ? may_have_none() : 0;

	if (no == 0)
		return old_set(local, name, value);
	if (no > 0)
		PyErr_Format(refusal,
			     "set %R of a threading.local: %R was made with "
			     "thread_locals=False",
			     name, mine->thread);
	return -1;
}

/* In the type and in those that were made of it before, which have a copy of its slot. */
static int exchange_set(PyTypeObject *type)
{
	PyObject *under = PyObject_CallMethod((PyObject *)type, "__subclasses__", NULL);
	int failed = under == NULL ? -1 : 0;

	if (type->tp_setattro == old_set)
		type->tp_setattro = local_set;
	for (Py_ssize_t at = 0; failed == 0 && at < PyList_GET_SIZE(under); at++)
		failed = exchange_set((PyTypeObject *)PyList_GET_ITEM(under, at));
	Py_XDECREF(under);
	return failed;
}

static PyObject *forbid_locals(PyObject *module, PyObject *error)
{
	(void)module;
	Py_XSETREF(refusal, Py_NewRef(error));
	Py_RETURN_NONE;
}

/* What super().__setattr__ finds; and of it and __delattr__ a subclass takes its slot, if they agree. */
static void exchange_wrapper(PyTypeObject *type, const char *name)
{
	PyObject *wrapper = PyDict_GetItemString(type->tp_dict, name);

	if (wrapper != NULL && Py_IS_TYPE(wrapper, &PyWrapperDescr_Type))
		((PyWrapperDescrObject *)wrapper)->d_wrapped = (void *)local_set;
}

static int watch_locals(PyObject *thread_module)
{
	PyObject *object = PyObject_GetAttrString(thread_module, "_local");
	PyTypeObject *type = (PyTypeObject *)object;
	int failed = 0;

	if (object == NULL)
		return -1;
#if !HAS_KEY
	if (old_dealloc == NULL) {
		old_dealloc = type->tp_dealloc;
		type->tp_dealloc = local_dealloc;
	}
#endif
	if (old_set == NULL) {
		old_set = type->tp_setattro;
		has_none = PyUnicode_InternFromString("_has_no_locals");
		exchange_wrapper(type, "__setattr__");
		exchange_wrapper(type, "__delattr__");
		failed = has_none == NULL ? -1 : exchange_set(type);
	}
	Py_DECREF(object);
	return failed;
}

/* ---- the line of each lock or queue for which virtual threads wait: lists, by its address ---- */

enum { MOST_BYPASSES = 16 };           /* of the first in line, by those who come later */
static PyObject *waits, *wakes, *gets; /* Python's functions */
static PyObject *lines;
static Py_ssize_t waiters;                               /* in all lines */
GUARD(lines_lock)                                        /* of lines, and of who writes the count */
static PyObject *has_name, *number_name, *bypasses_name; /* attributes of a waiter */

static void wake_by_releases(PyObject *thing);
static void wake_no_more(void);
static void give_rlock(PyObject *lock, unsigned long number);

/* NULL: there is none, or an exception. */
static PyObject *line_of(PyObject *key)
{
	return PyDict_GetItemWithError(lines, key);
}

static int add(PyObject *key, PyObject *waiter)
{
	PyObject *line = line_of(key), *made;
	int failed;

	if (line != NULL)
		return PyList_Append(line, waiter);
	made = PyErr_Occurred() ? NULL : Py_BuildValue("[O]", waiter);
	failed = made == NULL ? -1 : PyDict_SetItem(lines, key, made);
	Py_XDECREF(made);
	return failed;
}

/* 1: it is out; 0: it was not in; -1: an exception. */
static int remove_from(PyObject *key, PyObject *waiter)
{
	PyObject *line = line_of(key);

	for (Py_ssize_t at = 0; line != NULL && at < PyList_GET_SIZE(line); at++)
		if (PyList_GET_ITEM(line, at) == waiter) {
			int failed = PyList_GET_SIZE(line) == 1
					     ? PyDict_DelItem(lines, key)
					     : PyList_SetSlice(line, at, at + 1, NULL);

			if (failed)
				return -1;
			PUT(waiters, waiters - 1);
			return 1;
		}
	return PyErr_Occurred() ? -1 : 0;
}

static PyObject *stand(PyObject *module, PyObject *args)
{
	PyObject *thing, *waiter, *key;
	int failed;

	(void)module;
	if (!PyArg_ParseTuple(args, "OO", &thing, &waiter) ||
	    (key = PyLong_FromVoidPtr(thing)) == NULL)
		return NULL;
	LOCK(lines_lock);
	failed = add(key, waiter);
	if (!failed)
		PUT(waiters, waiters + 1);
	UNLOCK(lines_lock);
	Py_DECREF(key);
	if (failed)
		return NULL;
	wake_by_releases(thing);
	FENCE(); /* before it tries */
	Py_RETURN_NONE;
}

static PyObject *step_out(PyObject *module, PyObject *args)
{
	PyObject *thing, *waiter, *key;
	int said;

	(void)module;
	if (!PyArg_ParseTuple(args, "OO", &thing, &waiter) ||
	    (key = PyLong_FromVoidPtr(thing)) == NULL)
		return NULL;
	LOCK(lines_lock);
	said = remove_from(key, waiter);
	UNLOCK(lines_lock);
	Py_DECREF(key);
	if (said < 0)
		return NULL;
	wake_no_more();
	Py_RETURN_NONE;
}

/* [lines_lock] Borrowed; NULL: nobody is there. */
static PyObject *first_in(PyObject *key)
{
	PyObject *line = key == NULL ? NULL : line_of(key);

	if (line == NULL)
		PyErr_Clear(); /* no memory for the key: as long as that is so, nobody is woken */
	return line == NULL ? NULL : PyList_GET_ITEM(line, 0);
}

static PyObject *first(PyObject *module, PyObject *thing)
{
	PyObject *key = PyLong_FromVoidPtr(thing), *found;

	(void)module;
	LOCK(lines_lock);
	found = Py_XNewRef(first_in(key));
	UNLOCK(lines_lock);
	Py_XDECREF(key);
	return found == NULL ? Py_NewRef(Py_None) : found;
}

/* The waiter that got the lock, which the caller has and does not free then; NULL: nobody. It is the
 * first in line, if it was bypassed often enough. It leaves the line. */
static PyObject *heir_of(PyObject *lock)
{
	PyObject *key, *bypasses = NULL, *number = NULL, *heir;
	bool is_given = false;

	if (LOOK(waiters) == 0)
		return NULL;
	key = PyLong_FromVoidPtr(lock);
	LOCK(lines_lock);
	heir = Py_XNewRef(first_in(key));
	if (heir != NULL)
		bypasses = PyObject_GetAttr(heir, bypasses_name);
	if (bypasses != NULL && PyLong_AsLong(bypasses) >= MOST_BYPASSES)
		number = PyObject_GetAttr(heir, number_name);
	if (number != NULL && remove_from(key, heir) == 1) {
		give_rlock(lock, PyLong_AsUnsignedLong(number));
		is_given = PyObject_SetAttr(heir, has_name, Py_True) == 0;
	}
	UNLOCK(lines_lock);
	if (!is_given)
		Py_CLEAR(heir);
	Py_XDECREF(number);
	Py_XDECREF(bypasses);
	Py_XDECREF(key);
	PyErr_Clear();
	return heir;
}

/* Takes the references to the waiter, and to what is to be returned. */
static PyObject *woken(PyObject *waiter, PyObject *said)
{
	PyObject *done = PyObject_CallOneArg(wakes, waiter);

	if (done == NULL)
		Py_CLEAR(said);
	Py_XDECREF(done);
	Py_DECREF(waiter);
	return said;
}

/* After a release or a put, by whoever: the first in line goes on, if somebody waits. */
static PyObject *told(PyObject *thing, PyObject *said)
{
	PyObject *waiter;

	FENCE(); /* after the release; a thread that has taken the lock meanwhile tells again */
	if (said == NULL || LOOK(waiters) == 0)
		return said;
	waiter = first(NULL, thing);
	if (waiter != Py_None)
		return woken(waiter, said);
	Py_DECREF(waiter);
	return said;
}

/* In a forked child: its lines are of threads that it does not have. */
static PyObject *forget_lines(PyObject *module, PyObject *nothing)
{
	(void)module;
	(void)nothing;
	PyDict_Clear(lines);
	waiters = 0;
	Py_RETURN_NONE;
}

/* ---- kinds of which methods are exchanged in their definitions ---- */

typedef struct method {
	const char *name;
	int flags;
	PyCFunction ours, theirs; /* theirs: from the first exchange on */
	bool is_give;             /* by which a waiter is woken; else one by which to wait */
} method;

#define WITH_KEYWORDS (METH_VARARGS | METH_KEYWORDS)
#define FAST_KEYWORDS (METH_FASTCALL | METH_KEYWORDS)
#define PLAIN(function) ((PyCFunction)(void *)(function))

static PyMethodDef *definition(PyTypeObject *type, const char *name)
{
	PyObject *found = PyDict_GetItemString(type->tp_dict, name);

	return found != NULL && Py_IS_TYPE(found, &PyMethodDescr_Type)
		       ? ((PyMethodDescrObject *)found)->d_method
		       : NULL;
}

static bool are_known(PyTypeObject *type, const method *each, int count)
{
	for (int at = 0; at < count; at++) {
		PyMethodDef *found = definition(type, each[at].name);

		if (found == NULL || found->ml_flags != each[at].flags)
			return false;
	}
	return true;
}

/* Puts ours in, or theirs back: the methods that wake, or those that wait. */
static void exchange(PyTypeObject *type, method *each, int count, bool gives, bool is_in)
{
	for (int at = 0; at < count; at++)
		if (each[at].is_give == gives) {
			PyMethodDef *found = definition(type, each[at].name);

			if (each[at].theirs == NULL)
				each[at].theirs = found->ml_meth;
			PUBLISH(found->ml_meth, is_in ? each[at].ours : each[at].theirs);
		}
}

/* ---- what Lock and RLock share ---- */

static bool is_virtual(void)
{
	return mine != NULL && mine->number != 0 && is_ours();
}

static PyObject *by_os(const method *of, PyObject *self, PyObject *args, PyObject *named)
{
	if (of->flags & METH_KEYWORDS)
		return ((PyCFunctionWithKeywords)(void *)of->theirs)(self, args, named);
	return of->theirs(self, args);
}

/* 1: it has it; 0: the time ran out; -1: an exception. timeout: negative: for ever.
 * By the OS wait, where there is nobody to park: in a forked child, in a poller's wakeup, and where
 * a finaliser runs inside of another wait of this virtual thread. */
static int wait_for(const method *of, PyObject *self, double timeout)
{
	PyObject *said = Py_NewRef(Py_None), *args;
	int truth;

	if (mine->thread != NULL) {
		Py_DECREF(said);
		said = PyObject_CallFunction(waits, "Od", self, timeout);
	}
	if (said == Py_None) {
		Py_DECREF(said);
		args = Py_BuildValue("(id)", 1, timeout < 0 ? -1.0 : timeout);
		said = args == NULL ? NULL : by_os(of, self, args, NULL);
		Py_XDECREF(args);
	}
	if (said == NULL)
		return -1;
	truth = PyObject_IsTrue(said);
	Py_DECREF(said);
	return truth;
}

/* [the caller is a virtual thread] */
static PyObject *acquire_by(const method *of, bool (*take)(PyObject *), PyObject *self,
			    PyObject *args, PyObject *named)
{
	static char *names[] = {"blocking", "timeout", NULL};
	double timeout = -1;
	int blocking = 1, said;

	if ((PyTuple_GET_SIZE(args) > 0 || named != NULL) &&
	    !PyArg_ParseTupleAndKeywords(args, named, "|pd:acquire", names, &blocking, &timeout))
		return NULL;
	if (timeout != -1 &&
	    (!blocking || !(timeout >= 0 && timeout < (double)PY_TIMEOUT_MAX / 1e6)))
		return by_os(of, self, args, named); /* which refuses it */
	if (take(self))
		Py_RETURN_TRUE;
	if (!blocking || timeout == 0)
		Py_RETURN_FALSE;
	said = wait_for(of, self, timeout);
	return said < 0 ? NULL : PyBool_FromLong(said);
}

/* ---- Lock ---- */

/* As Modules/_threadmodule.c has it; `is_lock` finds out which of the two: 3.13 began with the first,
 * and its later releases have the second. */
typedef struct posted {
	PyObject_HEAD PyThread_type_lock lock;
	PyObject *weak;
	char locked;
} posted;
#if HAS_KEY
typedef struct plain {
	PyObject_HEAD PyMutex lock;
} plain;

static bool has_mutex;
#define MUTEX_OF(self) (&((plain *)(self))->lock)

enum { LOCKED = 1 }; /* bit of a PyMutex; the other one: somebody sleeps */

static bool grab_mutex(PyMutex *mutex)
{
	uint8_t bits = LOOK(mutex->_bits);

	while (!(bits & LOCKED))
		if (__atomic_compare_exchange_n(&mutex->_bits, &bits, bits | LOCKED, false,
						__ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return true;
	return false;
}
#endif

static PyTypeObject *lock_type;

static bool take_lock(PyObject *self)
{
#if HAS_KEY
	if (has_mutex)
		return grab_mutex(MUTEX_OF(self));
#endif
	if (!PyThread_acquire_lock(((posted *)self)->lock, NOWAIT_LOCK))
		return false;
	((posted *)self)->locked = 1;
	return true;
}

static bool is_locked(PyObject *self)
{
#if HAS_KEY
	if (has_mutex)
		return (LOOK(MUTEX_OF(self)->_bits) & LOCKED) != 0;
#endif
	return ((posted *)self)->locked != 0;
}

static void free_lock(PyObject *self)
{
#if HAS_KEY
	if (has_mutex) {
		PyMutex_Unlock(MUTEX_OF(self));
		return;
	}
#endif
	((posted *)self)->locked = 0;
	PyThread_release_lock(((posted *)self)->lock);
}

static PyObject *lock_acquire(PyObject *self, PyObject *args, PyObject *named);
static PyObject *lock_release(PyObject *self, PyObject *nothing);

static PyObject *lock_leave(PyObject *self, PyObject *args)
{
	(void)args;
	return lock_release(self, NULL);
}

enum { LOCK_METHODS = 6 };
static method of_lock[LOCK_METHODS] = {
	{"acquire", WITH_KEYWORDS, PLAIN(lock_acquire), NULL, false},
	{"acquire_lock", WITH_KEYWORDS, PLAIN(lock_acquire), NULL, false},
	{"__enter__", WITH_KEYWORDS, PLAIN(lock_acquire), NULL, false},
	{"release", METH_NOARGS, lock_release, NULL, true},
	{"release_lock", METH_NOARGS, lock_release, NULL, true},
	{"__exit__", METH_VARARGS, lock_leave, NULL, true},
};

static PyObject *lock_acquire(PyObject *self, PyObject *args, PyObject *named)
{
	if (!is_here())
		return by_os(&of_lock[0], self, args, named);
	return acquire_by(&of_lock[0], take_lock, self, args, named);
}

static PyObject *lock_release(PyObject *self, PyObject *nothing)
{
	PyObject *heir = is_locked(self) ? heir_of(self) : NULL;

	if (heir != NULL)
		return woken(heir, Py_NewRef(Py_None));
	return told(self, by_os(&of_lock[3], self, nothing, NULL));
}

/* Whether a Lock is what one of the two says. */
static bool is_lock(PyTypeObject *type)
{
	PyObject *thread_module = PyImport_ImportModule("_thread"), *made = NULL, *said = NULL;
	bool is_so;

	if (thread_module != NULL)
		made = PyObject_CallMethod(thread_module, "allocate_lock", NULL);
#if HAS_KEY
	has_mutex = type->tp_basicsize == sizeof(plain);
	is_so = has_mutex || type->tp_basicsize == sizeof(posted);
#else
	is_so = type->tp_basicsize == sizeof(posted);
#endif
	is_so = is_so && made != NULL && Py_IS_TYPE(made, type) && !is_locked(made);
	if (is_so)
		said = PyObject_CallMethod(made, "acquire", NULL);
	is_so = said == Py_True && is_locked(made);
	Py_XDECREF(said);
	Py_XDECREF(made);
	Py_XDECREF(thread_module);
	PyErr_Clear();
	return is_so;
}

/* ---- RLock ---- */

/* As Modules/_threadmodule.c has it; `is_rlock` makes sure of it. */
#if PY_VERSION_HEX < 0x030E0000
typedef struct rlock {
	PyObject_HEAD PyThread_type_lock lock;
	unsigned long owner;
	unsigned long count;
	PyObject *weak;
} rlock;
#else
typedef struct rlock {
	PyObject_HEAD PyMutex lock;
	unsigned long long owner;
	size_t more; /* how often it was taken again */
} rlock;
#endif

static PyTypeObject *rlock_type; /* NULL: it was never exchanged */

static bool is_an_rlock(PyObject *lock)
{
	return rlock_type != NULL && PyObject_TypeCheck(lock, rlock_type);
}

/* Of the caller's own lock. */
static unsigned long count_of(const rlock *self)
{
#if PY_VERSION_HEX < 0x030E0000
	return self->count;
#else
	return LOOK(self->lock._bits) & LOCKED ? (unsigned long)self->more + 1 : 0;
#endif
}

static void set_count(rlock *self, unsigned long count)
{
#if PY_VERSION_HEX < 0x030E0000
	self->count = count;
#else
	self->more = count == 0 ? 0 : count - 1;
#endif
}

static bool grab(rlock *self)
{
#if PY_VERSION_HEX < 0x030E0000
	return PyThread_acquire_lock(self->lock, NOWAIT_LOCK);
#else
	return grab_mutex(&self->lock);
#endif
}

static bool has(const rlock *self)
{
	return LOOK(self->owner) == (is_virtual() ? mine->number : PyThread_get_thread_ident()) &&
	       count_of(self) > 0;
}

/* [the caller is a virtual thread] */
static bool take_rlock(PyObject *self)
{
	rlock *lock = (rlock *)self;

	if (has(lock)) {
		set_count(lock, count_of(lock) + 1);
		return true;
	}
	if (!grab(lock))
		return false;
	PUT(lock->owner, mine->number);
	set_count(lock, 1);
	return true;
}

/* [who has the lock] A Lock has no owner. */
static void give_rlock(PyObject *self, unsigned long number)
{
	if (is_an_rlock(self)) {
		PUT(((rlock *)self)->owner, number);
		set_count((rlock *)self, 1);
	}
}

/* The first in line gets it, or it is free and the first is woken. */
static PyObject *let_rlock_go(PyObject *self, PyObject *said)
{
	PyObject *heir = heir_of(self);
	rlock *lock = (rlock *)self;

	if (heir != NULL)
		return woken(heir, said);
	set_count(lock, 0);
	PUT(lock->owner, 0);
#if PY_VERSION_HEX < 0x030E0000
	PyThread_release_lock(lock->lock);
#else
	PyMutex_Unlock(&lock->lock);
#endif
	return told(self, said);
}

enum { ACQUIRE, ENTER, RELEASE, EXIT, IS_OWNED, RESTORE, SAVE, RECURSION, METHODS };
static method of_rlock[METHODS];

static PyObject *acquire(PyObject *self, PyObject *args, PyObject *named)
{
	PyObject *said;

	if (!is_virtual())
		return by_os(&of_rlock[ACQUIRE], self, args, named);
	said = acquire_by(&of_rlock[ACQUIRE], take_rlock, self, args, named);
	if (said == Py_True) /* it may have waited as an OS thread */
		PUT(((rlock *)self)->owner, mine->number);
	return said;
}

static bool is_refused(const rlock *self)
{
	if (has(self))
		return false;
	PyErr_SetString(PyExc_RuntimeError, "cannot release un-acquired lock");
	return true;
}

/* Whether the OS thread's own method does: nobody is to be given the lock. */
static bool is_plain(void)
{
	return !is_virtual() && LOOK(waiters) == 0;
}

static PyObject *release(PyObject *self, PyObject *nothing)
{
	rlock *lock = (rlock *)self;

	if (is_plain())
		return told(self, by_os(&of_rlock[RELEASE], self, nothing, NULL));
	if (is_refused(lock))
		return NULL;
	if (count_of(lock) == 1)
		return let_rlock_go(self, Py_NewRef(Py_None));
	set_count(lock, count_of(lock) - 1);
	Py_RETURN_NONE;
}

static PyObject *leave(PyObject *self, PyObject *args)
{
	(void)args;
	return release(self, NULL);
}

static PyObject *is_owned(PyObject *self, PyObject *nothing)
{
	return is_virtual() ? PyBool_FromLong(has((rlock *)self))
			    : by_os(&of_rlock[IS_OWNED], self, nothing, NULL);
}

static PyObject *recursion(PyObject *self, PyObject *nothing)
{
	rlock *lock = (rlock *)self;

	return is_virtual() ? PyLong_FromUnsignedLong(has(lock) ? count_of(lock) : 0)
			    : by_os(&of_rlock[RECURSION], self, nothing, NULL);
}

/* Of a Condition: let go of it, however often it was taken, and take it as often again. */
static PyObject *save(PyObject *self, PyObject *nothing)
{
	rlock *lock = (rlock *)self;
	PyObject *said;

	if (is_plain())
		return told(self, by_os(&of_rlock[SAVE], self, nothing, NULL));
	if (is_refused(lock))
		return NULL;
	said = Py_BuildValue("kk", count_of(lock), (unsigned long)lock->owner);
	return said == NULL ? NULL : let_rlock_go(self, said);
}

static PyObject *restore(PyObject *self, PyObject *args)
{
	rlock *lock = (rlock *)self;
	unsigned long count, owner;

	if (!is_virtual())
		return by_os(&of_rlock[RESTORE], self, args, NULL);
	if (!PyArg_ParseTuple(args, "(kk):_acquire_restore", &count, &owner))
		return NULL;
	if (!take_rlock(self) && wait_for(&of_rlock[ACQUIRE], self, -1) < 0)
		return NULL;
	PUT(lock->owner, mine->number);
	set_count(lock, count);
	Py_RETURN_NONE;
}

static method of_rlock[METHODS] = {
	[ACQUIRE] = {"acquire", WITH_KEYWORDS, PLAIN(acquire), NULL, false},
	[ENTER] = {"__enter__", WITH_KEYWORDS, PLAIN(acquire), NULL, false},
	[RELEASE] = {"release", METH_NOARGS, release, NULL, true},
	[EXIT] = {"__exit__", METH_VARARGS, leave, NULL, true},
	[IS_OWNED] = {"_is_owned", METH_NOARGS, is_owned, NULL, false},
	[RESTORE] = {"_acquire_restore", METH_VARARGS, restore, NULL, false},
	[SAVE] = {"_release_save", METH_NOARGS, save, NULL, true},
	[RECURSION] = {"_recursion_count", METH_NOARGS, recursion, NULL, false},
};

/* Whether an RLock is what `rlock` says: one that is taken twice has this thread's number, and 2. */
static bool is_rlock(PyTypeObject *type)
{
	PyObject *made = PyObject_CallNoArgs((PyObject *)type);
	bool is_so = made != NULL && type->tp_basicsize == sizeof(rlock);

	for (int n = 0; n < 2 && is_so; n++) {
		PyObject *said = PyObject_CallMethod(made, "acquire", NULL);

		is_so = said != NULL && count_of((rlock *)made) == (unsigned long)n + 1 &&
			((rlock *)made)->owner == PyThread_get_thread_ident();
		Py_XDECREF(said);
	}
	Py_XDECREF(made);
	PyErr_Clear();
	return is_so;
}

/* A waiter in line tries the lock, unless a release has given it to it: lock, waiter. */
static PyObject *take_in_line(PyObject *module, PyObject *args)
{
	PyObject *lock, *waiter, *has;
	int failed = 0;

	(void)module;
	if (!PyArg_ParseTuple(args, "OO", &lock, &waiter))
		return NULL;
	LOCK(lines_lock); /* a release gives with it */
	has = PyObject_GetAttr(waiter, has_name);
	if (has == Py_False && (is_an_rlock(lock) ? take_rlock : take_lock)(lock))
		failed = PyObject_SetAttr(waiter, has_name, Py_True);
	UNLOCK(lines_lock);
	Py_XDECREF(has);
	if (has == NULL || failed)
		return NULL;
	Py_RETURN_NONE;
}

/* Takes a lock from whoever has it: from a thread that got it and will never run again. */
static PyObject *let_go(PyObject *module, PyObject *lock)
{
	PyObject *heir;

	(void)module;
	if (is_an_rlock(lock))
		return let_rlock_go(lock, Py_NewRef(Py_None));
	heir = heir_of(lock);
	if (heir != NULL)
		return woken(heir, Py_NewRef(Py_None));
	free_lock(lock);
	return told(lock, Py_NewRef(Py_None));
}

/* ---- queue.SimpleQueue ---- */

static PyTypeObject *queue_type;

#define LISTS_ITEMS (PY_VERSION_HEX < 0x030D0000)
#if LISTS_ITEMS
/* As Modules/_queuemodule.c has it; `is_queue` makes sure of it. */
typedef struct listed {
	PyObject_HEAD PyThread_type_lock lock;
	int locked; /* somebody waits, or has waited; then there is no item */
	PyObject *list;
	Py_ssize_t
		first; /* index of the first item; at most half of the list was taken before it */
	PyObject *weak;
} listed;

/* Take the item of a queue that has no other; NULL: it has none or several. The list keeps its few
 * slots, which CPython would free, and allocate again for the next item. */
static PyObject *only_item(PyObject *self)
{
	listed *queue = (listed *)self;

	if (PyList_GET_SIZE(queue->list) != 1)
		return NULL;
	Py_SET_SIZE(queue->list, 0);
	return PyList_GET_ITEM(queue->list, 0);
}

/* Put an item into a queue that has a slot for it; false: it has none, or is waited for. */
static bool add_item(PyObject *self, PyObject *item)
{
	listed *queue = (listed *)self;
	Py_ssize_t count = PyList_GET_SIZE(queue->list);

	if (queue->locked || count == ((PyListObject *)queue->list)->allocated)
		return false;
	PyList_SET_ITEM(queue->list, count, Py_NewRef(item));
	Py_SET_SIZE(queue->list, count + 1);
	return true;
}

/* Whether a SimpleQueue is what `listed` says: of two items the first is left out once it is taken. */
static bool is_queue(PyTypeObject *type)
{
	PyObject *made = PyObject_CallNoArgs((PyObject *)type), *said;
	listed *queue = (listed *)made;
	bool is_so = made != NULL && type->tp_basicsize == sizeof(listed);

	for (Py_ssize_t count = 0; count < 2 && is_so; count++) {
		is_so = !queue->locked && queue->first == 0 && PyList_CheckExact(queue->list) &&
			PyList_GET_SIZE(queue->list) == count;
		said = is_so ? PyObject_CallMethod(made, "put", "n", count) : NULL;
		is_so = said != NULL;
		Py_XDECREF(said);
	}
	said = is_so ? PyObject_CallMethod(made, "get", NULL) : NULL;
	is_so = said != NULL && queue->first == 1 && PyList_GET_SIZE(queue->list) == 2;
	Py_XDECREF(said);
	Py_XDECREF(made);
	PyErr_Clear();
	return is_so;
}
#else
#define is_queue NULL
#endif

static PyObject *queue_get(PyObject *self, PyTypeObject *type, PyObject *const *args, size_t count,
			   PyObject *names);
static PyObject *queue_put(PyObject *self, PyObject *const *args, Py_ssize_t count,
			   PyObject *names);

enum { GET, PUT, QUEUE_METHODS = 3, QUEUE_ARGUMENTS = 2 };
static method of_queue[QUEUE_METHODS] = {
	{"get", METH_METHOD | FAST_KEYWORDS, PLAIN(queue_get), NULL, false},
	{"put", FAST_KEYWORDS, PLAIN(queue_put), NULL, true},
	{"put_nowait", FAST_KEYWORDS, PLAIN(queue_put), NULL, true},
};

static PyObject *queue_get(PyObject *self, PyTypeObject *type, PyObject *const *args, size_t count,
			   PyObject *names)
{
	PyObject *each[QUEUE_ARGUMENTS + 1] = {self}, *at_once[] = {Py_False}, *said;
	size_t all = count + (names == NULL ? 0 : (size_t)PyTuple_GET_SIZE(names));
	PyCMethod get = (PyCMethod)(void *)of_queue[GET].theirs;

#if LISTS_ITEMS
	if (all == 0 && (said = only_item(self)) != NULL)
		return said;
#endif
	if (is_here() && all <= QUEUE_ARGUMENTS) {
		said = all == 0 ? get(self, type, at_once, 1, NULL) : NULL;
		if (said != NULL)
			return said;
		PyErr_Clear(); /* it is empty: that waits */
		for (size_t at = 0; at < all; at++)
			each[at + 1] = args[at];
		said = PyObject_Vectorcall(gets, each, count + 1, names);
		if (said != Py_NotImplemented)
			return said;
		Py_DECREF(said);
	}
	return get(self, type, args, count, names);
}

static PyObject *queue_put(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
	PyObject *said;

#if LISTS_ITEMS
	if (count == 1 && names == NULL && add_item(self, args[0]))
		return told(self, Py_NewRef(Py_None));
#endif
	said = ((_PyCFunctionFastWithKeywords)(void *)of_queue[PUT].theirs)(self, args, count,
									    names);
	return told(self, said);
}

/* ---- threading.get_ident ---- */

static PyCFunction os_ident;

static PyObject *get_ident(PyObject *module, PyObject *nothing)
{
	return is_virtual() ? PyLong_FromUnsignedLongLong(mine->number) : os_ident(module, nothing);
}

/* ---- which of these are exchanged ---- */

static struct kind {
	const char *name;
	method *each;
	int count;
	bool (*is_so)(PyTypeObject *type); /* NULL: its methods say enough */
	PyTypeObject **type;               /* NULL there: it was never exchanged */
	bool is_on, wakes;
} kinds[] = {
	{"Lock", of_lock, LOCK_METHODS, is_lock, &lock_type, false, false},
	{"RLock", of_rlock, METHODS, is_rlock, &rlock_type, false, false},
	{"SimpleQueue", of_queue, QUEUE_METHODS, is_queue, &queue_type, false, false},
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };
GUARD(kinds_lock) /* of is_on and wakes, and of the definitions */

static struct kind *kind_of(const char *name)
{
	for (int at = 0; at < KINDS; at++)
		if (strcmp(kinds[at].name, name) == 0)
			return &kinds[at];
	PyErr_Format(PyExc_SystemError, "no kind of lock is %s", name);
	return NULL;
}

/* [kinds_lock] */
static void set_wakes(struct kind *kind, bool wakes_now)
{
	if (kind->wakes != wakes_now)
		exchange(*kind->type, kind->each, kind->count, true, wakes_now);
	kind->wakes = wakes_now;
}

/* Whoever waits was about to wait when its kind was put back: it is woken all the same. */
static void wake_by_releases(PyObject *thing)
{
	for (int at = 0; at < KINDS; at++)
		if (*kinds[at].type != NULL && PyObject_TypeCheck(thing, *kinds[at].type)) {
			LOCK(kinds_lock);
			set_wakes(&kinds[at], true);
			UNLOCK(kinds_lock);
		}
}

/* Nobody waits any more: methods that only wake are not needed where nobody may wait. Without the
 * GIL they stay, because a waiter may come in between. */
static void wake_no_more(void)
{
#ifndef Py_GIL_DISABLED
	for (int at = 0; at < KINDS && waiters == 0; at++)
		if (!kinds[at].is_on && kinds[at].wakes)
			set_wakes(&kinds[at], false);
#endif
}

/* Exchanges the methods of a kind. False: this Python's are others than those known here. */
static PyObject *put(PyObject *module, PyObject *args)
{
	const char *name;
	PyTypeObject *type;
	struct kind *kind;

	(void)module;
	if (!PyArg_ParseTuple(args, "sO!", &name, &PyType_Type, &type) ||
	    (kind = kind_of(name)) == NULL)
		return NULL;
	if (*kind->type == NULL && (!are_known(type, kind->each, kind->count) ||
				    (kind->is_so != NULL && !kind->is_so(type))))
		Py_RETURN_FALSE;
	LOCK(kinds_lock);
	*kind->type = type;
	kind->is_on = true;
	set_wakes(kind, true);
	exchange(type, kind->each, kind->count, false, true);
	UNLOCK(kinds_lock);
	Py_RETURN_TRUE;
}

/* Puts the methods of a kind back: at once those that wait; those that wake, when nobody waits. */
static PyObject *take_out(PyObject *module, PyObject *args)
{
	const char *name;
	struct kind *kind;

	(void)module;
	if (!PyArg_ParseTuple(args, "s", &name) || (kind = kind_of(name)) == NULL)
		return NULL;
	LOCK(kinds_lock);
	if (kind->is_on)
		exchange(*kind->type, kind->each, kind->count, false, false);
	kind->is_on = false;
	UNLOCK(kinds_lock);
	wake_no_more();
	Py_RETURN_NONE;
}

/* Whether each virtual thread has a number of its own as its identity: get_ident, whether. */
static PyObject *own_ident(PyObject *module, PyObject *args)
{
	PyObject *function;
	PyMethodDef *found;
	int is_own;

	(void)module;
	if (!PyArg_ParseTuple(args, "O!p", &PyCFunction_Type, &function, &is_own))
		return NULL;
	found = ((PyCFunctionObject *)function)->m_ml;
	if (found->ml_flags != METH_NOARGS)
		Py_RETURN_FALSE;
	if (is_own && os_ident == NULL)
		os_ident = found->ml_meth; /* for ever: a call of ours may be under way */
	if (os_ident != NULL)
		PUBLISH(found->ml_meth, is_own ? get_ident : os_ident);
	Py_RETURN_TRUE;
}

/* What Python does for those that wait: once. */
static PyObject *bind(PyObject *module, PyObject *args)
{
	PyObject *wait, *wake, *get;

	(void)module;
	if (!PyArg_ParseTuple(args, "OOO", &wait, &wake, &get))
		return NULL;
	lines = PyDict_New();
	has_name = PyUnicode_InternFromString("has");
	number_name = PyUnicode_InternFromString("number");
	bypasses_name = PyUnicode_InternFromString("bypasses");
	if (lines == NULL || has_name == NULL || number_name == NULL || bypasses_name == NULL)
		return NULL;
	waits = Py_NewRef(wait);
	wakes = Py_NewRef(wake);
	gets = Py_NewRef(get);
	Py_RETURN_NONE;
}

#if HAS_LIST
static PyObject *running_now(PyObject *module, PyObject *nothing)
{
	PyObject *found = PyDict_New(), *ident;
	int failed = found == NULL;

	(void)module;
	(void)nothing;
	for (below *own = mounted; own != NULL && !failed; own = own->next) {
		ident = PyLong_FromUnsignedLong(own->ident);
		failed = ident == NULL ||
			 (own->thread != NULL && PyDict_SetItem(found, ident, own->thread) != 0);
		Py_XDECREF(ident);
	}
	if (failed)
		Py_CLEAR(found);
	return found;
}
#endif

#ifdef Py_GIL_DISABLED
/* ---- what OS threads run, at one moment ---- */

enum { MOST_FRAMES = 1000 }; /* of one stack, from the innermost */

/* What a frame tells: code, instruction, line, globals, and its locals if it is asked for them. NULL: an
 * exception. */
static PyObject *frame_told(PyFrameObject *frame, bool has_locals)
{
	PyObject *code = (PyObject *)PyFrame_GetCode(frame), *globals = PyFrame_GetGlobals(frame);
	PyObject *locals = has_locals ? PyFrame_GetLocals(frame) : NULL, *values = PyDict_New();

	if (locals != NULL && values != NULL)
		PyDict_Update(values, locals); /* of a function it is no dict, but a view */
	Py_XDECREF(locals);
	return Py_BuildValue("NiiNN", code, PyFrame_GetLasti(frame), PyFrame_GetLineNumber(frame),
			     globals, values);
}

/* The frames of a thread state, the innermost first; NULL: an exception. */
static PyObject *stack_told(PyThreadState *state, bool has_locals)
{
	PyFrameObject *frame = PyThreadState_GetFrame(state), *outer;
	PyObject *stack = PyList_New(0), *one;

	while (frame != NULL && stack != NULL && PyList_GET_SIZE(stack) < MOST_FRAMES) {
		one = frame_told(frame, has_locals && PyList_GET_SIZE(stack) == 0);
		if (one == NULL || PyList_Append(stack, one) != 0)
			Py_CLEAR(stack);
		Py_XDECREF(one);
		outer = PyFrame_GetBack(frame);
		Py_DECREF(frame);
		frame = outer;
	}
	Py_XDECREF(frame);
	return stack;
}

typedef struct frames_told {
	unsigned long asked; /* the OS thread whose innermost locals are told; 0: none */
	PyObject *found;
} frames_told;

/* [all other threads of the interpreter stand still] Nothing here lets another thread run, and nothing
 * that they use is freed: each frame object that is made belongs to its frame as well. */
static int tell_frames(PyObject *any, void *arg)
{
	frames_told *said = arg;
	size_t count = 0;
	step_seen *seen = seen_steps(&count);
	PyThreadState *state = PyInterpreterState_ThreadHead(PyInterpreterState_Get());

	(void)any;
	said->found = PyList_New(0);
	for (; state != NULL && said->found != NULL && !PyErr_Occurred();
	     state = PyThreadState_Next(state)) {
		unsigned long ident = state->thread_id;
		unsigned long long number = 0;
		PyObject *each;

		for (size_t at = 0; seen != NULL && at < count; at++)
			if (seen[at].os_thread == ident)
				number = seen[at].number;
		each = Py_BuildValue("kKN", ident, number, stack_told(state, ident == said->asked));
		if (each != NULL)
			PyList_Append(said->found, each);
		Py_XDECREF(each);
	}
	free(seen);
	return 0; /* no other object is of interest */
}

/* Frames may be read only while their thread stands still. CPython stops all threads of the interpreter
 * while it visits its objects; this does all that it has to do at the first of them. */
static PyObject *frames_now(PyObject *module, PyObject *asked)
{
	frames_told said = {PyLong_AsUnsignedLong(asked), NULL};

	(void)module;
	if (PyErr_Occurred())
		return NULL;
	PyUnstable_GC_VisitObjects(tell_frames, &said);
	if (PyErr_Occurred())
		Py_CLEAR(said.found);
	return said.found;
}
#endif

/* Without the GIL each use of an object by another thread than its maker's is two locked instructions
 * on its count of references, a line that all users share. These are the words of CPython's own immortal
 * objects (_Py_SetImmortal, which it does not export), and the collector leaves out what has them. The
 * first of them ends the counting, so that a count which another thread is about to change is no more
 * one that could free it. */
static PyObject *never_freed(PyObject *module, PyObject *object)
{
	(void)module;
#ifdef Py_GIL_DISABLED
	PUBLISH(object->ob_ref_local, _Py_IMMORTAL_REFCNT_LOCAL);
	PUT(object->ob_tid, 0);
	PUT(object->ob_ref_shared, 0);
#endif
	return Py_NewRef(object);
}

/* Gives a class of Python the methods of its base in C as its own, where they are not overridden: CPython
 * calls a method without making anything only if the object is of exactly the class whose method it is.
 * Returns the class. */
static PyObject *direct(PyObject *module, PyObject *type)
{
	PyTypeObject *base = PyType_Check(type) ? ((PyTypeObject *)type)->tp_base : NULL;

	(void)module;
	while (base != NULL && base->tp_methods == NULL)
		base = base->tp_base;
	for (PyMethodDef *one = base == NULL ? NULL : base->tp_methods; one != NULL && one->ml_name;
	     one++) {
		PyObject *theirs = PyObject_GetAttrString((PyObject *)base, one->ml_name);
		PyObject *found = PyObject_GetAttrString(type, one->ml_name), *own;
		bool is_theirs = found != NULL && found == theirs;

		Py_XDECREF(theirs);
		Py_XDECREF(found);
		if (theirs == NULL || found == NULL)
			return NULL;
		if (!is_theirs || one->ml_flags & (METH_CLASS | METH_STATIC | METH_METHOD))
			continue;
		own = PyDescr_NewMethod((PyTypeObject *)type, one);
		if (own == NULL || PyObject_SetAttrString(type, one->ml_name, own) != 0) {
			Py_XDECREF(own);
			return NULL;
		}
		Py_DECREF(own);
	}
	return Py_NewRef(type);
}

static PyMethodDef functions[] = {
	{"direct", direct, METH_O, "Give a class the methods of its base in C as its own."},
#if HAS_LIST
	{"running", running_now, METH_NOARGS,
	 "The virtual thread that each OS thread runs, by ident."},
#endif
#ifdef Py_GIL_DISABLED
	{"frames", frames_now, METH_O,
	 "What each OS thread runs: its ident, its virtual thread or 0, and of each frame code, "
	 "instruction, line, globals and locals: those of the innermost frame of the argument."},
#endif
	{"never_freed", never_freed, METH_O,
	 "Let several threads use an object, which is never freed, without counting references."},
	{"mount", PLAIN(mount), METH_FASTCALL,
	 "Begin a step: thread, number, what unmount returned."},
	{"unmount", unmount, METH_NOARGS, "End it; return what the thread keeps, or None."},
	{"steps", steps, METH_NOARGS,
	 "What carriers run now: OS thread, id of the step, its age in ms, virtual thread."},
	{"count_long", count_long, METH_O,
	 "What is called after each step of more than 100 ms: virtual thread, ms."},
	{"own_dict", own_dict, METH_NOARGS, "The dict of the OS thread, whoever runs on it."},
	{"drop_at_end", drop_at_end, METH_NOARGS,
	 "Without the GIL: let the calling OS thread of the kernel drop its thread state at its "
	 "end."},
	{"forbid_locals", forbid_locals, METH_O,
	 "The exception for threads that may have no values in threading.local."},
	{"bind", bind, METH_VARARGS, "Python's part: wait, wake, get."},
	{"put", put, METH_VARARGS, "Exchange the methods of a kind: its name, its type."},
	{"take_out", take_out, METH_VARARGS, "Put them back."},
	{"own_ident", own_ident, METH_VARARGS, "Exchange get_ident, or put it back."},
	{"stand", stand, METH_VARARGS, "Get in line: lock or queue, waiter."},
	{"take_in_line", take_in_line, METH_VARARGS, "Try a lock, in its line: lock, waiter."},
	{"step_out", step_out, METH_VARARGS, "Get out of it."},
	{"first", first, METH_O, "Who is first in line, or None."},
	{"let_go", let_go, METH_O, "Free a lock, whoever has it."},
	{"forget_lines", forget_lines, METH_NOARGS, "Of the threads that a fork has left behind."},
	{0},
};

static struct PyModuleDef own_module = {
	PyModuleDef_HEAD_INIT,
	"wakeproof._native.own",
	"What CPython keeps for each OS thread, for each virtual thread.",
	-1,
	functions,
	NULL,
	NULL,
	NULL,
	NULL};

static int fill(PyObject *module)
{
	PyObject *thread_module = PyImport_ImportModule("_thread");
	PyObject *type = PyType_FromSpec(&here_spec), *here = NULL;
	PyObject *virtual = PyCapsule_New((void *)(uintptr_t)&told_to_others, WP__OWN_VIRTUAL,
					  NULL);
	int failed = -1;

	if (thread_module != NULL && type != NULL)
		here = ((PyTypeObject *)type)->tp_alloc((PyTypeObject *)type, 0);
	if (tasks == NULL)
		tasks = PyDict_New();
	if (here != NULL && PyModule_AddObjectRef(module, "tasks", tasks) == 0 &&
	    NEEDS_NO_GIL(module) == 0 && pthread_key_create(&ends, forget_below) == 0 &&
	    begin_steps() && watch_locals(thread_module) == 0 &&
	    PyModule_AddObjectRef(module, "virtual", virtual) == 0 && wp__core_fill(module) == 0 &&
	    wp__future_fill(module) == 0 && wp__calls_fill(module) == 0 &&
	    wp__channel_fill(module) == 0 && wp__sockets_fill(module) == 0)
		failed = PyModule_AddObjectRef(module, "here", here);
	if (failed && !PyErr_Occurred())
		PyErr_SetString(PyExc_ImportError, "wakeproof._native.own: no memory");
	Py_XDECREF(virtual);
	Py_XDECREF(here);
	Py_XDECREF(type);
	Py_XDECREF(thread_module);
	return failed;
}

#else

static struct PyModuleDef own_module = {
	PyModuleDef_HEAD_INIT, "wakeproof._native.own", NULL, -1, NULL, NULL, NULL, NULL, NULL};

static int fill(PyObject *module)
{
	(void)module;
	PyErr_SetString(PyExc_ImportError, "wakeproof._native.own is for CPython 3.11 to 3.14");
	return -1;
}

#endif

PyMODINIT_FUNC PyInit_own(void)
{
	PyObject *module = PyModule_Create(&own_module);

	if (module != NULL && fill(module) != 0)
		Py_CLEAR(module);
	return module;
}
