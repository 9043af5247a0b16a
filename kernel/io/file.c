/* SPDX-License-Identifier: Apache-2.0
 * file.c - see file.h.
 *
 * Not explored, because it makes system calls; the requests themselves are explored by
 * stress/scenarios/io/file_queue.c. */
#define _GNU_SOURCE
#include "io/file.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "io/descriptor_poller.h"
#include "sched/worker.h"

enum { MOST = 1 << 30, DATA_ONLY = 1 }; /* most bytes of one call; a flag of the system's fsync */

/* Whether this process has printed the warning. */
static struct {
	wp_lock lock;
	bool is_warned;
} process;

static int refuse(const char *why)
{
	bool is_first;

	wp_lock_acquire(&process.lock);
	is_first = !process.is_warned;
	process.is_warned = true;
	wp_lock_release(&process.lock);
	if (is_first)
		fprintf(stderr,
			"wakeproof: virtual threads have no files: %s; let OS threads call\n", why);
	return WP_UNSUPPORTED;
}

/* Returns the carrier to wake after a request, or NULL if it is the calling one, which is awake. */
static wp_carrier *away(wp_carrier_tasks *home)
{
	return (wp_carrier_tasks *)(void *)wp__worker_self() == home ? NULL : &home->carrier;
}

int wp__file_ask(wp_carrier_tasks *home, wp_file_op *op)
{
	wp_io_poller *poller = wp__io_poller_of(home);

	if (poller == NULL)
		return WP_MISUSED;
	if (poller->files == NULL)
		return refuse(poller->no_files);
	return wp__file_queue_ask(poller->files, op, away(home)) ? WP_OK : WP_CLOSED;
}

void wp__file_cancel(wp_carrier_tasks *home, wp_file_op *op)
{
	wp__file_queue_cancel(wp__io_poller_of(home)->files, op, away(home));
}

bool wp__file_is_cancelled(const wp_file_op *op)
{
	return op->result == -ECANCELED || op->result == -EINTR;
}

const char *wp_file_lacks(wp_group *group)
{
	for (uint32_t index = 0; index < group->config.carriers; index++) {
		const wp_io_poller *poller = wp__io_poller_of(wp__group_home(group, index));

		if (poller->files == NULL)
			return poller->no_files;
	}
	return NULL;
}

/* Does the operation by the system call that the ring would do. Returns its result, or -1 and sets
 * errno. */
static int64_t attempt(const wp_file_op *op)
{
	void *bytes = (void *)(uintptr_t)op->at;
	bool is_here = op->offset == (uint64_t)WP_FILE_HERE;

	switch (op->what) {
	case WP_FILE_OPEN:
		return open(op->at, (int)op->flags, (mode_t)op->size);
	case WP_FILE_READ:
		return is_here ? read(op->fd, bytes, op->size)
			       : pread(op->fd, bytes, op->size, (off_t)op->offset);
	case WP_FILE_WRITE:
		return is_here ? write(op->fd, bytes, op->size)
			       : pwrite(op->fd, bytes, op->size, (off_t)op->offset);
	default:
		return op->flags & DATA_ONLY ? fdatasync(op->fd) : fsync(op->fd);
	}
}

static int call_directly(wp_file_op *op)
{
	int64_t result;

	do
		result = attempt(op);
	while (result < 0 && wp__errno() == EINTR);
	op->result = result < 0 ? -wp__errno() : (int32_t)result;
	return WP_OK;
}

static int wait(wp_file_op *op, int64_t deadline_ns)
{
	return wp__latch_wait_for(&op->done, deadline_ns, WP_WAIT_FILE,
				  op->fd < 0 ? 0 : (uint32_t)op->fd);
}

/* The system may write into the caller's memory until the operation ends, so an interrupt does not
 * end this wait. */
static void wait_for_end(wp_file_op *op)
{
	bool was_interrupted = false;

	while (wait(op, WP_FOREVER) != WP_OK)
		was_interrupted |= wp_vthread_clear_interrupt();
	if (was_interrupted)
		wp_vthread_interrupt(wp_vthread_current());
}

static int ask_and_wait(wp_carrier_tasks *home, wp_file_op *op, int64_t deadline_ns)
{
	int code = wp__file_ask(home, op);

	if (code != WP_OK)
		return code;
	code = wait(op, deadline_ns);
	if (code == WP_OK)
		return WP_OK;
	wp__file_cancel(home, op);
	wait_for_end(op);
	return wp__file_is_cancelled(op) ? code : WP_OK;
}

static int call(wp_file_op *op, int64_t deadline_ns)
{
	wp_vthread *self = wp_vthread_current();
	wp_body *body = wp__body_of(self);
	int code;

	if (self == NULL || body->thread.pins != 0 || !body->thread.has_stack)
		code = call_directly(op);
	else
		code = ask_and_wait(self->task.home, op, deadline_ns);
	if (code != WP_OK || op->result >= 0)
		return code;
	if (op->result == -ECANCELED) /* the close of its group cancelled it */
		return WP_CLOSED;
	wp__errno_set(-op->result);
	return WP_SYSTEM;
}

int wp_file_open(const char *path, int flags, mode_t mode, int64_t deadline_ns, int *fd)
{
	wp_file_op op = {.what = WP_FILE_OPEN,
			 .fd = AT_FDCWD,
			 .at = path,
			 .size = mode,
			 .flags = (uint32_t)(flags | O_CLOEXEC)};
	int code = call(&op, deadline_ns);

	*fd = code == WP_OK ? op.result : -1;
	return code;
}

int wp_file_read(int fd, void *bytes, size_t size, int64_t place, int64_t deadline_ns, size_t *done)
{
	wp_file_op op = {.what = WP_FILE_READ,
			 .fd = fd,
			 .at = bytes,
			 .offset = (uint64_t)place,
			 .size = size < MOST ? (uint32_t)size : MOST};
	int code = call(&op, deadline_ns);

	*done = code == WP_OK ? (size_t)op.result : 0;
	return code;
}

int wp_file_write(int fd, const void *bytes, size_t size, int64_t place, int64_t deadline_ns,
		  size_t *done)
{
	int code = WP_OK;

	for (*done = 0; code == WP_OK && *done < size;) {
		size_t rest = size - *done;
		wp_file_op op = {.what = WP_FILE_WRITE,
				 .fd = fd,
				 .at = (const char *)bytes + *done,
				 .offset = (uint64_t)(place < 0 ? place : place + (int64_t)*done),
				 .size = rest < MOST ? (uint32_t)rest : MOST};

		code = call(&op, deadline_ns);
		*done += code == WP_OK ? (size_t)op.result : 0;
	}
	return code;
}

int wp_file_sync(int fd, bool data_only, int64_t deadline_ns)
{
	wp_file_op op = {.what = WP_FILE_SYNC, .fd = fd, .flags = data_only ? DATA_ONLY : 0};

	return call(&op, deadline_ns);
}
