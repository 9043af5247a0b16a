/* SPDX-License-Identifier: Apache-2.0
 * dump.h - what every virtual thread of a group does now, and where: read while they go on.
 *
 *   dump                                      carrier
 *   each slot of each pool, each block        [worker.1] says whom it runs, then runs it
 *     look; state, name, home; [dump.1] who   about to sleep: [worker_idle.1] nobody
 *     runs it; parked: frames; look again
 *   list it, and count it among those whose stack is the same
 *
 * Why it works  Slots and blocks enumerate without a lock, and stay memory until the group is freed
 *               (stack.h, vthread_stackful.h). A parked one's stack is read between two looks
 *               (snapshot.h), by the compiler's tables (unwind.h). Text goes out as it is made;
 *               stacks are counted in a table of a fixed size, and those that do not fit, together.
 * Names         of functions are those that dladdr knows (link with -rdynamic); else it is file and
 *               offset, for addr2line.
 * Not promised  One moment for all: each is shown as it was when it was looked at. The stack of a
 *               thread that runs, or is queued after a yield or its start; name and home of one
 *               that ended while it was looked at, and whose memory is another's by now.
 * Spec          specs/inspect/Dump.tla: StackIsWhole, UnparkIsKept, RunnerIsNamed.
 * Evidence      make check-specs T=Dump, make stress T=dump, tests/inspect/test_dump.py. */
#ifndef WP_DUMP_H
#define WP_DUMP_H

#include <stddef.h>

#include "sched/vthread_start.h"

enum {
	WP_DUMP_FRAMES = 32,    /* of one stack, from where it goes on */
	WP_DUMP_THREADS = 1000, /* are listed one by one, unless stated */
	WP_DUMP_STACKS = 1024,  /* different ones, that are counted apart */
	WP_DUMP_NAMES = 4,      /* of those that share a stack */
};

/* new: not started. queued: to run, by its carrier. given: its scheduler has it, queued or run.
 * parked: on no carrier. pinned: asleep on its carrier, unless a spare carries on there. closed:
 * parked when its group was closed. */
enum wp_dump_state {
	WP_DUMP_NEW,
	WP_DUMP_QUEUED,
	WP_DUMP_GIVEN,
	WP_DUMP_RUNNING,
	WP_DUMP_PARKED,
	WP_DUMP_PINNED,
	WP_DUMP_CLOSED,
};
/* "new" ... [any thread | wait-free] */
WP_API const char *wp_dump_state_name(enum wp_dump_state state);

typedef struct wp_dump_thread {
	uint64_t id; /* the number of its slot; the same as long as it lives */
	enum wp_dump_state state;
	int home;    /* index of a carrier */
	int carrier; /* that runs it, or sleeps with it; -1: none does, or it is just changing */
	uint64_t stack_bytes;             /* that frames may take; 0: it has no stack */
	uint64_t stack_used;              /* of a parked one; else 0 */
	uint32_t depth;                   /* frames */
	uintptr_t frames[WP_DUMP_FRAMES]; /* addresses that are returned to */
	char name[WP_VTHREAD_NAME];       /* "": none */
} wp_dump_thread;

/* Shows each that was made and has not ended to `each`, until that gives false. True: all were
 * shown. [any thread, before wp_group_free | blocks shortly] */
WP_API bool wp_dump_each(wp_group *group, bool (*each)(void *arg, const wp_dump_thread *thread),
			 void *arg);

/* cdef: begin */
/* Index of the carrier that runs it, or has run it last and does nothing else yet; -1: none. [any
 * thread, before wp_vthread_free | reads a word of each carrier] */
WP_API int wp_dump_carrier(wp_vthread *thread);
/* cdef: end */

enum wp_dump_format { WP_DUMP_TEXT, WP_DUMP_JSON };

/* Zeroed but for fd or write, it is what to use. */
typedef struct wp_dump_config {
	enum wp_dump_format format;
	const char *container; /* what the group is called; NULL: "<root>" */
	uint64_t max_threads;  /* are listed one by one; 0: WP_DUMP_THREADS. All are counted */
	uint64_t max_bytes; /* as soon as so many are written none is listed any more; 0: no end */
	int fd;
	/* In place of fd: gives 0, or the dump ends. */
	int (*write)(void *arg, const char *text, size_t bytes);
	void *arg;
} wp_dump_config;

/* Writes a dump. WP_OK; WP_SYSTEM and errno: no memory, or a write failed: what was written is no
 * whole dump. Takes less than a megabyte. [any thread, before wp_group_free | blocks, as writes
 * do] */
WP_API int wp_dump(wp_group *group, const wp_dump_config *config);

#endif
