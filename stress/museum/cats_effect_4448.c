/* SPDX-License-Identifier: Apache-2.0
 * cats_effect_4448.c - it may not search, parks, and then stops searching.
 *
 * System     Cats Effect 3.6 (work-stealing pool)
 * Issue      https://github.com/typelevel/cats-effect/issues/4448
 * Year       2025
 * Seen       A pod is "poisoned": its threads idle, and fibers wait.
 * Mechanism  The pool counts the workers that search; who submits a fiber wakes a worker only if
 *            none does. A worker that may not search, as enough others do, parks at once. When its
 *            timer wakes it, it is counted as one that has stopped searching, and it never began.
 *            The count falls below 0, and is not 0 from then on.
 * Claim      A fiber is run if a worker is parked.
 * Shows      asleep asleep asleep */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

enum { WORKERS = 2, SEARCHING = 1, UNPARKED = 0x100 };

static atomic_uint state = UNPARKED; /* one is parked, the other is not; none searches */
static atomic_int fibers;
static sem_t done;
static struct worker {
	bool has_timer;
	atomic_bool is_parked;
	sem_t unparked;
} workers[WORKERS];

static unsigned count_searching(unsigned seen)
{
	return seen % UNPARKED;
}

static bool take_fiber(void)
{
	int seen = fibers;

	return seen && atomic_compare_exchange_strong(&fibers, &seen, seen - 1);
}

static void wake_worker_unless_one_searches(void)
{
	unsigned seen = state;

	if (count_searching(seen) || seen / UNPARKED == WORKERS)
		return;
	for (int i = 0; i < WORKERS; i++)
		if (atomic_exchange(&workers[i].is_parked, false)) {
			state += UNPARKED + SEARCHING;
			sem_post(&workers[i].unparked);
			return;
		}
}

static bool may_search(void)
{
	unsigned seen = state;

	while (2 * count_searching(seen) < seen / UNPARKED)
		if (atomic_compare_exchange_strong(&state, &seen, seen + SEARCHING))
			return true;
	return false;
}

/* Returns whether another thread woke it, and not its timer. */
static bool wait_until_unparked(struct worker *me)
{
	struct timespec soon;

	if (!me->has_timer)
		return !sem_wait(&me->unparked);
	me->has_timer = false;
	clock_gettime(CLOCK_REALTIME, &soon);
	soon.tv_sec++;
	if (!sem_timedwait(&me->unparked, &soon))
		return true;
	if (!atomic_exchange(&me->is_parked, false))
		return !sem_wait(&me->unparked);
	state += UNPARKED;
	return false;
}

static void park(struct worker *me, bool was_searching)
{
	unsigned before;
	bool is_woken;

	me->is_parked = true;
	before = atomic_fetch_sub(&state, UNPARKED + (was_searching ? SEARCHING : 0));
	if (was_searching && count_searching(before) == 1 && fibers)
		wake_worker_unless_one_searches(); /* maybe itself */
	is_woken = wait_until_unparked(me);
#ifdef FIXED
	if (is_woken)
#else
	if (is_woken || !was_searching)
#endif
		state -= SEARCHING;
}

static void run_fiber(void)
{
	sem_post(&done);
}

/* It has searched, and is parked. */
static void *work(void *of)
{
	struct worker *me = of;

	sem_wait(&me->unparked);
	if (take_fiber())
		run_fiber();
	state -= SEARCHING;
	return NULL;
}

/* It was not allowed to search, as the other one did then. */
static void *work_with_timer(void *of)
{
	struct worker *me = of;
	bool is_searching = false;

	while (!take_fiber()) {
		park(me, is_searching);
		is_searching = may_search();
	}
	run_fiber();
	return NULL;
}

int main(void)
{
	pthread_t threads[WORKERS];

	sem_init(&done, 0, 0);
	for (int i = 0; i < WORKERS; i++)
		sem_init(&workers[i].unparked, 0, 0);
	workers[0].is_parked = true;
	workers[1].has_timer = true;
	pthread_create(&threads[0], NULL, work, &workers[0]);
	pthread_create(&threads[1], NULL, work_with_timer, &workers[1]);
	fibers++;
	wake_worker_unless_one_searches();
	sem_wait(&done);
	return 0;
}
