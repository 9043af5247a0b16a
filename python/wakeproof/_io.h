/* SPDX-License-Identifier: Apache-2.0
 * _io.h - what Python needs beside the kernel's descriptors: the two halves of a wait.
 *
 * Why it works  As _sync.h.
 * Evidence      tests/test_io_python.py. */
#ifndef WP__IO_H
#define WP__IO_H

#include "_sync.h"
#include "io.h"

/* cdef: begin */
typedef struct wp_io wp_io;

/* As wp_io_new; NULL, and errno says why; EPERM: epoll refuses such a file. [any thread] */
wp_io *wp__io_take(wp_group *group, int fd);

/* side: 0: to read, 1: to write. Each as in ready.h. */
uint32_t wp__io_look(wp_io *io, int side);
int wp__io_wait(wp_io *io, int side, uint32_t seen, int64_t deadline_ns);
void wp__io_pass(wp_io *io, int side);

/* Of a virtual thread: WP_AGAIN: in line, park. [the waiter's thread | blocks shortly] */
int wp__io_wait_begin(wp_io *io, int side, uint32_t seen, wp_waiter *waiter);
bool wp__io_check(wp_io *io, int side, wp_waiter *waiter);
bool wp__io_cancel(wp_io *io, int side, wp_waiter *waiter);
/* cdef: end */

#endif
