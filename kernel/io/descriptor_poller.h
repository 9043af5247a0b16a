/* SPDX-License-Identifier: Apache-2.0
 * descriptor_poller.h - the poller of a carrier that waits for descriptors, by a driver (poller.h),
 * and has operations on files done, where the system has a way (file_queue.h).
 *
 *   its body                                 who frees a descriptor
 *   look at once; tell who waits             off the driver; [descriptor_poller.1] onto
 *     (readiness.h)                            `retired`
 *   [descriptor_poller.2] all of `retired`: free
 *   a turn of the files (file_queue.h)
 *   the others run; nothing did: park, ask,
 *     block until the carrier's timer or its wakeup; back; tell
 *   its end, under the lock of its list:     who makes a descriptor, under that lock
 *     over; each that is listed: shut          over? refused, else listed
 *                                            who closes it, under that lock: off the list
 *
 * Why it works  Its wakeup is an eventfd that the driver waits for as well: a signal ends a wait
 *               that has yet to begin, too. Who waits is told when the carrier is RUNNING again,
 *               for that pushes. What was retired is taken when the events of a round were told
 *               and before the next one is asked for, so no event of it lies in the array. What is
 *               retired later goes with the poller's memory, and that with the last that has it:
 *               its group and each descriptor [descriptor_poller.3] [descriptor_poller.4].
 *               A poller ends with its carrier, and then nobody tells what comes: so its end shuts
 *               each of its descriptors, which tells who waits, on whatever thread. What is on the
 *               list is not retired, so the walk finds it alive; what comes too late is refused.
 * Its driver    is one file, driver_<name>.c, which ends with WP_DRIVER(name), and an entry in
 *               WP_DRIVERS: docs/contributing/poller-driver.md.
 * Spec          specs/io/Descriptor.tla, specs/sched/Poller.tla.
 * Evidence      make stress T=io, tests/io/test_descriptor.py. */
#ifndef WP_DESCRIPTOR_POLLER_H
#define WP_DESCRIPTOR_POLLER_H

#include <stddef.h>

#include "io/descriptor.h"
#include "io/file_queue.h"
#include "sched/poller.h"

/* The drivers: each poller takes the first that the system lets it open. */
#define WP_DRIVERS(X) X(epoll)

#define WP__DRIVER_IS_LISTED(name) WP__DRIVER_##name##_is_listed,
enum { WP_DRIVERS(WP__DRIVER_IS_LISTED) WP__DRIVERS_COUNT };

/* The last line of the file of a driver: its table. It does not compile if a function is lacking,
 * or the entry in WP_DRIVERS. */
#define WP_DRIVER(name)                                                                         \
	_Static_assert(WP__DRIVER_##name##_is_listed >= 0, "WP_DRIVERS has an entry for each"); \
	const wp_driver wp__driver_##name = {#name,      driver_open,   driver_close,           \
					     driver_add, driver_remove, driver_wait}

#define WP__DRIVER_IS_SOMEWHERE(name) extern const wp_driver wp__driver_##name;
WP_DRIVERS(WP__DRIVER_IS_SOMEWHERE)

/* retired: descriptor_poller.1, descriptor_poller.2; holders: descriptor_poller.3,
 * descriptor_poller.4; looks, events, sleeps: its poller; wakeups: whoever wakes it; first,
 * is_over: under the lock; the rest: who makes it. */
typedef struct wp_io_poller {
	wp_carrier_io of_carrier; /* the first: its address is what the worker has */
	const wp_driver *driver;
	void *waits; /* what the driver has opened */
	int event;   /* its wakeup */
	uint32_t idle_spins;
	wp_file_queue *files; /* NULL: there is none, for: */
	const char *no_files;
	wp_atomic(uint64_t) looks, events, sleeps; /* counters.h; see wp_poll_counts */
	_Alignas(WP_LINE) wp_atomic(wp_io *) retired;
	wp_atomic(uint32_t) holders; /* its group, and what is not retired */
	wp_atomic(uint64_t) wakeups;
	wp_lock lock;
	wp_io *first; /* of its descriptors, linked by next */
	bool is_over; /* its poller has ended, or is about to */
} wp_io_poller;

_Static_assert(offsetof(wp_io_poller, of_carrier) == 0, "a worker has its address");

/* The poller of that carrier; NULL: wp_io_start has not been. [any thread | wait-free] */
wp_io_poller *wp__io_poller_of(struct wp_carrier_tasks *home);

/* One holds it less; the last frees it, with what was retired. [a holder] */
void wp__io_poller_free(wp_io_poller *poller);

/* WP_OK; WP_CLOSED: its poller has ended; WP_UNSUPPORTED; WP_SYSTEM and errno. [any thread | a
 * system call] */
int wp__io_poller_add(wp_io_poller *poller, wp_io *io);
/* Closes its descriptor, too. [any thread | system calls] */
void wp__io_poller_remove(wp_io_poller *poller, wp_io *io);

/* False: its poller has ended. [any thread | blocks shortly] */
WP_INLINE bool wp__io_poller_list(wp_io_poller *poller, wp_io *io)
{
	bool is_over;

	wp_lock_acquire(&poller->lock);
	is_over = poller->is_over;
	if (!is_over) {
		io->next = poller->first;
		io->back = &poller->first;
		if (io->next != NULL)
			io->next->back = &io->next;
		poller->first = io;
	}
	wp_lock_release(&poller->lock);
	return !is_over;
}

/* [any thread | blocks shortly] */
WP_INLINE void wp__io_poller_unlist(wp_io_poller *poller, wp_io *io)
{
	wp_lock_acquire(&poller->lock);
	*io->back = io->next;
	if (io->next != NULL)
		io->next->back = io->back;
	wp_lock_release(&poller->lock);
}

/* Nobody tells any more what comes: who waits, or will, at one of its descriptors is told
 * WP_CLOSED.
 * [its poller, at its end, its carrier RUNNING | pushes] */
WP_INLINE void wp__io_poller_end(wp_io_poller *poller)
{
	wp_lock_acquire(&poller->lock);
	poller->is_over = true;
	for (wp_io *io = poller->first; io != NULL; io = io->next) {
		wp_ready_shut(&io->ready[WP_IO_READ]);
		wp_ready_shut(&io->ready[WP_IO_WRITE]);
	}
	wp_lock_release(&poller->lock);
}

/* [a holder | wait-free] */
WP_INLINE void wp__io_poller_hold(wp_io_poller *poller)
{
	/* [descriptor_poller.3] relaxed: atomicity is enough: the caller has one that holds it;
	 * pairs descriptor_poller.4; upholds Descriptor!EventIsAlive. */
	wp_fetch_add_relaxed(&poller->holders, 1);
}

/* True: the last: free it. [a holder | wait-free] */
WP_INLINE bool wp__io_poller_drop(wp_io_poller *poller)
{
	/* [descriptor_poller.4] acq_rel; pairs descriptor_poller.3, descriptor_poller.4; upholds
	 * Descriptor!EventIsAlive: all that its holders did with it comes before it is freed. */
	return wp_fetch_add_acq_rel(&poller->holders, (uint32_t)-1) == 1;
}

/* It is freed when no event of it can be told any more. [any thread | lock-free] */
WP_INLINE void wp__io_poller_retire(wp_io_poller *poller, wp_io *io)
{
	wp_io *first = NULL;

	do
		io->next = first;
	/* [descriptor_poller.1] release; pairs descriptor_poller.2; upholds
	 * Descriptor!EventIsAlive: whoever frees it comes after all that was done with it. */
	while (!wp_cas_release(&poller->retired, &first, io));
}

/* All that were retired, linked by next. [its poller, between two rounds | wait-free] */
WP_INLINE wp_io *wp__io_poller_retired(wp_io_poller *poller)
{
	/* [descriptor_poller.2] acquire; pairs descriptor_poller.1; upholds
	 * Descriptor!EventIsAlive. */
	return wp_exchange_acquire(&poller->retired, NULL);
}

#endif
