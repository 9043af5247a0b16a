/* SPDX-License-Identifier: Apache-2.0
 * pool.h - a pool of OS threads that grows and shrinks, with one unbounded queue of jobs.
 *
 *   execute, by any thread                    pool thread, for each job
 *   under the lock                            under the lock
 *     closed: WP_CLOSED                         a job is queued: take it
 *     fewer than `max` threads, and no more     closed: leave
 *     idle ones than jobs are queued: start     idle too long, and there are more than `min`
 *     a thread with this job                    threads, and it may leave now: leave
 *       refused: queue the job; or, if there    else rest: sleep until chosen or timeout
 *       is no thread, return the error            timeout, but chosen: wait for the unpark
 *     else queue the job; if more jobs are    run the job
 *     queued than threads are coming, choose
 *     a resting thread                        close, under the lock: choose all resting threads
 *   unpark the chosen thread                    each thread leaves once the queue is empty
 *
 *   state     meaning
 *   BUSY      The thread runs a job.
 *   COMING    The thread will check the queue before it rests or leaves, but has not yet.
 *   RESTING   The thread sleeps, and can be chosen.
 *
 * A thread is idle if it is COMING or RESTING.
 *
 * Usage         wp_pool_new(&(wp_pool_config){0}, &pool);                   8 to 200 threads
 *               wp_pool_execute(pool, &(wp_job){.run = work, .arg = order});
 *               if (wp_pool_stop(pool, wp_deadline_in(5000000000)) == WP_OK)
 *                       wp_pool_free(pool);
 *
 * Why it works  One lock guards the queue, the counts and the list of resting threads. It is held
 *               even while a thread is started, which is rare. So a job is queued only if there is
 *               a thread, and a thread that finds the queue empty leaves, rests or is counted in
 *               the same step. While a thread rests, no more jobs are queued than threads are
 *               coming.
 *               A chosen thread no longer counts as resting. It waits for its unpark even when its
 *               time is over, because the unpark is the last access to it (parker.h).
 *               The thread that has rested for the shortest time is chosen. So a few threads do the
 *               work if a few are enough, and the others time out although there is always work.
 * Prior art     Jetty's QueuedThreadPool, which has the same kinds of counts.
 * Not promised  There may be no progress if all threads wait for a job that is queued (WP_BLOCKING
 *               jobs of a strategy; `max`). A close does not interrupt a running job, so the job
 *               may never end. Jobs of several threads run in no fixed order. After fork(2) the
 *               pool cannot be used in the child, which has none of its threads.
 * Spec          specs/pool/Pool.tla: QtpCounterBalance, NoStrandedJob, NoSpuriousThread,
 *               StopDrainsOnce.
 * Evidence      make check-specs T=Pool, make stress T=pool, tests/pool/test_pool.py. */
#ifndef WP_POOL_H
#define WP_POOL_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/futex.h"
#include "pool/reserve.h"
#include "wakeup/parker.h"

/* cdef: begin */
typedef struct wp_pool wp_pool;

/* Exactly one of the two functions is called, once. */
typedef struct wp_job {
	void (*run)(void *arg);
	void (*close)(void *arg); /* called if the job is dropped before it ran; NULL: no call */
	void *arg;
} wp_job;

enum { WP_POOL_NAME = 12 }; /* bytes of a name, with its end */

/* The defaults of wp_pool_config_init are given in brackets. If `max` is 0, as in a zeroed
 * configuration, every number that is 0 means its default. If `reserved` is -1, it is derived from
 * `max` and the number of CPUs; with an executor of virtual threads, -1 means 0. */
typedef struct wp_pool_config {
	uint32_t min, max;  /* number of threads [8, 200] */
	int64_t idle_ns;    /* how long an unneeded thread stays; WP_FOREVER [60 s] */
	uint32_t evictions; /* most threads that leave in that time [1] */
	int32_t reserved;   /* most threads that wait for wp_pool_try_execute [-1] */
	uint32_t low;       /* wp_pool_is_low with this many free threads or fewer [1] */
	size_t stack_bytes; /* 0: the system's default [0] */
	const char *name;   /* of its threads; a number follows; copied, cut ["pool"] */
	/* Each thread first calls `begin`, and calls `end` last; NULL: no call. */
	void (*begin)(void *arg);
	void (*end)(void *arg);
	/* An executor of virtual threads for jobs that may block, with the contract of
	 * wp_pool_execute; NULL: none. */
	int (*execute_virtual)(void *arg, const wp_job *job);
	void *arg;
} wp_pool_config;

/* All counts are of one moment, except `reserved`. threads = ready + leased + utilized; ready =
 * idle + reserved; accepted = finished + closed + queued + running. A reserved thread counts as
 * running a job. */
typedef struct wp_pool_counts {
	uint32_t threads, idle;
	uint32_t reserved; /* threads that wait for wp_pool_try_execute */
	uint32_t ready;    /* threads that could run a job at once */
	uint32_t leased;   /* set aside for other components; not ready */
	uint32_t utilized;
	uint32_t max_leased; /* leased, plus the reserve's capacity */
	uint64_t queued;
	uint64_t accepted, finished, closed;
	uint64_t started, refused, left; /* threads; refused: by the system */
	bool is_low;
	bool is_closed;
} wp_pool_counts;

/* Fills in the defaults. [any thread | wait-free] */
WP_API void wp_pool_config_init(wp_pool_config *config);

/* Makes a pool and starts `min` threads. Returns WP_OK. WP_SYSTEM and errno: there is no memory, or
 * no thread. WP_MISUSED: min > max, or `evictions` is 0, or as many threads are reserved as there
 * may be. [any thread | system calls] */
WP_API int wp_pool_new(const wp_pool_config *config, wp_pool **pool);

/* Frees the pool. Call it after wp_pool_wait has returned WP_OK, when no thread uses the pool any
 * more. [not a thread of the pool | system calls] */
WP_API void wp_pool_free(wp_pool *pool);

/* Accepts a job; *job is copied. WP_OK: a thread of the pool will run the job, or the job's `close`
 * will be called. WP_CLOSED: the pool is closed. WP_SYSTEM and errno: there is no memory, or the
 * system refuses the first thread; the job is not accepted. [any thread | blocks briefly; may start
 * a thread] */
WP_API int wp_pool_execute(wp_pool *pool, const wp_job *job);

/* Like wp_pool_execute, but if there is an executor of virtual threads, that one runs the job. [any
 * thread | as that executor] */
WP_API int wp_pool_execute_virtual(wp_pool *pool, const wp_job *job);
WP_API bool wp_pool_has_virtual(const wp_pool *pool); /* [any thread | wait-free] */

/* Gives the job to a reserved thread. Returns true if such a thread runs it now. Returns false if
 * none was waiting; *job is then untouched, and one more reserved thread may be on its way. *job
 * must stay until it runs. It is never queued. [any thread | as wp_pool_execute] */
WP_API bool wp_pool_try_execute(wp_pool *pool, const wp_job *job);

/* Closes the pool. It accepts no more jobs from now on. The accepted ones are run, and then the
 * threads leave. A second close does nothing. [any thread | system calls] */
WP_API void wp_pool_close(wp_pool *pool);

/* After a close: calls the `close` of each queued job in the calling thread, and returns their
 * number. [any thread | as their `close`] */
WP_API uint64_t wp_pool_drain(wp_pool *pool);

/* After a close: waits until all threads have left, except those that are in this function
 * themselves. Returns WP_OK, WP_TIMEOUT or WP_INTERRUPTED. [any OS thread | blocks] */
WP_API int wp_pool_wait(wp_pool *pool, int64_t deadline_ns);

/* Closes the pool, waits for half of the time, drains the queue, and waits for the other half.
 * Interrupts do not end the waits. Returns WP_OK. Returns WP_TIMEOUT if some jobs still run; then
 * wait for them. [any OS thread | blocks, and as the jobs' `close`] */
WP_API int wp_pool_stop(wp_pool *pool, int64_t deadline_ns);

/* Reads all counts. [any thread | blocks briefly] */
WP_API void wp_pool_counts_read(wp_pool *pool, wp_pool_counts *counts);

/* Returns true if few threads are free, or could be started, in addition to those that the queued
 * jobs need. [any thread | blocks briefly] */
WP_API bool wp_pool_is_low(wp_pool *pool);

/* The first sets threads aside for a component that keeps them, and the second gives them back.
 * Both return WP_OK. They return WP_MISUSED if no thread would be left, or if fewer threads are
 * leased than would be given back. [any thread | blocks briefly] */
WP_API int wp_pool_lease(wp_pool *pool, uint32_t threads);
WP_API int wp_pool_unlease(wp_pool *pool, uint32_t threads);

/* Sets the text that the pool's dump shows for the calling thread until its job ends. `tag` is a
 * text that stays, or NULL for none. Does nothing in a thread of no pool. [any thread | wait-free]
 */
WP_API void wp_pool_tag(const char *tag);

/* Returns the pool of which the caller is a thread, or NULL. [any OS thread | wait-free] */
WP_API wp_pool *wp_pool_current(void);

/* Writes one line for the pool and one for each thread, cut to `bytes`, with the end of the string.
 * Returns the uncut length, without that end. [any thread | blocks briefly] */
WP_API size_t wp_pool_dump(wp_pool *pool, char *text, size_t bytes);
/* cdef: end */

enum wp_pool_state { WP_POOL_BUSY, WP_POOL_COMING, WP_POOL_RESTING };

/* All fields are under the lock, except the parker and the tag. */
typedef struct wp_pool_thread {
	struct wp_pool *pool;
	struct wp_pool_thread *above, *below; /* resting threads; the latest is `top` */
	struct wp_pool_thread *older, *newer; /* all threads */
	struct wp_pool_thread *gone;          /* left earlier, and must be joined */
	wp_parker parker;
	enum wp_pool_state state;
	wp_job job;       /* its first */
	int64_t since_ns; /* since when it is idle */
	uint32_t number;
	int32_t system; /* its id in the system */
	wp_atomic(const char *) tag;
	pthread_t thread;
} wp_pool_thread;

/* All fields are under the lock, except `config` and `refuses`. */
struct wp_pool {
	wp_pool_config config;
	/* Starts a thread that runs jobs while wp__pool_next returns true. `first` is the job with
	 * which it begins, or NULL. Returns WP_OK or WP_SYSTEM. [under the lock] */
	int (*start)(wp_pool *pool, const wp_job *first);
	_Alignas(WP_LINE) wp_lock lock;
	wp_cond left; /* signalled when a thread has left */
	bool is_closed;
	uint32_t threads, resting, coming;
	uint32_t waiting; /* of the threads, in wp_pool_wait */
	uint32_t leased;
	wp_job *jobs; /* a ring; `room` is a power of two */
	uint64_t room, head, queued;
	wp_pool_thread *top, *newest, *gone;
	int64_t left_ns; /* when the last one left because it was not needed */
	uint64_t accepted, finished, closed, started, refused, gone_idle;
	char name[WP_POOL_NAME];
	wp_reserve reserve;
	wp_reserve_slot *slots;
	_Alignas(WP_LINE) wp_atomic(bool) refuses;
};

/* The parts of the pool, for its scenarios. */
/* `jobs` has room for `room` jobs, a power of two; it must come from malloc if it may ever grow.
 * [before it is shared] */
void wp__pool_init(wp_pool *pool, wp_job *jobs, uint64_t room);
void wp__pool_thread_init(wp_pool_thread *self, wp_pool *pool, const wp_job *first);
/* Ends the thread's last job, if any, and gets the next one. Returns false if the thread has left;
 * it then does not touch the pool any more. [a thread of the pool | blocks] */
bool wp__pool_next(wp_pool_thread *self, wp_job *job);
/* Returns true if the pool was open before. [any thread | system calls] */
bool wp__pool_close(wp_pool *pool);
/* Waits until the threads have left, but does not join them. `is_inside` is true if the caller is
 * one of them. [any OS thread | blocks] */
int wp__pool_wait(wp_pool *pool, int64_t deadline_ns, bool is_inside);
/* Returns true if a thread may leave because it is not needed. Otherwise *until_ns is when to ask
 * again. [under the lock] */
bool wp__pool_may_leave(wp_pool *pool, int64_t now_ns, int64_t *until_ns);
/* Starts a thread and updates the counts. [under the lock] */
int wp__pool_start(wp_pool *pool, const wp_job *first);

/* The `start` of a real pool. [under the lock | system calls] */
int wp__pool_thread_start(wp_pool *pool, const wp_job *first);
/* Joins this thread and those that left before it. NULL: there is none. [the thread that took it
 * off the list | blocks briefly] */
void wp__pool_thread_join(wp_pool_thread *gone);

#endif
