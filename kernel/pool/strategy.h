/* SPDX-License-Identifier: Apache-2.0
 * strategy.h - who runs what is produced: one thread at a time produces, and each task is run by
 * that thread, by another one, or by that thread while another produces on.
 *
 *   asks: produce, or a started thread            produces
 *   IDLE: [strategy.3] PRODUCING, it produces     nothing there: REPRODUCING: [strategy.4] PRODUCING, once more
 *   else: [strategy.1] REPRODUCING                               PRODUCING: [strategy.6] IDLE, leave
 *                                                 a task:
 *   asks: dispatch                                  runs it; or the pool does; or: [strategy.5] IDLE, and
 *   IDLE, pending <= 0: start somebody;               pending > 0: somebody is to come
 *     [strategy.2] pending++                          else: pending++; starts somebody; refused: pending--,
 *   else: [strategy.1] REPRODUCING, if PRODUCING        and [strategy.8] PRODUCING, or [strategy.9] somebody else is
 *                                                   runs it; IDLE: [strategy.3] produces on
 *
 *   state          means
 *   IDLE           nobody produces
 *   PRODUCING      somebody does
 *   REPRODUCING    and will look once more, for somebody has asked since
 *
 *   pending        started threads that were counted, less those that have come; who finds it positive
 *                  may rely on it: they come, or who could not start one produces on
 *
 * Why it works  State and pending are one word. To ask is to write it, also where nothing changes:
 *               a read could miss the thread that comes just then, and that thread what was asked
 *               for. A caller counts its start when the pool has taken it, so a refusal is its to
 *               know, and no later demand relies on it; the thread may have come by then, and
 *               pending is below 0 for a while. Who leaves for a task that may block has one on the
 *               way; or it counts one, leaves, and starts it then, so that one produces, however
 *               early it comes. A refusal is its own to mend: it produces on, for whoever relied on
 *               that one, too, unless somebody produces, or another is to come.
 * Modes         produce-consume: it runs all. Produce-execute-consume: the pool runs what may block.
 *               Execute-produce-consume: it starts somebody for what may block, and runs it.
 *               Adaptive: so it does if a thread is to be had at once; else EITHER is run where it
 *               is, tagged as one that must not block, and the pool has the rest.
 * Not promised  That a task that blocks is not run by the producer: in produce-consume it is.
 *               Progress, if each thread of the pool waits for what is still to be produced.
 *               Anything after a callback that does not return: one that ends its thread, jumps
 *               out, or throws.
 * Spec          specs/pool/Strategy.tla: SingleProducer, NoLostProduction, PendingAccounting,
 *               EpcRequiresSuccessor, RejectionIsReported, StarterHasLeft, NonBlockingRespected,
 *               ExceptionDoesNotChangeRole.
 * Evidence      make check-specs T=Strategy, make stress T=strategy,
 *               tests/pool/test_strategy.py. */
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

/* Of a task: it may block; it never does; it does neither where its thread is tagged. */
enum wp_kind { WP_BLOCKING, WP_NON_BLOCKING, WP_EITHER };

/* How tasks were run: by the producer; the same, an EITHER that was tagged; by the pool; by who was
 * the producer, while another was to produce. */
enum wp_consumed {
	WP_CONSUMED,
	WP_CONSUMED_TAGGED,
	WP_EXECUTED,
	WP_HANDED_OVER,
	WP_CONSUMED_KINDS
};

/* All [any thread | as they are]; `task` is what produce gave. */
typedef struct wp_strategy_config {
	enum wp_strategy_mode mode;
	/* A task, or NULL: nothing now, whoever has some asks again. [one at a time] */
	void *(*produce)(void *arg);
	enum wp_kind (*kind)(void *arg, void *task);
	/* Its failures are its own. */
	void (*run)(void *arg, void *task);
	/* WP_OK: the pool runs it once. Else `reject` is called. */
	int (*execute)(void *arg, void *task);
	void (*reject)(void *arg, void *task, int code);
	/* WP_OK: another thread calls wp_strategy_run once, however early. */
	int (*start)(void *arg);
	/* True: one that was idle does it right now; never queues, never waits. */
	bool (*try_start)(void *arg);
	void *arg;
} wp_strategy_config;
/* cdef: end */

enum { WP_STRATEGY_IDLE, WP_STRATEGY_PRODUCING, WP_STRATEGY_REPRODUCING };

/* word: strategy.1..Z6, strategy.8, strategy.9; counts: who produces. */
struct wp_strategy {
	_Alignas(WP_LINE) wp_atomic(uint64_t) word; /* high half: pending; low half: state */
	_Alignas(WP_LINE) wp_strategy_config config;
	wp_atomic(uint64_t) counts[WP_CONSUMED_KINDS];
};

/* [before it is shared | wait-free] */
WP_API void wp_strategy_init(wp_strategy *strategy, const wp_strategy_config *config);

/* cdef: begin */
/* There is something to produce: it produces, and runs tasks, unless somebody does already. [any
 * thread | runs tasks] */
WP_API void wp_strategy_produce(wp_strategy *strategy);

/* The same, by another thread. WP_OK; or what `start` said: nobody was told. [any thread | as
 * start] */
WP_API int wp_strategy_dispatch(wp_strategy *strategy);

/* What a started thread calls, once. [who was started | runs tasks] */
WP_API void wp_strategy_run(wp_strategy *strategy);

/* Of a task that does what both do: EITHER may block where its thread is not tagged, so it is not
 * NON_BLOCKING beside one that never does. [any thread | wait-free] */
WP_API enum wp_kind wp_kind_combine(enum wp_kind one, enum wp_kind other);

/* Nobody produces just now. [any thread | wait-free] */
WP_API bool wp_strategy_is_idle(const wp_strategy *strategy);
WP_API uint64_t wp_strategy_count(const wp_strategy *strategy, enum wp_consumed how);
/* cdef: end */

#endif
