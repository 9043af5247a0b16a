/* SPDX-License-Identifier: Apache-2.0
 * future.c - the hot path of futures: make, set, ask for the result, wait for it.
 *
 *   setter, no condition was made        setter, else: Python's own method, which
 *     state, value                         takes the condition, wakes Python's waiters
 *     the signal is set                    and calls _invoke_callbacks, which sets the signal
 *     callbacks
 *
 * Why it works   Python's own methods guard a future by its condition, which is made when it is first
 *                asked for. Until then nobody can have taken it, nor have entered `_waiters`. From its
 *                look at the condition to its last write a step here runs no code of Python, and has
 *                the future's lock, with which the condition is made as well (free.h; with the GIL
 *                that is the lock): no other thread sees half of it.
 *                Who waits for the result waits for the signal of core.c: set after the state. The
 *                waiter makes the signal, then looks at the state; the setter writes the state, then
 *                looks for the signal.
 * Where          As core.c. Elsewhere `Future` of _runtime/future.py is Python's.
 * Evidence       tests/python/test_executors.py, test_executors_stdlib.py, test_future.py. */
#include "core.h"

#if PY_VERSION_HEX < 0x030F0000 && !defined(PYPY_VERSION)

#include <stddef.h>

enum state { PENDING, RUNNING, CANCELLED, NOTIFIED, FINISHED, STATES };
static const char *const names_of_states[STATES] = {"PENDING", "RUNNING", "CANCELLED",
						    "CANCELLED_AND_NOTIFIED", "FINISHED"};
static PyObject *states[STATES];

/* NULL: none yet, or None. */
#define FUTURE_FIELDS(each)                                                                      \
	each(result) each(exception) each(callbacks) each(condition) each(waiters) each(permits) \
		each(signal) each(call)
typedef struct future {
	PyObject_HEAD FUTURE_FIELDS(FIELD) enum state state;
} future;

#define FUTURE(object) ((future *)(void *)(object))

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
	return LOOK_FOR(self->state) >= CANCELLED;
}

/* What is in the field, or else `made`, which is then there: borrowed, for as long as the future lives.
 * It allocates and calls before, because that may run code of Python. */
static PyObject *first_of(future *self, PyObject **field, PyObject *made)
{
	PyObject *found;

	LOCK_OF(self);
	found = *field;
	if (found == NULL)
		PUBLISH(*field, made);
	UNLOCK_OF(self);
	if (found == NULL)
		return made;
	Py_XDECREF(made);
	return found;
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
	PyObject *signal = LOOK_FOR(self->signal);

	return signal == NULL ? 0 : wp__signal_set(signal);
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

/* Moves to a state, with the value in the field, from `last` or a state before it; not once there is a
 * condition, by which Python's own methods guard the future. Whether it has moved. */
static bool moves(future *self, enum state last, enum state to, PyObject **field, PyObject *value)
{
	bool may;

	LOCK_OF(self);
	may = self->condition == NULL && self->state <= last;
	if (may) {
		if (field != NULL)
			*field = Py_NewRef(value); /* nothing was there */
		PUBLISH(self->state, to);
	}
	UNLOCK_OF(self);
	return may;
}

static PyObject *finish(PyObject *object, PyObject *value, PyObject **field, const char *name)
{
	future *self = FUTURE(object);

	if (!moves(self, RUNNING, FINISHED, field, value))
		return woken(self, by_python(name, object, value));
	if (LOOK_FOR(self->callbacks) != NULL)
		return PyObject_CallMethodNoArgs(object, str_invoke);
	if (wake(self) != 0)
		return NULL;
	Py_RETURN_NONE;
}

static PyObject *set_result(PyObject *self, PyObject *value)
{
	return finish(self, value, &FUTURE(self)->result, "set_result");
}

static PyObject *set_exception(PyObject *self, PyObject *error)
{
	return finish(self, error, &FUTURE(self)->exception, "set_exception");
}

static PyObject *invoke_callbacks(PyObject *self, PyObject *nothing)
{
	(void)nothing;
	if (wake(FUTURE(self)) != 0)
		return NULL;
	if (LOOK_FOR(FUTURE(self)->callbacks) == NULL)
		Py_RETURN_NONE;
	return by_python("_invoke_callbacks", self, NULL);
}

static PyObject *cancel(PyObject *self, PyObject *nothing)
{
	PyObject *said = woken(FUTURE(self), by_python("cancel", self, NULL)), *call, *left;

	(void)nothing;
	if (said != Py_True)
		return said;
	call = wp__field_get(self, (void *)offsetof(future, call));
	if (call != Py_None) {
		left = PyObject_CallMethodNoArgs(
			call, str_leave_line); /* of those that wait for a permit */
		if (left == NULL)
			Py_CLEAR(said);
		Py_XDECREF(left);
	}
	Py_DECREF(call);
	return said;
}

static PyObject *set_running(PyObject *self, PyObject *nothing)
{
	(void)nothing;
	if (!moves(FUTURE(self), PENDING, RUNNING, NULL, NULL))
		return by_python("set_running_or_notify_cancel", self, NULL);
	Py_RETURN_TRUE;
}

static PyObject *callbacks_of(future *self)
{
	PyObject *found = LOOK_FOR(self->callbacks);

	return found != NULL ? found : first_of(self, &self->callbacks, PyList_New(0));
}

static PyObject *add_done_callback(PyObject *object, PyObject *callback)
{
	future *self = FUTURE(object);
	PyObject *list = callbacks_of(self);
	int failed = 0;
	bool may;

	if (list == NULL)
		return NULL;
	LOCK_OF(self);
	may = self->condition == NULL && self->state < CANCELLED;
	if (may)
		failed = PyList_Append(list, callback);
	UNLOCK_OF(self);
	if (!may)
		return by_python("add_done_callback", object, callback);
	if (failed)
		return NULL;
	Py_RETURN_NONE;
}

/* ---- ask ---- */

static PyObject *done(PyObject *self, PyObject *nothing)
{
	(void)nothing;
	return PyBool_FromLong(is_done(FUTURE(self)));
}

static PyObject *running(PyObject *self, PyObject *nothing)
{
	(void)nothing;
	return PyBool_FromLong(LOOK_FOR(FUTURE(self)->state) == RUNNING);
}

static PyObject *cancelled(PyObject *self, PyObject *nothing)
{
	enum state state = LOOK_FOR(FUTURE(self)->state);

	(void)nothing;
	return PyBool_FromLong(state == CANCELLED || state == NOTIFIED);
}

/* 0: it is done, or the time is over; -1: an exception. */
static int wait(future *self, PyObject *timeout)
{
	PyObject *signal, *said;
	int is_less = timeout == Py_None ? 0 : PyObject_RichCompareBool(timeout, zero, Py_LT),
	    failed;

	if (is_less < 0)
		return -1;
	signal = LOOK_FOR(self->signal);
	if (signal == NULL)
		signal = first_of(self, &self->signal, PyObject_CallNoArgs(py.new_signal));
	if (signal == NULL)
		return -1;
	if (is_done(self)) /* since the caller looked: who sets it sees the signal, or this sees that */
		return 0;
	Py_INCREF(signal);
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
	if (LOOK_FOR(self->state) == FINISHED)
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
	future *self = FUTURE(object);

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
	if (await_end(FUTURE(object), timeout_of("exception", args, count, keywords)) != 0)
		return NULL;
	return Py_NewRef(FUTURE(object)->exception == NULL ? Py_None : FUTURE(object)->exception);
}

/* ---- of a call of a pool ---- */

PyObject *wp__future_new(PyObject *call, PyObject *permits)
{
	PyTypeObject *type = (PyTypeObject *)py.future_type;
	PyObject *made = type->tp_alloc(type, 0);

	if (made != NULL) {
		FUTURE(made)->call = Py_NewRef(call);
		FUTURE(made)->permits = Py_XNewRef(permits);
	}
	return made;
}

void wp__future_forget(PyObject *self)
{
	wp__field_put(self, NULL, (void *)offsetof(future, call));
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
	return is_done(FUTURE(self));
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
static PyObject *lazily(PyObject *self, PyObject **field, PyObject *make, PyObject *argument)
{
	PyObject *found = LOOK_FOR(*field);

	if (found == NULL)
		found = first_of(FUTURE(self), field,
				 argument == NULL ? PyObject_CallNoArgs(make)
						  : PyObject_CallOneArg(make, argument));
	return Py_XNewRef(found);
}

static PyObject *condition_get(PyObject *self, void *nothing)
{
	(void)nothing;
	return lazily(self, &FUTURE(self)->condition, py.new_condition, NULL);
}

static PyObject *waiters_get(PyObject *self, void *nothing)
{
	(void)nothing;
	return lazily(self, &FUTURE(self)->waiters, py.new_waiters,
		      FUTURE(self)->permits == NULL ? Py_None : FUTURE(self)->permits);
}

static PyObject *callbacks_get(PyObject *self, void *nothing)
{
	(void)nothing;
	return Py_XNewRef(callbacks_of(FUTURE(self)));
}

static PyObject *state_get(PyObject *self, void *nothing)
{
	(void)nothing;
	return Py_NewRef(states[LOOK_FOR(FUTURE(self)->state)]);
}

static int state_put(PyObject *self, PyObject *value, void *nothing)
{
	(void)nothing;
	for (int n = 0; value != NULL && PyUnicode_Check(value) && n < STATES; n++)
		if (PyUnicode_Compare(states[n], value) == 0) {
			LOCK_OF(FUTURE(self));
			PUBLISH(FUTURE(self)->state, (enum state)n);
			UNLOCK_OF(FUTURE(self));
			return 0;
		}
	PyErr_Format(PyExc_ValueError, "_state: no state of a future: %R", value);
	return -1;
}

#define VISIT(field) Py_VISIT(FUTURE(self)->field);
#define CLEAR(field) Py_CLEAR(FUTURE(self)->field);

static int traverse(PyObject *self, visitproc visit, void *arg)
{
	Py_VISIT(Py_TYPE(self));
	FUTURE_FIELDS(VISIT)
	return 0;
}

static int clear(PyObject *self)
{
	FUTURE_FIELDS(CLEAR)
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
	{"_result", wp__field_get, wp__field_put, NULL, (void *)offsetof(future, result)},
	{"_exception", wp__field_get, wp__field_put, NULL, (void *)offsetof(future, exception)},
	{"_signal", wp__field_get, NULL, NULL, (void *)offsetof(future, signal)},
	{"permits", wp__field_get, wp__field_put,
	 "The permits of the pool that limits how many calls run, or None.",
	 (void *)offsetof(future, permits)},
	{0}};
static PyType_Slot slots[] = {{Py_tp_new, PyType_GenericNew},
			      {Py_tp_traverse, traverse},
			      {Py_tp_clear, clear},
			      {Py_tp_dealloc, dealloc},
			      {Py_tp_methods, methods},
			      {Py_tp_getset, fields},
			      {0, NULL}};
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
