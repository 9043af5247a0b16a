/* SPDX-License-Identifier: Apache-2.0
 * descriptor_server.c CASE - virtual threads that accept, and others that connect. Prints what is
 * lost. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/resource.h>

#include "descriptor_case.h"
#include "../case_main.h"

enum { CLIENTS = 200, ACCEPTORS = 4 };

static struct sockaddr_in address;
static wp_io *listener;

static wp_io *connect_there(void)
{
	wp_io *io = take(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));

	if (wp_io_connect(io, (struct sockaddr *)&address, sizeof(address), patience()) != WP_OK)
		lost("a connection");
	return io;
}

static int connects(void *arg)
{
	talk(connect_there());
	return 0;
}

/* Accepts until the listener is closed. */
static int accepts(void *arg)
{
	int fd;

	while (wp_io_accept(listener, patience(), &fd) == WP_OK)
		wp_vthread_free(start(echoes, take(fd)));
	return 0;
}

static void serve(uint32_t carriers, bool stealing)
{
	wp_vthread *acceptors[ACCEPTORS], *clients[CLIENTS];

	open_io(carriers, stealing);
	listener = listen_at(&address, CLIENTS);
	for (int at = 0; at < ACCEPTORS; at++)
		acceptors[at] = start(accepts, NULL);
	for (int at = 0; at < CLIENTS; at++)
		clients[at] = start(connects, NULL);
	join_all(clients, CLIENTS, "a client");
	check(wp_io_close(listener) == WP_OK, "the first close");
	check(wp_io_close(listener) == WP_CLOSED, "that the second one is told");
	join_all(acceptors, ACCEPTORS, "who accepts, when it is closed");
	wp_io_free(listener);
	close_group();
}

CASE(server)
{
	serve(1, false);
	serve(2, false);
	serve(2, true);
}

/* No descriptor is free: accept reports it, and goes on when there is one. */
static int accepts_one(void *arg)
{
	int fd = -1, code = wp_io_accept(listener, patience(), &fd);

	if (code == WP_OK)
		wp_io_free(take(fd));
	return code == WP_SYSTEM ? errno : code;
}

CASE(exhausted)
{
	struct rlimit before, few;
	wp_io *client;

	open_io(1, false);
	listener = listen_at(&address, CLIENTS);
	getrlimit(RLIMIT_NOFILE, &before);
	client = connect_there();
	few = before;
	few.rlim_cur = (rlim_t)client->fd + 1;
	setrlimit(RLIMIT_NOFILE, &few);
	check(join(start(accepts_one, NULL), "an accept") == EMFILE, "that none is left");
	setrlimit(RLIMIT_NOFILE, &before);
	check(join(start(accepts_one, NULL), "an accept") == WP_OK, "the next one");
	wp_io_free(client);
	wp_io_free(listener);
	close_group();
}
