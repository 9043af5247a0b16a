/* SPDX-License-Identifier: Apache-2.0
 * locks.c - what a `with` block of Mutex, Condition or Semaphore calls, in one piece for signals.
 *
 *   with mutex:      __enter__ takes the lock, and notes who holds it
 *       ...          a signal handler may raise: the block is left by __exit__
 *                    __exit__ forgets the holder, and unlocks
 *
 * Why it works   CPython runs signal handlers between instructions of Python code, and where C code
 *                calls PyErr_CheckSignals. Here C code calls it after a wait that a signal has ended,
 *                when nothing is held (Condition.wait: when the holder is noted again). Between the
 *                call of __enter__ and the block, and between the block and the call of __exit__,
 *                the interpreter runs no handler. So KeyboardInterrupt comes before the lock is taken,
 *                inside the block, or after the lock is free. A method of Python could be ended
 *                between its two halves instead. Methods of Python are called where nothing is held
 *                as well: to raise an error, and to park a virtual thread, whose carrier runs no
 *                signal handlers.
 *                From 3.14 on the interpreter may run handlers when a call of a C function returns,
 *                hence also after __enter__. It runs none after an operator, and when a method of
 *                Python returns. So there __enter__ is a method of Python (_runtime/locks.py) that
 *                returns `entered[self]`, and that subscript takes the lock.
 * Not promised   The same for acquire and release, which the caller calls one by one: after acquire
 *                KeyboardInterrupt may come before the next instruction, as with threading.Lock.
 * Where          CPython with its headers; 3.11 to 3.14 call both methods in that way. Elsewhere
 *                _runtime/locks.py has the same in Python, and the gaps.
 * Evidence       tests/sync/test_interrupted_locks.py. */
#include "own.h" /* first: it includes Python.h */

#include "base/error.h"
#include "base/futex.h"
#include "free.h"

/* Of the kernel, as its bindings have them. Those that wait are called without the GIL, the others
 * with it: to let go of it changes threads, if another one wants it, which costs far more. */
static struct {
	bool (*mutex_try_lock)(void *mutex);
	bool (*mutex_was_abandoned)(void *mutex);
	int (*mutex_lock_until)(void *mutex, int64_t deadline_ns);
	int (*mutex_unlock)(void *mutex);
	int (*condition_wait_until)(void *condition, void *mutex, int64_t deadline_ns);
	bool (*semaphore_try_acquire)(void *semaphore, uint32_t permits);
	int (*semaphore_acquire_until)(void *semaphore, uint32_t permits, int64_t deadline_ns);
	int (*semaphore_release)(void *semaphore, uint32_t permits);
} kernel;

static PyObject *here;     /* its attribute `thread`: the calling virtual thread, or None */
static const wp__own *own; /* knows it without `here`; NULL: `here` is not that of own.c */

#define UNLOCKED(call)                       \
	do {                                 \
		Py_BEGIN_ALLOW_THREADS call; \
		Py_END_ALLOW_THREADS         \
	} while (0)

/* What Mutex, Condition and Semaphore have. */
typedef struct core {
	PyObject_HEAD void *native; /* the kernel's object */
	/* Who holds a mutex: a virtual thread, or else the OS thread with that number; 0: nobody. */
	PyObject *holder;
	unsigned long os;
} core;

#define CORE(object) ((core *)(void *)(object))

/* The calling virtual thread, borrowed from its step; NULL: the OS thread with that number. */
typedef struct who {
	PyObject *thread;
	unsigned long os;
} who;

static PyTypeObject *mutex_type;
static PyObject *str_thread, *str_held; /* names of attributes */

/* The kernel's object behind `self`; NULL: an exception. */
static void *native(PyObject *self)
{
	if (((core *)self)->native == NULL)
		PyErr_SetString(PyExc_AttributeError, "_address");
	return ((core *)self)->native;
}

#ifdef Py_GIL_DISABLED
#define BEGIN_HOLDER(self) Py_BEGIN_CRITICAL_SECTION(self);
#define END_HOLDER() Py_END_CRITICAL_SECTION();
#else
#define BEGIN_HOLDER(self) {
#define END_HOLDER() }
#endif

/* A new reference: a virtual thread, a number, or None. */
static PyObject *holder_of(PyObject *self)
{
	PyObject *found;
	unsigned long os;

	BEGIN_HOLDER(self)
	found = Py_XNewRef(CORE(self)->holder);
	os = CORE(self)->os;
	END_HOLDER()
	if (found != NULL)
		return found;
	return os == 0 ? Py_NewRef(Py_None) : PyLong_FromUnsignedLong(os);
}

static void set_holder(PyObject *self, who by)
{
	PyObject *old;

	Py_XINCREF(by.thread);
	BEGIN_HOLDER(self)
	old = CORE(self)->holder;
	PUT(CORE(self)->holder, by.thread);
	PUT(CORE(self)->os, by.os);
	END_HOLDER()
	Py_XDECREF(old);
}

/* 0; -1: an exception. */
static int caller(who *me)
{
	me->thread = own != NULL ? own->thread() : PyObject_GetAttr(here, str_thread);
	me->os = 0;
	if (own == NULL && me->thread == NULL)
		return -1;
	if (own == NULL)
		Py_DECREF(me->thread);
	if (me->thread == Py_None)
		me->thread = NULL;
	if (me->thread == NULL)
		me->os = PyThread_get_thread_ident();
	return 0;
}

/* Whether the caller holds the mutex: it finds itself there only if it has written it. */
static bool holds(PyObject *self, who me)
{
	return LOOK(CORE(self)->holder) == me.thread && LOOK(CORE(self)->os) == me.os;
}

/* Notes that the caller holds the mutex, or (`hold` is false) that nobody does. */
static int note(PyObject *self, who me, bool hold)
{
	if (me.thread != NULL && own != NULL) {
		if (own->hold(me.thread, self, hold) != 0)
			return -1;
	} else if (me.thread != NULL) {
		PyObject *held = PyObject_GetAttr(me.thread, str_held);
		int failed = -1;

		if (held != NULL)
			failed = hold ? PySet_Add(held, self) : PySet_Discard(held, self);

		Py_XDECREF(held);
		if (failed < 0)
			return -1;
	}
	set_holder(self, hold ? me : (who){NULL, 0});
	return 0;
}

/* What a wait that ended with `code` means, when the lock is not taken. */
static PyObject *not_taken(PyObject *self, int code)
{
	if (code == WP_TIMEOUT)
		Py_RETURN_FALSE;
	return PyObject_CallMethod(self, "_told", "i", code);
}

/* What a lock that ended with `code` means: True: the caller has the mutex. */
static PyObject *has(PyObject *self, who me, int code)
{
	void *mutex = native(self);

	if (mutex == NULL)
		return NULL;
	if (code != WP_OK && code != WP_ABANDONED)
		return not_taken(self, code);
	if (kernel.mutex_was_abandoned(mutex) || code == WP_ABANDONED) {
		kernel.mutex_unlock(mutex);
		return PyObject_CallMethod(self, "_refuse_abandoned", NULL);
	}
	if (note(self, me, true) == 0)
		Py_RETURN_TRUE;
	kernel.mutex_unlock(mutex);
	return NULL;
}

/* The code that a Python method returned, which parks a virtual thread. False: an exception. */
static bool parked(PyObject *said, int *code)
{
	*code = said == NULL ? WP_SYSTEM : (int)PyLong_AsLong(said);
	Py_XDECREF(said);
	return !PyErr_Occurred();
}

static PyObject *take(PyObject *self, int64_t deadline_ns)
{
	void *mutex = native(self);
	int code = WP_OK;
	bool taken;
	who me;

	if (mutex == NULL || caller(&me) != 0)
		return NULL;
	if (holds(self, me))
		return PyObject_CallMethod(self, "_refuse_again", NULL);
	taken = kernel.mutex_try_lock(mutex);
	if (!taken && deadline_ns == 0)
		Py_RETURN_FALSE;
	if (!taken && me.thread != NULL) {
		PyObject *said = PyObject_CallMethod(self, "_parked", "L", (long long)deadline_ns);

		if (!parked(said, &code))
			return NULL;
	} else if (!taken) {
		do {
			if (PyErr_CheckSignals() != 0)
				return NULL;
			UNLOCKED(code = kernel.mutex_lock_until(mutex, deadline_ns));
		} while (code == WP_INTERRUPTED);
	}
	return has(self, me, code);
}

static PyObject *mutex_take(PyObject *self, PyObject *deadline)
{
	int64_t deadline_ns = PyLong_AsLongLong(deadline);

	return deadline_ns == -1 && PyErr_Occurred() ? NULL : take(self, deadline_ns);
}

static PyObject *mutex_has(PyObject *self, PyObject *number)
{
	int code = (int)PyLong_AsLong(number);
	who me;

	return PyErr_Occurred() || caller(&me) != 0 ? NULL : has(self, me, code);
}

static PyObject *mutex_note(PyObject *self, PyObject *holds)
{
	who me;

	if (caller(&me) != 0 || note(self, me, holds == Py_True) != 0)
		return NULL;
	Py_RETURN_NONE;
}

/* Whether the caller holds the mutex, and is `*me`; else an exception, which names `what`. */
static bool check_holder(PyObject *self, const char *what, who *me)
{
	if (caller(me) != 0)
		return false;
	if (holds(self, *me))
		return true;
	Py_XDECREF(PyObject_CallMethod(self, "_refuse_stranger", "s", what));
	return false;
}

static PyObject *mutex_release(PyObject *self, PyObject *nothing)
{
	void *mutex = native(self);
	who me;

	(void)nothing;
	if (mutex == NULL || !check_holder(self, "release", &me) || note(self, me, false) != 0)
		return NULL;
	kernel.mutex_unlock(mutex);
	Py_RETURN_NONE;
}

static PyObject *entered(PyObject *self, PyObject *taken)
{
	Py_XDECREF(taken);
	return taken == NULL ? NULL : Py_NewRef(self);
}

static PyObject *mutex_enter(PyObject *self, PyObject *nothing)
{
	(void)nothing;
	return entered(self, take(self, WP_FOREVER));
}

static PyObject *mutex_exit(PyObject *self, PyObject *const *error, Py_ssize_t count)
{
	(void)error;
	(void)count;
	return mutex_release(self, NULL);
}

static PyObject *address_get(PyObject *self, void *nothing)
{
	void *found = native(self);

	(void)nothing;
	return found == NULL ? NULL : PyLong_FromVoidPtr(found);
}

static int address_put(PyObject *self, PyObject *value, void *nothing)
{
	void *address = value == NULL ? NULL : PyLong_AsVoidPtr(value);

	(void)nothing;
	((core *)self)->native = address;
	return PyErr_Occurred() ? -1 : 0;
}

static PyObject *holder_get(PyObject *self, void *nothing)
{
	(void)nothing;
	return holder_of(self);
}

/* To nobody. */
static int holder_put(PyObject *self, PyObject *none, void *nothing)
{
	(void)nothing;
	if (none != Py_None) {
		PyErr_SetString(PyExc_TypeError, "_holder: only None can be set");
		return -1;
	}
	set_holder(self, (who){NULL, 0});
	return 0;
}

static int lock_traverse(PyObject *self, visitproc visit, void *arg)
{
	Py_VISIT(Py_TYPE(self));
	Py_VISIT(((core *)self)->holder);
	return 0;
}

static int lock_clear(PyObject *self)
{
	Py_CLEAR(((core *)self)->holder);
	return 0;
}

static void lock_dealloc(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);

	PyObject_GC_UnTrack(self);
	lock_clear(self);
	type->tp_free(self);
	Py_DECREF(type);
}

#define ADDRESS {"_address", address_get, address_put, "The kernel's object.", NULL}

static PyGetSetDef mutex_fields[] = {
	{"_holder", holder_get, holder_put, "Who has it, or None.", NULL}, ADDRESS, {0}};
static PyMethodDef mutex_methods[] = {
	{"_take", mutex_take, METH_O, "Take it until a deadline; False: it passed."},
	{"_has", mutex_has, METH_O, "Note that the caller has it, if that code of a lock says so."},
	{"_note", mutex_note, METH_O, "Note that the caller holds it, or that nobody does."},
	{"_free", mutex_release, METH_NOARGS, "Let the next one have it."},
	{"__enter__", mutex_enter, METH_NOARGS, "Take it."},
	{"__exit__", (PyCFunction)(void *)mutex_exit, METH_FASTCALL, "Let the next one have it."},
	{0},
};

/* ---- condition: its mutex, in its attribute ---- */

static PyObject *mutex_of(PyObject *self)
{
	PyObject *mutex = PyObject_GetAttrString(self, "mutex");

	if (mutex != NULL && !PyObject_TypeCheck(mutex, mutex_type)) {
		PyErr_Format(PyExc_TypeError, "mutex is %R; allowed: a Mutex", mutex);
		Py_CLEAR(mutex);
	}
	return mutex;
}

static PyObject *condition_enter(PyObject *self, PyObject *nothing)
{
	PyObject *mutex = mutex_of(self), *taken;

	if (mutex == NULL)
		return NULL;
	taken = mutex_enter(mutex, nothing);
	Py_DECREF(mutex);
	return entered(self, taken);
}

static PyObject *condition_exit(PyObject *self, PyObject *const *error, Py_ssize_t count)
{
	PyObject *mutex = mutex_of(self), *said;

	(void)error;
	(void)count;
	if (mutex == NULL)
		return NULL;
	said = mutex_release(mutex, NULL);
	Py_DECREF(mutex);
	return said;
}

/* [the caller is an OS thread] */
static PyObject *wait_as(PyObject *self, PyObject *mutex, who me, int64_t deadline_ns)
{
	void *condition = native(self), *lock = native(mutex);
	int code;

	if (condition == NULL || lock == NULL || note(mutex, me, false) != 0)
		return NULL;
	UNLOCKED(code = kernel.condition_wait_until(condition, lock, deadline_ns));
	if (note(mutex, me, true) != 0)
		return NULL;
	if (code == WP_INTERRUPTED) { /* what the caller waits for may have come */
		if (PyErr_CheckSignals() != 0)
			return NULL;
		code = WP_OK;
	}
	return PyBool_FromLong(code == WP_OK);
}

static PyObject *condition_wait(PyObject *self, PyObject *deadline)
{
	int64_t deadline_ns = PyLong_AsLongLong(deadline);
	PyObject *mutex, *said = NULL;
	who me;

	if ((deadline_ns == -1 && PyErr_Occurred()) || (mutex = mutex_of(self)) == NULL)
		return NULL;
	if (check_holder(mutex, "wait", &me))
		said = wait_as(self, mutex, me, deadline_ns);
	Py_DECREF(mutex);
	return said;
}

static PyGetSetDef condition_fields[] = {ADDRESS, {0}};
static PyMethodDef condition_methods[] = {
	{"_wait_as_os", condition_wait, METH_O, "Wait until a deadline; False: it passed."},
	{"__enter__", condition_enter, METH_NOARGS, "Take its mutex."},
	{"__exit__", (PyCFunction)(void *)condition_exit, METH_FASTCALL, "Free its mutex."},
	{0},
};

/* ---- semaphore ---- */

static PyObject *acquire(PyObject *self, uint32_t permits, int64_t deadline_ns)
{
	void *semaphore = native(self);
	int code = WP_OK;
	bool taken;
	who me;

	if (semaphore == NULL || caller(&me) != 0)
		return NULL;
	taken = kernel.semaphore_try_acquire(semaphore, permits);
	if (!taken && deadline_ns == 0)
		Py_RETURN_FALSE;
	if (!taken && me.thread != NULL) {
		PyObject *said =
			PyObject_CallMethod(self, "_parked", "IL", permits, (long long)deadline_ns);

		if (!parked(said, &code))
			return NULL;
	} else if (!taken) {
		do {
			if (PyErr_CheckSignals() != 0)
				return NULL;
			UNLOCKED(code = kernel.semaphore_acquire_until(semaphore, permits,
								       deadline_ns));
		} while (code == WP_INTERRUPTED);
	}
	if (code == WP_OK)
		Py_RETURN_TRUE;
	return not_taken(self, code);
}

static PyObject *semaphore_take(PyObject *self, PyObject *args)
{
	long long deadline_ns;
	unsigned int permits;

	if (!PyArg_ParseTuple(args, "IL", &permits, &deadline_ns))
		return NULL;
	return acquire(self, permits, deadline_ns);
}

static PyObject *semaphore_give(PyObject *self, PyObject *permits)
{
	void *semaphore = native(self);
	unsigned long count = PyLong_AsUnsignedLong(permits);

	if (semaphore == NULL || PyErr_Occurred())
		return NULL;
	return PyBool_FromLong(kernel.semaphore_release(semaphore, (uint32_t)count) == WP_OK);
}

static PyObject *semaphore_enter(PyObject *self, PyObject *nothing)
{
	(void)nothing;
	return entered(self, acquire(self, 1, WP_FOREVER));
}

static PyObject *semaphore_exit(PyObject *self, PyObject *const *error, Py_ssize_t count)
{
	void *semaphore = native(self);
	int code;

	(void)error;
	(void)count;
	if (semaphore == NULL)
		return NULL;
	code = kernel.semaphore_release(semaphore, 1);
	if (code != WP_OK)
		return PyObject_CallMethod(self, "_refuse_more", "i", 1);
	Py_RETURN_NONE;
}

static PyGetSetDef semaphore_fields[] = {ADDRESS, {0}};
static PyMethodDef semaphore_methods[] = {
	{"_take", semaphore_take, METH_VARARGS, "Take permits until a deadline; False: it passed."},
	{"_give", semaphore_give, METH_O, "Give permits; False: there would be too many."},
	{"__enter__", semaphore_enter, METH_NOARGS, "Take one permit."},
	{"__exit__", (PyCFunction)(void *)semaphore_exit, METH_FASTCALL, "Give it back."},
	{0},
};

#if PY_VERSION_HEX >= 0x030E0000

/* ---- a lock of our own objects, held between two instructions of Python ----
 *
 * Until 3.13 that of `threading` does as well. */

typedef struct brief {
	PyObject_HEAD PyMutex mutex;
} brief;

static PyObject *brief_exit(PyObject *self, PyObject *const *error, Py_ssize_t count)
{
	(void)error;
	(void)count;
	PyMutex_Unlock(&((brief *)self)->mutex);
	Py_RETURN_NONE;
}

static PyMethodDef brief_methods[] = {
	{"__exit__", (PyCFunction)(void *)brief_exit, METH_FASTCALL, "Free it."}, {0}};

/* ---- the object `entered`: entered[lock] takes the lock, and is the lock ---- */

static PyTypeObject *condition_type, *semaphore_type, *brief_type;

static PyObject *entered_of(PyObject *self, PyObject *lock)
{
	(void)self;
	if (PyObject_TypeCheck(lock, mutex_type))
		return mutex_enter(lock, NULL);
	if (PyObject_TypeCheck(lock, condition_type))
		return condition_enter(lock, NULL);
	if (PyObject_TypeCheck(lock, semaphore_type))
		return semaphore_enter(lock, NULL);
	if (!PyObject_TypeCheck(lock, brief_type))
		return PyErr_Format(PyExc_TypeError, "entered: %R is no lock", lock);
	PyMutex_Lock(&((brief *)lock)->mutex);
	return Py_NewRef(lock);
}
#endif

/* ---- the module ---- */

static PyObject *bind(PyObject *module, PyObject *args)
{
	uintptr_t each[sizeof kernel / sizeof(uintptr_t)];
	Py_ssize_t count = sizeof each / sizeof each[0];

	(void)module;
	if (PyTuple_GET_SIZE(args) != count + 1)
		return PyErr_Format(PyExc_TypeError, "bind: of %zd", count + 1);
	for (Py_ssize_t at = 0; at < count; at++)
		each[at] = (uintptr_t)PyLong_AsVoidPtr(PyTuple_GET_ITEM(args, at + 1));
	if (PyErr_Occurred())
		return NULL;
	memcpy(&kernel, each, sizeof kernel);
	here = Py_NewRef(PyTuple_GET_ITEM(args, 0));
	if (strcmp(Py_TYPE(here)->tp_name, WP__OWN_HERE) == 0) {
		own = PyCapsule_Import(WP__OWN_VIRTUAL, 0);
		if (own == NULL)
			return NULL;
	}
	Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
	{"bind", bind, METH_VARARGS, "What knows the calling thread; the kernel's functions."},
	{0},
};

static struct PyModuleDef locks_module = {PyModuleDef_HEAD_INIT,
					  "wakeproof._native.locks",
					  "What a with block of a lock calls.",
					  -1,
					  functions,
					  NULL,
					  NULL,
					  NULL,
					  NULL};

static PyTypeObject *add(PyObject *module, const char *name, size_t size, unsigned long collected,
			 PyType_Slot *slots)
{
	PyType_Spec spec = {.name = name,
			    .basicsize = (int)size,
			    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE |
				     (unsigned int)collected,
			    .slots = slots};
	PyObject *type = PyType_FromSpec(&spec);

	if (type != NULL && PyModule_AddObjectRef(module, strrchr(name, '.') + 1, type) != 0)
		Py_CLEAR(type);
	return (PyTypeObject *)type; /* which the module has */
}

static PyTypeObject *add_lock(PyObject *module, const char *name, PyMethodDef *methods,
			      PyGetSetDef *fields)
{
	PyType_Slot slots[] = {{Py_tp_methods, methods},        {Py_tp_getset, fields},
			       {Py_tp_traverse, lock_traverse}, {Py_tp_clear, lock_clear},
			       {Py_tp_dealloc, lock_dealloc},   {0, NULL}};

	return add(module, name, sizeof(core), Py_TPFLAGS_HAVE_GC, slots);
}

/* 0; -1: an exception. */
static int add_entered(PyObject *module, PyTypeObject *condition, PyTypeObject *semaphore)
{
#if PY_VERSION_HEX >= 0x030E0000
	PyType_Slot of_brief[] = {{Py_tp_methods, brief_methods}, {0, NULL}},
		    of_entered[] = {{Py_mp_subscript, entered_of}, {0, NULL}};
	PyTypeObject *type =
		add(module, "wakeproof._native.locks.Entered", sizeof(PyObject), 0, of_entered);
	PyObject *only;
	int failed;

	condition_type = condition;
	semaphore_type = semaphore;
	brief_type = add(module, "wakeproof._native.locks.BriefCore", sizeof(brief), 0, of_brief);
	if (type == NULL || brief_type == NULL)
		return -1;
	only = PyObject_CallNoArgs((PyObject *)type);
	failed = PyModule_AddObjectRef(module, "entered", only);
	Py_XDECREF(only);
	return failed;
#else
	(void)module;
	(void)condition;
	(void)semaphore;
	return 0;
#endif
}

PyMODINIT_FUNC PyInit_locks(void)
{
	PyObject *module = PyModule_Create(&locks_module);
	PyTypeObject *condition, *semaphore;

	if (module == NULL)
		return NULL;
	if (NEEDS_NO_GIL(module) != 0) {
		Py_DECREF(module);
		return NULL;
	}
	str_thread = PyUnicode_InternFromString("thread");
	str_held = PyUnicode_InternFromString("_held");
	mutex_type =
		add_lock(module, "wakeproof._native.locks.MutexCore", mutex_methods, mutex_fields);
	condition = add_lock(module, "wakeproof._native.locks.ConditionCore", condition_methods,
			     condition_fields);
	semaphore = add_lock(module, "wakeproof._native.locks.SemaphoreCore", semaphore_methods,
			     semaphore_fields);
	if (mutex_type == NULL || condition == NULL || semaphore == NULL || str_thread == NULL ||
	    str_held == NULL || add_entered(module, condition, semaphore) != 0)
		Py_CLEAR(module);
	return module;
}
