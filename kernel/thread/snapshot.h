/* SPDX-License-Identifier: Apache-2.0
 * snapshot.h - somebody who only looks reads the stack of a parked virtual thread, and then knows
 * whether it was one moment's.
 *
 *   dump                                       who has the thread
 *   [snapshot.1] the word: PARKED in park k    [vthread.3] PARKED
 *   read the stack
 *   [snapshot.2] still PARKED in park k?       [vthread.2] the end of park k: BUSY
 *                no: throw away what was read  run: write the stack
 *
 * Why it works  A parked thread's stack is written by nobody before vthread.2, which changes the
 *               number in the word. snapshot.2 is a compare-and-swap of the word with itself: if it
 *               succeeds it comes before vthread.2, and vthread.2 reads from it, or from an unpark
 *               behind it. So what was read was read before vthread.2, on every machine, and a run
 *               pays nothing for it. It changes no bit, so no unpark is lost. What is read
 *               meanwhile may be written: it is read as words that mean nothing until snapshot.2
 *               says so. Memory of threads is type-stable (vthread_stackful.h).
 * Not promised  A look at a thread that runs, or is queued after a yield. snapshot.2 mistakes a
 *               park for that 2^27 parks later.
 * Spec          specs/inspect/Dump.tla: StackIsWhole, UnparkIsKept.
 * Evidence      make check-specs T=Dump, make stress T=dump. */
#ifndef WP_SNAPSHOT_H
#define WP_SNAPSHOT_H

#include "thread/vthread.h"

/* cdef: begin */
/* The word, for wp__dump_is_still. [any thread, while its memory is there | wait-free] */
WP_INLINE uint32_t wp__dump_look(wp_vthread *thread)
{
	/* [snapshot.1] acquire; pairs vthread.3; upholds Dump!StackIsWhole: what it wrote before it
	 * parked. */
	return wp_load_acquire(&thread->task.word);
}

/* True: it is where it was at that look, but for permits. [as above | lock-free: retries when it
 * was unparked] */
WP_INLINE bool wp__dump_is_still(wp_vthread *thread, uint32_t seen)
{
	uint32_t word = seen;

	/* [snapshot.2] release; pairs vthread.2; upholds Dump!StackIsWhole: a run comes after what
	 * was read. kept: guards against load buffering, which RC11 does not have. */
	while (!wp_cas_release(&thread->task.word, &word, word))
		if ((word ^ seen) & ~(uint32_t)WP_VTHREAD_ENDS)
			return false;
	return true;
}
/* cdef: end */

#endif
