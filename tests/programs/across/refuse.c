// SPDX-License-Identifier: Apache-2.0
/* Preloaded into the judges: the Nth call of one function of the C library fails.
 *
 *   REFUSE       the function's name
 *   REFUSE_AT    N; each process counts for itself
 *   REFUSE_IN    the process: what its command line holds
 *   REFUSE_LOG   a file that gets a line when the call is refused
 *
 * In Python's own process the calls count that come after the first pipe, which the command line
 * makes before it does anything else, or after the first look into another process, and which have
 * nothing to do with an import.  Of reads those of files count, and no mmap: if a thread's first
 * allocation fails, CPython waits for it for ever.  futex is a wait, which a signal interrupts: Linux
 * has no reason to refuse a wake.  It, pidfd_open and pidfd_getfd are those that go through
 * syscall(); the C library's own waits go past it. */

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MOST_FDS = 1024 };

static const char *wanted, *log_file;
static long at;
static bool is_python;
static atomic_bool begun;
static atomic_long calls;
static atomic_bool is_file[MOST_FDS]; /* opened, and no module of Python */

__attribute__((constructor)) static void read_wishes(void)
{
	static char words[4096];
	const char *in = getenv("REFUSE_IN");
	int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/cmdline", O_RDONLY);
	long length = syscall(SYS_read, fd, words, sizeof words - 1);

	syscall(SYS_close, fd);
	for (long i = 0; i + 1 < length; i++)
		if (words[i] == '\0')
			words[i] = ' ';
	if (in == NULL || strstr(words, in) == NULL)
		return;
	is_python = strstr(words, "python") != NULL;
	begun = !is_python;
	log_file = getenv("REFUSE_LOG");
	at = atol(getenv("REFUSE_AT"));
	wanted = getenv("REFUSE");
}

static bool refuses(const char *name)
{
	char line[64];

	if (wanted == NULL || !begun || strcmp(wanted, name) != 0 || ++calls != at)
		return false;
	int fd = (int)syscall(SYS_openat, AT_FDCWD, log_file, O_WRONLY | O_CREAT | O_APPEND, 0666);
	int length = snprintf(line, sizeof line, "%s %ld\n", name, at);

	syscall(SYS_write, fd, line, (size_t)length);
	syscall(SYS_close, fd);
	return true;
}

static bool is_module(const char *path)
{
	size_t length = strlen(path);

	return strstr(path, "/lib/python") != NULL || strstr(path, "/site-packages/") != NULL ||
	       strstr(path, "__pycache__") != NULL ||
	       (length > 3 &&
		(strcmp(path + length - 3, ".py") == 0 || strcmp(path + length - 3, ".so") == 0));
}

static bool counts(int fd)
{
	return !is_python || (fd >= 0 && fd < MOST_FDS && is_file[fd]);
}

#define REAL(name) (__extension__((__typeof__(&(name)))dlsym(RTLD_NEXT, #name)))

static int opened(const char *path, int flags, mode_t mode)
{
	bool import = is_python && is_module(path);

	if (strncmp(path, "/proc/", 6) == 0 && path[6] >= '0' && path[6] <= '9')
		begun = true;
	if (!import && refuses("open")) {
		errno = EMFILE;
		return -1;
	}
	int fd = REAL(open)(path, flags, mode);

	if (fd >= 0 && fd < MOST_FDS)
		is_file[fd] = !import;
	return fd;
}

static mode_t mode_of(int flags, va_list more)
{
	return flags & (O_CREAT | __O_TMPFILE) ? va_arg(more, mode_t) : 0;
}

#define OPENS(name)                                 \
	int name(const char *path, int flags, ...)  \
	{                                           \
		va_list more;                       \
		va_start(more, flags);              \
		mode_t mode = mode_of(flags, more); \
		va_end(more);                       \
		return opened(path, flags, mode);   \
	}
OPENS(open)
OPENS(open64)

static FILE *streamed(const char *path, const char *mode)
{
	if (refuses("open")) {
		errno = EMFILE;
		return NULL;
	}
	return REAL(fopen)(path, mode);
}

FILE *fopen(const char *path, const char *mode)
{
	return streamed(path, mode);
}

FILE *fopen64(const char *path, const char *mode)
{
	return streamed(path, mode);
}

ssize_t read(int fd, void *to, size_t size)
{
	if (counts(fd) && refuses("read")) {
		errno = EIO;
		return -1;
	}
	return REAL(read)(fd, to, size);
}

ssize_t write(int fd, const void *from, size_t size)
{
	if (refuses("write")) {
		errno = ENOSPC;
		return -1;
	}
	return REAL(write)(fd, from, size);
}

static void *mapped(void *place, size_t size, int protection, int flags, int fd, off_t offset)
{
	if (!is_python && refuses("mmap")) {
		errno = ENOMEM;
		return MAP_FAILED;
	}
	return REAL(mmap)(place, size, protection, flags, fd, offset);
}

void *mmap(void *place, size_t size, int protection, int flags, int fd, off_t offset)
{
	return mapped(place, size, protection, flags, fd, offset);
}

void *mmap64(void *place, size_t size, int protection, int flags, int fd, off_t offset)
{
	return mapped(place, size, protection, flags, fd, offset);
}

static _Thread_local bool refuses_again;

pid_t fork(void)
{
	if (refuses_again || refuses("fork")) {
		refuses_again = false;
		errno = EAGAIN;
		return -1;
	}
	return REAL(fork)();
}

pid_t vfork(void) /* a function that calls the real one must not return */
{
	if (refuses("fork")) {
		refuses_again = is_python; /* it tries fork then */
		errno = EAGAIN;
		return -1;
	}
	return REAL(fork)();
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *),
		   void *argument)
{
	if (refuses("pthread_create"))
		return EAGAIN;
	return REAL(pthread_create)(thread, attributes, body, argument);
}

static int piped(int ends[2], int flags)
{
	if (refuses("pipe")) {
		errno = EMFILE;
		return -1;
	}
	int failed = REAL(pipe2)(ends, flags);

	begun = true;
	return failed;
}

int pipe(int ends[2])
{
	return piped(ends, 0);
}

int pipe2(int ends[2], int flags)
{
	return piped(ends, flags);
}

#define FAILS(name, why, declared, ...)         \
	int name declared                       \
	{                                       \
		if (refuses(#name)) {           \
			errno = why;            \
			return -1;              \
		}                               \
		return REAL(name)(__VA_ARGS__); \
	}
FAILS(fsync, EIO, (int fd), fd)
FAILS(rename, ENOSPC, (const char *from, const char *to), from, to)
FAILS(unlink, EIO, (const char *path), path)
FAILS(mkdir, ENOSPC, (const char *path, mode_t mode), path, mode)
FAILS(epoll_create1, EMFILE, (int flags), flags)

long syscall(long number, ...)
{
	long words[6];
	va_list more;

	va_start(more, number);
	for (int i = 0; i < 6; i++)
		words[i] = va_arg(more, long);
	va_end(more);
	if (number == SYS_futex &&
	    ((words[1] & FUTEX_CMD_MASK) == FUTEX_WAIT ||
	     (words[1] & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET) &&
	    refuses("futex")) {
		errno = EINTR;
		return -1;
	}
	if ((number == SYS_pidfd_open && refuses("pidfd_open")) ||
	    (number == SYS_pidfd_getfd && refuses("pidfd_getfd"))) {
		errno = EMFILE;
		return -1;
	}
	return REAL(syscall)(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}
