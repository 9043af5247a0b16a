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
 * Why it works  The CPUs are sorted: first one CPU of each physical core, then the second CPU of
 *               each core, and so on. Within these they are sorted by cluster, and clusters by
 *               package. So the first n places are the n best for n carriers, and carriers with
 *               neighbouring indices are neighbours in the machine. Each CPU is in one place, so no
 *               two carriers share a CPU.
 * Not promised  The system may not follow: a CPU may go offline, and affinity may be forbidden. A
 *               virtual machine may report wrong caches.
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
	uint32_t smt;     /* how many of the allowed CPUs of its core come before it */
	uint32_t package; /* socket */
	/* The number of its cluster, the set of CPUs that share a last-level cache. All CPUs
	 * without caches are in one cluster. */
	uint32_t cluster;
} wp_place;

/* Reads the tree under `root` ("" is the machine's own) for the `count` different CPUs of
 * `allowed`. `places` has room for `count` places. Returns how many of the CPUs are online, at
 * least 1. Returns WP_SYSTEM if it fails; then `path`, of WP_TOPOLOGY_PATH bytes, names the file,
 * and errno is ENODEV if none of the CPUs is online, EBADMSG if the contents of the file are
 * malformed, else the reason why the file cannot be read. A CPU without siblings counts as a core;
 * a CPU without a package is in package 0. [any thread | system calls, allocates] */
WP_API int wp_topology_read(const char *root, const uint32_t *allowed, uint32_t count,
			    wp_place *places, char *path);

/* Pins the calling thread to the CPU. Returns WP_OK, or WP_SYSTEM and sets errno. [any thread | a
 * system call] */
WP_API int wp_topology_pin(uint32_t cpu);
/* cdef: end */

#endif
