/* SPDX-License-Identifier: Apache-2.0
 * file.h - calls on files: a virtual thread parks until the system has done them.
 *
 *   caller                            what happens
 *   a virtual thread that may park    its home's ring (file_queue.h); it parks
 *   that, and there is no io_uring    WP_UNSUPPORTED, and one warning: nothing is done
 *   in a pinned section, or a step    the system call: it blocks its carrier
 *   an OS thread                      the system call
 *
 * Why it works  Epoll says of a file that it is ready, always: what takes its time is the call. So
 *               the system calls, and says when it has done it. Descriptors are plain ones, of any
 *               kind: a pipe, too, may be read so. Nobody owns them: who closes one while a call is
 *               under way may meet another file of that number.
 * Its deadline  The call is cancelled when its time is over, or its thread is interrupted: if it
 * has
 *               ended all the same, it says WP_OK and what was done.
 * Not promised  That a cancelled call ends soon. A file's own position, if several use it at once.
 * Spec          specs/io/FileQueue.tla. Evidence  tests/io/test_file.py. */
#ifndef WP_FILE_H
#define WP_FILE_H

#include <stddef.h>
#include <sys/types.h>

#include "io/file_queue.h"

typedef struct wp_group wp_group;
struct wp_carrier_tasks;

/* As a place: the file's own, which moves on. */
#define WP_FILE_HERE (-1)

/* WP_OK; WP_SYSTEM and errno; WP_TIMEOUT, WP_INTERRUPTED; WP_CLOSED: its group is closing;
 * WP_MISUSED: wp_io_start has not been called; WP_UNSUPPORTED. [any thread | parks, or blocks as
 * above] */
WP_API int wp_file_open(const char *path, int flags, mode_t mode, int64_t deadline_ns, int *fd);
/* Some bytes, or 0: its end. */
WP_API int wp_file_read(int fd, void *bytes, size_t size, int64_t place, int64_t deadline_ns,
			size_t *done);
/* All of them, or the first *done. */
WP_API int wp_file_write(int fd, const void *bytes, size_t size, int64_t place, int64_t deadline_ns,
			 size_t *done);
/* What was written is on the disk; `data_only`: but not, say, its times. */
WP_API int wp_file_sync(int fd, bool data_only, int64_t deadline_ns);

/* cdef: begin */
/* Why virtual threads of that group have no files; NULL: they have. [any thread, after wp_io_start
 * | wait-free] */
WP_API const char *wp_file_lacks(wp_group *group);
/* cdef: end */

/* Asks the ring of a thread's home. WP_OK: wait for its latch; WP_UNSUPPORTED, WP_MISUSED,
 * WP_CLOSED.
 * [the thread | blocks shortly] */
int wp__file_ask(struct wp_carrier_tasks *home, wp_file_op *op);
/* It is to end soon: wait on. [the thread | blocks shortly] */
void wp__file_cancel(struct wp_carrier_tasks *home, wp_file_op *op);
/* True: it did not do what was asked, for it was cancelled. [who has waited | wait-free] */
bool wp__file_is_cancelled(const wp_file_op *op);

#endif
