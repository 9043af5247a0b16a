/* SPDX-License-Identifier: Apache-2.0
 * pool.h - a pool of OS threads that grows and shrinks, with one queue of jobs that has no end.
 *
 *   who has a job (execute)                  a thread, for each job
 *   under the lock:                          under the lock:
 *     closed: refuse it                        the queue has one: take it
 *     more idle threads than jobs, or          closed: leave
 *     `max` threads: queue it, and choose      too long idle, more than `min`, its turn: leave
 *     the one that rests least, unless           (threads--)
 *     enough are coming                        else rest: sleep until it is chosen, or too long
 *     else start one that has it first         time over, and chosen: wait for the unpark
 *       refused: queue it, if there is a     run it
 *       thread, else the error               close: choose all that rest; then who finds the
 *   unpark who was chosen                      queue empty leaves
 *
 *   coming   threads that will look at the queue before they rest or leave: chosen, not there yet
 *   idle     resting + coming
 *
 * Why it works  One lock guards the queue, the counts and who rests, also while a thread is
 *               started: that is rare, and so a job is in the queue only if there is a thread, and
 *               a thread that finds the queue empty leaves, rests or is counted in the same step.
 *               Where somebody rests no more jobs are queued than threads are coming.
 *               Who is chosen is no more among those that rest, and waits for its unpark even when
 *               its time is over: the unpark is the last that touches it (parker.h).
 *               Who has rested least is chosen: so few threads do what few can, and the others'
 *               time passes, though there is always something to do.
 * Not promised  Progress, if all threads wait for a job that is queued (WP_BLOCKING jobs of a
 *               strategy; `max`). That a job which runs ends: it is not interrupted. An order
 *               between jobs of several threads. A fork: the child has no threads.
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

/* One of the two is called, once. */
typedef struct wp_job {
	void (*run)(void *arg);
	void (*close)(void *arg); /* if it is stopped before; NULL: nothing is done */
	void *arg;
} wp_job;

enum { WP_POOL_NAME = 12 }; /* bytes of a name, with its end */

/* As wp_pool_config_init has it, in brackets. With `max` 0, as if zeroed, each number that is 0 is
 * what the brackets say. */
typedef struct wp_pool_config {
	uint32_t min, max;  /* threads [8, 200] */
	int64_t idle_ns;    /* until one that is not needed leaves; WP_FOREVER [60 s] */
	uint32_t evictions; /* so many leave in that time, at the most [1] */
	int32_t reserved; /* threads, at most, that wait for wp_pool_try_execute; -1: by `max` and the
				   CPUs; none with a virtual executor [-1] */
	uint32_t low;     /* wp_pool_is_low from so few free ones on [1] */
	size_t stack_bytes; /* 0: the system's [0] */
	const char *name;   /* of its threads, with a number; copied, cut ["pool"] */
	/* Each thread calls them, first and last; NULL: nothing. */
	void (*begin)(void *arg);
	void (*end)(void *arg);
	/* An executor of virtual threads for jobs that may block: as wp_pool_execute; NULL:
	 * none. */
	int (*execute_virtual)(void *arg, const wp_job *job);
	void *arg;
} wp_pool_config;

/* Of one moment, but for `reserved`. threads = ready + leased + utilized; ready = idle + reserved;
 * accepted = finished + closed + queued + what runs, also what waits there as reserved. */
typedef struct wp_pool_counts {
	uint32_t threads, idle;
	uint32_t reserved; /* wait for wp_pool_try_execute */
	uint32_t ready;    /* could run something at once */
	uint32_t leased;   /* promised to others than the reserve, and not ready */
	uint32_t utilized;
	uint32_t max_leased; /* with the reserve */
	uint64_t queued;
	uint64_t accepted, finished, closed;
	uint64_t started, refused, left; /* threads; refused: by the system */
	bool is_low;
	bool is_closed;
} wp_pool_counts;

WP_API void wp_pool_config_init(wp_pool_config *config);

/* Starts `min` threads. WP_OK; WP_SYSTEM and errno: no memory, or no thread; WP_MISUSED: min > max,
 * no `evictions`, or as many reserved as there are threads. [any thread | system calls] */
WP_API int wp_pool_new(const wp_pool_config *config, wp_pool **pool);

/* After a wait that said WP_OK, when nobody uses it any more. [not its threads | system calls] */
WP_API void wp_pool_free(wp_pool *pool);

/* WP_OK: it is run by one of its threads, or closed; *job is copied. WP_CLOSED. WP_SYSTEM and
 * errno: no memory, or the system refuses a first thread: it is not accepted. [any thread |
 * shortly; may start a thread] */
WP_API int wp_pool_execute(wp_pool *pool, const wp_job *job);

/* By the executor of virtual threads, if there is one. [any thread | as that] */
WP_API int wp_pool_execute_virtual(wp_pool *pool, const wp_job *job);
WP_API bool wp_pool_has_virtual(const wp_pool *pool); /* [any thread | wait-free] */

/* True: a thread that waited for it runs it now; false: none did, one more may be on its way, and
 * *job is as it was. *job stays until it runs. Never queues. [any thread | as wp_pool_execute] */
WP_API bool wp_pool_try_execute(wp_pool *pool, const wp_job *job);

/* Nothing is accepted any more; what was is run, and the threads leave. Again: nothing. [any thread
 * | system calls] */
WP_API void wp_pool_close(wp_pool *pool);

/* After a close: closes what is queued, in the calling thread; says how many. [any thread | as
 * their close] */
WP_API uint64_t wp_pool_drain(wp_pool *pool);

/* After a close: until its threads have left, but for those that are in here themselves. WP_OK,
 * WP_TIMEOUT, WP_INTERRUPTED. [any OS thread | blocks] */
WP_API int wp_pool_wait(wp_pool *pool, int64_t deadline_ns);

/* A close; a wait for half of the time; a drain; a wait for the other half, WP_INTERRUPTED or not.
 * WP_OK or WP_TIMEOUT: some jobs run on: wait for them. [any OS thread | blocks, as their close] */
WP_API int wp_pool_stop(wp_pool *pool, int64_t deadline_ns);

WP_API void wp_pool_counts_read(wp_pool *pool, wp_pool_counts *counts); /* [any thread | shortly] */

/* Few threads are free, or could be started, beyond what is queued. [any thread | shortly] */
WP_API bool wp_pool_is_low(wp_pool *pool);

/* So many threads are promised to something that keeps them. WP_OK; WP_MISUSED: none would be left,
 * or less is leased than is given back. [any thread | shortly] */
WP_API int wp_pool_lease(wp_pool *pool, uint32_t threads);
WP_API int wp_pool_unlease(wp_pool *pool, uint32_t threads);

/* What the calling thread of a pool does, for its dump, until the job ends: a text that stays;
 * NULL: nothing special. Elsewhere: nothing. [any thread | wait-free] */
WP_API void wp_pool_tag(const char *tag);

/* The pool it is a thread of, or NULL. [any OS thread | wait-free] */
WP_API wp_pool *wp_pool_current(void);

/* As text, a line for the pool and one for each thread; cut to `bytes`, with its end. Says how long
 * it is uncut, without the end. [any thread | shortly] */
WP_API size_t wp_pool_dump(wp_pool *pool, char *text, size_t bytes);
/* cdef: end */

enum wp_pool_state { WP_POOL_BUSY, WP_POOL_COMING, WP_POOL_RESTING };

/* Under the lock, but for the parker, and for tag. */
typedef struct wp_pool_thread {
	struct wp_pool *pool;
	struct wp_pool_thread *above, *below; /* that rest; the last one that came is the first */
	struct wp_pool_thread *older, *newer; /* all */
	struct wp_pool_thread *gone;          /* that has left before, and is to be joined */
	wp_parker parker;
	enum wp_pool_state state;
	wp_job job;       /* its first */
	int64_t since_ns; /* idle */
	uint32_t number;
	int32_t system; /* its number there */
	wp_atomic(const char *) tag;
	pthread_t thread;
} wp_pool_thread;

/* All under the lock, but for what is `config`, and `refuses`. */
struct wp_pool {
	wp_pool_config config;
	/* Starts a thread that runs jobs while wp__pool_next has one; first: which it has already,
	 * or NULL. WP_OK, WP_SYSTEM. [under the lock] */
	int (*start)(wp_pool *pool, const wp_job *first);
	_Alignas(WP_LINE) wp_lock lock;
	wp_cond left; /* some thread */
	bool is_closed;
	uint32_t threads, resting, coming;
	uint32_t waiting; /* of the threads, in wp_pool_wait */
	uint32_t leased;
	wp_job *jobs; /* a ring, `room` long, a power of two */
	uint64_t room, head, queued;
	wp_pool_thread *top, *newest, *gone;
	int64_t left_ns; /* when the last one left for want of work */
	uint64_t accepted, finished, closed, started, refused, gone_idle;
	char name[WP_POOL_NAME];
	wp_reserve reserve;
	wp_reserve_slot *slots;
	_Alignas(WP_LINE) wp_atomic(bool) refuses;
};

/* The parts of it. [before it is shared] */
/* `jobs`, from malloc if it is ever to grow, has room for `room`, a power of two. [before it is
 * shared] */
void wp__pool_init(wp_pool *pool, wp_job *jobs, uint64_t room);
void wp__pool_thread_init(wp_pool_thread *self, wp_pool *pool, const wp_job *first);
/* Its last job, if it had one, is over. Its next job; false: it has left, and touches the pool no
 * more. [a thread | blocks] */
bool wp__pool_next(wp_pool_thread *self, wp_job *job);
/* True: it was open. */
bool wp__pool_close(wp_pool *pool);
/* Until they have left, without the joins. `is_inside`: by one of its threads. */
int wp__pool_wait(wp_pool *pool, int64_t deadline_ns, bool is_inside);
/* One may leave for want of work; else *until_ns: when to ask again. [under the lock] */
bool wp__pool_may_leave(wp_pool *pool, int64_t now_ns, int64_t *until_ns);
/* Starts it; the counts are right afterwards. [under the lock] */
int wp__pool_start(wp_pool *pool, const wp_job *first);

/* As wp_pool's start. */
int wp__pool_thread_start(wp_pool *pool, const wp_job *first);
/* And those that had left before it. NULL: nobody. [who has it | blocks shortly] */
void wp__pool_thread_join(wp_pool_thread *gone);

#endif
