/* SPDX-License-Identifier: Apache-2.0
 * watch.c - see watch.h. */
#include "watch.h"

#include <errno.h>
#include <stdlib.h>

#include "io/descriptor_poller.h"
#include "sched/vthread_start.h"
#include "sched/worker.h"

enum { SHIFT = 10, PLACES = 1 << SHIFT, CHUNKS = 4096, FIRST_LOOK_NS = 100000000 };

typedef struct watch {
	wp_io io; /* must be first: the poller frees it */
	struct watch *next;
	int64_t files;
	bool is_added;
} watch;

/* The watches of one number, one for each poller. Under the lock. */
typedef struct place {
	wp_lock lock;
	watch *first;
} place;

static wp_atomic(place *) chunks[CHUNKS]; /* of PLACES each; made when needed, and kept */
static int64_t first_look_ns = FIRST_LOOK_NS;

/* NULL: no number of this chunk was watched. */
static place *place_of(int fd)
{
	place *chunk =
		fd < 0 || fd >> SHIFT >= CHUNKS ? NULL : wp_load_acquire(&chunks[fd >> SHIFT]);

	return chunk == NULL ? NULL : chunk + (fd & (PLACES - 1));
}

/* As place_of; NULL: no memory. */
static place *place_for(int fd)
{
	place *made, *none = NULL;

	if (place_of(fd) != NULL || fd < 0 || fd >> SHIFT >= CHUNKS)
		return place_of(fd);
	made = calloc(PLACES, sizeof(*made));
	/* Release: who finds the chunk finds it empty. */
	if (made != NULL && !wp_cas_release(&chunks[fd >> SHIFT], &none, made))
		free(made);
	return place_of(fd);
}

/* Under the place's lock. NULL, and errno. */
static watch *make(place *at, wp_io_poller *poller, int fd)
{
	watch *made = calloc(1, sizeof(*made));

	if (made == NULL)
		return NULL;
	wp__io_init(&made->io, fd, false, poller);
	wp__io_poller_hold(poller);
	if (!wp__io_poller_list(poller, &made->io)) {
		wp__io_poller_free(poller);
		free(made);
		errno = ESHUTDOWN;
		return NULL;
	}
	made->next = at->first;
	at->first = made;
	return made;
}

wp_io *wp__watch_enter(wp_vthread *thread, int fd)
{
	wp_io_poller *poller = wp__io_poller_of(thread->task.home);
	place *at = poller == NULL ? NULL : place_for(fd);
	watch *found;

	if (at == NULL) {
		errno = poller == NULL ? ENXIO : fd < 0 ? EBADF : ENOMEM;
		return NULL;
	}
	wp_lock_acquire(&at->lock);
	for (found = at->first; found != NULL && found->io.poller != poller; found = found->next)
		;
	if (found == NULL)
		found = make(at, poller, fd);
	if (found != NULL)
		wp_io_enter(&found->io);
	wp_lock_release(&at->lock);
	return found == NULL ? NULL : &found->io;
}

/* Another file has the number: an edge for each other user, who may wait or be about to. Under the
 * place's lock. */
static void has_changed(watch *one, uint32_t others)
{
	one->files++;
	for (; others > 0; others--) {
		wp_ready_tell(&one->io.ready[WP_IO_READ], false);
		wp_ready_tell(&one->io.ready[WP_IO_WRITE], false);
	}
}

static uint32_t users_of(watch *one)
{
	return wp_load_relaxed(&one->io.users) / WP_IO_USER;
}

static void unregister(watch *one)
{
	one->io.poller->driver->remove(one->io.poller->waits, one->io.fd);
	one->is_added = false;
}

int64_t wp__watch_add(wp_io *io)
{
	watch *mine = (watch *)(void *)io;
	place *at = place_of(io->fd);
	int64_t files;
	int code;

	if (at == NULL) /* the group was closed */
		return -EBADF;
	wp_lock_acquire(&at->lock);
	code = io->poller->driver->add(io->poller->waits, io->fd, io);
	if (code == WP_OK) {
		mine->is_added = true;
		has_changed(mine, users_of(mine) - 1);
	}
	/* Not added, but there: somebody else's, such as that of a wp_io of the user. */
	files = code == WP_OK || (errno == EEXIST && mine->is_added) ? mine->files
								     : -(int64_t)errno;
	/* Else each event would wake the carriers of all threads that ever waited for it. */
	for (watch *other = at->first; other != NULL; other = other->next)
		if (other != mine && other->is_added && users_of(other) == 0)
			unregister(other);
	wp_lock_release(&at->lock);
	return files;
}

int64_t wp__watch_until(int64_t since_ns, int64_t deadline_ns)
{
	int64_t now_ns = wp_clock_ns(), lasted_ns = now_ns - since_ns,
		look_ns = now_ns + (lasted_ns > first_look_ns ? lasted_ns : first_look_ns);

	return look_ns < deadline_ns ? look_ns : deadline_ns;
}

void wp__watch_closed(int fd)
{
	place *at = place_of(fd);

	if (at == NULL)
		return;
	wp_lock_acquire(&at->lock);
	for (watch *one = at->first; one != NULL; one = one->next)
		if (one->is_added) {
			unregister(one);
			has_changed(one, users_of(one));
		}
	wp_lock_release(&at->lock);
}

static void free_those_of(wp_io_poller *poller, place *at)
{
	watch **link = &at->first;

	wp_lock_acquire(&at->lock);
	while (*link != NULL) {
		watch *one = *link;

		if (one->io.poller != poller) {
			link = &one->next;
			continue;
		}
		*link = one->next;
		wp__io_poller_unlist(poller, &one->io);
		one->io.fd = -1; /* the descriptor is the user's */
		wp_io_free(&one->io);
	}
	wp_lock_release(&at->lock);
}

void wp__watch_end(wp_group *group)
{
	for (uint32_t index = 0; index < group->config.carriers; index++) {
		wp_io_poller *poller = wp__io_poller_of(wp__group_home(group, index));

		for (int fd = 0; poller != NULL && fd < CHUNKS << SHIFT; fd += PLACES)
			for (int n = 0; n < PLACES && place_of(fd) != NULL; n++)
				free_those_of(poller, place_of(fd + n));
	}
}

void wp__watch_forked(void)
{
	for (int n = 0; n < CHUNKS; n++)
		wp_init(&chunks[n], NULL);
}

int64_t wp__watch_first_look(int64_t after_ns)
{
	int64_t before_ns = first_look_ns;

	first_look_ns = after_ns;
	return before_ns;
}
