/* SPDX-License-Identifier: Apache-2.0
 * driver_epoll.h - the poller of a carrier that waits for descriptors: one epoll, edge-triggered;
 * and for operations on files, where there is io_uring (driver_uring.h).
 *
 *   its body                                 who frees a descriptor
 *   look at once; tell who waits (readiness.h)   off the epoll; [driver_epoll.1] onto `retired`
 *   [driver_epoll.2] all of `retired`: free
 *   a turn of the ring (driver_uring.h)
 *   the others run; nothing did: park, ask,
 *     block until the carrier's timer or its wakeup; back; tell
 *   its end, under the lock of its list:     who makes a descriptor, under that lock
 *     over; each that is listed: shut          over? refused, else listed
 *                                            who closes it, under that lock: off the list
 *
 * Why it works  Its wakeup is an eventfd in the epoll, edge-triggered too: each write is an edge,
 *               so nobody has to read it. Who waits is told when the carrier is RUNNING again, for
 *               that pushes. What was retired is taken when the events of a round were told
 *               and before the next one is asked for, so no event of it lies in the array. What is
 *               retired later goes with the epoll, and that with the last that has it: its group
 *               and each descriptor [driver_epoll.3] [driver_epoll.4].
 *               A poller ends with its carrier, and then nobody tells what comes: so its end shuts
 *               each of its descriptors, which tells who waits, on whatever thread. What is on the
 *               list is not retired, so the walk finds it alive; what comes too late is refused.
 * Spec          specs/io/Descriptor.tla, specs/sched/Poller.tla.
 * Evidence      make stress T=descriptor, tests/io/test_descriptor.py. */
#ifndef WP_POLLER_EPOLL_H
#define WP_POLLER_EPOLL_H

#include "io/descriptor.h"
#include "io/driver_uring.h"

/* retired: driver_epoll.1, driver_epoll.2; holders: driver_epoll.3, driver_epoll.4; looks, events,
 * sleeps: its poller; wakeups: whoever wakes it; first, is_over: under the lock; the rest: who
 * makes it. */
typedef struct wp_epoll {
	int fd, event; /* event: its wakeup */
	uint32_t idle_spins;
	bool has_ns; /* its sleeps end at a nanosecond; else at the next millisecond: its poller */
	wp_uring *uring; /* NULL: there is none, for: */
	const char *no_uring;
	wp_atomic(uint64_t) looks, events, sleeps; /* counters.h; see wp_poll_counts */
	_Alignas(WP_LINE) wp_atomic(wp_io *) retired;
	wp_atomic(uint32_t) holders; /* its group, and what is not retired */
	wp_atomic(uint64_t) wakeups;
	wp_lock lock;
	wp_io *first; /* of its descriptors, linked by next */
	bool is_over; /* its poller has ended, or is about to */
} wp_epoll;

/* Whether the system lets it sleep until a nanosecond: some have milliseconds only, or a filter of
 * system calls refuses it. [any thread | system calls] */
bool wp__epoll_has_ns(int fd);

/* NULL and errno. [any thread | system calls] */
wp_epoll *wp__epoll_new(uint32_t idle_spins);
/* One holds it less; the last frees it, with what was retired. NULL: nothing. [a holder] */
void wp__epoll_free(wp_epoll *epoll);

/* WP_OK; WP_CLOSED: its poller has ended; WP_UNSUPPORTED; WP_SYSTEM and errno. [any thread | a
 * system call] */
int wp__epoll_add(wp_epoll *epoll, wp_io *io);
/* Closes its descriptor, too. [any thread | system calls] */
void wp__epoll_remove(wp_epoll *epoll, wp_io *io);

/* False: its poller has ended. [any thread | blocks shortly] */
WP_INLINE bool wp__epoll_list(wp_epoll *epoll, wp_io *io)
{
	bool is_over;

	wp_lock_acquire(&epoll->lock);
	is_over = epoll->is_over;
	if (!is_over) {
		io->next = epoll->first;
		io->back = &epoll->first;
		if (io->next != NULL)
			io->next->back = &io->next;
		epoll->first = io;
	}
	wp_lock_release(&epoll->lock);
	return !is_over;
}

/* [any thread | blocks shortly] */
WP_INLINE void wp__epoll_unlist(wp_epoll *epoll, wp_io *io)
{
	wp_lock_acquire(&epoll->lock);
	*io->back = io->next;
	if (io->next != NULL)
		io->next->back = io->back;
	wp_lock_release(&epoll->lock);
}

/* Nobody tells any more what comes: who waits, or will, at one of its descriptors is told
 * WP_CLOSED.
 * [its poller, at its end, its carrier RUNNING | pushes] */
WP_INLINE void wp__epoll_end(wp_epoll *epoll)
{
	wp_lock_acquire(&epoll->lock);
	epoll->is_over = true;
	for (wp_io *io = epoll->first; io != NULL; io = io->next) {
		wp_ready_shut(&io->ready[WP_IO_READ]);
		wp_ready_shut(&io->ready[WP_IO_WRITE]);
	}
	wp_lock_release(&epoll->lock);
}

/* [a holder | wait-free] */
WP_INLINE void wp__epoll_hold(wp_epoll *epoll)
{
	/* [driver_epoll.3] relaxed: atomicity is enough: the caller has one that holds it; pairs
	 * driver_epoll.4; upholds Descriptor!EventIsAlive. */
	wp_fetch_add_relaxed(&epoll->holders, 1);
}

/* True: the last: free it. [a holder | wait-free] */
WP_INLINE bool wp__epoll_drop(wp_epoll *epoll)
{
	/* [driver_epoll.4] acq_rel; pairs driver_epoll.3, driver_epoll.4; upholds
	 * Descriptor!EventIsAlive: all that its holders did with it comes before it is freed. */
	return wp_fetch_add_acq_rel(&epoll->holders, (uint32_t)-1) == 1;
}

/* It is freed when no event of it can be told any more. [any thread | lock-free] */
WP_INLINE void wp__epoll_retire(wp_epoll *epoll, wp_io *io)
{
	wp_io *first = NULL;

	do
		io->next = first;
	/* [driver_epoll.1] release; pairs driver_epoll.2; upholds Descriptor!EventIsAlive: whoever
	 * frees it comes after all that was done with it. */
	while (!wp_cas_release(&epoll->retired, &first, io));
}

/* All that were retired, linked by next. [its poller, between two rounds | wait-free] */
WP_INLINE wp_io *wp__epoll_retired(wp_epoll *epoll)
{
	/* [driver_epoll.2] acquire; pairs driver_epoll.1; upholds Descriptor!EventIsAlive. */
	return wp_exchange_acquire(&epoll->retired, NULL);
}

#endif
