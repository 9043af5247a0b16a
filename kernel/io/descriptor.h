/* SPDX-License-Identifier: Apache-2.0
 * descriptor.h - file descriptors with calls that park a virtual thread instead of blocking.
 *
 *   call                                      close
 *   [descriptor.1] users + 1, unless CLOSING  [descriptor.1] users + 1, set CLOSING
 *   the system call                           shut both directions: waiters get WP_CLOSED
 *     EAGAIN: wait (readiness.h), try again
 *                                             free
 *                                             close; then [descriptor.1] users + 1, set FREED
 *   at the end of each
 *   [descriptor.3] is this the last user, and CLOSING set?
 *     no:  [descriptor.2] users - 1
 *     yes: take it off the poller; close(2); [descriptor.4] users - 1; if there are no users now,
 *          and FREED is set: retire it, which means that the poller frees its memory later
 *
 * Usage         wp_io_start(group, 0);
 *               wp_io_new(group, socket, &io);
 *               if (wp_io_read(io, bytes, sizeof(bytes), WP_FOREVER, &count) == WP_OK)
 *                       wp_io_write(io, bytes, count, WP_FOREVER, &count);
 *               wp_io_free(io);
 *
 * Why it works  As soon as a descriptor is closed its number may name another file. So the last
 *               call that is under way closes it, while that call is still counted, and the memory
 *               goes with the last user.
 *               The descriptor is registered once, edge-triggered, with the poller of one carrier:
 *               the home of the thread that made it, even if another carrier runs that thread now.
 *               So the thread is resumed at home. When nothing uses the memory any more, an event
 *               may still lie in the poller's array. Therefore the memory goes to the poller
 *               [descriptor_poller.1], which frees it between two rounds [descriptor_poller.2]. OS
 *               threads may call as well; they sleep in a futex.
 *               A read from a TCP socket that does not fill its buffer has emptied the socket, so
 *               the next read would find nothing until the poller reports an event. wp_io_read
 *               leaves it out [descriptor.5] [descriptor.6]: the thread waits at once, and reads
 *               when it is woken. An event may report the end of the stream together with the data
 *               before it. Then no further event comes, so after such an event no read is left
 *               out. Nor is one of a thread that does not run on the poller's own carrier, or that
 *               would block this carrier: the data may be there and wait for the poller.
 * Prior art     Tokio, too, takes a read that does not fill its buffer for the last one. Go's
 *               internal/poll.FD, where fdMutex also keeps a count and a closing bit in one
 *               word, so that the last call closes.
 * What parks    read, write, accept, connect, and your own calls by wp_io_call, on sockets, pipes,
 *               terminals, eventfds, timerfds and pidfds. A driver refuses other descriptors, such
 *               as regular files, with WP_UNSUPPORTED. getaddrinfo, open and fsync do not park:
 *               they block the carrier.
 * Not promised  If your program receives urgent data (MSG_OOB), sets SO_RCVLOWAT, or has the system
 *               decrypt (kernel TLS, another TCP_ULP, a sockmap), a read that does not fill its
 *               buffer does not prove that the socket is empty. Read by wp_io_call then, which
 *               leaves nothing out.
 * Group's end   The close of a group ends every wait at a descriptor of the group's pollers with
 *               WP_CLOSED, also for OS threads and threads of other groups. It also ends every wait
 *               that would begin later (descriptor_poller.h). Calls that need not wait still work,
 *               until wp_io_close. A thread that a close hands back is in no call and no wait queue
 *               any more.
 * Spec          specs/io/Descriptor.tla: FdIsOurs, EventIsAlive, IoIsAlive, IoCompletionAtHome,
 *               EndWakesWaiter, ClosedInTheEnd, ReadinessNotLost, ReadsBeforeLate.
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

/* `users` is written by descriptor.1 to descriptor.4; `empty` by descriptor.5; `next` under the lock
 * of the poller's list, and after retirement by the thread that retires it; `back` under that lock;
 * `fd` by the thread that makes it and the thread that closes it; the other fields once, when it is
 * made. */
typedef struct wp_io {
	int fd;
	wp_atomic(uint32_t) users; /* calls under way, CLOSING, FREED */
	wp_ready ready[2];
	struct wp_io_poller *poller;
	struct wp_io *next, **back;
	/* The edges, and 1 more, at which a read has emptied the stream; 0: none has. */
	wp_atomic(uint32_t) empty;
	bool is_stream; /* a read that does not fill its buffer empties it */
} wp_io;

typedef int64_t wp_io_attempt(int fd, void *arg);

/* cdef: begin */
/* Starts a poller on each carrier of the group; they end with its close. `idle_spins` is how often
 * each poller looks for events before it blocks; usually it is 0. Returns WP_OK. WP_ALREADY: every
 * carrier has one. WP_SYSTEM and errno: call it again for the carriers that lack one. WP_FORBIDDEN:
 * a carrier has another kind of poller. WP_UNSUPPORTED: the group has spare carriers. Other results
 * are those of wp_poller_register. [one thread at a time | system calls] */
WP_API int wp_io_start(wp_group *group, uint32_t idle_spins);

/* Counters of the poller of one carrier; they never decrease. When nothing is in progress, wakeups
 * <= sleeps. */
typedef struct wp_poll_counts {
	uint64_t looks;   /* system calls for events, whether they blocked or not */
	uint64_t events;  /* events of descriptors that these calls returned */
	uint64_t sleeps;  /* times that the poller parked its carrier to block */
	uint64_t wakeups; /* sleeps that another thread ended by a write to the eventfd */
} wp_poll_counts;

/* All counts are 0 before wp_io_start. [any thread, but not during wp_io_start | wait-free; counts
 * may be slightly old] */
WP_API wp_poll_counts wp_io_counts(wp_group *group, uint32_t carrier);
/* cdef: end */

/* Takes over a descriptor and makes it non-blocking. Returns WP_OK. WP_UNSUPPORTED: the driver
 * refuses such descriptors. WP_SYSTEM and errno. WP_MISUSED: wp_io_start has not been called.
 * WP_CLOSED: the group is closed. On failure the caller keeps the descriptor, and *io is as
 * before. [any thread | system calls] */
WP_API int wp_io_new(wp_group *group, int fd, wp_io **io);

/* cdef: begin */
/* Closes the descriptor: refuses new calls and ends those under way with WP_CLOSED; the last of
 * them calls close(2). Returns WP_OK, or WP_CLOSED if it was closed before. [any thread | system
 * calls] */
WP_API int wp_io_close(wp_io *io);

/* Closes the descriptor if it is open. Its memory is freed with the last call under way. No call
 * may begin after this one has begun. [any thread | system calls] */
WP_API void wp_io_free(wp_io *io);

/* The first begins and the second ends a call of your own; the descriptor stays open in between.
 * The first returns false if the descriptor is closed. If the group of a thread is closed while the
 * thread waits in a call of this header, the close ends that call for the thread. It cannot end
 * your own call, so call exit in the thread's `left`. [any thread | lock-free; exit may make system
 * calls] */
WP_API bool wp_io_enter(wp_io *io);
WP_API void wp_io_exit(wp_io *io);
/* cdef: end */

/* Calls `attempt` until it does not fail with EAGAIN, and in between waits until that direction is
 * ready. Returns WP_OK and the result; WP_SYSTEM and errno; WP_TIMEOUT; WP_INTERRUPTED; or
 * WP_CLOSED if the descriptor is closed, or if the call would wait and the group of its poller is
 * closed. The deadline counts only if the call must wait. [any thread | parks] */
WP_API int wp_io_call(wp_io *io, enum wp_io_side side, int64_t (*attempt)(int fd, void *arg),
		      void *arg, int64_t deadline_ns, int64_t *result);

/* Reads some bytes; 0: the end of the stream. [as wp_io_call] */
WP_API int wp_io_read(wp_io *io, void *bytes, size_t size, int64_t deadline_ns, size_t *done);
/* Writes all bytes. If it fails, *done is how many of them it has written. On a socket, a broken
 * pipe is an error and not a signal. [as wp_io_call] */
WP_API int wp_io_write(wp_io *io, const void *bytes, size_t size, int64_t deadline_ns,
		       size_t *done);
/* Accepts a connection as a close-on-exec, non-blocking descriptor. [as wp_io_call] */
WP_API int wp_io_accept(wp_io *io, int64_t deadline_ns, int *fd);
/* Connects. If the connection queue of a unix-domain socket is full it waits, as connect(2) does.
 * The system has no event for that, so the call tries again after 1 ms, and later after longer
 * times up to 32 ms. [as wp_io_call] */
WP_API int wp_io_connect(wp_io *io, const struct sockaddr *address, socklen_t length,
			 int64_t deadline_ns);

/* [before it is shared | wait-free] */
WP_INLINE void wp__io_init(wp_io *io, int fd, bool is_stream, struct wp_io_poller *poller)
{
	io->fd = fd;
	io->is_stream = is_stream;
	wp_init(&io->empty, 0);
	io->poller = poller;
	io->next = NULL;
	io->back = NULL;
	wp_init(&io->users, 0);
	wp_ready_init(&io->ready[WP_IO_READ]);
	wp_ready_init(&io->ready[WP_IO_WRITE]);
}

/* Notes that a read has emptied the stream. `seen` is what wp_ready_look returned before that read.
 * [a counted user | wait-free] */
WP_INLINE void wp__io_emptied(wp_io *io, uint32_t seen)
{
	/* [descriptor.5] relaxed: atomicity is enough, because the number itself says which edges
	 * came before the read; pairs descriptor.6; upholds Descriptor!ReadinessNotLost. */
	if (!(seen & WP_READY_MORE))
		wp_store_relaxed(&io->empty, seen + 1);
}

/* Returns true if a read would find nothing: some read has emptied the stream since the last of these
 * edges. [a counted user | wait-free] */
WP_INLINE bool wp__io_is_empty(wp_io *io, uint32_t seen)
{
	/* [descriptor.6] relaxed: atomicity is enough, as for descriptor.5; pairs descriptor.5;
	 * upholds Descriptor!ReadinessNotLost: a later edge has another number, and the thread sees
	 * it under the lock, or is woken by it. */
	return !(seen & WP_READY_MORE) && wp_load_relaxed(&io->empty) == seen + 1;
}

/* Counts a user. `flags` is 0 for a call; or CLOSING, or CLOSING with FREED, which is never
 * refused. Returns false if the descriptor is closing. [any thread | lock-free] */
WP_INLINE bool wp__io_begin(wp_io *io, uint32_t flags)
{
	uint32_t users = 0;

	/* [descriptor.1] relaxed: atomicity is enough, because a call under way keeps the
	 * descriptor open; pairs descriptor.2, descriptor.3, descriptor.4; upholds
	 * Descriptor!FdIsOurs. */
	while (!wp_cas_relaxed(&io->users, &users, (users + WP_IO_USER) | flags))
		if (users & WP_IO_CLOSING && !(flags & WP_IO_FREED))
			return false;
	return true;
}

/* Ends a use. Returns true if the caller is the last user of a closing descriptor. The caller must
 * then close it, if it is not closed yet, and call wp__io_leave. [a counted user | lock-free] */
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

/* Ends the use that closed the descriptor. Returns true if the caller is the last user of all; it
 * must then retire the memory. [a user for which wp__io_end returned true | wait-free] */
WP_INLINE bool wp__io_leave(wp_io *io)
{
	/* [descriptor.4] acq_rel; pairs descriptor.1, descriptor.2, descriptor.3, descriptor.4;
	 * upholds Descriptor!IoIsAlive: all that was done with the descriptor comes before its
	 * memory is freed. */
	uint32_t users = wp_fetch_add_acq_rel(&io->users, 0u - WP_IO_USER);

	return users == (WP_IO_USER | WP_IO_CLOSING | WP_IO_FREED);
}

/* Ends the call of a waiting thread after its group was closed: the waiter leaves its queue and is
 * no longer counted. Returns what wp__io_end returns. [the close of the thread's group | as
 * wp__ready_leave] */
WP_INLINE bool wp__io_abandon(wp_waiter *waiter)
{
	wp__ready_leave(waiter);
	return wp__io_end(waiter->value);
}

/* The `leave` of such a waiter (wait_queue.h): calls wp__io_abandon, and if this was the last user,
 * closes the descriptor. [as wp__io_abandon | system calls] */
void wp__io_left(wp_waiter *waiter);

/* Waits as wp__ready_wait does. The caller has set the waiter's `why`; its other fields are set
 * anew for each wait. [a counted user | parks] */
int wp__io_await(wp_io *io, enum wp_io_side side, wp_waiter *waiter, uint32_t seen,
		 int64_t deadline_ns, bool *is_told);
/* Like wp_io_call, for a caller that is counted already and brings its waiter. `size`: the attempt
 * reads from a stream into this many bytes; 0: it is another one. [a counted user | parks] */
int wp__io_call(wp_io *io, enum wp_io_side side, wp_waiter *waiter, wp_io_attempt *attempt,
		void *arg, size_t size, int64_t deadline_ns, int64_t *result);

#endif
