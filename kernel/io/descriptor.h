/* SPDX-License-Identifier: Apache-2.0
 * descriptor.h - descriptors whose calls let a virtual thread park where they would block.
 *
 *   call                                      close                              free: close; then
 *   [descriptor.1] users + 1, unless CLOSING  [descriptor.1] users + 1, CLOSING  [descriptor.1]
 *   users + 1, FREED
 *   look; the system call; EAGAIN: wait       shut both directions: who
 *     (readiness.h), once more                     waits ends
 *   each, at its end
 *   [descriptor.3] the last, and CLOSING? no: [descriptor.2] users - 1
 *        yes: off the poller; close(2); [descriptor.4] users - 1; the last of all, and FREED:
 *        retire
 *
 * Why it works  A descriptor's number is another file's as soon as it is closed, so the last call
 *               under way closes it, while it is still counted, and its memory goes with the last
 *               that is. It is registered once, edge-triggered, with the poller of one carrier: the
 *               home of whoever made it, also if that was stolen; there, threads go on at home. An
 *               event may lie in the poller's array when its memory is freed, so that goes to the
 *               poller [descriptor_poller.1], which frees it between two rounds
 *               [descriptor_poller.2]. OS threads may call as well: they sleep in a futex.
 * What parks    read, write, accept, connect, and any call of yours by wp_io_call: on sockets, pipes,
 *               terminals, eventfds, timerfds, pidfds. Not what its driver refuses
 *               (WP_UNSUPPORTED): regular files. Not getaddrinfo, open, fsync: they block the
 *               carrier.
 * The end       of a group ends the wait of everybody at a descriptor of its pollers, OS threads
 *               and threads of other groups too: WP_CLOSED, and so does each wait that comes later
 *               (descriptor_poller.h). What need not wait is done all the same, until wp_io_close.
 *               A thread that a close hands back is in no call and in no line any more.
 * Spec          specs/io/Descriptor.tla: FdIsOurs, EventIsAlive, IoIsAlive, IoCompletionAtHome,
 *               EndWakesWaiter, ClosedInTheEnd.
 * Evidence      make check-specs T=Descriptor, make stress T='readiness|descriptor', make conform
 *               T='^descriptor', tests/io/test_descriptor.py. */
#ifndef WP_DESCRIPTOR_H
#define WP_DESCRIPTOR_H

#include <sys/socket.h>

#include "io/readiness.h"

typedef struct wp_group wp_group;
struct wp_io_poller;

enum { WP_IO_CLOSING = 1, WP_IO_FREED = 2, WP_IO_USER = 4 };

enum wp_io_side { WP_IO_READ = 0, WP_IO_WRITE = 1 };

/* users: descriptor.1, descriptor.2, descriptor.3, descriptor.4; next: under the lock of its
 * poller's list, then of whoever retires it; back: under that lock; fd: who makes it, and who
 * closes it; the rest: who makes it. */
typedef struct wp_io {
	int fd;
	wp_atomic(uint32_t) users; /* calls under way, CLOSING, FREED */
	wp_ready ready[2];
	struct wp_io_poller *poller;
	struct wp_io *next, **back;
} wp_io;

/* cdef: begin */
/* Starts a poller on each carrier of the group; they end with its close. WP_OK; WP_ALREADY: they
 * were there; WP_SYSTEM and errno: call it again for those that lack one; WP_FORBIDDEN: a carrier
 * has another poller; else as wp_poller_register.
 * `idle_spins`: looks that each takes before it blocks; 0. [one thread at a time | system calls] */
WP_API int wp_io_start(wp_group *group, uint32_t idle_spins);

/* Of the poller of one carrier; all ever grow. When nothing goes on, wakeups <= sleeps. */
typedef struct wp_poll_counts {
	uint64_t looks;   /* system calls that asked for events, whether they blocked or not */
	uint64_t events;  /* of descriptors, that they brought */
	uint64_t sleeps;  /* times that it parked its carrier to block */
	uint64_t wakeups; /* of these ended by another thread: writes to its eventfd */
} wp_poll_counts;

/* All are 0 where wp_io_start has not been. [any thread, not meanwhile | wait-free, reads what
 * others write] */
WP_API wp_poll_counts wp_io_counts(wp_group *group, uint32_t carrier);
/* cdef: end */

/* Takes over a descriptor, and makes it non-blocking. WP_OK; WP_UNSUPPORTED: its driver refuses
 * such; WP_SYSTEM and errno; WP_MISUSED: wp_io_start has not been called; WP_CLOSED: its group is
 * closed. Where it is not WP_OK the caller keeps it. [any thread | system calls] */
WP_API int wp_io_new(wp_group *group, int fd, wp_io **io);

/* cdef: begin */
/* No call begins any more, and those under way end with WP_CLOSED; the last one closes it. WP_OK;
 * WP_CLOSED: it was before. [any thread | system calls] */
WP_API int wp_io_close(wp_io *io);

/* Closes it, if it is not; its memory goes with the last call that is under way. None begins after
 * this one has. [any thread | system calls] */
WP_API void wp_io_free(wp_io *io);

/* A call of yours: false: it is closed; else the descriptor stays open until you exit. A close of
 * the group of a thread that waits in a call of this header ends that call for it; not yours: exit
 * in its `left`. [any thread | lock-free; the exit may make system calls] */
WP_API bool wp_io_enter(wp_io *io);
WP_API void wp_io_exit(wp_io *io);
/* cdef: end */

/* Calls `attempt` until it does not fail with EAGAIN, and waits in between until the direction is
 * ready. WP_OK and its result; WP_SYSTEM and errno; WP_TIMEOUT, WP_INTERRUPTED; WP_CLOSED: it is
 * closed, or it would wait and the group of its poller is closed. The deadline is looked at where
 * it would wait. [any thread | parks] */
WP_API int wp_io_call(wp_io *io, enum wp_io_side side, int64_t (*attempt)(int fd, void *arg),
		      void *arg, int64_t deadline_ns, int64_t *result);

/* Some bytes, or 0: its end. [as wp_io_call] */
WP_API int wp_io_read(wp_io *io, void *bytes, size_t size, int64_t deadline_ns, size_t *done);
/* All of them, or the first *done. A broken pipe is an error, not a signal, on sockets. [as
 * wp_io_call] */
WP_API int wp_io_write(wp_io *io, const void *bytes, size_t size, int64_t deadline_ns,
		       size_t *done);
/* A descriptor, close-on-exec and non-blocking. [as wp_io_call] */
WP_API int wp_io_accept(wp_io *io, int64_t deadline_ns, int *fd);
/* To a unix-domain socket whose queue of connections is full it waits, as connect(2) does: there is
 * no event for that, so it tries again, after 1 ms, and later after 32. [as wp_io_call] */
WP_API int wp_io_connect(wp_io *io, const struct sockaddr *address, socklen_t length,
			 int64_t deadline_ns);

/* [before it is shared | wait-free] */
WP_INLINE void wp__io_init(wp_io *io, int fd, struct wp_io_poller *poller)
{
	io->fd = fd;
	io->poller = poller;
	io->next = NULL;
	io->back = NULL;
	wp_init(&io->users, 0);
	wp_ready_init(&io->ready[WP_IO_READ]);
	wp_ready_init(&io->ready[WP_IO_WRITE]);
}

/* False: it is closing. `flags`: CLOSING, or with FREED, which is never refused. [any thread |
 * lock-free] */
WP_INLINE bool wp__io_begin(wp_io *io, uint32_t flags)
{
	uint32_t users = 0;

	/* [descriptor.1] relaxed: atomicity is enough: a call under way keeps it open; pairs
	 * descriptor.2, descriptor.3, descriptor.4; upholds Descriptor!FdIsOurs. */
	while (!wp_cas_relaxed(&io->users, &users, (users + WP_IO_USER) | flags))
		if (users & WP_IO_CLOSING && !(flags & WP_IO_FREED))
			return false;
	return true;
}

/* True: the last, and it is closing: close it, if it is not closed, and leave. [who has begun |
 * lock-free] */
WP_INLINE bool wp__io_end(wp_io *io)
{
	for (;;) {
		/* [descriptor.3] acquire; pairs descriptor.1, descriptor.2, descriptor.4; upholds
		 * Descriptor!FdIsOurs: each call under way comes before the close of the
		 * descriptor. */
		uint32_t users = wp_load_acquire(&io->users);

		if ((users | WP_IO_FREED) == (WP_IO_USER | WP_IO_CLOSING | WP_IO_FREED))
			return true;
		/* [descriptor.2] release; pairs descriptor.1, descriptor.3, descriptor.4; upholds
		 * Descriptor!FdIsOurs: as descriptor.3. */
		if (wp_cas_release(&io->users, &users, users - WP_IO_USER))
			return false;
	}
}

/* It is closed. True: the last of all: retire it. [who was told to leave | wait-free] */
WP_INLINE bool wp__io_leave(wp_io *io)
{
	/* [descriptor.4] acq_rel; pairs descriptor.1, descriptor.2, descriptor.3, descriptor.4;
	 * upholds Descriptor!IoIsAlive: whatever was done with it comes before its memory is
	 * freed. */
	uint32_t users = wp_fetch_add_acq_rel(&io->users, 0u - WP_IO_USER);

	return users == (WP_IO_USER | WP_IO_CLOSING | WP_IO_FREED);
}

/* For a thread that waits in a call and whose group was closed: out of the line, and no longer
 * under way. As wp__io_end. [the close of its group | as wp__ready_leave] */
WP_INLINE bool wp__io_abandon(wp_waiter *waiter)
{
	wp__ready_leave(waiter);
	return wp__io_end(waiter->value);
}

/* A waiter's `leave`: as above; and the last closes it. [as wp__io_abandon | system calls] */
void wp__io_left(wp_waiter *waiter);

/* As wp__ready_wait. The waiter's `why` is set; the rest is made anew for each wait. [who has begun
 * | parks] */
int wp__io_await(wp_io *io, enum wp_io_side side, wp_waiter *waiter, uint32_t seen,
		 int64_t deadline_ns, bool *is_told);
/* As wp_io_call. [as above] */
int wp__io_call(wp_io *io, enum wp_io_side side, wp_waiter *waiter,
		int64_t (*attempt)(int fd, void *arg), void *arg, int64_t deadline_ns,
		int64_t *result);

#endif
