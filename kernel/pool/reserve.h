/* SPDX-License-Identifier: Apache-2.0
 * reserve.h - threads of a pool that each wait for one task. A thread that has a task gives it to
 * one of them at once, or learns that none waits; a task is never queued here.
 *
 *   try, by a thread that has a task          a thread of the pool, started for the reserve
 *   each slot                                 [reserve.4] pending - 1
 *     [reserve.2] empty? the next slot        each slot: [reserve.6] if it is empty, get in
 *     [reserve.3] take its thread, give it      no empty slot: exit
 *       the task, unpark it; return true      [reserve.7] stopping: [reserve.8] get out; exit
 *   none: [reserve.1] pending + 1, unless     park; a task came: run it, and begin again
 *     it is at its limit; start a thread;     timeout, and more than `least` are in slots:
 *     return false                              [reserve.8] get out; exit
 *     refused: [reserve.4] pending - 1          it was taken meanwhile: park for the task
 *   stop: [reserve.5] stopping := true
 *     each slot: [reserve.3] take its thread, give it NULL, unpark it
 *
 * Why it works  A thread leaves its slot by exactly one read-modify-write: its own, that of a
 *               thread that takes it (a taker), or that of the stop. After its own it exits. A
 *               taker and the stop give it something, for which it waits in any case. The stop
 *               writes to each slot, even to an empty one. A thread that gets into the slot later
 *               has read that write and sees the stop; a thread that was in it before is taken.
 *               What is given lies on the stack of the taken thread, and the single unpark is the
 *               last access to it (parker.h).
 *               Slots are searched from the first one on, so the last ones are taken least often,
 *               and their threads time out.
 * Prior art     Jetty's ReservedThreadExecutor.
 * Not promised  A try may miss a thread that gets into a slot which the search has passed. Fewer
 *               than `least` threads may stay, because two may leave at once. Any of the threads
 *               may be taken.
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

/* The record of a reserved thread, on its stack. `task` is written by the taker, and then read by
 * the thread. */
typedef struct wp_reserved {
	wp_parker parker;
	void *task; /* NULL: the reserve was stopped */
} wp_reserved;

/* Each slot has its own cache line. Its writers are reserve.3, reserve.6 and reserve.8. */
typedef struct wp_reserve_slot {
	_Alignas(WP_LINE) wp_atomic(wp_reserved *) thread;
} wp_reserve_slot;

typedef struct wp_reserve_config {
	uint32_t capacity;    /* slots; 0: there are none, and no starts */
	uint32_t least;       /* this many threads stay although idle; at most capacity */
	uint32_t max_pending; /* starts under way; 0: capacity */
	int64_t idle_ns;      /* how long an unneeded thread waits; WP_FOREVER */
	/* Starts a thread. Returns WP_OK if a thread of the pool will call wp_reserve_run once.
	 * [any thread] */
	int (*start)(void *arg);
	void (*run)(void *arg, void *task); /* [a reserved thread] */
	void *arg;
} wp_reserve_config;

/* `pending` is written by reserve.1 and reserve.4; `stopping` is used by reserve.5 and reserve.7;
 * the other fields are written once, by wp_reserve_init. */
typedef struct wp_reserve {
	wp_reserve_config config;
	wp_reserve_slot *slots;
	_Alignas(WP_LINE) wp_atomic(uint32_t) pending;
	wp_atomic(bool) stopping;
} wp_reserve;

/* Makes a reserve. `slots` is an aligned array of `capacity` slots. Returns WP_OK, or WP_MISUSED if
 * `least` is above `capacity`. [before it is shared | wait-free] */
int wp_reserve_init(wp_reserve *reserve, const wp_reserve_config *config, wp_reserve_slot *slots);

/* Gives the task, which must not be NULL, to a waiting thread. Returns true if a thread has it.
 * Returns false if no thread has it; one more may be on its way. [any thread | at most a system
 * call; never blocks] */
bool wp_reserve_try(wp_reserve *reserve, void *task);

/* A started thread calls this. It runs tasks until the thread is not needed any more. [a thread of
 * the pool | blocks] */
void wp_reserve_run(wp_reserve *reserve);

/* Tells the reserve that an accepted start will not happen, because the pool has dropped it. [the
 * thread that dropped it | wait-free] */
void wp_reserve_drop(wp_reserve *reserve);

/* Sends away the waiting threads, and those that offer themselves later. The reserve must outlive
 * its threads: the pool must wait for those that run tasks and for starts under way. [one thread,
 * once | system calls] */
void wp_reserve_stop(wp_reserve *reserve);

/* Returns how many threads wait just now. [any thread | wait-free] */
uint32_t wp_reserve_available(wp_reserve *reserve);

/* The parts of wp_reserve_run begin here. This one gets into a slot. Returns false if no slot is
 * empty. [its thread | wait-free] */
bool wp__reserve_offer(wp_reserve *reserve, wp_reserved *self, uint32_t *slot);
/* Gets out of the slot. Returns false if the thread was taken; it must then wait for what it is
 * given. [its thread | wait-free] */
bool wp__reserve_leave(wp_reserve *reserve, wp_reserved *self, uint32_t slot);
/* Waits until the thread is given a task, and returns the task. NULL means that the thread must
 * exit. [its thread | blocks] */
void *wp__reserve_wait(wp_reserve *reserve, wp_reserved *self, uint32_t slot);
/* Starts one more thread unless too many starts are under way (WP_REFUSED). [any thread | as start]
 */
int wp__reserve_start(wp_reserve *reserve);

#endif
