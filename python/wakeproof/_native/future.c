/* SPDX-License-Identifier: Apache-2.0
 * future.c - the hot path of futures: make, set, ask for the result, wait for it.
 *
 *   setter, no condition was made        setter, else: Python's own method, which
 *     state, value                         takes the condition, wakes Python's waiters
 *     the signal is set                    and calls _invoke_callbacks, which sets the signal
 *     callbacks
 *
 * Why it works   Python's own methods guard a future by its condition, which is made when it is first
 *                asked for. Until then nobody can have taken it, nor have entered `_waiters`, and a
 *                step here runs no code of Python between its look at the condition and its last
 *                write: with the GIL no other thread sees half of it.
 *                Who waits for the result waits for the signal of core.c: set after the state.
 * Where          As core.c, with the GIL. Elsewhere `Future` of _runtime/future.py is Python's.
 * Evidence       tests/python/test_executors.py, test_executors_stdlib.py, test_future.py. */
#include "own.h"

#if PY_VERSION_HEX < 0x030F0000 && !defined(Py_GIL_DISABLED) && !defined(PYPY_VERSION)

#include <stddef.h>
#include <structmember.h>

enum state { PENDING, RUNNING, CANCELLED, NOTIFIED, FINISHED, STATES };
static const char *const names_of_states[STATES] = {"PENDING", "RUNNING", "CANCELLED",
						    "CANCELLED_AND_NOTIFIED", "FINISHED"};
static PyObject *states[STATES];

/* NULL: none yet, or None. */
#define FIELDS(each)                                                                             \
	each(result) each(exception) each(callbacks) each(condition) each(waiters) each(permits) \
		each(signal) each(call)
#define FIELD(name) PyObject *name;
typedef struct future {
	PyObject_HEAD FIELDS(FIELD) enum state state;
} future;

#define OF(object) ((future *)(void *)(object))

/* Python's own Future; what makes the fields; what a call of a pool waits by. */
#define CALLED(each)                                                                   \
	each(base) each(new_condition) each(new_waiters) each(new_signal) each(waited) \
		each(cancelled_error) each(future_type)
#define OBJECT(name) PyObject *name;
static struct {
	CALLED(OBJECT)
} py;
#define STRING(name) #name,
static const char *const called[] = {CALLED(STRING)};

static PyObject *zero, *str_invoke, *str_leave_line;

static bool is_done(const future *self)
{
	return self->state >= CANCELLED;
}

/* ---- set ---- */

/* Python's own method, on a future that has a condition. */
static PyObject *by_python(const char *name, PyObject *self, PyObject *argument)
{
	PyObject *method = PyObject_GetAttrString(py.base, name), *said;

	if (method == NULL)
		return NULL;
	said = PyObject_CallFunctionObjArgs(method, self, argument, NULL);
	Py_DECREF(method);
	return said;
}

static int wake(future *self)
{
	return self->signal == NULL ? 0 : wp__signal_set(self->signal);
}

/* Who waits is woken also if Python's own method was interrupted on its way. */
static PyObject *woken(future *self, PyObject *said)
{
	PyObject *kind, *error, *trace;

	if (said == NULL && is_done(self)) {
		PyErr_Fetch(&kind, &error, &trace);
		if (wake(self) != 0)
			PyErr_Clear();
		PyErr_Restore(kind, error, trace);
	}
	return said;
}

static PyObject *finish(PyObject *object, PyObject *value, PyObject **field, const char *name)
{
	future *self = OF(object);

	if (self->condition != NULL || is_done(self))
		return woken(self, by_python(name, object, value));
	*field = Py_NewRef(value); /* nothing was there */
	self->state = FINISHED;
	if (self->callbacks != NULL)
		return PyObject_CallMethodNoArgs(object, str_invoke);
	if (wake(self) != 0)
		return NULL;
	Py_RETURN_NONE;
}

static PyObject *set_result(PyObject *self, PyObject *value)
{
	return finish(self, value, &OF(self)->result, "set_result");
}

static PyObject *set_exception(PyObject *self, PyObject *error)
{
	return finish(self, error, &OF(self)->exception, "set_exception");
}

static PyObject *invoke_callbacks(PyObject *self, PyObject *nothing)
{
	(void)nothing;
	if (wake(OF(self)) != 0)
		return NULL;
	if (OF(self)->callbacks == NULL)
		Py_RETURN_NONE;
	return by_python("_invoke_callbacks", self, NULL);
}

static PyObject *cancel(PyObject *self, PyObject *nothing)
{
	PyObject *said = woken(OF(self), by_python("cancel", self, NULL)), *call, *left;

	(void)nothing;
	call = said == Py_True ? OF(self)->call : NULL;
	if (call == NULL)
		return said;
	Py_INCREF(call);
	left = PyObject_CallMethodNoArgs(call,
					 str_leave_line); /* of those that wait for a permit */
	Py_DECREF(call);
	if (left == NULL)
		Py_CLEAR(said);
	Py_XDECREF(left);
	return said;
}

static PyObject *set_running(PyObject *self, PyObject *nothing)
{
	(void)nothing;
	if (OF(self)->condition != NULL || OF(self)->state != PENDING)
		return by_python("set_running_or_notify_cancel", self, NULL);
	OF(self)->state = RUNNING;
	Py_RETURN_TRUE;
}

static PyObject *callbacks_of(future *self)
{
	if (self->callbacks == NULL) {
		PyObject *made = PyList_New(0);

		if (self->callbacks == NULL) /* the allocation may have run code of Python */
			self->callbacks = made;
		else
			Py_XDECREF(made);
	}
	return self->callbacks;
}

static PyObject *add_done_callback(PyObject *object, PyObject *callback)
{
	future *self = OF(object);
	PyObject *list = callbacks_of(self);

	if (list == NULL)
		return NULL;
	if (self->condition != NULL || is_done(self))
		return by_python("add_done_callback", object, callback);
	if (PyList_Append(list, callback) != 0)
		return NULL;
	Py_RETURN_NONE;
}

/* ---- ask ---- */

static PyObject *done(PyObject *self, PyObject *nothing)
{
	(void)nothing;
	return PyBool_FromLong(is_done(OF(self)));
}

static PyObject *running(PyObject *self, PyObject *nothing)
{
	(void)nothing;
	return PyBool_FromLong(OF(self)->state == RUNNING);
}

static PyObject *cancelled(PyObject *self, PyObject *nothing)
{
	(void)nothing;
	return PyBool_FromLong(OF(self)->state == CANCELLED || OF(self)->state == NOTIFIED);
}

/* 0: it is done, or the time is over; -1: an exception. */
static int wait(future *self, PyObject *timeout)
{
	PyObject *signal, *said;
	int is_less = timeout == Py_None ? 0 : PyObject_RichCompareBool(timeout, zero, Py_LT),
	    failed;

	if (is_less < 0)
		return -1;
	if (self->signal == NULL) {
		signal = PyObject_CallNoArgs(py.new_signal);
		if (self->signal == NULL)
			self->signal = signal;
		else
			Py_XDECREF(signal);
	}
	if (self->signal == NULL)
		return -1;
	if (is_done(self)) /* since the caller looked */
		return 0;
	signal = Py_NewRef(self->signal);
	timeout = is_less ? zero : timeout;
	if (wp__core_permitted()) {
		said = PyObject_CallFunctionObjArgs(py.waited, signal, timeout,
						    self->permits == NULL ? Py_None : self->permits,
						    NULL);
		failed = said == NULL ? -1 : 0;
		Py_XDECREF(said);
	} else {
		failed = wp__signal_wait(signal, timeout);
	}
	Py_DECREF(signal);
	return failed;
}

/* The timeout, or None: borrowed. NULL: an exception. */
static PyObject *timeout_of(const char *name, PyObject *const *args, Py_ssize_t count,
			    PyObject *keywords)
{
	Py_ssize_t named = keywords == NULL ? 0 : PyTuple_GET_SIZE(keywords);

	if (count + named == 0)
		return Py_None;
	if (count + named == 1 &&
	    (named == 0 ||
	     PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(keywords, 0), "timeout") == 0))
		return args[0];
	return PyErr_Format(PyExc_TypeError, "%s: takes a timeout only", name);
}

/* 0: it is FINISHED; -1: an exception. */
static int await_end(future *self, PyObject *timeout)
{
	wp__core_asks();
	if (timeout == NULL || (!is_done(self) && wait(self, timeout) != 0))
		return -1;
	if (self->state == FINISHED)
		return 0;
	if (is_done(self))
		PyErr_SetNone(py.cancelled_error);
	else
		PyErr_SetNone(PyExc_TimeoutError);
	return -1;
}

static PyObject *result(PyObject *object, PyObject *const *args, Py_ssize_t count,
			PyObject *keywords)
{
	future *self = OF(object);

	if (await_end(self, timeout_of("result", args, count, keywords)) != 0)
		return NULL;
	if (self->exception == NULL || self->exception == Py_None)
		return Py_NewRef(self->result == NULL ? Py_None : self->result);
	if (PyExceptionInstance_Check(self->exception))
		PyErr_SetObject((PyObject *)Py_TYPE(self->exception), self->exception);
	else
		PyErr_SetString(PyExc_TypeError, "exceptions must derive from BaseException");
	return NULL;
}

static PyObject *exception(PyObject *object, PyObject *const *args, Py_ssize_t count,
			   PyObject *keywords)
{
	if (await_end(OF(object), timeout_of("exception", args, count, keywords)) != 0)
		return NULL;
	return Py_NewRef(OF(object)->exception == NULL ? Py_None : OF(object)->exception);
}

/* ---- of a call of a pool ---- */

PyObject *wp__future_new(PyObject *call, PyObject *permits)
{
	PyTypeObject *type = (PyTypeObject *)py.future_type;
	PyObject *made = type->tp_alloc(type, 0);

	if (made != NULL) {
		OF(made)->call = Py_NewRef(call);
		OF(made)->permits = Py_XNewRef(permits);
	}
	return made;
}

void wp__future_forget(PyObject *self)
{
	Py_CLEAR(OF(self)->call);
}

int wp__future_begin(PyObject *self)
{
	PyObject *said = set_running(self, NULL);
	int truth = said == NULL ? -1 : said == Py_True;

	Py_XDECREF(said);
	return truth;
}

bool wp__future_is_done(PyObject *self)
{
	return is_done(OF(self));
}

static int told(PyObject *said)
{
	Py_XDECREF(said);
	return said == NULL ? -1 : 0;
}

int wp__future_succeed(PyObject *self, PyObject *value)
{
	return told(set_result(self, value));
}

int wp__future_fail(PyObject *self, PyObject *error)
{
	return told(set_exception(self, error));
}

/* ---- what Python's own methods use ---- */

/* Made by `make` when it is first asked for. */
static PyObject *lazily(PyObject **field, PyObject *make, PyObject *argument)
{
	if (*field == NULL) {
		PyObject *made = argument == NULL ? PyObject_CallNoArgs(make)
						  : PyObject_CallOneArg(make, argument);

		if (*field == NULL)
			*field = made;
		else
			Py_XDECREF(made);
	}
	return Py_XNewRef(*field);
}

static PyObject *condition_get(PyObject *self, void *nothing)
{
	(void)nothing;
	return lazily(&OF(self)->condition, py.new_condition, NULL);
}

static PyObject *waiters_get(PyObject *self, void *nothing)
{
	(void)nothing;
	return lazily(&OF(self)->waiters, py.new_waiters,
		      OF(self)->permits == NULL ? Py_None : OF(self)->permits);
}

static PyObject *callbacks_get(PyObject *self, void *nothing)
{
	(void)nothing;
	return Py_XNewRef(callbacks_of(OF(self)));
}

static PyObject *state_get(PyObject *self, void *nothing)
{
	(void)nothing;
	return Py_NewRef(states[OF(self)->state]);
}

static int state_put(PyObject *self, PyObject *value, void *nothing)
{
	(void)nothing;
	for (int n = 0; value != NULL && PyUnicode_Check(value) && n < STATES; n++)
		if (PyUnicode_Compare(states[n], value) == 0) {
			OF(self)->state = (enum state)n;
			return 0;
		}
	PyErr_Format(PyExc_ValueError, "_state: no state of a future: %R", value);
	return -1;
}

#define VISIT(field) Py_VISIT(OF(self)->field);
#define CLEAR(field) Py_CLEAR(OF(self)->field);

static int traverse(PyObject *self, visitproc visit, void *arg)
{
	Py_VISIT(Py_TYPE(self));
	FIELDS(VISIT)
	return 0;
}

static int clear(PyObject *self)
{
	FIELDS(CLEAR)
	return 0;
}

static void dealloc(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);

	PyObject_GC_UnTrack(self);
	clear(self);
	type->tp_free(self);
	Py_DECREF(type);
}

static PyMethodDef methods[] = {
	{"_invoke_callbacks", invoke_callbacks, METH_NOARGS,
	 "Wake who waits, and call the callbacks."},
	{"add_done_callback", add_done_callback, METH_O,
	 "Call it with the future, when that is done."},
	{"cancel", cancel, METH_NOARGS,
	 "Cancel the call, if it has not begun; return whether it is."},
	{"cancelled", cancelled, METH_NOARGS, "Return whether it was cancelled."},
	{"done", done, METH_NOARGS, "Return whether it has an outcome, or was cancelled."},
	{"exception", (PyCFunction)(void *)exception, METH_FASTCALL | METH_KEYWORDS,
	 "Return what the call raised; arguments and errors are those of `result`."},
	{"result", (PyCFunction)(void *)result, METH_FASTCALL | METH_KEYWORDS,
	 "Return what the call returned, or raise what it raised; a virtual thread parks.\n\n"
	 "Args:\n"
	 "    timeout: seconds; negative: 0; default None: wait without a limit.\n\n"
	 "Raises:\n"
	 "    TimeoutError: the time ran out.\n"
	 "    CancelledError: the future was cancelled.\n"
	 "    ThreadInterruptedError: the caller is a virtual thread, and was interrupted.\n"
	 "    DeadlockError: there is no limit, and nothing is left that could end the call."},
	{"running", running, METH_NOARGS, "Return whether the call runs."},
	{"set_exception", set_exception, METH_O, "Set what the call has raised."},
	{"set_result", set_result, METH_O, "Set what the call has returned."},
	{"set_running_or_notify_cancel", set_running, METH_NOARGS,
	 "Begin the call; return whether it may run."},
	{0},
};
static PyGetSetDef fields[] = {
	{"_condition", condition_get, NULL, "Guards Python's own methods.", NULL},
	{"_done_callbacks", callbacks_get, NULL, "What is called when it is done.", NULL},
	{"_state", state_get, state_put, "The state, by the name that Python's own has.", NULL},
	{"_waiters", waiters_get, NULL, "Those of `wait` and `as_completed`.", NULL},
	{0}};
#define MEMBER(name, flags) {"_" #name, T_OBJECT, offsetof(future, name), flags, NULL}
static PyMemberDef members[] = {
	MEMBER(result, 0),
	MEMBER(exception, 0),
	MEMBER(signal, READONLY),
	{"permits", T_OBJECT, offsetof(future, permits), 0,
	 "The permits of the pool that limits how many calls run, or None."},
	{0}};
static PyType_Slot slots[] = {{Py_tp_new, PyType_GenericNew}, {Py_tp_traverse, traverse},
			      {Py_tp_clear, clear},           {Py_tp_dealloc, dealloc},
			      {Py_tp_methods, methods},       {Py_tp_getset, fields},
			      {Py_tp_members, members},       {0, NULL}};
static PyType_Spec spec = {.name = "wakeproof._native.own.FutureCore",
			   .basicsize = sizeof(future),
			   .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
			   .slots = slots};

/* ---- the module ---- */

static PyObject *bind_future(PyObject *module, PyObject *objects)
{
	(void)module;
	for (size_t n = 0; n < sizeof called / sizeof *called; n++) {
		PyObject *found =
			PyDict_Check(objects) ? PyDict_GetItemString(objects, called[n]) : NULL;

		if (found == NULL)
			return PyErr_Format(PyExc_TypeError, "bind: %s is missing", called[n]);
		((PyObject **)&py)[n] = Py_NewRef(found);
	}
	Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
	{"bind_future", bind_future, METH_O, "Take what is called, by name."},
	{0},
};

int wp__future_fill(PyObject *module)
{
	PyObject *type = PyType_FromSpec(&spec);
	int failed = PyModule_AddObjectRef(module, "FutureCore", type);

	Py_XDECREF(type);
	zero = PyLong_FromLong(0);
	str_leave_line = PyUnicode_InternFromString("leave_line");
	str_invoke = PyUnicode_InternFromString("_invoke_callbacks");
	for (int n = 0; n < STATES; n++) {
		states[n] = PyUnicode_InternFromString(names_of_states[n]);
		if (states[n] == NULL)
			return -1;
	}
	return failed != 0 || zero == NULL || str_invoke == NULL
		       ? -1
		       : PyModule_AddFunctions(module, functions);
}

#else

int wp__future_fill(PyObject *module)
{
	(void)module;
	return 0;
}

#endif
