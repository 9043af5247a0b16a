/* SPDX-License-Identifier: Apache-2.0
 * exchange.c - makes a builtin function or a method of a C type call a function of Python instead,
 * but only in virtual threads.
 *
 * Usage          blocks = original(time.sleep)        # blocks(0.1) blocks any thread
 *                exchange(time.sleep, replacement)    # virtual threads: replacement(seconds)
 *                exchange(_socket.socket.recv, ours)  # ours(sock, size, flags)
 *                restore(time.sleep)
 *
 * Why it works   Each call of a builtin reads the address of its C function from the builtin's
 *                definition (PyMethodDef.ml_meth), and all objects that stand for the builtin share
 *                the definition: names imported before, bound methods, methods that a subclass
 *                inherits. So this module writes another address there. The flags, by which the
 *                interpreter chooses how to call, stay.
 *                A C function does not learn by which definition it was called. So there is one
 *                function for each slot of a table, for each calling convention, and the slot has
 *                the definition, a copy with the original address, and the replacement. A slot
 *                belongs to its definition for ever, so that a call under way in another thread
 *                never sees it change.
 * Cost           In an OS thread: one indirect call and one look at a thread-local variable.
 * Without GIL    exchange and restore are under a lock. A call may run meanwhile: a slot is whole
 *                before its function is in the definition, and keeps a reference to each
 *                replacement that it has had, since a call may be about to use it.
 * Where          As own.c. Elsewhere there is nothing in this module.
 * Evidence       tests/python/test_exchange.py. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#if PY_VERSION_HEX < 0x030F0000 && !defined(PYPY_VERSION)

#include "free.h"
#include "own.h"

enum convention { NOARGS, ONE, VARARGS, NAMED, FAST, FAST_NAMED, METHOD, CONVENTIONS };
enum { SLOTS = 64, ON_STACK = 8 };

static const int flags_of[CONVENTIONS] = {
	[NOARGS] = METH_NOARGS,
	[ONE] = METH_O,
	[VARARGS] = METH_VARARGS,
	[NAMED] = METH_VARARGS | METH_KEYWORDS,
	[FAST] = METH_FASTCALL,
	[FAST_NAMED] = METH_FASTCALL | METH_KEYWORDS,
	[METHOD] = METH_METHOD | METH_FASTCALL | METH_KEYWORDS,
};

typedef struct slot {
	PyMethodDef *definition; /* NULL: the slot is free, and so are those behind it */
	PyMethodDef original;    /* a copy of it from before the first exchange */
	PyCFunction ours;
	PyObject *replacement; /* the last one */
	bool is_on;            /* false: it is restored */
	bool is_method;        /* `self` is an argument of the replacement */
} slot;

static slot slots[CONVENTIONS][SLOTS];
static const wp__own *own;
GUARD(slots_lock) /* who changes a slot */
#ifdef Py_GIL_DISABLED
static PyObject *kept; /* all replacements */
#endif

static bool is_replaced(const slot *one)
{
	return own->is_virtual() && LOOK_FOR(one->is_on);
}

/* Exactly one of `names` (of the last arguments) and `named` (a dict) may be set. */
static PyObject *replaced(const slot *one, PyObject *self, PyObject *const *args, Py_ssize_t count,
			  PyObject *names, PyObject *named)
{
	Py_ssize_t all = count + (names == NULL ? 0 : PyTuple_GET_SIZE(names));
	PyObject *few[ON_STACK], **passed = few, *found;
	PyObject *replacement = Py_NewRef(LOOK_FOR(one->replacement));

	if (one->is_method) {
		if (all >= ON_STACK)
			passed = PyMem_New(PyObject *, (size_t)all + 1);
		if (passed == NULL) {
			Py_DECREF(replacement);
			return PyErr_NoMemory();
		}
		passed[0] = self;
		for (Py_ssize_t at = 0; at < all; at++)
			passed[at + 1] = args[at];
		args = passed;
		count++;
	}
	found = names != NULL ? PyObject_Vectorcall(replacement, args, (size_t)count, names)
			      : PyObject_VectorcallDict(replacement, args, (size_t)count, named);
	if (passed != few)
		PyMem_Free(passed);
	Py_DECREF(replacement);
	return found;
}

static PyObject *by_noargs(const slot *one, PyObject *self, PyObject *nothing)
{
	if (!is_replaced(one))
		return one->original.ml_meth(self, nothing);
	return replaced(one, self, NULL, 0, NULL, NULL);
}

static PyObject *by_one(const slot *one, PyObject *self, PyObject *arg)
{
	if (!is_replaced(one))
		return one->original.ml_meth(self, arg);
	return replaced(one, self, &arg, 1, NULL, NULL);
}

static PyObject *by_varargs(const slot *one, PyObject *self, PyObject *args)
{
	if (!is_replaced(one))
		return one->original.ml_meth(self, args);
	return replaced(one, self, &PyTuple_GET_ITEM(args, 0), PyTuple_GET_SIZE(args), NULL, NULL);
}

static PyObject *by_named(const slot *one, PyObject *self, PyObject *args, PyObject *named)
{
	if (!is_replaced(one))
		return ((PyCFunctionWithKeywords)(void *)one->original.ml_meth)(self, args, named);
	return replaced(one, self, &PyTuple_GET_ITEM(args, 0), PyTuple_GET_SIZE(args), NULL, named);
}

static PyObject *by_fast(const slot *one, PyObject *self, PyObject *const *args, Py_ssize_t count)
{
	if (!is_replaced(one))
		return ((_PyCFunctionFast)(void *)one->original.ml_meth)(self, args, count);
	return replaced(one, self, args, count, NULL, NULL);
}

static PyObject *by_fast_named(const slot *one, PyObject *self, PyObject *const *args,
			       Py_ssize_t count, PyObject *names)
{
	if (!is_replaced(one))
		return ((_PyCFunctionFastWithKeywords)(void *)one->original.ml_meth)(self, args,
										     count, names);
	return replaced(one, self, args, count, names, NULL);
}

static PyObject *by_method(const slot *one, PyObject *self, PyTypeObject *type,
			   PyObject *const *args, Py_ssize_t count, PyObject *names)
{
	if (!is_replaced(one))
		return ((PyCMethod)(void *)one->original.ml_meth)(self, type, args, count, names);
	return replaced(one, self, args, count, names, NULL);
}

/* ---- one function for each slot; a slot's number is two octal digits ---- */

#define FUNCTIONS(a, b)                                                                           \
	static PyObject *noargs_##a##b(PyObject *self, PyObject *nothing)                         \
	{                                                                                         \
		return by_noargs(&slots[NOARGS][0##a##b], self, nothing);                         \
	}                                                                                         \
	static PyObject *one_##a##b(PyObject *self, PyObject *arg)                                \
	{                                                                                         \
		return by_one(&slots[ONE][0##a##b], self, arg);                                   \
	}                                                                                         \
	static PyObject *varargs_##a##b(PyObject *self, PyObject *args)                           \
	{                                                                                         \
		return by_varargs(&slots[VARARGS][0##a##b], self, args);                          \
	}                                                                                         \
	static PyObject *named_##a##b(PyObject *self, PyObject *args, PyObject *named)            \
	{                                                                                         \
		return by_named(&slots[NAMED][0##a##b], self, args, named);                       \
	}                                                                                         \
	static PyObject *fast_##a##b(PyObject *self, PyObject *const *args, Py_ssize_t count)     \
	{                                                                                         \
		return by_fast(&slots[FAST][0##a##b], self, args, count);                         \
	}                                                                                         \
	static PyObject *fast_named_##a##b(PyObject *self, PyObject *const *args,                 \
					   Py_ssize_t count, PyObject *names)                     \
	{                                                                                         \
		return by_fast_named(&slots[FAST_NAMED][0##a##b], self, args, count, names);      \
	}                                                                                         \
	static PyObject *method_##a##b(PyObject *self, PyTypeObject *type, PyObject *const *args, \
				       Py_ssize_t count, PyObject *names)                         \
	{                                                                                         \
		return by_method(&slots[METHOD][0##a##b], self, type, args, count, names);        \
	}

#define PLAIN(function) (PyCFunction)(void *) function
#define ADDRESSES(a, b)                                                             \
	{                                                                           \
		PLAIN(noargs_##a##b), PLAIN(one_##a##b),  PLAIN(varargs_##a##b),    \
		PLAIN(named_##a##b),  PLAIN(fast_##a##b), PLAIN(fast_named_##a##b), \
		PLAIN(method_##a##b)},

#define EIGHT(X, a) X(a, 0) X(a, 1) X(a, 2) X(a, 3) X(a, 4) X(a, 5) X(a, 6) X(a, 7)
#define ALL(X)      \
	EIGHT(X, 0) \
	EIGHT(X, 1) EIGHT(X, 2) EIGHT(X, 3) EIGHT(X, 4) EIGHT(X, 5) EIGHT(X, 6) EIGHT(X, 7)

ALL(FUNCTIONS)

static const PyCFunction addresses[SLOTS][CONVENTIONS] = {ALL(ADDRESSES)};

/* ---- for Python ---- */

/* The definition of a builtin function or of a method of a C type; else NULL and TypeError. */
static PyMethodDef *definition_of(PyObject *function)
{
	PyObject *self;

	if (Py_IS_TYPE(function, &PyMethodDescr_Type))
		return ((PyMethodDescrObject *)function)->d_method;
	if (PyCFunction_Check(function)) {
		self = ((PyCFunctionObject *)function)->m_self;
		if (self == NULL || PyModule_Check(self))
			return ((PyCFunctionObject *)function)->m_ml;
	}
	PyErr_Format(
		PyExc_TypeError,
		"%R cannot be exchanged; allowed: a builtin function of a module, or a method of a "
		"C type, such as time.sleep or _socket.socket.recv",
		function);
	return NULL;
}

static int convention_of(const PyMethodDef *definition)
{
	for (int at = 0; at < CONVENTIONS; at++)
		if (definition->ml_flags == flags_of[at])
			return at;
	PyErr_Format(
		PyExc_TypeError,
		"%s cannot be exchanged: flags %d of its definition are those of no call that is "
		"known here",
		definition->ml_name, definition->ml_flags);
	return -1;
}

/* The number of the definition's slot, or of a free one. SLOTS: all are taken. */
static int slot_of(int convention, const PyMethodDef *definition)
{
	int at = 0;

	while (at < SLOTS && slots[convention][at].definition != NULL &&
	       slots[convention][at].definition != definition)
		at++;
	return at;
}

/* The slot of that function, which gets one if it has none; else NULL and an exception. */
static slot *claimed(PyObject *function)
{
	PyMethodDef *definition = definition_of(function);
	int convention = definition == NULL ? -1 : convention_of(definition), at;
	slot *one;

	if (convention < 0)
		return NULL;
	at = slot_of(convention, definition);
	if (at == SLOTS) {
		PyErr_Format(PyExc_RuntimeError,
			     "%R cannot be exchanged: all %d slots of its kind are taken", function,
			     SLOTS);
		return NULL;
	}
	one = &slots[convention][at];
	if (one->definition == NULL) {
		one->is_method = Py_IS_TYPE(function, &PyMethodDescr_Type);
		one->original = *definition;
		one->ours = addresses[at][convention];
		one->definition = definition;
	}
	return one;
}

static PyObject *original(PyObject *module, PyObject *function)
{
	PyCFunctionObject *plain = (PyCFunctionObject *)function;
	slot *one;

	(void)module;
	LOCK(slots_lock);
	one = claimed(function);
	UNLOCK(slots_lock);
	if (one == NULL)
		return NULL;
	if (one->is_method)
		return PyDescr_NewMethod(((PyMethodDescrObject *)function)->d_common.d_type,
					 &one->original);
	return PyCMethod_New(&one->original, plain->m_self, plain->m_module,
			     PyCFunction_GET_CLASS(function));
}

/* Makes it the slot's replacement. Without the GIL a call may be about to use the one before. */
static bool keep(slot *one, PyObject *replacement)
{
	PyObject *before = one->replacement;

	if (before == replacement)
		return true;
#ifdef Py_GIL_DISABLED
	if (kept == NULL)
		kept = PyList_New(0);
	if (kept == NULL || PyList_Append(kept, replacement) != 0)
		return false;
#endif
	PUBLISH(one->replacement, Py_NewRef(replacement));
	Py_XDECREF(before);
	return true;
}

static PyObject *exchange(PyObject *module, PyObject *args)
{
	PyObject *function, *replacement;
	slot *one;

	(void)module;
	if (!PyArg_ParseTuple(args, "OO:exchange", &function, &replacement))
		return NULL;
	if (!PyCallable_Check(replacement))
		return PyErr_Format(PyExc_TypeError, "replacement is %R; allowed: a callable",
				    replacement);
	LOCK(slots_lock);
	one = claimed(function);
	if (one != NULL && one->is_on)
		PyErr_Format(PyExc_ValueError, "%R is exchanged already; restore it first",
			     function);
	else if (one != NULL && keep(one, replacement)) {
		PUBLISH(one->is_on, true);
		PUBLISH(one->definition->ml_meth, one->ours);
	}
	UNLOCK(slots_lock);
	if (PyErr_Occurred())
		return NULL;
	Py_RETURN_NONE;
}

static PyObject *restore(PyObject *module, PyObject *function)
{
	slot *one;

	(void)module;
	LOCK(slots_lock);
	one = claimed(function);
	if (one != NULL && !one->is_on)
		PyErr_Format(PyExc_ValueError, "%R is not exchanged", function);
	else if (one != NULL) {
		PUBLISH(one->definition->ml_meth, one->original.ml_meth);
		PUBLISH(one->is_on, false);
	}
	UNLOCK(slots_lock);
	if (PyErr_Occurred())
		return NULL;
	Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
	{"original", original, METH_O,
	 "Return a callable that does what that function did at first."},
	{"exchange", exchange, METH_VARARGS,
	 "Let virtual threads call `replacement` for `function`."},
	{"restore", restore, METH_O, "Undo the exchange of that function."},
	{0},
};

static int fill(PyObject *module)
{
	PyObject *needed = PyImport_ImportModule("wakeproof._native.own");

	if (needed == NULL)
		return -1;
	Py_DECREF(needed);
	own = PyCapsule_Import(WP__OWN_VIRTUAL, 0);
	return own == NULL ? -1 : NEEDS_NO_GIL(module);
}

#else

static PyMethodDef functions[] = {{0}};

static int fill(PyObject *module)
{
	(void)module;
	PyErr_SetString(PyExc_ImportError,
			"wakeproof._native.exchange is for CPython 3.11 to 3.14");
	return -1;
}

#endif

static struct PyModuleDef exchange_module = {
	PyModuleDef_HEAD_INIT,
	"wakeproof._native.exchange",
	"Builtin functions that call others in virtual threads.",
	-1,
	functions,
	NULL,
	NULL,
	NULL,
	NULL};

PyMODINIT_FUNC PyInit_exchange(void)
{
	PyObject *module = PyModule_Create(&exchange_module);

	if (module != NULL && fill(module) != 0)
		Py_CLEAR(module);
	return module;
}
