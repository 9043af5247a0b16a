/* SPDX-License-Identifier: Apache-2.0
 * nonblocking_tag.h - a thread's tag: it must not block just now.
 *
 * Why it works  The tag is the OS thread's own. A virtual thread has none: it parks, and goes on on
 *               another OS thread.
 * Spec          specs/pool/Strategy.tla: NonBlockingRespected.
 * Evidence      tests/pool/test_strategy.py. */
#ifndef WP_NONBLOCKING_TAG_H
#define WP_NONBLOCKING_TAG_H

#include <stdbool.h>

#include "base/api.h"

/* cdef: begin */
/* Runs it with the calling OS thread tagged as one that must not block; then it is as it was. In a
 * virtual thread: runs it. [any thread | as run] */
WP_API void wp_invoke_non_blocking(void (*run)(void *arg), void *arg);
WP_API bool wp_is_non_blocking(void);
/* cdef: end */

#endif
