/* SPDX-License-Identifier: Apache-2.0
 * steps.h - what each carrier runs in Python now, and since when; for own.c only.
 *
 *   carrier, before a step   number, since; step := a new id
 *   watchdog (steps)         step? number, since; is it still that step? then it is one to list
 *   carrier, after the step  step := 0; longer than LONG_MS? call Python's `lasted`
 *
 * Why it works   A carrier's record is in a list from its first step to the end of its OS thread,
 *                under a mutex that a step never takes. The words are read while they may change;
 *                what was read counts only if the id was the same before and after.
 * Not promised   That a listed step has not ended meanwhile. The clock ticks each 1 to 10 ms.
 * Evidence       tests/python/test_watchdog.py. */
#ifndef WP__STEPS_H
#define WP__STEPS_H

#include <pthread.h>
#include <time.h>

#include "free.h"

enum { LONG_MS = 100 }; /* a step that takes longer is counted */

typedef struct running {
	struct running *next, **back;
	uint64_t step; /* its id; 0: none */
	uint64_t number;
	int64_t since_ms; /* follows: since the last one ended */
	unsigned long os_thread;
	bool follows; /* the next step begins where the last one ended */
} running;

static _Thread_local running *runs;
static pthread_key_t runs_ends;
static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER; /* guards next and back */
static running *all;
static uint64_t last_step;
static PyObject *lasted; /* Python's, called after a long step: virtual thread, ms */

static void enlist(running *one)
{
	one->next = all;
	one->back = &all;
	if (all != NULL)
		all->back = &one->next;
	all = one;
}

static void forget_running(void *arg)
{
	running *one = arg;

	runs = NULL;
	pthread_mutex_lock(&all_lock);
	*one->back = one->next;
	if (one->next != NULL)
		one->next->back = one->back;
	pthread_mutex_unlock(&all_lock);
	free(one);
}

/* A forked child has one OS thread; what the others had stays in memory. */
static void forget_others(void)
{
	pthread_mutex_init(&all_lock, NULL);
	all = NULL;
	if (runs != NULL) {
		enlist(runs);
		PUT(runs->step, 0);
	}
}

static bool begin_steps(void)
{
	return pthread_key_create(&runs_ends, forget_running) == 0 &&
	       pthread_atfork(NULL, NULL, forget_others) == 0;
}

/* Ticks each few ms; costs 7 ns where the exact clock costs 36. */
static int64_t coarse_ms(void)
{
	struct timespec now = {0};

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Without memory the step is not listed. */
static void step_begins(uint64_t number)
{
	if (runs == NULL) {
		runs = calloc(1, sizeof *runs);
		if (runs == NULL || pthread_setspecific(runs_ends, runs) != 0) {
			free(runs);
			runs = NULL;
			return;
		}
		runs->os_thread = PyThread_get_thread_ident();
		pthread_mutex_lock(&all_lock);
		enlist(runs);
		pthread_mutex_unlock(&all_lock);
	}
	PUT(runs->number, number);
	if (!runs->follows)
		PUT(runs->since_ms, coarse_ms());
	PUBLISH(runs->step, ADD(last_step, 1));
}

static void step_ends(PyObject *thread)
{
	PyObject *said;
	int64_t now_ms = coarse_ms(), took_ms;

	if (runs == NULL)
		return;
	took_ms = now_ms - runs->since_ms;
	PUT(runs->step, 0);
	PUT(runs->since_ms, now_ms);
	runs->follows = true;
	if (took_ms <= LONG_MS || lasted == NULL || thread == NULL)
		return;
	said = PyObject_CallFunction(lasted, "OL", thread, (long long)took_ms);
	if (said == NULL)
		PyErr_WriteUnraisable(lasted);
	Py_XDECREF(said);
}

typedef struct step_seen {
	unsigned long os_thread;
	unsigned long long step, number;
	int64_t since_ms;
} step_seen;

/* Copies the steps that run now to memory that the caller frees; NULL: no memory. */
static step_seen *seen_steps(size_t *count)
{
	step_seen *found;
	size_t most = 1; /* never none: malloc(0) may give NULL */

	pthread_mutex_lock(&all_lock);
	for (running *one = all; one != NULL; one = one->next)
		most++;
	found = malloc(most * sizeof *found);
	for (running *one = all; one != NULL && found != NULL; one = one->next) {
		uint64_t step = LOOK_FOR(one->step);
		step_seen seen = {one->os_thread, step, LOOK(one->number), LOOK(one->since_ms)};

		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (step != 0 && LOOK(one->step) == step)
			found[(*count)++] = seen;
	}
	pthread_mutex_unlock(&all_lock);
	return found;
}

static PyObject *steps(PyObject *module, PyObject *nothing)
{
	size_t count = 0;
	step_seen *seen = seen_steps(&count);
	PyObject *found = seen == NULL ? PyErr_NoMemory() : PyList_New(0);
	int64_t now_ms = coarse_ms();

	(void)module;
	(void)nothing;
	for (size_t at = 0; at < count && found != NULL; at++) {
		PyObject *each =
			Py_BuildValue("kKLK", seen[at].os_thread, seen[at].step,
				      (long long)(now_ms - seen[at].since_ms), seen[at].number);

		if (each == NULL || PyList_Append(found, each) != 0)
			Py_CLEAR(found);
		Py_XDECREF(each);
	}
	free(seen);
	return found;
}

static PyObject *count_long(PyObject *module, PyObject *called)
{
	(void)module;
	Py_XSETREF(lasted, Py_NewRef(called));
	Py_RETURN_NONE;
}

#endif
