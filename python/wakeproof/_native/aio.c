/* SPDX-License-Identifier: Apache-2.0
 * aio.c - what is hot of an asyncio loop: calls into it, its timers, a turn, and its sockets.
 *
 *   loop                              any other thread
 *   announce: asleep := True          append to the loop's queue
 *   queue? yes: look, do not block    asleep? no: nothing to do
 *        no: block                         yes: _write_to_self
 *   withdraw: asleep := False
 *
 * LoopCore stands before asyncio's own loop among the bases of wakeproof.aio.EventLoop.  It keeps
 * attributes that asyncio sets and reads (_ready, _closed, ..) in its own struct.  It makes asyncio's
 * own tasks and futures, and finds their classes where asyncio looks for them.  Handles and timers are
 * of subclasses of asyncio's, whose slots it finds by their descriptors; of these subclasses only
 * what the collector calls is C, and cancel of a timer.  What was the memory of a handle is kept for
 * the next ones.  Timers stand in asyncio's own heap, a list.  The transports of
 * sockets are of a subclass as well, of which C receives, and sends what the system takes at once.
 * In each case that it does not know (debug mode, a closed loop, handles of another class, a
 * transport with something in its buffer) it calls asyncio.
 *
 * A system call that cannot block keeps the GIL: to let it go and to take it again costs more than
 * such a call, and another thread may have it meanwhile.
 *
 * Why it works   The GIL orders the steps of all threads, and the append and the look at asleep are
 *                one step here.  Poller's half: _block in aio.py.
 * Where          CPython with its headers and with the GIL; elsewhere aio.py does the same.
 * Spec           specs/aio/EventLoop.tla.
 * Evidence       tests/python/test_aio.py, which tests both; make soak-aio; make test-stdlib. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <structmember.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "aio_channel.h"
#include "free.h"

#ifndef Py_GIL_DISABLED

typedef struct core {
	PyObject_HEAD PyObject *ready; /* the deque of handles to run */
	PyObject *scheduled;           /* the heap of timers */
	PyObject *closed, *debug, *asleep, *task_factory;
	unsigned long long saved; /* calls that found the loop awake */
	unsigned long long sent;  /* calls that wrote to the self-pipe */
	Py_ssize_t cancelled;     /* timers in the heap that were cancelled */
	double resolution;        /* of the clock, in seconds */
	enum { UNKNOWN, OURS, OVERRIDDEN } call_at, events, wakeup; /* who has these methods */
	PyObject *selector, *epoll, *keys; /* NULL, or the selector of aio.py, and its parts */
	bool has_waited;                   /* the last turn has blocked */
} core;

/* Of the module selectors. */
enum { READ = 1, WRITE = 2 };
enum { FILE_OF, FD_OF, EVENTS_OF, DATA_OF }; /* of a SelectorKey */

/* As in asyncio: so many timers are thrown out at once, if more than half of them were cancelled.
 */
enum { MANY_TIMERS = 100 };
static const double LONGEST_S = 24 * 3600;

enum { EVENTS = 256 };          /* of descriptors, in a turn */
enum { RECEIVED = 256 * 1024 }; /* bytes at once, as in asyncio */
enum { SENT = 64 * 1024 };      /* more takes its time, in which others shall have the GIL */

/* Of asyncio, and of Python's library. */
static PyTypeObject *asyncio_handle_type, *asyncio_timer_type, *deque_type, *socket_type;
static PyTypeObject *handle_type, *timer_type, *core_type; /* ours */
static PyCFunction append, popleft;                        /* of a deque */
static PyObject *our_call_at, *report;
static PyObject *base_call_soon, *base_call_soon_threadsafe, *base_run_once, *base_cancel;
static PyObject *base_call_later, *base_call_at, *base_create_task;
static PyObject *base_names; /* the globals of base_create_task */
static PyObject *str_context, *str_write, *str_select, *str_selector, *str_process, *str_run;
static PyObject *str_time, *str_call_at, *str_stopping, *zero, *str_fileno, *str_sleep;
static PyObject *str_csock, *str_ssock, *str_send, *base_process, *our_select, *our_wakeup,
	*our_send;
static PyObject *str_sock, *str_protocol, *str_lost, *str_eof, *str_waiter, *str_buffer;
static PyObject *str_received, *str_on_eof, *base_write, *base_fatal, *str_ready;
static PyObject *str_monotonic, *str_futures, *str_future, *str_tasks, *str_task, *str_name;
static PyObject *names_of_loop; /* ("loop",) */

enum slot { CALLBACK, ARGS, CANCELLED, LOOP, TRACEBACK, REPR, CONTEXT, WHEN, SCHEDULED, SLOTS };
enum { OF_HANDLE = WHEN }; /* so many of the slots; timers have the others as well */
static const char *const slot_names[SLOTS] = {
	"_callback", "_args",    "_cancelled", "_loop",      "_source_traceback",
	"_repr",     "_context", "_when",      "_scheduled",
};
static Py_ssize_t offsets[SLOTS];

static PyObject **slot_of(PyObject *handle, enum slot slot)
{
	return (PyObject **)((char *)handle + offsets[slot]);
}

/* Whether a handle is one, not a timer, whose slots are where we know them. */
static bool is_handle(PyObject *handle)
{
	return Py_IS_TYPE(handle, handle_type) || Py_IS_TYPE(handle, asyncio_handle_type);
}

/* The same of a timer. */
static bool is_timer(PyObject *handle)
{
	return Py_IS_TYPE(handle, timer_type) || Py_IS_TYPE(handle, asyncio_timer_type);
}

/* The memory of handles that ended, for new ones: their slots are empty.  The collector counts what
 * is allocated, so that it also runs less often. */
enum { KEPT_MOST = 1024 }; /* 104 KB */
static PyObject *kept[KEPT_MOST];
static int kept_count;

/* A handle or a timer with empty slots; NULL: no memory. */
static PyObject *allocate(PyTypeObject *type)
{
	PyObject *handle;

	if (type != handle_type || kept_count == 0)
		return type->tp_alloc(type, 0);
	handle = PyObject_Init(kept[--kept_count], type);
	PyObject_GC_Track(handle);
	return handle;
}

/* Visit what may be part of a cycle; our types stay for ever, as does what the other slots have. */
static int handle_traverse(PyObject *handle, visitproc visit, void *arg)
{
	Py_VISIT(*slot_of(handle, CALLBACK));
	Py_VISIT(*slot_of(handle, ARGS));
	Py_VISIT(*slot_of(handle, LOOP));
	Py_VISIT(*slot_of(handle, CONTEXT));
	return 0;
}

static void handle_dealloc(PyObject *handle)
{
	PyTypeObject *type = Py_TYPE(handle);

	PyObject_GC_UnTrack(handle);
	Py_TRASHCAN_BEGIN(handle, handle_dealloc);
	PyObject_ClearWeakRefs(handle);
	for (enum slot at = 0; at < OF_HANDLE; at++)
		Py_CLEAR(*slot_of(handle, at));
	if (type == handle_type && kept_count < KEPT_MOST)
		kept[kept_count++] = handle;
	else
		type->tp_free(handle);
	Py_DECREF(type);
	Py_TRASHCAN_END;
}

static void set(PyObject *handle, enum slot slot, PyObject *value)
{
	Py_XSETREF(*slot_of(handle, slot), Py_NewRef(value));
}

/* A new handle for args[0], and what follows it as its arguments.  NULL: no memory. */
static PyObject *new_handle(PyTypeObject *type, PyObject *loop, PyObject *const *args,
			    Py_ssize_t count, PyObject *context)
{
	PyObject *handle = allocate(type), *rest = PyTuple_New(count - 1);

	context = context == Py_None ? PyContext_CopyCurrent() : Py_NewRef(context);
	if (handle == NULL || rest == NULL || context == NULL) {
		Py_XDECREF(handle);
		Py_XDECREF(rest);
		Py_XDECREF(context);
		return NULL;
	}
	for (Py_ssize_t at = 1; at < count; at++)
		PyTuple_SET_ITEM(rest, at - 1, Py_NewRef(args[at]));
	*slot_of(handle, CALLBACK) = Py_NewRef(args[0]);
	*slot_of(handle, ARGS) = rest;
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

static bool is_text(PyObject *one, PyObject *other)
{
	return one == other || PyUnicode_Compare(one, other) == 0;
}

/* Whether we know this call of a method of an open loop, with so many arguments or more; its
 * context. */
static bool is_known(core *loop, PyObject *const *args, Py_ssize_t count, PyObject *names,
		     Py_ssize_t least, PyObject **context)
{
	*context = Py_None;
	if (loop->closed != Py_False || loop->debug != Py_False || count < least)
		return false;
	if (names == NULL || PyTuple_GET_SIZE(names) == 0)
		return true;
	*context = args[count];
	return PyTuple_GET_SIZE(names) == 1 && is_text(PyTuple_GET_ITEM(names, 0), str_context);
}

/* Queue a handle at the end. */
static int queue(core *loop, PyObject *handle)
{
	PyObject *done = append(loop->ready, handle);

	Py_XDECREF(done);
	return done == NULL ? -1 : 0;
}

/* Queue a call, and return its handle; NULL: an exception. */
static PyObject *queue_call(core *loop, PyObject *const *args, Py_ssize_t count, PyObject *context)
{
	PyObject *handle = new_handle(handle_type, (PyObject *)loop, args, count, context);

	if (handle != NULL && queue(loop, handle) != 0)
		Py_CLEAR(handle);
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
	core *loop = (core *)self;
	PyObject *context;

	if (!is_known(loop, args, count, names, 1, &context) || !is_plain_deque(loop->ready))
		return as_asyncio(base_call_soon, self, args, count, names);
	return queue_call(loop, args, count, context);
}

/* ---- tasks, futures and the clock ---- */

/* What `module.name` is in the code of asyncio's loop: a new reference; NULL: an exception. */
static PyObject *in_asyncio(PyObject *module, PyObject *name)
{
	PyObject *found = PyDict_GetItemWithError(base_names, module);

	if (found == NULL) {
		if (PyErr_Occurred() == NULL)
			PyErr_SetObject(PyExc_NameError, module);
		return NULL;
	}
	return PyObject_GetAttr(found, name);
}

/* Make an object of a class of asyncio, with loop=self as the last of its arguments. */
static PyObject *make(PyObject *module, PyObject *name, PyObject *const *args, size_t count,
		      PyObject *names)
{
	PyObject *type = in_asyncio(module, name), *made = NULL;

	if (type != NULL)
		made = PyObject_Vectorcall(type, args, count, names);
	Py_XDECREF(type);
	return made;
}

static PyObject *create_future(PyObject *self, PyObject *nothing)
{
	(void)nothing;
	return make(str_futures, str_future, &self, 0, names_of_loop);
}

static PyObject *create_task(PyObject *self, PyObject *const *args, Py_ssize_t count,
			     PyObject *names)
{
	core *loop = (core *)self;
	Py_ssize_t named = names == NULL ? 0 : PyTuple_GET_SIZE(names);
	bool is_plain = loop->closed == Py_False && loop->task_factory == Py_None && count == 1 &&
			named <= 2;
	PyObject *all[4], *made;

	for (Py_ssize_t at = 0; is_plain && at < named; at++)
		is_plain = is_text(PyTuple_GET_ITEM(names, at), str_context) ||
			   is_text(PyTuple_GET_ITEM(names, at), str_name);
	if (!is_plain)
		return as_asyncio(base_create_task, self, args, count, names);
	for (Py_ssize_t at = 0; at <= named; at++)
		all[at] = args[at];
	all[named + 1] = self;
	names = named == 0 ? Py_NewRef(names_of_loop) : PySequence_Concat(names, names_of_loop);
	if (names == NULL)
		return NULL;
	made = make(str_tasks, str_task, all, 1, names);
	Py_DECREF(names);
	return made;
}

static PyObject *get_debug(PyObject *self, PyObject *nothing)
{
	PyObject *debug = ((core *)self)->debug;

	(void)nothing;
	return Py_NewRef(debug == NULL ? Py_False : debug);
}

static PyObject *get_time(PyObject *self, PyObject *nothing)
{
	PyObject *clock = in_asyncio(str_time, str_monotonic), *now = NULL;

	(void)self;
	(void)nothing;
	if (clock != NULL)
		now = PyObject_CallNoArgs(clock);
	Py_XDECREF(clock);
	return now;
}

/* ---- wakeups ---- */

/* Whether a method of the loop's class is that one, or a subclass has another. */
static bool has(core *loop, PyObject *name, PyObject *method)
{
	PyObject *found = PyObject_GetAttr((PyObject *)Py_TYPE(loop), name);

	PyErr_Clear();
	Py_XDECREF(found);
	return found == method;
}

/* The descriptor of a socket that is an attribute; -1: it is something else, or closed. */
static int descriptor_of(PyObject *self, PyObject *name)
{
	PyObject *sock = PyObject_GetAttr(self, name), *number = NULL;
	long fd = -1;

	if (sock != NULL && Py_IS_TYPE(sock, socket_type))
		number = PyObject_CallMethodNoArgs(sock, str_fileno);
	if (number != NULL)
		fd = PyLong_AsLong(number);
	Py_XDECREF(sock);
	Py_XDECREF(number);
	PyErr_Clear();
	return (int)fd;
}

/* Write to the self-pipe of a loop that sleeps; false: nothing was done, and Python knows more. */
static bool wake(core *loop)
{
	PyObject *self = (PyObject *)loop, *sleep;
	int fd;

	if (loop->wakeup == UNKNOWN)
		loop->wakeup = has(loop, str_write, our_wakeup) && has(loop, str_send, our_send)
				       ? OURS
				       : OVERRIDDEN;
	if (loop->wakeup != OURS)
		return false;
	sleep = PyObject_GetAttr(self, str_sleep);
	PyErr_Clear();
	Py_XDECREF(sleep);
	if (sleep != Py_None || (fd = descriptor_of(self, str_csock)) < 0 ||
	    send(fd, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL) != 1)
		return false;
	Py_XSETREF(loop->asleep, Py_NewRef(Py_False)); /* one thread pays for a sleep */
	loop->sent++;
	return true;
}

static PyObject *call_soon_threadsafe(PyObject *self, PyObject *const *args, Py_ssize_t count,
				      PyObject *names)
{
	core *loop = (core *)self;
	PyObject *context, *handle, *done;

	if (!is_known(loop, args, count, names, 1, &context) || !is_plain_deque(loop->ready))
		return as_asyncio(base_call_soon_threadsafe, self, args, count, names);
	handle = queue_call(loop, args, count, context);
	if (handle == NULL)
		return NULL;
	if (loop->asleep == Py_False) {
		loop->saved++;
		return handle;
	}
	if (wake(loop))
		return handle;
	done = PyObject_CallMethodNoArgs(self, str_write);
	if (done == NULL)
		Py_CLEAR(handle);
	Py_XDECREF(done);
	return handle;
}

/* Take what is in the self-pipe: signals, and the zeros of wakeups. */
static PyObject *read_from_self(PyObject *self, PyObject *nothing)
{
	char data[4096];
	int fd = descriptor_of(self, str_ssock);
	ssize_t count = fd < 0 ? 0 : recv(fd, data, sizeof data, MSG_DONTWAIT);

	(void)nothing;
	for (ssize_t at = 0; at < count; at++)
		if (data[at] != 0)
			return PyObject_CallMethod(self, "_process_self_data", "y#", data, count);
	Py_RETURN_NONE;
}

/* ---- timers: asyncio's heap of handles, the earliest first ---- */

/* Whether one entry of the heap is due before another; -1: an exception. */
static int is_before(PyObject *heap, Py_ssize_t one, Py_ssize_t other)
{
	PyObject *this = PyList_GET_ITEM(heap, one), *that = PyList_GET_ITEM(heap, other);
	Py_ssize_t count = PyList_GET_SIZE(heap);
	int found;

	if (is_timer(this) && is_timer(that)) {
		PyObject *left = *slot_of(this, WHEN), *right = *slot_of(that, WHEN);

		if (left != NULL && PyFloat_CheckExact(left) && right != NULL &&
		    PyFloat_CheckExact(right))
			return PyFloat_AS_DOUBLE(left) < PyFloat_AS_DOUBLE(right);
	}
	Py_INCREF(this); /* the comparison may be anybody's code */
	Py_INCREF(that);
	found = PyObject_RichCompareBool(this, that, Py_LT);
	Py_DECREF(this);
	Py_DECREF(that);
	if (found >= 0 && PyList_GET_SIZE(heap) != count) {
		PyErr_SetString(PyExc_RuntimeError, "the heap of timers changed meanwhile");
		return -1;
	}
	return found;
}

static void swap(PyObject *heap, Py_ssize_t one, Py_ssize_t other)
{
	PyObject *kept = PyList_GET_ITEM(heap, one);

	PyList_SET_ITEM(heap, one, PyList_GET_ITEM(heap, other));
	PyList_SET_ITEM(heap, other, kept);
}

/* Move an entry to its place among those above it; -1: an exception. */
static int rise(PyObject *heap, Py_ssize_t at)
{
	int code = 1;

	while (at > 0 && (code = is_before(heap, at, (at - 1) / 2)) > 0) {
		swap(heap, at, (at - 1) / 2);
		at = (at - 1) / 2;
	}
	return code < 0 ? -1 : 0;
}

/* Move an entry to its place among those below it; -1: an exception. */
static int sink(PyObject *heap, Py_ssize_t at)
{
	Py_ssize_t count = PyList_GET_SIZE(heap), next;
	int code = 1;

	while (code > 0 && (next = 2 * at + 1) < count) {
		code = next + 1 < count ? is_before(heap, next + 1, next) : 0;
		next += code > 0;
		if (code >= 0)
			code = is_before(heap, next, at);
		if (code > 0)
			swap(heap, at, next);
		at = next;
	}
	return code < 0 ? -1 : 0;
}

/* Take the earliest timer out of the heap; NULL: an exception. */
static PyObject *take_first(PyObject *heap)
{
	Py_ssize_t last = PyList_GET_SIZE(heap) - 1;
	PyObject *first = Py_NewRef(PyList_GET_ITEM(heap, 0));

	swap(heap, 0, last);
	if (PyList_SetSlice(heap, last, last + 1, NULL) != 0 || sink(heap, 0) != 0)
		Py_CLEAR(first);
	else if (is_timer(first))
		set(first, SCHEDULED, Py_False);
	else if (PyObject_SetAttrString(first, slot_names[SCHEDULED], Py_False) != 0)
		Py_CLEAR(first);
	return first;
}

/* Return a new timer that is due then, and is in the heap. */
static PyObject *schedule(core *loop, PyObject *when, PyObject *const *args, Py_ssize_t count,
			  PyObject *context)
{
	PyObject *timer = new_handle(timer_type, (PyObject *)loop, args, count, context);

	if (timer == NULL)
		return NULL;
	*slot_of(timer, WHEN) = Py_NewRef(when);
	*slot_of(timer, SCHEDULED) = Py_NewRef(Py_True);
	if (PyList_Append(loop->scheduled, timer) != 0 ||
	    rise(loop->scheduled, PyList_GET_SIZE(loop->scheduled) - 1) != 0)
		Py_CLEAR(timer);
	return timer;
}

static bool is_plain_heap(PyObject *scheduled)
{
	return scheduled != NULL && PyList_CheckExact(scheduled);
}

static PyObject *call_at(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
	core *loop = (core *)self;
	PyObject *context;

	if (!is_known(loop, args, count, names, 2, &context) || !is_plain_heap(loop->scheduled) ||
	    !PyFloat_CheckExact(args[0]))
		return as_asyncio(base_call_at, self, args, count, names);
	return schedule(loop, args[0], args + 1, count - 1, context);
}

/* Whether call_at is ours; if a subclass has one, call_later must call it. */
static bool has_our_call_at(core *loop)
{
	if (loop->call_at == UNKNOWN)
		loop->call_at = has(loop, str_call_at, our_call_at) ? OURS : OVERRIDDEN;
	return loop->call_at == OURS;
}

static PyObject *call_later(PyObject *self, PyObject *const *args, Py_ssize_t count,
			    PyObject *names)
{
	core *loop = (core *)self;
	PyObject *context, *now, *when, *timer;

	if (!is_known(loop, args, count, names, 2, &context) || !is_plain_heap(loop->scheduled) ||
	    !(PyFloat_CheckExact(args[0]) || PyLong_CheckExact(args[0])) || !has_our_call_at(loop))
		return as_asyncio(base_call_later, self, args, count, names);
	now = PyObject_CallMethodNoArgs(self, str_time);
	when = now == NULL ? NULL : PyNumber_Add(now, args[0]);
	Py_XDECREF(now);
	if (when == NULL)
		return NULL;
	timer = schedule(loop, when, args + 1, count - 1, context);
	Py_DECREF(when);
	return timer;
}

/* TimerHandle.cancel. */
static PyObject *cancel(PyObject *timer, PyObject *nothing)
{
	PyObject *loop = *slot_of(timer, LOOP);

	(void)nothing;
	if (loop == NULL || !PyObject_TypeCheck(loop, core_type) ||
	    ((core *)loop)->debug != Py_False)
		return PyObject_CallOneArg(base_cancel, timer);
	if (*slot_of(timer, CANCELLED) == Py_False) {
		((core *)loop)->cancelled += *slot_of(timer, SCHEDULED) == Py_True;
		set(timer, CANCELLED, Py_True);
		set(timer, CALLBACK, Py_None);
		set(timer, ARGS, Py_None);
	}
	Py_RETURN_NONE;
}

static bool is_cancelled(PyObject *timer)
{
	return is_timer(timer) && *slot_of(timer, CANCELLED) == Py_True;
}

/* Throw out the timers that were cancelled: all if they are many, else those that come first; -1:
 * an exception. */
static int discard_cancelled(core *loop)
{
	PyObject *heap = loop->scheduled, *first;
	Py_ssize_t count = PyList_GET_SIZE(heap), kept = 0;

	if (count <= MANY_TIMERS || loop->cancelled * 2 <= count) {
		while (PyList_GET_SIZE(heap) != 0 && is_cancelled(PyList_GET_ITEM(heap, 0))) {
			loop->cancelled--;
			if ((first = take_first(heap)) == NULL)
				return -1;
			Py_DECREF(first);
		}
		return 0;
	}
	for (Py_ssize_t at = 0; at < count; at++) {
		if (is_cancelled(PyList_GET_ITEM(heap, at)))
			set(PyList_GET_ITEM(heap, at), SCHEDULED, Py_False);
		else
			swap(heap, kept++, at);
	}
	loop->cancelled = 0;
	if (PyList_SetSlice(heap, kept, count, NULL) != 0)
		return -1;
	for (Py_ssize_t at = PyList_GET_SIZE(heap) / 2; at-- > 0;)
		if (sink(heap, at) != 0)
			return -1;
	return 0;
}

/* Return the loop's time; -1 and an exception. */
static double time_of(PyObject *self)
{
	PyObject *now = PyObject_CallMethodNoArgs(self, str_time);
	double found = now == NULL ? -1 : PyFloat_AsDouble(now);

	Py_XDECREF(now);
	return found;
}

/* When the earliest timer is due; -1 and an exception. */
static double first_due(PyObject *heap)
{
	PyObject *first = PyList_GET_ITEM(heap, 0), *when;
	double found;

	if (is_timer(first) && *slot_of(first, WHEN) != NULL)
		return PyFloat_AsDouble(*slot_of(first, WHEN));
	when = PyObject_GetAttrString(first, slot_names[WHEN]);
	found = when == NULL ? -1 : PyFloat_AsDouble(when);
	Py_XDECREF(when);
	return found;
}

static bool failed(double seconds)
{
	return seconds == -1 && PyErr_Occurred() != NULL;
}

/* How long the loop may block: a new reference; NULL: an exception. */
static PyObject *timeout_of(core *loop)
{
	int has_work = PyObject_IsTrue(loop->ready);
	double due, now;

	if (has_work != 0)
		return has_work < 0 ? NULL : Py_NewRef(zero);
	if (PyList_GET_SIZE(loop->scheduled) == 0)
		return Py_NewRef(Py_None);
	due = first_due(loop->scheduled);
	if (failed(due) || failed(now = time_of((PyObject *)loop)))
		return NULL;
	if (due <= now)
		return Py_NewRef(zero);
	return PyFloat_FromDouble(due - now < LONGEST_S ? due - now : LONGEST_S);
}

/* Queue a handle, whatever the queue is; -1: an exception. */
static int queue_anywhere(core *loop, PyObject *handle)
{
	PyObject *done;

	if (is_plain_deque(loop->ready))
		return queue(loop, handle);
	done = PyObject_CallMethod(loop->ready, "append", "O", handle);
	Py_XDECREF(done);
	return done == NULL ? -1 : 0;
}

/* Queue the timers that are due; -1: an exception. */
static int queue_due(core *loop)
{
	PyObject *heap = Py_NewRef(loop->scheduled), *timer;
	double now = 0, due;
	int code = 0;

	if (PyList_GET_SIZE(heap) != 0 && failed(now = time_of((PyObject *)loop)))
		code = -1;
	while (code == 0 && PyList_GET_SIZE(heap) != 0) {
		due = first_due(heap);
		if (failed(due))
			code = -1;
		if (code != 0 || due >= now + loop->resolution)
			break;
		timer = take_first(heap);
		code = timer == NULL ? -1 : queue_anywhere(loop, timer);
		Py_XDECREF(timer);
	}
	Py_DECREF(heap);
	return code;
}

/* ---- turns ---- */

/* Call a function, as an exception handler does, with `subject`, the exception, and what else is
 * there; -1: this ends the loop. */
static int hand_on(PyObject *function, PyObject *subject, const char *message)
{
	PyObject *kind, *error, *trace, *handled, *text = NULL, *done = NULL;

	if (PyErr_ExceptionMatches(PyExc_SystemExit) ||
	    PyErr_ExceptionMatches(PyExc_KeyboardInterrupt))
		return -1;
	PyErr_Fetch(&kind, &error, &trace);
	PyErr_NormalizeException(&kind, &error, &trace);
	if (trace != NULL)
		PyException_SetTraceback(error, trace);
	handled = PyErr_GetHandledException();
	PyErr_SetHandledException(error);
	if (message == NULL || (text = PyUnicode_FromString(message)) != NULL)
		done = PyObject_Vectorcall(function, (PyObject *[]){subject, error, text},
					   text == NULL ? 2 : 3, NULL);
	PyErr_SetHandledException(handled);
	Py_XDECREF(handled);
	Py_XDECREF(kind);
	Py_XDECREF(error);
	Py_XDECREF(trace);
	Py_XDECREF(text);
	Py_XDECREF(done);
	return done == NULL ? -1 : 0;
}

/* Run a handle; -1: an exception that ends the loop. */
static int run(PyObject *handle)
{
	PyObject *callback, *args, *context, *found = NULL;

	if (!is_handle(handle) && !is_timer(handle)) {
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
	return found == NULL ? hand_on(report, handle, NULL) : 0;
}

/* ---- descriptors ---- */

/* Whether the loop's selector is that of aio.py, with its own select: then we know its parts. */
static bool is_plain_selector(core *loop, PyObject *selector)
{
	PyObject *select = PyObject_GetAttr(selector, str_select);
	bool is_plain = select != NULL && PyMethod_Check(select) &&
			PyMethod_GET_FUNCTION(select) == our_select;

	Py_XDECREF(select);
	if (loop->events == UNKNOWN)
		loop->events = has(loop, str_process, base_process) ? OURS : OVERRIDDEN;
	if (is_plain && loop->events == OURS && loop->selector != selector) {
		Py_XSETREF(loop->epoll, PyObject_GetAttrString(selector, "_selector"));
		Py_XSETREF(loop->keys, PyObject_GetAttrString(selector, "_fd_to_key"));
		Py_XSETREF(loop->selector, Py_NewRef(selector));
	}
	PyErr_Clear();
	return is_plain && loop->events == OURS && loop->epoll != NULL && loop->keys != NULL &&
	       PyDict_CheckExact(loop->keys);
}

/* The events of descriptors that are ready, at most EVENTS, after `timeout_s` (below 0: no end);
 * -1: an exception. */
static int wait_for_events(core *loop, struct epoll_event *events, double timeout_s)
{
	PyObject *number = PyObject_CallMethodNoArgs(loop->epoll, str_fileno);
	int fd = number == NULL ? -1 : (int)PyLong_AsLong(number), count;

	Py_XDECREF(number);
	if (fd < 0)
		return -1;
	if (timeout_s == 0) {
		count = epoll_wait(fd, events, EVENTS, 0);
	} else {
		Py_BEGIN_ALLOW_THREADS;
		count = epoll_wait(fd, events, EVENTS,
				   timeout_s < 0 ? -1 : (int)ceil(timeout_s * 1e3));
		Py_END_ALLOW_THREADS;
	}
	if (count >= 0)
		return count;
	if (errno == EINTR) /* the loop computes its timeout anew */
		return PyErr_CheckSignals() == 0 ? 0 : -1;
	PyErr_SetFromErrno(PyExc_OSError);
	return -1;
}

/* Wait for descriptors as _block does: how many events there are; -1: an exception. */
static int poll(core *loop, struct epoll_event *events, PyObject *timeout)
{
	double timeout_s = timeout == Py_None ? -1 : PyFloat_AsDouble(timeout);
	PyObject *stopping;
	int count = -1, is_stopping, has_work = 0;

	if (timeout == zero)
		return wait_for_events(loop, events, 0);
	Py_XSETREF(loop->asleep, Py_NewRef(Py_True));
	stopping = PyObject_GetAttr((PyObject *)loop, str_stopping);
	is_stopping = stopping == NULL ? -1 : PyObject_IsTrue(stopping);
	Py_XDECREF(stopping);
	if (is_stopping >= 0)
		has_work = PyObject_IsTrue(loop->ready);
	if (is_stopping >= 0 && has_work >= 0)
		count = wait_for_events(loop, events, is_stopping || has_work ? 0 : timeout_s);
	Py_XSETREF(loop->asleep, Py_NewRef(Py_False));
	return count;
}

/* Queue the reader or the writer of a descriptor with an event; -1: an exception. */
static int queue_event(core *loop, PyObject *file, PyObject *handle, const char *remove)
{
	PyObject *done;

	if (handle == Py_None)
		return 0;
	if (*slot_of(handle, CANCELLED) != Py_True)
		return queue_anywhere(loop, handle);
	done = PyObject_CallMethod((PyObject *)loop, remove, "O", file);
	Py_XDECREF(done);
	return done == NULL ? -1 : 0;
}

static bool is_known_reader(PyObject *handle)
{
	return handle == Py_None || is_handle(handle);
}

/* Queue what waits for an event, which epoll has returned; -1: an exception. */
static int take_event(core *loop, const struct epoll_event *event)
{
	PyObject *fd = PyLong_FromLong(event->data.fd), *data, *file, *reader, *writer, *done;
	PyObject *key = fd == NULL ? NULL : PyDict_GetItemWithError(loop->keys, fd);
	long seen, wanted;
	int code = 0;

	Py_XDECREF(fd);
	if (key == NULL)
		return PyErr_Occurred() != NULL ? -1 : 0;
	/* An error or a hangup is neither of the two bits, and makes both kinds ready. */
	seen = (event->events & ~(uint32_t)EPOLLIN ? WRITE : 0) |
	       (event->events & ~(uint32_t)EPOLLOUT ? READ : 0);
	wanted = seen & PyLong_AsLong(PyTuple_GET_ITEM(key, EVENTS_OF));
	data = PyTuple_GET_ITEM(key, DATA_OF);
	if (!PyTuple_CheckExact(data) || PyTuple_GET_SIZE(data) != 2 ||
	    !is_known_reader(PyTuple_GET_ITEM(data, 0)) ||
	    !is_known_reader(PyTuple_GET_ITEM(data, 1))) {
		done = PyObject_CallMethod((PyObject *)loop, "_process_events", "[(Ol)]", key,
					   wanted);
		Py_XDECREF(done);
		return done == NULL ? -1 : 0;
	}
	file = Py_NewRef(PyTuple_GET_ITEM(key, FILE_OF)); /* a removal drops the key */
	reader = Py_NewRef(PyTuple_GET_ITEM(data, 0));
	writer = Py_NewRef(PyTuple_GET_ITEM(data, 1));
	if (wanted & READ)
		code = queue_event(loop, file, reader, "_remove_reader");
	if (code == 0 && (wanted & WRITE))
		code = queue_event(loop, file, writer, "_remove_writer");
	Py_DECREF(file);
	Py_DECREF(reader);
	Py_DECREF(writer);
	return code;
}

/* Look for descriptors, or block (not if the loop was stopped); -1: an exception. The turn after one
 * that has blocked takes no look: it has just been done, and what runs now is most often the task
 * that waited for what it found. */
static int look(core *loop, PyObject *timeout)
{
	PyObject *self = (PyObject *)loop, *selector = PyObject_GetAttr(self, str_selector);
	PyObject *found = NULL, *done = Py_None;
	struct epoll_event events[EVENTS];
	int code = -1, count;

	if (selector != NULL && is_plain_selector(loop, selector)) {
		count = loop->has_waited && timeout == zero ? 0 : poll(loop, events, timeout);
		loop->has_waited = timeout != zero;
		code = count < 0 ? -1 : 0;
		for (int at = 0; code == 0 && at < count; at++)
			code = take_event(loop, &events[at]);
	} else if (selector != NULL &&
		   (found = PyObject_CallMethodOneArg(selector, str_select, timeout)) != NULL) {
		if (!PyList_CheckExact(found) || PyList_GET_SIZE(found) != 0) {
			done = PyObject_CallMethodOneArg(self, str_process, found);
			Py_XDECREF(done);
		}
		code = done == NULL ? -1 : 0;
	}
	Py_XDECREF(selector);
	Py_XDECREF(found);
	return code;
}

/* ---- turns ---- */

static PyObject *run_once(PyObject *self, PyObject *nothing)
{
	core *loop = (core *)self;
	PyObject *ready, *handle, *timeout;
	Py_ssize_t count = -1;
	int code;

	(void)nothing;
	if (loop->debug != Py_False || loop->ready == NULL || !is_plain_heap(loop->scheduled))
		return PyObject_CallOneArg(base_run_once, self);
	if (discard_cancelled(loop) != 0 || (timeout = timeout_of(loop)) == NULL)
		return NULL;
	code = look(loop, timeout);
	Py_DECREF(timeout);
	if (code != 0 || queue_due(loop) != 0)
		return NULL;
	ready = Py_NewRef(loop->ready);
	count = PyObject_Size(ready);
	code = count < 0 ? -1 : 0;
	while (code == 0 && count-- > 0) {
		handle = is_plain_deque(ready) ? popleft(ready, NULL)
					       : PyObject_CallMethod(ready, "popleft", NULL);
		code = handle == NULL ? -1 : run(handle);
		Py_XDECREF(handle);
	}
	Py_DECREF(ready);
	if (code != 0)
		return NULL;
	Py_RETURN_NONE;
}

/* ---- sockets ---- */

/* Whether an attribute is that object. */
static bool is(PyObject *self, PyObject *name, PyObject *wanted)
{
	PyObject *found = PyObject_GetAttr(self, name);

	PyErr_Clear();
	Py_XDECREF(found);
	return found == wanted;
}

/* Whether an attribute is 0 or empty. */
static bool is_empty(PyObject *self, PyObject *name)
{
	PyObject *found = PyObject_GetAttr(self, name);
	int code = found == NULL ? -1 : PyObject_Not(found);

	PyErr_Clear();
	Py_XDECREF(found);
	return code == 1;
}

/* What a method of a transport returns when its work failed: the transport closes. */
static PyObject *fatal(PyObject *self, const char *message)
{
	if (hand_on(base_fatal, self, message) != 0)
		return NULL;
	Py_RETURN_NONE;
}

/* Be _SelectorSocketTransport._read_ready__data_received. */
static PyObject *data_received(PyObject *self, PyObject *nothing)
{
	static char buffer[RECEIVED]; /* used with the GIL, within one call */
	PyObject *data, *protocol, *done = NULL;
	ssize_t count;

	(void)nothing;
	if (!is_empty(self, str_lost))
		Py_RETURN_NONE;
	count = recv(descriptor_of(self, str_sock), buffer, sizeof buffer, MSG_DONTWAIT);
	if (count < 0 && (errno == EAGAIN || errno == EINTR))
		Py_RETURN_NONE;
	if (count < 0) {
		PyErr_SetFromErrno(PyExc_OSError);
		return fatal(self, "Fatal read error on socket transport");
	}
	if (count == 0)
		return PyObject_CallMethodNoArgs(self, str_on_eof);
	data = PyBytes_FromStringAndSize(buffer, count);
	protocol = data == NULL ? NULL : PyObject_GetAttr(self, str_protocol);
	if (protocol != NULL)
		done = PyObject_CallMethodOneArg(protocol, str_received, data);
	Py_XDECREF(data);
	Py_XDECREF(protocol);
	return done != NULL ? done
			    : fatal(self, "Fatal error: protocol.data_received() call failed.");
}

/* Be _SelectorSocketTransport._read_ready. */
static PyObject *read_ready(PyObject *self, PyObject *nothing)
{
	(void)nothing;
	return PyObject_CallMethodNoArgs(self, str_ready);
}

/* Be _SelectorSocketTransport.write. */
static PyObject *write_data(PyObject *self, PyObject *data)
{
	const char *bytes;
	ssize_t size, count;
	PyObject *rest, *done;
	int fd;

	if (!PyBytes_CheckExact(data) || (size = PyBytes_GET_SIZE(data)) == 0 || size > SENT ||
	    !is(self, str_eof, Py_False) || !is(self, str_waiter, Py_None) ||
	    !is_empty(self, str_lost) || !is_empty(self, str_buffer) ||
	    (fd = descriptor_of(self, str_sock)) < 0)
		return PyObject_Vectorcall(base_write, (PyObject *[]){self, data}, 2, NULL);
	bytes = PyBytes_AS_STRING(data);
	count = send(fd, bytes, (size_t)size, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (count == size)
		Py_RETURN_NONE;
	if (count < 0 && errno != EAGAIN && errno != EINTR) {
		PyErr_SetFromErrno(PyExc_OSError);
		return fatal(self, "Fatal write error on socket transport");
	}
	rest = PyBytes_FromStringAndSize(bytes + (count < 0 ? 0 : count),
					 size - (count < 0 ? 0 : count));
	if (rest == NULL)
		return NULL;
	done = PyObject_Vectorcall(base_write, (PyObject *[]){self, rest}, 2, NULL);
	Py_DECREF(rest);
	return done;
}

/* ---- the type ---- */

#define FIELD(name, field) {name, T_OBJECT_EX, offsetof(core, field), 0, NULL}
static PyMemberDef core_fields[] = {
	FIELD("_ready", ready),
	FIELD("_scheduled", scheduled),
	FIELD("_closed", closed),
	FIELD("_debug", debug),
	FIELD("_asleep", asleep),
	FIELD("_task_factory", task_factory),
	{"_saved", T_ULONGLONG, offsetof(core, saved), 0, NULL},
	{"_sent", T_ULONGLONG, offsetof(core, sent), 0, NULL},
	{"_timer_cancelled_count", T_PYSSIZET, offsetof(core, cancelled), 0, NULL},
	{"_clock_resolution", T_DOUBLE, offsetof(core, resolution), 0, NULL},
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
	Py_VISIT(loop->task_factory);
	Py_VISIT(loop->selector);
	Py_VISIT(loop->epoll);
	Py_VISIT(loop->keys);
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
	Py_CLEAR(loop->task_factory);
	Py_CLEAR(loop->selector);
	Py_CLEAR(loop->epoll);
	Py_CLEAR(loop->keys);
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
	{"call_at", METHOD(call_at), CALLED, "As asyncio's."},
	{"call_later", METHOD(call_later), CALLED, "As asyncio's."},
	{"create_task", METHOD(create_task), CALLED, "As asyncio's."},
	{"create_future", create_future, METH_NOARGS, "As asyncio's."},
	{"get_debug", get_debug, METH_NOARGS, "As asyncio's."},
	{"time", get_time, METH_NOARGS, "As asyncio's."},
	{"_run_once", run_once, METH_NOARGS, "Look for descriptors, and run what is ready."},
	{"_read_from_self", read_from_self, METH_NOARGS, "As asyncio's."},
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

/* Where the slots of a timer, and so of a handle, are; false: an exception. */
static bool find_slots(void)
{
	for (int at = 0; at < SLOTS; at++) {
		PyObject *found = PyObject_GetAttrString((PyObject *)timer_type, slot_names[at]);

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

/* The function of a method of deques with these flags; NULL: an exception. */
static PyCFunction of_deque(const char *name, int flags)
{
	PyObject *found = PyObject_GetAttrString((PyObject *)deque_type, name);
	PyMethodDef *method = NULL;

	if (found != NULL && Py_IS_TYPE(found, &PyMethodDescr_Type))
		method = ((PyMethodDescrObject *)found)->d_method;
	Py_XDECREF(found); /* the type has it */
	if (method != NULL && method->ml_flags == flags)
		return method->ml_meth;
	PyErr_Format(PyExc_ImportError, "%s of a deque is unknown", name);
	return NULL;
}

/* Make a method of a class; false: an exception. */
static bool add_method(PyTypeObject *type, PyMethodDef *method)
{
	PyObject *made = PyDescr_NewMethod(type, method);
	int code =
		made == NULL ? -1 : PyObject_SetAttrString((PyObject *)type, method->ml_name, made);

	Py_XDECREF(made);
	return code == 0;
}

static PyMethodDef cancel_method = {"cancel", cancel, METH_NOARGS, "As asyncio's."};
static PyMethodDef write_method = {"write", write_data, METH_O, "As asyncio's."};
static PyMethodDef ready_method = {"_read_ready", read_ready, METH_NOARGS, "As asyncio's."};
static PyMethodDef received_method = {"_read_ready__data_received", data_received, METH_NOARGS,
				      "As asyncio's."};

static PyObject *bind_all(PyObject *module, PyObject *args)
{
	PyObject *base, *plain;
	PyTypeObject *transport;

	(void)module;
	if (!PyArg_ParseTuple(args, "OOOOOOOOOOO", &asyncio_handle_type, &handle_type,
			      &asyncio_timer_type, &timer_type, &deque_type, &socket_type, &base,
			      &plain, &our_select, &report, &transport))
		return NULL;
	Py_INCREF(args); /* all of these stay */
	append = of_deque("append", METH_O);
	popleft = of_deque("popleft", METH_NOARGS);
	base_call_soon = PyObject_GetAttrString(base, "call_soon");
	base_call_soon_threadsafe = PyObject_GetAttrString(base, "call_soon_threadsafe");
	base_call_later = PyObject_GetAttrString(base, "call_later");
	base_call_at = PyObject_GetAttrString(base, "call_at");
	base_create_task = PyObject_GetAttrString(base, "create_task");
	base_names = base_create_task == NULL ? NULL : PyFunction_GetGlobals(base_create_task);
	base_run_once = PyObject_GetAttrString(base, "_run_once");
	base_process = PyObject_GetAttr(base, str_process);
	base_cancel = PyObject_GetAttrString((PyObject *)asyncio_timer_type, "cancel");
	base_write = PyObject_GetAttrString((PyObject *)transport, "write");
	base_fatal = PyObject_GetAttrString((PyObject *)transport, "_fatal_error");
	our_call_at = PyObject_GetAttrString((PyObject *)core_type, "call_at");
	our_wakeup = PyObject_GetAttr(plain, str_write);
	our_send = PyObject_GetAttr(plain, str_send);
	if (append == NULL || popleft == NULL || base_call_soon == NULL ||
	    base_call_soon_threadsafe == NULL || base_call_later == NULL || base_call_at == NULL ||
	    base_names == NULL || base_run_once == NULL || base_cancel == NULL ||
	    base_process == NULL || base_write == NULL || base_fatal == NULL ||
	    our_call_at == NULL || our_wakeup == NULL || our_send == NULL || !find_slots() ||
	    !add_method(timer_type, &cancel_method) || !add_method(transport, &write_method) ||
	    !add_method(transport, &ready_method) || !add_method(transport, &received_method))
		return NULL;
	handle_type->tp_traverse = timer_type->tp_traverse = handle_traverse;
	handle_type->tp_dealloc = handle_dealloc;
	Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
	{"bind", bind_all, METH_VARARGS, "Classes and functions of asyncio, and ours."},
	{0},
};

static const struct {
	PyObject **where;
	const char *text;
} names[] = {
	{&str_time, "time"},
	{&str_call_at, "call_at"},
	{&str_stopping, "_stopping"},
	{&str_monotonic, "monotonic"},
	{&str_futures, "futures"},
	{&str_future, "Future"},
	{&str_tasks, "tasks"},
	{&str_task, "Task"},
	{&str_name, "name"},
	{&str_context, "context"},
	{&str_write, "_write_to_self"},
	{&str_send, "_send"},
	{&str_sleep, "_sleep"},
	{&str_csock, "_csock"},
	{&str_ssock, "_ssock"},
	{&str_fileno, "fileno"},
	{&str_select, "select"},
	{&str_selector, "_selector"},
	{&str_process, "_process_events"},
	{&str_run, "_run"},
	{&str_sock, "_sock"},
	{&str_protocol, "_protocol"},
	{&str_lost, "_conn_lost"},
	{&str_eof, "_eof"},
	{&str_waiter, "_empty_waiter"},
	{&str_buffer, "_buffer"},
	{&str_ready, "_read_ready_cb"},
	{&str_received, "data_received"},
	{&str_on_eof, "_read_ready__on_eof"},
};

static bool fill(PyObject *module)
{
	PyObject *type = PyType_FromSpec(&core_spec);
	int code = type == NULL ? -1 : PyModule_AddObjectRef(module, "LoopCore", type);

	core_type = (PyTypeObject *)type;
	zero = PyLong_FromLong(0);
	for (size_t at = 0; code == 0 && at < sizeof names / sizeof *names; at++) {
		*names[at].where = PyUnicode_InternFromString(names[at].text);
		code = *names[at].where == NULL ? -1 : 0;
	}
	names_of_loop = Py_BuildValue("(s)", "loop");
	return code == 0 && zero != NULL && names_of_loop != NULL && wp__add_channel(module);
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
