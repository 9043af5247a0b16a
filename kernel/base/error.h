/* SPDX-License-Identifier: Apache-2.0
 * error.h - every code that a function of this library returns, and its meaning, in one table.
 *
 *   negative   a failure; in Python, an exception class of its own
 *   0          done
 *   positive   an answer: nothing has failed, but the caller continues in another way
 *
 * Why it works  One table makes the numbers, the texts and (through python/wakeproof/errors.py) the
 *               exceptions.
 * Evidence      tests/base/test_error.py: each code has a text, and an exception or a documented
 *               meaning in Python. */
#ifndef WP_ERROR_H
#define WP_ERROR_H

#include "base/api.h"

/* Code, value, meaning. A code means the same whichever function returns it. */
#define WP_ERRORS(X)                                                              \
	X(WP_OK, 0, "done")                                                       \
	X(WP_TIMEOUT, -1, "the deadline passed")                                  \
	X(WP_CLOSED, -2, "the object is closed")                                  \
	X(WP_INTERRUPTED, -3, "a signal handler ran while the thread waited")     \
	X(WP_AGAIN, -4, "the value had changed already: look again")              \
	X(WP_UNSUPPORTED, -5, "the system lacks or forbids this operation")       \
	X(WP_SYSTEM, -6, "a system call failed; errno says why")                  \
	X(WP_FORBIDDEN, -7, "not from this thread")                               \
	X(WP_MISUSED, -8, "too late, too early, out of order, or out of range")   \
	X(WP_FAILED, -9, "a subtask failed, or none succeeded")                   \
	X(WP_CANCELLED, -10, "it was cancelled before")                           \
	X(WP_ABANDONED, -11, "locked, but its last holder ended while it had it") \
	X(WP_MUST_PARK, 1, "in line: park, and look when the park is over")       \
	X(WP_ALREADY, 2, "it was so before: nothing was done")                    \
	X(WP_REFUSED, 3, "not admitted now: nothing was started")                 \
	X(WP_HAS_WORK, 4, "there is work to run first")                           \
	X(WP_IDLE, 5, "there was nothing to run")

/* cdef: begin */
enum wp_error {
	WP_OK = 0,
	WP_TIMEOUT = -1,
	WP_CLOSED = -2,
	WP_INTERRUPTED = -3,
	WP_AGAIN = -4,
	WP_UNSUPPORTED = -5,
	WP_SYSTEM = -6,
	WP_FORBIDDEN = -7,
	WP_MISUSED = -8,
	WP_FAILED = -9,
	WP_CANCELLED = -10,
	WP_ABANDONED = -11,
	WP_MUST_PARK = 1,
	WP_ALREADY = 2,
	WP_REFUSED = 3,
	WP_HAS_WORK = 4,
	WP_IDLE = 5,
};

/* Returns the meaning of a code, never NULL. [any thread | wait-free] */
WP_API const char *wp_error_text(int code);
/* cdef: end */

/* Read and write errno of the calling OS thread. They are functions because compilers treat the
 * address of errno as constant within a function, and a function that parks may continue on another
 * OS thread. [any thread | wait-free] */
int wp__errno(void);
void wp__errno_set(int failed);

#endif
