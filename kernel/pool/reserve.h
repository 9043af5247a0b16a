/* SPDX-License-Identifier: Apache-2.0
 * reserve.h - threads of a pool that wait for a task each: one is handed over at once, or not at
 * all.
 *
 *   who has a task                                a thread of the pool, started for it
 *   each slot: [reserve.2] empty? the next        [reserve.4] pending--
 *     [reserve.3] take who is in it: hand it the  each slot: [reserve.6] empty: get in; none: exit
 *     task, unpark it: true                       [reserve.7] stopping: [reserve.8] get out: exit
 *   none: [reserve.1] pending++, unless enough    park; a task: run it, offer itself again
 *     are under way; start one: false             too long, and more than `least` are in: [reserve.8] get out:
 *     refused: [reserve.4] pending--                 exit; taken meanwhile: park, for the task comes
 *   stop: [reserve.5] stopping; each slot: [reserve.3] take who is in it, hand it nothing, unpark
 *   it
 *
 * Why it works  Who is in a slot leaves it by one read-modify-write: its own, a taker's or the
 *               stop's. The first exits, the others hand it something, which it waits for whatever
 *               happens. The stop writes to each slot, also to an empty one: who gets into it later
 *               has read that write, and sees the stop; who was in it before is taken.
 *               What is handed over lies on the stack of the thread that is taken, and the one
 *               unpark is the last that touches it (parker.h).
 *               From the first slot on: the last ones are taken least, and time out.
 * Not promised  That it finds the one that gets into a slot behind its back. `least`: two may leave
 *               at once. Which one is taken.
 * Spec          specs/pool/Reserve.tla: ReservedThreadExclusive, TakenImpliesRun, PendingBound,
 *               StopTerminates.
 * Evidence      make check-specs T=Reserve, make stress T=reserve, tests/pool/test_reserve.py. */
#ifndef WP_RESERVE_H
#define WP_RESERVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/futex.h"
#include "base/order.h"
#include "wakeup/parker.h"

/* On the stack of a reserved thread. task: who has taken it, then the thread. */
typedef struct wp_reserved {
	wp_parker parker;
	void *task; /* NULL: there was a stop */
} wp_reserved;

/* A line each. Writers: reserve.3, reserve.6, reserve.8. */
typedef struct wp_reserve_slot {
	_Alignas(WP_LINE) wp_atomic(wp_reserved *) thread;
} wp_reserve_slot;

typedef struct wp_reserve_config {
	uint32_t capacity;    /* slots; 0: it has none, and starts nobody */
	uint32_t least;       /* so many stay, though idle; at most capacity */
	uint32_t max_pending; /* starts under way; 0: capacity */
	int64_t idle_ns;      /* until one that is not needed leaves; WP_FOREVER */
	/* WP_OK: a thread of the pool calls wp_reserve_run once. [any thread] */
	int (*start)(void *arg);
	void (*run)(void *arg, void *task); /* [a reserved thread] */
	void *arg;
} wp_reserve_config;

/* pending: reserve.1, reserve.4; stopping: reserve.5, reserve.7; the rest: who makes it. */
typedef struct wp_reserve {
	wp_reserve_config config;
	wp_reserve_slot *slots;
	_Alignas(WP_LINE) wp_atomic(uint32_t) pending;
	wp_atomic(bool) stopping;
} wp_reserve;

/* `slots`: capacity of them, aligned. WP_MISUSED: least is above capacity. [before it is shared |
 * wait-free] */
int wp_reserve_init(wp_reserve *reserve, const wp_reserve_config *config, wp_reserve_slot *slots);

/* True: a thread has the task, which is not NULL; false: nobody has, and one more may be on the
 * way.
 * [any thread | a system call at the most; never blocks] */
bool wp_reserve_try(wp_reserve *reserve, void *task);

/* What a started thread calls: it runs tasks until it is not needed. [a thread of the pool |
 * blocks] */
void wp_reserve_run(wp_reserve *reserve);

/* A start that was taken will not come: the pool has dropped it. [who has it | wait-free] */
void wp_reserve_drop(wp_reserve *reserve);

/* Who waits is sent away, and who offers itself later. The reserve must outlive the threads: those
 * that run tasks and starts under way are the pool's to wait for. [one thread, once | system
 * calls] */
void wp_reserve_stop(wp_reserve *reserve);

/* How many wait just now. [any thread | wait-free] */
uint32_t wp_reserve_available(wp_reserve *reserve);

/* The parts of wp_reserve_run. False: there is no slot for it. [its thread | wait-free] */
bool wp__reserve_offer(wp_reserve *reserve, wp_reserved *self, uint32_t *slot);
/* False: it was taken: wait for what comes. [its thread | wait-free] */
bool wp__reserve_leave(wp_reserve *reserve, wp_reserved *self, uint32_t slot);
/* From its offer to its task, or NULL: exit. [its thread | blocks] */
void *wp__reserve_wait(wp_reserve *reserve, wp_reserved *self, uint32_t slot);
/* One more is to be started, if that is admitted. WP_REFUSED: it is not. [any thread | as start] */
int wp__reserve_start(wp_reserve *reserve);

#endif
