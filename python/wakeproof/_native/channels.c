/* SPDX-License-Identifier: Apache-2.0
 * channels.c - the objects of a channel of Python, and a send and a receive that need not wait.
 *
 *   while nobody waits, in front           with the kernel's channel
 *     send: the object into the ring         send: the object into the table, and its number into
 *     receive: the object out of it            the kernel's channel; no slot is free: waits
 *     it is full, or empty: `enter` moves    receive: the kernel's channel gives a number, the table
 *       all objects to the kernel's            the object; it gives none: waits
 *       channel, then waits (channel.py)     nobody waits any more, and it is empty: in front again
 *
 * Why it works   Only who has the GIL touches the ring, so neither lock nor locked instruction is
 *                needed. Who is about to wait counts itself (`enter`) before it gives the GIL away,
 *                and until it has come back (`leave`): so while the count is 0 nobody waits, or is
 *                about to. A close counts itself for good, and who never comes back stays counted.
 *                The kernel's channel holds numbers, and the table has a reference to each object
 *                that was sent to it and not received. The table changes with the GIL only, so that
 *                the collector finds it whole, whatever another OS thread does to the channel without
 *                it. try_send and try_receive cannot wait, and are called with the GIL.
 * Where          As core.c, with the GIL. Elsewhere all use the kernel's channel, and
 *                _runtime/plain_calls.py has the table.
 * Spec           specs/aio/ChannelFront.tla; of the kernel's channel specs/sync/Channel.tla.
 * Evidence       tests/sync/test_channel.py, test_channel_front.py. */
#include "own.h"

#if PY_VERSION_HEX < 0x030F0000 && !defined(Py_GIL_DISABLED) && !defined(PYPY_VERSION)

#include <stddef.h>
#include <structmember.h>

/* An entry of the table: an object, or, of a free one, the index of the next free one. */
typedef struct entry {
	PyObject *item; /* NULL: free */
	size_t next;
} entry;

enum { NONE = 0 }; /* numbers are indices from 1 on */

typedef struct channel {
	PyObject_HEAD void *native;
	entry *table;
	size_t size, kept, free; /* entries; objects; NONE: no entry is free */
	bool is_front;           /* the ring is used, and not the kernel's channel */
	size_t users;            /* who waits, or is about to; a close */
	size_t capacity;         /* 0: never in front */
	PyObject **ring;
	size_t room, first,
		count; /* of the ring: a power of two, or 0; its oldest object; how many */
} channel;

#define CHANNEL(object) ((channel *)(void *)(object))

static struct {
	int (*try_send)(void *native, void *number);
	int (*try_receive)(void *native, void **number);
	uint32_t (*count)(void *native);
} kernel;

static int ok, timeout; /* the kernel's codes */
static PyObject *deadline_ns, *told, *str_send, *str_send_slow, *str_receive_slow;

/* ---- the table ---- */

/* Makes room for so many objects more. 0; -1: an exception. */
static int reserve(channel *self, size_t more)
{
	while (self->size - self->kept < more) {
		size_t size = self->size == 0 ? 4 : 2 * self->size;
		entry *table = PyMem_Realloc(self->table, size * sizeof *table);

		if (table == NULL) {
			PyErr_NoMemory();
			return -1;
		}
		for (size_t n = self->size; n < size; n++)
			table[n] = (entry){NULL, n + 1 < size ? n + 2 : self->free};
		self->free = self->size + 1;
		self->table = table;
		self->size = size;
	}
	return 0;
}

/* The number of an object that it keeps from now on, with its reference. There is room. */
static size_t keep_room(channel *self, PyObject *item)
{
	size_t number = self->free;

	self->free = self->table[number - 1].next;
	self->table[number - 1].item = item;
	self->kept++;
	return number;
}

/* The number of an object that it keeps from now on; NONE: no memory. */
static size_t keep(channel *self, PyObject *item)
{
	return reserve(self, 1) != 0 ? NONE : keep_room(self, Py_NewRef(item));
}

/* The object with that number, which it keeps no longer: its reference. NULL: an exception. */
static PyObject *take(channel *self, size_t number)
{
	PyObject *item = number - 1 < self->size ? self->table[number - 1].item : NULL;

	if (item == NULL)
		return PyErr_Format(PyExc_KeyError, "a channel has no object %zu", number);
	self->table[number - 1] = (entry){NULL, self->free};
	self->free = number;
	self->kept--;
	return item;
}

static PyObject *keep_it(PyObject *self, PyObject *item)
{
	size_t number = keep(CHANNEL(self), item);

	return number == NONE ? NULL : PyLong_FromSize_t(number);
}

static PyObject *take_it(PyObject *self, PyObject *number)
{
	size_t which = PyLong_AsSize_t(number);

	return PyErr_Occurred() ? NULL : take(CHANNEL(self), which);
}

/* ---- the ring ---- */

/* Whether it holds as many objects as the channel has slots. */
static bool is_full(const channel *self)
{
	return self->count == self->capacity;
}

/* Where the object lies that comes after `at` others. */
static PyObject **in_ring(const channel *self, size_t at)
{
	return &self->ring[(self->first + at) & (self->room - 1)];
}

/* 0; -1: an exception. */
static int put(channel *self, PyObject *item)
{
	if (self->count == self->room) {
		size_t room = self->room == 0 ? 4 : 2 * self->room;
		PyObject **ring = PyMem_New(PyObject *, room);

		if (ring == NULL) {
			PyErr_NoMemory();
			return -1;
		}
		for (size_t n = 0; n < self->count; n++)
			ring[n] = *in_ring(self, n);
		PyMem_Free(self->ring);
		self->ring = ring;
		self->room = room;
		self->first = 0;
	}
	*in_ring(self, self->count) = Py_NewRef(item);
	self->count++;
	return 0;
}

/* Its oldest object: its reference. */
static PyObject *get(channel *self)
{
	PyObject *item = *in_ring(self, 0);

	self->first = (self->first + 1) & (self->room - 1);
	self->count--;
	return item;
}

/* The ring is used again, if nobody waits or is about to, and the kernel's channel is empty. */
static void look_back(channel *self)
{
	self->is_front = self->users == 0 && self->capacity != 0 && kernel.count(self->native) == 0;
}

static PyObject *enter(PyObject *object, PyObject *nothing)
{
	channel *self = CHANNEL(object);

	(void)nothing;
	if (reserve(self, self->count) != 0)
		return NULL;
	self->users++;
	self->is_front = false;
	while (self->count != 0)
		if (kernel.try_send(self->native, (void *)keep_room(self, get(self))) != ok)
			Py_FatalError("a channel's slots were not free"); /* nobody else uses it */
	Py_RETURN_NONE;
}

static PyObject *leave(PyObject *object, PyObject *nothing)
{
	channel *self = CHANNEL(object);

	(void)nothing;
	self->users--;
	look_back(self);
	Py_RETURN_NONE;
}

/* Takes the kernel's channel, and its number of slots. */
static PyObject *bind_native(PyObject *object, PyObject *args)
{
	channel *self = CHANNEL(object);
	PyObject *address;

	if (!PyArg_ParseTuple(args, "On:_bind", &address, &self->capacity))
		return NULL;
	self->native = PyLong_AsVoidPtr(address);
	if (PyErr_Occurred())
		return NULL;
	self->is_front = self->capacity != 0;
	Py_RETURN_NONE;
}

/* ---- send and receive ---- */

/* Takes up to `count` arguments, by place or name, into `found`. 0; -1: an exception. */
static int parse(const char *what, const char *const *names, Py_ssize_t count,
		 PyObject *const *args, Py_ssize_t given, PyObject *keywords, PyObject **found)
{
	Py_ssize_t named = keywords == NULL ? 0 : PyTuple_GET_SIZE(keywords);

	if (given > count) {
		PyErr_Format(PyExc_TypeError, "%s() takes at most %zd arguments", what, count);
		return -1;
	}
	for (Py_ssize_t n = 0; n < given; n++)
		found[n] = args[n];
	for (Py_ssize_t n = 0; n < named; n++) {
		Py_ssize_t at = 0;

		while (at < count && PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(keywords, n),
								      names[at]) != 0)
			at++;
		if (at == count || at < given) {
			PyErr_Format(PyExc_TypeError, "%s(): unexpected argument %R", what,
				     PyTuple_GET_ITEM(keywords, n));
			return -1;
		}
		found[at] = args[given + n];
	}
	return 0;
}

static bool is_whole(const channel *self)
{
	if (self->native == NULL)
		PyErr_SetString(PyExc_RuntimeError, "Channel.__init__ was not called");
	return self->native != NULL;
}

/* The deadline of seconds, or NULL: None, without a limit. -1: an exception. */
static int deadline_of(PyObject *seconds, PyObject **deadline)
{
	*deadline = seconds == Py_None ? NULL : PyObject_CallOneArg(deadline_ns, seconds);
	return seconds != Py_None && *deadline == NULL ? -1 : 0;
}

static PyObject *waits(PyObject *self, PyObject *name, PyObject *of, PyObject *seconds)
{
	PyObject *said =
		of == NULL ? NULL : PyObject_CallMethodObjArgs(self, name, of, seconds, NULL);

	Py_XDECREF(of);
	return said;
}

/* The rare ways are functions of their own, so that the usual one saves no registers for them. */
#define RARE __attribute__((noinline))

static RARE PyObject *send_else(PyObject *object, PyObject *const *args, Py_ssize_t count,
				PyObject *keywords)
{
	static const char *const names[] = {"item", "timeout_s"};
	channel *self = CHANNEL(object);
	PyObject *found[] = {NULL, Py_None}, *deadline, *said;
	size_t number;
	int code;

	if (!is_whole(self) || parse("send", names, 2, args, count, keywords, found) != 0 ||
	    deadline_of(found[1], &deadline) != 0)
		return NULL;
	if (self->is_front && !is_full(self) && found[0] != NULL) {
		Py_XDECREF(deadline);
		return put(self, found[0]) != 0 ? NULL : Py_NewRef(Py_True);
	}
	number = found[0] == NULL ? NONE : keep(self, found[0]);
	if (number == NONE) {
		Py_XDECREF(deadline);
		return found[0] == NULL ? PyErr_Format(PyExc_TypeError, "send(): item is missing")
					: NULL;
	}
	code = self->is_front ? timeout : kernel.try_send(self->native, (void *)number);
	if (code == ok) {
		Py_XDECREF(deadline);
		Py_RETURN_TRUE;
	}
	if (code == timeout && (deadline == NULL || PyObject_IsTrue(deadline) == 1)) {
		said = waits(object, str_send_slow, PyLong_FromSize_t(number),
			     deadline == NULL ? Py_None : deadline);
	} else {
		Py_DECREF(take(self, number));
		said = PyObject_CallFunction(told, "iO", code, str_send);
	}
	Py_XDECREF(deadline);
	return said;
}

static PyObject *send(PyObject *object, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
	channel *self = CHANNEL(object);

	if (!self->is_front || count != 1 || keywords != NULL || is_full(self) ||
	    self->count == self->room)
		return send_else(object, args, count, keywords);
	*in_ring(self, self->count++) = Py_NewRef(args[0]);
	Py_RETURN_TRUE;
}

static RARE PyObject *receive_else(PyObject *object, PyObject *const *args, Py_ssize_t count,
				   PyObject *keywords)
{
	static const char *const names[] = {"timeout_s"};
	channel *self = CHANNEL(object);
	PyObject *found[] = {Py_None}, *deadline;
	void *number = NULL;
	int code;

	if (!is_whole(self) || parse("receive", names, 1, args, count, keywords, found) != 0 ||
	    deadline_of(found[0], &deadline) != 0)
		return NULL;
	Py_XDECREF(deadline);
	if (self->is_front && self->count != 0)
		return get(self);
	code = self->is_front ? timeout : kernel.try_receive(self->native, &number);
	if (code == ok) {
		if (self->users == 0)
			look_back(self);
		return take(self, (size_t)number);
	}
	return waits(object, str_receive_slow, PyLong_FromLong(code), found[0]);
}

static PyObject *receive(PyObject *object, PyObject *const *args, Py_ssize_t count,
			 PyObject *keywords)
{
	channel *self = CHANNEL(object);

	return self->is_front && self->count != 0 && count == 0 && keywords == NULL
		       ? get(self)
		       : receive_else(object, args, count, keywords);
}

/* ---- the type ---- */

static int traverse(PyObject *self, visitproc visit, void *arg)
{
	Py_VISIT(Py_TYPE(self));
	for (size_t n = 0; n < CHANNEL(self)->size; n++)
		Py_VISIT(CHANNEL(self)->table[n].item);
	for (size_t n = 0; n < CHANNEL(self)->count; n++)
		Py_VISIT(*in_ring(CHANNEL(self), n));
	return 0;
}

static int clear(PyObject *object)
{
	channel *self = CHANNEL(object);

	for (size_t n = 0; n < self->size; n++)
		if (self->table[n].item != NULL)
			Py_DECREF(take(self, n + 1));
	while (self->count != 0)
		Py_DECREF(get(self));
	return 0;
}

static void dealloc(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);

	PyObject_GC_UnTrack(self);
	clear(self);
	PyMem_Free(CHANNEL(self)->table);
	PyMem_Free(CHANNEL(self)->ring);
	type->tp_free(self);
	Py_DECREF(type);
}

/* How many objects lie in the ring; -1: the kernel's channel knows. */
static PyObject *in_front_get(PyObject *self, void *nothing)
{
	(void)nothing;
	return PyLong_FromSsize_t(CHANNEL(self)->is_front ? (Py_ssize_t)CHANNEL(self)->count : -1);
}

static PyObject *items_get(PyObject *self, void *nothing)
{
	PyObject *items = PyDict_New();

	(void)nothing;
	for (size_t n = 0; items != NULL && n < CHANNEL(self)->size; n++) {
		PyObject *item = CHANNEL(self)->table[n].item, *number;

		if (item == NULL)
			continue;
		number = PyLong_FromSize_t(n + 1);
		if (number == NULL || PyDict_SetItem(items, number, item) != 0)
			Py_CLEAR(items);
		Py_XDECREF(number);
	}
	return items;
}

static PyMethodDef methods[] = {
	{"_bind", bind_native, METH_VARARGS, "Take the kernel's channel, and its number of slots."},
	{"_enter", enter, METH_NOARGS, "Say that the caller may wait in the kernel's channel."},
	{"_leave", leave, METH_NOARGS, "Say that the caller waits no more."},
	{"_keep", keep_it, METH_O, "Keep an object; return its number."},
	{"_take", take_it, METH_O, "Keep the object with that number no longer; return it."},
	{"receive", (PyCFunction)(void *)receive, METH_FASTCALL | METH_KEYWORDS,
	 "receive($self, timeout_s=None)\n--\n\n"
	 "Return the oldest object, and wait for one at most `timeout_s` seconds."},
	{"send", (PyCFunction)(void *)send, METH_FASTCALL | METH_KEYWORDS,
	 "send($self, item, timeout_s=None)\n--\n\n"
	 "Give `item` to a receiver, or put it into a slot, within `timeout_s` seconds."},
	{0},
};
static PyGetSetDef fields[] = {{"_in_front", in_front_get, NULL,
				"How many objects lie in the ring; -1: the kernel's channel knows.",
				NULL},
			       {"_items", items_get, NULL, "What it keeps, by number.", NULL},
			       {0}};
static PyType_Slot slots[] = {{Py_tp_new, PyType_GenericNew},
			      {Py_tp_traverse, traverse},
			      {Py_tp_clear, clear},
			      {Py_tp_dealloc, dealloc},
			      {Py_tp_methods, methods},
			      {Py_tp_getset, fields},
			      {0, NULL}};
static PyType_Spec spec = {.name = "wakeproof._native.own.ChannelCore",
			   .basicsize = sizeof(channel),
			   .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
			   .slots = slots};

/* ---- the module ---- */

static PyObject *bind_channel(PyObject *module, PyObject *args)
{
	PyObject *addresses[3];

	(void)module;
	if (!PyArg_ParseTuple(args, "OOOiiOO", &addresses[0], &addresses[1], &addresses[2], &ok,
			      &timeout, &deadline_ns, &told))
		return NULL;
	*(void **)&kernel.try_send = PyLong_AsVoidPtr(addresses[0]);
	*(void **)&kernel.try_receive = PyLong_AsVoidPtr(addresses[1]);
	*(void **)&kernel.count = PyLong_AsVoidPtr(addresses[2]);
	if (PyErr_Occurred())
		return NULL;
	Py_INCREF(deadline_ns);
	Py_INCREF(told);
	Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
	{"bind_channel", bind_channel, METH_VARARGS, "Take what is called, and the codes."},
	{0},
};

int wp__channel_fill(PyObject *module)
{
	PyObject *type = PyType_FromSpec(&spec);
	int failed = PyModule_AddObjectRef(module, "ChannelCore", type);

	Py_XDECREF(type);
	str_send = PyUnicode_InternFromString("send");
	str_send_slow = PyUnicode_InternFromString("_send_slow");
	str_receive_slow = PyUnicode_InternFromString("_receive_slow");
	return failed != 0 || str_receive_slow == NULL || str_send == NULL
		       ? -1
		       : PyModule_AddFunctions(module, functions);
}

#else

int wp__channel_fill(PyObject *module)
{
	(void)module;
	return 0;
}

#endif
