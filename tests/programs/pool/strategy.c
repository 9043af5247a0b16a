/* SPDX-License-Identifier: Apache-2.0
 * strategy.c CASE - strategies over a pool of OS threads. Prints what is lost.
 *
 * Why it works  Tasks are numbers from 1, and each must run once. `producing` is plain, so two
 *               producers at once are also visible. The pool hands a start to an idle thread at
 *               once, or queues it. It refuses the starts that the case wants refused. */
#include "../case_main.h"
#include "pool/strategy.h"

enum { THREADS = 4, TASKS = 1000, QUEUE = 4 * TASKS };

static wp_strategy strategy;
static wp_atomic(uint32_t) left, next_task, ran, refused, rejected;
static wp_atomic(uint8_t) fates[TASKS + 1];
static uint64_t producing; /* plain */
static wp_atomic(uint32_t) inside;
static enum wp_kind kinds[2];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER;
static uintptr_t queue[QUEUE]; /* 0: a start; else a task */
static uint32_t head, tail, idle;
static bool is_over;
static pthread_t threads[THREADS];

static void *produce(void *arg)
{
	uint32_t many;

	check(wp_fetch_add_relaxed(&inside, 1) == 0, "that one thread produces");
	producing++;
	many = wp_load_relaxed(&left);
	if (many > 0)
		wp_fetch_add_relaxed(&left, (uint32_t)-1);
	wp_fetch_add_relaxed(&inside, (uint32_t)-1);
	return many == 0 ? NULL : (void *)(uintptr_t)(wp_fetch_add_relaxed(&next_task, 1) + 1);
}

static enum wp_kind kind_of(void *arg, void *task)
{
	return kinds[(uintptr_t)task % 2];
}

static void has_fate(void *task)
{
	check(wp_exchange_acquire(&fates[(uintptr_t)task], 1) == 0, "that a task runs once");
	wp_fetch_add_release(&ran, 1);
}

static void run(void *arg, void *task)
{
	if (kind_of(NULL, task) == WP_BLOCKING && wp_is_non_blocking())
		check(false, "that a thread that must not block runs nothing that may");
	has_fate(task);
}

static void reject(void *arg, void *task, int code)
{
	check(code == WP_CLOSED, "why a task is refused");
	wp_fetch_add_relaxed(&rejected, 1);
	has_fate(task);
}

static int offer(uintptr_t what)
{
	pthread_mutex_lock(&lock);
	if (tail - head == QUEUE)
		abort();
	queue[tail++ % QUEUE] = what;
	pthread_cond_signal(&work);
	pthread_mutex_unlock(&lock);
	return WP_OK;
}

static bool is_refused(void)
{
	uint32_t many = wp_load_relaxed(&refused);

	while (many > 0)
		if (wp_cas_relaxed(&refused, &many, many - 1))
			return true;
	return false;
}

static int execute(void *arg, void *task)
{
	return is_refused() ? WP_CLOSED : offer((uintptr_t)task);
}

static int start(void *arg)
{
	return is_refused() ? WP_CLOSED : offer(0);
}

static bool try_start(void *arg)
{
	bool is_free;

	pthread_mutex_lock(&lock);
	is_free = idle > tail - head;
	if (is_free) {
		queue[tail++ % QUEUE] = 0;
		pthread_cond_signal(&work);
	}
	pthread_mutex_unlock(&lock);
	return is_free;
}

static void *member(void *arg)
{
	pthread_mutex_lock(&lock);
	for (;;) {
		uintptr_t what;

		idle++;
		while (head == tail && !is_over)
			pthread_cond_wait(&work, &lock);
		idle--;
		if (head == tail)
			break;
		what = queue[head++ % QUEUE];
		pthread_mutex_unlock(&lock);
		if (what == 0)
			wp_strategy_run(&strategy);
		else
			has_fate((void *)what);
		pthread_mutex_lock(&lock);
	}
	pthread_mutex_unlock(&lock);
	return NULL;
}

static void open_pool(enum wp_strategy_mode mode, enum wp_kind even, enum wp_kind odd)
{
	wp_strategy_init(&strategy, &(wp_strategy_config){.mode = mode,
							  .produce = produce,
							  .kind = kind_of,
							  .run = run,
							  .execute = execute,
							  .reject = reject,
							  .start = start,
							  .try_start = try_start});
	kinds[0] = even;
	kinds[1] = odd;
	memset((void *)fates, 0, sizeof(fates));
	for (int at = 0; at < THREADS; at++)
		if (pthread_create(&threads[at], NULL, member, NULL) != 0)
			abort();
}

/* Closes the pool when every task has run or was reported. */
static void close_pool(uint32_t tasks)
{
	int64_t deadline_ns = patience();

	while (wp_load_acquire(&ran) < tasks || !wp_strategy_is_idle(&strategy)) {
		if (wp_clock_ns() > deadline_ns) {
			printf("lost %u of %u tasks\n", tasks - wp_load_acquire(&ran), tasks);
			exit(1);
		}
		wp_yield();
	}
	pthread_mutex_lock(&lock);
	is_over = true;
	pthread_cond_broadcast(&work);
	pthread_mutex_unlock(&lock);
	for (int at = 0; at < THREADS; at++)
		pthread_join(threads[at], NULL);
	check((int32_t)(wp_load_relaxed(&strategy.word) >> 32) == 0,
	      "that nobody is thought to come");
	is_over = false;
	wp_init(&ran, 0);
	wp_init(&next_task, 0);
}

static uint64_t count(enum wp_consumed how)
{
	return wp_strategy_count(&strategy, how);
}

static void make(uint32_t many)
{
	wp_fetch_add_relaxed(&left, many);
}

/* Each mode, with each pair of kinds: every task runs once, in the way of the mode. */
CASE(modes)
{
	for (enum wp_strategy_mode mode = WP_PRODUCE_CONSUME; mode <= WP_ADAPTIVE; mode++)
		for (unsigned kind = 0; kind < 9; kind++) {
			open_pool(mode, kind % 3, kind / 3);
			for (int each = 0; each < TASKS; each++) {
				make(1);
				if (each % 2 == 0)
					wp_strategy_produce(&strategy);
				else
					check(wp_strategy_dispatch(&strategy) == WP_OK,
					      "a dispatch");
			}
			close_pool(TASKS);
			check(count(WP_CONSUMED) + count(WP_CONSUMED_TAGGED) + count(WP_EXECUTED) +
					      count(WP_HANDED_OVER) ==
				      TASKS,
			      "that each task is counted");
			check(mode != WP_PRODUCE_CONSUME || count(WP_CONSUMED) == TASKS,
			      "that a producer consumes");
			check(mode != WP_PRODUCE_EXECUTE_CONSUME || count(WP_HANDED_OVER) == 0,
			      "that the pool executes");
			check(kind != 4 || count(WP_CONSUMED) == TASKS,
			      "that what never blocks is run where it is produced");
		}
}

static void produce_all(void *arg)
{
	check(wp_is_non_blocking(), "the tag");
	wp_strategy_produce(&strategy);
}

/* The pool has nothing to do, so every request gets a thread at once. */
static void await_idle(void)
{
	int64_t deadline_ns = patience();
	uint32_t many;

	do {
		pthread_mutex_lock(&lock);
		many = idle;
		pthread_mutex_unlock(&lock);
		if (wp_clock_ns() > deadline_ns)
			lost("an idle pool");
	} while (many < THREADS);
}

/* A thread that must not block leaves tasks that may block to the pool. */
CASE(tagged)
{
	open_pool(WP_ADAPTIVE, WP_EITHER, WP_BLOCKING);
	await_idle();
	make(TASKS);
	wp_invoke_non_blocking(produce_all, NULL);
	check(!wp_is_non_blocking(), "that the tag is gone");
	close_pool(TASKS);
	check(count(WP_EXECUTED) == TASKS / 2 && count(WP_CONSUMED) == TASKS / 2,
	      "that it ran what may run there, and no more");
}

/* Two combined tasks count as the one that is harder to place. */
CASE(combined)
{
	static const enum wp_kind combined[3][3] = {
		[WP_BLOCKING] = {WP_BLOCKING, WP_BLOCKING, WP_BLOCKING},
		[WP_NON_BLOCKING] = {WP_BLOCKING, WP_NON_BLOCKING, WP_EITHER},
		[WP_EITHER] = {WP_BLOCKING, WP_EITHER, WP_EITHER},
	};

	for (enum wp_kind one = WP_BLOCKING; one <= WP_EITHER; one++)
		for (enum wp_kind other = WP_BLOCKING; other <= WP_EITHER; other++)
			check(wp_kind_combine(one, other) == combined[one][other], "a kind");
}

/* A pool that refuses: the caller learns it, or the task is reported; no thread relies on it. */
CASE(refused)
{
	uint32_t reported = 0;

	open_pool(WP_PRODUCE_EXECUTE_CONSUME, WP_BLOCKING, WP_NON_BLOCKING);
	for (int each = 0; each < TASKS; each++) {
		make(1);
		wp_fetch_add_relaxed(&refused, each % 3 == 0);
		while (wp_strategy_dispatch(&strategy) != WP_OK)
			reported++;
	}
	close_pool(TASKS);
	check(reported + wp_load_relaxed(&rejected) + wp_load_relaxed(&refused) == (TASKS + 2) / 3,
	      "that each refusal is somebody's to know");
	check(reported > 0, "that a dispatch was refused");
}
