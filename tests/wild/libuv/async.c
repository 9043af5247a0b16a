/* SPDX-License-Identifier: Apache-2.0
 * async.c - a thread gives work twice, and sends each time; the loop waits for the descriptor of its
 * handles and runs the callback, until it has seen the last work.  The loop is ours.
 * Claim: a send after a change runs a callback that sees the change.
 * ATOMIC: the work is an atomic number with release and acquire, and no mutex.
 * BUG: the second change comes without a send. */
#include "uv.h"

#include "internal.h"
#include <assert.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { CHANGES = 2 };

static uv_loop_t loop;
static uv_async_t handle;
static int seen;
#ifdef ATOMIC
static atomic_int work;
#else
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int work;
#endif

static void change(int to)
{
#ifdef ATOMIC
	atomic_store_explicit(&work, to, memory_order_release);
#else
	pthread_mutex_lock(&mutex);
	work = to;
	pthread_mutex_unlock(&mutex);
#endif
}

static void see(uv_async_t *unused)
{
	(void)unused;
#ifdef ATOMIC
	seen = atomic_load_explicit(&work, memory_order_acquire);
#else
	pthread_mutex_lock(&mutex);
	seen = work;
	pthread_mutex_unlock(&mutex);
#endif
}

void uv__io_init(uv__io_t *watcher, uv__io_cb run, int descriptor)
{
	watcher->cb = run;
	watcher->fd = descriptor;
}

void uv__io_start(uv_loop_t *unused, uv__io_t *watcher, unsigned events)
{
	(void)unused;
	watcher->events = events;
}

void uv__io_stop(uv_loop_t *unused, uv__io_t *watcher, unsigned events)
{
	(void)unused;
	(void)watcher;
	(void)events;
}

int uv__close(int descriptor)
{
	return close(descriptor);
}

uint64_t uv__hrtime(uv_clocktype_t unused)
{
	(void)unused;
	return 0;
}

int uv__make_pipe(int unused[2], int flags)
{
	(void)unused;
	(void)flags;
	abort();
}

static void *change_all(void *unused)
{
	for (int at = 1; at <= CHANGES; at++) {
		change(at);
#ifdef BUG
		if (at == CHANGES)
			break;
#endif
		uv_async_send(&handle);
	}
	return unused;
}

int main(void)
{
	pthread_t sender;

	loop.async_io_watcher.fd = -1;
	uv__queue_init(&loop.async_handles);
	uv__queue_init(&loop.handle_queue);
	assert(uv_async_init(&loop, &handle, see) == 0);
	pthread_create(&sender, NULL, change_all, NULL);
	while (seen != CHANGES) {
		struct pollfd ready = {.fd = loop.async_io_watcher.fd, .events = POLLIN};

		poll(&ready, 1, -1);
		loop.async_io_watcher.cb(&loop, &loop.async_io_watcher, POLLIN);
	}
	pthread_join(sender, NULL);
	return 0;
}
