/* SPDX-License-Identifier: Apache-2.0
 * file.h - calls on files that park a virtual thread until the system has done them.
 *
 *   caller                              what happens
 *   a virtual thread that may park      its home's io_uring does it (file_queue.h); it parks
 *   the same, but without io_uring      returns WP_UNSUPPORTED; the process prints one warning
 *   a virtual thread that is pinned,    the plain system call, which blocks its carrier
 *     or has no stack
 *   an OS thread                        the plain system call
 *
 * Usage         wp_file_open("log", O_WRONLY | O_CREAT, 0600, WP_FOREVER, &fd);
 *               wp_file_write(fd, text, size, WP_FILE_HERE, WP_FOREVER, &done);
 *               wp_file_sync(fd, true, WP_FOREVER);
 *               close(fd);
 *
 * Why it works  Epoll reports a file as always ready, but a call on it may take long. So here the
 *               system does the whole call and reports its completion. Any plain descriptor may be
 *               used, that of a pipe too. No object owns the descriptor. If a thread closes it
 *               during a call, the call may reach another file with the same number.
 * Deadline      A call is cancelled when its deadline passes or its thread is interrupted. If the
 *               operation has completed nevertheless, the call returns WP_OK and what was done.
 * Not promised  A cancelled call may take long to end. If several threads use a file's own position
 *               at once, it is not defined where each of them reads or writes.
 * Spec          specs/io/FileQueue.tla.
 * Evidence      tests/io/test_file.py. */
#ifndef WP_FILE_H
#define WP_FILE_H

#include <stddef.h>
#include <sys/types.h>

#include "io/file_queue.h"

typedef struct wp_group wp_group;
struct wp_carrier_tasks;

/* As `place`: the file's own position, which the call advances. */
#define WP_FILE_HERE (-1)

/* Each of these functions returns WP_OK; WP_SYSTEM and errno; WP_TIMEOUT or WP_INTERRUPTED;
 * WP_CLOSED if the group of the caller is closing; WP_MISUSED if wp_io_start has not been called;
 * or WP_UNSUPPORTED. [any thread | parks, or blocks as above] */
WP_API int wp_file_open(const char *path, int flags, mode_t mode, int64_t deadline_ns, int *fd);
/* Reads some bytes; 0: the end of the file. [as wp_file_open] */
WP_API int wp_file_read(int fd, void *bytes, size_t size, int64_t place, int64_t deadline_ns,
			size_t *done);
/* Writes all bytes. If it fails, *done is how many of them it has written. [as wp_file_open] */
WP_API int wp_file_write(int fd, const void *bytes, size_t size, int64_t place, int64_t deadline_ns,
			 size_t *done);
/* Waits until the written data is on the disk. With `data_only` it does not wait for metadata such
 * as times. [as wp_file_open] */
WP_API int wp_file_sync(int fd, bool data_only, int64_t deadline_ns);

/* cdef: begin */
/* Returns the reason why the group's virtual threads cannot use files, or NULL if they can. [any
 * thread, after wp_io_start | wait-free] */
WP_API const char *wp_file_lacks(wp_group *group);
/* cdef: end */

/* Gives an operation to the ring of the thread's home. Returns WP_OK if the caller must wait for
 * its latch, else WP_UNSUPPORTED, WP_MISUSED or WP_CLOSED. [the thread | blocks briefly] */
int wp__file_ask(struct wp_carrier_tasks *home, wp_file_op *op);
/* Asks for the operation to end soon; the caller still waits for its latch. [the thread | blocks
 * briefly] */
void wp__file_cancel(struct wp_carrier_tasks *home, wp_file_op *op);
/* Returns true if the operation was cancelled and has not done what was asked. [the thread, after
 * its wait | wait-free] */
bool wp__file_is_cancelled(const wp_file_op *op);

#endif
