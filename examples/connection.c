/* SPDX-License-Identifier: Apache-2.0
 * connection.c - see connection.h. */
#include "connection.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/futex.h"
#include "sched/timer.h"

enum { NS_PER_MS = 1000000 };

static int64_t in_ms(int64_t ms)
{
	return wp_deadline_in(ms * NS_PER_MS);
}

/* A stale read costs one request more. */
static bool is_stopping(http_server *server)
{
	return wp_load_relaxed(&server->is_stopping) != 0;
}

static void link_it(connection *client)
{
	http_server *server = client->server;

	wp_lock_acquire(&server->lock);
	client->next = server->first;
	client->back = &server->first;
	if (client->next != NULL)
		client->next->back = &client->next;
	server->first = client;
	if (is_stopping(server))
		shutdown(client->io->fd, SHUT_RD);
	wp_lock_release(&server->lock);
}

static void unlink_it(connection *client)
{
	http_server *server = client->server;

	wp_lock_acquire(&server->lock);
	*client->back = client->next;
	if (client->next != NULL)
		client->next->back = client->back;
	server->counts.accepted++;
	server->counts.requests += client->requests;
	if (server->counts.depth_most < client->depth_most)
		server->counts.depth_most = client->depth_most;
	wp_lock_release(&server->lock);
}

static void leave(http_server *server)
{
	wp_lock_acquire(&server->lock);
	if (--server->open == 0)
		wp_cond_signal(&server->ended);
	wp_lock_release(&server->lock);
}

/* Reads more bytes. Between requests the client may be silent for as long as it likes. */
static bool read_more(connection *client)
{
	bool is_idle = !client->parser.is_begun;

	client->at = 0;
	return wp_io_read(client->io, client->bytes, SERVE_BUFFER,
			  is_idle ? WP_FOREVER : in_ms(SERVE_PATIENCE_MS), &client->end) == WP_OK &&
	       client->end != 0;
}

/* True: a request was read. False: none follows; *status, if not 0, is the reply that is due. */
static bool read_request(connection *client, int *status)
{
	*status = 0;
	for (;;) {
		size_t used = 0;

		if (client->at == client->end && !read_more(client))
			return false;
		switch (http_parse(&client->parser, client->bytes + client->at,
				   client->end - client->at, &used)) {
		case HTTP_MESSAGE:
			client->at += used;
			return true;
		case HTTP_BAD:
			*status = client->parser.status;
			return false;
		case HTTP_MORE:
			client->at = client->end;
		}
	}
}

static bool send_reply(connection *client, const http_reply *reply, bool is_kept_alive)
{
	char bytes[HTTP_REPLY];
	size_t size = http_write(reply, &client->parser, is_kept_alive, bytes), done;

	return wp_io_write(client->io, bytes, size, in_ms(SERVE_PATIENCE_MS), &done) == WP_OK;
}

/* Waits until the client has ended, because a close with unread bytes would reset the connection
 * and lose the last reply. */
static void linger(connection *client)
{
	int64_t until_ns = in_ms(SERVE_LINGER_MS);
	size_t size;

	shutdown(client->io->fd, SHUT_WR);
	while (wp_io_read(client->io, client->bytes, SERVE_BUFFER, until_ns, &size) == WP_OK &&
	       size != 0 && wp_clock_ns() < until_ns)
		;
}

static void look_at_queues(connection *client, wp_group *group)
{
	for (uint32_t index = 0; index < wp_group_size(group); index++) {
		uint64_t depth = wp_group_counts(group, index).runnable;

		client->depth_most = depth > client->depth_most ? depth : client->depth_most;
	}
}

static bool answer(connection *client)
{
	server_config *config = &client->server->config;
	int status = http_refusal(&client->parser);
	http_reply reply;

	if (config->traced != NULL)
		look_at_queues(client, config->traced);
	client->requests++;
	if (status != 0)
		http_say(&reply, status, "GET, HEAD and POST only\n");
	else
		config->answer(config->arg, &client->parser, client->number, &reply);
	return send_reply(client, &reply,
			  client->parser.is_kept_alive && !is_stopping(client->server)) &&
	       client->parser.is_kept_alive && !is_stopping(client->server);
}

static void converse(connection *client)
{
	bool goes_on = true;
	http_reply reply;
	int status = 0;

	http_parser_init(&client->parser, HTTP_REQUEST);
	while (goes_on && read_request(client, &status))
		goes_on = answer(client);
	if (status != 0) {
		http_say(&reply, status, "%s\n", llhttp_status_name((llhttp_status_t)status));
		goes_on = !send_reply(client, &reply, false);
	}
	if (!goes_on)
		linger(client);
}

int connection_run(void *arg)
{
	connection *client = arg;
	http_server *server = client->server;

	if (wp_io_new(server->config.group, client->fd, &client->io) == WP_OK) {
		link_it(client);
		converse(client);
		unlink_it(client);
		wp_io_free(client->io);
	} else {
		close(client->fd);
	}
	free(client);
	leave(server);
	return 0;
}
