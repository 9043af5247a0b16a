/* SPDX-License-Identifier: Apache-2.0
 * strategy.h - an execution strategy: it decides which thread runs produced tasks. One thread at a
 * time, the producer, produces tasks, for example by reading requests from a socket.
 *
 * A task is run by its producer, by another thread, or by its producer while another thread has
 * become the producer.
 *
 *   produce, or a thread that was started     the producer
 *   IDLE: [strategy.3] PRODUCING; produce     no task
 *   else: [strategy.1] REPRODUCING              REPRODUCING: [strategy.4] PRODUCING, try again
 *                                               PRODUCING: [strategy.6] IDLE, leave
 *   dispatch                                  a task
 *   IDLE, and pending <= 0: start a thread,     run it, or give it to the pool, or hand over:
 *     [strategy.2] pending + 1                  [strategy.5] IDLE; unless pending > 0, pending + 1
 *   else: [strategy.1] PRODUCING becomes          and start a thread; refused: pending - 1, and
 *     REPRODUCING                                 [strategy.8] PRODUCING, continue to produce; or
 *                                                 [strategy.9] leave that to another thread
 *                                               run the task; IDLE? [strategy.3] produce again
 *
 *   state          meaning
 *   IDLE           No thread produces.
 *   PRODUCING      One thread produces.
 *   REPRODUCING    One thread produces, and will look once more, because of a request meanwhile.
 *
 *   pending        The number of threads counted as started, less those that have arrived.
 *                  A thread that finds it positive may rely on it: they arrive, or the thread
 *                  that could not start one continues to produce.
 *
 * Usage         wp_strategy_config config = {.mode = WP_ADAPTIVE, ...};
 *               wp_strategy_init(&strategy, &config);
 *               wp_strategy_produce(&strategy);        when there may be something to produce
 *
 * Why it works  State and pending share one word. A request writes the word even if nothing
 *               changes. A mere read could miss a thread that arrives just then, and that thread
 *               could miss the request. dispatch counts a start only after the pool has accepted
 *               it. So only its caller knows of a refusal, and no later request relies on that
 *               start. The started thread may arrive before it is counted, and pending is negative
 *               for a while.
 *               A producer that hands over has a successor. Either a successor is pending; or the
 *               producer counts one, leaves the role, and only then starts it, so that the
 *               successor can produce however early it arrives. If that start is refused, the last
 *               producer takes the role back, unless another thread produces or is pending. So it
 *               serves every thread that relied on the start.
 * Modes         In produce-consume the producer runs all tasks. In produce-execute-consume the pool
 *               runs tasks that may block. In execute-produce-consume, for a task that may block,
 *               the producer starts a successor, and runs the task itself. The adaptive mode does
 *               the same if a thread is available at once. If not, the producer runs an EITHER task
 *               itself, with its thread tagged as one that must not block, and the pool runs the
 *               other tasks that may block.
 * Prior art     Jetty's execution strategies, with the same names of modes and kinds; the adaptive
 *               one is also known as "eat what you kill".
 * Not promised  The producer may run a task that blocks: in produce-consume it does. There is no
 *               progress if every thread of the pool waits for what is still to be produced.
 *               Nothing is promised after a callback that does not return but ends its thread,
 *               jumps out, or throws.
 * Spec          specs/pool/Strategy.tla: SingleProducer, NoLostProduction, PendingAccounting,
 *               EpcRequiresSuccessor, RejectionIsReported, StarterHasLeft, NonBlockingRespected,
 *               ExceptionDoesNotChangeRole.
 * Evidence      make check-specs T=Strategy, make stress T=strategy, tests/pool/test_strategy.py.
 */
#ifndef WP_STRATEGY_H
#define WP_STRATEGY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/counters.h"
#include "base/error.h"
#include "base/order.h"
#include "pool/nonblocking_tag.h"

/* cdef: begin */
typedef struct wp_strategy wp_strategy;

enum wp_strategy_mode {
	WP_PRODUCE_CONSUME,
	WP_PRODUCE_EXECUTE_CONSUME,
	WP_EXECUTE_PRODUCE_CONSUME,
	WP_ADAPTIVE
};

/* The kinds of tasks: a task may block; it never blocks; or it blocks unless its thread is tagged
 * (nonblocking_tag.h). */
enum wp_kind { WP_BLOCKING, WP_NON_BLOCKING, WP_EITHER };

/* How a task was run: by the producer; by the producer as an EITHER task, with its thread tagged;
 * by the pool; or by the last producer, after it had handed over. */
enum wp_consumed {
	WP_CONSUMED,
	WP_CONSUMED_TAGGED,
	WP_EXECUTED,
	WP_HANDED_OVER,
	WP_CONSUMED_KINDS
};

/* Any thread may run the callbacks, and they may block, unless another rule is given. `task` is
 * what produce has returned. */
typedef struct wp_strategy_config {
	enum wp_strategy_mode mode;
	/* Returns a task, or NULL if there is none now. A thread that makes more work later makes a
	 * new request. [one thread at a time] */
	void *(*produce)(void *arg);
	enum wp_kind (*kind)(void *arg, void *task);
	/* Runs the task, and handles its failures itself. */
	void (*run)(void *arg, void *task);
	/* Gives the task to the pool. Returns WP_OK if the pool will run the task once. On any
	 * other code `reject` is called. */
	int (*execute)(void *arg, void *task);
	void (*reject)(void *arg, void *task, int code);
	/* Starts a thread. Returns WP_OK if another thread will call wp_strategy_run once, however
	 * early. */
	int (*start)(void *arg);
	/* Like start, but with an idle thread that is there right now. Returns false if there is
	 * none. It never queues and never waits. */
	bool (*try_start)(void *arg);
	void *arg;
} wp_strategy_config;
/* cdef: end */

enum { WP_STRATEGY_IDLE, WP_STRATEGY_PRODUCING, WP_STRATEGY_REPRODUCING };

/* `word` is used by strategy.1 to strategy.9; the producer writes the counts. */
struct wp_strategy {
	_Alignas(WP_LINE) wp_atomic(uint64_t) word; /* high half: pending; low half: state */
	_Alignas(WP_LINE) wp_strategy_config config;
	wp_atomic(uint64_t) counts[WP_CONSUMED_KINDS];
};

/* [before it is shared | wait-free] */
WP_API void wp_strategy_init(wp_strategy *strategy, const wp_strategy_config *config);

/* cdef: begin */
/* Call this when there may be something to produce. It produces and runs tasks, unless another
 * thread is producing. [any thread | runs tasks] */
WP_API void wp_strategy_produce(wp_strategy *strategy);

/* Like wp_strategy_produce, in another thread. Returns WP_OK. Any other result is the code of
 * `start`, and then nothing was requested. [any thread | as start] */
WP_API int wp_strategy_dispatch(wp_strategy *strategy);

/* A started thread calls this, once. [a started thread | runs tasks] */
WP_API void wp_strategy_run(wp_strategy *strategy);

/* Returns the kind of a task that does what two tasks do. An EITHER task may block if its thread is
 * not tagged, so EITHER and NON_BLOCKING give EITHER. [any thread | wait-free] */
WP_API enum wp_kind wp_kind_combine(enum wp_kind one, enum wp_kind other);

/* Returns true if no thread produces just now. [any thread | wait-free] */
WP_API bool wp_strategy_is_idle(const wp_strategy *strategy);
/* Returns how many tasks were run in that way. [any thread | wait-free] */
WP_API uint64_t wp_strategy_count(const wp_strategy *strategy, enum wp_consumed how);
/* cdef: end */

#endif
