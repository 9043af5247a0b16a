/* SPDX-License-Identifier: Apache-2.0
 * descriptor_poller.c - see descriptor_poller.h. Not explored, because it blocks in the system. */
#define _GNU_SOURCE
#include "io/descriptor_poller.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <unistd.h>

#include "sched/worker_trace.h"

#define OF(name) &wp__driver_##name,
#define OF_FILES(name) &wp__file_driver_##name,
static const wp_driver *const drivers[] = {WP_DRIVERS(OF)};
static const wp_file_driver *const file_drivers[] = {WP_FILE_DRIVERS(OF_FILES)};

wp_io_poller *wp__io_poller_of(wp_carrier_tasks *home)
{
	return (wp_io_poller *)(void *)((wp_worker *)(void *)home)->io;
}

/* [the group, after the carrier has ended] */
static void drop_by_group(wp_carrier_io *io)
{
	wp__io_poller_free((wp_io_poller *)(void *)io);
}

/* Opens a driver. Returns false and sets errno if no driver could be opened. [any thread | system
 * calls] */
static bool open_driver(wp_io_poller *poller)
{
	for (uint32_t at = 0; at < WP__DRIVERS_COUNT && poller->waits == NULL; at++) {
		poller->driver = drivers[at];
		poller->waits = poller->driver->open(poller->event);
	}
	return poller->waits != NULL;
}

/* Opens the first file driver that the system allows. If it allows none, `no_files` says why. [any
 * thread | system calls] */
static void open_files(wp_io_poller *poller)
{
	for (uint32_t at = 0; at < WP__FILE_DRIVERS_COUNT && poller->files == NULL; at++) {
		poller->files = file_drivers[at]->open(poller->event, &poller->no_files);
		if (poller->files != NULL)
			poller->files->driver = file_drivers[at];
	}
}

/* Returns NULL and sets errno on failure. [any thread | system calls] */
static wp_io_poller *make(const wp_worker *worker, uint32_t idle_spins)
{
	wp_io_poller *poller =
		aligned_alloc(WP_LINE, (sizeof(*poller) + WP_LINE - 1) / WP_LINE * WP_LINE);

	if (poller == NULL)
		return NULL;
	wp_init(&poller->retired, NULL);
	wp_init(&poller->holders, 1);
	wp_init(&poller->looks, 0);
	wp_init(&poller->events, 0);
	wp_init(&poller->sleeps, 0);
	wp_init(&poller->wakeups, 0);
	poller->of_carrier.free = drop_by_group;
	poller->worker = worker;
	poller->lock = (wp_lock){0};
	poller->first = NULL;
	poller->is_over = false;
	poller->idle_spins = idle_spins;
	poller->waits = NULL;
	poller->files = NULL;
	poller->event = wp_event_open();
	if (poller->event < 0 || !open_driver(poller)) {
		wp__io_poller_free(poller);
		return NULL;
	}
	open_files(poller);
	return poller;
}

static void free_retired(wp_io_poller *poller)
{
	wp_io *io = wp__io_poller_retired(poller);

	while (io != NULL) {
		wp_io *next = io->next;

		free(io);
		io = next;
	}
}

void wp__io_poller_free(wp_io_poller *poller)
{
	int failed = errno;

	if (!wp__io_poller_drop(poller))
		return;
	free_retired(poller);
	if (poller->files != NULL)
		poller->files->driver->close(poller->files);
	if (poller->waits != NULL)
		poller->driver->close(poller->waits);
	if (poller->event >= 0)
		wp_event_close(poller->event);
	free(poller);
	errno = failed;
}

int wp__io_poller_add(wp_io_poller *poller, wp_io *io)
{
	int code, failed;

	if (!wp__io_poller_list(poller, io))
		return WP_CLOSED;
	code = poller->driver->add(poller->waits, io->fd, io);
	if (code == WP_OK)
		return WP_OK;
	failed = errno;
	wp__io_poller_unlist(poller, io);
	errno = failed;
	return code;
}

void wp__io_poller_remove(wp_io_poller *poller, wp_io *io)
{
	wp__io_poller_unlist(poller, io);
	poller->driver->remove(poller->waits, io->fd);
	close(io->fd);
}

/* Returns the worker of the carrier on which the poller runs. [the poller | wait-free] */
static wp_worker *worker_here(void)
{
	return (wp_worker *)(void *)wp_vthread_current()->task.home;
}

/* Wakes the threads that these events concern, and records the look, which began at `since_ns`, if
 * it found some or blocked. Returns true if there was something to do. [the poller, its carrier
 * RUNNING | pushes threads] */
static bool tell(wp_io_poller *poller, const wp_driver_event *events, int count, int64_t since_ns,
		 bool is_blocking)
{
	bool is_woken = false;
	uint64_t told = 0;

	for (int at = 0; at < count; at++) {
		wp_io *io = events[at].of;

		is_woken = is_woken || io == NULL;
		told += io != NULL;
		if (io != NULL && events[at].what & WP_DRIVER_READ)
			wp_ready_tell(&io->ready[WP_IO_READ],
				      (events[at].what & WP_DRIVER_DATA) != 0);
		if (io != NULL && events[at].what & WP_DRIVER_WRITE)
			wp_ready_tell(&io->ready[WP_IO_WRITE], false);
	}
	wp__count_many(&poller->events, told);
	if ((told > 0 || is_blocking) && wp__worker_is_traced(worker_here()))
		wp__worker_trace(worker_here(), (wp_trace_event){.begin_ns = since_ns,
								 .kind = WP_TRACE_POLL,
								 .a = (uint32_t)told,
								 .b = is_blocking});
	free_retired(poller);
	return (poller->files != NULL && poller->files->driver->turn(poller->files, is_woken)) ||
	       count > 0;
}

/* Collects events without blocking. Returns true if there was something to do. */
static bool look(wp_io_poller *poller)
{
	wp_driver_event events[WP_DRIVER_EVENTS];
	int64_t since_ns = wp__worker_now_ns(worker_here());

	wp__count(&poller->looks);
	return tell(poller, events, poller->driver->wait(poller->waits, 0, events), since_ns,
		    false);
}

/* Blocks for events if the carrier has nothing to run. Returns the code of wp_poller_try_park. */
static int block(wp_io_poller *poller)
{
	wp_driver_event events[WP_DRIVER_EVENTS];
	int code = wp_poller_try_park(), count = 0;
	int64_t since_ns;
	bool is_blocking = false;

	if (code != WP_OK)
		return code;
	since_ns = wp__worker_now_ns(worker_here());
	wp__count(&poller->sleeps);
	if (wp_poller_can_park() &&
	    (poller->files == NULL || !poller->files->driver->is_wanted(poller->files))) {
		wp__count(&poller->looks);
		count = poller->driver->wait(poller->waits, wp_poller_until(), events);
		is_blocking = true;
	}
	wp_poller_unpark();
	tell(poller, events, count, since_ns, is_blocking);
	return WP_OK;
}

static int run(void *arg)
{
	wp_io_poller *poller = arg;
	uint32_t idle = 0; /* looks in a row that found nothing */
	int code = WP_OK;

	while (code != WP_CLOSED) {
		bool had_io = look(poller);

		code = wp_poller_maybe_yield(had_io);
		idle = had_io || code == WP_OK ? 0 : idle + 1;
		if (idle > poller->idle_spins)
			code = block(poller);
	}
	wp__io_poller_end(poller);
	if (poller->files != NULL)
		poller->files->driver->end(poller->files);
	return 0;
}

static void wake(void *arg)
{
	wp_io_poller *poller = arg;

	wp__count_shared(&poller->wakeups);
	wp_event_signal(poller->event);
}

static int start(wp_worker *one, uint32_t idle_spins)
{
	wp_io_poller *poller = make(one, idle_spins);
	wp_poller_config config = {.run = run, .wakeup = wake, .arg = poller};
	wp_vthread *thread;
	int code;

	if (poller == NULL)
		return WP_SYSTEM;
	config.name = poller->driver->name;
	code = wp_poller_register(one->group, one->index, &config, &thread);
	if (code != WP_OK) {
		wp__io_poller_free(poller);
		return code;
	}
	one->io = &poller->of_carrier;
	wp_vthread_free(thread);
	return WP_OK;
}

int wp_io_start(wp_group *group, uint32_t idle_spins)
{
	int code = WP_ALREADY; /* every carrier has one */

	if (group->config.spare_carriers != 0)
		return WP_UNSUPPORTED; /* spare carriers would have none */
	for (uint32_t index = 0; index < group->config.carriers; index++) {
		if (group->workers[index].io != NULL)
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
	wp_io_poller *poller = wp__io_poller_of(wp__group_home(group, carrier));

	if (poller == NULL)
		return (wp_poll_counts){0};
	return (wp_poll_counts){
		.looks = wp__count_read(&poller->looks),
		.events = wp__count_read(&poller->events),
		.sleeps = wp__count_read(&poller->sleeps),
		.wakeups = wp__count_read(&poller->wakeups),
	};
}

static bool is_tcp(int fd)
{
	int protocol, type;
	socklen_t size = sizeof(int);

	return getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &size) == 0 &&
	       protocol == IPPROTO_TCP && getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 &&
	       type == SOCK_STREAM;
}

int wp_io_new(wp_group *group, int fd, wp_io **io)
{
	wp_vthread *self = wp_vthread_current();
	wp_carrier_tasks *home = self == NULL || wp__body_of(self)->group != group
					 ? wp__group_home(group, wp__group_next(group))
					 : self->task.home;
	wp_io_poller *poller = wp__io_poller_of(home);
	int flags = fcntl(fd, F_GETFL), code;
	wp_io *made;

	if (poller == NULL)
		return WP_MISUSED;
	if (flags < 0 || (!(flags & O_NONBLOCK) && fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0))
		return WP_SYSTEM;
	made = malloc(sizeof(*made));
	if (made == NULL)
		return WP_SYSTEM;
	wp__io_init(made, fd, is_tcp(fd), poller);
	wp__io_poller_hold(poller);
	code = wp__io_poller_add(poller, made);
	if (code == WP_OK) {
		*io = made;
	} else {
		wp__io_poller_free(poller);
		free(made);
	}
	return code;
}
