/* SPDX-License-Identifier: Apache-2.0
 * descriptor_poller.h - the poller of a carrier that waits for descriptors.
 *
 * A driver collects the events (wp_driver in sched/poller.h). If the system can do it, the poller
 * also submits operations on files (file_queue.h).
 *
 *   poller, one round                         a thread that frees a descriptor
 *   collect events at once; wake waiters      remove it from the driver
 *     (readiness.h)                           [descriptor_poller.1] push it onto `retired`
 *   [descriptor_poller.2] free all `retired`
 *   a turn of the files (file_queue.h)        a thread that makes a descriptor, under the
 *   other threads run; if none could:         list's lock
 *     park, check, block until the carrier's  over? refuse it; else list it
 *     timer or the wakeup; unpark; wake       a thread that closes a descriptor, under that
 *     waiters                                 lock
 *   its end, under the list's lock            take it off the list
 *     over := true; shut each listed
 *     descriptor
 *
 * Why it works  The wakeup is an eventfd that the driver waits for as well, so a signal also ends a
 *               wait that has yet to begin. Waiters are woken only when the carrier is RUNNING
 *               again, because a wake pushes the thread.
 *               The poller takes the retired descriptors after it has handled the events of one
 *               round and before it collects the next ones, so the array holds no event of them. A
 *               descriptor that is retired later is freed with the poller. The poller itself is
 *               freed by the last of its holders, which are its group and each descriptor
 *               [descriptor_poller.3] [descriptor_poller.4].
 *               A poller ends with its carrier, and after that no events are reported. Therefore
 *               its end shuts each of its descriptors, which wakes their waiters on any thread. A
 *               listed descriptor is not retired, so the walk through the list finds it alive; a
 *               later one is refused.
 * Prior art     Go's netpoll and Tokio's I/O driver use one edge-triggered epoll for all threads;
 *               here each carrier has its own.
 * Driver        One file, driver_<name>.c, which ends with WP_DRIVER(name), and an entry in
 *               WP_DRIVERS: docs/contributing/poller-driver.md.
 * Spec          specs/io/Descriptor.tla, specs/sched/Poller.tla.
 * Evidence      make stress T=io, tests/io/test_descriptor.py. */
#ifndef WP_DESCRIPTOR_POLLER_H
#define WP_DESCRIPTOR_POLLER_H

#include <stddef.h>

#include "io/descriptor.h"
#include "io/file_queue.h"
#include "sched/poller.h"

/* The drivers. Each poller takes the first that the system lets it open. */
#define WP_DRIVERS(X) X(epoll)

#define WP__DRIVER_IS_LISTED(name) WP__DRIVER_##name##_is_listed,
enum { WP_DRIVERS(WP__DRIVER_IS_LISTED) WP__DRIVERS_COUNT };

/* The table of a driver, and the last line of its file. It does not compile if a function or the
 * entry in WP_DRIVERS is missing. */
#define WP_DRIVER(name)                                                                         \
	_Static_assert(WP__DRIVER_##name##_is_listed >= 0, "WP_DRIVERS has an entry for each"); \
	const wp_driver wp__driver_##name = {#name,      driver_open,   driver_close,           \
					     driver_add, driver_remove, driver_wait}

#define WP__DRIVER_IS_SOMEWHERE(name) extern const wp_driver wp__driver_##name;
WP_DRIVERS(WP__DRIVER_IS_SOMEWHERE)

/* `retired` is written by descriptor_poller.1 and descriptor_poller.2; `holders` by
 * descriptor_poller.3 and descriptor_poller.4; `looks`, `events` and `sleeps` by the poller;
 * `wakeups` by any thread that wakes it; `first` and `is_over` by any thread under the lock; the
 * other fields once, when it is made. */
typedef struct wp_io_poller {
	wp_carrier_io of_carrier;       /* must be first: the worker has its address */
	const struct wp_worker *worker; /* the carrier that runs it */
	const wp_driver *driver;
	void *waits; /* state of the driver */
	int event;   /* the eventfd that wakes it */
	uint32_t idle_spins;
	wp_file_queue *files; /* NULL: there is none, and no_files says why */
	const char *no_files;
	wp_atomic(uint64_t) looks, events, sleeps; /* counters.h; see wp_poll_counts */
	_Alignas(WP_LINE) wp_atomic(wp_io *) retired;
	wp_atomic(uint32_t) holders; /* its group, and descriptors not retired */
	wp_atomic(uint64_t) wakeups;
	wp_lock lock;
	wp_io *first; /* list of its descriptors, by `next` */
	bool is_over; /* the poller has ended, or is about to */
} wp_io_poller;

_Static_assert(offsetof(wp_io_poller, of_carrier) == 0, "a worker has its address");

/* Returns the poller of that carrier, or NULL before wp_io_start. [any thread | wait-free] */
wp_io_poller *wp__io_poller_of(struct wp_carrier_tasks *home);

/* Gives up one hold. The last holder frees the poller and what was retired. [a holder | frees
 * memory] */
void wp__io_poller_free(wp_io_poller *poller);

/* Registers a descriptor. Returns WP_OK; WP_CLOSED if the poller has ended; WP_UNSUPPORTED; or
 * WP_SYSTEM and errno. [any thread | a system call] */
int wp__io_poller_add(wp_io_poller *poller, wp_io *io);
/* Removes a descriptor from the list and from the driver, and closes it. [any thread | system
 * calls] */
void wp__io_poller_remove(wp_io_poller *poller, wp_io *io);

/* Adds a descriptor to the list. Returns false if the poller has ended. [any thread | blocks
 * briefly] */
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

/* [any thread | blocks briefly] */
WP_INLINE void wp__io_poller_unlist(wp_io_poller *poller, wp_io *io)
{
	wp_lock_acquire(&poller->lock);
	*io->back = io->next;
	if (io->next != NULL)
		io->next->back = io->back;
	wp_lock_release(&poller->lock);
}

/* Ends the reporting of events. Each present or later waiter at one of the descriptors gets
 * WP_CLOSED. [the poller, at its end, while its carrier is RUNNING | pushes threads] */
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
	/* [descriptor_poller.3] relaxed: atomicity is enough, because the caller has a hold
	 * already, its own or that of another holder; pairs descriptor_poller.4; upholds
	 * Descriptor!EventIsAlive. */
	wp_fetch_add_relaxed(&poller->holders, 1);
}

/* Returns true if this was the last hold, and the caller must free the poller. [a holder |
 * wait-free] */
WP_INLINE bool wp__io_poller_drop(wp_io_poller *poller)
{
	/* [descriptor_poller.4] acq_rel; pairs descriptor_poller.3, descriptor_poller.4; upholds
	 * Descriptor!EventIsAlive: all that the holders did with the poller comes before it is
	 * freed. */
	return wp_fetch_add_acq_rel(&poller->holders, (uint32_t)-1) == 1;
}

/* Hands the memory of a descriptor to the poller, which frees it once no event of it can be
 * reported. [any thread | lock-free] */
WP_INLINE void wp__io_poller_retire(wp_io_poller *poller, wp_io *io)
{
	wp_io *first = NULL;

	do
		io->next = first;
	/* [descriptor_poller.1] release; pairs descriptor_poller.2; upholds
	 * Descriptor!EventIsAlive: all that was done with the descriptor comes before it is freed.
	 */
	while (!wp_cas_release(&poller->retired, &first, io));
}

/* Takes all retired descriptors, linked by `next`. [the poller, between two rounds | wait-free] */
WP_INLINE wp_io *wp__io_poller_retired(wp_io_poller *poller)
{
	/* [descriptor_poller.2] acquire; pairs descriptor_poller.1; upholds
	 * Descriptor!EventIsAlive. */
	return wp_exchange_acquire(&poller->retired, NULL);
}

#endif
