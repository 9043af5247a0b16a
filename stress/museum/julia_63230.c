/* SPDX-License-Identifier: Apache-2.0
 * julia_63230.c - the lock is taken by the one who should be woken, for something else.
 *
 * System     Julia 1.12 and 1.13 (scheduler and event loop)
 * Issue      https://github.com/JuliaLang/julia/pull/63230
 * Year       2026
 * Seen       All threads sleep for hours, with a socket to be read.
 * Mechanism  One thread runs the event loop. A worker that has started I/O wakes it, but only if
 *            nobody has the lock of the event loop: the owner would take care. The owner may be
 *            that thread itself, after its event loop had nothing to do: a finalizer closes a
 *            handle. It sleeps after that, and the loop has something to do.
 * Claim      The event loop is run if it has something to do.
 * Shows      asleep asleep asleep */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* of the event loop */
static atomic_bool has_owner;
static int active_handles; /* under the mutex */
static sem_t wakeup;       /* of the thread that runs the event loop */

static void lock(void)
{
	pthread_mutex_lock(&mutex);
	has_owner = true;
}

static void unlock(void)
{
	has_owner = false;
	pthread_mutex_unlock(&mutex);
}

/* Returns whether it had something to do. */
static bool run_loop(void)
{
	bool is_alive;

	lock();
	is_alive = active_handles;
	unlock();
	return is_alive;
}

static void run_finalizer(void)
{
	lock(); /* to close a handle that nobody uses */
	unlock();
}

static void *serve(void *unused)
{
	while (!run_loop()) {
		run_finalizer();
		sem_wait(&wakeup);
	}
	return unused;
}

static void wake_if_needed(void)
{
#ifdef FIXED
	bool is_alive = true;

	if (!pthread_mutex_trylock(&mutex)) {
		is_alive = active_handles;
		pthread_mutex_unlock(&mutex);
	}
	if (is_alive)
		sem_post(&wakeup);
#else
	if (!has_owner)
		sem_post(&wakeup);
#endif
}

static void start_input(void)
{
	lock();
	active_handles++;
	unlock();
	wake_if_needed(); /* before it sleeps itself */
}

int main(void)
{
	pthread_t io_thread;

	sem_init(&wakeup, 0, 0);
	pthread_create(&io_thread, NULL, serve, NULL);
	start_input();
	pthread_join(io_thread, NULL);
	return 0;
}
