/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "client.h"

#include "response.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { EVENTS = 256, CONNECT_S = 5 };

static const char REQUEST[] = "GET / HTTP/1.1\r\nHost: bench\r\n\r\n";

int64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static bool is_counted(const client *self, int64_t due_ns)
{
	return due_ns >= self->warm_ns && due_ns < self->end_ns;
}

static int64_t due_of(const client *self, uint64_t request)
{
	return self->start_ns + (int64_t)(self->period_ns * (double)request);
}

static bool connect_one(client *self, unsigned index)
{
	const int one = 1;
	const struct timeval patience = {.tv_sec = CONNECT_S};
	connection *conn = &self->all[index];
	conn->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (conn->fd < 0)
		return false;
	setsockopt(conn->fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
	setsockopt(conn->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	struct epoll_event event = {.events = EPOLLIN, .data.u32 = index};
	if (connect(conn->fd, (struct sockaddr *)&self->to, sizeof self->to) == 0 &&
	    epoll_ctl(self->poll, EPOLL_CTL_ADD, conn->fd, &event) == 0)
		return true;
	const int error = errno;
	close(conn->fd);
	conn->fd = -1;
	errno = error;
	return false;
}

static void put_free(client *self, unsigned index)
{
	const unsigned at = (self->first_free + self->free_count++) % self->connections;
	self->free[at] = index;
}

static unsigned take_free(client *self)
{
	const unsigned index = self->free[self->first_free];
	self->first_free = (self->first_free + 1) % self->connections;
	self->free_count--;
	return index;
}

bool client_open(client *self)
{
	self->poll = epoll_create1(EPOLL_CLOEXEC);
	self->all = calloc(self->connections, sizeof *self->all);
	self->free = calloc(self->connections, sizeof *self->free);
	if (self->poll < 0 || self->all == NULL || self->free == NULL)
		return false;
	for (unsigned at = 0; at < self->connections; at++) {
		if (!connect_one(self, at))
			return false;
		put_free(self, at);
	}
	return true;
}

void client_close(client *self)
{
	for (unsigned at = 0; self->all != NULL && at < self->connections; at++)
		if (self->all[at].fd > 0)
			close(self->all[at].fd);
	if (self->poll > 0)
		close(self->poll);
	free(self->all);
	free(self->free);
}

/* Opens the connection again. A request that was out on it counts as an error. */
static void failed(client *self, connection *conn)
{
	const unsigned index = (unsigned)(conn - self->all);
	const bool was_busy = conn->busy;
	if (was_busy) {
		self->errors += is_counted(self, conn->due_ns);
		self->out--;
	}
	close(conn->fd);
	conn->busy = false;
	conn->got = 0;
	if (!connect_one(self, index)) {
		self->lost++;
		for (unsigned left = was_busy ? 0 : self->free_count; left > 0; left--) {
			const unsigned other = take_free(self);
			if (other != index)
				put_free(self, other);
		}
	} else if (was_busy) {
		put_free(self, index);
	}
}

static void answered(client *self, connection *conn, int64_t now)
{
	if (is_counted(self, conn->due_ns)) {
		self->answered++;
		histogram_add(&self->latency, now - conn->due_ns);
	}
	self->completed += is_counted(self, now);
	conn->busy = false;
	conn->got = 0;
	self->out--;
	put_free(self, (unsigned)(conn - self->all));
}

static void readable(client *self, connection *conn)
{
	if (conn->fd < 0)
		return; /* an earlier event has lost it */
	const ssize_t got = recv(conn->fd, conn->in + conn->got, IN_SIZE - conn->got, MSG_DONTWAIT);
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got <= 0 || !conn->busy) { /* closed, reset, or a reply without a request */
		failed(self, conn);
		return;
	}
	conn->got += (unsigned)got;
	const ssize_t length = response_length(conn->in, conn->got);
	if (length == (ssize_t)conn->got)
		answered(self, conn, now_ns());
	else if (length != RESPONSE_PARTIAL || conn->got == IN_SIZE)
		failed(self, conn);
}

static void send_one(client *self, int64_t due, int64_t now)
{
	connection *conn = &self->all[take_free(self)];
	conn->busy = true;
	conn->due_ns = due;
	self->out++;
	if (self->period_ns > 0 && !self->starved && is_counted(self, due))
		histogram_add(&self->lag, now - due);
	const ssize_t size = sizeof REQUEST - 1;
	if (send(conn->fd, REQUEST, (size_t)size, MSG_NOSIGNAL | MSG_DONTWAIT) != size)
		failed(self, conn);
}

/* Sends the requests that are due. Returns the time at which the next one is due, if a connection
 * is free for it. */
static int64_t send_due(client *self)
{
	for (;;) {
		const int64_t now = now_ns();
		if (self->period_ns == 0) {
			if (now >= self->end_ns || self->out >= self->inflight ||
			    self->free_count == 0)
				return now < self->end_ns ? self->end_ns : self->drained_ns;
			send_one(self, now, now);
			continue;
		}
		const int64_t due = due_of(self, self->next);
		if (due >= self->end_ns)
			return self->drained_ns;
		if (due > now) {
			self->starved = false;
			return due;
		}
		if (self->free_count == 0 || self->out >= self->inflight) {
			self->starved = true;
			return self->drained_ns;
		}
		send_one(self, due, now);
		self->next++;
	}
}

/* A request without a reply counts as being as late as it is now. Leaving it out would flatter the
 * server. */
static void count_unanswered(client *self)
{
	const int64_t now = now_ns();
	for (unsigned at = 0; at < self->connections; at++) {
		const connection *conn = &self->all[at];
		if (conn->busy && is_counted(self, conn->due_ns)) {
			self->unanswered++;
			histogram_add(&self->latency, now - conn->due_ns);
		}
	}
	for (int64_t due; self->period_ns > 0 && (due = due_of(self, self->next)) < self->end_ns;
	     self->next++) {
		if (is_counted(self, due)) {
			self->unanswered++;
			histogram_add(&self->latency, now - due);
		}
	}
}

static bool is_over(const client *self, int64_t now)
{
	if (now >= self->drained_ns || self->lost == self->connections)
		return true;
	const bool sends =
		self->period_ns == 0 ? now < self->end_ns : due_of(self, self->next) < self->end_ns;
	return !sends && self->out == 0;
}

void client_run(client *self)
{
	struct epoll_event events[EVENTS];
	for (;;) {
		const int64_t until = send_due(self), now = now_ns();
		if (is_over(self, now))
			break;
		const int64_t left = until > now ? until - now : 0;
		const struct timespec wait = {.tv_sec = left / 1000000000,
					      .tv_nsec = left % 1000000000};
		const int ready = epoll_pwait2(self->poll, events, EVENTS, &wait, NULL);
		for (int at = 0; at < ready; at++)
			readable(self, &self->all[events[at].data.u32]);
	}
	count_unanswered(self);
}
