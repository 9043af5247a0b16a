/* SPDX-License-Identifier: Apache-2.0
 * machine.c CASE - the topology that is read from files, which the case writes below the current
 * folder; the part of the CPUs that a pool reserves; and objects in memory that was not zero. */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include "queue/idle_set.h"
#include "sched/placement/placement.h"
#include "../pool/pool_case.h"
#include "../case_main.h"
#include "sched/compensation/spare_carrier.h"
#include "base/topology.h"

enum { CPUS = 4 };

static char root[] = "machine.XXXXXX", path[WP_TOPOLOGY_PATH];
static const uint32_t allowed[CPUS] = {0, 1, 2, 3};
static wp_place places[CPUS];

/* Writes a file of the machine, with its folders. */
static void says(const char *name, const char *text)
{
	char at[256];
	FILE *file;

	snprintf(at, sizeof(at), "%s/sys/devices/system/cpu/%s", root, name);
	for (char *slash = strchr(at + strlen(root) + 1, '/'); slash != NULL;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(at, 0700);
		*slash = '/';
	}
	file = fopen(at, "w");
	if (file == NULL)
		lost("a file");
	fputs(text, file);
	fclose(file);
}

static void cpu_says(int cpu, const char *name, const char *text)
{
	char at[128];

	snprintf(at, sizeof(at), "cpu%d/%s", cpu, name);
	says(at, text);
}

static void begin_machine(const char *online)
{
	if (mkdtemp(root) == NULL)
		lost("a folder");
	says("online", online);
}

static int reads(void)
{
	return wp_topology_read(root, allowed, CPUS, places, path);
}

/* Each CPU has a cache of its own. The CPUs of a package stand together, although their numbers
 * alternate. */
CASE(order)
{
	static const char *const packages[CPUS] = {"0", "1", "0", "1"}, *const each[] = {"0", "1",
											 "2", "3"};
	static const uint32_t in_order[CPUS] = {0, 2, 1, 3};

	begin_machine("0-3\n");
	for (int cpu = 0; cpu < CPUS; cpu++) {
		cpu_says(cpu, "topology/physical_package_id", packages[cpu]);
		cpu_says(cpu, "cache/index0/level", "2");
		cpu_says(cpu, "cache/index0/shared_cpu_list", each[cpu]);
	}
	check(reads() == CPUS, "a CPU");
	for (uint32_t at = 0; at < CPUS; at++) {
		check(places[at].cpu == in_order[at], "the order of packages");
		check(places[at].cluster == at, "the number of a cluster");
	}
}

/* An offline CPU is not listed, in a range or alone. */
CASE(lists)
{
	begin_machine("0-1,3\n");
	check(reads() == 3, "who is offline");
	says("online", "0\n");
	check(reads() == 1, "that one is online");
	says("online", "1-1\n");
	check(reads() == WP_SYSTEM && errno == EBADMSG, "that a range has two ends");
	says("online", "2-1\n");
	check(reads() == WP_SYSTEM && errno == EBADMSG, "that a range goes up");
}

/* A file that cannot be read is named. */
CASE(named)
{
	begin_machine("0-3\n");
	cpu_says(2, "topology/physical_package_id", "one");
	check(reads() == WP_SYSTEM && errno == EBADMSG, "that it is malformed");
	check(strstr(path, "cpu2/topology/physical_package_id") != NULL, "the name of the file");
	strcpy(root, "none");
	check(reads() == WP_SYSTEM && errno == ENOENT, "that there is none");
	check(strstr(path, "sys/devices/system/cpu/online") != NULL, "the name of what lacks");
}

static size_t cpus = 1;

int __real_sched_getaffinity(pid_t process, size_t bytes, cpu_set_t *set);
int __wrap_sched_getaffinity(pid_t process, size_t bytes, cpu_set_t *set);
int __wrap_sched_getaffinity(pid_t process, size_t bytes, cpu_set_t *set)
{
	memset(set, 0, bytes);
	for (size_t cpu = 0; cpu < cpus; cpu++)
		CPU_SET(cpu, set);
	return 0;
}

static uint32_t reserve(uint32_t most)
{
	wp_pool_config config = config_of(0, most, WP_FOREVER, -1);
	uint32_t capacity;

	check(wp_pool_new(&config, &pool) == WP_OK, "a pool");
	capacity = counts().max_leased;
	check(wp_pool_stop(pool, patience()) == WP_OK, "an end");
	wp_pool_free(pool);
	return capacity;
}

/* A power of two that is enough for the CPUs, and for an eighth of the threads. */
CASE(reserved)
{
	cpus = 9;
	check(reserve(200) == 16, "as many as the CPUs, or more");
	check(reserve(32) == 4, "as many as an eighth of the threads");
	check(reserve(2) == 1, "fewer than all");
	cpus = 1;
	check(reserve(200) == 1, "one for one");
}

/* An object that is made in used memory equals one in new memory. */
CASE(used)
{
	wp_placement_slot slots[2];
	wp_placement placement;
	wp_spare_carriers spare_carriers;
	wp_idle_set set;

	memset(&set, 0xa5, sizeof(set));
#ifndef FORGETS
	wp_idle_set_init(&set);
#endif
	check(wp_idle_set_is_empty(&set, WP_IDLESET_BITS * WP_IDLESET_WORDS), "that it is empty");
	memset((void *)&spare_carriers, 0xa5, sizeof(spare_carriers));
	wp_placement_init(&placement, slots, 2, WP_PLACE_TWO_CHOICES, false);
	wp_spare_carriers_init(&spare_carriers, &placement, 1);
	check(!spare_carriers.is_over && wp_load_relaxed(&spare_carriers.lock.state) == 0 &&
		      spare_carriers.counts.most == 1 && spare_carriers.counts.active == 0,
	      "that no replacement is there, and one may be");
}

/* The end of a task changes nothing if its carrier was not marked. */
CASE(unmarked)
{
	wp_placement_slot slot;
	wp_placement placement;

	memset(&slot, 0, sizeof(slot));
	wp_placement_init(&placement, &slot, 1, WP_PLACE_TWO_CHOICES, false);
	wp_placement_begins(&placement, 0);
	check(!wp_placement_ends(&placement, 0), "that nobody has marked it");
	check(wp_placement_mark(&placement, 0), "a mark");
	check(!wp_placement_mark(&placement, 0), "that it is marked");
	wp_placement_begins(&placement, 0);
	check(wp_placement_ends(&placement, 0), "a mark at an end");
}
