/* SPDX-License-Identifier: Apache-2.0
 * poller_epoll.h - the poller of a carrier that waits for descriptors: one epoll, edge-triggered.
 *
 *   its body                                 who frees a descriptor
 *   look at once; tell who waits (ready.h)   off the epoll; [X5] onto `retired`
 *   [X6] all of `retired`: free
 *   the others run; nothing did: park, ask,
 *     block until the carrier's timer or its wakeup; back; tell
 *
 * Why it works  Its wakeup is an eventfd in the epoll, edge-triggered too: each write is an edge, so
 *               nobody has to read it. Who waits is told when the carrier is RUNNING again, for that
 *               pushes. The epoll lives until the group is freed: a descriptor may be closed later
 *               than its carrier. What was retired is taken when the events of a round were told
 *               and before the next one is asked for, so no event of it lies in the array.
 * Spec          specs/Io.tla, specs/Poller.tla.
 * Evidence      make stress T=io, tests/test_io.py. */
#ifndef WP_POLLER_EPOLL_H
#define WP_POLLER_EPOLL_H

#include "io.h"

/* retired: X5, X6; the rest: who makes it. */
typedef struct wp_epoll {
	int fd, event; /* event: its wakeup */
	uint32_t spins;
	_Alignas(WP_LINE) wp_atomic(wp_io *) retired;
} wp_epoll;

/* NULL and errno. [any thread | system calls] */
wp_epoll *wp__epoll_new(uint32_t spins);
/* With what was retired since. NULL: nothing. [when its poller has ended, or never began] */
void wp__epoll_free(wp_epoll *epoll);

/* Those of all carriers. [the last that is done with the group] */
void wp__epolls_free(struct wp_group *group);

/* WP_OK, WP_UNSUPPORTED, WP_SYSTEM and errno. [any thread | a system call] */
int wp__epoll_add(wp_epoll *epoll, wp_io *io);
/* Closes that descriptor, too. [any thread | system calls] */
void wp__epoll_remove(wp_epoll *epoll, int fd);

/* Frees it when no event of it can be told any more. [any thread | lock-free] */
WP_INLINE void wp__epoll_retire(wp_epoll *epoll, wp_io *io)
{
	wp_io *first = NULL;

	do
		io->next = first;
	/* [X5] release; pairs X6; upholds Io!EventIsAlive: whoever frees it comes after all that
	 * was done with it. */
	while (!wp_cas_release(&epoll->retired, &first, io));
}

/* All that were retired, linked by next. [its poller, between two rounds | wait-free] */
WP_INLINE wp_io *wp__epoll_retired(wp_epoll *epoll)
{
	/* [X6] acquire; pairs X5; upholds Io!EventIsAlive. */
	return wp_exchange_acquire(&epoll->retired, NULL);
}

#endif
