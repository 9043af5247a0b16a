/* SPDX-License-Identifier: Apache-2.0
 * wait_reason.h - what a parked virtual thread waits for, as recorded in its events (trace.h).
 *
 * Evidence      tests/sched/test_trace_waits.py. */
#ifndef WP_WAIT_REASON_H
#define WP_WAIT_REASON_H

/* cdef: begin */
enum wp_wait {
	WP_WAIT_PARK = 0, /* an unpark, of a thread that parks itself */
	WP_WAIT_SLEEP = 1,
	WP_WAIT_JOIN = 2, /* the end of a thread, or of the threads of a scope */
	WP_WAIT_MUTEX = 3,
	WP_WAIT_CONDITION = 4, /* a condition, and then its mutex */
	WP_WAIT_SEMAPHORE = 5,
	WP_WAIT_SEND = 6, /* into a channel */
	WP_WAIT_RECEIVE = 7,
	WP_WAIT_LATCH = 8,
	WP_WAIT_READ = 9, /* from here on: an operation on a descriptor */
	WP_WAIT_WRITE = 10,
	WP_WAIT_ACCEPT = 11,
	WP_WAIT_CONNECT = 12,
	WP_WAIT_FILE = 13, /* an operation that was submitted for a file */
	WP_WAIT_KINDS = 14,
};
/* cdef: end */

#endif
