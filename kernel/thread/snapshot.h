/* SPDX-License-Identifier: Apache-2.0
 * snapshot.h - how a dump reads the stack of a parked virtual thread while other threads may unpark
 * it. The dump copies the stack, and then checks whether the thread was parked all the time. This
 * is a seqlock for which the writer pays nothing.
 *
 *   dump                                       runner of the thread
 *   [snapshot.1] the word: PARKED in park k    [vthread.3] PARKED
 *   read the stack
 *   [snapshot.2] still PARKED in park k?       [vthread.2] the end of park k: BUSY
 *                no: throw away the copy       run: write the stack
 *
 * Why it works  No thread writes a parked thread's stack before vthread.2, which changes the number
 *               in the word. snapshot.2 is a compare-and-swap of the word with itself. If it
 *               succeeds, it comes before vthread.2, and vthread.2 reads from it, or from an unpark
 *               behind it. So on every machine all reads of the stack came before vthread.2, and a
 *               run pays nothing for it. snapshot.2 changes no bit, so no unpark is lost. The stack
 *               may be written while it is read; what was read means nothing until snapshot.2 has
 *               succeeded. The memory of a thread stays that of a thread (vthread_stackful.h).
 * Not promised  A thread that runs, or that is queued after a yield, cannot be read. snapshot.2
 *               mistakes a park for the one 2^27 parks later.
 * Spec          specs/inspect/Dump.tla: StackIsWhole, UnparkIsKept.
 * Evidence      make check-specs T=Dump, make stress T=dump. */
#ifndef WP_SNAPSHOT_H
#define WP_SNAPSHOT_H

#include "thread/vthread.h"

/* cdef: begin */
/* Returns the word to pass to wp__dump_is_still. [any thread, while the thread's memory is there |
 * wait-free] */
WP_INLINE uint32_t wp__dump_look(wp_vthread *thread)
{
	/* [snapshot.1] acquire; pairs vthread.3; upholds Dump!StackIsWhole: the dump sees what the
	 * thread wrote before it parked. */
	return wp_load_acquire(&thread->task.word);
}

/* Returns true if the thread is still in the park that `seen` shows. It may have got a permit in
 * the meantime. [any thread, while the thread's memory is there | lock-free: retries when the
 * thread was unparked] */
WP_INLINE bool wp__dump_is_still(wp_vthread *thread, uint32_t seen)
{
	uint32_t word = seen;

	/* [snapshot.2] release; pairs vthread.2; upholds Dump!StackIsWhole: a run comes after what
	 * was read. kept: it guards against load buffering, which RC11 does not have. */
	while (!wp_cas_release(&thread->task.word, &word, word))
		if ((word ^ seen) & ~(uint32_t)WP_VTHREAD_ENDS)
			return false;
	return true;
}
/* cdef: end */

#endif
