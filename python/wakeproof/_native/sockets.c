/* SPDX-License-Identifier: Apache-2.0
 * sockets.c - the receives and sends that a virtual thread makes: of wakeproof.io's sockets, and after
 * wakeproof.install() of Python's own ("plain").
 *
 *   call                                        close (descriptor.py)
 *     enter: the descriptor stays open            the descriptor's address := none
 *     [loop] seen := edges                        wp_io_free
 *     try it, without blocking
 *     would block: begin a wait, park; try again  group's close
 *   exit                                            abandon: exit, in place of the thread
 *
 * Why it works   The wait is the kernel's (io/readiness.h), in the steps that descriptor.py has in
 *                Python for all other calls. The address is read, and the descriptor entered, with
 *                the GIL, so wp_io_free has not begun.
 *                The waiter is an object on the heap, because the stack of a virtual thread that
 *                waits is copied away.
 *                The kernel's functions wait for no other thread, and the system calls do not block;
 *                so they are called with the GIL (core.c), unless they copy much.
 *                A plain socket's descriptor is the user's: its waits are those of watch.h, which look
 *                after each wait whether the number still names the same file.
 * What it leaves  An OS thread, a coroutine function or a pinned thread that would have to wait, a
 *                timeout of 0, a closed socket, odd arguments: the method of Python is called. So it is
 *                for a send of a plain socket that would have to wait.
 * Where          As core.c, with the GIL. Elsewhere _runtime/socket.py does the same.
 * Evidence       tests/io/test_sockets_python.py; specs/io/Descriptor.tla. */
#include "core.h"

#if PY_VERSION_HEX < 0x030F0000 && !defined(Py_GIL_DISABLED) && !defined(PYPY_VERSION)

#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <structmember.h>
#include <sys/socket.h>

#include "thread/wait_queue.h"

static struct {
	int64_t (*enter_and_look)(void *io, int side);
	uint32_t (*look)(void *io, int side);
	int (*wait_begin)(void *io, int side, uint32_t seen, wp_waiter *waiter, uint64_t thread);
	bool (*check)(void *io, int side, wp_waiter *waiter);
	bool (*cancel)(void *io, int side, wp_waiter *waiter);
	void (*unparked)(wp_waiter *waiter);
	void (*exit)(void *io);
	void (*pass_and_exit)(void *io, int side);
	void *(*watch_enter)(void *thread, int fd);
	int64_t (*watch_add)(void *watch);
	int64_t (*watch_until)(int64_t since, int64_t deadline);
	int64_t (*clock_ns)(void);
} kernel;

enum { READ, WRITE };
enum { AT_ONCE = 1 << 16 }; /* bytes: to copy more takes long, and is done without the GIL */

static PyObject *deadline_ns, *str_descriptor, *str_limit;

/* ---- the descriptor ---- */

typedef struct descriptor {
	PyObject_HEAD void *io; /* NULL: closed */
	long pid;               /* of the process that has made it */
	int fd;
} descriptor;

static int io_put(PyObject *self, PyObject *value, void *nothing)
{
	descriptor *mine = (descriptor *)(void *)self;

	(void)nothing;
	mine->io = value == NULL ? NULL : PyLong_AsVoidPtr(value);
	mine->pid = wp__core_pid();
	return PyErr_Occurred() ? -1 : 0;
}

static PyGetSetDef descriptor_fields[] = {
	{"_address", NULL, io_put, "The kernel's descriptor; 0: none.", NULL}, {0}};
static PyMemberDef descriptor_members[] = {{"_fd", T_INT, offsetof(descriptor, fd), 0, NULL}, {0}};
static PyType_Slot descriptor_slots[] = {{Py_tp_new, PyType_GenericNew},
					 {Py_tp_getset, descriptor_fields},
					 {Py_tp_members, descriptor_members},
					 {0, NULL}};
static PyType_Spec descriptor_spec = {.name = "wakeproof._native.own.DescriptorCore",
				      .basicsize = sizeof(descriptor),
				      .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
				      .slots = descriptor_slots};

/* ---- the wait of a call ---- */

typedef struct wait {
	PyObject_HEAD wp_waiter waiter;
	void *io;
	int side;
	bool has_left;
} wait;

static PyTypeObject *wait_type;

/* Ends a call. has_waited: then more may be ready. */
static void leave(void *io, int side, bool has_waited, bool is_closed)
{
	/* The last call of a closed descriptor closes the file, which may take long. */
	PyThreadState *state = is_closed ? PyEval_SaveThread() : NULL;

	if (has_waited)
		kernel.pass_and_exit(io, side);
	else
		kernel.exit(io);
	if (state != NULL)
		PyEval_RestoreThread(state);
}

/* The same of a wait, once. */
static void leave_once(wait *self, bool is_closed)
{
	if (!self->has_left) {
		self->has_left = true;
		leave(self->io, self->side, true, is_closed);
	}
}

static PyObject *abandon(PyObject *self, PyObject *nothing)
{
	(void)nothing;
	leave_once((wait *)(void *)self, true);
	Py_RETURN_NONE;
}

static void wait_dealloc(PyObject *self)
{
	PyTypeObject *type = Py_TYPE(self);

	PyObject_Free(self);
	Py_DECREF(type);
}

static PyMethodDef wait_methods[] = {
	{"abandon", abandon, METH_NOARGS, "End the call: its thread never continues."}, {0}};
static PyType_Slot wait_slots[] = {
	{Py_tp_methods, wait_methods}, {Py_tp_dealloc, wait_dealloc}, {0, NULL}};
static PyType_Spec wait_spec = {.name = "wakeproof._native.own.SocketWait",
				.basicsize = sizeof(wait),
				.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
				.slots = wait_slots};

enum { RAISED = INT_MIN }; /* beside the kernel's codes */

/* Waits once. WP_OK: try again; else what has ended the wait; RAISED: an exception. */
static int await(wait *self, PyObject *thread, int fd, uint32_t seen, int64_t deadline)
{
	int why = self->side == READ ? WP_WAIT_READ : WP_WAIT_WRITE;
	int said = kernel.wait_begin(self->io, self->side, seen, &self->waiter,
				     (uint64_t)(uintptr_t)OF(thread)->native);

	if (said != WP_MUST_PARK)
		return said;
	do {
		if (wp__core_park(thread, deadline, why, (uint32_t)fd, &said) != 0) {
			if (!self->has_left)
				kernel.cancel(self->io, self->side, &self->waiter);
			return RAISED;
		}
		if (said != WP_OK) {
			kernel.unparked(&self->waiter);
			return kernel.cancel(self->io, self->side, &self->waiter)
				       ? said
				       : self->waiter.result;
		}
	} while (!kernel.check(self->io, self->side, &self->waiter));
	return self->waiter.result;
}

/* ---- a call ---- */

typedef struct call {
	PyObject *socket, *buffer;
	char *bytes;
	long size; /* 0 of try_recv_into: as much as there is room for */
	Py_ssize_t done;
	int side, flags, fd;
	int64_t deadline; /* 0: none of its waits has begun */
	int64_t files,
		since; /* of a plain socket: watch_add, and when its first wait began; 0: none */
	PyObject *made;
} call;

enum { OTHERS = -2, FAILED, BLOCKS, DONE }; /* OTHERS: it is for the method of Python */

/* Tries a system call; `done` is what it has said. */
static int transfer(call *mine, char *bytes, Py_ssize_t size)
{
	int flags = mine->flags | MSG_DONTWAIT, failed = 0;

	do {
		PyThreadState *state = size > AT_ONCE ? PyEval_SaveThread() : NULL;

		mine->done = mine->side == READ ? recv(mine->fd, bytes, (size_t)size, flags)
						: send(mine->fd, bytes, (size_t)size, flags);
		failed = errno;
		if (state != NULL)
			PyEval_RestoreThread(state);
		if (mine->done >= 0)
			return DONE;
	} while (failed == EINTR && PyErr_CheckSignals() == 0);
	if (failed == EAGAIN || failed == EWOULDBLOCK)
		return BLOCKS;
	errno = failed;
	if (failed != EINTR)
		PyErr_SetFromErrno(PyExc_OSError);
	return FAILED;
}

static int try_send(call *mine)
{
	return transfer(mine, mine->bytes, mine->size);
}

static int try_recv(call *mine)
{
	static char few[AT_ONCE]; /* with the GIL: no object of that size for a few bytes */
	bool is_few = mine->size <= AT_ONCE;
	int how;

	mine->made = is_few ? NULL : PyBytes_FromStringAndSize(NULL, mine->size);
	if (!is_few && mine->made == NULL)
		return FAILED;
	how = transfer(mine, is_few ? few : PyBytes_AS_STRING(mine->made), mine->size);
	if (how != DONE)
		Py_CLEAR(mine->made);
	else if (is_few)
		mine->made = PyBytes_FromStringAndSize(few, mine->done);
	else
		_PyBytes_Resize(&mine->made, mine->done);
	return how == DONE && mine->made == NULL ? FAILED : how;
}

static int try_recv_into(call *mine)
{
	Py_buffer into;
	int how;

	if (PyObject_GetBuffer(mine->buffer, &into, PyBUF_WRITABLE) != 0 || mine->size > into.len) {
		if (PyErr_Occurred())
			PyErr_Clear();
		else
			PyBuffer_Release(&into);
		return OTHERS; /* which raises the right exception */
	}
	how = transfer(mine, into.buf, mine->size != 0 ? mine->size : into.len);
	PyBuffer_Release(&into);
	return how;
}

/* Waits once, as `await`; a plain socket's wait ends with WP_OK also because it is time to look again,
 * and with WP_CLOSED also because the number names another file. */
static int await_file(wait *self, PyObject *thread, const call *mine, uint32_t seen)
{
	int64_t until =
		mine->since == 0 ? mine->deadline : kernel.watch_until(mine->since, mine->deadline);
	int ended = await(self, thread, mine->fd, seen, until);

	if (mine->since == 0)
		return ended;
	if (ended == WP_TIMEOUT && until < mine->deadline)
		ended = WP_OK;
	return ended == WP_OK && kernel.watch_add(self->io) != mine->files ? WP_CLOSED : ended;
}

/* Waits and tries until that does not block. *ended: what has ended a wait; WP_OK: none. of: NULL: a plain
 * socket's. */
static int wait_and_try(call *mine, int (*attempt)(call *), const descriptor *of, void *io,
			uint32_t seen, PyObject *thread, int *ended)
{
	wait *own = PyObject_New(wait, wait_type);
	int how = BLOCKS;

	if (own == NULL) {
		leave(io, mine->side, false, of != NULL && of->io == NULL);
		return FAILED;
	}
	own->io = io;
	own->side = mine->side;
	own->has_left = false;
	while (how == BLOCKS) {
		Py_XSETREF(OF(thread)->wait, Py_NewRef((PyObject *)own));
		*ended = await_file(own, thread, mine, seen);
		if (*ended != WP_OK)
			break;
		seen = kernel.look(io, mine->side);
		how = attempt(mine);
	}
	Py_CLEAR(OF(thread)->wait);
	leave_once(own, of != NULL && of->io == NULL);
	Py_DECREF(own);
	return *ended == RAISED ? FAILED : how;
}

/* The thread that calls, if it can leave its carrier to wait; borrowed. */
static PyObject *who_parks(void)
{
	PyObject *thread = wp__own_thread();

	return thread != NULL && wp__core_may_leave(thread) ? thread : NULL;
}

/* 0; -1: an exception. */
static int find_deadline(call *mine, PyObject *limit_s)
{
	PyObject *found = mine->deadline != 0 ? NULL : PyObject_CallOneArg(deadline_ns, limit_s);

	if (found != NULL) {
		mine->deadline = PyLong_AsLongLong(found);
		Py_DECREF(found);
	}
	return PyErr_Occurred() ? -1 : 0;
}

static int call_on(call *mine, int (*attempt)(call *), PyObject *object, PyObject *limit_s,
		   const char *what)
{
	descriptor *of = (descriptor *)(void *)object;
	PyObject *thread, *said;
	void *io = of->io;
	int64_t seen = io != NULL && of->pid == wp__core_pid()
			       ? kernel.enter_and_look(io, mine->side)
			       : -1;
	int how, ended = WP_OK;

	if (seen < 0)
		return OTHERS;
	mine->fd = of->fd;
	how = attempt(mine);
	thread = how == BLOCKS ? who_parks() : NULL;
	if (thread != NULL && find_deadline(mine, limit_s) != 0) {
		thread = NULL;
		how = FAILED;
	}
	if (thread == NULL) {
		leave(io, mine->side, false, of->io == NULL);
		return how == BLOCKS ? OTHERS : how;
	}
	Py_INCREF(thread);
	how = wait_and_try(mine, attempt, of, io, (uint32_t)seen, thread, &ended);
	Py_DECREF(thread);
	if (how != BLOCKS)
		return how;
	said = PyObject_CallMethod(object, "_ended", "is", ended, what); /* which raises */
	Py_XDECREF(said);
	return FAILED;
}

/* Makes a call that waits as its socket does. */
static int make(call *mine, int (*attempt)(call *), const char *what)
{
	PyObject *object = PyObject_GetAttr(mine->socket, str_descriptor),
		 *limit_s = object == NULL ? NULL : PyObject_GetAttr(mine->socket, str_limit);
	int how = OTHERS;

	PyErr_Clear(); /* not initialised */
	if (limit_s != NULL && object != Py_None && !(mine->flags & MSG_DONTWAIT) &&
	    !(PyFloat_CheckExact(limit_s) && PyFloat_AS_DOUBLE(limit_s) == 0))
		how = call_on(mine, attempt, object, limit_s, what);
	Py_XDECREF(object);
	Py_XDECREF(limit_s);
	return how;
}

/* ---- the methods of a socket of wakeproof.io ---- */

static struct {
	PyObject *recv, *recv_into, *send, *sendall;
} python;

static PyObject *others(PyObject *method, PyObject *self, PyObject *const *args, Py_ssize_t count,
			PyObject *keywords)
{
	PyObject *all[5] = {self};
	Py_ssize_t named = keywords == NULL ? 0 : PyTuple_GET_SIZE(keywords);

	if (count + named > 4)
		return PyErr_Format(PyExc_TypeError, "%R takes at most 4 arguments", method);
	memcpy(all + 1, args, (size_t)(count + named) * sizeof *args);
	return PyObject_Vectorcall(method, all, (size_t)count + 1, keywords);
}

/* The int at that place; `none`, if there is no such argument. False: it is none, or out of range. */
static bool number(PyObject *const *args, Py_ssize_t count, Py_ssize_t at, long none, long *found)
{
	*found = at < count ? PyLong_Check(args[at]) ? PyLong_AsLong(args[at]) : -1 : none;
	if (!PyErr_Occurred())
		return 0 <= *found && *found <= INT_MAX;
	PyErr_Clear();
	return false;
}

static PyObject *sock_recv(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
	call mine = {.socket = self, .side = READ};
	int how = OTHERS;
	long flags;

	if (number(args, count, 0, -1, &mine.size) && number(args, count, 1, 0, &flags) &&
	    count <= 2) {
		mine.flags = (int)flags;
		how = make(&mine, try_recv, "socket");
	}
	return how == OTHERS ? others(python.recv, self, args, count, NULL) : mine.made;
}

static PyObject *sock_recv_into(PyObject *self, PyObject *const *args, Py_ssize_t count,
				PyObject *keywords)
{
	call mine = {.socket = self, .side = READ, .buffer = count == 0 ? NULL : args[0]};
	int how = OTHERS;
	long flags;

	if (count >= 1 && count <= 3 && keywords == NULL && number(args, count, 1, 0, &mine.size) &&
	    number(args, count, 2, 0, &flags)) {
		mine.flags = (int)flags;
		how = make(&mine, try_recv_into, "socket");
	}
	if (how == OTHERS)
		return others(python.recv_into, self, args, count, keywords);
	return how == DONE ? PyLong_FromSsize_t(mine.done) : NULL;
}

/* Sends what there is, in one piece or (is_all) in several. */
static int sends(call *mine, bool is_all)
{
	int how;

	do {
		how = make(mine, try_send, is_all ? "sendall" : "socket");
		if (how == DONE && is_all) {
			mine->bytes += mine->done;
			mine->size -= mine->done;
		}
	} while (how == DONE && is_all && mine->size > 0);
	return how;
}

static PyObject *send_as(PyObject *self, PyObject *const *args, Py_ssize_t count, bool is_all)
{
	PyObject *method = is_all ? python.sendall : python.send, *rest, *said;
	call mine = {.socket = self, .side = WRITE};
	Py_buffer data;
	long flags;
	int how;

	if (count < 1 || count > 2 || !number(args, count, 1, 0, &flags))
		return others(method, self, args, count, NULL);
	if (PyObject_GetBuffer(args[0], &data, PyBUF_SIMPLE) != 0) {
		PyErr_Clear();
		return others(method, self, args, count, NULL);
	}
	mine.flags = (int)flags;
	mine.bytes = data.buf;
	mine.size = data.len;
	how = is_all && (data.len == 0 || who_parks() == NULL) ? OTHERS : sends(&mine, is_all);
	if (how == OTHERS && mine.size != data.len) { /* it was closed meanwhile */
		rest = PyBytes_FromStringAndSize(mine.bytes, mine.size);
		said = rest == NULL ? NULL
				    : PyObject_CallFunction(method, "OOi", self, rest, mine.flags);
		Py_XDECREF(rest);
	} else if (how == OTHERS) {
		said = others(method, self, args, count, NULL);
	} else if (how == FAILED) {
		said = NULL;
	} else {
		said = is_all ? Py_NewRef(Py_None) : PyLong_FromSsize_t(mine.done);
	}
	PyBuffer_Release(&data);
	return said;
}

static PyObject *sock_send(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
	return send_as(self, args, count, false);
}

static PyObject *sock_sendall(PyObject *self, PyObject *const *args, Py_ssize_t count)
{
	return send_as(self, args, count, true);
}

static PyMethodDef socket_methods[] = {
	{"recv", (PyCFunction)(void *)sock_recv, METH_FASTCALL,
	 "recv($self, bufsize, flags=0, /)\n--\n\n"
	 "Receive at most `bufsize` bytes, as ``socket.socket.recv`` does."},
	{"recv_into", (PyCFunction)(void *)sock_recv_into, METH_FASTCALL | METH_KEYWORDS,
	 "recv_into($self, buffer, nbytes=0, flags=0)\n--\n\n"
	 "Receive into `buffer`, as ``socket.socket.recv_into`` does."},
	{"send", (PyCFunction)(void *)sock_send, METH_FASTCALL,
	 "send($self, data, flags=0, /)\n--\n\n"
	 "Send a part of `data`, as ``socket.socket.send`` does."},
	{"sendall", (PyCFunction)(void *)sock_sendall, METH_FASTCALL,
	 "sendall($self, data, flags=0, /)\n--\n\nSend all of `data`, within one timeout."},
	{0},
};
static PyType_Slot socket_slots[] = {{Py_tp_methods, socket_methods}, {0, NULL}};
static PyType_Spec socket_spec = {.name = "wakeproof._native.own.SocketCore",
				  .basicsize = sizeof(PyObject),
				  .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
				  .slots = socket_slots};

/* ---- the methods of a plain socket ---- */

/* Each is a builtin whose `self` is the method of Python for all that is not done here. */
static struct {
	PyObject *fileno, *gettimeout, *ended; /* the first two of the base class, which is in C */
} plain;

/* Flags of which Python's methods know what they do. */
enum { ODD = MSG_DONTWAIT | MSG_OOB | MSG_ERRQUEUE | MSG_WAITALL };

/* Finds the number of a socket whose calls wait; *limit_s: its timeout, new. OTHERS, if they do not. */
static int find_plain(call *mine, PyObject **limit_s)
{
	PyObject *fd = PyObject_CallOneArg(plain.fileno, mine->socket);

	*limit_s = fd == NULL ? NULL : PyObject_CallOneArg(plain.gettimeout, mine->socket);
	mine->fd = *limit_s == NULL ? -1 : (int)PyLong_AsLong(fd);
	Py_XDECREF(fd);
	PyErr_Clear();
	if (mine->fd >= 0 && !(mine->flags & ODD) &&
	    !(PyFloat_CheckExact(*limit_s) && PyFloat_AS_DOUBLE(*limit_s) == 0))
		return DONE;
	Py_CLEAR(*limit_s);
	return OTHERS;
}

/* Receives, and waits until there is something. */
static int receive_plain(call *mine, int (*attempt)(call *))
{
	PyObject *thread = who_parks(), *limit_s, *said;
	int how = thread == NULL ? OTHERS : find_plain(mine, &limit_s), ended = WP_OK;
	void *watch;
	uint32_t seen;

	if (how == OTHERS)
		return OTHERS;
	watch = kernel.watch_enter(OF(thread)->native, mine->fd);
	if (watch == NULL) { /* its group has no pollers yet, or none any more */
		Py_DECREF(limit_s);
		return OTHERS;
	}
	seen = kernel.look(watch, READ);
	how = attempt(mine);
	mine->files = how == BLOCKS ? kernel.watch_add(watch) : 0;
	if (mine->files < 0)
		how = OTHERS;
	else if (how == BLOCKS && find_deadline(mine, limit_s) != 0)
		how = FAILED;
	Py_DECREF(limit_s);
	if (how != BLOCKS) {
		leave(watch, READ, false, false);
		return how;
	}
	mine->since = kernel.clock_ns();
	Py_INCREF(thread);
	how = wait_and_try(mine, attempt, NULL, watch, seen, thread, &ended);
	Py_DECREF(thread);
	if (how != BLOCKS)
		return how;
	said = PyObject_CallFunction(plain.ended, "ii", mine->fd, ended); /* which raises */
	Py_XDECREF(said);
	return FAILED;
}

static PyObject *plain_recv(PyObject *others, PyObject *const *args, Py_ssize_t count)
{
	call mine = {.socket = count == 0 ? NULL : args[0], .side = READ};
	int how = OTHERS;
	long flags;

	if (2 <= count && count <= 3 && number(args, count, 1, -1, &mine.size) &&
	    number(args, count, 2, 0, &flags)) {
		mine.flags = (int)flags;
		how = receive_plain(&mine, try_recv);
	}
	return how == OTHERS ? PyObject_Vectorcall(others, args, (size_t)count, NULL) : mine.made;
}

static PyObject *plain_recv_into(PyObject *others, PyObject *const *args, Py_ssize_t count,
				 PyObject *keywords)
{
	call mine = {.side = READ};
	int how = OTHERS;
	long flags;

	if (2 <= count && count <= 4 && keywords == NULL && number(args, count, 2, 0, &mine.size) &&
	    number(args, count, 3, 0, &flags)) {
		mine.socket = args[0];
		mine.buffer = args[1];
		mine.flags = (int)flags;
		how = receive_plain(&mine, try_recv_into);
	}
	if (how == OTHERS)
		return PyObject_Vectorcall(others, args, (size_t)count, keywords);
	return how == DONE ? PyLong_FromSsize_t(mine.done) : NULL;
}

/* Sends the rest of the data; 0, if that fails after a part was sent: the next call says why. */
static PyObject *send_rest(PyObject *others, call *mine, const Py_buffer *data, bool is_all)
{
	PyObject *rest = PyBytes_FromStringAndSize((char *)data->buf + mine->done,
						   data->len - mine->done),
		 *said = rest == NULL ? NULL
				      : PyObject_CallFunction(others, "OOi", mine->socket, rest,
							      mine->flags);

	Py_XDECREF(rest);
	if (!is_all && said == NULL && PyErr_ExceptionMatches(PyExc_OSError)) {
		PyErr_Clear();
		said = PyLong_FromLong(0);
	}
	return said;
}

static PyObject *plain_send_as(PyObject *others, PyObject *const *args, Py_ssize_t count,
			       bool is_all)
{
	call mine = {.side = WRITE};
	PyObject *limit_s, *said = NULL;
	Py_ssize_t done;
	Py_buffer data;
	int how = OTHERS;
	long flags;

	if (count < 2 || count > 3 || !number(args, count, 2, 0, &flags) || who_parks() == NULL ||
	    PyObject_GetBuffer(args[1], &data, PyBUF_SIMPLE) != 0) {
		PyErr_Clear();
		return PyObject_Vectorcall(others, args, (size_t)count, NULL);
	}
	mine.socket = args[0];
	mine.flags = (int)flags;
	mine.bytes = data.buf;
	mine.size = data.len;
	if (find_plain(&mine, &limit_s) == DONE) {
		how = try_send(&mine);
		/* A socket with a timeout sends what it can, unless it is to send all. */
		if (how == DONE && limit_s != Py_None && !is_all)
			mine.size = mine.done;
		Py_DECREF(limit_s);
	}
	done = mine.done;
	if (how == DONE && done < mine.size)
		said = send_rest(others, &mine, &data, is_all);
	else if (how == DONE)
		said = PyLong_FromLong(0);
	else if (how != FAILED)
		said = PyObject_Vectorcall(others, args, (size_t)count, NULL);
	PyBuffer_Release(&data);
	if (how == DONE && said != NULL)
		Py_SETREF(said, is_all ? Py_NewRef(Py_None)
				       : PyLong_FromSsize_t(done + PyLong_AsSsize_t(said)));
	return said;
}

static PyObject *plain_send(PyObject *others, PyObject *const *args, Py_ssize_t count)
{
	return plain_send_as(others, args, count, false);
}

static PyObject *plain_sendall(PyObject *others, PyObject *const *args, Py_ssize_t count)
{
	return plain_send_as(others, args, count, true);
}

static PyMethodDef plain_methods[] = {
	{"recv", (PyCFunction)(void *)plain_recv, METH_FASTCALL, NULL},
	{"recv_into", (PyCFunction)(void *)plain_recv_into, METH_FASTCALL | METH_KEYWORDS, NULL},
	{"send", (PyCFunction)(void *)plain_send, METH_FASTCALL, NULL},
	{"sendall", (PyCFunction)(void *)plain_sendall, METH_FASTCALL, NULL},
	{0},
};

static PyObject *plain_method(PyObject *module, PyObject *args)
{
	const char *name;
	PyObject *others;

	(void)module;
	if (!PyArg_ParseTuple(args, "sO", &name, &others))
		return NULL;
	for (PyMethodDef *one = plain_methods; one->ml_name != NULL; one++)
		if (strcmp(one->ml_name, name) == 0)
			return PyCFunction_New(one, others);
	return PyErr_Format(PyExc_ValueError, "plain_method: %s", name);
}

/* ---- the module ---- */

static PyObject *bind_sockets(PyObject *module, PyObject *args)
{
	uintptr_t each[sizeof kernel / sizeof(uintptr_t)];
	PyObject *addresses;

	(void)module;
	if (!PyArg_ParseTuple(args, "O!OOOOOOOO", &PyTuple_Type, &addresses, &deadline_ns,
			      &python.recv, &python.recv_into, &python.send, &python.sendall,
			      &plain.fileno, &plain.gettimeout, &plain.ended))
		return NULL;
	if (PyTuple_GET_SIZE(addresses) != (Py_ssize_t)(sizeof each / sizeof *each))
		return PyErr_Format(PyExc_TypeError, "bind_sockets: of %zu addresses",
				    sizeof each / sizeof *each);
	for (size_t n = 0; n < sizeof each / sizeof *each; n++)
		each[n] = (uintptr_t)PyLong_AsVoidPtr(PyTuple_GET_ITEM(addresses, n));
	if (PyErr_Occurred())
		return NULL;
	memcpy(&kernel, each, sizeof kernel);
	Py_INCREF(args); /* and so all that is in it */
	Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
	{"bind_sockets", bind_sockets, METH_VARARGS, "Take what is called."},
	{"plain_method", plain_method, METH_VARARGS,
	 "Return that method of a plain socket; it calls the other one for what it leaves."},
	{0},
};

static PyObject *add(PyObject *module, const char *name, PyType_Spec *spec)
{
	PyObject *type = PyType_FromSpec(spec);

	if (type != NULL && PyModule_AddObjectRef(module, name, type) != 0)
		Py_CLEAR(type);
	return type;
}

int wp__sockets_fill(PyObject *module)
{
	str_descriptor = PyUnicode_InternFromString("_descriptor");
	str_limit = PyUnicode_InternFromString("_limit_s");
	wait_type = (PyTypeObject *)add(module, "SocketWait", &wait_spec);
	return str_descriptor == NULL || str_limit == NULL || wait_type == NULL ||
			       PyObject_SetAttrString((PyObject *)wait_type, "ends_by_threads",
						      Py_False) != 0 || /* for deadlock.py */
			       add(module, "DescriptorCore", &descriptor_spec) == NULL ||
			       add(module, "SocketCore", &socket_spec) == NULL
		       ? -1
		       : PyModule_AddFunctions(module, functions);
}

#else

int wp__sockets_fill(PyObject *module)
{
	(void)module;
	return 0;
}

#endif
