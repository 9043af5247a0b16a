/* SPDX-License-Identifier: Apache-2.0
 * every_call.c CASE [FIRST STEP [table]] - of the calls that a running kernel makes to the system
 * and for memory, one fails: the call FIRST, then FIRST + STEP, and so on, in a process each. Prints
 * what is lost; with `table`, what became of each failure. Link with -Wl,--wrap= of each call.
 *
 * Why it works  Only calls of the kernel are wrapped: those inside the C library and of this program
 *               are not. A call fails in a way in which the system lets it fail: a futex wait
 *               returns early, and a wake does not fail at all. A process whose call fails may end
 *               with everything done, or with an error that a public function has returned. It may
 *               not lose a task, a message, a descriptor, a thread or memory; not hang; not crash. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <stdarg.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/timerfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef WP_URING
#include <liburing.h>
#endif

#include "io/descriptor.h"
#include "io/file.h"
#include "pool/pool.h"
#include "sync/channel.h"
#include "sync/mutex.h"
#include "../vthreads_case.h"

enum { THREADS = 12, ROUNDS = 3, BYTES = 512, JOBS = 20, UNSEEN = 3, LIMIT_S = 60 };
enum { IS_WHOLE = 0, IS_LOST = 1, IS_SAID = 3 };

/* What a process says to the one that has started it. */
static struct told {
	char call[32];
	uint64_t calls;
} *told;

static uint64_t fails_at;
static wp_atomic(uint64_t) calls;
static wp_atomic(int64_t) live, opened;
static wp_atomic(uint32_t) said;
static bool is_event[1024];

static bool refuses(const char *call, int error)
{
	if (wp_fetch_add_relaxed(&calls, 1) != fails_at)
		return false;
	snprintf(told->call, sizeof(told->call), "%s", call);
	errno = error;
	return true;
}

#define WRAPPED(result_, name_, error_, failed_, parameters_, arguments_) \
	result_ __real_##name_ parameters_;                               \
	result_ __wrap_##name_ parameters_;                               \
	result_ __wrap_##name_ parameters_                                \
	{                                                                 \
		if (refuses(#name_, error_))                              \
			return failed_;                                   \
		return __real_##name_ arguments_;                         \
	}

WRAPPED(int, mprotect, ENOMEM, -1, (void *at, size_t bytes, int what), (at, bytes, what))
WRAPPED(int, madvise, ENOMEM, -1, (void *at, size_t bytes, int what), (at, bytes, what))
WRAPPED(int, mincore, EAGAIN, -1, (void *at, size_t bytes, unsigned char *in), (at, bytes, in))
WRAPPED(int, pthread_create, EAGAIN, EAGAIN,
	(pthread_t * thread, const pthread_attr_t *how, void *(*run)(void *), void *arg),
	(thread, how, run, arg))
WRAPPED(int, pthread_attr_init, ENOMEM, ENOMEM, (pthread_attr_t * how), (how))
WRAPPED(int, sched_setaffinity, EINVAL, -1, (pid_t thread, size_t bytes, const cpu_set_t *set),
	(thread, bytes, set))
WRAPPED(int, sched_getaffinity, EINVAL, -1, (pid_t thread, size_t bytes, cpu_set_t *set),
	(thread, bytes, set))
WRAPPED(int, sigaltstack, ENOMEM, -1, (const stack_t *new, stack_t *old), (new, old))
WRAPPED(int, epoll_wait, EINTR, -1, (int set, struct epoll_event *events, int most, int left),
	(set, events, most, left))
WRAPPED(int, epoll_pwait2, EINTR, -1,
	(int set, struct epoll_event *events, int most, const struct timespec *left,
	 const sigset_t *mask),
	(set, events, most, left, mask))
WRAPPED(int, timerfd_settime, EPERM, -1,
	(int fd, int how, const struct itimerspec *new, struct itimerspec *old),
	(fd, how, new, old))
WRAPPED(ssize_t, send, ECONNRESET, -1, (int fd, const void *bytes, size_t size, int how),
	(fd, bytes, size, how))
WRAPPED(ssize_t, pread, EIO, -1, (int fd, void *bytes, size_t size, off_t at),
	(fd, bytes, size, at))
WRAPPED(ssize_t, pwrite, ENOSPC, -1, (int fd, const void *bytes, size_t size, off_t at),
	(fd, bytes, size, at))
WRAPPED(int, fsync, EIO, -1, (int fd), (fd))
WRAPPED(int, fdatasync, EIO, -1, (int fd), (fd))

#ifdef WP_URING
WRAPPED(int, io_uring_queue_init, ENOMEM, -ENOMEM,
	(unsigned int many, struct io_uring *ring, unsigned int flags), (many, ring, flags))
WRAPPED(int, io_uring_register_eventfd, ENOMEM, -ENOMEM, (struct io_uring * ring, int fd),
	(ring, fd))
WRAPPED(int, io_uring_submit, EAGAIN, -EAGAIN, (struct io_uring * ring), (ring))
WRAPPED(int, io_uring_submit_and_wait, EINTR, -EINTR, (struct io_uring * ring, unsigned int least),
	(ring, least))
WRAPPED(int, io_uring_get_events, EINTR, -EINTR, (struct io_uring * ring), (ring))
#endif

/* Only what adds a descriptor needs memory. */
int __real_epoll_ctl(int, int, int, struct epoll_event *);
int __wrap_epoll_ctl(int, int, int, struct epoll_event *);
int __wrap_epoll_ctl(int set, int what, int fd, struct epoll_event *event)
{
	if (what == EPOLL_CTL_ADD && refuses("epoll_ctl add", ENOMEM))
		return -1;
	return __real_epoll_ctl(set, what, fd, event);
}

/* Calls that open a descriptor. */
static int counted_fd(int fd)
{
	if (fd >= 0)
		wp_fetch_add_relaxed(&opened, 1);
	return fd;
}

int __real_eventfd(unsigned int, int);
int __wrap_eventfd(unsigned int, int);
int __wrap_eventfd(unsigned int value, int flags)
{
	int fd;

	if (refuses("eventfd", EMFILE))
		return -1;
	fd = counted_fd(__real_eventfd(value, flags));
	if (fd >= 0)
		is_event[fd] = true;
	return fd;
}

int __real_epoll_create1(int);
int __wrap_epoll_create1(int);
int __wrap_epoll_create1(int flags)
{
	return refuses("epoll_create1", EMFILE) ? -1 : counted_fd(__real_epoll_create1(flags));
}

int __real_timerfd_create(int, int);
int __wrap_timerfd_create(int, int);
int __wrap_timerfd_create(int clock, int flags)
{
	return refuses("timerfd_create", EMFILE) ? -1
						 : counted_fd(__real_timerfd_create(clock, flags));
}

int __real_open(const char *, int, ...);
int __wrap_open(const char *, int, ...);
int __wrap_open(const char *path, int flags, ...)
{
	va_list more;
	int mode;

	va_start(more, flags);
	mode = flags & O_CREAT ? va_arg(more, int) : 0;
	va_end(more);
	return refuses("open", EMFILE) ? -1 : counted_fd(__real_open(path, flags, mode));
}

/* A close that fails has closed the descriptor. */
int __real_close(int);
int __wrap_close(int);
int __wrap_close(int fd)
{
	int code;

	wp_fetch_add_relaxed(&opened, -1);
	is_event[fd] = false;
	code = __real_close(fd);
	return refuses("close", EIO) ? -1 : code;
}

/* An eventfd cannot be unreadable or unwritable for another reason than its value. */
ssize_t __real_read(int, void *, size_t);
ssize_t __wrap_read(int, void *, size_t);
ssize_t __wrap_read(int fd, void *bytes, size_t size)
{
	if (!is_event[fd] && refuses("read", EIO))
		return -1;
	return __real_read(fd, bytes, size);
}

ssize_t __real_write(int, const void *, size_t);
ssize_t __wrap_write(int, const void *, size_t);
ssize_t __wrap_write(int fd, const void *bytes, size_t size)
{
	if (!is_event[fd] && refuses("write", EIO))
		return -1;
	return __real_write(fd, bytes, size);
}

/* Memory: what is mapped and not given back is counted as well. */
void *__real_mmap(void *, size_t, int, int, int, off_t);
void *__wrap_mmap(void *, size_t, int, int, int, off_t);
void *__wrap_mmap(void *at, size_t bytes, int what, int how, int fd, off_t from)
{
	if (refuses("mmap", ENOMEM))
		return MAP_FAILED;
	return __real_mmap(at, bytes, what, how, fd, from);
}

static void *counted(void *memory)
{
	if (memory != NULL)
		wp_fetch_add_relaxed(&live, 1);
	return memory;
}

void *__real_malloc(size_t);
void *__wrap_malloc(size_t);
void *__wrap_malloc(size_t bytes)
{
	return refuses("malloc", ENOMEM) ? NULL : counted(__real_malloc(bytes));
}

void *__real_calloc(size_t, size_t);
void *__wrap_calloc(size_t, size_t);
void *__wrap_calloc(size_t many, size_t bytes)
{
	return refuses("calloc", ENOMEM) ? NULL : counted(__real_calloc(many, bytes));
}

void *__real_aligned_alloc(size_t, size_t);
void *__wrap_aligned_alloc(size_t, size_t);
void *__wrap_aligned_alloc(size_t line, size_t bytes)
{
	return refuses("aligned_alloc", ENOMEM) ? NULL : counted(__real_aligned_alloc(line, bytes));
}

void *__real_realloc(void *, size_t);
void *__wrap_realloc(void *, size_t);
void *__wrap_realloc(void *memory, size_t bytes)
{
	if (refuses("realloc", ENOMEM))
		return NULL;
	return memory == NULL ? counted(__real_realloc(NULL, bytes))
			      : __real_realloc(memory, bytes);
}

void __real_free(void *);
void __wrap_free(void *);
void __wrap_free(void *memory)
{
	if (memory != NULL)
		wp_fetch_add_relaxed(&live, -1);
	__real_free(memory);
}

long __real_syscall(long, ...);
long __wrap_syscall(long, ...);
long __wrap_syscall(long number, ...)
{
	long with[6];
	va_list more;

	va_start(more, number);
	for (int at = 0; at < 6; at++)
		with[at] = va_arg(more, long);
	va_end(more);
	if (number == SYS_futex && (with[1] & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET &&
	    refuses("futex wait", EINTR))
		return -1;
	if (number == SYS_membarrier && with[0] != MEMBARRIER_CMD_PRIVATE_EXPEDITED &&
	    refuses("membarrier", ENOSYS))
		return -1;
	if (number == SYS_getrandom && refuses("getrandom", EAGAIN))
		return -1;
	return __real_syscall(number, with[0], with[1], with[2], with[3], with[4], with[5]);
}

/* Returns true if the call is done. An error that it may return is noted. */
static bool done(int code, const char *what)
{
	if (code == WP_OK)
		return true;
	if (code != WP_SYSTEM && code != WP_UNSUPPORTED) {
		printf("lost %s: %s\n", what, wp_error_text(code));
		failures++;
	}
	wp_store_relaxed(&said, 1);
	return false;
}

/* A wait that returns early is repeated. */
#define AGAIN(code_, call_)    \
	do                     \
		code_ = call_; \
	while (code_ == WP_INTERRUPTED)

static bool opens(wp_group_config config)
{
	return done(wp_group_new(&group, &config), "a group");
}

static void closes(void)
{
	int code;

	AGAIN(code, wp_group_close(group, patience(), false, NULL, NULL));
	check(code == WP_OK, "the close");
	wp_group_free(group);
}

/* Returns NULL if the thread could not be made. */
static wp_vthread *begin(int (*run)(void *), void *arg)
{
	wp_vthread_config config = {
		.name = "one", .run = run, .arg = arg, .carrier = WP_VTHREAD_HERE};
	wp_vthread *thread = NULL;

	if (!done(wp_vthread_new(group, &config, &thread), "a thread"))
		return NULL;
	if (done(wp_vthread_start(thread), "a start"))
		return thread;
	wp_vthread_free(thread);
	return NULL;
}

static void end(wp_vthread *thread)
{
	int failure = -1, code;

	if (thread == NULL)
		return;
	AGAIN(code, wp_vthread_join(thread, patience(), &failure));
	if (code != WP_OK)
		lost("a thread");
	done(failure, "what a thread does");
	wp_vthread_free(thread);
}

static wp_mutex mutex;
static wp_channel channel;
static uint32_t held;
static wp_atomic(uint32_t) received;

static int works(void *arg)
{
	int code;

	for (int round = 0; round < ROUNDS; round++) {
		AGAIN(code, wp_mutex_lock_until(&mutex, patience()));
		check(code == WP_OK, "the mutex");
		held++;
		wp_vthread_yield();
		wp_mutex_unlock(&mutex);
		check(wp_vthread_sleep_until(in_ms(1) - MS / 2) == WP_OK, "a sleep");
		check(wp_channel_send_until(&channel, arg, patience()) == WP_OK, "a message");
	}
	return WP_OK;
}

static int takes(void *arg)
{
	void *item;
	int code;

	while ((code = wp_channel_receive_until(&channel, &item, patience())) == WP_OK)
		wp_fetch_add_relaxed(&received, 1);
	return code == WP_CLOSED ? WP_OK : code;
}

static void threads_of(wp_group_config config)
{
	wp_vthread *threads[THREADS], *taker;
	void *slots[2];
	uint32_t many = 0;

	if (!opens(config))
		return;
	wp_mutex_init(&mutex);
	wp_channel_init(&channel, slots, 2);
	taker = begin(takes, NULL);
	for (int at = 0; at < THREADS; at++) {
		threads[at] = taker == NULL ? NULL : begin(works, &mutex);
		many += threads[at] != NULL;
	}
	for (int at = 0; at < THREADS; at++)
		end(threads[at]);
	wp_channel_close(&channel);
	end(taker);
	check(held == many * ROUNDS && wp_load_relaxed(&received) == held, "messages");
	wp_channel_fini(&channel);
	closes();
}

CASE(threads)
{
	threads_of((wp_group_config){.carriers = 2});
}

CASE(whole)
{
	threads_of((wp_group_config){.carriers = 3,
				     .work_stealing = true,
				     .bounded = true,
				     .max_stacks = 64,
				     .spares = 2,
				     .trace_events = 16,
				     .placement = WP_PLACE_CLUSTER_TWO_CHOICES,
				     .place_at_resume = true,
				     .monitor_ms = 5,
				     .spare_carriers = 1});
}

static int writes(void *arg)
{
	char bytes[BYTES] = {1};
	size_t many;
	int code = WP_OK;

	for (int round = 0; round < ROUNDS && code == WP_OK; round++)
		code = wp_io_write(arg, bytes, BYTES, patience(), &many);
	wp_io_close(arg);
	return code;
}

/* The stream ends when the writer has closed it. */
static int reads(void *arg)
{
	char bytes[BYTES];
	size_t many, all = 0;
	int code;

	while ((code = wp_io_read(arg, bytes, BYTES, patience(), &many)) == WP_OK && many > 0)
		all += many;
	wp_io_close(arg);
	return code;
}

CASE(sockets)
{
	enum { PAIRS = 4 };
	wp_io *ends[2 * PAIRS] = {NULL};
	wp_vthread *threads[2 * PAIRS] = {NULL};
	int fds[2];

	if (!opens((wp_group_config){.carriers = 2, .work_stealing = true}))
		return;
	if (done(wp_io_start(group, 0), "the pollers"))
		for (int at = 0; at < PAIRS; at++) {
			if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0)
				lost("a pair of sockets");
			for (int side = 0; side < 2; side++)
				if (done(wp_io_new(group, fds[side], &ends[2 * at + side]),
					 "an io"))
					wp_fetch_add_relaxed(&opened, 1);
				else
					__real_close(fds[side]);
			for (int side = 0; side < 2; side++) {
				wp_io *io = ends[2 * at + side];

				if (io != NULL)
					threads[2 * at + side] = begin(side ? reads : writes, io);
				if (io != NULL && threads[2 * at + side] == NULL)
					wp_io_close(io);
			}
		}
	for (int at = 0; at < 2 * PAIRS; at++)
		end(threads[at]);
	for (int at = 0; at < 2 * PAIRS; at++)
		if (ends[at] != NULL)
			wp_io_free(ends[at]);
	closes();
}

static int files(void *arg)
{
	char bytes[BYTES] = {2}, again[BYTES];
	size_t many = 0;
	int fd = -1, code;

	code = wp_file_open(arg, O_RDWR | O_CREAT, 0600, patience(), &fd);
	if (code != WP_OK)
		return code;
	code = wp_file_write(fd, bytes, BYTES, 0, patience(), &many);
	if (code == WP_OK)
		code = wp_file_sync(fd, true, patience());
	if (code == WP_OK)
		code = wp_file_read(fd, again, BYTES, 0, patience(), &many);
	check(code != WP_OK || (many == BYTES && memcmp(bytes, again, BYTES) == 0), "a file");
	__real_close(fd);
	return code;
}

CASE(files)
{
	enum { FILES = 4 };
	wp_vthread *threads[FILES] = {NULL};
	char names[FILES][32];

	if (!opens((wp_group_config){.carriers = 2}))
		return;
	if (done(wp_io_start(group, 0), "the pollers"))
		for (int at = 0; at < FILES; at++) {
			snprintf(names[at], sizeof(names[at]), "file %d", at);
			threads[at] = begin(files, names[at]);
		}
	for (int at = 0; at < FILES; at++)
		end(threads[at]);
	closes();
	wp_store_relaxed(&opened, 0); /* a ring opens a file without the C library */
}

static void runs(void *arg)
{
	wp_fetch_add_relaxed(&received, 1);
}

CASE(pool)
{
	wp_pool_config config;
	wp_pool *pool = NULL;
	uint32_t accepted = 0;
	int code;

	wp_pool_config_init(&config);
	config.min = 1;
	config.max = 4;
	if (!done(wp_pool_new(&config, &pool), "a pool"))
		return;
	for (int at = 0; at < JOBS; at++)
		accepted += done(wp_pool_execute(pool, &(wp_job){runs, runs, NULL}), "a job");
	wp_pool_close(pool);
	AGAIN(code, wp_pool_wait(pool, patience()));
	check(code == WP_OK && wp_load_relaxed(&received) == accepted, "jobs");
	wp_pool_free(pool);
}

static uint32_t threads_now(void)
{
	DIR *folder = opendir("/proc/self/task");
	uint32_t many = 0;

	while (readdir(folder) != NULL)
		many++;
	closedir(folder);
	return many - 2;
}

static void run_one(const one_case *one, uint64_t at)
{
	fails_at = at;
	alarm(LIMIT_S + 10);
	one->run();
	told->calls = wp_load_relaxed(&calls);
	check(wp_load_relaxed(&live) == 0, "what it had allocated");
	check(wp_load_relaxed(&opened) == 0, "descriptors");
	AWAIT(threads_now() == 1, "the end of each thread");
	fflush(stdout);
	_exit(failures != 0 ? IS_LOST : wp_load_relaxed(&said) ? IS_SAID : IS_WHOLE);
}

/* Returns how the process ended, in a word. */
static const char *become(int status)
{
	if (WIFSIGNALED(status))
		return WTERMSIG(status) == SIGALRM ? "hung" : "crashed";
	return WEXITSTATUS(status) == IS_WHOLE  ? "whole"
	       : WEXITSTATUS(status) == IS_SAID ? "said"
						: "lost";
}

static int each_call(const one_case *one, uint64_t first, uint64_t step, bool table)
{
	int unseen = 0, bad = 0, status;

	for (uint64_t at = first; unseen < UNSEEN; at += step) {
		const char *how;
		pid_t child;

		told->call[0] = '\0';
		fflush(stdout);
		child = fork();
		if (child == 0)
			run_one(one, at);
		if (child < 0 || waitpid(child, &status, 0) != child)
			lost("a process");
		how = become(status);
		unseen = told->call[0] == '\0' ? unseen + 1 : 0;
		if (table && unseen == 0)
			printf("%s\t%s\t%s\n", one->name, told->call, how);
		if (strcmp(how, "whole") != 0 && (strcmp(how, "said") != 0 || unseen != 0)) {
			printf("lost: %s, call %llu (%s): %s, status %d\n", one->name,
			       (unsigned long long)at, told->call, how, status);
			bad = 1;
		}
	}
	return bad;
}

int main(int argc, char **argv)
{
	const one_case *one = cases;

	while (one != NULL && (argc < 2 || strcmp(one->name, argv[1]) != 0))
		one = one->next;
	told = __real_mmap(NULL, sizeof(*told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			   -1, 0);
	if (one == NULL || told == MAP_FAILED)
		return 2;
	return each_call(one, argc > 2 ? strtoull(argv[2], NULL, 10) : 0,
			 argc > 3 ? strtoull(argv[3], NULL, 10) : 1, argc > 4);
}
