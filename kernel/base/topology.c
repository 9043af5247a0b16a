/* SPDX-License-Identifier: Apache-2.0
 * topology.c - reads sysfs strictly, and sorts the CPUs. Not explored: it makes system calls, and
 * shares nothing. */
#define _GNU_SOURCE
#include "base/topology.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"

enum {
	TEXT = 65536, /* bytes of a file; a list of 8,192 CPUs fits, whichever they are */
	CACHES = 64,  /* of one CPU that are read; real CPUs have 4 or 5 */
};

/* The file that is being read. */
typedef struct reader {
	const char *root;
	char *path;
	char text[TEXT];
} reader;

typedef struct cpu_set {
	bool has[WP_TOPOLOGY_CPUS];
} cpu_set;

static int malformed(void)
{
	errno = EBADMSG;
	return WP_SYSTEM;
}

/* Reads the whole file, which must be shorter than TEXT, and drops the newline at its end. */
static int read_text(reader *file, int descriptor)
{
	size_t size = 0;
	ssize_t got;

	do {
		got = read(descriptor, file->text + size, TEXT - size);
		if (got < 0)
			return WP_SYSTEM;
		size += (size_t)got;
	} while (got != 0 && size < TEXT);
	if (size == TEXT || memchr(file->text, '\0', size) != NULL)
		return malformed();
	if (size > 0 && file->text[size - 1] == '\n')
		size--;
	file->text[size] = '\0';
	return WP_OK;
}

/* Fills path and text. Returns WP_OK, or WP_SYSTEM and errno. */
static int read_file(reader *file, const char *name)
{
	int length = snprintf(file->path, WP_TOPOLOGY_PATH, "%s/sys/devices/system/cpu/%s",
			      file->root, name);
	int descriptor, code, error;

	if (length < 0 || length >= WP_TOPOLOGY_PATH) {
		errno = ENAMETOOLONG;
		return WP_SYSTEM;
	}
	descriptor = open(file->path, O_RDONLY | O_CLOEXEC);
	if (descriptor < 0)
		return WP_SYSTEM;
	code = read_text(file, descriptor);
	error = errno;
	close(descriptor);
	errno = error;
	return code;
}

/* Parses plain digits of a number below `limit` at *at, and moves *at behind them. */
static bool parse_number(const char **at, uint32_t limit, uint32_t *number)
{
	const char *from = *at;
	uint64_t value = 0;

	for (; **at >= '0' && **at <= '9' && value < limit; ++*at)
		value = value * 10 + (uint64_t)(**at - '0');
	*number = (uint32_t)value;
	return *at != from && value < limit;
}

/* Parses "0-3,8": at least one number or range, in ascending order. Returns true if the text is
 * such a list; then *lowest is its first CPU, and `set`, unless NULL, has all of them. */
static bool parse_list(const char *text, cpu_set *set, uint32_t *lowest)
{
	uint32_t first, last, above = 0;

	if (set != NULL)
		memset(set, 0, sizeof(*set));
	for (;; text++) {
		if (!parse_number(&text, WP_TOPOLOGY_CPUS, &first) || first < above)
			return false;
		last = first;
		if (*text == '-') {
			text++;
			if (!parse_number(&text, WP_TOPOLOGY_CPUS, &last) || last <= first)
				return false;
		}
		if (above == 0)
			*lowest = first;
		above = last + 1;
		for (uint32_t cpu = first; set != NULL && cpu <= last; cpu++)
			set->has[cpu] = true;
		if (*text != ',')
			return *text == '\0';
	}
}

/* Reads a file of one CPU. A tree may lack the file: then the text is empty, which no well-formed
 * file is. */
static int read_of(reader *file, uint32_t cpu, const char *name)
{
	char of_cpu[64];
	int code;

	snprintf(of_cpu, sizeof(of_cpu), "cpu%u/%s", cpu, name);
	code = read_file(file, of_cpu);
	if (code == WP_OK)
		return file->text[0] != '\0' ? WP_OK : malformed();
	file->text[0] = '\0';
	return errno == ENOENT || errno == ENOTDIR ? WP_OK : code;
}

/* Reads the first of the CPUs that a file lists. Without the file *lowest is unchanged. */
static int read_lowest(reader *file, uint32_t cpu, const char *name, uint32_t *lowest)
{
	if (read_of(file, cpu, name) != WP_OK)
		return WP_SYSTEM;
	return file->text[0] == '\0' || parse_list(file->text, NULL, lowest) ? WP_OK : malformed();
}

/* Reads a number. Without the file, or at -1, with which some systems mean none, *number is
 * unchanged. */
static int read_number(reader *file, uint32_t cpu, const char *name, uint32_t *number)
{
	const char *at = file->text;

	if (read_of(file, cpu, name) != WP_OK)
		return WP_SYSTEM;
	if (*at == '\0' || strcmp(at, "-1") == 0)
		return WP_OK;
	return parse_number(&at, UINT32_MAX, number) && *at == '\0' ? WP_OK : malformed();
}

/* Sets the cluster to 1 + the lowest CPU that shares the cache of the highest level, or to 0 if the
 * CPU has no cache. */
static int read_cluster(reader *file, wp_place *place)
{
	uint32_t highest = 0;

	for (unsigned cache = 0; cache < CACHES; cache++) {
		uint32_t level = 0, lowest = WP_TOPOLOGY_CPUS;
		char name[48];

		snprintf(name, sizeof(name), "cache/index%u/level", cache);
		if (read_number(file, place->cpu, name, &level) != WP_OK)
			return WP_SYSTEM;
		if (level == 0)
			break;
		snprintf(name, sizeof(name), "cache/index%u/shared_cpu_list", cache);
		if (read_lowest(file, place->cpu, name, &lowest) != WP_OK)
			return WP_SYSTEM;
		if (level < highest || lowest == WP_TOPOLOGY_CPUS)
			continue;
		highest = level;
		place->cluster = lowest + 1;
	}
	return WP_OK;
}

static int read_place(reader *file, uint32_t cpu, wp_place *place)
{
	*place = (wp_place){.cpu = cpu, .core = cpu};
	if (read_lowest(file, cpu, "topology/thread_siblings_list", &place->core) != WP_OK ||
	    read_number(file, cpu, "topology/physical_package_id", &place->package) != WP_OK)
		return WP_SYSTEM;
	return read_cluster(file, place);
}

static int compare(uint32_t left, uint32_t right)
{
	return (left > right) - (left < right);
}

/* Orders by cluster as it was read, clusters by package, and keeps the CPUs of a core together. */
static int by_cluster(const void *left_at, const void *right_at)
{
	const wp_place *left = left_at, *right = right_at;
	int order = compare(left->cluster != 0, right->cluster != 0);

	if (order == 0 && left->cluster != 0)
		order = compare(left->package, right->package);
	if (order == 0)
		order = compare(left->cluster, right->cluster);
	if (order == 0)
		order = compare(left->core, right->core);
	return order != 0 ? order : compare(left->cpu, right->cpu);
}

/* Orders by rank in the core, then as above. By now clusters are numbers in that order. */
static int by_rank(const void *left_at, const void *right_at)
{
	const wp_place *left = left_at, *right = right_at;
	int order = compare(left->smt, right->smt);

	if (order == 0)
		order = compare(left->cluster, right->cluster);
	if (order == 0)
		order = compare(left->core, right->core);
	return order != 0 ? order : compare(left->cpu, right->cpu);
}

static void put_in_order(wp_place *places, uint32_t count)
{
	uint32_t number = 0, read_as = 0;

	qsort(places, count, sizeof(*places), by_cluster);
	for (uint32_t index = 0; index < count; index++) {
		wp_place *place = &places[index];

		if (index > 0 && place->cluster != read_as)
			number++;
		read_as = place->cluster;
		place->cluster = number;
		if (index > 0 && place->core == place[-1].core)
			place->smt = place[-1].smt + 1;
	}
	qsort(places, count, sizeof(*places), by_rank);
}

static int read_all(reader *file, cpu_set *online, const uint32_t *allowed, uint32_t count,
		    wp_place *places)
{
	uint32_t lowest, found = 0;

	if (read_file(file, "online") != WP_OK)
		return WP_SYSTEM;
	if (!parse_list(file->text, online, &lowest))
		return malformed();
	for (uint32_t index = 0; index < count; index++) {
		if (allowed[index] >= WP_TOPOLOGY_CPUS || !online->has[allowed[index]])
			continue;
		if (read_place(file, allowed[index], &places[found++]) != WP_OK)
			return WP_SYSTEM;
	}
	if (found == 0) {
		errno = ENODEV;
		return WP_SYSTEM;
	}
	put_in_order(places, found);
	return (int)found;
}

int wp_topology_read(const char *root, const uint32_t *allowed, uint32_t count, wp_place *places,
		     char *path)
{
	reader *file = malloc(sizeof(*file));
	cpu_set *online = malloc(sizeof(*online));
	int code = WP_SYSTEM, error;

	path[0] = '\0';
	if (file != NULL && online != NULL) {
		file->root = root;
		file->path = path;
		code = read_all(file, online, allowed, count, places);
	}
	error = errno;
	free(file);
	free(online);
	errno = error;
	return code;
}

int wp_topology_pin(uint32_t cpu)
{
	cpu_set_t only[WP_TOPOLOGY_CPUS / CPU_SETSIZE];

	if (cpu >= WP_TOPOLOGY_CPUS) {
		errno = EINVAL;
		return WP_SYSTEM;
	}
	CPU_ZERO_S(sizeof(only), only);
	CPU_SET_S(cpu, sizeof(only), only);
	return sched_setaffinity(0, sizeof(only), only) == 0 ? WP_OK : WP_SYSTEM;
}
