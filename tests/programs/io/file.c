/* SPDX-License-Identifier: Apache-2.0
 * file.c CASE - virtual threads that read and write files, and the ways in which that ends. Prints
 * what is lost. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "io/file.h"
#include "descriptor_case.h"
#include "../case_main.h"
#include "io/descriptor_poller.h"

enum { BLOCK = 4096, BLOCKS = 64, THREADS = 8 };

static int open_file(const char *name, int flags)
{
	const char *folder = getenv("FOLDER") != NULL ? getenv("FOLDER") : ".";
	char path[512];
	int fd = -1;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	if (wp_file_open(path, flags, 0600, patience(), &fd) != WP_OK)
		lost(name);
	return fd;
}

static void fill(char *block, uint32_t seed)
{
	for (uint32_t at = 0; at < BLOCK; at++)
		block[at] = (char)(seed + at * 7);
}

static void write_block(int fd, uint32_t number, int64_t place)
{
	char block[BLOCK];
	size_t done;

	fill(block, number);
	check(wp_file_write(fd, block, BLOCK, place, patience(), &done) == WP_OK && done == BLOCK,
	      "a write");
}

static void read_block(int fd, uint32_t number, int64_t place)
{
	char block[BLOCK], wanted[BLOCK];
	size_t done = 0, all = 0;

	fill(wanted, number);
	do {
		check(wp_file_read(fd, block + all, BLOCK - all,
				   place < 0 ? place : place + (int64_t)all, patience(),
				   &done) == WP_OK &&
			      done != 0,
		      "a read");
		all += done;
	} while (all < BLOCK);
	check(memcmp(block, wanted, BLOCK) == 0, "what was written");
}

/* Each writes its own blocks of a shared file, by position, and then a file of its own, in
 * order. */
static wp_atomic(uint32_t) numbers;

static int reads_and_writes(void *arg)
{
	uint32_t number = wp_fetch_add_relaxed(&numbers, 1);
	int fd = open_file("shared", O_RDWR | O_CREAT), own;
	char name[32];
	size_t done;

	for (uint32_t at = number; at < BLOCKS; at += THREADS)
		write_block(fd, at, (int64_t)at * BLOCK);
	check(wp_file_sync(fd, number % 2 == 0, patience()) == WP_OK, "a sync");
	for (uint32_t at = number; at < BLOCKS; at += THREADS)
		read_block(fd, at, (int64_t)at * BLOCK);
	close(fd);
	snprintf(name, sizeof(name), "own-%u", number);
	own = open_file(name, O_RDWR | O_CREAT | O_TRUNC);
	for (uint32_t at = 0; at < 4; at++)
		write_block(own, at, WP_FILE_HERE);
	lseek(own, 0, SEEK_SET);
	for (uint32_t at = 0; at < 4; at++)
		read_block(own, at, WP_FILE_HERE);
	check(wp_file_read(own, &(char[1]){0}, 1, WP_FILE_HERE, patience(), &done) == WP_OK &&
		      done == 0,
	      "the end of a file");
	close(own);
	return 0;
}

static void all_of(uint32_t carriers, bool stealing)
{
	wp_vthread *threads[THREADS];

	open_io(carriers, stealing);
	wp_store_relaxed(&numbers, 0);
	for (int at = 0; at < THREADS; at++)
		threads[at] = start(reads_and_writes, NULL);
	join_all(threads, THREADS, "who reads and writes");
	close_group();
}

CASE(files)
{
	all_of(1, false);
	all_of(2, false);
	all_of(2, true);
}

/* A spare carries on while a thread sleeps pinned. The ring then has another thread, and later the
 * first one again. */
static int sleeps_pinned(void *arg)
{
	wp_vthread_pin();
	wp_store_release(&ready, 1);
	check(wp_vthread_park_until(patience()) == WP_OK, "who is pinned");
	wp_vthread_unpin();
	return 0;
}

CASE(lent)
{
	wp_vthread *sleeper;

	open_as((wp_group_config){.carriers = 1, .spares = 1});
	check(wp_io_start(group, 0) == WP_OK, "the pollers");
	wp_store_relaxed(&numbers, 0);
	join(start(reads_and_writes, NULL), "who is there before");
	sleeper = start(sleeps_pinned, NULL);
	await(&ready, 1);
	for (int at = 0; at < 4; at++)
		join(start(reads_and_writes, NULL), "who runs on a spare");
	wp_vthread_unpark(sleeper);
	join(sleeper, "who was pinned");
	join(start(reads_and_writes, NULL), "who is there after");
	close_group();
}

/* A pinned thread blocks its carrier; an OS thread blocks itself. */
static int pinned(void *arg)
{
	wp_vthread_pin();
	reads_and_writes(arg);
	wp_vthread_unpin();
	return 0;
}

CASE(direct)
{
	open_io(1, false);
	wp_store_relaxed(&numbers, 0);
	join(start(pinned, NULL), "who is pinned");
	reads_and_writes(NULL);
	close_group();
}

/* A stolen thread asks at its home. */
static int asks_from_there(void *arg)
{
	bool was_away = wp_group_running(group) != wp_group_home(group);
	int fd;

	wp_store_release(&over, 1);
	fd = open_file("stolen", O_RDWR | O_CREAT);
	write_block(fd, 3, 0);
	read_block(fd, 3, 0);
	close(fd);
	return was_away;
}

CASE(stolen)
{
	int64_t until_ns = patience();
	int stolen = 0;

	open_io(2, true);
	for (int turn = 0; turn < 30 || (stolen == 0 && wp_clock_ns() < until_ns); turn++) {
		wp_vthread_config config = {.run = waits_for_it, .name = "long"};
		wp_vthread *first, *second;

		wp_store_release(&over, 0);
		first = start_as(&config);
		config.run = asks_from_there;
		second = start_as(&config);
		stolen += join(second, "who is behind a long one");
		join(first, "a long one");
	}
	check(stolen > 0, "that one was stolen");
	check(wp__count_read(&wp__io_poller_of(wp__group_home(group, 1))->files->begun) == 0,
	      "that it asks at home");
	close_group();
}

static int wants_missing(void *arg)
{
	size_t done;
	int fd;

	check(wp_file_open("/nowhere/at/all", O_RDONLY, 0, patience(), &fd) == WP_SYSTEM &&
		      errno == ENOENT && fd == -1,
	      "a file that is not there");
	check(wp_file_read(-1, &(char[1]){0}, 1, 0, patience(), &done) == WP_SYSTEM &&
		      errno == EBADF && done == 0,
	      "what is no descriptor");
	return 0;
}

CASE(refused)
{
	open_io(1, false);
	check(wp_file_lacks(group) == NULL, "io_uring");
	join(start(wants_missing, NULL), "who opens");
	wants_missing(NULL);
	close_group();
}

/* There is no io_uring, for one reason or another: one warning, and sockets work as before. */
static int is_unsupported(void *arg)
{
	int fd, code = wp_file_open("/dev/null", O_RDONLY, 0, patience(), &fd);

	return code == WP_UNSUPPORTED ? 0 : 1;
}

static int talks(void *arg)
{
	talk(arg);
	return 0;
}

/* Its output goes to `told` meanwhile. */
static void refused_thrice(FILE *told)
{
	int out = dup(STDERR_FILENO);

	check(dup2(fileno(told), STDERR_FILENO) >= 0, "what is said");
	for (int turn = 0; turn < 3; turn++)
		check(join(start(is_unsupported, NULL), "who opens") == 0, "that it is refused");
	check(dup2(out, STDERR_FILENO) >= 0, "who is told");
	close(out);
}

CASE(lacking)
{
	FILE *told = tmpfile();
	char line[256];
	int lines = 0;
	wp_io *ends[2];
	wp_vthread *echo;

	if (told == NULL)
		lost("a file");
	open_io(2, false);
	check(wp_file_lacks(group) != NULL, "that there is no io_uring");
	refused_thrice(told);
	for (rewind(told); fgets(line, sizeof(line), told) != NULL; lines++)
		fputs(line, stderr);
	fclose(told);
	check(lines == 1, "one warning, or it is said again");
	pair_of(ends);
	echo = start(echoes, ends[0]);
	join(start(talks, ends[1]), "who talks");
	join(echo, "who answers");
	close_group();
}

/* As in many containers. */
CASE(forbidden)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = {sizeof(code) / sizeof(*code), code};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
		lost("a filter of system calls");
	case_lacking();
}
