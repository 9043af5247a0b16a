/* SPDX-License-Identifier: Apache-2.0
 * upstream.c - see upstream.h. */
#include "upstream.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "sched/timer.h"

enum { NS_PER_MS = 1000000, BUFFER = 1024 };

static const char request[] = "GET /x HTTP/1.1\r\nHost: backend\r\n\r\n";

/* One connection: in a pool, or in use by one caller. */
typedef struct upstream_line {
	struct upstream_line *next;
	wp_io *io;
	bool is_used; /* it has had a reply before */
	http_parser parser;
} upstream_line;

int upstream_init(upstream *to, wp_group *group, const struct sockaddr_in *address)
{
	size_t size = sizeof(upstream_pool) * wp_group_size(group);

	to->group = group;
	to->address = *address;
	to->pools = aligned_alloc(WP_LINE, size);
	if (to->pools == NULL)
		return WP_SYSTEM;
	memset(to->pools, 0, size);
	return WP_OK;
}

static void drop(upstream_line *line)
{
	wp_io_free(line->io);
	free(line);
}

void upstream_fini(upstream *to)
{
	for (uint32_t index = 0; index < wp_group_size(to->group); index++)
		for (upstream_line *line = to->pools[index].idle, *next; line != NULL;
		     line = next) {
			next = line->next;
			drop(line);
		}
	free(to->pools);
}

static upstream_pool *pool_here(upstream *to)
{
	return &to->pools[wp_group_home(to->group)];
}

/* NULL: none is idle. */
static upstream_line *take(upstream *to)
{
	upstream_pool *pool = pool_here(to);
	upstream_line *line;

	wp_lock_acquire(&pool->lock);
	line = pool->idle;
	if (line != NULL)
		pool->idle = line->next;
	wp_lock_release(&pool->lock);
	return line;
}

static void keep(upstream *to, upstream_line *line)
{
	upstream_pool *pool = pool_here(to);

	line->is_used = true;
	wp_lock_acquire(&pool->lock);
	line->next = pool->idle;
	pool->idle = line;
	wp_lock_release(&pool->lock);
}

/* WP_SYSTEM and errno. */
static int open_line(upstream *to, int64_t deadline_ns, upstream_line **made)
{
	upstream_line *line = malloc(sizeof(*line));
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), code, failed;

	*made = line;
	if (line == NULL || fd < 0 || wp_io_new(to->group, fd, &line->io) != WP_OK) {
		failed = errno;
		if (fd >= 0)
			close(fd);
		free(line);
		errno = failed;
		return WP_SYSTEM;
	}
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
	line->is_used = false;
	http_parser_init(&line->parser, HTTP_RESPONSE);
	code = wp_io_connect(line->io, (const struct sockaddr *)&to->address, sizeof(to->address),
			     deadline_ns);
	if (code == WP_OK)
		return code;
	failed = errno;
	drop(line);
	errno = failed;
	return code;
}

/* WP_OK: the parser has a reply, and `is_kept` says whether another one may follow. WP_FAILED: not
 * HTTP. */
static int exchange(upstream_line *line, int64_t deadline_ns, bool *is_kept)
{
	char bytes[BUFFER];
	size_t size = 0;
	int code = wp_io_write(line->io, request, sizeof(request) - 1, deadline_ns, &size);

	*is_kept = false;
	while (code == WP_OK) {
		size_t used = 0;

		code = wp_io_read(line->io, bytes, sizeof(bytes), deadline_ns, &size);
		if (code != WP_OK)
			break;
		if (size == 0) {
			errno = ECONNRESET;
			return http_parse_end(&line->parser) ? WP_OK : WP_SYSTEM;
		}
		switch (http_parse(&line->parser, bytes, size, &used)) {
		case HTTP_MESSAGE:
			*is_kept = line->parser.is_kept_alive && used == size;
			return WP_OK;
		case HTTP_BAD:
			return WP_FAILED;
		case HTTP_MORE:;
		}
	}
	return code;
}

static void fail(http_reply *reply, int code)
{
	const char *why = wp_error_text(code);

	if (code == WP_SYSTEM)
		why = strerror(errno);
	else if (code == WP_FAILED)
		why = "its reply is not HTTP";
	http_say(reply, HTTP_STATUS_BAD_GATEWAY, "the backend: %s\n", why);
}

void upstream_call(upstream *to, http_reply *reply)
{
	int64_t deadline_ns = wp_deadline_in((int64_t)UPSTREAM_PATIENCE_MS * NS_PER_MS);
	upstream_line *line;
	bool is_again, is_kept;
	int code;

	do {
		line = take(to);
		code = line != NULL ? WP_OK : open_line(to, deadline_ns, &line);
		if (code != WP_OK) {
			fail(reply, code);
			return;
		}
		code = exchange(line, deadline_ns, &is_kept);
		is_again = code == WP_SYSTEM && line->is_used && !line->parser.is_begun;
		if (is_again)
			drop(line);
	} while (is_again);
	if (code != WP_OK) {
		fail(reply, code);
	} else {
		reply->status = line->parser.status;
		reply->size = line->parser.body_size;
		memcpy(reply->body, line->parser.body, reply->size);
	}
	if (is_kept)
		keep(to, line);
	else
		drop(line);
}
