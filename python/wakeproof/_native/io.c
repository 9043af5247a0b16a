/* SPDX-License-Identifier: Apache-2.0
 * io.c - see io.h. */
#define _GNU_SOURCE
#include "io.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/descriptor_poller.h"
#include "sched/vthread_start.h"

_Static_assert((int)WP_OP_OPEN == (int)WP_FILE_OPEN && (int)WP_OP_READ == (int)WP_FILE_READ &&
		       (int)WP_OP_WRITE == (int)WP_FILE_WRITE &&
		       (int)WP_OP_SYNC == (int)WP_FILE_SYNC,
	       "as the kernel's");

static void set_errno(int code)
{
	if (code == WP_UNSUPPORTED)
		errno = EPERM;
	else if (code == WP_MISUSED)
		errno = ENXIO;
	else if (code == WP_CLOSED)
		errno = ESHUTDOWN;
}

wp_io *wp__io_take(wp_group *group, int fd)
{
	wp_io *io = NULL;
	int code = wp_io_new(group, fd, &io);

	set_errno(code);
	return code == WP_OK ? io : NULL;
}

int wp__io_give_up(wp_io *io)
{
	int fd = io->fd, copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	if (copy < 0)
		return -1;
	io->poller->driver->remove(io->poller->waits, fd);
	io->fd = copy; /* the last call under way closes it */
	wp_io_free(io);
	return fd;
}

bool wp__fd_may_block(int fd)
{
	int flags = fcntl(fd, F_GETFL);
	struct stat file;

	return flags >= 0 && !(flags & O_NONBLOCK) && fstat(fd, &file) == 0 &&
	       !S_ISREG(file.st_mode) && !S_ISDIR(file.st_mode) && !S_ISBLK(file.st_mode);
}

bool wp__fd_is_ready(int fd, int side)
{
	struct pollfd one = {.fd = fd, .events = side == WP_IO_READ ? POLLIN | POLLRDHUP : POLLOUT};

	return poll(&one, 1, 0) != 0;
}

int wp__io_fd(const wp_io *io)
{
	return io->fd;
}

uint32_t wp__io_look(wp_io *io, int side)
{
	return wp_ready_look(&io->ready[side]);
}

int64_t wp__io_enter_and_look(wp_io *io, int side)
{
	return wp_io_enter(io) ? (int64_t)wp__io_look(io, side) : -1;
}

int wp__io_wait(wp_io *io, int side, uint32_t seen, int64_t deadline_ns)
{
	bool is_told;

	return wp_ready_wait(&io->ready[side], seen, deadline_ns, &is_told);
}

void wp__io_pass_and_exit(wp_io *io, int side)
{
	wp_ready_pass(&io->ready[side]);
	wp_io_exit(io);
}

int wp__io_wait_begin(wp_io *io, int side, uint32_t seen, wp_waiter *waiter, uint64_t thread)
{
	wp__waiter_init(waiter, (wp_vthread *)(uintptr_t)thread, wp__vthread_push);
	return wp__ready_begin(&io->ready[side], seen, waiter);
}

bool wp__io_check(wp_io *io, int side, wp_waiter *waiter)
{
	return wp__waiter_check(&io->ready[side].lock, waiter);
}

bool wp__io_cancel(wp_io *io, int side, wp_waiter *waiter)
{
	return wp__waiter_cancel(&io->ready[side].lock, waiter);
}

/* home: whose ring has it; its thread may go on at another (place_at_resume). */
struct asked {
	wp_file_op op;
	struct wp_carrier_tasks *home;
};

wp_file_op *wp__op_new(int what, int fd, const char *at, uint32_t size, uint32_t flags)
{
	wp_file_op *op = calloc(1, sizeof(struct asked));

	if (op == NULL)
		return NULL;
	op->what = (uint8_t)what;
	op->fd = fd;
	op->at = at;
	op->size = size;
	op->flags = flags;
	if (what == WP_OP_READ || what == WP_OP_WRITE)
		op->offset = (uint64_t)WP_FILE_HERE;
	return op;
}

void wp__op_free(wp_file_op *op)
{
	free(op);
}

static int wait_for(wp_file_op *op, wp_waiter *waiter)
{
	return wp__latch_begin(&op->done, waiter) ? WP_OK : WP_MUST_PARK;
}

int wp__op_begin(wp_file_op *op, wp_vthread *thread, wp_waiter *waiter)
{
	struct asked *asked = (struct asked *)(void *)op;
	int code = wp__file_ask(thread->task.home, op);

	asked->home = thread->task.home;
	return code == WP_OK ? wait_for(op, waiter) : code;
}

int wp__op_end(wp_file_op *op, wp_vthread *thread, wp_waiter *waiter)
{
	(void)thread;
	wp__file_cancel(((struct asked *)(void *)op)->home, op);
	return wait_for(op, waiter);
}

bool wp__op_check(wp_file_op *op, wp_waiter *waiter)
{
	return wp__latch_check(&op->done, waiter);
}

bool wp__op_cancel(wp_file_op *op, wp_waiter *waiter)
{
	return wp__latch_cancel(&op->done, waiter);
}

int wp__op_result(const wp_file_op *op)
{
	return op->result;
}

bool wp__op_is_cancelled(const wp_file_op *op)
{
	return wp__file_is_cancelled(op);
}
