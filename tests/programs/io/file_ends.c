/* SPDX-License-Identifier: Apache-2.0
 * file_ends.c CASE - calls of a ring that take until they are ended: reads of a pipe. Prints what
 * is lost. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <unistd.h>

#include "io/file.h"
#include "io/descriptor_poller.h"
#include "descriptor_case.h"
#include "../case_main.h"
#include "sched/worker.h"

enum { CROWD = 1000 };

static int pipe_ends[2];

/* A thread that has returned owns its memory again. */
static __attribute__((noinline)) void scribble(void)
{
	volatile char bytes[2048];

	for (size_t at = 0; at < sizeof(bytes); at++)
		bytes[at] = -1;
}

static int reads_pipe(void *arg)
{
	size_t done;
	char byte;
	int64_t deadline_ns = arg == NULL ? patience() : *(int64_t *)arg;
	int code = wp_file_read(pipe_ends[0], &byte, 1, WP_FILE_HERE, deadline_ns, &done);

	scribble();
	check(code != WP_OK || (done == 1 && byte == 'x'), "what came through a pipe");
	return code;
}

static int writes_pipe(void *arg)
{
	size_t done;

	return wp_file_write(pipe_ends[1], "x", 1, WP_FILE_HERE, patience(), &done);
}

static void open_pipe(void)
{
	if (pipe2(pipe_ends, O_CLOEXEC) != 0)
		lost("a pipe");
}

static void close_pipe(void)
{
	close(pipe_ends[0]);
	close(pipe_ends[1]);
}

/* While one thread waits for the system, the others of its carrier run. */
CASE(others_run)
{
	wp_vthread *reader;

	open_io(1, false);
	open_pipe();
	reader = start(reads_pipe, NULL);
	check(join(start(writes_pipe, NULL), "who writes") == WP_OK, "a write");
	check(join(reader, "who reads") == WP_OK, "a read");
	close_pipe();
	close_group();
}

static wp_file_queue *files_of(uint32_t carrier)
{
	return wp__io_poller_of(wp__group_home(group, carrier))->files;
}

/* Waits until its system was given this many calls. */
static void await_begun(uint32_t carrier, uint64_t least)
{
	AWAIT(wp__count_read(&files_of(carrier)->begun) >= least, "what is asked");
}

/* A deadline, and an interrupt, end a call that would take for ever; the next call works. */
CASE(ends)
{
	int64_t soon_ns;
	wp_vthread *reader;
	uint64_t before;

	open_io(1, false);
	open_pipe();
	soon_ns = in_ms(10);
	check(join(start(reads_pipe, &soon_ns), "a deadline") == WP_TIMEOUT, "a deadline");
	soon_ns = 0;
	check(join(start(reads_pipe, &soon_ns), "no time") == WP_TIMEOUT, "no time at all");
	before = wp__count_read(&files_of(0)->begun);
	reader = start(reads_pipe, NULL);
	await_begun(0, before + 1);
	wp_vthread_interrupt(reader);
	check(join(reader, "an interrupt") == WP_INTERRUPTED, "an interrupt");
	reader = start(reads_pipe, NULL);
	check(join(start(writes_pipe, NULL), "who writes") == WP_OK, "a write");
	check(join(reader, "a read after these") == WP_OK, "a read after these");
	close_pipe();
	close_group();
}

/* More calls than the ring has room for, and all end at once. */
CASE(crowd)
{
	static wp_vthread *readers[CROWD];
	static char bytes[CROWD];

	open_io(1, false);
	open_pipe();
	memset(bytes, 'x', sizeof(bytes));
	for (int at = 0; at < CROWD; at++)
		readers[at] = start(reads_pipe, NULL);
	await_begun(0, CROWD);
	check(write(pipe_ends[1], bytes, sizeof(bytes)) == CROWD, "a write");
	for (int at = 0; at < CROWD; at++)
		check(join(readers[at], "one of a crowd") == WP_OK, "a read");
	close_pipe();
	close_group();
}

/* The group is closed while the system has reads into memory that is then freed. */
CASE(closed)
{
	open_io(2, false);
	open_pipe();
	for (int at = 0; at < 4; at++)
		wp_vthread_free(start(reads_pipe, NULL));
	await_begun(0, 2);
	await_begun(1, 2);
	check(wp_group_close(group, 0, true, NULL, NULL) == WP_OK, "a close");
	for (uint32_t at = 0; at < 2; at++)
		check(files_of(at)->inside == 0, "that the system has nothing");
	wp_group_free(group);
	check(write(pipe_ends[1], "x", 1) == 1 && read(pipe_ends[0], &(char[1]){0}, 1) == 1,
	      "that nobody reads any more");
	close_pipe();
}
