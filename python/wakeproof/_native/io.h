/* SPDX-License-Identifier: Apache-2.0
 * io.h - what Python needs beside the kernel's descriptors and files: the two halves of a wait.
 *
 * Why it works  As sync.h.
 * Evidence      tests/io/test_descriptor_python.py. */
#ifndef WP__IO_H
#define WP__IO_H

#include "sync.h"
#include "io/file.h"
#include "io/descriptor.h"

/* cdef: begin */
typedef struct wp_io wp_io;

/* As wp_io_new; NULL, and errno says why; EPERM: the driver refuses such a file. [any thread] */
wp_io *wp__io_take(wp_group *group, int fd);

/* As wp_io_free, but the number stays open and becomes the caller's, who is in no call; it is still
 * non-blocking. -1 and errno: nothing has changed. [any thread | system calls] */
int wp__io_give_up(wp_io *io);
/* Whether a read or write may block until another thread or process does something: not of regular files,
 * nor of a non-blocking descriptor, nor of what is none. [any thread | system calls] */
bool wp__fd_may_block(int fd);
/* Whether a call on it in that direction would not block; also if that is because of an error. [any thread |
 * a system call] */
bool wp__fd_is_ready(int fd, int side);

int wp__io_fd(const wp_io *io); /* [between enter and exit | wait-free] */

/* side: 0: to read, 1: to write. Each as in ready.h. */
uint32_t wp__io_look(wp_io *io, int side);
/* wp_io_enter, and what look says; -1: it is closed. */
int64_t wp__io_enter_and_look(wp_io *io, int side);
int wp__io_wait(wp_io *io, int side, uint32_t seen, int64_t deadline_ns);
/* wp_ready_pass and wp_io_exit: after a call that has waited. */
void wp__io_pass_and_exit(wp_io *io, int side);

/* Of a virtual thread, whose address is given: WP_MUST_PARK: in line, park. The waiter may have been that of
 * another wait and thread; that wait is over. [the waiter's thread | blocks briefly] */
int wp__io_wait_begin(wp_io *io, int side, uint32_t seen, wp_waiter *waiter, uint64_t thread);
bool wp__io_check(wp_io *io, int side, wp_waiter *waiter);
bool wp__io_cancel(wp_io *io, int side, wp_waiter *waiter);

/* Operations on files. */
typedef struct wp_file_op wp_file_op;

enum { WP_OP_OPEN, WP_OP_READ, WP_OP_WRITE, WP_OP_SYNC };

/* At the file's own place; `at`: a path, or bytes, which stay until it has ended; size: of them, or the
 * mode of a new file. NULL: no memory. [any thread] */
wp_file_op *wp__op_new(int what, int fd, const char *at, uint32_t size, uint32_t flags);
/* It has ended, or was refused. */
void wp__op_free(wp_file_op *op);
/* Asks: WP_MUST_PARK: in line, park; WP_OK: it has ended; else as wp__file_ask. [that thread | blocks
 * shortly] */
int wp__op_begin(wp_file_op *op, wp_vthread *thread, wp_waiter *waiter);
/* Out of line: it is to end soon. As begin. */
int wp__op_end(wp_file_op *op, wp_vthread *thread, wp_waiter *waiter);
bool wp__op_check(wp_file_op *op, wp_waiter *waiter);
bool wp__op_cancel(wp_file_op *op, wp_waiter *waiter);
/* What it gave, or -errno. [when it has ended | wait-free] */
int wp__op_result(const wp_file_op *op);
bool wp__op_is_cancelled(const wp_file_op *op);
/* cdef: end */

#endif
