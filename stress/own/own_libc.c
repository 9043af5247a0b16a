/* SPDX-License-Identifier: Apache-2.0
 * own_libc.c - functions of the C library that touch memory of the program, print, tell the time, or
 * end the process.
 *
 *   memcpy, strlen, ...   report the bytes that they read and write; then the C library's own
 *   printf, puts, ...     what a thread prints to the standard output belongs to the outcome
 *   sleep, time, ...      each thread has a clock; it moves with sleeps and with waits that time out,
 *                         and by a millisecond whenever it is looked at
 *
 * Spec          none.
 * Evidence      tests/judge/own. */
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "own.h"

enum { TICK_NS = 1000000, LINE = 1024, REGISTERS = 64 };

static void reads(const void *at, size_t size, const void *from)
{
	own_plain((char *)(uintptr_t)at, size, false, false, from);
}

static void writes(void *at, size_t size, const void *from)
{
	own_plain(at, size, true, false, from);
}

/* Memory and strings. */

OWN(void *, memcpy, void *to, const void *from, size_t size)
{
	reads(from, size, OWN_PC);
	writes(to, size, OWN_PC);
	return memmove(to, from, size);
}

OWN(void *, memmove, void *to, const void *from, size_t size)
{
	reads(from, size, OWN_PC);
	writes(to, size, OWN_PC);
	return memmove(to, from, size);
}

OWN(void *, memset, void *at, int byte, size_t size)
{
	writes(at, size, OWN_PC);
	return memset(at, byte, size);
}

OWN(int, memcmp, const void *one, const void *other, size_t size)
{
	reads(one, size, OWN_PC);
	reads(other, size, OWN_PC);
	return memcmp(one, other, size);
}

OWN(int, bcmp, const void *one, const void *other, size_t size)
{
	reads(one, size, OWN_PC);
	reads(other, size, OWN_PC);
	return memcmp(one, other, size);
}

OWN(size_t, strnlen, const char *text, size_t most)
{
	size_t size = strnlen(text, most);

	reads(text, size < most ? size + 1 : most, OWN_PC);
	return size;
}

OWN(size_t, strlen, const char *text)
{
	reads(text, strlen(text) + 1, OWN_PC);
	return strlen(text);
}

OWN(int, strcmp, const char *one, const char *other)
{
	reads(one, strlen(one) + 1, OWN_PC);
	reads(other, strlen(other) + 1, OWN_PC);
	return strcmp(one, other);
}

OWN(int, strncmp, const char *one, const char *other, size_t most)
{
	reads(one, strnlen(one, most), OWN_PC);
	reads(other, strnlen(other, most), OWN_PC);
	return strncmp(one, other, most);
}

OWN(char *, strcpy, char *to, const char *from)
{
	size_t size = strlen(from) + 1;

	reads(from, size, OWN_PC);
	writes(to, size, OWN_PC);
	return memmove(to, from, size);
}

OWN(char *, strchr, const char *text, int byte)
{
	reads(text, strlen(text) + 1, OWN_PC);
	return strchr(text, byte);
}

OWN(char *, strrchr, const char *text, int byte)
{
	reads(text, strlen(text) + 1, OWN_PC);
	return strrchr(text, byte);
}

OWN(char *, strstr, const char *text, const char *part)
{
	reads(text, strlen(text) + 1, OWN_PC);
	reads(part, strlen(part) + 1, OWN_PC);
	return strstr(text, part);
}

OWN(void *, memchr, const void *at, int byte, size_t size)
{
	reads(at, size, OWN_PC);
	return memchr(at, byte, size);
}

OWN(char *, strncpy, char *to, const char *from, size_t size)
{
	reads(from, strnlen(from, size), OWN_PC);
	writes(to, size, OWN_PC);
	return strncpy(to, from, size);
}

OWN(char *, strcat, char *to, const char *from)
{
	size_t used = strlen(to), size = strlen(from) + 1;

	reads(to, used + 1, OWN_PC);
	reads(from, size, OWN_PC);
	writes(to + used, size, OWN_PC);
	memmove(to + used, from, size);
	return to;
}

OWN(int, atoi, const char *text)
{
	reads(text, strlen(text) + 1, OWN_PC);
	return atoi(text);
}

OWN(long, strtol, const char *text, char **end, int base)
{
	reads(text, strlen(text) + 1, OWN_PC);
	if (end)
		writes(end, sizeof(*end), OWN_PC);
	return strtol(text, end, base);
}

OWN(unsigned long, strtoul, const char *text, char **end, int base)
{
	reads(text, strlen(text) + 1, OWN_PC);
	if (end)
		writes(end, sizeof(*end), OWN_PC);
	return strtoul(text, end, base);
}

OWN(void, qsort, void *at, size_t count, size_t size, int (*compare)(const void *, const void *))
{
	reads(at, count * size, OWN_PC);
	writes(at, count * size, OWN_PC);
	qsort(at, count, size, compare);
}

/* Memory from the heap. */

OWN(void *, malloc, size_t size)
{
	return own_malloc_from(size, 16, OWN_PC);
}

OWN(void *, calloc, size_t count, size_t size)
{
	size_t all;
	void *at;

	if (__builtin_mul_overflow(count, size, &all))
		return NULL;
	at = own_malloc_from(all, 16, OWN_PC);
	if (at) {
		writes(at, all, OWN_PC);
		memset(at, 0, all);
	}
	return at;
}

OWN(void *, aligned_alloc, size_t alignment, size_t size)
{
	return own_malloc_from(size, alignment, OWN_PC);
}

OWN(int, posix_memalign, void **at, size_t alignment, size_t size)
{
	void *made = own_malloc_from(size, alignment, OWN_PC);

	writes(at, sizeof(*at), OWN_PC);
	*at = made;
	return 0;
}

OWN(void, free, void *at)
{
	own_free_from(at, OWN_PC);
}

OWN(void *, realloc, void *at, size_t size)
{
	void *made = own_malloc_from(size, 16, OWN_PC);
	size_t old = at ? own_size_of(at) : 0;

	if (made && old) {
		size_t kept = old < size ? old : size;

		reads(at, kept, OWN_PC);
		writes(made, kept, OWN_PC);
		memmove(made, at, kept);
	}
	own_free_from(at, OWN_PC);
	return made;
}

OWN(char *, strdup, const char *text)
{
	size_t size = strlen(text) + 1;
	char *made = own_malloc_from(size, 16, OWN_PC);

	reads(text, size, OWN_PC);
	writes(made, size, OWN_PC);
	return memmove(made, text, size);
}

/* Printing. */

/* The end of the length in a conversion, as in %lld; `size`: 1 for l, 2 for ll and the like, -1 for
 * a long double. */
static const char *skip_length(const char *at, int *size)
{
	for (*size = 0; *at && strchr("hlqjztL", *at); at++)
		*size = *at == 'L' ? -1 : *size + (*at != 'h');
	return at;
}

/* Reads the strings that the format prints. The list is used up. */
static void read_strings(const char *format, va_list *arguments, const void *from)
{
	for (const char *at = strchr(format, '%'); at; at = strchr(at, '%')) {
		bool is_precision = false;
		long most = -1;
		int size;

		for (at++; *at && strchr("-+ #0123456789*.", *at); at++) {
			int star = *at == '*' ? va_arg(*arguments, int) : 0;

			is_precision |= *at == '.';
			if (*at == '.' && at[1] != '*')
				most = strtol(at + 1, NULL, 10);
			else if (*at == '*' && is_precision)
				most = star;
		}
		at = skip_length(at, &size);
		if (!*at)
			return;
		if (*at == 's' && !size) {
			const char *text = va_arg(*arguments, const char *);

			if (text)
				reads(text,
				      most < 0 ? strlen(text) + 1 : strnlen(text, (size_t)most),
				      from);
		} else if (strchr("fFeEgGaA", *at) && size < 0) {
			(void)va_arg(*arguments, long double);
		} else if (strchr("fFeEgGaA", *at)) {
			(void)va_arg(*arguments, double);
		} else if (strchr("pns", *at) || size) {
			(void)va_arg(*arguments, void *);
		} else if (*at != '%' && *at != 'm') {
			(void)va_arg(*arguments, int);
		}
		at++;
	}
}

/* A line that ends what is printed at once has no mark of its end, unless `keeps` it. */
static void add(char *to, uint32_t *used, uint32_t room, const char *text, size_t size, bool keeps)
{
	for (size_t i = 0; i < size; i++) {
		bool is_last = *used >= room - 3;
		char byte = is_last ? '.' : text[i] == '\n' ? ' ' : text[i];
		bool is_end = text[i] == '\n' && (!*used || (i + 1 == size && !keeps));

		if (*used < room && !is_end)
			to[(*used)++] = byte;
	}
}

void own_print(const char *text, size_t size, bool is_error)
{
	static const char advice[] = "note: run with `RUST_BACKTRACE";

	if (size >= sizeof(advice) && !memcmp(text, advice, sizeof(advice) - 1))
		return;
	if (own_now && is_error)
		add(own_now->said, &own_now->said_size, OWN_SAID, text, size, true);
	else if (own_now)
		add(own_now->printed, &own_now->printed_size, OWN_PRINTED, text, size, false);
}

static int print_to(FILE *stream, const char *format, va_list arguments, const void *from)
{
	char text[LINE];
	va_list strings;
	int size;

	va_copy(strings, arguments);
	read_strings(format, &strings, from);
	va_end(strings);
	size = vsnprintf(text, sizeof(text), format, arguments);
	if (stream == stdout)
		own_print(text, size < LINE ? (size_t)size : LINE - 1, false);
	return size;
}

OWN(int, printf, const char *format, ...)
{
	va_list arguments;
	int size;

	va_start(arguments, format);
	size = print_to(stdout, format, arguments, OWN_PC);
	va_end(arguments);
	return size;
}

OWN(int, fprintf, FILE *stream, const char *format, ...)
{
	va_list arguments;
	int size;

	va_start(arguments, format);
	size = print_to(stream, format, arguments, OWN_PC);
	va_end(arguments);
	return size;
}

OWN(int, vprintf, const char *format, va_list arguments)
{
	return print_to(stdout, format, arguments, OWN_PC);
}

OWN(int, vfprintf, FILE *stream, const char *format, va_list arguments)
{
	return print_to(stream, format, arguments, OWN_PC);
}

OWN(int, puts, const char *text)
{
	reads(text, strlen(text) + 1, OWN_PC);
	own_print(text, strlen(text), false);
	return 1;
}

OWN(int, putchar, int byte)
{
	char text = (char)byte;

	own_print(&text, text != '\n', false);
	return byte;
}

OWN(int, fputs, const char *text, FILE *stream)
{
	reads(text, strlen(text) + 1, OWN_PC);
	if (stream == stdout)
		own_print(text, strlen(text), false);
	return 1;
}

OWN(int, fputc, int byte, FILE *stream)
{
	return stream == stdout ? own__putchar(byte) : byte;
}

OWN(size_t, fwrite, const void *from, size_t size, size_t count, FILE *stream)
{
	reads(from, size * count, OWN_PC);
	if (stream == stdout)
		own_print(from, size * count, false);
	return count;
}

OWN(int, fflush, FILE *stream)
{
	return 0;
}

OWN(void, perror, const char *text)
{
}

OWN(int, snprintf, char *to, size_t size, const char *format, ...)
{
	va_list arguments, strings;
	int used;

	va_start(arguments, format);
	va_copy(strings, arguments);
	read_strings(format, &strings, OWN_PC);
	va_end(strings);
	used = vsnprintf(to, size, format, arguments);
	va_end(arguments);
	writes(to, size && used >= 0 ? ((size_t)used < size ? (size_t)used + 1 : size) : 0, OWN_PC);
	return used;
}

/* Time. */

static int64_t now_ns(void)
{
	own_now->clock_ns += TICK_NS;
	return (int64_t)OWN_START_S * 1000000000 + (int64_t)own_now->clock_ns;
}

OWN(int, clock_gettime, clockid_t clock, struct timespec *at)
{
	int64_t ns = own_now ? now_ns() : 0;

	writes(at, sizeof(*at), OWN_PC);
	*at = (struct timespec){ns / 1000000000, ns % 1000000000};
	return 0;
}

OWN(int, timespec_get, struct timespec *at, int base)
{
	own__clock_gettime(0, at);
	return base;
}

OWN(int, gettimeofday, struct timeval *at, void *zone)
{
	int64_t ns = own_now ? now_ns() : 0;

	writes(at, sizeof(*at), OWN_PC);
	*at = (struct timeval){ns / 1000000000, ns % 1000000000 / 1000};
	return 0;
}

OWN(time_t, time, time_t *at)
{
	time_t now = own_now ? (time_t)(now_ns() / 1000000000) : OWN_START_S;

	if (at) {
		writes(at, sizeof(*at), OWN_PC);
		*at = now;
	}
	return now;
}

OWN(int, sched_yield, void)
{
	return 0;
}

OWN(int, pthread_yield, void)
{
	return 0;
}

OWN(void, thrd_yield, void)
{
}

static void pass(int64_t seconds, int64_t ns)
{
	if (own_now)
		own_now->clock_ns += (uint64_t)(seconds * 1000000000 + ns);
}

OWN(int, nanosleep, const struct timespec *length, struct timespec *left)
{
	pass(length->tv_sec, length->tv_nsec);
	return 0;
}

OWN(int, clock_nanosleep, clockid_t clock, int flags, const struct timespec *length,
    struct timespec *left)
{
	if (flags & TIMER_ABSTIME)
		own_pass_until(length);
	else
		pass(length->tv_sec, length->tv_nsec);
	return 0;
}

OWN(int, thrd_sleep, const struct timespec *length, struct timespec *left)
{
	pass(length->tv_sec, length->tv_nsec);
	return 0;
}

OWN(int, usleep, unsigned length_us)
{
	pass(0, (int64_t)length_us * 1000);
	return 0;
}

OWN(unsigned, sleep, unsigned length_s)
{
	pass(length_s, 0);
	return 0;
}

/* The ends of a process. */

_Noreturn OWN(void, __assert_fail, const char *text, const char *file, unsigned line,
	      const char *function)
{
	if (!own_now)
		abort();
	own_fail(own_text("%.200s", text), false, false, OWN_PC);
}

_Noreturn OWN(void, abort, void)
{
	if (!own_now)
		abort();
	own_fail("calls abort", true, false, OWN_PC);
}

_Noreturn OWN(void, exit, int code)
{
	if (!own_now)
		exit(code);
	if (code)
		own_fail(own_why("exits with", code), false, false, OWN_PC);
	if (own_thread()) {
		own_refuse("thread %d calls exit(0), which is not modelled", own_thread());
		own_pause();
	}
	__builtin_unwind_init(); /* pointers in registers are on the stack then */
	own_end_thread(NULL, (const char *)__builtin_frame_address(0) - REGISTERS);
}
