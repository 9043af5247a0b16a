/* SPDX-License-Identifier: Apache-2.0
 * own.c - what CPython keeps for each OS thread, kept for each virtual thread: the values of
 * threading.local, and who has a threading.RLock.
 *
 *   carrier, before a step   mount     the thread state's dict aside, the virtual thread's in
 *   virtual thread           runs      threading.local finds its own values, as every C caller of
 *                                      PyThreadState_GetDict does
 *   carrier, after the step  unmount   its dict out, for its next step; the carrier's back
 *
 * Why it works   CPython reads the dict from the thread state at each access, and never keeps it.
 *                What it caches, it keeps by the thread state's id (asyncio: the running loop), so
 *                each mount has an id of its own. In 3.13 threading.local looks for its values by
 *                two words beside the dict, and asyncio has one; these change with it.
 *                Until 3.12 a threading.local is found in the dict by its address, and takes its
 *                entries with it when it dies, out of the dicts of all thread states. A dict that
 *                is aside belongs to none: `local_dealloc` here takes them out of those.
 *                An RLock compares its owner's number. Those of OS threads are addresses, thus even;
 *                a virtual thread's is odd. Its methods are exchanged in their definitions, so that
 *                locks, and methods that are bound, from before go through them as well.
 * Who may call   With the GIL, all of it; hence nothing here is atomic, and a line is changed and
 *                looked at in one step.
 * Where          CPython 3.11 to 3.13, with the GIL. Elsewhere there is nothing in this module.
 * Evidence       tests/python/test_own.py. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#if PY_VERSION_HEX < 0x030E0000 && !defined(Py_GIL_DISABLED) && !defined(PYPY_VERSION)

#include <pthread.h>
#include <stdint.h>

#include "own.h"

#define HAS_KEY (PY_VERSION_HEX >= 0x030D0000) /* threading.local looks by two words more */
#if HAS_KEY
/* What asyncio.get_running_loop gives: the first word behind the public part of a thread state
 * (Include/internal/pycore_tstate.h). Until 3.12 it is in the dict. */
#define LOOP(state) (*(PyObject **)(void *)((char *)(state) + sizeof(PyThreadState)))
#endif

enum { FIRST_ID = 62 }; /* bit: the interpreter counts from 1 */

/* What an OS thread keeps aside while it runs a virtual thread. From its first mount to its end. */
typedef struct below {
	struct below *next, *before; /* of those that are mounted */
	PyObject *thread;            /* that it runs; NULL: none, or none that may park */
	uint64_t number;             /* as owner of an RLock; 0: that of the OS thread */
	PyObject *dict;
#if HAS_KEY
	PyObject *key, *sentinel, *loop;
#endif
	uint64_t id;
	bool is_mounted;
} below;

static _Thread_local below *mine;
static pthread_key_t ends;
static below *mounted; /* the first */
static uint64_t mounts = (uint64_t)1 << FIRST_ID;
static PyObject *threads; /* all virtual threads, by number: Python's */
static PyObject *slot;    /* the name of their attribute for what unmount returns */

static void forget_below(void *arg)
{
	below *own = arg;

	mine = NULL;
	if (!own->is_mounted) /* else it is in the list, which only who has the GIL may change */
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
		}
	}
	return mine;
}

static PyObject *mount(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
	PyThreadState *state = PyThreadState_Get();
	below *own = below_here();
	PyObject *values;

	(void)module;
	if (own == NULL)
		return NULL;
	if (count != 3 || own->is_mounted)
		return PyErr_Format(PyExc_SystemError, "mount: twice, or not of three");
	own->number = 2 * (uint64_t)PyLong_AsUnsignedLongLong(args[1]) + 1;
	own->dict = state->dict;
	own->id = state->id;
	values = args[2];
#if HAS_KEY
	own->key = state->threading_local_key;
	own->sentinel = state->threading_local_sentinel;
	own->loop = LOOP(state);
	if (values == Py_None) {
		state->dict = state->threading_local_key = state->threading_local_sentinel = NULL;
		LOOP(state) = NULL;
	} else {
		PyObject *dict = PyTuple_GET_ITEM(values, 0), *key = PyTuple_GET_ITEM(values, 1),
			 *sentinel = PyTuple_GET_ITEM(values, 2),
			 *loop = PyTuple_GET_ITEM(values, 3);

		state->dict = dict == Py_None ? NULL : Py_NewRef(dict);
		state->threading_local_key = key == Py_None ? NULL : Py_NewRef(key);
		state->threading_local_sentinel = sentinel == Py_None ? NULL : Py_NewRef(sentinel);
		LOOP(state) = loop == Py_None ? NULL : Py_NewRef(loop);
	}
#else
	state->dict = values == Py_None ? NULL : Py_NewRef(values);
#endif
	state->id = mounts++;
	own->before = NULL;
	own->next = mounted;
	if (mounted != NULL)
		mounted->before = own;
	mounted = own;
	own->is_mounted = true;
	own->thread = Py_NewRef(args[0]);
	Py_RETURN_NONE;
}

#if HAS_KEY
static PyObject *packed(PyObject *each[4])
{
	PyObject *values = PyTuple_New(4);

	for (int at = 0; at < 4; at++)
		if (values == NULL)
			Py_XDECREF(each[at]);
		else
			PyTuple_SET_ITEM(values, at,
					 each[at] == NULL ? Py_NewRef(Py_None) : each[at]);
	return values;
}
#endif

/* What the virtual thread had in its dict, or None: to be mounted with it again. */
static PyObject *unmount(PyObject *module, PyObject *nothing)
{
	PyThreadState *state = PyThreadState_Get();
	below *own = mine;
	PyObject *dict = state->dict;
#if HAS_KEY
	PyObject *each[4] = {dict, state->threading_local_key, state->threading_local_sentinel,
			     LOOP(state)};
#endif

	(void)module;
	(void)nothing;
	if (own == NULL || !own->is_mounted)
		return PyErr_Format(PyExc_SystemError, "unmount: nothing is mounted");
	state->dict = own->dict;
	state->id = own->id;
	own->dict = NULL;
#if HAS_KEY
	state->threading_local_key = own->key;
	state->threading_local_sentinel = own->sentinel;
	LOOP(state) = own->loop;
	own->key = own->sentinel = own->loop = NULL;
#endif
	*(own->before != NULL ? &own->before->next : &mounted) = own->next;
	if (own->next != NULL)
		own->next->before = own->before;
	own->is_mounted = false;
	own->number = 0;
	Py_CLEAR(own->thread);
#if HAS_KEY
	if (dict != NULL || each[1] != NULL || each[2] != NULL || each[3] != NULL)
		return packed(each);
#else
	if (dict != NULL)
		return dict;
#endif
	Py_RETURN_NONE;
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

static bool is_here(void)
{
	return mine != NULL && mine->thread != NULL;
}

static const wp__own told_to_others = {is_here};

static PyGetSetDef here_fields[] = {
	{"thread", here_thread, here_set_thread, "The calling virtual thread; None: it is none.",
	 NULL},
	{0},
};
static PyType_Slot here_slots[] = {{Py_tp_getset, here_fields}, {0, NULL}};
static PyType_Spec here_spec = {.name = "wakeproof._native.own.Here",
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

static void local_dealloc(PyObject *local)
{
	PyObject *kind, *error, *trace, *thread, *key;
	Py_ssize_t at = 0;

	PyErr_Fetch(&kind, &error, &trace);
	key = PyUnicode_FromFormat("thread.local.%p",
				   local); /* as Modules/_threadmodule.c makes it */
	if (key != NULL) {
		for (below *own = mounted; own != NULL; own = own->next)
			forget_in(own->dict, key);
		while (threads != NULL && PyDict_Next(threads, &at, NULL, &thread)) {
			PyObject *dict = PyObject_GetAttr(thread, slot);

			forget_in(dict, key);
			Py_XDECREF(dict);
		}
		Py_DECREF(key);
	}
	PyErr_Clear();
	PyErr_Restore(kind, error, trace);
	old_dealloc(local);
}
#endif

static int watch_locals(PyObject *thread_module)
{
#if HAS_KEY
	(void)thread_module;
#else
	PyObject *type = PyObject_GetAttrString(thread_module, "_local");

	if (type == NULL)
		return -1;
	if (old_dealloc == NULL) {
		old_dealloc = ((PyTypeObject *)type)->tp_dealloc;
		((PyTypeObject *)type)->tp_dealloc = local_dealloc;
	}
	Py_DECREF(type);
#endif
	return 0;
}

/* ---- RLock ---- */

/* As Modules/_threadmodule.c has it in 3.11 to 3.13; `is_rlock` makes sure of it. */
typedef struct rlock {
	PyObject_HEAD PyThread_type_lock lock;
	unsigned long owner;
	unsigned long count;
	PyObject *weak;
} rlock;

enum { ACQUIRE, ENTER, RELEASE, EXIT, IS_OWNED, RESTORE, SAVE, RECURSION, METHODS };

static struct {
	const char *name;
	int flags;
	PyCFunction ours, theirs;
} methods[METHODS];

static PyObject *waits, *wakes, *lines; /* Python's functions; who waits for which lock */

static bool has(const rlock *self)
{
	return self->count > 0 && self->owner == mine->number;
}

/* [the caller is a virtual thread] */
static bool try_lock(rlock *self)
{
	if (has(self)) {
		self->count++;
		return true;
	}
	if (!PyThread_acquire_lock(self->lock, NOWAIT_LOCK))
		return false;
	self->owner = (unsigned long)mine->number;
	self->count = 1;
	return true;
}

static PyObject *by_os(int method, PyObject *self, PyObject *args, PyObject *named)
{
	if (methods[method].flags & METH_KEYWORDS)
		return ((PyCFunctionWithKeywords)(void *)methods[method].theirs)(self, args, named);
	return methods[method].theirs(self, args);
}

static bool is_virtual(void)
{
	return mine != NULL && mine->number != 0;
}

/* 1: it has it; 0: the time ran out; -1: an exception. timeout: negative: for ever. */
static int wait_for(rlock *self, double timeout)
{
	PyObject *said;
	int truth;

	if (mine->thread != NULL) {
		said = PyObject_CallFunction(waits, "Od", (PyObject *)self, timeout);
	} else { /* a forked child, or a poller's wakeup: nobody to park */
		PyObject *args = Py_BuildValue("(id)", 1, timeout < 0 ? -1.0 : timeout);

		said = args == NULL ? NULL : by_os(ACQUIRE, (PyObject *)self, args, NULL);
		Py_XDECREF(args);
		if (said == Py_True)
			self->owner = (unsigned long)mine->number;
	}
	if (said == NULL)
		return -1;
	truth = PyObject_IsTrue(said);
	Py_DECREF(said);
	return truth;
}

static PyObject *acquire(PyObject *self, PyObject *args, PyObject *named)
{
	static char *names[] = {"blocking", "timeout", NULL};
	rlock *lock = (rlock *)self;
	double timeout = -1;
	int blocking = 1, said;

	if (!is_virtual())
		return by_os(ACQUIRE, self, args, named);
	if ((PyTuple_GET_SIZE(args) > 0 || named != NULL) &&
	    !PyArg_ParseTupleAndKeywords(args, named, "|pd:acquire", names, &blocking, &timeout))
		return NULL;
	if (timeout != -1 &&
	    (!blocking || !(timeout >= 0 && timeout < (double)PY_TIMEOUT_MAX / 1e6)))
		return by_os(ACQUIRE, self, args, named); /* which refuses it */
	if (try_lock(lock))
		Py_RETURN_TRUE;
	if (!blocking || timeout == 0)
		Py_RETURN_FALSE;
	said = wait_for(lock, timeout);
	return said < 0 ? NULL : PyBool_FromLong(said);
}

/* After a release, by whoever: the first in line goes on, if somebody waits. */
static PyObject *told(PyObject *self, PyObject *said)
{
	if (said != NULL && PyDict_GET_SIZE(lines) > 0 && ((rlock *)self)->count == 0) {
		PyObject *woken = PyObject_CallOneArg(wakes, self);

		if (woken == NULL)
			Py_CLEAR(said);
		Py_XDECREF(woken);
	}
	return said;
}

static bool is_refused(const rlock *self)
{
	if (has(self))
		return false;
	PyErr_SetString(PyExc_RuntimeError, "cannot release un-acquired lock");
	return true;
}

static PyObject *release(PyObject *self, PyObject *nothing)
{
	rlock *lock = (rlock *)self;

	if (!is_virtual())
		return told(self, by_os(RELEASE, self, nothing, NULL));
	if (is_refused(lock))
		return NULL;
	if (--lock->count == 0) {
		lock->owner = 0;
		PyThread_release_lock(lock->lock);
	}
	return told(self, Py_NewRef(Py_None));
}

static PyObject *leave(PyObject *self, PyObject *args)
{
	(void)args;
	return release(self, NULL);
}

static PyObject *is_owned(PyObject *self, PyObject *nothing)
{
	return is_virtual() ? PyBool_FromLong(has((rlock *)self))
			    : by_os(IS_OWNED, self, nothing, NULL);
}

static PyObject *recursion(PyObject *self, PyObject *nothing)
{
	rlock *lock = (rlock *)self;

	return is_virtual() ? PyLong_FromUnsignedLong(has(lock) ? lock->count : 0)
			    : by_os(RECURSION, self, nothing, NULL);
}

/* Of a Condition: let go of it, however often it was taken, and take it as often again. */
static PyObject *save(PyObject *self, PyObject *nothing)
{
	rlock *lock = (rlock *)self;
	unsigned long count = lock->count, owner = lock->owner;

	if (!is_virtual())
		return told(self, by_os(SAVE, self, nothing, NULL));
	if (is_refused(lock))
		return NULL;
	lock->count = lock->owner = 0;
	PyThread_release_lock(lock->lock);
	return told(self, Py_BuildValue("kk", count, owner));
}

static PyObject *restore(PyObject *self, PyObject *args)
{
	rlock *lock = (rlock *)self;
	unsigned long count, owner;

	if (!is_virtual())
		return by_os(RESTORE, self, args, NULL);
	if (!PyArg_ParseTuple(args, "(kk):_acquire_restore", &count, &owner))
		return NULL;
	if (!try_lock(lock) && wait_for(lock, -1) < 0)
		return NULL;
	lock->count = count;
	Py_RETURN_NONE;
}

#define WITH_KEYWORDS (METH_VARARGS | METH_KEYWORDS)
#define PLAIN(function) ((PyCFunction)(void *)(function))

static void name_methods(void)
{
	static const struct {
		const char *name;
		int flags;
		PyCFunction ours;
	} each[METHODS] = {
		[ACQUIRE] = {"acquire", WITH_KEYWORDS, PLAIN(acquire)},
		[ENTER] = {"__enter__", WITH_KEYWORDS, PLAIN(acquire)},
		[RELEASE] = {"release", METH_NOARGS, release},
		[EXIT] = {"__exit__", METH_VARARGS, leave},
		[IS_OWNED] = {"_is_owned", METH_NOARGS, is_owned},
		[RESTORE] = {"_acquire_restore", METH_VARARGS, restore},
		[SAVE] = {"_release_save", METH_NOARGS, save},
		[RECURSION] = {"_recursion_count", METH_NOARGS, recursion},
	};

	for (int at = 0; at < METHODS; at++) {
		methods[at].name = each[at].name;
		methods[at].flags = each[at].flags;
		methods[at].ours = each[at].ours;
	}
}

static PyMethodDef *method(PyTypeObject *type, const char *name)
{
	PyObject *found = PyDict_GetItemString(type->tp_dict, name);

	return found != NULL && Py_IS_TYPE(found, &PyMethodDescr_Type)
		       ? ((PyMethodDescrObject *)found)->d_method
		       : NULL;
}

/* Whether an RLock is what `rlock` says: one that is taken twice has this thread's number, and 2. */
static bool is_rlock(PyTypeObject *type)
{
	PyObject *made = PyObject_CallNoArgs((PyObject *)type);
	bool is_so = made != NULL && type->tp_basicsize == sizeof(rlock);

	for (int n = 0; n < 2 && is_so; n++) {
		PyObject *said = PyObject_CallMethod(made, "acquire", NULL);

		is_so = said != NULL && ((rlock *)made)->count == (unsigned long)n + 1 &&
			((rlock *)made)->owner == PyThread_get_thread_ident();
		Py_XDECREF(said);
	}
	Py_XDECREF(made);
	PyErr_Clear();
	return is_so;
}

/* Exchanges the methods of RLock, once. False: this Python's are others than those known here. */
static PyObject *install(PyObject *module, PyObject *args)
{
	PyObject *kind, *wait, *wake;
	PyTypeObject *type;

	(void)module;
	if (!PyArg_ParseTuple(args, "OOO", &kind, &wait, &wake))
		return NULL;
	if (waits != NULL)
		Py_RETURN_TRUE;
	if (!PyType_Check(kind) || !is_rlock((PyTypeObject *)kind))
		Py_RETURN_FALSE;
	type = (PyTypeObject *)kind;
	name_methods();
	for (int at = 0; at < METHODS; at++) {
		PyMethodDef *found = method(type, methods[at].name);

		if (found == NULL || found->ml_flags != methods[at].flags)
			Py_RETURN_FALSE;
	}
	lines = PyDict_New();
	if (lines == NULL)
		return NULL;
	waits = Py_NewRef(wait);
	wakes = Py_NewRef(wake);
	for (int at = 0; at < METHODS; at++) {
		PyMethodDef *found = method(type, methods[at].name);

		methods[at].theirs = found->ml_meth;
		found->ml_meth = methods[at].ours;
	}
	Py_RETURN_TRUE;
}

/* ---- the line of each RLock that virtual threads wait for: lists, by the lock's address ---- */

static PyObject *line_of(PyObject *lock, bool make)
{
	PyObject *key = PyLong_FromVoidPtr(lock), *line, *made;

	if (key == NULL)
		return NULL;
	line = PyDict_GetItemWithError(lines, key);
	if (line == NULL && make && !PyErr_Occurred()) {
		made = PyList_New(0);
		if (made != NULL && PyDict_SetItem(lines, key, made) == 0)
			line = made; /* the dict has it */
		Py_XDECREF(made);
	}
	Py_DECREF(key);
	return line;
}

static PyObject *stand(PyObject *module, PyObject *args)
{
	PyObject *lock, *waiter, *line;

	(void)module;
	if (!PyArg_ParseTuple(args, "OO", &lock, &waiter))
		return NULL;
	line = line_of(lock, true);
	if (line == NULL || PyList_Append(line, waiter) != 0)
		return NULL;
	Py_RETURN_NONE;
}

static PyObject *step_out(PyObject *module, PyObject *args)
{
	PyObject *lock, *waiter, *line, *key;
	int failed = 0;

	(void)module;
	if (!PyArg_ParseTuple(args, "OO", &lock, &waiter))
		return NULL;
	line = line_of(lock, false);
	for (Py_ssize_t at = 0; line != NULL && at < PyList_GET_SIZE(line); at++)
		if (PyList_GET_ITEM(line, at) == waiter) {
			failed = PyList_SetSlice(line, at, at + 1, NULL);
			break;
		}
	if (line != NULL && PyList_GET_SIZE(line) == 0) {
		key = PyLong_FromVoidPtr(lock);
		failed |= key == NULL || PyDict_DelItem(lines, key) != 0;
		Py_XDECREF(key);
	}
	if (failed || PyErr_Occurred())
		return NULL;
	Py_RETURN_NONE;
}

static PyObject *first(PyObject *module, PyObject *lock)
{
	PyObject *line = line_of(lock, false);

	(void)module;
	if (line == NULL && PyErr_Occurred())
		return NULL;
	return Py_NewRef(line == NULL || PyList_GET_SIZE(line) == 0 ? Py_None
								    : PyList_GET_ITEM(line, 0));
}

static PyMethodDef functions[] = {
	{"mount", PLAIN(mount), METH_FASTCALL,
	 "Begin a step: thread, number, what unmount returned."},
	{"unmount", unmount, METH_NOARGS, "End it; return what the thread keeps, or None."},
	{"own_dict", own_dict, METH_NOARGS, "The dict of the OS thread, whoever runs on it."},
	{"install", install, METH_VARARGS, "Exchange RLock's methods: type, wait, wake."},
	{"stand", stand, METH_VARARGS, "Get in line: lock, waiter."},
	{"step_out", step_out, METH_VARARGS, "Get out of it."},
	{"first", first, METH_O, "Who is first in line, or None."},
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
	PyObject *jobs = PyImport_ImportModule("wakeproof._runtime.jobs");
	PyObject *thread_module = PyImport_ImportModule("_thread");
	PyObject *type = PyType_FromSpec(&here_spec), *here = NULL;
	PyObject *virtual = PyCapsule_New((void *)(uintptr_t)&told_to_others, WP__OWN_VIRTUAL,
					  NULL);
	int failed = -1;

	if (jobs != NULL && thread_module != NULL && type != NULL)
		here = ((PyTypeObject *)type)->tp_alloc((PyTypeObject *)type, 0);
	if (here != NULL && threads == NULL) {
		threads = PyObject_GetAttrString(jobs, "threads");
		slot = PyUnicode_InternFromString("_locals");
	}
	if (here != NULL && threads != NULL && slot != NULL && PyDict_CheckExact(threads) &&
	    pthread_key_create(&ends, forget_below) == 0 && watch_locals(thread_module) == 0 &&
	    PyModule_AddObjectRef(module, "virtual", virtual) == 0)
		failed = PyModule_AddObjectRef(module, "here", here);
	if (failed && !PyErr_Occurred())
		PyErr_SetString(PyExc_ImportError, "wakeproof._native.own: no memory");
	Py_XDECREF(virtual);
	Py_XDECREF(here);
	Py_XDECREF(type);
	Py_XDECREF(thread_module);
	Py_XDECREF(jobs);
	return failed;
}

#else

static struct PyModuleDef own_module = {
	PyModuleDef_HEAD_INIT, "wakeproof._native.own", NULL, -1, NULL, NULL, NULL, NULL, NULL};

static int fill(PyObject *module)
{
	(void)module;
	PyErr_SetString(PyExc_ImportError,
			"wakeproof._native.own is for CPython 3.11 to 3.13 with the GIL");
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
