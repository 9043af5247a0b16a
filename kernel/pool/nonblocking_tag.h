/* SPDX-License-Identifier: Apache-2.0
 * nonblocking_tag.h - tags an OS thread that must not block just now.
 *
 * Why it works  The tag belongs to the OS thread. A virtual thread has none: it parks, and may
 *               continue in another OS thread.
 * Prior art     Jetty's Invocable.invokeNonBlocking.
 * Spec          specs/pool/Strategy.tla: NonBlockingRespected.
 * Evidence      tests/pool/test_strategy.py. */
#ifndef WP_NONBLOCKING_TAG_H
#define WP_NONBLOCKING_TAG_H

#include <stdbool.h>

#include "base/api.h"

/* cdef: begin */
/* Calls run(arg) with the calling OS thread tagged as one that must not block, and then restores
 * its tag. In a virtual thread it just calls run(arg). [any thread | as run] */
WP_API void wp_invoke_non_blocking(void (*run)(void *arg), void *arg);
/* Returns true if the caller is an OS thread with the tag. [any thread | wait-free] */
WP_API bool wp_is_non_blocking(void);
/* cdef: end */

#endif
