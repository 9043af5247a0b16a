/* SPDX-License-Identifier: Apache-2.0
 * memory.c - a million parked tasks: the memory that each takes, by the system's own account, page
 * tables included; and the CPU time of a start and a park. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "carriers.h"
#include "memory.h"

enum { MILLION = 1000000 };

static wp_group *group;
static uint32_t runs, many;
static wp_atomic(uint32_t) parked;
static double bytes_each;

/* Each parks twice, on one carrier, in the order of their starts. */
static enum wp_step park_once(wp_task *task)
{
	(void)task;
	if (runs++ >= many)
		return WP_STEP_DONE;
	if (runs == many)
		carriers_count(&parked);
	return WP_STEP_PARK;
}

double memory_resident_kb(void)
{
	FILE *status = fopen("/proc/self/status", "r");
	char line[128];
	double sum = 0, kb;

	if (status == NULL)
		bench_fail("no /proc");
	while (fgets(line, sizeof(line), status) != NULL)
		if (sscanf(line, "VmRSS: %lf", &kb) == 1 || sscanf(line, "VmPTE: %lf", &kb) == 1)
			sum += kb;
	fclose(status);
	return sum;
}

static double start_and_park(wp_task *tasks)
{
	double start = carriers_process_ns(), ns, before_kb = memory_resident_kb();

	runs = 0;
	wp_init(&parked, 0);
	wp_init(&carriers_ended, 0);
	for (uint32_t k = 0; k < many; k++) {
		wp_task_init(&tasks[k], park_once, NULL);
		tasks[k].ended = k + 1 == many ? carriers_count_end : NULL;
		carriers_start(group, 1, &tasks[k]);
	}
	carriers_await(&parked, 1);
	ns = carriers_process_ns() - start;
	bytes_each = (memory_resident_kb() - before_kb) * 1024 / many;
	return ns;
}

static double ours(uint64_t ops)
{
	size_t bytes = MILLION * sizeof(wp_task);
	wp_task *tasks =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	double ns;

	if (tasks == MAP_FAILED)
		bench_fail("no memory");
	group = carriers_of_two(false);
	many = ops < MILLION ? (uint32_t)ops : MILLION;
	ns = start_and_park(tasks);
	for (uint32_t k = 0; k < many; k++)
		wp_task_unpark(&tasks[k]);
	carriers_await(&carriers_ended, 1);
	munmap(tasks, bytes);
	return ns * (double)ops / many;
}

const bench_row bench_memory[] = {
	{.name = "memory",
	 .sides = {{"ours", ours}, {"300ns", .goal_ns = 300}},
	 .counts = {{"bytes", &bytes_each}}},
	{.name = NULL},
};
