/* SPDX-License-Identifier: Apache-2.0
 * topology.h - the CPUs that carriers may be pinned to, in the order in which they are placed.
 *
 *   whoever makes a group                        carrier i, in the group's bind
 *   read sys/devices/system/cpu:                 pin the calling thread to places[i].cpu
 *     online, and for each CPU                   refused: it goes on, unpinned
 *     its siblings in the core, its package,
 *     who shares its cache of highest level
 *   sort; carrier i belongs to places[i]
 *
 * Why it works  The order is: first CPUs of physical cores, then second ones, and so on; within
 *               that by cluster, clusters by package. So the first n places are the n best for n
 *               carriers, and neighbours by index are neighbours in the machine. Each CPU is in
 *               one place, so no two carriers share one.
 * Not promised  That the system agrees: CPUs go offline, and affinity can be forbidden. That a
 *               virtual machine tells the truth about its caches.
 * Spec          none: nothing here is shared between threads.
 * Evidence      tests/base/test_topology.py: fake trees under a root of their own. */
#ifndef WP_TOPOLOGY_H
#define WP_TOPOLOGY_H

#include <stdint.h>

#include "base/api.h"

/* cdef: begin */
enum {
	WP_TOPOLOGY_CPUS = 8192, /* the most that Linux can be built for on x86-64 */
	WP_TOPOLOGY_PATH = 4096, /* bytes of a path, with the zero at its end */
};

/* Where a carrier may sit. 20 bytes. */
typedef struct wp_place {
	uint32_t cpu;
	uint32_t core;    /* the lowest CPU of its physical core */
	uint32_t smt;     /* how many allowed CPUs of its core stand before it */
	uint32_t package; /* socket */
	uint32_t cluster; /* who shares a last-level cache; 0: also all without caches */
} wp_place;

/* Reads the tree under `root` ("" is the machine's own) for the `count` different CPUs of
 * `allowed`; `places` has room for as many. Says how many of them are online, at least 1; or
 * WP_SYSTEM, and `path`, of WP_TOPOLOGY_PATH bytes, names the file. errno ENODEV: none of them is
 * online; EBADMSG: its contents are malformed; else why it cannot be read. A CPU without siblings
 * is a core; without a package it is in package 0. [any thread | system calls, allocates] */
WP_API int wp_topology_read(const char *root, const uint32_t *allowed, uint32_t count,
			    wp_place *places, char *path);

/* Pins the calling thread. WP_OK, or WP_SYSTEM and errno. [any thread | a system call] */
WP_API int wp_topology_pin(uint32_t cpu);
/* cdef: end */

#endif
