/* SPDX-License-Identifier: Apache-2.0
 * own_files.c - descriptors that threads wait on: eventfd, pipes, poll, epoll.
 *
 *   a thread                                    another thread
 *   lock; nothing to read; see `changes`        lock; write; changes + 1
 *   unlock; sleep while `changes` is that       unlock; wake
 *   lock; read; unlock
 *
 *   poll, epoll_wait   see `changes_of_any`; look at each descriptor, under its lock; sleep while
 *                      `changes_of_any` is that
 *
 * Why it works  What a descriptor holds is plain memory under a lock, as in the system itself; so a
 *               write happens before the read that gets it, and two descriptors order nothing. A
 *               change between the look and the sleep ends the sleep at once.
 *               A descriptor is named by the thread that makes it, and by how many that has made
 *               before, so it has the same number in each execution. A closed one is not used again.
 * Spec          none.
 * Evidence      tests/judge/own/test_files.py. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "own.h"

enum {
	FIRST = STDERR_FILENO + 1,
	FILES = 64,
	PIPE_ROOM = 4096,
	WATCHED = 16,
	SPARE = 64,     /* bytes for the word of all */
	RESERVED = 128, /* for own_futex.c */
	MS = 1000000,
	EPOLL_KNOWN =
		EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLHUP | EPOLLERR | EPOLLET | EPOLLONESHOT,
};

enum kind { EVENT, PIPE, EPOLL };
enum { READS, WRITES, ENDS }; /* the ends of a pipe; others have the first one alone */

typedef struct watched {
	int32_t number;
	uint32_t events, seen; /* the edges that were reported */
	uint64_t data;
} watched;

typedef struct file { /* in the arena */
	uint32_t lock, changes;
	uint32_t kind, flags[ENDS], is_closed[ENDS];
	uint32_t edges[ENDS]; /* how often an end has become ready */
	uint32_t is_semaphore, size, first;
	uint32_t watched_count;
	uint64_t count;
	watched watched[WATCHED];
	char bytes[PIPE_ROOM];
} file;

static struct {
	int creator;
	uint32_t nth;
	file *file; /* NULL: not made in this execution */
	int end;
} files[FILES];
static int files_count;
static bool polls; /* in some execution */

void own_unlearn_files(void)
{
	files_count = 0;
	polls = false;
}

void own_reset_files(void)
{
	for (int i = 0; i < FILES; i++)
		files[i].file = NULL;
}

static int refuse(const char *what)
{
	own_refuse("%s is not modelled", what);
	own_pause();
	return -1;
}

/* The memory of a file, which is accessed under its lock. */

static uint32_t get(uint32_t *at, const void *from)
{
	own_plain((char *)at, sizeof(*at), false, false, from);
	return *at;
}

static void put(uint32_t *at, uint32_t value, const void *from)
{
	own_plain((char *)at, sizeof(*at), true, false, from);
	*at = value;
}

static uint64_t get_count(file *file, const void *from)
{
	own_plain((char *)&file->count, sizeof(file->count), false, false, from);
	return file->count;
}

static void put_count(file *file, uint64_t value, const void *from)
{
	own_plain((char *)&file->count, sizeof(file->count), true, false, from);
	file->count = value;
}

static void lock(file *file, const char *what, const void *from)
{
	own_lock_word(&file->lock, what, from);
}

static void unlock(file *file, const char *what, const void *from)
{
	own_unlock_word(&file->lock, what, from);
}

/* Who waits for any of several descriptors sleeps on this word. */
static uint32_t *changes_of_any(void)
{
	return (uint32_t *)OWN_ANY_FILE;
}

int own_file_at(const char *at)
{
	for (int i = 0; i < files_count; i++) {
		const char *file = (const char *)files[i].file;

		if (file && at >= file && at < file + sizeof(struct file))
			return FIRST + i;
	}
	return OWN_NOTHING;
}

static void set_polls(void)
{
	if (!polls)
		own_program.error = EXPLORE_START_AGAIN;
	polls = true;
}

static void tell_any(const char *what, const void *from)
{
	if (!polls)
		return;
	own_update(EXPLORE_ADD, changes_of_any(), 4, 1, EXPLORE_RELAXED, what, from);
	own_wake(changes_of_any(), INT_MAX, what, from);
}

/* After a change, of which the lock was held; gives it back. */
static void tell(file *file, const char *what, const void *from)
{
	own_update(EXPLORE_ADD, &file->changes, 4, 1, EXPLORE_RELAXED, what, from);
	unlock(file, what, from);
	own_wake(&file->changes, INT_MAX, what, from);
	tell_any(what, from);
}

/* Waits for a change of the file, of which the lock is held. Takes it again. */
static void await(file *file, const char *what, const void *from)
{
	uint32_t seen = (uint32_t)own_load(&file->changes, 4, EXPLORE_RELAXED, what, from);

	unlock(file, what, from);
	own_sleep_on(&file->changes, seen, false, what, from);
	lock(file, what, from);
}

/* Descriptors. */

static int make(file *file, int end)
{
	int i = 0, me = own_thread();
	uint32_t nth = own_now->files_made++;

	while (i < files_count && (files[i].creator != me || files[i].nth != nth))
		i++;
	if (i == FILES)
		return refuse("the 65th descriptor");
	files[i].creator = me;
	files[i].nth = nth;
	files_count += i == files_count;
	files[i].file = file;
	files[i].end = end;
	own_is_pure = own_is_causal = false;
	return FIRST + i;
}

/* It lies behind the heap of the thread that makes it. */
static file *make_file(enum kind kind, uint32_t flags)
{
	char *behind = OWN_BASE + (size_t)own_thread() * OWN_SLOT + OWN_HEAP;
	file *made = (file *)(behind + SPARE) + own_now->files_made;

	if ((char *)(made + 1) > behind + OWN_FILES - RESERVED) {
		refuse("a thread that opens so many descriptors");
		return NULL;
	}
	memset(made, 0, sizeof(*made));
	made->kind = kind;
	for (int end = 0; end < ENDS; end++)
		made->flags[end] = flags & (O_NONBLOCK | EFD_NONBLOCK);
	return made;
}

/* The file of a number, with its lock held; NULL: there is none, and errno is set. */
static file *open_file(int number, int *end, const char *what, const void *from)
{
	file *file;

	own_is_pure = own_is_causal = false;
	if (number < FIRST || number >= FIRST + files_count || !files[number - FIRST].file) {
		errno = EBADF;
		return NULL;
	}
	file = files[number - FIRST].file;
	*end = files[number - FIRST].end;
	lock(file, what, from);
	if (!get(&file->is_closed[*end], from))
		return file;
	unlock(file, what, from);
	errno = EBADF;
	return NULL;
}

bool own_is_file(int number)
{
	return number >= FIRST;
}

static long fail_with(file *file, int code, const char *what, const void *from)
{
	unlock(file, what, from);
	errno = code;
	return -1;
}

/* Reading and writing. */

static uint32_t copy_in(file *file, const char *bytes, uint32_t size, const void *from)
{
	uint32_t used = get(&file->size, from), first = get(&file->first, from);

	for (uint32_t i = 0; i < size; i++) {
		char *at = &file->bytes[(first + used + i) % PIPE_ROOM];

		own_plain(at, 1, true, false, from);
		*at = bytes[i];
	}
	put(&file->size, used + size, from);
	return size;
}

static uint32_t copy_out(file *file, char *bytes, uint32_t most, const void *from)
{
	uint32_t used = get(&file->size, from), first = get(&file->first, from);
	uint32_t size = used < most ? used : most;

	own_plain(bytes, size, true, false, from);
	for (uint32_t i = 0; i < size; i++) {
		char *at = &file->bytes[(first + i) % PIPE_ROOM];

		own_plain(at, 1, false, false, from);
		bytes[i] = *at;
	}
	put(&file->first, (first + size) % PIPE_ROOM, from);
	put(&file->size, used - size, from);
	return size;
}

static long read_event(file *file, void *into, size_t size, const void *from)
{
	static const char what[] = "read";
	uint64_t value;

	if (size < sizeof(value))
		return fail_with(file, EINVAL, what, from);
	while (!(value = get_count(file, from))) {
		if (get(&file->flags[READS], from))
			return fail_with(file, EAGAIN, what, from);
		await(file, what, from);
	}
	if (get(&file->is_semaphore, from)) {
		put_count(file, value - 1, from);
		value = 1;
	} else {
		put_count(file, 0, from);
	}
	own_plain(into, sizeof(value), true, false, from);
	memcpy(into, &value, sizeof(value));
	tell(file, what, from);
	return sizeof(value);
}

static long read_pipe(file *file, void *into, size_t size, const void *from)
{
	static const char what[] = "read";
	uint32_t copied;

	if (!size)
		return unlock(file, what, from), 0;
	while (!get(&file->size, from)) {
		if (get(&file->is_closed[WRITES], from))
			return unlock(file, what, from), 0;
		if (get(&file->flags[READS], from))
			return fail_with(file, EAGAIN, what, from);
		await(file, what, from);
	}
	copied = copy_out(file, into, (uint32_t)(size < PIPE_ROOM ? size : PIPE_ROOM), from);
	tell(file, what, from);
	return copied;
}

long own_read(int number, void *into, size_t size, const void *from)
{
	int end;
	file *file = open_file(number, &end, "read", from);

	if (!file)
		return -1;
	if (get(&file->kind, from) == EVENT)
		return read_event(file, into, size, from);
	if (get(&file->kind, from) == PIPE && end == READS)
		return read_pipe(file, into, size, from);
	return fail_with(file, get(&file->kind, from) == PIPE ? EBADF : EINVAL, "read", from);
}

static long write_event(file *file, const void *bytes, size_t size, const void *from)
{
	static const char what[] = "write";
	uint64_t value, before;

	if (size < sizeof(value))
		return fail_with(file, EINVAL, what, from);
	own_plain((char *)(uintptr_t)bytes, sizeof(value), false, false, from);
	memcpy(&value, bytes, sizeof(value));
	if (value == UINT64_MAX)
		return fail_with(file, EINVAL, what, from);
	while ((before = get_count(file, from)) >= UINT64_MAX - value) {
		if (get(&file->flags[READS], from))
			return fail_with(file, EAGAIN, what, from);
		await(file, what, from);
	}
	put_count(file, before + value, from);
	put(&file->edges[READS], get(&file->edges[READS], from) + 1, from);
	tell(file, what, from);
	return sizeof(value);
}

static long write_pipe(file *file, const void *bytes, size_t size, const void *from)
{
	static const char what[] = "write";

	if (get(&file->is_closed[READS], from))
		own_fail("writes to a pipe that nobody can read any more (SIGPIPE)", true, false,
			 from);
	if (size + get(&file->size, from) > PIPE_ROOM)
		return refuse("a pipe that holds more than 4096 bytes");
	own_plain((char *)(uintptr_t)bytes, size, false, false, from);
	copy_in(file, bytes, (uint32_t)size, from);
	put(&file->edges[READS], get(&file->edges[READS], from) + 1, from);
	tell(file, what, from);
	return (long)size;
}

long own_write(int number, const void *bytes, size_t size, const void *from)
{
	int end;
	file *file = open_file(number, &end, "write", from);

	if (!file)
		return -1;
	if (get(&file->kind, from) == EVENT)
		return write_event(file, bytes, size, from);
	if (get(&file->kind, from) == PIPE && end == WRITES)
		return write_pipe(file, bytes, size, from);
	return fail_with(file, get(&file->kind, from) == PIPE ? EBADF : EINVAL, "write", from);
}

OWN(ssize_t, read, int number, void *into, size_t size)
{
	return own_is_file(number) ? own_read(number, into, size, OWN_PC)
				   : refuse("read of a file");
}

OWN(int, close, int number)
{
	int end;
	file *file;

	if (own_now && number >= 0 && number < FIRST)
		return refuse("the close of standard input, output or error");
	file = open_file(number, &end, "close", OWN_PC);
	if (!file)
		return -1;
	put(&file->is_closed[end], true, OWN_PC);
	put(&file->edges[!end], get(&file->edges[!end], OWN_PC) + 1, OWN_PC); /* the other end's */
	tell(file, "close", OWN_PC);
	return 0;
}

static int make_event(unsigned count, int flags)
{
	file *file = make_file(EVENT, (uint32_t)flags);

	if (!file)
		return -1;
	file->count = count;
	file->is_semaphore = (flags & EFD_SEMAPHORE) != 0;
	return make(file, READS);
}

OWN(int, eventfd, unsigned count, int flags)
{
	return make_event(count, flags);
}

OWN(int, eventfd_read, int number, eventfd_t *value)
{
	return own_read(number, value, sizeof(*value), OWN_PC) < 0 ? -1 : 0;
}

OWN(int, eventfd_write, int number, eventfd_t value)
{
	return own_write(number, &value, sizeof(value), OWN_PC) < 0 ? -1 : 0;
}

static int make_pipe(int numbers[2], int flags, const void *from)
{
	file *file = make_file(PIPE, (uint32_t)flags);

	if (!file)
		return -1;
	own_plain((char *)numbers, 2 * sizeof(numbers[0]), true, false, from);
	numbers[0] = make(file, READS);
	numbers[1] = make(file, WRITES);
	return 0;
}

OWN(int, pipe, int numbers[2])
{
	return make_pipe(numbers, 0, OWN_PC);
}

OWN(int, pipe2, int numbers[2], int flags)
{
	return make_pipe(numbers, flags, OWN_PC);
}

OWN(int, fcntl, int number, int command, ...)
{
	va_list arguments;
	int end, flags;
	file *file;

	va_start(arguments, command);
	flags = va_arg(arguments, int);
	va_end(arguments);
	if (!own_is_file(number) ||
	    (command != F_GETFL && command != F_SETFL && command != F_GETFD && command != F_SETFD))
		return refuse("fcntl");
	file = open_file(number, &end, "fcntl", OWN_PC);
	if (!file)
		return -1;
	if (command == F_SETFL)
		put(&file->flags[end], (uint32_t)flags & O_NONBLOCK, OWN_PC);
	flags = command == F_GETFL ? (int)get(&file->flags[end], OWN_PC) : 0;
	unlock(file, "fcntl", OWN_PC);
	return flags;
}

/* Waiting for several. */

/* Of the file, whose lock is held: POLLIN and the like. */
static uint32_t ready(file *file, int end, const void *from)
{
	uint32_t found = 0;

	if (get(&file->kind, from) == EVENT)
		return (get_count(file, from) ? POLLIN : 0) |
		       (get_count(file, from) < UINT64_MAX - 1 ? POLLOUT : 0);
	if (get(&file->kind, from) == EPOLL)
		return refuse("a set of epoll within another one, or within poll"), 0;
	if (end == READS) {
		found = get(&file->size, from) ? POLLIN : 0;
		return found | (get(&file->is_closed[WRITES], from) ? POLLHUP : 0);
	}
	return (get(&file->size, from) < PIPE_ROOM ? POLLOUT : 0) |
	       (get(&file->is_closed[READS], from) ? POLLERR : 0);
}

static int look_at(struct pollfd *streams, nfds_t count, const void *from)
{
	int found = 0;

	for (nfds_t i = 0; i < count; i++) {
		int end;
		file *file;

		streams[i].revents = 0;
		if (streams[i].fd < 0)
			continue;
		file = open_file(streams[i].fd, &end, "poll", from);
		if (file) {
			streams[i].revents =
				(short)(ready(file, end, from) &
					((uint32_t)streams[i].events | POLLHUP | POLLERR));
			unlock(file, "poll", from);
		} else {
			streams[i].revents = POLLNVAL;
		}
		found += streams[i].revents != 0;
	}
	return found;
}

/* False: the time is over. */
static bool await_any(uint32_t seen, int limit_ms, const char *what, const void *from)
{
	if (own_sleep_on(changes_of_any(), seen, limit_ms > 0, what, from) != EXPLORE_TIMED_OUT)
		return true;
	own_now->clock_ns += (uint64_t)limit_ms * MS;
	return false;
}

static uint32_t see_any(const char *what, const void *from)
{
	return (uint32_t)own_load(changes_of_any(), 4, EXPLORE_RELAXED, what, from);
}

int own_poll(struct pollfd *streams, nfds_t count, int limit_ms, const void *from)
{
	int found;

	set_polls();
	own_plain((char *)streams, count * sizeof(*streams), true, false, from);
	for (;;) {
		uint32_t seen = see_any("poll", from);

		found = look_at(streams, count, from);
		if (found || !limit_ms)
			return found;
		if (!await_any(seen, limit_ms, "poll", from))
			return look_at(streams, count, from);
	}
}

OWN(int, epoll_create1, int flags)
{
	file *file = make_file(EPOLL, 0);

	set_polls();
	return file ? make(file, READS) : -1;
}

OWN(int, epoll_create, int size)
{
	return own__epoll_create1(0);
}

/* The place of a number in a set whose lock is held; its end: it is not there. */
static uint32_t place_of(file *set, int number, const void *from)
{
	uint32_t count = get(&set->watched_count, from), i = 0;

	own_plain((char *)set->watched, count * sizeof(set->watched[0]), false, false, from);
	while (i < count && set->watched[i].number != number)
		i++;
	return i;
}

static long change_set(file *set, int how, int number, const struct epoll_event *event,
		       const void *from)
{
	static const char what[] = "epoll_ctl";
	uint32_t count = get(&set->watched_count, from), i = place_of(set, number, from);
	watched *at = &set->watched[i];

	if (how == EPOLL_CTL_ADD ? i < count : i == count)
		return fail_with(set, how == EPOLL_CTL_ADD ? EEXIST : ENOENT, what, from);
	if (i == WATCHED)
		return refuse("a set of epoll with more than 16 descriptors");
	own_plain((char *)set->watched, sizeof(set->watched), true, false, from);
	if (how == EPOLL_CTL_DEL) {
		memmove(at, at + 1, (count - i - 1) * sizeof(*at));
		put(&set->watched_count, count - 1, from);
	} else {
		*at = (watched){.number = number, .events = event->events, .data = event->data.u64};
		put(&set->watched_count, i == count ? count + 1 : count, from);
	}
	tell(set, what, from);
	return 0;
}

OWN(int, epoll_ctl, int set_number, int how, int number, struct epoll_event *event)
{
	static const char what[] = "epoll_ctl";
	int end;
	file *set, *other = open_file(number, &end, what, OWN_PC);

	if (!other)
		return -1;
	unlock(other, what, OWN_PC);
	if (how != EPOLL_CTL_DEL) {
		own_plain((char *)event, sizeof(*event), false, false, OWN_PC);
		if (event->events & ~(uint32_t)EPOLL_KNOWN)
			return refuse("an event of epoll other than IN, OUT, RDHUP, HUP, ERR, ET "
				      "and ONESHOT");
	}
	set = open_file(set_number, &end, what, OWN_PC);
	if (!set)
		return -1;
	if (get(&set->kind, OWN_PC) != EPOLL || number == set_number)
		return (int)fail_with(set, EINVAL, what, OWN_PC);
	return (int)change_set(set, how, number, event, OWN_PC);
}

/* What one watched descriptor has to report, of those that are asked for; notes that it did. */
static uint32_t report(watched *at, const void *from)
{
	uint32_t asked = at->events & ~(uint32_t)(EPOLLET | EPOLLONESHOT), found = 0;
	int end;
	file *file = at->events & ~(uint32_t)(EPOLLET | EPOLLONESHOT)
			     ? open_file(at->number, &end, "epoll_wait", from)
			     : NULL;

	if (!file)
		return 0;
	found = ready(file, end, from) & (asked | EPOLLHUP | EPOLLERR);
	if (at->events & EPOLLET) {
		uint32_t edges = get(&file->edges[end], from) + 1; /* the first look is one, too */

		found = edges == at->seen ? 0 : found;
		at->seen = found ? edges : at->seen;
	}
	if (found && at->events & EPOLLONESHOT)
		at->events = 0;
	unlock(file, "epoll_wait", from);
	return found;
}

static int look_in(file *set, struct epoll_event *events, int most, const void *from)
{
	uint32_t count = get(&set->watched_count, from);
	int found = 0;

	own_plain((char *)set->watched, sizeof(set->watched), true, false, from);
	for (uint32_t i = 0; i < count && found < most; i++) {
		uint32_t now = report(&set->watched[i], from);

		if (!now)
			continue;
		own_plain((char *)&events[found], sizeof(*events), true, false, from);
		events[found].events = now;
		events[found++].data.u64 = set->watched[i].data;
	}
	return found;
}

static int wait_in(int number, struct epoll_event *events, int most, int limit_ms, const void *from)
{
	static const char what[] = "epoll_wait";

	for (bool is_over = limit_ms == 0;;) {
		uint32_t seen = see_any(what, from);
		int end, found;
		file *set = open_file(number, &end, what, from);

		if (!set)
			return -1;
		if (get(&set->kind, from) != EPOLL || most < 1)
			return (int)fail_with(set, EINVAL, what, from);
		found = look_in(set, events, most, from);
		unlock(set, what, from);
		if (found || is_over)
			return found;
		is_over = !await_any(seen, limit_ms, what, from);
	}
}

OWN(int, epoll_wait, int number, struct epoll_event *events, int most, int limit_ms)
{
	return wait_in(number, events, most, limit_ms, OWN_PC);
}

OWN(int, epoll_pwait, int number, struct epoll_event *events, int most, int limit_ms,
    const sigset_t *blocked)
{
	return wait_in(number, events, most, limit_ms, OWN_PC);
}
