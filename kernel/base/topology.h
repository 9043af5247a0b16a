/* SPDX-License-Identifier: Apache-2.0
 * topology.h - the CPUs that carriers may be pinned to, in the order in which they are used.
 *
 *   maker of a group                             carrier i, in the group's bind
 *   read sys/devices/system/cpu:                 pin the calling thread to places[i].cpu
 *     online, and for each CPU                   refused: it continues unpinned
 *     its siblings in the core, its package,
 *     the CPUs that share its highest cache
 *   sort; carrier i belongs to places[i]
 *
 * Why it works  The order is: first CPUs of physical cores, then second ones, and so on; within
 *               that by cluster, and clusters by package. So the first n places are the n best for
 *               n carriers, and carriers with neighbouring indices are neighbours in the machine.
 *               Each CPU is in one place, so no two carriers share a CPU.
 * Not promised  That the system agrees: CPUs go offline, and affinity can be forbidden. That a
 *               virtual machine tells the truth about its caches.
 * Spec          None: nothing here is shared between threads.
 * Evidence      tests/base/test_topology.py, on fake trees under a root of their own. */
#ifndef WP_TOPOLOGY_H
#define WP_TOPOLOGY_H

#include <stdint.h>

#include "base/api.h"

/* cdef: begin */
enum {
	WP_TOPOLOGY_CPUS = 8192, /* the most that Linux can be built for on x86-64 */
	WP_TOPOLOGY_PATH = 4096, /* bytes of a path, with the zero at its end */
};

/* A CPU for a carrier. 20 bytes. */
typedef struct wp_place {
	uint32_t cpu;
	uint32_t core;    /* the lowest CPU of its physical core */
	uint32_t smt;     /* rank in its core: the number of allowed CPUs of the core before it */
	uint32_t package; /* socket */
	/* Number of the group of CPUs that share a last-level cache. All CPUs without caches share
	 * one. */
	uint32_t cluster;
} wp_place;

/* Reads the tree under `root` ("" is the machine's own) for the `count` different CPUs of
 * `allowed`; `places` has room for as many. Returns how many of them are online, at least 1; or
 * WP_SYSTEM, and then `path`, of WP_TOPOLOGY_PATH bytes, names the file. errno is ENODEV if none of
 * them is online, EBADMSG if the contents of the file are malformed, else the reason why it cannot
 * be read. A CPU without siblings is a core; a CPU without a package is in package 0.
 * [any thread | system calls, allocates] */
WP_API int wp_topology_read(const char *root, const uint32_t *allowed, uint32_t count,
			    wp_place *places, char *path);

/* Pins the calling thread to the CPU. WP_OK, or WP_SYSTEM and errno.
 * [any thread | a system call] */
WP_API int wp_topology_pin(uint32_t cpu);
/* cdef: end */

#endif
