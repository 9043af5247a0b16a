/* SPDX-License-Identifier: Apache-2.0
 * own_threads.c - threads of POSIX and C11: create, join, end, keys.
 *
 *   the creator        the new thread        who joins it
 *   create ----------> begin
 *                      end ----------------> join
 *
 * Why it works  A thread is named by its creator and by how many the creator has created before, so
 *               it has the same number in each execution. Create, begin, end and join are steps
 *               without a choice.
 * Spec          none.
 * Evidence      tests/judge/own. */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <threads.h>

#include "own.h"

enum { HANDLE = 0x7f0000, DESTRUCTIONS = 4 };

static struct {
	int creator;
	uint32_t nth;
} paths[EXPLORE_THREADS];
static int threads_count = 1;
static uint64_t starts_count;
static struct { /* a key, too, is named by its creator and by how many that has created before */
	int creator;
	uint32_t nth;
	void (*destroy)(void *);
	bool is_used;
} keys[OWN_KEYS];
static int keys_count;
/* Who has joined or detached each thread, in any execution. */
static uint16_t given_up_by[EXPLORE_THREADS];

void own_unlearn_threads(void)
{
	own_program.threads = threads_count = 1;
	starts_count = 0;
	keys_count = 0;
	memset(given_up_by, 0, sizeof(given_up_by));
}

void own_reset_keys(void)
{
	for (int i = 0; i < OWN_KEYS; i++)
		keys[i].is_used = false;
}

enum { STARTS = 1024 };

static struct {
	void *(*run)(void *);
	void *argument;
} starts[STARTS];

/* `value`: of a create, what the thread begins with; of an end, what a join returns. */
static explore_step link_step(int kind, int thread, uint64_t value)
{
	return (explore_step){.kind = (uint8_t)kind,
			      .size = 8,
			      .location = OWN_NOTHING,
			      .operand = (uint64_t)thread,
			      .expected = value};
}

/* The number of what a thread begins with. */
static uint64_t start_of(void *(*run)(void *), void *argument)
{
	uint64_t i = 0;

	while (i < starts_count && (starts[i].run != run || starts[i].argument != argument))
		i++;
	if (i == STARTS) {
		own_refuse("threads begin with more than %d different arguments", STARTS);
		own_pause();
	}
	starts[i].run = run;
	starts[i].argument = argument;
	starts_count += i == starts_count;
	return i;
}

void *own_start(uint64_t start)
{
	return starts[start].run(starts[start].argument);
}

static int thread_of_path(int creator, uint32_t nth)
{
	int t = 1;

	while (t < threads_count && (paths[t].creator != creator || paths[t].nth != nth))
		t++;
	if (t == threads_count && t < EXPLORE_THREADS) {
		paths[t].creator = creator;
		paths[t].nth = nth;
		own_program.threads = ++threads_count;
		own_program.error = EXPLORE_START_AGAIN;
	}
	return t;
}

/* Scenarios: with which name the next thread is shown (instrument.h). */
static void (*begins_as)(void *, void *);

OWN(void, wp__own_begins, void (*as)(void *, void *))
{
	begins_as = as;
}

OWN(unsigned, wp__own_choose, unsigned n)
{
	explore_step step = {
		.kind = EXPLORE_CHOOSE, .size = 8, .location = OWN_NOTHING, .operand = n};

	return own_now ? (unsigned)own_step(step, NULL, "choose", OWN_PC) : 0;
}

static unsigned long create(void *(*run)(void *), void *argument, const void *from)
{
	int thread = own_now ? thread_of_path(own_thread(), own_now->creates) : EXPLORE_THREADS;

	if (thread == EXPLORE_THREADS) {
		own_refuse(own_now ? "more than %d threads"
				   : "a thread is created before main (%d)",
			   EXPLORE_THREADS);
		own_pause();
	}
	own_now->creates++;
	memcpy(&own_code[thread], begins_as ? (void *)&begins_as : (void *)&run, sizeof(run));
	begins_as = NULL;
	own_step(link_step(EXPLORE_CREATE, thread, start_of(run, argument)), NULL, "create", from);
	return HANDLE + (unsigned long)thread;
}

/* A thread is joined once, or detached once. Which of two attempts is the wrong one may depend on
 * the order in which they are run. As long as only one thread has attempted it, whether that is
 * right follows from what the thread has done itself. */
static own_fiber *give_up(unsigned long handle, const char *what, const void *from)
{
	own_fiber *other = &own_fibers[handle - HANDLE];
	const void *before;
	uint16_t *by, me = (uint16_t)(1u << own_thread());

	if (handle <= HANDLE || handle >= HANDLE + (unsigned long)threads_count)
		own_fail(own_text("%s what is no thread", what), true, false, from);
	by = &given_up_by[handle - HANDLE];
	if (*by && !(*by & me))
		own_program.error = EXPLORE_START_AGAIN;
	*by |= me;
	own_is_pure &= *by == me;
	own_is_causal &= *by == me;
	before = other->joined_from ? other->joined_from : other->detached_from;
	if (before) {
		own_has_raced = true;
		own_fail(own_text("%s thread %d, which was %s at #%lx", what,
				  (int)(handle - HANDLE),
				  other->joined_from ? "joined" : "detached",
				  (unsigned long)(uintptr_t)before),
			 true, false, from);
	}
	own_hold(other, 1, true);
	return other;
}

static void *join(unsigned long handle, const void *from)
{
	give_up(handle, "joins", from)->joined_from = from;
	return (void *)(uintptr_t)own_step(link_step(EXPLORE_JOIN, (int)(handle - HANDLE), 0), NULL,
					   "join", from);
}

static void run_destructors(void)
{
	for (int round = 0; round < DESTRUCTIONS; round++)
		for (int i = 0; i < OWN_KEYS; i++) {
			void *value = own_now->keys[i];

			if (!value || !keys[i].is_used || !keys[i].destroy)
				continue;
			own_now->keys[i] = NULL;
			keys[i].destroy(value);
		}
}

const char *own_why(const char *what, int code)
{
	int other = 1;

	while (other < threads_count && !own_said_size(&own_fibers[other]))
		other++;
	if (other == threads_count)
		return own_text("%s %d%s%.*s", what, code, own_now->said_size ? ": " : "",
				own_said_size(own_now), own_now->said);
	return own_text("%s %d%s%.*s; thread %d: %.*s", what, code, own_now->said_size ? ": " : "",
			own_said_size(own_now), own_now->said, other,
			own_said_size(&own_fibers[other]), own_fibers[other].said);
}

void own_end_thread(void *result, const char *stack)
{
	int code = (int)(intptr_t)result;

	own_run_ends();
	if (own_thread()) {
		run_destructors();
	} else {
		own_run_exits();
		if (code)
			own_fail(own_why("main returns", code), false, false, NULL);
		own_find_leaks(stack);
	}
	own_step(link_step(EXPLORE_END, own_thread(), (uintptr_t)result), NULL, "end", NULL);
	for (;;)
		own_pause();
}

OWN(int, pthread_create, pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
    void *argument)
{
	unsigned long handle = create(run, argument, OWN_PC);

	own_plain((char *)thread, sizeof(*thread), true, false, OWN_PC);
	*thread = handle;
	return 0;
}

OWN(int, pthread_join, pthread_t thread, void **result)
{
	void *value = join(thread, OWN_PC);

	if (result) {
		own_plain((char *)result, sizeof(*result), true, false, OWN_PC);
		*result = value;
	}
	return 0;
}

OWN(int, pthread_detach, pthread_t thread)
{
	give_up(thread, "detaches", OWN_PC)->detached_from = OWN_PC;
	return 0;
}

OWN(int, pthread_setname_np, pthread_t thread, const char *name)
{
	return 0;
}

OWN(pthread_t, pthread_self, void)
{
	return HANDLE + (unsigned long)(own_now ? own_thread() : 0);
}

OWN(int, pthread_equal, pthread_t one, pthread_t other)
{
	return one == other;
}

_Noreturn OWN(void, pthread_exit, void *result)
{
	if (own_thread() == 0) {
		own_refuse("main calls pthread_exit, which is not modelled");
		own_pause();
	}
	own_end_thread(result, NULL);
}

static int key_of_path(int creator, uint32_t nth)
{
	int i = 0;

	while (i < keys_count && (keys[i].creator != creator || keys[i].nth != nth))
		i++;
	if (i == OWN_KEYS)
		return i;
	keys[i].creator = creator;
	keys[i].nth = nth;
	keys_count += i == keys_count;
	return i;
}

OWN(int, pthread_key_create, pthread_key_t *key, void (*destroy)(void *))
{
	int i = own_now ? key_of_path(own_thread(), own_now->keys_created) : OWN_KEYS;

	if (i == OWN_KEYS)
		return EAGAIN;
	own_now->keys_created++;
	own_is_pure = false;
	keys[i].is_used = true;
	keys[i].destroy = destroy;
	own_plain((char *)key, sizeof(*key), true, false, OWN_PC);
	*key = (pthread_key_t)i + 1; /* to Rust, 0 is none */
	return 0;
}

static bool is_key(pthread_key_t key)
{
	return key && key <= OWN_KEYS && keys[key - 1].is_used;
}

OWN(int, pthread_key_delete, pthread_key_t key)
{
	if (!is_key(key))
		return EINVAL;
	keys[key - 1].is_used = false;
	own_is_pure = false;
	return 0;
}

OWN(void *, pthread_getspecific, pthread_key_t key)
{
	return own_now && is_key(key) ? own_now->keys[key - 1] : NULL;
}

OWN(int, pthread_setspecific, pthread_key_t key, const void *value)
{
	if (!own_now || !is_key(key))
		return EINVAL;
	own_now->keys[key - 1] = (void *)(uintptr_t)value;
	return 0;
}

/* C11. */

OWN(int, thrd_create, thrd_t *thread, thrd_start_t run, void *argument)
{
	union {
		thrd_start_t run;
		void *(*as)(void *); /* an int and a pointer are returned in the same register */
	} start = {run};
	unsigned long handle = create(start.as, argument, OWN_PC);

	own_plain((char *)thread, sizeof(*thread), true, false, OWN_PC);
	*thread = handle;
	return thrd_success;
}

OWN(int, thrd_join, thrd_t thread, int *result)
{
	int value = (int)(intptr_t)join(thread, OWN_PC);

	if (result) {
		own_plain((char *)result, sizeof(*result), true, false, OWN_PC);
		*result = value;
	}
	return thrd_success;
}

OWN(int, thrd_detach, thrd_t thread)
{
	give_up(thread, "detaches", OWN_PC)->detached_from = OWN_PC;
	return thrd_success;
}

OWN(thrd_t, thrd_current, void)
{
	return own__pthread_self();
}

OWN(int, thrd_equal, thrd_t one, thrd_t other)
{
	return one == other;
}

_Noreturn OWN(void, thrd_exit, int result)
{
	own__pthread_exit((void *)(intptr_t)result);
}

OWN(int, tss_create, tss_t *key, tss_dtor_t destroy)
{
	return own__pthread_key_create(key, destroy) ? thrd_error : thrd_success;
}

OWN(void *, tss_get, tss_t key)
{
	return own__pthread_getspecific(key);
}

OWN(int, tss_set, tss_t key, void *value)
{
	return own__pthread_setspecific(key, value) ? thrd_error : thrd_success;
}

OWN(void, tss_delete, tss_t key)
{
	own__pthread_key_delete(key);
}
