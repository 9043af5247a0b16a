/* SPDX-License-Identifier: Apache-2.0
 * file.h - calls on files that park a virtual thread until the system has done them.
 *
 *   caller                              what happens
 *   a virtual thread that may park      its home's io_uring (file_queue.h); the thread parks
 *   the same, but without io_uring      WP_UNSUPPORTED, nothing is done; the process is warned once
 *   one that is pinned, or has no       the plain system call, which blocks its carrier
 *     stack
 *   an OS thread                        the plain system call
 *
 * Usage         wp_file_open("log", O_WRONLY | O_CREAT, 0600, WP_FOREVER, &fd);
 *               wp_file_write(fd, text, size, WP_FILE_HERE, WP_FOREVER, &done);
 *               wp_file_sync(fd, true, WP_FOREVER);
 *               close(fd);
 *
 * Why it works  Epoll reports a file as always ready, but a call on it may take long. So here the
 *               system does the whole call and reports its completion. Any plain descriptor will
 *               do, of a pipe too. No object owns the descriptor: a thread that closes it during a
 *               call may make the call reach another file with the same number.
 * Deadline      A call is cancelled when its deadline passes or its thread is interrupted. If the
 *               operation has completed nevertheless, the call returns WP_OK and what was done.
 * Not promised  That a cancelled call ends soon. A well-defined file position if several threads
 *               use it at once.
 * Spec          specs/io/FileQueue.tla.
 * Evidence      tests/io/test_file.py. */
#ifndef WP_FILE_H
#define WP_FILE_H

#include <stddef.h>
#include <sys/types.h>

#include "io/file_queue.h"

typedef struct wp_group wp_group;
struct wp_carrier_tasks;

/* As a `place`: the file's own position, which the call moves on. */
#define WP_FILE_HERE (-1)

/* Each returns WP_OK; WP_SYSTEM and errno; WP_TIMEOUT or WP_INTERRUPTED; WP_CLOSED: the group of
 * the caller is closing; WP_MISUSED: wp_io_start has not been called; WP_UNSUPPORTED. [any thread |
 * parks, or blocks as above] */
WP_API int wp_file_open(const char *path, int flags, mode_t mode, int64_t deadline_ns, int *fd);
/* Reads some bytes; 0: the end of the file. [as wp_file_open] */
WP_API int wp_file_read(int fd, void *bytes, size_t size, int64_t place, int64_t deadline_ns,
			size_t *done);
/* Writes all bytes, or on failure the first *done of them. [as wp_file_open] */
WP_API int wp_file_write(int fd, const void *bytes, size_t size, int64_t place, int64_t deadline_ns,
			 size_t *done);
/* Waits until the written data is on the disk; `data_only`: without metadata such as times.
 * [as wp_file_open] */
WP_API int wp_file_sync(int fd, bool data_only, int64_t deadline_ns);

/* cdef: begin */
/* Says why the group's virtual threads cannot use files; NULL: they can. [any thread, after
 * wp_io_start | wait-free] */
WP_API const char *wp_file_lacks(wp_group *group);
/* cdef: end */

/* Hands an operation to the ring of the thread's home. Returns WP_OK: wait for its latch; or
 * WP_UNSUPPORTED, WP_MISUSED or WP_CLOSED. [the thread | blocks shortly] */
int wp__file_ask(struct wp_carrier_tasks *home, wp_file_op *op);
/* Asks for the operation to end soon; the caller still waits for its latch. [the thread | blocks
 * shortly] */
void wp__file_cancel(struct wp_carrier_tasks *home, wp_file_op *op);
/* Returns true if the operation was cancelled and has not done what was asked. [the thread, after
 * its wait | wait-free] */
bool wp__file_is_cancelled(const wp_file_op *op);

#endif
