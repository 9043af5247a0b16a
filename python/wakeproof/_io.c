/* SPDX-License-Identifier: Apache-2.0
 * _io.c - see _io.h. */
#include "_io.h"

#include <errno.h>

wp_io *wp__io_take(wp_group *group, int fd)
{
	wp_io *io = NULL;
	int code = wp_io_new(group, fd, &io);

	if (code == WP_UNSUPPORTED)
		errno = EPERM;
	else if (code == WP_MISUSED)
		errno = ENXIO;
	return code == WP_OK ? io : NULL;
}

uint32_t wp__io_look(wp_io *io, int side)
{
	return wp_ready_look(&io->ready[side]);
}

int wp__io_wait(wp_io *io, int side, uint32_t seen, int64_t deadline_ns)
{
	bool is_told;

	return wp_ready_wait(&io->ready[side], seen, deadline_ns, &is_told);
}

void wp__io_pass(wp_io *io, int side)
{
	wp_ready_pass(&io->ready[side]);
}

int wp__io_wait_begin(wp_io *io, int side, uint32_t seen, wp_waiter *waiter)
{
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
