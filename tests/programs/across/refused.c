/* SPDX-License-Identifier: Apache-2.0
 * refused.c CASE - the system refuses one call, or returns a rare result. Everything that was taken
 * is given back, and errno has the first reason. Link with -Wl,--wrap= of eventfd, malloc, mmap,
 * mprotect, munmap, pthread_create, pthread_join and wp_fence_heavy. Prints what is lost. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sync/channel.h"
#include "wakeup/guard.h"
#include "io/descriptor.h"
#include "pool/pool.h"
#include "thread/stack.h"
#include "base/topology.h"
#include "../vthreads_case.h"
#include "../case_main.h"

/* Number of calls before the one that is refused; negative: none is. */
static int maps_left = -1, guards_left = -1, threads_left = -1;
static int maps; /* that exist */

void *__real_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
	if (refuses_one(&maps_left))
		return MAP_FAILED;
	maps++;
	return __real_mmap(at, bytes, protection, flags, fd, offset);
}

int __real_munmap(void *memory, size_t bytes);
int __wrap_munmap(void *memory, size_t bytes);
int __wrap_munmap(void *memory, size_t bytes)
{
	maps--;
	return __real_munmap(memory, bytes);
}

int __real_mprotect(void *memory, size_t bytes, int protection);
int __wrap_mprotect(void *memory, size_t bytes, int protection);
int __wrap_mprotect(void *memory, size_t bytes, int protection)
{
	if (protection == PROT_NONE && refuses_one(&guards_left))
		return -1;
	return __real_mprotect(memory, bytes, protection);
}

/* Each of the two maps is refused in turn: the start reports it, and gives the other one back. */
CASE(stacks)
{
	wp_stacks_config config = {.max_stacks = 4};

	for (int map = 0; map < 2; map++) {
		wp_stacks *stacks = NULL;

		maps_left = map;
		maps = errno = 0;
		check(wp_stacks_new(&stacks, &config) == WP_SYSTEM && errno == ENOMEM,
		      "that there are no addresses");
		check(stacks == NULL && maps == 0, "what it had mapped");
	}
}

/* A guard page is refused. Its stack gets a canary, and the next one has the mappings that it would
 * have had. */
CASE(guard)
{
	wp_stacks_config config = {.max_stacks = 4, .guard = WP_STACK_PROTECTED, .max_mappings = 2};
	FILE *told = tmpfile();
	wp_stacks *stacks;
	wp_stack *taken[3];
	char line[256];
	int out = dup(STDERR_FILENO), lines = 0;

	check(wp_stacks_new(&stacks, &config) == WP_OK, "a pool");
	check(dup2(fileno(told), STDERR_FILENO) >= 0, "who is told");
	guards_left = 0;
	for (int at = 0; at < 3; at++)
		taken[at] = wp_stacks_take(stacks, NULL);
	dup2(out, STDERR_FILENO);
	close(out);
	for (rewind(told); fgets(line, sizeof(line), told) != NULL; lines++)
		check(strstr(line, "from here on stacks have no guard page") != NULL,
		      "what is said");
	fclose(told);
	check(lines == 1, "one warning for two canaries");
	check(taken[0]->guard == WP_STACK_CANARY, "that it is refused");
	check(taken[1]->guard == WP_STACK_PROTECTED, "the mappings that it did not get");
	check(taken[2]->guard == WP_STACK_CANARY, "that there are mappings for one");
	for (int at = 0; at < 3; at++)
		wp_stacks_give(stacks, NULL, taken[at]);
	wp_stacks_free(stacks);
}

int __real_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
int __wrap_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
			  void *(*body)(void *), void *arg)
{
	return refuses_one(&threads_left) ? EAGAIN
					  : __real_pthread_create(thread, attributes, body, arg);
}

static int joined;

int __real_pthread_join(pthread_t thread, void **result);
int __wrap_pthread_join(pthread_t thread, void **result);
int __wrap_pthread_join(pthread_t thread, void **result)
{
	int code = __real_pthread_join(thread, result);

	joined++;
	errno = EDOM; /* a call that works may leave any value */
	return code;
}

/* The second thread of a pool is refused. The first is ended, and errno holds the reason. */
CASE(pool)
{
	wp_pool_config config;
	wp_pool *pool = NULL;

	wp_pool_config_init(&config);
	config.min = 2;
	threads_left = 1;
	check(wp_pool_new(&config, &pool) == WP_SYSTEM && errno == EAGAIN, "why it was refused");
	check(pool == NULL && joined == 1, "that the first has ended");
}

static bool is_first; /* its descriptor is 0 */

int __real_eventfd(unsigned start, int flags);
int __wrap_eventfd(unsigned start, int flags);
int __wrap_eventfd(unsigned start, int flags)
{
	int event = __real_eventfd(start, flags);

	if (!is_first)
		return event;
	is_first = false;
	check(event > 0 && dup3(event, 0, O_CLOEXEC) == 0, "descriptor 0");
	close(event);
	return 0;
}

/* A process that has closed its standard input gets descriptor 0, which is valid. */
CASE(zero)
{
	open_group(1, false, 0);
	is_first = true;
	check(wp_io_start(group, 0) == WP_OK && !is_first, "a poller");
	join(start(nothing, NULL), "a thread beside the poller");
	check(wp_group_close(group, patience(), false, NULL, NULL) == WP_OK, "its close");
	check(fcntl(0, F_GETFD) >= 0, "that it has descriptor 0");
	wp_group_free(group);
	check(fcntl(0, F_GETFD) < 0 && errno == EBADF, "that descriptor 0 is closed");
}

/* The system refuses the fence of an asymmetric guard after it has allowed it. */
static bool has_no_fence;

bool __real_wp_fence_heavy(void);
bool __wrap_wp_fence_heavy(void);
bool __wrap_wp_fence_heavy(void)
{
	return !has_no_fence && __real_wp_fence_heavy();
}

CASE(fence)
{
	wp_guard guard;

	wp_guard_init(&guard, WP_GUARD_ASYMMETRIC);
	if (guard.fences == WP_GUARD_SYMMETRIC)
		return; /* nor was it ever allowed */
	check(wp_guard_announce(&guard) == WP_OK, "a promise");
	has_no_fence = true;
	check(wp_guard_announce(&guard) == WP_UNSUPPORTED, "that there is no fence");
}

/* The files of a machine are closed, and a CPU that no machine has is refused. */
CASE(descriptors)
{
	static char path[WP_TOPOLOGY_PATH];
	uint32_t allowed = 0;
	wp_place place;
	int before = dup(STDIN_FILENO), after;

	close(before);
	check(wp_topology_read("", &allowed, 1, &place, path) == 1, "this machine's first CPU");
	after = dup(STDIN_FILENO);
	check(before >= 0 && after == before, "that each file is closed");
	errno = 0;
	check(wp_topology_pin(WP_TOPOLOGY_CPUS) == WP_SYSTEM && errno == EINVAL,
	      "that there is no such CPU");
}

/* Two receivers were given items, and are handed back. The channel itself has room for one, and the
 * memory for the other is refused at first. */
static wp_channel channel;
static int rooms_left = -1;

void *__real_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes)
{
	return bytes == sizeof(wp_returned) && refuses_one(&rooms_left) ? NULL
									: __real_malloc(bytes);
}

static int receives(void *arg)
{
	wp_channel_receive_until(&channel, arg, WP_FOREVER);
	lost("that who was handed back does not run");
	return 1;
}

/* Runs until its carrier is stopped. The tasks behind it stay queued, except that the second may
 * have one turn. */
static enum wp_step holds_on(wp_task *task)
{
	wp_store_release(&ready, 1);
	while (!wp_mpsc_has_published(&task->home->carrier.inbox))
		wp_yield();
	return WP_STEP_DONE;
}

static enum wp_step ends(wp_task *task)
{
	return WP_STEP_DONE;
}

CASE(items)
{
	static int items[2];
	static wp_task first, second;
	static void *item;
	wp_vthread *receivers[2];

	wp_channel_init(&channel, NULL, 0);
	open_group(1, false, 0);
	for (int at = 0; at < 2; at++) {
		receivers[at] = start(receives, &item);
		await_parked(receivers[at]);
	}
	wp_task_init(&first, holds_on, "first");
	wp_task_init(&second, ends, "second");
	check(wp_group_start(group, 0, &first) == WP_OK, "a task");
	check(wp_group_start(group, 0, &second) == WP_OK, "a task");
	await(&ready, 1);
	for (int at = 0; at < 2; at++)
		check(wp_channel_try_send(&channel, &items[at]) == WP_OK, "a receiver");
	rooms_left = 0;
	while (wp_group_close(group, 0, true, NULL, NULL) != WP_OK)
		continue;
	check(rooms_left < 0, "that memory was refused");
	for (int at = 0; at < 2; at++)
		check(wp_channel_try_receive(&channel, &item) == WP_OK && item == &items[at],
		      "an item that came back while there was no memory");
	for (int at = 0; at < 2; at++)
		wp_vthread_free(receivers[at]);
	wp_group_free(group);
	wp_channel_fini(&channel);
}
