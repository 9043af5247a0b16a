/* SPDX-License-Identifier: Apache-2.0
 * driver_epoll.c - see driver_epoll.h. Not explored, for it blocks in the system. */
#define _GNU_SOURCE
#include "io/driver_epoll.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "sched/worker.h"

enum { EVENTS = 128 }; /* of one round */

/* The system hands over what was written before a descriptor was added to whoever has its event;
 * ThreadSanitizer knows that of epoll_wait alone. */
#ifdef WP__FIBER_TSAN
#include <sanitizer/tsan_interface.h>
#define BEFORE_ADD(epoll) __tsan_release(epoll)
#define AFTER_WAIT(epoll) __tsan_acquire(epoll)
#else
#define BEFORE_ADD(epoll) ((void)0)
#define AFTER_WAIT(epoll) ((void)0)
#endif

bool wp__epoll_has_ns(int fd)
{
	struct timespec now = {0};
	struct epoll_event event;

	return epoll_pwait2(fd, &event, 1, &now, NULL) >= 0 || errno == EINTR;
}

wp_epoll *wp__epoll_new(uint32_t idle_spins)
{
	wp_epoll *epoll = aligned_alloc(WP_LINE, (sizeof(*epoll) + WP_LINE - 1) / WP_LINE * WP_LINE);
	struct epoll_event edge = {.events = EPOLLIN | EPOLLET, .data.ptr = NULL};

	if (epoll == NULL)
		return NULL;
	wp_init(&epoll->retired, NULL);
	wp_init(&epoll->holders, 1);
	wp_init(&epoll->looks, 0);
	wp_init(&epoll->events, 0);
	wp_init(&epoll->sleeps, 0);
	wp_init(&epoll->wakeups, 0);
	epoll->lock = (wp_lock){0};
	epoll->first = NULL;
	epoll->is_over = false;
	epoll->idle_spins = idle_spins;
	epoll->uring = NULL;
	epoll->fd = epoll_create1(EPOLL_CLOEXEC);
	epoll->event = wp_event_open();
	if (epoll->fd < 0 || epoll->event < 0 ||
	    epoll_ctl(epoll->fd, EPOLL_CTL_ADD, epoll->event, &edge) != 0) {
		wp__epoll_free(epoll);
		return NULL;
	}
	epoll->has_ns = wp__epoll_has_ns(epoll->fd);
	epoll->uring = wp__uring_new(epoll->event, &epoll->no_uring);
	return epoll;
}

static void free_retired(wp_epoll *epoll)
{
	wp_io *io = wp__epoll_retired(epoll);

	while (io != NULL) {
		wp_io *next = io->next;

		free(io);
		io = next;
	}
}

void wp__epoll_free(wp_epoll *epoll)
{
	int failed = errno;

	if (epoll == NULL || !wp__epoll_drop(epoll))
		return;
	free_retired(epoll);
	wp__uring_free(epoll->uring);
	if (epoll->fd >= 0)
		close(epoll->fd);
	if (epoll->event >= 0)
		wp_event_close(epoll->event);
	free(epoll);
	errno = failed;
}

void wp__drivers_free(wp_group *group)
{
	for (uint32_t index = 0; group->workers != NULL && index < group->config.carriers; index++)
		wp__epoll_free(group->workers[index].epoll);
}

int wp__epoll_add(wp_epoll *epoll, wp_io *io)
{
	struct epoll_event both = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
				   .data.ptr = io};
	int failed;

	if (!wp__epoll_list(epoll, io))
		return WP_CLOSED;
	BEFORE_ADD(epoll);
	if (epoll_ctl(epoll->fd, EPOLL_CTL_ADD, io->fd, &both) == 0)
		return WP_OK;
	failed = errno;
	wp__epoll_unlist(epoll, io);
	errno = failed;
	return failed == EPERM ? WP_UNSUPPORTED : WP_SYSTEM;
}

void wp__epoll_remove(wp_epoll *epoll, wp_io *io)
{
	wp__epoll_unlist(epoll, io);
	epoll_ctl(epoll->fd, EPOLL_CTL_DEL, io->fd, NULL); /* another process may have it, too */
	close(io->fd);
}

/* True: there was something. [the poller, its carrier RUNNING | pushes] */
static bool tell(wp_epoll *epoll, const struct epoll_event *events, int count)
{
	bool is_told = false;
	uint64_t told = 0;

	for (int at = 0; at < count; at++) {
		wp_io *io = events[at].data.ptr;
		uint32_t what = events[at].events;

		is_told = is_told || io == NULL;
		told += io != NULL; /* else it is the wakeup */
		if (io != NULL && what & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR))
			wp_ready_tell(&io->ready[WP_IO_READ]);
		if (io != NULL && what & (EPOLLOUT | EPOLLHUP | EPOLLERR))
			wp_ready_tell(&io->ready[WP_IO_WRITE]);
	}
	wp__count_many(&epoll->events, told);
	free_retired(epoll);
	return (epoll->uring != NULL && wp__uring_turn(epoll->uring, is_told)) || count > 0;
}

/* True: there was something. */
static bool look(wp_epoll *epoll)
{
	struct epoll_event events[EVENTS];

	wp__count(&epoll->looks);
	return tell(epoll, events, epoll_wait(epoll->fd, events, EVENTS, 0));
}

enum { NS_PER_MS = 1000000, NS_PER_S = 1000000000 };

/* Until the carrier's next timer. Where the system has milliseconds only, up to one longer. [parked
 * | blocks] */
static int wait_parked(wp_epoll *epoll, struct epoll_event *events)
{
	int64_t until_ns = wp_poller_until(), left_ns = until_ns - wp_clock_ns();
	bool is_ever = until_ns == WP_FOREVER;
	struct timespec left;
	int count, ms;

	if (left_ns < 0)
		left_ns = 0;
	left = (struct timespec){.tv_sec = left_ns / NS_PER_S, .tv_nsec = left_ns % NS_PER_S};
	if (epoll->has_ns) {
		count = epoll_pwait2(epoll->fd, events, EVENTS, is_ever ? NULL : &left, NULL);
		if (count >= 0 || errno == EINTR)
			return count;
		epoll->has_ns = false; /* a filter came since: a poller that cannot sleep would spin */
	}
	ms = left_ns / NS_PER_MS < INT_MAX ? (int)((left_ns + NS_PER_MS - 1) / NS_PER_MS) : INT_MAX;
	if (is_ever)
		ms = -1;
	return epoll_wait(epoll->fd, events, EVENTS, ms);
}

/* Blocks, if nothing is to be run: what that said. */
static int block(wp_epoll *epoll)
{
	struct epoll_event events[EVENTS];
	int code = wp_poller_try_park(), count = 0;

	if (code != WP_OK)
		return code;
	wp__count(&epoll->sleeps);
	if (wp_poller_can_park() && (epoll->uring == NULL || !wp__uring_is_wanted(epoll->uring))) {
		wp__count(&epoll->looks);
		count = wait_parked(epoll, events);
	}
	AFTER_WAIT(epoll);
	wp_poller_unpark();
	tell(epoll, events, count);
	return WP_OK;
}

static int run(void *arg)
{
	wp_epoll *epoll = arg;
	uint32_t idle = 0; /* looks in a row that found nothing */
	int code = WP_OK;

	while (code != WP_CLOSED) {
		bool had_io = look(epoll);

		code = wp_poller_maybe_yield(had_io);
		idle = had_io || code == WP_OK ? 0 : idle + 1;
		if (idle > epoll->idle_spins)
			code = block(epoll);
	}
	wp__epoll_end(epoll);
	if (epoll->uring != NULL)
		wp__uring_end(epoll->uring);
	return 0;
}

static void wake(void *arg)
{
	wp_epoll *epoll = arg;

	wp__count_shared(&epoll->wakeups);
	wp_event_signal(epoll->event);
}

static int start(wp_worker *one, uint32_t idle_spins)
{
	wp_epoll *epoll = wp__epoll_new(idle_spins);
	wp_poller_config config = {.name = "epoll", .run = run, .wakeup = wake, .arg = epoll};
	wp_vthread *thread;
	int code;

	if (epoll == NULL)
		return WP_SYSTEM;
	code = wp_poller_register(one->group, one->index, &config, &thread);
	if (code != WP_OK) {
		wp__epoll_free(epoll);
		return code;
	}
	one->epoll = epoll;
	wp_vthread_free(thread);
	return WP_OK;
}

int wp_io_start(wp_group *group, uint32_t idle_spins)
{
	int code = WP_ALREADY; /* all have one */

	if (group->config.spare_carriers != 0)
		return WP_UNSUPPORTED; /* these would have none */
	for (uint32_t index = 0; index < group->config.carriers; index++) {
		if (group->workers[index].epoll != NULL)
			continue;
		code = start(&group->workers[index], idle_spins);
		if (code == WP_ALREADY)
			code = WP_FORBIDDEN;
		if (code != WP_OK)
			break;
	}
	return code;
}

wp_poll_counts wp_io_counts(wp_group *group, uint32_t carrier)
{
	wp_epoll *epoll = group->workers[carrier].epoll;

	if (epoll == NULL)
		return (wp_poll_counts){0};
	return (wp_poll_counts){
		.looks = wp__count_read(&epoll->looks),
		.events = wp__count_read(&epoll->events),
		.sleeps = wp__count_read(&epoll->sleeps),
		.wakeups = wp__count_read(&epoll->wakeups),
	};
}

int wp_io_new(wp_group *group, int fd, wp_io **io)
{
	wp_vthread *self = wp_vthread_current();
	wp_carrier_tasks *home = self == NULL || wp__body_of(self)->group != group
				? wp__group_home(group, wp__group_next(group))
				: self->task.home;
	wp_epoll *epoll = ((wp_worker *)(void *)home)->epoll;
	int flags = fcntl(fd, F_GETFL), code;

	if (epoll == NULL)
		return WP_MISUSED;
	if (flags < 0 || (!(flags & O_NONBLOCK) && fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0))
		return WP_SYSTEM;
	*io = malloc(sizeof(**io));
	if (*io == NULL)
		return WP_SYSTEM;
	wp__io_init(*io, fd, epoll);
	wp__epoll_hold(epoll);
	code = wp__epoll_add(epoll, *io);
	if (code != WP_OK) {
		wp__epoll_free(epoll);
		free(*io);
	}
	return code;
}
