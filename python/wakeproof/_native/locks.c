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
 *                hence also after __enter__. It runs none where an attribute is read, and when a
 *                method of Python returns. So there __enter__ is a method of Python that reads the
 *                attribute `_entered` (_runtime/locks.py), and the read takes the lock.
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
	PyObject *holder;           /* of a mutex; NULL: nobody */
} core;

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

/* A new reference; None: nobody. */
static PyObject *holder_of(PyObject *self)
{
	PyObject *found;

	BEGIN_HOLDER(self)
	found = ((core *)self)->holder;
	Py_XINCREF(found);
	END_HOLDER()
	return found == NULL ? Py_NewRef(Py_None) : found;
}

static void set_holder(PyObject *self, PyObject *who)
{
	PyObject *old;

	Py_XINCREF(who);
	BEGIN_HOLDER(self)
	old = ((core *)self)->holder;
	((core *)self)->holder = who;
	END_HOLDER()
	Py_XDECREF(old);
}

/* The calling virtual thread, or the number of the calling OS thread. */
static PyObject *caller(void)
{
	PyObject *thread =
		own != NULL ? Py_XNewRef(own->thread()) : PyObject_GetAttr(here, str_thread);

	if (thread == NULL ? own == NULL : thread != Py_None)
		return thread;
	Py_XDECREF(thread);
	return PyLong_FromUnsignedLong(PyThread_get_thread_ident());
}

static bool is_os(PyObject *caller)
{
	return PyLong_CheckExact(caller);
}

/* 1: `who` holds the mutex; 0: not; -1: an exception. */
static int holds(PyObject *self, PyObject *who)
{
	PyObject *holder = holder_of(self);
	int same;

	same = holder == who ||
	       (is_os(holder) && is_os(who) && PyObject_RichCompareBool(holder, who, Py_EQ));
	Py_DECREF(holder);
	return same;
}

/* Notes that `who` holds the mutex, or (`hold` is false) that nobody does. */
static int note(PyObject *self, PyObject *who, bool hold)
{
	if (!is_os(who)) { /* the mutexes that a virtual thread has */
		PyObject *held = own != NULL ? own->held(who) : PyObject_GetAttr(who, str_held);
		int failed = -1;

		if (held != NULL)
			failed = hold ? PySet_Add(held, self) : PySet_Discard(held, self);

		Py_XDECREF(held);
		if (failed < 0)
			return -1;
	}
	set_holder(self, hold ? who : NULL);
	return 0;
}

/* What a wait that ended with `code` means, when the lock is not taken. */
static PyObject *not_taken(PyObject *self, int code)
{
	if (code == WP_TIMEOUT)
		Py_RETURN_FALSE;
	return PyObject_CallMethod(self, "_told", "i", code);
}

/* What a lock that ended with `code` means: True: `who` has the mutex. */
static PyObject *has(PyObject *self, PyObject *who, int code)
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
	if (note(self, who, true) == 0)
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

static PyObject *take_as(PyObject *self, PyObject *who, int64_t deadline_ns)
{
	void *mutex = native(self);
	int code = WP_OK, held = holds(self, who);
	bool taken;

	if (mutex == NULL || held < 0)
		return NULL;
	if (held)
		return PyObject_CallMethod(self, "_refuse_again", NULL);
	taken = kernel.mutex_try_lock(mutex);
	if (!taken && deadline_ns == 0)
		Py_RETURN_FALSE;
	if (!taken && !is_os(who)) {
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
	return has(self, who, code);
}

static PyObject *mutex_take(PyObject *self, PyObject *deadline)
{
	int64_t deadline_ns = PyLong_AsLongLong(deadline);
	PyObject *who, *said;

	if ((deadline_ns == -1 && PyErr_Occurred()) || (who = caller()) == NULL)
		return NULL;
	said = take_as(self, who, deadline_ns);
	Py_DECREF(who);
	return said;
}

static PyObject *mutex_has(PyObject *self, PyObject *number)
{
	int code = (int)PyLong_AsLong(number);
	PyObject *who, *said;

	if (PyErr_Occurred() || (who = caller()) == NULL)
		return NULL;
	said = has(self, who, code);
	Py_DECREF(who);
	return said;
}

/* 1: the caller holds the mutex, and is `*who`; else an exception, which names `what`. */
static int check_holder(PyObject *self, const char *what, PyObject **who)
{
	int held;

	*who = caller();
	held = *who == NULL ? -1 : holds(self, *who);
	if (held == 0)
		Py_XDECREF(PyObject_CallMethod(self, "_refuse_stranger", "s", what));
	if (held != 1)
		Py_CLEAR(*who);
	return held == 1;
}

static PyObject *mutex_release(PyObject *self, PyObject *nothing)
{
	void *mutex = native(self);
	PyObject *who;
	int failed;

	(void)nothing;
	if (mutex == NULL || !check_holder(self, "release", &who))
		return NULL;
	failed = note(self, who, false);
	Py_DECREF(who);
	if (failed)
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
	PyObject *who = caller(), *taken;

	(void)nothing;
	if (who == NULL)
		return NULL;
	taken = take_as(self, who, WP_FOREVER);
	Py_DECREF(who);
	return entered(self, taken);
}

static PyObject *mutex_exit(PyObject *self, PyObject *error)
{
	(void)error;
	return mutex_release(self, NULL);
}

static PyObject *mutex_entered(PyObject *self, void *nothing)
{
	(void)nothing;
	return mutex_enter(self, NULL);
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

static int holder_put(PyObject *self, PyObject *who, void *nothing)
{
	(void)nothing;
	set_holder(self, who == Py_None ? NULL : who);
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
	{"_entered", mutex_entered, NULL, NULL, NULL},
	{"_holder", holder_get, holder_put, "Who has it, or None.", NULL},
	ADDRESS,
	{0}};
static PyMethodDef mutex_methods[] = {
	{"_take", mutex_take, METH_O, "Take it until a deadline; False: it passed."},
	{"_has", mutex_has, METH_O, "Note that the caller has it, if that code of a lock says so."},
	{"_free", mutex_release, METH_NOARGS, "Let the next one have it."},
	{"__enter__", mutex_enter, METH_NOARGS, "Take it."},
	{"__exit__", mutex_exit, METH_VARARGS, "Let the next one have it."},
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

static PyObject *condition_exit(PyObject *self, PyObject *error)
{
	PyObject *mutex = mutex_of(self), *said;

	(void)error;
	if (mutex == NULL)
		return NULL;
	said = mutex_release(mutex, NULL);
	Py_DECREF(mutex);
	return said;
}

/* [the caller is an OS thread, and `who` is its number] */
static PyObject *wait_as(PyObject *self, PyObject *mutex, PyObject *who, int64_t deadline_ns)
{
	void *condition = native(self), *lock = native(mutex);
	int code;

	if (condition == NULL || lock == NULL || note(mutex, who, false) != 0)
		return NULL;
	UNLOCKED(code = kernel.condition_wait_until(condition, lock, deadline_ns));
	if (note(mutex, who, true) != 0)
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
	PyObject *mutex, *who, *said = NULL;

	if ((deadline_ns == -1 && PyErr_Occurred()) || (mutex = mutex_of(self)) == NULL)
		return NULL;
	if (check_holder(mutex, "wait", &who)) {
		said = wait_as(self, mutex, who, deadline_ns);
		Py_DECREF(who);
	}
	Py_DECREF(mutex);
	return said;
}

static PyObject *condition_entered(PyObject *self, void *nothing)
{
	(void)nothing;
	return condition_enter(self, NULL);
}

static PyGetSetDef condition_fields[] = {
	{"_entered", condition_entered, NULL, NULL, NULL}, ADDRESS, {0}};
static PyMethodDef condition_methods[] = {
	{"_wait_as_os", condition_wait, METH_O, "Wait until a deadline; False: it passed."},
	{"__enter__", condition_enter, METH_NOARGS, "Take its mutex."},
	{"__exit__", condition_exit, METH_VARARGS, "Free its mutex."},
	{0},
};

/* ---- semaphore ---- */

static PyObject *acquire(PyObject *self, uint32_t permits, int64_t deadline_ns)
{
	void *semaphore = native(self);
	PyObject *who;
	int code = WP_OK;
	bool taken, is_virtual;

	if (semaphore == NULL || (who = caller()) == NULL)
		return NULL;
	is_virtual = !is_os(who);
	Py_DECREF(who);
	taken = kernel.semaphore_try_acquire(semaphore, permits);
	if (!taken && deadline_ns == 0)
		Py_RETURN_FALSE;
	if (!taken && is_virtual) {
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

static PyObject *semaphore_exit(PyObject *self, PyObject *error)
{
	void *semaphore = native(self);
	int code;

	(void)error;
	if (semaphore == NULL)
		return NULL;
	code = kernel.semaphore_release(semaphore, 1);
	if (code != WP_OK)
		return PyObject_CallMethod(self, "_refuse_more", "i", 1);
	Py_RETURN_NONE;
}

static PyObject *semaphore_entered(PyObject *self, void *nothing)
{
	(void)nothing;
	return semaphore_enter(self, NULL);
}

static PyGetSetDef semaphore_fields[] = {
	{"_entered", semaphore_entered, NULL, NULL, NULL}, ADDRESS, {0}};
static PyMethodDef semaphore_methods[] = {
	{"_take", semaphore_take, METH_VARARGS, "Take permits until a deadline; False: it passed."},
	{"_give", semaphore_give, METH_O, "Give permits; False: there would be too many."},
	{"__enter__", semaphore_enter, METH_NOARGS, "Take one permit."},
	{"__exit__", semaphore_exit, METH_VARARGS, "Give it back."},
	{0},
};

/* ---- a lock of our own objects, held between two instructions of Python ---- */

#if PY_VERSION_HEX >= 0x030E0000 /* until 3.13 that of `threading` does as well */
typedef struct brief {
	PyObject_HEAD PyMutex mutex;
} brief;

static PyObject *brief_entered(PyObject *self, void *nothing)
{
	(void)nothing;
	PyMutex_Lock(&((brief *)self)->mutex);
	Py_RETURN_NONE;
}

static PyObject *brief_exit(PyObject *self, PyObject *error)
{
	(void)error;
	PyMutex_Unlock(&((brief *)self)->mutex);
	Py_RETURN_NONE;
}

static PyGetSetDef brief_fields[] = {{"_entered", brief_entered, NULL, NULL, NULL}, {0}};
static PyMethodDef brief_methods[] = {{"__exit__", brief_exit, METH_VARARGS, "Free it."}, {0}};
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

PyMODINIT_FUNC PyInit_locks(void)
{
	PyObject *module = PyModule_Create(&locks_module);

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
	if (mutex_type == NULL || str_thread == NULL || str_held == NULL ||
	    add_lock(module, "wakeproof._native.locks.ConditionCore", condition_methods,
		     condition_fields) == NULL ||
	    add_lock(module, "wakeproof._native.locks.SemaphoreCore", semaphore_methods,
		     semaphore_fields) == NULL)
		Py_CLEAR(module);
#if PY_VERSION_HEX >= 0x030E0000
	if (module != NULL && add(module, "wakeproof._native.locks.BriefCore", sizeof(brief), 0,
				  (PyType_Slot[]){{Py_tp_methods, brief_methods},
						  {Py_tp_getset, brief_fields},
						  {0, NULL}}) == NULL)
		Py_CLEAR(module);
#endif
	return module;
}
