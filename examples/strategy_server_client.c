/* SPDX-License-Identifier: Apache-2.0
 * strategy_server_client.c - a client's tasks: from an event to the next wish; see
 * strategy_server.h. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include "strategy_server.h"
#include "base/futex.h"
#include "sched/timer.h"

enum { NS_PER_MS = 1000000 };

static void reply_with(eat_client *one, const http_reply *reply, bool goes_on)
{
	one->goes_on = goes_on && !wp_load_relaxed(&one->selector->of->is_stopping);
	one->out_at = 0;
	one->out_end = http_write(reply, &one->parser, one->goes_on, one->out);
	one->state = EAT_WRITING;
}

static enum eat_next parse(eat_client *one)
{
	http_reply reply;
	size_t used = 0;

	switch (http_parse(&one->parser, one->bytes + one->at, one->end - one->at, &used)) {
	case HTTP_MESSAGE:
		one->at += used;
		one->state = EAT_ANSWERING;
		return EAT_ON;
	case HTTP_BAD:
		http_say(&reply, one->parser.status, "%s\n",
			 llhttp_status_name((llhttp_status_t)one->parser.status));
		reply_with(one, &reply, false);
		return EAT_ON;
	default:
		one->at = one->end;
		return EAT_READ;
	}
}

/* One read for each event: if there is more, it is told at once. */
static enum eat_next read_some(eat_client *one)
{
	bool is_lingering = one->state == EAT_LINGERING;
	ssize_t size;

	if (one->at < one->end && !is_lingering)
		return parse(one);
	if (!one->is_ready)
		return EAT_READ;
	one->is_ready = false;
	do
		size = recv(one->fd, one->bytes, sizeof(one->bytes), MSG_DONTWAIT);
	while (size < 0 && errno == EINTR);
	if (size <= 0)
		return size < 0 && errno == EAGAIN ? EAT_READ : EAT_LEAVE;
	one->at = 0;
	one->end = (size_t)size;
	return is_lingering ? EAT_READ : EAT_ON;
}

/* Two calls at once for /parallel. */
static void call(eat_client *one, uint32_t many, http_reply *reply)
{
	unsigned index = one->selector->index;
	http_reply halves[2];

	eat_call(&one->selector->of->lines, halves, many);
	if (many == 1)
		*reply = halves[0];
	else
		http_say(reply, halves[halves[0].status < halves[1].status].status,
			 "handler on selector %u\n"
			 "call on selector %u: %.*scall on selector %u: %.*s",
			 index, index, (int)halves[0].size, halves[0].body, index,
			 (int)halves[1].size, halves[1].body);
}

static enum eat_next answer(eat_client *one, bool may_block)
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
		return EAT_POOL;
	one->requests++;
	reply_with(one, &reply, one->parser.is_kept_alive);
	return EAT_ON;
}

static bool await_room(const eat_client *one)
{
	struct pollfd room = {.fd = one->fd, .events = POLLOUT};

	return poll(&room, 1, SERVE_PATIENCE_MS) > 0;
}

static enum eat_next write_some(eat_client *one, bool may_block)
{
	ssize_t size = send(one->fd, one->out + one->out_at, one->out_end - one->out_at,
			    MSG_NOSIGNAL | MSG_DONTWAIT);

	if (size < 0 && errno != EAGAIN && errno != EINTR)
		return EAT_LEAVE;
	if (size < 0 && errno == EAGAIN) {
		if (!may_block)
			return EAT_POOL;
		return await_room(one) ? EAT_ON : EAT_LEAVE;
	}
	one->out_at += size < 0 ? 0 : (size_t)size;
	if (one->out_at < one->out_end)
		return EAT_ON;
	one->state = one->goes_on ? EAT_READING : EAT_LINGERING;
	one->until_ns = wp_deadline_in((int64_t)SERVE_LINGER_MS * NS_PER_MS);
	if (!one->goes_on)
		shutdown(one->fd, SHUT_WR);
	return EAT_ON;
}

static enum eat_next step(eat_client *one, bool may_block)
{
	switch (one->state) {
	case EAT_ANSWERING:
		return answer(one, may_block);
	case EAT_WRITING:
		return write_some(one, may_block);
	default:
		return read_some(one);
	}
}

static void go_in_pool(void *client)
{
	eat_client_go(client, true);
}

int eat_client_execute(eat_client *one)
{
	return wp_pool_execute(one->selector->of->pool, &(wp_job){.run = go_in_pool, .arg = one});
}

void eat_client_go(eat_client *one, bool may_block)
{
	enum eat_next next;

	while ((next = step(one, may_block)) == EAT_ON)
		;
	if (next == EAT_POOL) {
		if (eat_client_execute(one) == WP_OK)
			return;
		next = EAT_LEAVE;
	}
	if (one->state == EAT_READING) /* as long as it likes between requests */
		one->until_ns = !one->parser.is_begun
					? WP_FOREVER
					: wp_deadline_in((int64_t)SERVE_PATIENCE_MS * NS_PER_MS);
	eat_client_wants(one, next);
}
