/* SPDX-License-Identifier: Apache-2.0
 * no_memory.c CASE - the n-th allocation of a start fails, for each n: the start reports it, and
 * nothing is left. Link with -Wl,--wrap= of malloc, calloc, aligned_alloc, realloc and free.
 *
 * Why it works  Allocations and frees of all threads are counted, in any build. Only those of the
 *               thread that starts something fail. */
#include <errno.h>

#include "inspect/dump.h"
#include "io/descriptor.h"
#include "pool/pool.h"
#include "sched/trace.h"
#include "../vthreads_case.h"
#include "../case_main.h"

enum { MOST = 64 };

static wp_atomic(int64_t) live;
static _Thread_local bool may_fail;
static int fails_at, asked;

void *__real_malloc(size_t);
void *__real_calloc(size_t, size_t);
void *__real_aligned_alloc(size_t, size_t);
void *__real_realloc(void *, size_t);
void __real_free(void *);
void *__wrap_malloc(size_t);
void *__wrap_calloc(size_t, size_t);
void *__wrap_aligned_alloc(size_t, size_t);
void *__wrap_realloc(void *, size_t);
void __wrap_free(void *);

static bool fails_now(void)
{
	if (!may_fail || asked++ != fails_at)
		return false;
	errno = ENOMEM;
	return true;
}

static void *counted(void *memory)
{
	if (memory != NULL)
		wp_fetch_add_relaxed(&live, 1);
	return memory;
}

void *__wrap_malloc(size_t bytes)
{
	return fails_now() ? NULL : counted(__real_malloc(bytes));
}

void *__wrap_calloc(size_t many, size_t bytes)
{
	return fails_now() ? NULL : counted(__real_calloc(many, bytes));
}

void *__wrap_aligned_alloc(size_t line, size_t bytes)
{
	return fails_now() ? NULL : counted(__real_aligned_alloc(line, bytes));
}

void *__wrap_realloc(void *memory, size_t bytes)
{
	if (fails_now())
		return NULL;
	return memory == NULL ? counted(__real_realloc(NULL, bytes))
			      : __real_realloc(memory, bytes);
}

void __wrap_free(void *memory)
{
	if (memory != NULL)
		wp_fetch_add_relaxed(&live, -1);
	__real_free(memory);
}

static int make_group(const wp_group_config *config)
{
	int code;

	group = NULL;
	may_fail = true;
	code = wp_group_new(&group, config);
	may_fail = false;
	if (code != WP_OK) {
		check(group == NULL, "that there is no group");
		return code;
	}
	close_group();
	return WP_OK;
}

static int plain_group(void)
{
	return make_group(&(wp_group_config){.carriers = 2});
}

static int whole_group(void)
{
	return make_group(&(wp_group_config){.carriers = 3,
					     .work_stealing = true,
					     .bounded = true,
					     .max_stacks = 64,
					     .spares = 2,
					     .trace_events = 16,
					     .placement = WP_PLACE_CLUSTER_TWO_CHOICES,
					     .load_at_dequeue = true,
					     .place_at_resume = true,
					     .spare_carriers = 1});
}

static int new_pool(void)
{
	wp_pool_config config;
	wp_pool *pool = NULL;
	int code;

	wp_pool_config_init(&config);
	config.min = 2;
	config.max = 4;
	may_fail = true;
	code = wp_pool_new(&config, &pool);
	may_fail = false;
	if (code != WP_OK) {
		check(pool == NULL, "that there is no pool");
		return code;
	}
	check(wp_pool_stop(pool, patience()) == WP_OK, "its stop");
	wp_pool_free(pool);
	return WP_OK;
}

/* Closes the group, and restores errno to what the tested call has left, because the close may
 * wait. */
static int closed(int code)
{
	int failed = errno;

	close_group();
	errno = failed;
	return code;
}

static int trace_on(void)
{
	int code;

	open_group(2, false, 0);
	may_fail = true;
	code = wp_group_trace_on(group, 16);
	if (code == WP_OK)
		code = wp_group_trace_on(group, 64);
	may_fail = false;
	return closed(code);
}

static int to_nowhere(void *arg, const char *text, size_t bytes)
{
	return 0;
}

static int dumped(void)
{
	wp_dump_config config = {.format = WP_DUMP_JSON, .write = to_nowhere};
	int code;

	open_group(2, false, 0);
	may_fail = true;
	code = wp_dump(group, &config);
	may_fail = false;
	return closed(code);
}

static enum wp_step ends(wp_task *task)
{
	return WP_STEP_DONE;
}

static int new_thread_of(wp_vthread_config config)
{
	wp_vthread *thread = NULL;
	int code;

	open_group(1, false, 0);
	may_fail = true;
	code = wp_vthread_new(group, &config, &thread);
	may_fail = false;
	if (code == WP_OK) {
		check(wp_vthread_start(thread) == WP_OK, "its start");
		join(thread, "its end");
	}
	return closed(code);
}

static int new_thread(void)
{
	return new_thread_of((wp_vthread_config){.run = nothing, .carrier = WP_VTHREAD_HERE});
}

/* Without a stack. */
static int new_step(void)
{
	return new_thread_of((wp_vthread_config){.step = ends, .carrier = WP_VTHREAD_HERE});
}

static void each_fails(int (*makes)(void), int least)
{
	int64_t before;

	fails_at = -1;
	check(makes() == WP_OK, "a start with memory");
	before = wp_load_relaxed(&live);
	for (fails_at = 0; fails_at < MOST; fails_at++) {
		int code;

		asked = 0;
		errno = 0;
		code = makes();
		check(wp_load_relaxed(&live) == before, "what it had allocated");
		if (asked <= fails_at) {
			check(code == WP_OK, "that all were made");
			break;
		}
		check(code == WP_SYSTEM && errno == ENOMEM, "that there is no memory");
	}
	check(fails_at >= least && fails_at < MOST, "that each failed once");
}

CASE_CALL(plain, each_fails(plain_group, 3))
CASE_CALL(whole, each_fails(whole_group, 8))
CASE_CALL(pool, each_fails(new_pool, 4))
CASE_CALL(trace, each_fails(trace_on, 6))
CASE_CALL(thread, each_fails(new_thread, 1))
CASE_CALL(step, each_fails(new_step, 1))
CASE_CALL(dump, each_fails(dumped, 1))
