/* SPDX-License-Identifier: Apache-2.0
 * strategy_server_client.c - the tasks of a client, each from an event to the next wish; see
 * strategy_server.h. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include "strategy_server.h"
#include "base/futex.h"
#include "sched/timer.h"

enum { NS_PER_MS = 1000000 };

static void reply_with(strategy_client *one, const http_reply *reply, bool goes_on)
{
	one->goes_on = goes_on && !wp_load_relaxed(&one->selector->of->is_stopping);
	one->out_at = 0;
	one->out_end = http_write(reply, &one->parser, one->goes_on, one->out);
	one->state = STRATEGY_WRITING;
}

static enum strategy_next parse(strategy_client *one)
{
	http_reply reply;
	size_t used = 0;

	switch (http_parse(&one->parser, one->bytes + one->at, one->end - one->at, &used)) {
	case HTTP_MESSAGE:
		one->at += used;
		one->state = STRATEGY_ANSWERING;
		return STRATEGY_ON;
	case HTTP_BAD:
		http_say(&reply, one->parser.status, "%s\n",
			 llhttp_status_name((llhttp_status_t)one->parser.status));
		reply_with(one, &reply, false);
		return STRATEGY_ON;
	default:
		one->at = one->end;
		return STRATEGY_READ;
	}
}

/* One read for each event. If there is more, the next event comes at once. */
static enum strategy_next read_some(strategy_client *one)
{
	bool is_lingering = one->state == STRATEGY_LINGERING;
	ssize_t size;

	if (one->at < one->end && !is_lingering)
		return parse(one);
	if (!one->is_ready)
		return STRATEGY_READ;
	one->is_ready = false;
	do
		size = recv(one->fd, one->bytes, sizeof(one->bytes), MSG_DONTWAIT);
	while (size < 0 && errno == EINTR);
	if (size <= 0)
		return size < 0 && errno == EAGAIN ? STRATEGY_READ : STRATEGY_LEAVE;
	one->at = 0;
	one->end = (size_t)size;
	return is_lingering ? STRATEGY_READ : STRATEGY_ON;
}

/* Two calls at once for /parallel. */
static void call(strategy_client *one, uint32_t many, http_reply *reply)
{
	unsigned index = one->selector->index;
	http_reply halves[2];

	strategy_call(&one->selector->of->lines, halves, many);
	if (many == 1)
		*reply = halves[0];
	else
		http_say(reply, halves[halves[0].status < halves[1].status].status,
			 "handler on selector %u\n"
			 "call on selector %u: %.*scall on selector %u: %.*s",
			 index, index, (int)halves[0].size, halves[0].body, index,
			 (int)halves[1].size, halves[1].body);
}

static enum strategy_next answer(strategy_client *one, bool may_block)
{
	bool is_root = http_is_path(&one->parser, "/");
	int refusal = http_refusal(&one->parser);
	http_reply reply;

	if (refusal != 0)
		http_say(&reply, refusal, "GET, HEAD and POST only\n");
	else if (!is_root && !http_is_path(&one->parser, "/parallel"))
		http_say(&reply, HTTP_STATUS_NOT_FOUND, "there are / and /parallel\n");
	else if (may_block)
		call(one, is_root ? 1 : 2, &reply);
	else
		return STRATEGY_POOL;
	one->requests++;
	reply_with(one, &reply, one->parser.is_kept_alive);
	return STRATEGY_ON;
}

static bool await_room(const strategy_client *one)
{
	struct pollfd room = {.fd = one->fd, .events = POLLOUT};

	return poll(&room, 1, SERVE_PATIENCE_MS) > 0;
}

static enum strategy_next write_some(strategy_client *one, bool may_block)
{
	ssize_t size = send(one->fd, one->out + one->out_at, one->out_end - one->out_at,
			    MSG_NOSIGNAL | MSG_DONTWAIT);

	if (size < 0 && errno != EAGAIN && errno != EINTR)
		return STRATEGY_LEAVE;
	if (size < 0 && errno == EAGAIN) {
		if (!may_block)
			return STRATEGY_POOL;
		return await_room(one) ? STRATEGY_ON : STRATEGY_LEAVE;
	}
	one->out_at += size < 0 ? 0 : (size_t)size;
	if (one->out_at < one->out_end)
		return STRATEGY_ON;
	one->state = one->goes_on ? STRATEGY_READING : STRATEGY_LINGERING;
	one->until_ns = wp_deadline_in((int64_t)SERVE_LINGER_MS * NS_PER_MS);
	if (!one->goes_on)
		shutdown(one->fd, SHUT_WR);
	return STRATEGY_ON;
}

static enum strategy_next step(strategy_client *one, bool may_block)
{
	switch (one->state) {
	case STRATEGY_ANSWERING:
		return answer(one, may_block);
	case STRATEGY_WRITING:
		return write_some(one, may_block);
	default:
		return read_some(one);
	}
}

static void go_in_pool(void *client)
{
	strategy_client_go(client, true);
}

int strategy_client_execute(strategy_client *one)
{
	return wp_pool_execute(one->selector->of->pool, &(wp_job){.run = go_in_pool, .arg = one});
}

void strategy_client_go(strategy_client *one, bool may_block)
{
	enum strategy_next next;

	while ((next = step(one, may_block)) == STRATEGY_ON)
		;
	if (next == STRATEGY_POOL) {
		if (strategy_client_execute(one) == WP_OK)
			return;
		next = STRATEGY_LEAVE;
	}
	if (one->state == STRATEGY_READING) /* as long as it likes between requests */
		one->until_ns = !one->parser.is_begun
					? WP_FOREVER
					: wp_deadline_in((int64_t)SERVE_PATIENCE_MS * NS_PER_MS);
	strategy_client_wants(one, next);
}
