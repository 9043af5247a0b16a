/* SPDX-License-Identifier: Apache-2.0
 * driver_uring.c CASE - the calls of liburing, and their times. Link with -Wl,--wrap= of
 * aligned_alloc, free, io_uring_queue_exit, io_uring_queue_init and io_uring_submit. Prints what is
 * lost. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "io/file.h"
#include "descriptor_case.h"
#include "../case_main.h"
#include "io/file_queue.h"

enum { MANY_REFUSED = 1000 };

struct io_uring;

static wp_atomic(uint32_t) refusals, is_accepted, ended;
static _Thread_local const void *freed; /* the last one */

void __real_free(void *memory);
void __wrap_free(void *memory);
void __wrap_free(void *memory)
{
	freed = memory;
	__real_free(memory);
}

void __real_io_uring_queue_exit(struct io_uring *ring);
void __wrap_io_uring_queue_exit(struct io_uring *ring);
void __wrap_io_uring_queue_exit(struct io_uring *ring)
{
	if (freed == (void *)ring)
		lost("the memory of a ring that is to end");
	wp_fetch_add_relaxed(&ended, 1);
	__real_io_uring_queue_exit(ring);
}

int __real_io_uring_submit(struct io_uring *ring);
int __wrap_io_uring_submit(struct io_uring *ring);
int __wrap_io_uring_submit(struct io_uring *ring)
{
	if (wp_load_acquire(&is_accepted) != 0)
		return __real_io_uring_submit(ring);
	if (wp_fetch_add_release(&refusals, 1) == MANY_REFUSED)
		lost("who is to run while the system has no room");
	return -EAGAIN;
}

static int opens(void *arg)
{
	int fd, code = wp_file_open("/dev/null", O_RDONLY, 0, patience(), &fd);

	if (code == WP_OK)
		close(fd);
	return arg == NULL ? code : 1;
}

/* Runs again and again, on the carrier of the asking thread, until the system has refused once. */
static int lets_in(void *arg)
{
	while (wp_load_acquire(&refusals) == 0)
		wp_vthread_yield();
	wp_store_release(&is_accepted, 1);
	return arg != NULL;
}

/* The system has no room for the request. The other threads of that carrier run, and the request is
 * repeated. */
CASE(full)
{
	wp_vthread *other;

	open_io(1, false);
	other = start(lets_in, NULL);
	check(join(start(opens, NULL), "who opens") == WP_OK, "what was asked again");
	join(other, "who runs meanwhile");
	close_group();
}

/* A ring is ended before its memory is given back. */
CASE(ended)
{
	wp_store_relaxed(&is_accepted, 1);
	open_io(2, false);
	join(start(opens, NULL), "who opens");
	close_group();
	check(wp_load_relaxed(&ended) == 2, "the end of each ring");
}

static int rings_left = -1; /* until one is refused; negative: none is */
static int rooms_left = -1; /* the same for its memory */

int __real_io_uring_queue_init(unsigned entries, struct io_uring *ring, unsigned flags);
int __wrap_io_uring_queue_init(unsigned entries, struct io_uring *ring, unsigned flags);
int __wrap_io_uring_queue_init(unsigned entries, struct io_uring *ring, unsigned flags)
{
	return refuses_one(&rings_left) ? -ENOMEM
					: __real_io_uring_queue_init(entries, ring, flags);
}

void *__real_aligned_alloc(size_t line, size_t bytes);
void *__wrap_aligned_alloc(size_t line, size_t bytes);
void *__wrap_aligned_alloc(size_t line, size_t bytes)
{
	bool is_ring = bytes == (sizeof(wp_file_queue) + WP_LINE - 1) / WP_LINE * WP_LINE;

	return is_ring && refuses_one(&rooms_left) ? NULL : __real_aligned_alloc(line, bytes);
}

/* One carrier of two has no ring, because it got no memory; file calls report that. */
CASE(lacks)
{
	int *const lefts[] = {&rings_left, &rooms_left};

	for (int which = 0; which < 2; which++)
		for (int carrier = 0; carrier < 2; carrier++) {
			const char *lacks;

			open_group(2, false, 0);
			*lefts[which] = carrier;
			check(wp_io_start(group, 0) == WP_OK, "the pollers");
			check(*lefts[which] < 0, "a ring that is refused");
			*lefts[which] = -1;
			lacks = wp_file_lacks(group);
			check(lacks != NULL &&
				      strcmp(lacks, "the system had no memory for io_uring") == 0,
			      "what files lack");
			close_group();
		}
	open_io(2, false);
	check(wp_file_lacks(group) == NULL, "that they lack nothing");
	close_group();
}
