/* SPDX-License-Identifier: Apache-2.0
 * watch.h - waits for descriptors that belong to the user, who may close them or give their numbers to
 * other files at any time. A descriptor stays registered with a poller between the waits.
 *
 *   a call that may wait                         closed(number): before a close that we know of
 *     enter: the watch of this number at the       remove the registration; files + 1
 *       poller of the thread's home                wake all that wait
 *     seen := edges; try the call
 *     would block: mine := add(watch)            add(watch)
 *       in line; park, no longer than `until`      register the number with the poller, edge-triggered
 *     woken: add(watch) = mine?                    is refused, it is registered: as before
 *       no: its file was closed (EBADF)            else files + 1; wake all that wait
 *       yes: seen := edges; try again              return files
 *   leave
 *
 * Why it works   The system keeps a registration under the open file and the number together, and drops it
 *                when the file is closed for good. So an `add` that is refused with EEXIST says, in one
 *                system call, that the number names a file that is registered; and one that is not
 *                refused says that it names another one than before. That does not depend on who closed
 *                the old one: Python, C or another thread. `files` tells a thread that waited for an
 *                earlier one, so it never takes what belongs to the later one.
 *                A new registration reports what is ready already, and an old one each arrival after the
 *                last try: as readiness.h.
 *                Nothing reports the close of the file for which a thread waits, unless `closed` is
 *                called. So the thread looks again by itself (`until`): first after 0.1 s, then after as
 *                long again as it has waited. That is some 20 looks in a day, and no close is found
 *                later than after twice the time.
 *                A registration cannot be removed by its number once that names another file, and lives
 *                on if the old file has copies (dup, fork). Its events come to the watch of the number
 *                and wake threads for nothing. So watches stay until their group is closed.
 * Not promised   If code in C gives the number, during one wait, to another file and then to a copy of a
 *                file that it named before, the thread takes that for its own.
 * Fork           The child has the parent's epolls: it forgets all watches, and leaves them in memory.
 * Spec           specs/io/Descriptor.tla (ReadinessNotLost).
 * Evidence       tests/io/test_watches.py, tests/io/test_standard_io.py. */
#ifndef WP__WATCH_H
#define WP__WATCH_H

#include "io.h"

/* cdef: begin */
/* The watch of that number at the poller of the thread's home, entered: wp_io_exit or wp__io_pass_and_exit
 * ends that. NULL, and errno; ENXIO: there are no pollers; ESHUTDOWN: they have ended. [that thread | blocks
 * briefly] */
wp_io *wp__watch_enter(wp_vthread *thread, int fd);
/* See above. How many files the number was seen to name; or -errno: EPERM, the driver refuses such a file;
 * EEXIST, another wp_io has it registered with this poller. [between enter and exit | a system call] */
int64_t wp__watch_add(wp_io *watch);
/* When a thread that waits since then must look again: at the deadline, or before. [any thread | wait-free] */
int64_t wp__watch_until(int64_t since_ns, int64_t deadline_ns);
/* The number is about to name another file, or none. [any thread | system calls if it is watched] */
void wp__watch_closed(int fd);
/* The group is closed: let go of its pollers. [its closer | blocks briefly] */
void wp__watch_end(wp_group *group);
/* [a forked child, before it has other threads | wait-free] */
void wp__watch_forked(void);
/* For tests: the first look comes after that time; the time before. [one thread] */
int64_t wp__watch_first_look(int64_t after_ns);
/* cdef: end */

#endif
