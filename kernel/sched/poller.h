/* SPDX-License-Identifier: Apache-2.0
 * poller.h - a poller is a virtual thread that belongs to one carrier. When the carrier has nothing
 * to run, the poller blocks in the operating system for the whole carrier, for example until a
 * descriptor is ready.
 *
 *   while (wp_poller_maybe_yield(had_io) != WP_CLOSED) {
 *           had_io = look(0);                          (does not block; unparks threads)
 *           if (!had_io && wp_poller_try_park() == WP_OK) {
 *                   if (wp_poller_can_park()) look(wp_poller_until());
 *                   wp_poller_unpark();
 *           }
 *   }
 *
 *   body of the poller, for ever                        another thread
 *   look, without blocking; unpark the ready threads    push; fence
 *   maybe_yield: the other tasks run                    [carrier.3] word PARKED_POLLER: WAKING
 *   try_park: [carrier.1] word := PARKED_POLLER; look     call the poller's wakeup;
 *     [poller.3] can_park? block in the system until      [poller.1] add 1 to woken
 *                wp_poller_until
 *     unpark: [carrier.2]
 *
 *   end of the poller
 *     [poller.2] woken = the number of wakeups that its parks have seen claimed? it has ended
 *     no: the other tasks run; then, if there is nothing to run, for 1 ms at the most:
 *     [poller.4] woken |= 1; not yet equal: sleep         [poller.1] woken was odd: end that sleep
 *     [poller.5] woken &= ~1; begin again
 *
 * Why it works  A poller parks its carrier as the loop would, but in another place: a thread that
 *               wakes the carrier ends the poller's system call, not a futex wait.
 *               Between try_park and the system call the poller may be descheduled (if it waits for
 *               a mutex, for example). The loop then ends the park for it, because a carrier that
 *               runs something is RUNNING. So the body must call can_park right before the system
 *               call. If a wakeup comes after that question, it finds the word still parked, and
 *               must end a call that has yet to begin. So the wakeup must be sticky, as an eventfd
 *               is: it must be kept until the call begins.
 *               A thread that the poller itself resumes while its carrier is parked causes no
 *               wakeup, because the poller's thread is awake. So can_park looks at the carrier's
 *               own queues, too.
 *               A stolen task lies in the carrier's `next` until the loop runs it. The poller does
 *               not park while it lies there. Otherwise two carriers could pass one task to and
 *               fro.
 *               The poller has a slot of its own. It runs once in each turn of the loop, after the
 *               other tasks, and nobody steals it.
 *               One compare-and-swap claims each wakeup, and one exit (carrier.2) reads each claim.
 *               When as many wakeups have returned as claims were read, no wakeup will touch the
 *               poller any more. The end of a poller may have to wait for a wakeup: the thread that
 *               woke it may have been descheduled inside the call, or right after it, when the
 *               woken thread took its processor. The bit that says that the poller's end sleeps is
 *               in the word that counts, so no wakeup returns unseen between the look and the
 *               sleep. A push does not end that sleep, as the carrier is RUNNING. So the sleep is
 *               short: it delays a task by 1 ms at the most, and costs a thousand looks a second at
 *               the most.
 * Its body      A body is one of two functions. `run` has a stack of its own, and calls
 *               wp_poller_maybe_yield. `step` has no stack: it returns WP_STEP_POLL between
 *               wp__poller_yield_begin and _end, the two halves of that call, and parks as other
 *               threads without a stack do. The protocol needs no further step: a poller that
 *               yields is in the slot, wherever its stack is.
 * Three forms   A blocking poller is the one above. A spinning poller never parks. Its wakeup does
 *               nothing, and nobody relies on it; a carrier that spins steals, and others steal
 *               from it. A parking poller waits as any virtual thread does (wp_vthread_park_until),
 *               and its carrier sleeps by itself.
 * Prior art     Go's scheduler blocks in netpoll when it finds nothing to run; Netty's experimental
 *               virtual-thread scheduler makes event loops carriers.
 * Spec          specs/sched/Poller.tla: BlockOnlyIfParked, PollerParkPaired, PinnedPollerUnique,
 *               WakeReachesSleeper, WakeupIsOver, StolenIsKept, PollerStaysHome, PollerRuns,
 *               CloseEnds.
 * Evidence      make check-specs T=Poller, make stress T=poller, tests/sched/test_poller*.py. */
#ifndef WP_POLLER_H
#define WP_POLLER_H

#include "base/futex.h"
#include "sched/carrier.h"
#include "thread/task.h"

struct wp_group;
struct wp_vthread;

/* The default configuration has all fields zero except `wakeup`, and `run` or `step`. */
typedef struct wp_poller_config {
	const char *name; /* name of its thread, copied; NULL: none */
	/* The body. It must return soon after a call below has returned WP_CLOSED. Returns 0 or an
	 * error code, which the join gets. */
	int (*run)(void *arg);
	enum wp_step (*step)(wp_task *task); /* in place of run, a body without a stack */
	/* Ends the poller's system call, even one that is about to begin. [any thread, when it has
	 * claimed this wake | must not park] */
	void (*wakeup)(void *arg);
	void *arg;
	uint64_t stack_bytes; /* 0: WP_STACK_BYTES */
	/* true: the body also blocks without wp_poller_try_park, and nothing else runs on its
	 * carrier meanwhile. */
	bool blocks;
	/* Called when the carrier has no poller any more, as in wp_vthread_config. NULL: nothing.
	 */
	void (*left)(struct wp_vthread *thread);
} wp_poller_config;

/* The poller of one carrier. `woken` is written by poller.1, poller.2, poller.4 and poller.5;
 * `config` by the thread that registers the poller, and then read by wakers; `registered` under the
 * lock of the group and that of its home; the other fields by the carrier. */
typedef struct wp_poller {
	wp_poller_config config;
	/* twice the number of wakeups that have returned, plus 1 while the end of the poller sleeps
	 */
	wp_atomic(uint32_t) woken;
	uint32_t claimed;              /* wakeups that its parks have seen claimed */
	bool is_parked;                /* try_park has returned WP_OK, and the park is not over */
	bool is_closing;               /* the carrier must stop, so the poller must end */
	bool has_returned;             /* its step has returned WP_STEP_DONE */
	uint64_t runs;                 /* the carrier's runs when the poller yielded last */
	struct wp_vthread *registered; /* its thread; NULL: there is no poller */
	struct wp_vthread *thread;     /* that thread, from its first run to its end */
	int64_t since_ns;              /* when its last park began, if events are kept */
} wp_poller;

/* The calls of a poller, for the carrier that runs it. On any other thread they return
 * WP_FORBIDDEN. */

/* Lets the other tasks run. Returns WP_OK if some ran, WP_IDLE if there was nothing to run, or
 * WP_CLOSED if the body must return. If the last round brought no input or output (had_io is
 * false), the call may steal one task for its carrier. [a poller with a stack | runs others] */
WP_API int wp_poller_maybe_yield(bool had_io);

/* cdef: begin */
/* wp_poller_maybe_yield in two halves. If the first returns WP_OK, return WP_STEP_POLL from the
 * step, and call the second when the step is called again. Any other result is that of
 * wp_poller_maybe_yield, which is then over. [a poller without a stack | may steal a task] */
int wp__poller_yield_begin(bool had_io);
int wp__poller_yield_end(void);

/* Parks the carrier. WP_OK: call can_park, block, and then call unpark. WP_HAS_WORK: yield first.
 * WP_CLOSED: return from the body. [the poller | wakes one carrier at the most] */
WP_API int wp_poller_try_park(void);

/* Returns true if the poller may block now. The answer may change at once, so call this right
 * before each system call. [the poller | wait-free] */
WP_API bool wp_poller_can_park(void);

/* Returns how long the poller may block: until the carrier's earliest timer, by CLOCK_MONOTONIC in
 * ns; INT64_MAX means until it is woken. Call this after try_park. [the poller | wait-free] */
WP_API int64_t wp_poller_until(void);

/* Ends the park, after the system call or in place of it. [the poller | wakes one carrier at the
 * most] */
WP_API int wp_poller_unpark(void);

/* Returns the number of pollers of the group that block without wp_poller_try_park. [any thread |
 * blocks briefly] */
WP_API uint32_t wp_poller_blocking(struct wp_group *group);
/* cdef: end */

/* Starts a poller of that carrier. Returns WP_OK, and its thread in *thread: join that thread to
 * wait until the carrier has no poller any more, and then free it. WP_ALREADY: the carrier has a
 * poller. WP_FORBIDDEN: the poller blocks, and no other carrier of the group would be free of
 * blocking pollers. WP_CLOSED: the group is closed. WP_SYSTEM: no memory. [any thread | as
 * wp_vthread_start] */
WP_API int wp_poller_register(struct wp_group *group, uint32_t carrier,
			      const wp_poller_config *config, struct wp_vthread **thread);

/* What io/ has made for one carrier. The group calls `free` once, when its carriers have ended. */
typedef struct wp_carrier_io {
	void (*free)(struct wp_carrier_io *io);
} wp_carrier_io;

/* A driver is the part of a poller of io/ that waits in the system. It has each of these functions;
 * `waits` is what its open has returned. io/descriptor_poller.h lists the drivers and calls them.
 */
enum {
	WP_DRIVER_READ = 1,
	WP_DRIVER_WRITE = 2,
	WP_DRIVER_DATA = 4,
	WP_DRIVER_EVENTS = 128 /* of one round */
};

typedef struct wp_driver_event {
	void *of; /* the pointer given to add; NULL: the wakeup */
	/* WP_DRIVER_READ, WP_DRIVER_WRITE: the directions that may be ready; for a descriptor that
	 * has failed, both. WP_DRIVER_DATA, beside WP_DRIVER_READ: nothing but data has come, so no
	 * end, no error and no urgent data. A driver that cannot tell leaves it out. */
	uint32_t what;
} wp_driver_event;

typedef struct wp_driver {
	const char *name; /* of the poller's thread */
	/* Opens the driver. Returns NULL and sets errno if it fails. `wakeup` is an eventfd: each
	 * signal of it must end a wait, even one that is about to begin. [any thread | system
	 * calls] */
	void *(*open)(int wakeup);
	void (*close)(void *waits);
	/* From now on there is an event whenever a direction of that descriptor becomes ready.
	 * Returns WP_OK; WP_UNSUPPORTED if this kind of file cannot be added; or WP_SYSTEM and sets
	 * errno. [any thread | system calls] */
	int (*add)(void *waits, int fd, void *of);
	/* Call it before the descriptor is closed. A wait in progress may still return an event of
	 * it. [any thread | system calls] */
	void (*remove)(void *waits, int fd);
	/* Returns the number of events that are there. If there are none, it blocks until one comes
	 * or until until_ns by CLOCK_MONOTONIC (0: it does not block; WP_FOREVER: no limit). It may
	 * return early without an event. A value below 0 means that there is none. [the poller |
	 * system calls] */
	int (*wait)(void *waits, int64_t until_ns, wp_driver_event *events);
} wp_driver;

/* Ends the sleep of the poller's carrier. [the thread that has claimed the wake | as its wakeup] */
WP_INLINE void wp__poller_wake(wp_poller *poller)
{
	poller->config.wakeup(poller->config.arg);
	/* [poller.1] release; pairs poller.2, poller.4, poller.5; upholds Poller!WakeupIsOver: the
	 * call comes before anything that is done when the poller is over. The poller may be gone
	 * now, so the word is only an address. */
	if ((wp_fetch_add_release(&poller->woken, 2) & 1) != 0)
		wp_futex_wake(&poller->woken, 1);
}

/* Counts the claim of a park that has ended; `old` is the word at its end. [the carrier |
 * wait-free] */
WP_INLINE void wp__poller_left(wp_poller *poller, uint32_t old)
{
	if (!poller->is_parked)
		return;
	poller->is_parked = false;
	if (!wp__is_parked(old))
		poller->claimed++;
}

/* Returns true if no thread is inside the poller's wakeup, nor will be unless the poller parks
 * again. [the carrier | wait-free] */
WP_INLINE bool wp__poller_is_over(wp_poller *poller)
{
	/* [poller.2] acquire; pairs poller.1; upholds Poller!WakeupIsOver. */
	return wp_load_acquire(&poller->woken) == poller->claimed * 2;
}

/* Sleeps until a wakeup returns, if a claimed one has not returned yet. [the poller, while its
 * carrier is RUNNING | blocks] */
WP_INLINE void wp__poller_await(wp_poller *poller, int64_t deadline_ns)
{
	/* [poller.4] relaxed, atomicity is enough: poller.2 looks again; pairs poller.1; upholds
	 * Poller!CloseEnds: a wakeup that has returned is in this count; a later one finds the bit,
	 * or changes the word before the sleep. */
	uint32_t woken = wp_fetch_or_relaxed(&poller->woken, 1u);

	if (woken != poller->claimed * 2)
		wp_futex_wait(&poller->woken, woken | 1u, deadline_ns);
	/* [poller.5] relaxed, atomicity is enough: poller.2 looks again; pairs poller.1; upholds
	 * Poller!WakeupIsOver: the count loses no wakeup. */
	wp_fetch_and_relaxed(&poller->woken, ~1u);
}

/* As wp_carrier_advertise. [the poller | wakes one carrier at the most] */
WP_INLINE bool wp__poller_park(wp_poller *poller, wp_carrier *carrier, wp_mpsc_node **stolen)
{
	poller->is_parked = true;
	return wp_carrier_advertise(carrier, WP_PARKED_POLLER, stolen);
}

/* Returns true if the poller's carrier is still parked, so that the poller may block. [the poller |
 * wait-free] */
WP_INLINE bool wp__poller_may_block(wp_poller *poller, wp_carrier *carrier)
{
	/* [poller.3] relaxed: a word that is stale costs one system call that ends at once; pairs
	 * carrier.2; upholds Poller!BlockOnlyIfParked: only the poller's own carrier makes the word
	 * RUNNING. */
	return poller->is_parked && wp_load_relaxed(&carrier->word) == WP_PARKED_POLLER;
}

#endif
