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
 *                each mount has an id of its own. From 3.13 on threading.local looks for its values
 *                by two words beside the dict, and asyncio has one (3.14: two, with the running
 *                task); these change with it.
 *                Until 3.12 a threading.local is found in the dict by its address, and takes its
 *                entries with it when it dies, out of the dicts of all thread states. A dict that
 *                is aside belongs to none: `local_dealloc` here takes them out of those.
 *                An RLock compares its owner's number. Those of OS threads are addresses, thus even;
 *                a virtual thread's is odd. Its methods are exchanged in their definitions, so that
 *                locks, and methods that are bound, from before go through them as well.
 *                A thread that may have no values is refused where one is set: at the slot of the
 *                type, and in what `super().__setattr__` finds.
 * Without GIL    A thread state and `mine` are touched by their own thread only. The owner of an
 *                RLock is one word: a thread finds its own number there only if it has written it.
 *                The lines of the waiters have a lock, and a count beside it that a release looks at.
 *                A waiter stands in line before it tries the lock, a release frees the lock before it
 *                looks at the count, and both have a fence in between: the second of the two sees
 *                the step of the first.
 * Where          CPython 3.11 to 3.14, and 3.13 and 3.14 without the GIL. Elsewhere there is nothing
 *                in this module.
 * Evidence       tests/python/test_own.py. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#if PY_VERSION_HEX < 0x030F0000 && !defined(PYPY_VERSION)

#include <pthread.h>
#include <stdint.h>

#include "free.h"
#include "own.h"
#include "steps.h"

#define HAS_KEY (PY_VERSION_HEX >= 0x030D0000) /* threading.local looks by two words more */
#if HAS_KEY
/* What asyncio.get_running_loop and (3.14) current_task give: words behind the public part of a
 * thread state (Include/internal/pycore_tstate.h). Until 3.12 they are in dicts. */
#define HAS_TASK (PY_VERSION_HEX >= 0x030E0000)
enum { LOOP_WORD = HAS_TASK ? 4 : 0, WORDS = HAS_TASK ? 2 : 1, PARTS = 3 + WORDS };
#define BEHIND(state, word) (((PyObject **)(void *)((char *)(state) + sizeof(PyThreadState)))[word])
#endif

enum { FIRST_ID = 62 }; /* bit: the interpreter counts from 1 */

/* What an OS thread keeps aside while it runs a virtual thread. From its first mount to its end. */
typedef struct below {
#if !HAS_KEY
	struct below *next, *before; /* of those that are mounted */
#endif
	PyObject *thread; /* that it runs; NULL: none, or none that may park */
	uint64_t number;  /* as owner of an RLock; 0: that of the OS thread */
	PyObject *dict;
#if HAS_KEY
	PyObject *key, *sentinel, *loop[WORDS];
#endif
	uint64_t id;
	bool is_mounted;
} below;

static _Thread_local below *mine;
static pthread_key_t ends;
#if !HAS_KEY
static below *mounted;    /* the first */
static PyObject *threads; /* all virtual threads, by number: Python's */
static PyObject *slot;    /* the name of their attribute for what unmount returns */
#endif
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
		}
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
	PyObject *part = values == Py_None ? Py_None : PyTuple_GET_ITEM(values, at);

	return part == Py_None ? NULL : Py_NewRef(part);
}
#endif

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
	for (int at = 0; at < WORDS; at++)
		own->loop[at] = BEHIND(state, LOOP_WORD + at);
	state->dict = unpacked(values, 0);
	state->threading_local_key = unpacked(values, 1);
	state->threading_local_sentinel = unpacked(values, 2);
	for (int at = 0; at < WORDS; at++)
		BEHIND(state, LOOP_WORD + at) = unpacked(values, 3 + at);
#else
	state->dict = values == Py_None ? NULL : Py_NewRef(values);
#endif
	state->id = __atomic_fetch_add(&mounts, 1, __ATOMIC_RELAXED);
#if !HAS_KEY
	own->before = NULL;
	own->next = mounted;
	if (mounted != NULL)
		mounted->before = own;
	mounted = own;
#endif
	own->is_mounted = true;
	own->thread = Py_NewRef(args[0]);
	step_begins(own->number / 2);
	Py_RETURN_NONE;
}

/* What the virtual thread had in its dict, or None: to be mounted with it again. */
static PyObject *unmount(PyObject *module, PyObject *nothing)
{
	PyThreadState *state = PyThreadState_Get();
	below *own = mine;
	PyObject *dict = state->dict, *thread;
#if HAS_KEY
	PyObject *each[PARTS] = {dict, state->threading_local_key, state->threading_local_sentinel};
	bool is_any = false;
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
	own->key = own->sentinel = NULL;
	for (int at = 0; at < WORDS; at++) {
		each[3 + at] = BEHIND(state, LOOP_WORD + at);
		BEHIND(state, LOOP_WORD + at) = own->loop[at];
		own->loop[at] = NULL;
	}
#else
	*(own->before != NULL ? &own->before->next : &mounted) = own->next;
	if (own->next != NULL)
		own->next->before = own->before;
#endif
	own->is_mounted = false;
	own->number = 0;
	thread = own->thread;
	own->thread = NULL;
	step_ends(thread);
	Py_XDECREF(thread);
#if HAS_KEY
	for (int at = 0; at < PARTS; at++)
		is_any = is_any || each[at] != NULL;
	if (is_any)
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

/* ---- a virtual thread that may have no values in a threading.local ---- */

static setattrofunc old_set;
static PyObject *refusal, *has_none; /* Python's exception; the name of the threads' attribute */

/* [the caller is a virtual thread] 1: it may have none; -1: an error */
static int may_have_none(void)
{
	PyObject *flag = PyObject_GetAttr(mine->thread, has_none);
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

enum { LOCKED = 1 }; /* bit of a PyMutex; the other one: somebody sleeps */
#endif

enum { ACQUIRE, ENTER, RELEASE, EXIT, IS_OWNED, RESTORE, SAVE, RECURSION, METHODS };

static struct {
	const char *name;
	int flags;
	PyCFunction ours, theirs;
} methods[METHODS];

static PyObject *waits, *wakes, *lines; /* Python's functions; who waits for which lock */
static Py_ssize_t waiters;              /* in all lines */
GUARD(lines_lock)                       /* of lines, and of who writes the count */

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
	uint8_t bits = LOOK(self->lock._bits);

	while (!(bits & LOCKED))
		if (__atomic_compare_exchange_n(&self->lock._bits, &bits, bits | LOCKED, false,
						__ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return true;
	return false;
#endif
}

static void let_go(rlock *self)
{
#if PY_VERSION_HEX < 0x030E0000
	PyThread_release_lock(self->lock);
#else
	PyMutex_Unlock(&self->lock);
#endif
}

static bool has(const rlock *self)
{
	return LOOK(self->owner) == mine->number && count_of(self) > 0;
}

/* [the caller is a virtual thread] */
static bool try_lock(rlock *self)
{
	if (has(self)) {
		set_count(self, count_of(self) + 1);
		return true;
	}
	FENCE(); /* after `stand` */
	if (!grab(self))
		return false;
	PUT(self->owner, mine->number);
	set_count(self, 1);
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
			PUT(self->owner, mine->number);
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
	FENCE(); /* after the release; a thread that has taken the lock meanwhile tells again */
	if (said != NULL && LOOK(waiters) > 0) {
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
	if (count_of(lock) > 1) {
		set_count(lock, count_of(lock) - 1);
		Py_RETURN_NONE;
	}
	set_count(lock, 0);
	PUT(lock->owner, 0);
	let_go(lock);
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

	return is_virtual() ? PyLong_FromUnsignedLong(has(lock) ? count_of(lock) : 0)
			    : by_os(RECURSION, self, nothing, NULL);
}

/* Of a Condition: let go of it, however often it was taken, and take it as often again. */
static PyObject *save(PyObject *self, PyObject *nothing)
{
	rlock *lock = (rlock *)self;
	PyObject *state;

	if (!is_virtual())
		return told(self, by_os(SAVE, self, nothing, NULL));
	if (is_refused(lock))
		return NULL;
	state = Py_BuildValue("kk", count_of(lock), (unsigned long)lock->owner);
	if (state == NULL)
		return NULL;
	set_count(lock, 0);
	PUT(lock->owner, 0);
	let_go(lock);
	return told(self, state);
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
	set_count(lock, count);
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

		is_so = said != NULL && count_of((rlock *)made) == (unsigned long)n + 1 &&
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
static int take_out(PyObject *key, PyObject *waiter)
{
	PyObject *line = line_of(key);

	for (Py_ssize_t at = 0; line != NULL && at < PyList_GET_SIZE(line); at++)
		if (PyList_GET_ITEM(line, at) == waiter) {
			if (PyList_GET_SIZE(line) == 1)
				return PyDict_DelItem(lines, key) == 0 ? 1 : -1;
			return PyList_SetSlice(line, at, at + 1, NULL) == 0 ? 1 : -1;
		}
	return PyErr_Occurred() ? -1 : 0;
}

static PyObject *stand(PyObject *module, PyObject *args)
{
	PyObject *lock, *waiter, *key;
	int failed;

	(void)module;
	if (!PyArg_ParseTuple(args, "OO", &lock, &waiter) ||
	    (key = PyLong_FromVoidPtr(lock)) == NULL)
		return NULL;
	LOCK(lines_lock);
	failed = add(key, waiter);
	if (!failed)
		PUT(waiters, waiters + 1);
	UNLOCK(lines_lock);
	Py_DECREF(key);
	if (failed)
		return NULL;
	Py_RETURN_NONE;
}

static PyObject *step_out(PyObject *module, PyObject *args)
{
	PyObject *lock, *waiter, *key;
	int said;

	(void)module;
	if (!PyArg_ParseTuple(args, "OO", &lock, &waiter) ||
	    (key = PyLong_FromVoidPtr(lock)) == NULL)
		return NULL;
	LOCK(lines_lock);
	said = take_out(key, waiter);
	if (said > 0)
		PUT(waiters, waiters - 1);
	UNLOCK(lines_lock);
	Py_DECREF(key);
	if (said < 0)
		return NULL;
	Py_RETURN_NONE;
}

static PyObject *first(PyObject *module, PyObject *lock)
{
	PyObject *key = PyLong_FromVoidPtr(lock), *line, *found = NULL;

	(void)module;
	if (key == NULL)
		return NULL;
	LOCK(lines_lock);
	line = line_of(key);
	if (line != NULL)
		found = Py_NewRef(PyList_GET_ITEM(line, 0));
	UNLOCK(lines_lock);
	Py_DECREF(key);
	if (found == NULL && !PyErr_Occurred())
		Py_RETURN_NONE;
	return found;
}

static PyMethodDef functions[] = {
	{"mount", PLAIN(mount), METH_FASTCALL,
	 "Begin a step: thread, number, what unmount returned."},
	{"unmount", unmount, METH_NOARGS, "End it; return what the thread keeps, or None."},
	{"steps", steps, METH_NOARGS,
	 "What carriers run now: OS thread, id of the step, its age in ms, virtual thread."},
	{"count_long", count_long, METH_O,
	 "What is called after each step of more than 100 ms: virtual thread, ms."},
	{"own_dict", own_dict, METH_NOARGS, "The dict of the OS thread, whoever runs on it."},
	{"forbid_locals", forbid_locals, METH_O,
	 "The exception for threads that may have no values in threading.local."},
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

/* Where the values of threading.local are that no thread state has. */
static bool has_dicts(void)
{
#if !HAS_KEY
	PyObject *jobs = PyImport_ImportModule("wakeproof._runtime.jobs");

	if (jobs != NULL && threads == NULL) {
		threads = PyObject_GetAttrString(jobs, "threads");
		slot = PyUnicode_InternFromString("_locals");
	}
	Py_XDECREF(jobs);
	return threads != NULL && slot != NULL && PyDict_CheckExact(threads);
#else
	return true;
#endif
}

static int fill(PyObject *module)
{
	PyObject *thread_module = PyImport_ImportModule("_thread");
	PyObject *type = PyType_FromSpec(&here_spec), *here = NULL;
	PyObject *virtual = PyCapsule_New((void *)(uintptr_t)&told_to_others, WP__OWN_VIRTUAL,
					  NULL);
	int failed = -1;

	if (thread_module != NULL && type != NULL)
		here = ((PyTypeObject *)type)->tp_alloc((PyTypeObject *)type, 0);
	if (here != NULL && has_dicts() && NEEDS_NO_GIL(module) == 0 &&
	    pthread_key_create(&ends, forget_below) == 0 && begin_steps() &&
	    watch_locals(thread_module) == 0 &&
	    PyModule_AddObjectRef(module, "virtual", virtual) == 0)
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
