/* SPDX-License-Identifier: Apache-2.0
 * serve.c - see serve.h. */
#define _GNU_SOURCE
#include "serve.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "connection.h"
#include "base/futex.h"
#include "sched/timer.h"

enum { NS_PER_MS = 1000000 };

static void count_open(http_server *server, int more)
{
	wp_lock_acquire(&server->lock);
	server->open += (uint32_t)more;
	wp_lock_release(&server->lock);
}

/* Starts the thread of a connection on the next carrier. */
static void serve(http_server *server, int fd, uint32_t number)
{
	wp_group *group = server->config.group;
	connection *client = malloc(sizeof(*client));
	wp_vthread *thread;
	int code;

	if (client == NULL) {
		close(fd);
		return;
	}
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
	client->server = server;
	client->fd = fd;
	client->number = number;
	client->requests = client->depth_most = 0;
	client->at = client->end = 0;
	count_open(server, 1);
	code = wp_vthread_new(group,
			      &(wp_vthread_config){.name = "connection",
						   .run = connection_run,
						   .arg = client,
						   .carrier = (int)(number % wp_group_size(group))},
			      &thread);
	if (code == WP_OK) {
		code = wp_vthread_start(thread);
		wp_vthread_free(thread);
	}
	if (code != WP_OK) {
		close(fd);
		free(client);
		count_open(server, -1);
	}
}

static int accept_all(void *arg)
{
	http_server *server = arg;
	uint32_t number = 0;
	int code, fd;

	while ((code = wp_io_accept(server->listener, WP_FOREVER, &fd)) != WP_CLOSED) {
		if (code == WP_OK)
			serve(server, fd, number++);
		else
			wp_vthread_sleep_until(wp_deadline_in((int64_t)SERVE_RETRY_MS * NS_PER_MS));
	}
	return 0;
}

int server_listen(uint32_t *port)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_port = htons((uint16_t)*port),
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), failed;

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
	if (bind(fd, (struct sockaddr *)&address, length) == 0 && listen(fd, SOMAXCONN) == 0 &&
	    getsockname(fd, (struct sockaddr *)&address, &length) == 0) {
		*port = ntohs(address.sin_port);
		return fd;
	}
	failed = errno;
	close(fd);
	errno = failed;
	return -1;
}

int server_start(http_server *server, const server_config *config)
{
	wp_vthread_config accepts = {.name = "acceptor", .run = accept_all, .arg = server};
	int code;

	memset(server, 0, sizeof(*server));
	server->config = *config;
	wp_init(&server->is_stopping, 0);
	code = wp_io_new(config->group, config->fd, &server->listener);
	if (code == WP_OK)
		code = wp_vthread_new(config->group, &accepts, &server->acceptor);
	return code == WP_OK ? wp_vthread_start(server->acceptor) : code;
}

/* Stops each connection: it takes no more requests, or, if it is late, ends at once. */
static void tell_all(http_server *server, bool is_late)
{
	for (connection *client = server->first; client != NULL; client = client->next)
		if (is_late)
			wp_io_close(client->io);
		else if (wp_io_enter(client->io)) {
			shutdown(client->io->fd, SHUT_RD);
			wp_io_exit(client->io);
		}
}

void server_stop(http_server *server)
{
	int64_t until_ns = wp_deadline_in((int64_t)SERVE_PATIENCE_MS * NS_PER_MS);
	int failure;

	wp_io_close(server->listener);
	wp_vthread_join(server->acceptor, WP_FOREVER, &failure);
	wp_vthread_free(server->acceptor);
	wp_io_free(server->listener); /* the acceptor was the last that used it */
	wp_lock_acquire(&server->lock);
	wp_store_relaxed(&server->is_stopping, 1);
	tell_all(server, false);
	while (server->open != 0)
		if (wp_cond_wait(&server->ended, &server->lock, until_ns) == WP_TIMEOUT) {
			tell_all(server, true);
			until_ns = WP_FOREVER;
		}
	wp_lock_release(&server->lock);
}

static sigset_t ends;

void server_block_signals(void)
{
	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &ends, NULL);
	signal(SIGPIPE, SIG_IGN);
}

void server_await_signal(void)
{
	int signal_number;

	while (sigwait(&ends, &signal_number) != 0)
		;
}
