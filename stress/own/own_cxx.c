/* SPDX-License-Identifier: Apache-2.0
 * own_cxx.c - what C++ programs call by the names of their compiler: new, delete, guards of static
 * variables in functions, destructors at the end.
 *
 *   guard    byte 0: the variable is there; byte 1: a lock, held while it is made
 *
 * Why it works  The compiler itself loads byte 0 of a guard, with acquire, before it calls anything.
 *               The lock is released after byte 0 is set, so whoever waited finds the variable there.
 *               Destructors of static variables run when main returns or exits: those that main has
 *               made, the last first, then those of threads that have ended, then those that were
 *               made before main.
 * Spec          none.
 * Evidence      tests/judge/own. */
#include <stdlib.h>

#include "own.h"

#define NEW(name, ...)                                    \
	OWN(void *, name, size_t size, ##__VA_ARGS__)     \
	{                                                 \
		return own_malloc_from(size, 16, OWN_PC); \
	}
#define DELETE(name, ...)                        \
	OWN(void, name, void *at, ##__VA_ARGS__) \
	{                                        \
		own_free_from(at, OWN_PC);       \
	}
NEW(_Znwm)
NEW(_Znam)
NEW(_ZnwmRKSt9nothrow_t, const void *nothrow)
NEW(_ZnamRKSt9nothrow_t, const void *nothrow)
DELETE(_ZdlPv)
DELETE(_ZdaPv)
DELETE(_ZdlPvm, size_t size)
DELETE(_ZdaPvm, size_t size)
DELETE(_ZdlPvSt11align_val_t, size_t alignment)
DELETE(_ZdlPvmSt11align_val_t, size_t size, size_t alignment)

OWN(void *, _ZnwmSt11align_val_t, size_t size, size_t alignment)
{
	return own_malloc_from(size, alignment, OWN_PC);
}

static explore_step lock_step(void)
{
	return (explore_step){.kind = EXPLORE_CAS,
			      .order = EXPLORE_ACQUIRE,
			      .fail_order = EXPLORE_RELAXED,
			      .size = 1,
			      .is_lock = true,
			      .location = OWN_NOTHING,
			      .operand = 1};
}

static void leave(char *guard, bool is_made, const void *from)
{
	if (is_made)
		own_store(guard, 1, 1, EXPLORE_RELEASE, "guard", from);
	own_hold(guard, 2, false);
	own_store(guard + 1, 1, 0, EXPLORE_RELEASE, "guard", from);
}

OWN(int, __cxa_guard_acquire, char *guard)
{
	if (!own_now)
		return !*guard;
	own_step(lock_step(), guard + 1, "guard", OWN_PC);
	own_hold(guard, 2, true);
	if (!own_load(guard, 1, EXPLORE_ACQUIRE, "guard", OWN_PC))
		return 1;
	leave(guard, false, OWN_PC);
	return 0;
}

OWN(void, __cxa_guard_release, char *guard)
{
	if (own_now)
		leave(guard, true, OWN_PC);
	else
		*guard = 1;
}

OWN(void, __cxa_guard_abort, char *guard)
{
	if (own_now)
		leave(guard, false, OWN_PC);
}

OWN(int, __cxa_thread_atexit, void (*destroy)(void *), void *object, void *library)
{
	if (!own_now)
		return 0;
	if (own_now->ends_count == OWN_ENDS) {
		own_refuse("thread %d has more than %d thread_local objects with destructors",
			   own_thread(), OWN_ENDS);
		own_pause();
	}
	own_now->ends[own_now->ends_count].destroy = destroy;
	own_now->ends[own_now->ends_count++].object = object;
	return 0;
}

OWN(int, __cxa_thread_atexit_impl, void (*destroy)(void *), void *object, void *library)
{
	return own____cxa_thread_atexit(destroy, object, library);
}

void own_run_ends(void)
{
	while (own_now->ends_count) {
		own_now->ends_count--;
		own_now->ends[own_now->ends_count].destroy(
			own_now->ends[own_now->ends_count].object);
	}
}

_Noreturn OWN(void, __cxa_pure_virtual, void)
{
	own_fail("calls a pure virtual function", true, false, OWN_PC);
}

static own_exit early[OWN_EXITS]; /* before main */
static int early_count;

static int add_exit(own_exit fresh)
{
	int *count = own_now ? &own_now->exits_count : &early_count;

	if (*count == OWN_EXITS) {
		own_refuse("more than %d static variables with destructors, and functions for "
			   "atexit, of one thread",
			   OWN_EXITS);
		if (own_now)
			own_pause();
		return -1;
	}
	(own_now ? own_now->exits : early)[(*count)++] = fresh;
	return 0;
}

OWN(int, __cxa_atexit, void (*destroy)(void *), void *object, void *library)
{
	return add_exit((own_exit){.destroy = destroy, .object = object});
}

OWN(int, atexit, void (*run)(void))
{
	return add_exit((own_exit){.run = run});
}

static void run_exit(own_exit exit)
{
	if (exit.run)
		exit.run();
	else
		exit.destroy(exit.object);
}

void own_run_exits(void)
{
	while (own_now->exits_count)
		run_exit(own_now->exits[--own_now->exits_count]);
	for (int t = own_program.threads - 1; t > 0; t--)
		for (int i = own_has_ended(t) ? own_fibers[t].exits_count - 1 : -1; i >= 0; i--)
			run_exit(own_fibers[t].exits[i]);
	for (int i = early_count - 1; i >= 0; i--)
		run_exit(early[i]);
}
