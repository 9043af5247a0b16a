/* SPDX-License-Identifier: Apache-2.0
 * aio.c - what is hot of an asyncio loop: calls into it, and a turn without timers.
 *
 *   loop                              any other thread
 *   announce: asleep := True          append to the loop's queue
 *   queue? yes: look, do not block    asleep? no: nothing to do
 *        no: block                         yes: _write_to_self
 *   withdraw: asleep := False
 *
 * LoopCore stands before asyncio's own loop among the bases of wakeproof.aio.EventLoop.  It keeps
 * attributes that asyncio sets and reads (_ready, _closed, ..) in its own struct, and makes
 * handles of asyncio's own class, whose slots it finds by their descriptors.  In each case that it
 * does not know (debug mode, a closed loop, timers, handles of another class) it calls asyncio.
 *
 * Why it works   The GIL orders the steps of all threads, and the append and the look at asleep are
 *                one step here.  Poller's half: _block in aio.py.
 * Where          CPython with its headers and with the GIL; elsewhere aio.py does the same.
 * Spec           specs/wakeup/Guard.tla.
 * Evidence       tests/python/test_aio.py, which tests both; make soak-aio; make test-stdlib. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <stddef.h>
#include <structmember.h>

#include "free.h"

#ifndef Py_GIL_DISABLED

typedef struct core {
	PyObject_HEAD PyObject *ready; /* the deque of handles to run */
	PyObject *scheduled;           /* the heap of timers */
	PyObject *closed, *debug, *asleep;
	unsigned long long saved; /* calls that found the loop awake */
} core;

/* Of asyncio, and of Python's library. */
static PyTypeObject *handle_type, *deque_type;
static PyObject *timer_type, *append, *popleft;
static PyObject *base_call_soon, *base_call_soon_threadsafe, *base_run_once, *report;
static PyObject *str_context, *str_write, *str_select, *str_selector, *str_process, *str_run;
static PyObject *zero;

enum slot { CALLBACK, ARGS, CANCELLED, LOOP, TRACEBACK, REPR, CONTEXT, SLOTS };
static const char *const slot_names[SLOTS] = {"_callback",         "_args", "_cancelled", "_loop",
					      "_source_traceback", "_repr", "_context"};
static Py_ssize_t offsets[SLOTS];

static PyObject **slot_of(PyObject *handle, enum slot slot)
{
	return (PyObject **)((char *)handle + offsets[slot]);
}

/* A new handle of asyncio's class.  NULL: no memory.  It takes the reference to args. */
static PyObject *new_handle(PyObject *loop, PyObject *callback, PyObject *args, PyObject *context)
{
	PyObject *handle = args == NULL ? NULL : handle_type->tp_alloc(handle_type, 0);

	context = context == Py_None ? PyContext_CopyCurrent() : Py_NewRef(context);
	if (handle == NULL || context == NULL) {
		Py_XDECREF(args);
		Py_XDECREF(context);
		Py_XDECREF(handle);
		return NULL;
	}
	*slot_of(handle, CALLBACK) = Py_NewRef(callback);
	*slot_of(handle, ARGS) = args;
	*slot_of(handle, CANCELLED) = Py_NewRef(Py_False);
	*slot_of(handle, LOOP) = Py_NewRef(loop);
	*slot_of(handle, TRACEBACK) = Py_NewRef(Py_None);
	*slot_of(handle, REPR) = Py_NewRef(Py_None);
	*slot_of(handle, CONTEXT) = context;
	return handle;
}

static bool is_plain_deque(PyObject *ready)
{
	return ready != NULL && Py_IS_TYPE(ready, deque_type);
}

/* Queue a call, and return its handle; NULL: an exception.  is_known: whether this was done. */
static PyObject *queue(core *loop, PyObject *const *args, Py_ssize_t count, PyObject *names,
		       bool *is_known)
{
	PyObject *context = Py_None, *rest, *handle, *done;

	*is_known = loop->closed == Py_False && loop->debug == Py_False && count > 0 &&
		    is_plain_deque(loop->ready);
	if (*is_known && names != NULL && PyTuple_GET_SIZE(names) != 0) {
		*is_known = PyTuple_GET_SIZE(names) == 1 &&
			    PyUnicode_Compare(PyTuple_GET_ITEM(names, 0), str_context) == 0;
		context = args[count];
	}
	if (!*is_known)
		return NULL;
	rest = PyTuple_New(count - 1);
	for (Py_ssize_t at = 1; rest != NULL && at < count; at++)
		PyTuple_SET_ITEM(rest, at - 1, Py_NewRef(args[at]));
	handle = new_handle((PyObject *)loop, args[0], rest, context);
	if (handle == NULL)
		return NULL;
	done = PyObject_Vectorcall(append, (PyObject *[]){loop->ready, handle}, 2, NULL);
	if (done == NULL)
		Py_CLEAR(handle);
	Py_XDECREF(done);
	return handle;
}

/* Call asyncio's own method. */
static PyObject *as_asyncio(PyObject *method, PyObject *self, PyObject *const *args,
			    Py_ssize_t count, PyObject *names)
{
	Py_ssize_t every = count + (names == NULL ? 0 : PyTuple_GET_SIZE(names));
	PyObject **all = PyMem_New(PyObject *, every + 1), *found;

	if (all == NULL)
		return PyErr_NoMemory();
	all[0] = self;
	for (Py_ssize_t at = 0; at < every; at++)
		all[at + 1] = args[at];
	found = PyObject_Vectorcall(method, all, (size_t)count + 1, names);
	PyMem_Free(all);
	return found;
}

static PyObject *call_soon(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
	bool is_known;
	PyObject *handle = queue((core *)self, args, count, names, &is_known);

	return is_known ? handle : as_asyncio(base_call_soon, self, args, count, names);
}

static PyObject *call_soon_threadsafe(PyObject *self, PyObject *const *args, Py_ssize_t count,
				      PyObject *names)
{
	core *loop = (core *)self;
	bool is_known;
	PyObject *handle = queue(loop, args, count, names, &is_known), *done;

	if (!is_known)
		return as_asyncio(base_call_soon_threadsafe, self, args, count, names);
	if (handle == NULL)
		return NULL;
	if (loop->asleep == Py_False) {
		loop->saved++;
		return handle;
	}
	done = PyObject_CallMethodNoArgs(self, str_write);
	if (done == NULL)
		Py_CLEAR(handle);
	Py_XDECREF(done);
	return handle;
}

/* Let the loop's handler have what a callback has raised; -1: this ends the loop. */
static int report_error(PyObject *handle)
{
	PyObject *kind, *error, *trace, *handled, *done;

	if (PyErr_ExceptionMatches(PyExc_SystemExit) ||
	    PyErr_ExceptionMatches(PyExc_KeyboardInterrupt))
		return -1;
	PyErr_Fetch(&kind, &error, &trace);
	PyErr_NormalizeException(&kind, &error, &trace);
	if (trace != NULL)
		PyException_SetTraceback(error, trace);
	handled = PyErr_GetHandledException();
	PyErr_SetHandledException(error);
	done = PyObject_Vectorcall(report, (PyObject *[]){handle, error}, 2, NULL);
	PyErr_SetHandledException(handled);
	Py_XDECREF(handled);
	Py_XDECREF(kind);
	Py_XDECREF(error);
	Py_XDECREF(trace);
	Py_XDECREF(done);
	return done == NULL ? -1 : 0;
}

/* Run a handle; -1: an exception that ends the loop. */
static int run(PyObject *handle)
{
	PyObject *callback, *args, *context, *found = NULL;

	if (!Py_IS_TYPE(handle, handle_type) && !Py_IS_TYPE(handle, (PyTypeObject *)timer_type)) {
		found = PyObject_GetAttrString(handle, slot_names[CANCELLED]);
		if (found == Py_False)
			Py_SETREF(found, PyObject_CallMethodNoArgs(handle, str_run));
		Py_XDECREF(found);
		return found == NULL ? -1 : 0;
	}
	if (*slot_of(handle, CANCELLED) == Py_True)
		return 0;
	callback = *slot_of(handle, CALLBACK);
	args = *slot_of(handle, ARGS);
	context = *slot_of(handle, CONTEXT);
	if (callback == NULL || args == NULL || context == NULL || !PyTuple_CheckExact(args) ||
	    !PyContext_CheckExact(context)) {
		found = PyObject_CallMethodNoArgs(handle, str_run);
		Py_XDECREF(found);
		return found == NULL ? -1 : 0;
	}
	Py_INCREF(callback); /* a cancel forgets them meanwhile */
	Py_INCREF(args);
	Py_INCREF(context);
	if (PyContext_Enter(context) == 0) {
		found = PyObject_Vectorcall(callback, &PyTuple_GET_ITEM(args, 0),
					    (size_t)PyTuple_GET_SIZE(args), NULL);
		if (PyContext_Exit(context) != 0)
			Py_CLEAR(found);
	}
	Py_DECREF(context);
	Py_DECREF(args);
	Py_DECREF(callback);
	Py_XDECREF(found);
	return found == NULL ? report_error(handle) : 0;
}

/* Look for descriptors, or block (not if the loop was stopped: _block); -1: an exception. */
static int look(PyObject *self, PyObject *timeout)
{
	PyObject *selector = PyObject_GetAttr(self, str_selector), *events = NULL, *done = Py_None;

	if (selector != NULL)
		events = PyObject_CallMethodOneArg(selector, str_select, timeout);
	Py_XDECREF(selector);
	if (events == NULL)
		return -1;
	if (!PyList_CheckExact(events) || PyList_GET_SIZE(events) != 0) {
		done = PyObject_CallMethodOneArg(self, str_process, events);
		Py_XDECREF(done);
	}
	Py_DECREF(events);
	return done == NULL ? -1 : 0;
}

static PyObject *run_once(PyObject *self, PyObject *nothing)
{
	core *loop = (core *)self;
	PyObject *ready, *handle;
	int code = 0, has_work;
	Py_ssize_t count;

	(void)nothing;
	if (loop->debug != Py_False || loop->ready == NULL || loop->scheduled == NULL ||
	    !PyList_CheckExact(loop->scheduled) || PyList_GET_SIZE(loop->scheduled) != 0)
		return PyObject_CallOneArg(base_run_once, self);
	ready = Py_NewRef(loop->ready);
	has_work = PyObject_IsTrue(ready);
	code = has_work < 0 ? -1 : look(self, has_work ? zero : Py_None);
	count = code == 0 ? PyObject_Size(ready) : -1;
	code = count < 0 ? -1 : 0;
	while (code == 0 && count-- > 0) {
		handle = is_plain_deque(ready) ? PyObject_Vectorcall(popleft, &ready, 1, NULL)
					       : PyObject_CallMethod(ready, "popleft", NULL);
		code = handle == NULL ? -1 : run(handle);
		Py_XDECREF(handle);
	}
	Py_DECREF(ready);
	if (code != 0)
		return NULL;
	Py_RETURN_NONE;
}

/* ---- the type ---- */

#define FIELD(name, field) {name, T_OBJECT_EX, offsetof(core, field), 0, NULL}
static PyMemberDef core_fields[] = {
	FIELD("_ready", ready),
	FIELD("_scheduled", scheduled),
	FIELD("_closed", closed),
	FIELD("_debug", debug),
	FIELD("_asleep", asleep),
	{"_saved", T_ULONGLONG, offsetof(core, saved), 0, NULL},
	{0},
};

static int core_traverse(PyObject *self, visitproc visit, void *arg)
{
	core *loop = (core *)self;

	Py_VISIT(Py_TYPE(self));
	Py_VISIT(loop->ready);
	Py_VISIT(loop->scheduled);
	Py_VISIT(loop->closed);
	Py_VISIT(loop->debug);
	Py_VISIT(loop->asleep);
	return 0;
}

static int core_clear(PyObject *self)
{
	core *loop = (core *)self;

	Py_CLEAR(loop->ready);
	Py_CLEAR(loop->scheduled);
	Py_CLEAR(loop->closed);
	Py_CLEAR(loop->debug);
	Py_CLEAR(loop->asleep);
	return 0;
}

static void core_dealloc(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);

	PyObject_GC_UnTrack(self);
	core_clear(self);
	type->tp_free(self);
	Py_DECREF(type);
}

#define CALLED (METH_FASTCALL | METH_KEYWORDS)
#define METHOD(function) ((PyCFunction)(void (*)(void))(function))
static PyMethodDef core_methods[] = {
	{"call_soon", METHOD(call_soon), CALLED, "As asyncio's."},
	{"call_soon_threadsafe", METHOD(call_soon_threadsafe), CALLED, "As asyncio's."},
	{"_run_once", run_once, METH_NOARGS, "Look for descriptors, and run what is ready."},
	{0},
};

static PyType_Slot core_slots[] = {
	{Py_tp_methods, core_methods},   {Py_tp_members, core_fields},
	{Py_tp_traverse, core_traverse}, {Py_tp_clear, core_clear},
	{Py_tp_dealloc, core_dealloc},   {0, NULL},
};
static PyType_Spec core_spec = {
	.name = "wakeproof._native.aio.LoopCore",
	.basicsize = sizeof(core),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
	.slots = core_slots,
};

/* ---- the module ---- */

/* Where the slots of a handle are; false: an exception. */
static bool find_slots(void)
{
	for (int at = 0; at < SLOTS; at++) {
		PyObject *found = PyObject_GetAttrString((PyObject *)handle_type, slot_names[at]);

		if (found == NULL)
			return false;
		if (!Py_IS_TYPE(found, &PyMemberDescr_Type)) {
			Py_DECREF(found);
			PyErr_Format(PyExc_ImportError, "%s of a handle is no slot",
				     slot_names[at]);
			return false;
		}
		offsets[at] = ((PyMemberDescrObject *)found)->d_member->offset;
		Py_DECREF(found);
	}
	return true;
}

static PyObject *bind(PyObject *module, PyObject *args)
{
	PyObject *handle, *deque, *base;

	(void)module;
	if (!PyArg_ParseTuple(args, "OOOOO", &handle, &timer_type, &deque, &base, &report))
		return NULL;
	handle_type = (PyTypeObject *)Py_NewRef(handle);
	deque_type = (PyTypeObject *)Py_NewRef(deque);
	Py_INCREF(timer_type);
	Py_INCREF(report);
	append = PyObject_GetAttrString(deque, "append");
	popleft = PyObject_GetAttrString(deque, "popleft");
	base_call_soon = PyObject_GetAttrString(base, "call_soon");
	base_call_soon_threadsafe = PyObject_GetAttrString(base, "call_soon_threadsafe");
	base_run_once = PyObject_GetAttrString(base, "_run_once");
	if (append == NULL || popleft == NULL || base_call_soon == NULL ||
	    base_call_soon_threadsafe == NULL || base_run_once == NULL || !find_slots())
		return NULL;
	Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
	{"bind", bind, METH_VARARGS, "Asyncio's classes of handles, deque, the loop; the report."},
	{0},
};

static bool fill(PyObject *module)
{
	PyObject *type = PyType_FromSpec(&core_spec);
	int code = type == NULL ? -1 : PyModule_AddObjectRef(module, "LoopCore", type);

	Py_XDECREF(type);
	str_context = PyUnicode_InternFromString("context");
	str_write = PyUnicode_InternFromString("_write_to_self");
	str_select = PyUnicode_InternFromString("select");
	str_selector = PyUnicode_InternFromString("_selector");
	str_process = PyUnicode_InternFromString("_process_events");
	str_run = PyUnicode_InternFromString("_run");
	zero = PyLong_FromLong(0);
	return code == 0 && str_context != NULL && str_write != NULL && str_select != NULL &&
	       str_selector != NULL && str_process != NULL && str_run != NULL && zero != NULL;
}
#else
static PyMethodDef functions[] = {{0}};

static bool fill(PyObject *module)
{
	(void)module;
	return true;
}
#endif

static struct PyModuleDef aio_module = {PyModuleDef_HEAD_INIT,
					"wakeproof._native.aio",
					"What is hot of an asyncio loop.",
					-1,
					functions,
					NULL,
					NULL,
					NULL,
					NULL};

PyMODINIT_FUNC PyInit_aio(void)
{
	PyObject *module = PyModule_Create(&aio_module);

	if (module != NULL && (NEEDS_NO_GIL(module) != 0 || !fill(module)))
		Py_CLEAR(module);
	return module;
}
