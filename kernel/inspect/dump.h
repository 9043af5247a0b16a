/* SPDX-License-Identifier: Apache-2.0
 * dump.h - shows what each virtual thread of a group is doing and where, while the threads run on.
 *
 *   dump                                      carrier
 *   each slot of each pool, each block:       [worker.1] mounted := the thread; run it
 *     look; read state, name, home and        before it sleeps: [worker_idle.1] mounted := NULL
 *       [dump.1] carrier of the thread
 *     is it parked? read its frames, look
 *       again
 *   list the thread; count it with those that have the same stack
 *
 * Usage         wp_dump(group, &(wp_dump_config){.fd = STDERR_FILENO});
 *
 * Why it works  Slots and blocks are enumerated without a lock, and their memory stays until the
 *               group is freed (stack.h, vthread_stackful.h). The stack of a parked thread is read
 *               between two looks at its word (snapshot.h), with the compiler's unwind tables
 *               (unwind.h). Text is written as it is made. Stacks are counted in a table of fixed
 *               size; those that do not fit are counted together.
 * Prior art     The JSON resembles that of jcmd Thread.dump_to_file; Go's goroutine profile also
 *               groups by stack.
 * Names         Functions are named if dladdr knows them (link with -rdynamic). Otherwise file and
 *               offset are given, for addr2line.
 * Not promised  The dump is not a picture of one moment: each thread is shown as it was when it was
 *               looked at. It has no stack of a thread that runs, or that is queued after a yield
 *               or its start. The name and home of a thread that ended during the look may be
 *               wrong, if its memory has been reused.
 * Spec          specs/inspect/Dump.tla: StackIsWhole, UnparkIsKept, RunnerIsNamed.
 * Evidence      make check-specs T=Dump, make stress T=dump, tests/inspect/test_dump.py. */
#ifndef WP_DUMP_H
#define WP_DUMP_H

#include <stddef.h>

#include "sched/vthread_start.h"

enum {
	WP_DUMP_FRAMES = 32,    /* of one stack, innermost first */
	WP_DUMP_THREADS = 1000, /* most threads that are listed one by one, by default */
	WP_DUMP_STACKS = 1024,  /* most stacks that are counted separately */
	WP_DUMP_NAMES = 4,      /* most names shown for one stack */
};

/* What a thread does.
 *
 *   NEW      It has not been started.
 *   QUEUED   Its carrier will run it.
 *   GIVEN    Its scheduler has queued it or runs it.
 *   RUNNING  A carrier runs it.
 *   PARKED   It is on no carrier.
 *   PINNED   It sleeps on its carrier, unless a spare thread runs that carrier.
 *   CLOSED   It was parked when its group was closed. */
enum wp_dump_state {
	WP_DUMP_NEW,
	WP_DUMP_QUEUED,
	WP_DUMP_GIVEN,
	WP_DUMP_RUNNING,
	WP_DUMP_PARKED,
	WP_DUMP_PINNED,
	WP_DUMP_CLOSED,
};
/* Returns the name of a state: "new", "queued" and so on. [any thread | wait-free] */
WP_API const char *wp_dump_state_name(enum wp_dump_state state);

typedef struct wp_dump_thread {
	uint64_t id; /* the number of its slot, the same while it lives */
	enum wp_dump_state state;
	int home;             /* index of a carrier */
	int carrier;          /* that runs it or sleeps with it; -1: none, or changing now */
	uint64_t stack_bytes; /* for frames; 0: it has no stack */
	uint64_t stack_used;  /* of a parked thread; else 0 */
	uint32_t depth;       /* number of frames */
	uintptr_t frames[WP_DUMP_FRAMES]; /* return addresses */
	char name[WP_VTHREAD_NAME];       /* "": none */
} wp_dump_thread;

/* Calls `each` for every thread that was made and has not ended, until `each` returns false.
 * Returns true if all were shown. [any thread, before wp_group_free | blocks briefly] */
WP_API bool wp_dump_each(wp_group *group, bool (*each)(void *arg, const wp_dump_thread *thread),
			 void *arg);

/* cdef: begin */
/* Returns the index of the carrier that runs the thread, or that ran it last and does nothing else
 * yet; -1: none. [any thread, before wp_vthread_free | reads a word of each carrier] */
WP_API int wp_dump_carrier(wp_vthread *thread);
/* cdef: end */

enum wp_dump_format { WP_DUMP_TEXT, WP_DUMP_JSON };

/* The default configuration has all fields zero except `fd` or `write`. */
typedef struct wp_dump_config {
	enum wp_dump_format format;
	const char *container; /* the name of the group; NULL: "<root>" */
	uint64_t max_threads;  /* listed one by one; 0: WP_DUMP_THREADS. All are counted */
	uint64_t max_bytes;    /* lists no more threads after this many bytes; 0: no limit */
	int fd;
	/* Used in place of fd. It returns 0; any other result ends the dump. */
	int (*write)(void *arg, const char *text, size_t bytes);
	void *arg;
} wp_dump_config;

/* Writes a dump, with less than a megabyte of memory. Returns WP_OK. Returns WP_SYSTEM and sets
 * errno if there is no memory, or if a write failed and the dump is incomplete. [any thread, before
 * wp_group_free | blocks, as the writes do] */
WP_API int wp_dump(wp_group *group, const wp_dump_config *config);

#endif
