/* SPDX-License-Identifier: Apache-2.0
 * aio_channel.c - a send and a receive of wakeproof.aio.Channel that neither wait nor wake.
 *
 *   _put                                     _get
 *     the channel's lock is free,              the channel's lock is free,
 *     no receiver waits, a slot is free:       no sender waits, an object is nobody's:
 *     the object into the slot, True           the oldest object
 *     else: False                              else: what the caller gave for that
 *
 * Why it works   With the GIL, and without a call of Python code, each of the two is one step for
 *                all threads that change the channel: these have the lock and the GIL. So a free
 *                lock need not be taken. Another thread may take the lock at any time, but it changes
 *                nothing before it has the GIL.
 * Where          As aio.c; elsewhere, and for other locks, the methods in aio_channel.py do all.
 * Spec           specs/aio/AioChannel.tla.
 * Evidence       tests/python/test_aio_channel.py, which tests both. */
#include "aio_channel.h"

#ifndef Py_GIL_DISABLED

#include <stdbool.h>
#include <stddef.h>
#include <structmember.h>

typedef struct channel {
	PyObject_HEAD PyObject *lock;
	PyObject *items, *senders, *receivers; /* deques */
	Py_ssize_t capacity, granted, promised;
	char is_closed;
} channel;

#define CHANNEL(object) ((channel *)(void *)(object))

static PyObject *lock_type, *deque_type, *locked, *append, *popleft;

/* Whether no thread has the lock, so that nobody is about to change the channel. */
static bool is_free(const channel *self)
{
	PyObject *found;

	if (self->lock == NULL || !Py_IS_TYPE(self->lock, (PyTypeObject *)lock_type))
		return false;
	found = PyObject_Vectorcall(locked, &self->lock, 1, NULL);
	Py_XDECREF(found);
	return found == Py_False;
}

/* The number of entries of a deque; -1: it is no deque. */
static Py_ssize_t length(PyObject *deque)
{
	return deque != NULL && Py_IS_TYPE(deque, (PyTypeObject *)deque_type) ? PyObject_Size(deque)
									      : -1;
}

static PyObject *put(PyObject *object, PyObject *item)
{
	channel *self = CHANNEL(object);
	Py_ssize_t count = length(self->items);
	PyObject *done;

	if (count < 0 || self->granted + count - self->promised >= self->capacity ||
	    self->is_closed || length(self->receivers) != 0 || !is_free(self))
		Py_RETURN_FALSE;
	done = PyObject_Vectorcall(append, (PyObject *[]){self->items, item}, 2, NULL);
	if (done == NULL)
		return NULL;
	Py_DECREF(done);
	Py_RETURN_TRUE;
}

static PyObject *get(PyObject *object, PyObject *none)
{
	channel *self = CHANNEL(object);

	if (length(self->items) <= self->promised || length(self->senders) != 0 || !is_free(self))
		return Py_NewRef(none);
	return PyObject_Vectorcall(popleft, &self->items, 1, NULL);
}

/* ---- the type ---- */

static int traverse(PyObject *object, visitproc visit, void *arg)
{
	channel *self = CHANNEL(object);

	Py_VISIT(Py_TYPE(object));
	Py_VISIT(self->lock);
	Py_VISIT(self->items);
	Py_VISIT(self->senders);
	Py_VISIT(self->receivers);
	return 0;
}

static int clear(PyObject *object)
{
	channel *self = CHANNEL(object);

	Py_CLEAR(self->lock);
	Py_CLEAR(self->items);
	Py_CLEAR(self->senders);
	Py_CLEAR(self->receivers);
	return 0;
}

static void dealloc(PyObject *object)
{
	PyTypeObject *type = Py_TYPE(object);

	PyObject_GC_UnTrack(object);
	clear(object);
	type->tp_free(object);
	Py_DECREF(type);
}

static PyMethodDef methods[] = {
	{"_put", put, METH_O, "Put an object into a slot, if nobody waits; return whether it did."},
	{"_get", get, METH_O,
	 "Return the oldest object, or the argument if there is none or somebody waits."},
	{0},
};

#define FIELD(name, kind, field) {name, kind, offsetof(channel, field), 0, NULL}
static PyMemberDef fields[] = {
	FIELD("_lock", T_OBJECT_EX, lock),
	FIELD("_items", T_OBJECT_EX, items),
	FIELD("_senders", T_OBJECT_EX, senders),
	FIELD("_receivers", T_OBJECT_EX, receivers),
	FIELD("capacity", T_PYSSIZET, capacity),
	FIELD("_granted", T_PYSSIZET, granted),
	FIELD("_promised", T_PYSSIZET, promised),
	FIELD("_is_closed", T_BOOL, is_closed),
	{0},
};

static PyType_Slot type_slots[] = {
	{Py_tp_methods, methods}, {Py_tp_members, fields},  {Py_tp_traverse, traverse},
	{Py_tp_clear, clear},     {Py_tp_dealloc, dealloc}, {0, NULL},
};
static PyType_Spec spec = {
	.name = "wakeproof._native.aio.ChannelCore",
	.basicsize = sizeof(channel),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
	.slots = type_slots,
};

static PyObject *import_from(const char *module, const char *name)
{
	PyObject *imported = PyImport_ImportModule(module);
	PyObject *found = imported == NULL ? NULL : PyObject_GetAttrString(imported, name);

	Py_XDECREF(imported);
	return found;
}

bool wp__add_channel(PyObject *module)
{
	PyObject *type = PyType_FromSpec(&spec);

	lock_type = import_from("_thread", "LockType");
	deque_type = import_from("collections", "deque");
	if (type == NULL || lock_type == NULL || deque_type == NULL)
		return false;
	locked = PyObject_GetAttrString(lock_type, "locked");
	append = PyObject_GetAttrString(deque_type, "append");
	popleft = PyObject_GetAttrString(deque_type, "popleft");
	return locked != NULL && append != NULL && popleft != NULL &&
	       PyModule_AddObjectRef(module, "ChannelCore", type) == 0;
}
#endif
