/* SPDX-License-Identifier: Apache-2.0
 * waits.c CASE - events of virtual threads: their owners, the reasons of waits, and the switch.
 * Prints what is lost.
 *
 *   names     threads that use one memory after the other keep their names and numbers
 *   reasons   each wait is a span with its reason, its descriptor or permits, and its end
 *   switch    on and off while carriers write, with ever larger rings */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <unistd.h>

#include "sync/channel.h"
#include "sync/condition.h"
#include "io/file.h"
#include "../io/descriptor_case.h"
#include "../case_main.h"
#include "sync/mutex.h"
#include "sync/semaphore.h"
#include "sched/trace.h"

enum { ROOM = 1 << 14, THREADS = 8, TURNS = 60, BUSY = 4 };

static wp_trace_event events[ROOM];

/* All events of one kind, in the order of the rings. */
static uint64_t read_all(enum wp_trace_kind kind, const char *name)
{
	uint64_t found = 0;

	for (uint32_t ring = 0; ring <= wp_group_size(group); ring++) {
		uint64_t number = 0,
			 read = wp_group_trace(group, ring, &number, events + found, ROOM - found),
			 kept = found;

		for (uint64_t at = found; at < found + read; at++)
			if (events[at].kind == (uint32_t)kind &&
			    (name == NULL || strcmp(events[at].name, name) == 0))
				events[kept++] = events[at];
		found = kept;
	}
	return found;
}

static void open_traced(uint32_t carriers, uint32_t most)
{
	open_as((wp_group_config){
		.carriers = carriers, .trace_events = most, .work_stealing = true});
}

static int sleeps(void *arg)
{
	return wp_vthread_sleep_until(in_ms(1));
}

CASE(names)
{
	static const char *const names[THREADS] = {"a", "b", "c", "d", "e", "f", "g", "h"};
	static const enum wp_trace_kind kinds[] = {WP_TRACE_SUBMIT, WP_TRACE_RUN, WP_TRACE_WAIT};
	uint64_t numbers[THREADS];

	open_traced(1, 1024);
	for (int at = 0; at < THREADS; at++) {
		wp_vthread_config config = {.name = names[at], .run = sleeps};

		join(start_as(&config), "a thread");
	}
	check(wp_group_close(group, patience(), false, NULL, NULL) == WP_OK, "the close");
	for (int kind = 0; kind < 3; kind++)
		for (int at = 0; at < THREADS; at++) {
			uint64_t found = read_all(kinds[kind], names[at]);

			check(found == (kinds[kind] == WP_TRACE_RUN ? 2 : 1), "its events");
			if (found != 0 && kind == 0)
				numbers[at] = events[0].task;
			check(found != 0 && events[0].task == numbers[at], "its number");
			for (int other = 0; other < at; other++)
				check(numbers[other] != numbers[at], "a number of its own");
		}
	wp_group_free(group);
}

static wp_mutex mutex;
static wp_condition condition;
static wp_semaphore semaphore;
static wp_channel channel;
static wp_latch latch;
static wp_io *ends[2], *server, *client;
static struct sockaddr_in address;
static void *slots[1];

static int waits_for_all(void *arg)
{
	wp_vthread_config config = {.name = "other", .run = sleeps, .carrier = WP_VTHREAD_HERE};
	void *item;
	size_t done;
	char byte;
	int fd;

	check(wp_vthread_park_until(in_ms(1)) == WP_TIMEOUT, "a park");
	check(wp_vthread_sleep_until(in_ms(1)) == WP_OK, "a sleep");
	join(start_as(&config), "a join");
	wp_mutex_lock(&mutex);
	check(wp_condition_wait_until(&condition, &mutex, patience()) == WP_OK, "a signal");
	wp_mutex_unlock(&mutex);
	check(wp_semaphore_acquire_until(&semaphore, 2, patience()) == WP_OK, "permits");
	check(wp_channel_receive_until(&channel, &item, patience()) == WP_OK, "an item");
	wp_channel_send_until(&channel, &fd, patience());
	check(wp_channel_send_until(&channel, &fd, patience()) == WP_OK, "a slot");
	check(wp_latch_wait_until(&latch, patience()) == WP_OK, "a latch");
	check(wp_io_read(ends[0], &byte, 1, patience(), &done) == WP_OK, "a byte");
	check(wp_io_accept(server, patience(), &fd) == WP_OK, "a connection");
	close(fd);
	return 0;
}

/* Waits until it has waited so often, and waits again. */
static void await_waits(wp_vthread *thread, uint64_t waited)
{
	int64_t until_ns = patience();

	while (read_all(WP_TRACE_WAIT, "waiter") != waited ||
	       (wp__vthread_look(thread) & WP_VTHREAD_STATE) != WP_TASK_PARKED) {
		if (wp_clock_ns() > until_ns)
			lost("a wait");
		wp_yield();
	}
}

static int connects(void *arg)
{
	client = take(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
	return wp_io_connect(client, (struct sockaddr *)&address, sizeof(address), patience());
}

CASE(reasons)
{
	static const struct {
		uint32_t why, on, ended;
	} expected[] = {
		{WP_WAIT_PARK, 0, 1},    {WP_WAIT_SLEEP, 0, 1},     {WP_WAIT_JOIN, 0, 0},
		{WP_WAIT_MUTEX, 0, 0},   {WP_WAIT_CONDITION, 0, 0}, {WP_WAIT_SEMAPHORE, 2, 0},
		{WP_WAIT_RECEIVE, 0, 0}, {WP_WAIT_SEND, 0, 0},      {WP_WAIT_LATCH, 0, 0},
		{WP_WAIT_READ, 1, 0},    {WP_WAIT_ACCEPT, 2, 0}};
	enum { KINDS = sizeof(expected) / sizeof(*expected) };
	wp_vthread_config config = {.name = "waiter", .run = waits_for_all};
	wp_vthread *thread;
	uint64_t found;
	size_t done;
	void *item;

	open_traced(1, 4096);
	check(wp_io_start(group, 0) == WP_OK, "the pollers");
	pair_of(ends);
	server = listen_at(&address, 4);
	wp_mutex_init(&mutex);
	wp_condition_init(&condition);
	wp_semaphore_init(&semaphore, 0);
	wp_channel_init(&channel, slots, 1);
	wp_latch_init(&latch);
	wp_mutex_lock(&mutex);
	thread = start_as(&config);
	await_waits(thread, 3);
	wp_mutex_unlock(&mutex);
	await_waits(thread, 4);
	wp_mutex_lock(&mutex);
	wp_condition_signal(&condition);
	wp_mutex_unlock(&mutex);
	await_waits(thread, 5);
	wp_semaphore_release(&semaphore, 2);
	await_waits(thread, 6);
	wp_channel_send_until(&channel, &item, patience());
	await_waits(thread, 7);
	wp_channel_receive_until(&channel, &item, patience());
	await_waits(thread, 8);
	wp_latch_open(&latch);
	await_waits(thread, 9);
	wp_io_write(ends[1], "x", 1, patience(), &done);
	await_waits(thread, 10);
	join(start(connects, NULL), "who connects");
	join(thread, "who waits");
	found = read_all(WP_TRACE_WAIT, "waiter");
	check(found == KINDS, "as many waits");
	for (uint64_t at = 0; at < found && at < KINDS; at++) {
		uint32_t on = expected[at].on;

		if (expected[at].why == WP_WAIT_READ)
			on = (uint32_t)ends[0]->fd;
		if (expected[at].why == WP_WAIT_ACCEPT)
			on = (uint32_t)server->fd;
		check(events[at].a == expected[at].why, "a reason");
		check(events[at].b == on, "what it waited for");
		check(events[at].c == expected[at].ended, "its end");
		check(events[at].duration_ns > 0, "how long");
	}
	wp_io_free(ends[0]);
	wp_io_free(ends[1]);
	wp_io_free(server);
	wp_io_free(client);
	close_group();
}

static wp_atomic(uint32_t) is_over;

static int busy(void *arg)
{
	while (wp_load_relaxed(&is_over) == 0) {
		wp_vthread_yield();
		wp_vthread_sleep_until(wp_clock_ns() + 1000);
	}
	return 0;
}

CASE(switch)
{
	wp_vthread *threads[BUSY];

	open_traced(2, 0);
	check(wp_group_tracing(group) == 0 && wp_group_traced(group) == 0, "that it is off");
	for (int at = 0; at < BUSY; at++)
		threads[at] = start(busy, NULL);
	for (int turn = 0; turn < TURNS; turn++) {
		check(wp_group_trace_on(group, 1u << (turn % 13)) == WP_OK, "the switch");
		check(wp_group_tracing(group) != 0, "that it is on");
		for (uint64_t at = 0, found = read_all(WP_TRACE_RUN, NULL); at < found; at++)
			check(events[at].begin_ns > 0 && strcmp(events[at].name, "one") == 0,
			      "whose event it is");
		if (turn % 3 == 0)
			wp_group_trace_off(group);
	}
	check(wp_group_trace_on(group, 3) == WP_MISUSED, "a power of two");
	check(wp_group_trace_on(group, 0) == WP_OK && wp_group_tracing(group) == 4096,
	      "as many as before");
	while (read_all(WP_TRACE_WAIT, NULL) == 0)
		wp_yield();
	wp_group_trace_off(group);
	check(wp_group_tracing(group) == 0 && wp_group_traced(group) == 4096,
	      "that it is off again");
	wp_store_relaxed(&is_over, 1);
	join_all(threads, BUSY, "who is busy");
	close_group();
}
