/* SPDX-License-Identifier: Apache-2.0
 * reserve.h - pool threads that wait for one task each, to start it at once or not at all.
 *
 *   try, by a thread that has a task          a thread of the pool, started for the reserve
 *   each slot                                 [reserve.4] pending - 1
 *     [reserve.2] empty? the next slot        each slot: [reserve.6] if it is empty, get in
 *     [reserve.3] take its thread, hand it      no empty slot: exit
 *       the task, unpark it: true             [reserve.7] stopping: [reserve.8] get out: exit
 *   none: [reserve.1] pending + 1, unless     park; a task came: run it, and offer itself again
 *     at its limit; start a thread: false     timeout, and more than `least` are in slots:
 *     refused: [reserve.4] pending - 1          [reserve.8] get out: exit
 *                                               taken meanwhile: park, as the task will come
 *   stop: [reserve.5] stopping := true
 *     each slot: [reserve.3] take its thread, hand it NULL, unpark it
 *
 * Why it works  A thread leaves its slot by exactly one read-modify-write: its own, a taker's or
 *               the stop's. After its own it exits; the others hand it something, for which it
 *               waits in any case. The stop writes to each slot, even to an empty one. A thread
 *               that gets into the slot later has read that write and sees the stop; a thread that
 *               was in it before is taken.
 *               What is handed over lies on the stack of the taken thread, and the single unpark is
 *               the last access to it (parker.h).
 *               Slots are searched from the first on, so the last ones are taken least, and their
 *               threads time out.
 * Prior art     Jetty's ReservedThreadExecutor.
 * Not promised  That a try finds a thread that gets into a slot which the search has passed. That
 *               `least` threads stay: two may leave at once. Which of the threads is taken.
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

/* Lies on the stack of a reserved thread. task: written by its taker, then the thread's. */
typedef struct wp_reserved {
	wp_parker parker;
	void *task; /* NULL: the reserve was stopped */
} wp_reserved;

/* Each has its own cache line. Writers: reserve.3, reserve.6, reserve.8. */
typedef struct wp_reserve_slot {
	_Alignas(WP_LINE) wp_atomic(wp_reserved *) thread;
} wp_reserve_slot;

typedef struct wp_reserve_config {
	uint32_t capacity;    /* slots; 0: there are none, and no starts */
	uint32_t least;       /* so many stay though idle; at most capacity */
	uint32_t max_pending; /* starts under way; 0: capacity */
	int64_t idle_ns;      /* how long an unneeded thread waits; WP_FOREVER */
	/* Returns WP_OK: a thread of the pool will call wp_reserve_run once. [any thread] */
	int (*start)(void *arg);
	void (*run)(void *arg, void *task); /* [a reserved thread] */
	void *arg;
} wp_reserve_config;

/* pending: reserve.1, reserve.4; stopping: reserve.5, reserve.7. The other fields are written once,
 * by wp_reserve_init. */
typedef struct wp_reserve {
	wp_reserve_config config;
	wp_reserve_slot *slots;
	_Alignas(WP_LINE) wp_atomic(uint32_t) pending;
	wp_atomic(bool) stopping;
} wp_reserve;

/* `slots`: an aligned array of `capacity` slots. Returns WP_OK; or WP_MISUSED: `least` is above
 * `capacity`. [before it is shared | wait-free] */
int wp_reserve_init(wp_reserve *reserve, const wp_reserve_config *config, wp_reserve_slot *slots);

/* Returns true if a thread has the task, which must not be NULL. Returns false if no thread has it,
 * and one more may be on its way. [any thread | at most a system call; never blocks] */
bool wp_reserve_try(wp_reserve *reserve, void *task);

/* What a started thread calls: it runs tasks until it is not needed any more. [a thread of the pool
 * | blocks] */
void wp_reserve_run(wp_reserve *reserve);

/* Tells the reserve that an accepted start will not happen, because the pool has dropped it. [the
 * thread that dropped it | wait-free] */
void wp_reserve_drop(wp_reserve *reserve);

/* Sends away the waiting threads, and those that offer themselves later. The reserve must outlive
 * its threads: the pool must wait for those that run tasks and for starts under way. [one thread,
 * once | system calls] */
void wp_reserve_stop(wp_reserve *reserve);

/* How many threads wait just now. [any thread | wait-free] */
uint32_t wp_reserve_available(wp_reserve *reserve);

/* The parts of wp_reserve_run. Gets into a slot. Returns false if no slot is empty. [its thread |
 * wait-free] */
bool wp__reserve_offer(wp_reserve *reserve, wp_reserved *self, uint32_t *slot);
/* Gets out of the slot. Returns false if it was taken, so wait for what comes. [its thread |
 * wait-free] */
bool wp__reserve_leave(wp_reserve *reserve, wp_reserved *self, uint32_t slot);
/* Waits from the offer to the task; NULL: exit. [its thread | blocks] */
void *wp__reserve_wait(wp_reserve *reserve, wp_reserved *self, uint32_t slot);
/* Starts one more thread unless too many starts are under way (WP_REFUSED). [any thread | as start]
 */
int wp__reserve_start(wp_reserve *reserve);

#endif
