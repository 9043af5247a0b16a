/* SPDX-License-Identifier: Apache-2.0
 * channels.c - the objects of a channel of Python, and a send and a receive that need not wait.
 *
 *   send                                   receive
 *     the object into the table              the kernel's channel gives a number
 *     its number into the kernel's channel   the object out of the table
 *     no slot is free: waits (channel.py)    it gives none: waits (channel.py)
 *
 * Why it works   The kernel's channel holds numbers, and the table has a reference to each object
 *                that was sent and not received. The table changes with the GIL only, so that the
 *                collector finds it whole, whatever another OS thread does to the channel without it.
 *                try_send and try_receive cannot wait, and are called with the GIL.
 * Where          As core.c, with the GIL. Elsewhere _runtime/plain_calls.py does the same.
 * Evidence       tests/sync/test_channel.py; specs/sync/Channel.tla (NothingLost). */
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
	size_t size, free; /* NONE: no entry is free */
} channel;

#define CHANNEL(object) ((channel *)(void *)(object))

static struct {
	int (*try_send)(void *native, void *number);
	int (*try_receive)(void *native, void **number);
} kernel;

static int ok, timeout; /* the kernel's codes */
static PyObject *deadline_ns, *told, *str_send, *str_send_slow, *str_receive_slow;

/* ---- the table ---- */

/* The number of an object that it keeps from now on; NONE: no memory. */
static size_t keep(channel *self, PyObject *item)
{
	size_t number = self->free;

	if (number == NONE) {
		size_t size = self->size == 0 ? 4 : 2 * self->size;
		entry *table = PyMem_Realloc(self->table, size * sizeof *table);

		if (table == NULL) {
			PyErr_NoMemory();
			return NONE;
		}
		for (size_t n = self->size; n < size; n++)
			table[n] = (entry){NULL, n + 1 < size ? n + 2 : NONE};
		number = self->size + 1;
		self->table = table;
		self->size = size;
	}
	self->free = self->table[number - 1].next;
	self->table[number - 1].item = Py_NewRef(item);
	return number;
}

/* The object with that number, which it keeps no longer: its reference. NULL: an exception. */
static PyObject *take(channel *self, size_t number)
{
	PyObject *item = number - 1 < self->size ? self->table[number - 1].item : NULL;

	if (item == NULL)
		return PyErr_Format(PyExc_KeyError, "a channel has no object %zu", number);
	self->table[number - 1] = (entry){NULL, self->free};
	self->free = number;
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

static PyObject *send(PyObject *object, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
	static const char *const names[] = {"item", "timeout_s"};
	channel *self = CHANNEL(object);
	PyObject *found[] = {NULL, Py_None}, *deadline, *said;
	size_t number;
	int code;

	if (!is_whole(self) || parse("send", names, 2, args, count, keywords, found) != 0 ||
	    deadline_of(found[1], &deadline) != 0)
		return NULL;
	number = found[0] == NULL ? NONE : keep(self, found[0]);
	if (number == NONE) {
		Py_XDECREF(deadline);
		return found[0] == NULL ? PyErr_Format(PyExc_TypeError, "send(): item is missing")
					: NULL;
	}
	code = kernel.try_send(self->native, (void *)number);
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

static PyObject *receive(PyObject *object, PyObject *const *args, Py_ssize_t count,
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
	code = kernel.try_receive(self->native, &number);
	if (code == ok)
		return take(self, (size_t)number);
	return waits(object, str_receive_slow, PyLong_FromLong(code), found[0]);
}

/* ---- the type ---- */

static int traverse(PyObject *self, visitproc visit, void *arg)
{
	Py_VISIT(Py_TYPE(self));
	for (size_t n = 0; n < CHANNEL(self)->size; n++)
		Py_VISIT(CHANNEL(self)->table[n].item);
	return 0;
}

static int clear(PyObject *object)
{
	channel *self = CHANNEL(object);

	for (size_t n = 0; n < self->size; n++)
		if (self->table[n].item != NULL)
			Py_DECREF(take(self, n + 1));
	return 0;
}

static void dealloc(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);

	PyObject_GC_UnTrack(self);
	clear(self);
	PyMem_Free(CHANNEL(self)->table);
	type->tp_free(self);
	Py_DECREF(type);
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

static int address_put(PyObject *self, PyObject *value, void *nothing)
{
	(void)nothing;
	CHANNEL(self)->native = value == NULL ? NULL : PyLong_AsVoidPtr(value);
	return PyErr_Occurred() ? -1 : 0;
}

static PyMethodDef methods[] = {
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
static PyGetSetDef fields[] = {{"_address", NULL, address_put, "The kernel's channel.", NULL},
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
	PyObject *addresses[2];

	(void)module;
	if (!PyArg_ParseTuple(args, "OOiiOO", &addresses[0], &addresses[1], &ok, &timeout,
			      &deadline_ns, &told))
		return NULL;
	*(void **)&kernel.try_send = PyLong_AsVoidPtr(addresses[0]);
	*(void **)&kernel.try_receive = PyLong_AsVoidPtr(addresses[1]);
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
