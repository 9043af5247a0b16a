/* SPDX-License-Identifier: Apache-2.0
 * descriptor_call.c - the loop of a call, without its system call; see descriptor.h. */
#include <errno.h>

#include "io/descriptor.h"

int wp__io_await(wp_io *io, enum wp_io_side side, wp_waiter *waiter, uint32_t seen,
		 int64_t deadline_ns, bool *is_told)
{
	wp__waiter_init_self(waiter, (enum wp_wait)waiter->why);
	waiter->leave = wp__io_left;
	waiter->value = io;
	waiter->amount = (uint32_t)io->fd;
	return wp__ready_wait(&io->ready[side], waiter, seen, deadline_ns, is_told);
}

/* Makes the system call. Returns false if the direction is not ready. */
static bool try(wp_io *io, wp_io_attempt *attempt, void *arg, int64_t *result)
{
	do
		*result = attempt(io->fd, arg);
	while (*result < 0 && wp__errno() == EINTR);
	return *result >= 0 || wp__errno() != EAGAIN;
}

int wp__io_call(wp_io *io, enum wp_io_side side, wp_waiter *waiter, wp_io_attempt *attempt,
		void *arg, size_t size, int64_t deadline_ns, int64_t *result)
{
	wp_ready *ready = &io->ready[side];
	bool is_told = false;

	for (;;) {
		uint32_t seen = wp_ready_look(ready);
		bool is_left_out = size != 0 && wp__io_is_empty(io, seen);
		int code, failed;

		if (!is_left_out && try(io, attempt, arg, result)) {
			failed = wp__errno();
			if (*result > 0 && (uint64_t)*result < size)
				wp__io_emptied(io, seen);
			if (is_told)
				wp_ready_pass(ready);
			wp__errno_set(failed);
			return *result >= 0 ? WP_OK : WP_SYSTEM;
		}
		code = wp__io_await(io, side, waiter, seen, deadline_ns, &is_told);
		if (is_left_out && code != WP_OK && code != WP_CLOSED &&
		    try(io, attempt, arg, result))
			return *result >= 0 ? WP_OK : WP_SYSTEM;
		if (code != WP_OK)
			return code;
	}
}
