/* SPDX-License-Identifier: Apache-2.0
 * calls.c - the calls of a pool of virtual threads: submit, run, end.
 *
 *   submit                        its virtual thread
 *     a permit, if one is free      a permit? it waits in line without one (admission.py)
 *     into the pool's calls         the initializer; the call; the future's outcome
 *     a thread, started             end: the permit back, off the pool's calls
 *
 * Why it works   A call is among the pool's calls from the look whether the pool accepts it until it
 *                has ended, and each of these two steps runs no code of Python, with the pool's lock
 *                (free.h; with the GIL that is the lock): a shutdown finds the call, or the call finds
 *                the shutdown. What else of a pool and of a call changes has their locks as well.
 * Where          As core.c. Elsewhere _runtime/plain_calls.py does the same.
 * Evidence       tests/python/test_virtual_pool.py, test_executors.py, test_executors_stdlib.py. */
#include "core.h"

#if PY_VERSION_HEX < 0x030F0000 && !defined(PYPY_VERSION)

#include <stddef.h>
#include <structmember.h>

/* NULL: None. */
#define POOL_FIELDS(each) \
	each(calls) each(group) each(permits) each(refuses) each(workers) each(inside)
#define CALL_FIELDS(each) each(given) each(kwargs) each(future) each(thread) each(pool)
typedef struct pool {
	PyObject_HEAD POOL_FIELDS(FIELD) wp__place at;
	Py_ssize_t submitted, ended, most;
	bool is_named, prepares; /* its threads have names of their own; an initializer */
} pool;

/* `given`: a tuple of what is called, and its arguments. */
typedef struct call {
	PyObject_HEAD CALL_FIELDS(FIELD) bool has_permit, is_told;
} call;

#define POOL(object) ((pool *)(void *)(object))
#define CALL(object) ((call *)(void *)(object))

static PyObject *call_type, *is_coroutine; /* `is_coroutine` is Python's */
static PyObject *zero, *one, *str_take, *str_give, *str_check, *str_refuse, *str_name, *str_look,
	*str_run_coroutine, *str_is_prepared, *str_fail_at_end, *str_admit;

static PyObject *fn_of(const call *self)
{
	return PyTuple_GET_ITEM(self->given, 0);
}

/* ---- permits ---- */

/* 1: it has one now; 0: none is free; -1: an exception. */
static int take(const pool *self)
{
	PyObject *said = PyObject_CallMethodObjArgs(self->permits, str_take, one, zero, NULL);
	int truth = said == NULL ? -1 : PyObject_IsTrue(said);

	Py_XDECREF(said);
	return truth;
}

static bool has_bound(const pool *self)
{
	return self->permits != NULL && self->permits != Py_None;
}

/* [its lock] */
static bool refuses(const pool *self)
{
	return self->refuses != NULL && self->refuses != Py_None;
}

static int told(PyObject *said)
{
	Py_XDECREF(said);
	return said == NULL ? -1 : 0;
}

/* ---- end ---- */

/* Gives its permit back; `is_counted`: it is among the pool's calls. 0; -1: an exception. */
static int leave(call *self, bool is_counted)
{
	pool *of = POOL(self->pool);
	int failed = 0;

	if (self->has_permit && has_bound(of))
		failed = told(PyObject_CallMethodOneArg(of->permits, str_give, one));
	if (is_counted) {
		bool is_refusing;

		LOCK_OF(of);
		failed |= PyDict_DelItem(of->calls, (PyObject *)self);
		of->ended++;
		is_refusing = refuses(of);
		UNLOCK_OF(of);
		if (is_refusing)
			failed |= told(PyObject_CallMethodNoArgs(self->pool, str_look));
	}
	wp__future_forget(self->future);
	return failed;
}

/* Of its thread, which has ended, whatever has happened. */
static PyObject *end(PyObject *object, PyObject *nothing)
{
	call *self = CALL(object);
	int failed = 0;

	(void)nothing;
	OF(self->thread)->is_heard = true; /* its future reports the error */
	if (!self->is_told || !wp__future_is_done(self->future))
		failed = told(PyObject_CallMethodNoArgs(object, str_fail_at_end));
	if (failed) { /* a callback of the future has raised SystemExit */
		PyObject *kind, *error, *trace;

		PyErr_Fetch(&kind, &error, &trace);
		if (leave(self, true) != 0)
			PyErr_Clear();
		PyErr_Restore(kind, error, trace);
		return NULL;
	}
	if (leave(self, true) != 0)
		return NULL;
	Py_RETURN_NONE;
}

/* ---- run ---- */

/* What its thread calls, if that is no coroutine function. */
static PyObject *run(PyObject *object, PyObject *args, PyObject *named)
{
	call *self = CALL(object);
	PyObject *said, *value, *error;
	long before = wp__core_pid();
	int truth = 1, failed;

	(void)args;
	(void)named;
	if (POOL(self->pool)->prepares) {
		said = PyObject_CallMethodNoArgs(object, str_is_prepared);
		truth = said == NULL ? -1 : PyObject_IsTrue(said);
		Py_XDECREF(said);
	}
	if (truth > 0) {
		self->is_told = true;
		truth = wp__future_begin(self->future);
	}
	if (truth < 0)
		return NULL;
	if (truth == 0)
		Py_RETURN_NONE;
	value = PyObject_VectorcallDict(fn_of(self), &PyTuple_GET_ITEM(self->given, 1),
					(size_t)PyTuple_GET_SIZE(self->given) - 1, self->kwargs);
	if (wp__core_is_parent(before) != 0)
		return NULL;
	if (value != NULL) {
		failed = wp__future_succeed(self->future, value);
		Py_DECREF(value);
	} else {
		error = wp__core_error();
		failed = error == NULL ? -1 : wp__future_fail(self->future, error);
		Py_XDECREF(error);
	}
	if (failed)
		return NULL;
	Py_RETURN_NONE;
}

/* The first step of its thread. */
static PyObject *first(PyObject *thread)
{
	call *self = CALL(OF(thread)->permitted);
	const pool *of = POOL(self->pool);
	int truth = self->has_permit || !has_bound(of) ? 1 : take(of);

	if (truth < 0)
		return NULL;
	if (truth == 0)
		return PyObject_CallMethodNoArgs((PyObject *)self, str_admit);
	self->has_permit = true;
	return wp__core_first(thread);
}

/* ---- submit ---- */

/* 1: it is one; 0: it is none; -1: an exception. */
static int awaits(PyObject *fn)
{
	PyObject *said;
	int truth;

	if (PyFunction_Check(fn))
		return (((PyCodeObject *)PyFunction_GET_CODE(fn))->co_flags & CO_COROUTINE) != 0;
	if (PyCFunction_Check(fn))
		return 0;
	said = PyObject_CallOneArg(is_coroutine, fn);
	truth = said == NULL ? -1 : PyObject_IsTrue(said);
	Py_XDECREF(said);
	return truth;
}

/* Remembers where the threads of the pool run. NULL: an exception. */
static PyObject *new_thread(pool *of, PyObject *body, bool awaits, PyObject *name)
{
	wp__place at;
	PyObject *life, *made;

	LOCK_OF(of);
	at = of->at;
	life = Py_XNewRef(at.life);
	UNLOCK_OF(of);
	made = (PyObject *)wp__core_new(body, awaits, name, of->group, &at);
	if (at.life != life) { /* it has found it out, and dropped what `life` was */
		LOCK_OF(of);
		life = of->at.life;
		of->at = at;
		UNLOCK_OF(of);
	}
	Py_XDECREF(life);
	return made;
}

/* Its thread, which is not started. 0; -1: an exception. */
static int fill(pool *of, call *made)
{
	int is_one = awaits(fn_of(made));
	PyObject *body, *name = NULL;

	if (is_one < 0)
		return -1;
	if (of->is_named) {
		name = PyObject_CallMethodOneArg((PyObject *)of, str_name, fn_of(made));
		if (name == NULL)
			return -1;
	}
	body = is_one ? PyObject_GetAttr((PyObject *)made, str_run_coroutine)
		      : Py_NewRef((PyObject *)made);
	if (body != NULL)
		made->thread = new_thread(of, body, is_one, name);
	Py_XDECREF(body);
	Py_XDECREF(name);
	if (made->thread == NULL)
		return -1;
	Py_XSETREF(OF(made->thread)->permitted, Py_NewRef((PyObject *)made));
	return 0;
}

/* The future of a new call. It has a permit already, or not; this takes it also if it fails. */
static PyObject *start(pool *of, PyObject *given, PyObject *kwargs, bool has_permit)
{
	PyTypeObject *type = (PyTypeObject *)call_type;
	PyObject *object = type->tp_alloc(type, 0), *future, *thread;
	call *made = CALL(object);
	bool is_counted = false, is_refused = false, failed;

	if (made == NULL)
		return NULL;
	made->given = Py_NewRef(given);
	made->kwargs = Py_XNewRef(kwargs);
	made->pool = Py_NewRef((PyObject *)of);
	made->has_permit = has_permit;
	made->future = wp__future_new(object, has_bound(of) ? of->permits : NULL);
	failed = made->future == NULL || fill(of, made) != 0;
	if (!failed) {
		LOCK_OF(of);
		failed = is_refused = refuses(of);
		if (!failed)
			failed = PyDict_SetItem(of->calls, object, Py_None) != 0;
		is_counted = !failed;
		of->submitted += is_counted;
		UNLOCK_OF(of);
	}
	if (is_refused)
		told(PyObject_CallMethodNoArgs((PyObject *)of, str_refuse));
	if (is_counted) {
		thread = Py_NewRef(made->thread);
		future = Py_NewRef(made->future);
		failed = wp__core_begin(OF(thread)) != 0;
		Py_DECREF(thread);
		if (!failed) {
			Py_DECREF(object);
			return future;
		}
		Py_DECREF(future);
	}
	if (made->future != NULL) {
		PyObject *kind, *error, *trace;

		PyErr_Fetch(&kind, &error, &trace);
		if (leave(made, is_counted) != 0)
			PyErr_Clear();
		if (made->thread != NULL)
			wp__field_put(made->thread, NULL, (void *)offsetof(vthread, permitted));
		wp__field_put(object, NULL, (void *)offsetof(call, thread));
		PyErr_Restore(kind, error, trace);
	}
	Py_DECREF(object);
	return NULL;
}

/* Whether it can be called so. */
static bool is_whole(const pool *self, PyObject *given)
{
	if (self->calls == NULL)
		PyErr_SetString(PyExc_RuntimeError, "VirtualThreadPool.__init__ was not called");
	else if (PyTuple_GET_SIZE(given) == 0)
		PyErr_SetString(PyExc_TypeError, "submit: fn is missing");
	return self->calls != NULL && PyTuple_GET_SIZE(given) > 0;
}

static PyObject *submit(PyObject *object, PyObject *given, PyObject *kwargs)
{
	pool *self = POOL(object);
	int has_permit = 0;

	if (!is_whole(self, given))
		return NULL;
	if (self->prepares && told(PyObject_CallMethodNoArgs(self->workers, str_check)) != 0)
		return NULL;
	if (has_bound(self) && PyDict_GET_SIZE(self->calls) < self->most) {
		has_permit = take(self); /* no earlier call needs that permit */
		if (has_permit < 0)
			return NULL;
	}
	return start(self, given, kwargs, has_permit > 0);
}

static PyObject *try_start(PyObject *object, PyObject *given, PyObject *kwargs)
{
	pool *self = POOL(object);
	int has_permit = 1;

	if (!is_whole(self, given))
		return NULL;
	if (has_bound(self))
		has_permit = take(self);
	if (has_permit < 0)
		return NULL;
	if (has_permit == 0)
		Py_RETURN_NONE;
	return start(self, given, kwargs, true);
}

/* ---- types ---- */

#define VISIT(field) Py_VISIT(self->field);
#define CLEAR(field) Py_CLEAR(self->field);

static int pool_traverse(PyObject *object, visitproc visit, void *arg)
{
	pool *self = POOL(object);

	Py_VISIT(Py_TYPE(object));
	POOL_FIELDS(VISIT)
	return 0;
}

static int pool_clear(PyObject *object)
{
	pool *self = POOL(object);

	POOL_FIELDS(CLEAR)
	Py_CLEAR(self->at.life);
	return 0;
}

static int call_traverse(PyObject *object, visitproc visit, void *arg)
{
	call *self = CALL(object);

	Py_VISIT(Py_TYPE(object));
	CALL_FIELDS(VISIT)
	return 0;
}

static int call_clear(PyObject *object)
{
	call *self = CALL(object);

	CALL_FIELDS(CLEAR)
	return 0;
}

static void dealloc(PyObject *self, inquiry clear)
{
	PyTypeObject *type = Py_TYPE(self);

	PyObject_GC_UnTrack(self);
	clear(self);
	type->tp_free(self);
	Py_DECREF(type);
}

static void pool_dealloc(PyObject *self)
{
	dealloc(self, pool_clear);
}

static void call_dealloc(PyObject *self)
{
	dealloc(self, call_clear);
}

static PyObject *fn_get(PyObject *self, void *nothing)
{
	(void)nothing;
	return Py_NewRef(fn_of(CALL(self)));
}

static PyObject *args_get(PyObject *self, void *nothing)
{
	(void)nothing;
	return PyTuple_GetSlice(CALL(self)->given, 1, PyTuple_GET_SIZE(CALL(self)->given));
}

static PyObject *kwargs_get(PyObject *self, void *nothing)
{
	(void)nothing;
	return CALL(self)->kwargs == NULL ? PyDict_New() : Py_NewRef(CALL(self)->kwargs);
}

static PyMethodDef pool_methods[] = {
	{"submit", (PyCFunction)(void *)submit, METH_VARARGS | METH_KEYWORDS,
	 "submit($self, fn, /, *args, **kwargs)\n--\n\n"
	 "Run ``fn(*args, **kwargs)`` and return its future; this never waits."},
	{"_try_start", (PyCFunction)(void *)try_start, METH_VARARGS | METH_KEYWORDS,
	 "As `submit`, if a permit is free now; else None."},
	{0},
};
#define OF_POOL(name) {"_" #name, wp__field_get, wp__field_put, NULL, (void *)offsetof(pool, name)},
static PyGetSetDef pool_fields[] = {POOL_FIELDS(OF_POOL){0}};
static PyMemberDef pool_members[] = {{"_submitted", T_PYSSIZET, offsetof(pool, submitted), 0, NULL},
				     {"_ended", T_PYSSIZET, offsetof(pool, ended), 0, NULL},
				     {"_max_workers", T_PYSSIZET, offsetof(pool, most), 0, NULL},
				     {"_is_named", T_BOOL, offsetof(pool, is_named), 0, NULL},
				     {"_prepares", T_BOOL, offsetof(pool, prepares), 0, NULL},
				     {0}};
static PyType_Slot pool_slots[] = {{Py_tp_traverse, pool_traverse},
				   {Py_tp_clear, pool_clear},
				   {Py_tp_dealloc, pool_dealloc},
				   {Py_tp_methods, pool_methods},
				   {Py_tp_members, pool_members},
				   {Py_tp_getset, pool_fields},
				   {0, NULL}};
static PyType_Spec pool_spec = {.name = "wakeproof._native.own.PoolCore",
				.basicsize = sizeof(pool),
				.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE |
					 Py_TPFLAGS_HAVE_GC,
				.slots = pool_slots};

static PyMethodDef call_methods[] = {
	{"end", end, METH_NOARGS, "End it: its thread has ended."},
	{0},
};
static PyGetSetDef call_fields[] = {
	{"fn", fn_get, NULL, "What is called.", NULL},
	{"args", args_get, NULL, "Its arguments.", NULL},
	{"kwargs", kwargs_get, NULL, "Its arguments by name.", NULL},
	{"future", wp__field_get, NULL, "Its future.", (void *)offsetof(call, future)},
	{"thread", wp__field_get, NULL, "Its thread.", (void *)offsetof(call, thread)},
	{"pool", wp__field_get, NULL, "Its pool.", (void *)offsetof(call, pool)},
	{0}};
static PyMemberDef call_members[] = {
	{"has_permit", T_BOOL, offsetof(call, has_permit), 0, "Whether it has a permit."},
	{"is_told", T_BOOL, offsetof(call, is_told), 0, "Whether its future was told."},
	{0}};
static PyType_Slot call_slots[] = {{Py_tp_call, run},
				   {Py_tp_traverse, call_traverse},
				   {Py_tp_clear, call_clear},
				   {Py_tp_dealloc, call_dealloc},
				   {Py_tp_methods, call_methods},
				   {Py_tp_getset, call_fields},
				   {Py_tp_members, call_members},
				   {0, NULL}};
static PyType_Spec call_spec = {.name = "wakeproof._native.own.CallCore",
				.basicsize = sizeof(call),
				.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE |
					 Py_TPFLAGS_HAVE_GC,
				.slots = call_slots};

/* ---- the module ---- */

static PyObject *bind_calls(PyObject *module, PyObject *args)
{
	(void)module;
	if (!PyArg_ParseTuple(args, "OO", &call_type, &is_coroutine))
		return NULL;
	Py_INCREF(call_type);
	Py_INCREF(is_coroutine);
	Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
	{"bind_calls", bind_calls, METH_VARARGS, "Take the class of calls, and `is_coroutine`."},
	{0},
};

static PyObject *text(const char *name)
{
	return PyUnicode_InternFromString(name);
}

int wp__calls_fill(PyObject *module)
{
	PyObject *of_pool = PyType_FromSpec(&pool_spec), *of_call = PyType_FromSpec(&call_spec);
	int failed = PyModule_AddObjectRef(module, "PoolCore", of_pool) != 0 ||
		     PyModule_AddObjectRef(module, "CallCore", of_call) != 0 ||
		     PyModule_AddFunctions(module, functions) != 0;

	Py_XDECREF(of_pool);
	Py_XDECREF(of_call);
	zero = PyLong_FromLong(0);
	one = PyLong_FromLong(1);
	str_take = text("_take");
	str_give = text("_give");
	str_check = text("check");
	str_refuse = text("_refuse_call");
	str_name = text("_name");
	str_look = text("_look");
	str_run_coroutine = text("run_coroutine");
	str_is_prepared = text("_is_prepared");
	str_fail_at_end = text("fail_at_end");
	str_admit = text("admit");
	wp__core_first_pooled = first;
	return failed || str_admit == NULL ? -1 : 0;
}

#else

int wp__calls_fill(PyObject *module)
{
	(void)module;
	return 0;
}

#endif
