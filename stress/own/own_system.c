/* SPDX-License-Identifier: Apache-2.0
 * own_system.c - functions of the system that runtimes call, those of Rust's standard library above
 * all: writing to the standard streams, signals, random numbers. Whatever else such a library may
 * call is refused when it is called, by its name.
 *
 *   write to 1   belongs to the outcome, as printf does
 *   write to 2   is kept: a panic says there why main returns 101
 *   signals      none is ever delivered
 *   random       the same bytes in each execution
 *   cgroups      there are none: who asks for the number of CPUs looks for their limits in a file
 *
 * Spec          none.
 * Evidence      tests/judge/own/test_rust.py. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "own.h"

/* Called by the stubs of all functions that are not modelled. */
long own_not_modelled(const char *name);

long own_not_modelled(const char *name)
{
	const char *from = OWN_PC;

	if ((uintptr_t)from >= OWN_CODE_END)
		from = own_last;
	own_refuse("calls %s, which the explorer does not model, at #%lx", name,
		   (unsigned long)(uintptr_t)from);
	if (own_now)
		own_pause();
	return -1;
}

static ssize_t write_to(int to, const char *from, size_t size, const void *caller)
{
	own_plain((char *)(uintptr_t)from, size, false, false, caller);
	if (own_is_file(to))
		return own_write(to, from, size, caller);
	if (to != STDOUT_FILENO && to != STDERR_FILENO)
		return own_not_modelled("write to the standard input");
	if (own_now)
		own_print(from, size, to == STDERR_FILENO);
	return (ssize_t)size;
}

OWN(ssize_t, write, int to, const void *from, size_t size)
{
	return write_to(to, from, size, OWN_PC);
}

OWN(ssize_t, writev, int to, const struct iovec *parts, int count)
{
	ssize_t size = 0;

	own_plain((char *)(uintptr_t)parts, (size_t)count * sizeof(*parts), false, false, OWN_PC);
	for (int i = 0; i < count; i++)
		size += write_to(to, parts[i].iov_base, parts[i].iov_len, OWN_PC);
	return size;
}

/* As Rust's start asks: are the standard streams open? Or, without any stream, a sleep. */
OWN(int, poll, struct pollfd *streams, nfds_t count, int limit_ms)
{
	bool has_file = false;

	for (nfds_t i = 0; i < count; i++)
		has_file |= own_is_file(streams[i].fd);
	if (has_file)
		return own_poll(streams, count, limit_ms, OWN_PC);
	for (nfds_t i = 0; i < count; i++) {
		if (limit_ms)
			return (int)own_not_modelled("poll of standard streams");
		streams[i].revents = 0;
	}
	if (limit_ms < 0)
		return (int)own_not_modelled("poll without an end");
	if (own_now)
		own_now->clock_ns += (uint64_t)limit_ms * 1000000;
	return 0;
}

OWN(int, open64, const char *path, int flags, mode_t mode)
{
	(void)flags;
	(void)mode;
	if (strcmp(path, "/proc/self/cgroup") != 0)
		return (int)own_not_modelled("open64");
	errno = ENOENT;
	return -1;
}

OWN(int, sigaction, int number, const struct sigaction *now, struct sigaction *before)
{
	if (now && now->sa_handler != SIG_DFL && now->sa_handler != SIG_IGN)
		return (int)own_not_modelled("sigaction");
	if (before) {
		own_plain((char *)before, sizeof(*before), true, false, OWN_PC);
		*before = (struct sigaction){.sa_handler = SIG_IGN};
	}
	return 0;
}

OWN(sighandler_t, signal, int number, sighandler_t now)
{
	if (now != SIG_DFL && now != SIG_IGN)
		own_not_modelled("signal");
	return SIG_DFL;
}

OWN(ssize_t, getrandom, void *to, size_t size, unsigned flags)
{
	own_plain(to, size, true, false, OWN_PC);
	memset(to, 7, size);
	return (ssize_t)size;
}

OWN(int, pthread_getattr_np, pthread_t thread, pthread_attr_t *attributes)
{
	own_plain((char *)attributes, sizeof(*attributes), true, false, OWN_PC);
	pthread_attr_init(attributes);
	return own_now ? pthread_attr_setstack(attributes, own_now->stack_end - OWN_STACK,
					       OWN_STACK)
		       : 0;
}

/* Rust asks how small a stack may be, and takes a constant if nobody knows. */
OWN(void *, dlsym, void *library, const char *name)
{
	if (strcmp(name, "__pthread_get_minstack") != 0)
		own_not_modelled("dlsym");
	return NULL;
}

OWN(pid_t, gettid, void)
{
	return 1 + (own_now ? own_thread() : 0);
}

_Noreturn OWN(void, _exit, int code)
{
	own__exit(code);
}

/* Code of LLVM calls these for copies. */
void *__tsan_memcpy(void *to, const void *from, size_t size);
void *__tsan_memmove(void *to, const void *from, size_t size);
void *__tsan_memset(void *at, int byte, size_t size);

static void *copy(void *to, const void *from, size_t size, const void *caller)
{
	own_plain((char *)(uintptr_t)from, size, false, false, caller);
	own_plain(to, size, true, false, caller);
	return memmove(to, from, size);
}

void *__tsan_memcpy(void *to, const void *from, size_t size)
{
	return copy(to, from, size, OWN_PC);
}

void *__tsan_memmove(void *to, const void *from, size_t size)
{
	return copy(to, from, size, OWN_PC);
}

void *__tsan_memset(void *at, int byte, size_t size)
{
	own_plain(at, size, true, false, OWN_PC);
	return memset(at, byte, size);
}
