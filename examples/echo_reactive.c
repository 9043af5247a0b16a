/* SPDX-License-Identifier: Apache-2.0
 * echo_reactive.c - the reactive mode: its threads and their end; see reactive.h. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/futex.h"
#include "reactive.h"
#include "sched/timer.h"

enum { NS_PER_MS = 1000000, EVENTS = 128, SWEEP_MS = 100 };

ssize_t source_read(source *from, char *bytes, size_t size)
{
	ssize_t got = -1;

	errno = EAGAIN;
	while (from->is_readable && (got = read(from->fd, bytes, size)) < 0 && errno == EINTR)
		;
	if ((got < 0 && errno == EAGAIN) || (got > 0 && (size_t)got < size && !from->has_ended))
		from->is_readable = false;
	return got;
}

ssize_t source_write(source *to, const char *bytes, size_t size)
{
	ssize_t put = -1;

	errno = EAGAIN;
	while (to->is_writable && (put = send(to->fd, bytes, size, MSG_NOSIGNAL)) < 0 &&
	       errno == EINTR)
		;
	if (put < 0 && errno == EAGAIN)
		to->is_writable = false;
	return put;
}

bool reactor_watch(reactor *of, source *one)
{
	struct epoll_event both = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
				   .data.ptr = one};

	return epoll_ctl(of->epoll, EPOLL_CTL_ADD, one->fd, &both) == 0;
}

void reactor_bury(reactor *of, source *dead)
{
	close(dead->fd);
	dead->kind = SOURCE_DEAD;
	dead->next_dead = of->dead;
	of->dead = dead;
}

static void handle(source *one, uint32_t events)
{
	one->is_readable |= (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
	one->is_writable |= (events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) != 0;
	one->has_ended |= (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
	if (one->kind == SOURCE_CLIENT) {
		client_go((client *)(void *)one);
	} else if (one->kind == SOURCE_LINE) {
		client *caller = ((line *)(void *)one)->client;

		if (line_go((line *)(void *)one))
			client_go(caller);
	}
}

/* Frees the sources that were closed in this round. */
static void free_dead(reactor *of)
{
	while (of->dead != NULL) {
		source *one = of->dead;

		of->dead = one->next_dead;
		free(one);
	}
}

/* After a stop, no client may send another request. */
static void look_for_stop(reactor *of)
{
	pthread_mutex_lock(&of->lock);
	if (of->is_stopping && !of->is_told) {
		of->is_told = true;
		of->until_ns = wp_deadline_in((int64_t)SERVE_PATIENCE_MS * NS_PER_MS);
		for (client *one = of->first; one != NULL; one = one->next)
			shutdown(one->source.fd, SHUT_RD);
	}
	pthread_mutex_unlock(&of->lock);
}

/* Closes clients that linger too long, and after a stop those that take too long. */
static void sweep(reactor *of)
{
	int64_t now_ns = wp_clock_ns();

	for (client *one = of->first, *next; one != NULL; one = next) {
		bool is_late = of->is_told && now_ns > of->until_ns && one->state != CLIENT_CALLING;

		next = one->next;
		if (is_late || (one->state == CLIENT_LINGERING && now_ns > one->until_ns))
			client_drop(one);
	}
}

static void *react(void *arg)
{
	reactor *of = arg;
	struct epoll_event events[EVENTS];

	echo_bind((void *)(uintptr_t)of->config, of->index);
	while (!of->is_told || of->first != NULL) {
		bool sweeps = of->lingering != 0 || of->is_told;
		int count = epoll_wait(of->epoll, events, EVENTS, sweeps ? SWEEP_MS : -1);

		of->polled.looks++;
		for (int at = 0; at < count; at++) {
			source *one = events[at].data.ptr;

			of->polled.events += one->kind != SOURCE_EVENT;
			if (one->kind == SOURCE_EVENT)
				look_for_stop(of);
			else
				handle(one, events[at].events);
		}
		if (sweeps)
			sweep(of);
		free_dead(of);
	}
	return NULL;
}

static bool open_reactor(reactor *of, const echo_config *config, uint32_t index)
{
	of->config = config;
	of->index = index;
	of->epoll = epoll_create1(EPOLL_CLOEXEC);
	of->event = (source){.kind = SOURCE_EVENT, .fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
	pthread_mutex_init(&of->lock, NULL);
	if (of->epoll < 0 || of->event.fd < 0 || !reactor_watch(of, &of->event))
		return false;
	errno = pthread_create(&of->thread, NULL, react, of);
	return errno == 0;
}

static void close_reactor(reactor *of, echo_counts *counts)
{
	uint64_t one = 1;

	pthread_mutex_lock(&of->lock);
	of->is_stopping = true;
	pthread_mutex_unlock(&of->lock);
	while (write(of->event.fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
	pthread_join(of->thread, NULL);
	while (of->idle != NULL)
		line_drop(of->idle);
	free_dead(of);
	close(of->event.fd);
	close(of->epoll);
	counts->served.accepted += of->served.accepted;
	counts->served.requests += of->served.requests;
	counts->polled.looks += of->polled.looks;
	counts->polled.events += of->polled.events;
}

static void add_client(void *all, int fd, uint32_t number)
{
	reactor *of = (reactor *)all + number % ((reactor *)all)->config->carriers;
	client *one = calloc(1, sizeof(*one));

	if (one == NULL) {
		close(fd);
		return;
	}
	one->source = (source){.kind = SOURCE_CLIENT, .fd = fd};
	one->reactor = of;
	http_parser_init(&one->parser, HTTP_REQUEST);
	pthread_mutex_lock(&of->lock);
	one->next = of->first;
	one->back = &of->first;
	if (one->next != NULL)
		one->next->back = &one->next;
	of->first = one;
	if (!reactor_watch(of, &one->source)) {
		of->first = one->next;
		if (one->next != NULL)
			one->next->back = &of->first;
		close(fd);
		free(one);
	}
	pthread_mutex_unlock(&of->lock);
}

bool echo_react(const echo_config *config, int fd, echo_counts *counts)
{
	reactor *all = calloc(config->carriers, sizeof(*all));

	for (uint32_t index = 0; index < config->carriers; index++)
		if (all == NULL || !open_reactor(&all[index], config, index))
			return false;
	echo_is_ready(config);
	echo_accept(fd, add_client, all);
	for (uint32_t index = 0; index < config->carriers; index++)
		close_reactor(&all[index], counts);
	free(all);
	return true;
}
