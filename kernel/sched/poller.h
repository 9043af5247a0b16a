/* SPDX-License-Identifier: Apache-2.0
 * poller.h - a virtual thread of a carrier that may block in the system for all of them.
 *
 *   its body, for ever                                           another thread
 *   look, without blocking; unpark whom that resumes             push; fence
 *   wp_poller_maybe_yield: the others run                        [carrier.3] its word PARKED_POLLER: WAKING
 *   wp_poller_try_park: [carrier.1] word := PARKED_POLLER; look    call its wakeup; [poller.1] woken++
 *     [poller.3] wp_poller_can_park? block in the system until
 *                wp_poller_until
 *     wp_poller_unpark: [carrier.2]
 *
 *   its end: [poller.2] woken = wakeups that its parks have seen claimed? the carrier has none now
 *     no: the others run; then, if there is nothing to run, for 1 ms at the most:
 *     [poller.4] woken |= 1; as many? no: sleep                     [poller.1] it was odd: end that sleep
 *     [poller.5] woken &= ~1; the same again
 *
 * Why it works  It parks its carrier as the loop would, in another place: so whoever wakes the
 *               carrier ends the system call instead of a futex wait. Between try_park and the call
 *               the thread may be descheduled (it waited for a mutex, say): the loop then leaves
 *               the park for it, for a carrier that runs something is RUNNING; so can_park must be
 *               asked right before the call. A wakeup that comes after the question finds the word
 *               still parked, and must end a call that has yet to begin: let it be sticky, as an
 *               eventfd. What the poller itself resumes while it has parked its carrier tells
 *               nobody, for whoever runs there is awake: so can_park looks at its queues, too.
 *               What it steals lies in the carrier's `next` until the loop runs it, and it parks
 *               for nothing while it lies there, or two carriers could hand one task to and fro.
 *               It has a slot of its own: it runs once per turn of the loop, after the others, and
 *               nobody steals it.
 *               Each wakeup was claimed by one compare-and-swap, and each claim is read by one exit
 *               (carrier.2): when as many wakeups have returned, none will touch what they use.
 *               Its end may have to wait for one: a waker was descheduled inside the wakeup, or
 *               right after it, as the thread that it has woken took its processor. The bit that
 *               says who sleeps is in the word that counts, so no wakeup returns between the two.
 *               A push does not end that sleep, as the carrier is RUNNING; so it is short: 1 ms is
 *               what it may add to a task, at a thousand looks a second.
 * Its body      run has a stack of its own, and calls wp_poller_maybe_yield. step has none: it says
 *               WP_STEP_POLL between wp__poller_yield_begin and _end, the two halves of that call,
 *               and parks as other threads without a stack do. No step of the protocol is new: who
 *               yields is in the slot, where its stack is does not matter.
 * Three forms   blocking: as above. Spinning: it never parks, its wakeup does nothing, nobody counts
 *               on it; a carrier that spins steals and is stolen from. Parking: it waits as any
 *               virtual thread does (wp_vthread_park_until), and its carrier sleeps by itself.
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

/* Zeroed but for wakeup and run, or step, it is what to use. */
typedef struct wp_poller_config {
	const char *name; /* of its thread; is copied; NULL: none */
	/* Returns soon after a call below has said WP_CLOSED. Gives 0, or how it failed, for the
	 * join. */
	int (*run)(void *arg);
	enum wp_step (*step)(wp_task *task); /* instead: no stack, as wp_vthread_config says */
	/* Ends its system call, also one that is about to begin. [any thread, when it has claimed
	 * this wake | must not park] */
	void (*wakeup)(void *arg);
	void *arg;
	uint64_t stack_bytes; /* 0: WP_STACK_BYTES */
	bool blocks; /* also without wp_poller_try_park: nothing else runs there meanwhile */
	/* When its carrier has none again, as wp_vthread_config says; NULL: nothing. */
	void (*left)(struct wp_vthread *thread);
} wp_poller_config;

/* Of one carrier. woken: poller.1, poller.2, poller.4, poller.5; config: who registers, then who
 * wakes; registered: under the group's lock and its home's; the rest: the carrier. */
typedef struct wp_poller {
	wp_poller_config config;
	wp_atomic(uint32_t) woken;     /* wakeups that have returned, times 2; 1: its end sleeps */
	uint32_t claimed;              /* that its parks have seen */
	bool is_parked;                /* try_park has said WP_OK, and nobody has left since */
	bool is_closing;               /* the carrier is to stop: it is to end */
	bool has_returned;             /* its step has said WP_STEP_DONE */
	uint64_t runs;                 /* of the carrier, when it yielded last */
	struct wp_vthread *registered; /* NULL: none */
	struct wp_vthread *thread;     /* from its first run to its end */
	int64_t since_ns;              /* its last park, if events are kept */
} wp_poller;

/* For the poller of the calling carrier; on any other thread these give WP_FORBIDDEN. */

/* Has the others run: WP_OK; WP_IDLE: there was nothing to run. If it had no input or output, it
 * may steal one task for its carrier. WP_CLOSED: return from your body. [a poller with a stack |
 * runs others] */
WP_API int wp_poller_maybe_yield(bool had_io);

/* cdef: begin */
/* The same, in two halves. The first: WP_OK: say WP_STEP_POLL, and call the second when it goes on;
 * else as wp_poller_maybe_yield, which is then over. [a poller without a stack | may steal a
 * task] */
int wp__poller_yield_begin(bool had_io);
int wp__poller_yield_end(void);

/* WP_OK: the carrier is parked: ask can_park and block; then unpark. WP_HAS_WORK: yield first.
 * WP_CLOSED: return from your body. [the poller | wakes somebody at the most] */
WP_API int wp_poller_try_park(void);

/* Right before the system call, each time: may it block? A snapshot. [the poller | wait-free] */
WP_API bool wp_poller_can_park(void);

/* How long, by CLOCK_MONOTONIC in ns: the carrier's earliest timer; INT64_MAX: until it is woken.
 * Read it after try_park. [the poller | wait-free] */
WP_API int64_t wp_poller_until(void);

/* After the system call, or in its place. [the poller | wakes somebody at the most] */
WP_API int wp_poller_unpark(void);

/* How many pollers of the group block without wp_poller_try_park. [any thread | blocks shortly] */
WP_API uint32_t wp_poller_blocking(struct wp_group *group);
/* cdef: end */

/* Starts a poller of that carrier. WP_OK and its thread: join it to wait until the carrier has none
 * again, and free it. WP_ALREADY: it has one. WP_FORBIDDEN: it blocks, and no other carrier of the
 * group would be free of such. WP_CLOSED; WP_SYSTEM: no memory. [any thread | as
 * wp_vthread_start] */
WP_API int wp_poller_register(struct wp_group *group, uint32_t carrier,
			      const wp_poller_config *config, struct wp_vthread **thread);

/* What io/ has made for one carrier. Its group, whose carriers have ended, calls that once. */
typedef struct wp_carrier_io {
	void (*free)(struct wp_carrier_io *io);
} wp_carrier_io;

/* A driver: how such a poller of io/ waits in the system. It has each of these functions. `waits`
 * is what its open has made. io/descriptor_poller.h says which drivers there are, and calls
 * them. */
enum { WP_DRIVER_READ = 1, WP_DRIVER_WRITE = 2, WP_DRIVER_EVENTS = 128 /* of one round */ };

typedef struct wp_driver_event {
	void *of; /* as it was added; NULL: the wakeup */
	/* WP_DRIVER_READ, WP_DRIVER_WRITE: what may be ready; one that has failed is both */
	uint32_t what;
} wp_driver_event;

typedef struct wp_driver {
	const char *name; /* of the poller's thread */
	/* NULL and errno. `wakeup`: an eventfd; each signal is to end a wait, also one that is
	 * about to begin. [any thread | system calls] */
	void *(*open)(int wakeup);
	void (*close)(void *waits);
	/* From now on, whenever a direction of that descriptor gets ready, there is an event.
	 * WP_OK; WP_UNSUPPORTED: not for files of this kind; WP_SYSTEM and errno. [any thread |
	 * system calls] */
	int (*add)(void *waits, int fd, void *of);
	/* Before it is closed. The wait that is under way may still give an event of it. [as
	 * above] */
	void (*remove)(void *waits, int fd);
	/* The events that there are, or how many; none: blocks until one comes, or until that time
	 * by CLOCK_MONOTONIC in ns; 0: does not block; WP_FOREVER. It may end early, with none.
	 * Less than 0 is none. [the poller | system calls] */
	int (*wait)(void *waits, int64_t until_ns, wp_driver_event *events);
} wp_driver;

/* Ends the sleep of its carrier. [who has claimed it | as its wakeup] */
WP_INLINE void wp__poller_wake(wp_poller *poller)
{
	poller->config.wakeup(poller->config.arg);
	/* [poller.1] release; pairs poller.2, poller.4, poller.5; upholds Poller!WakeupIsOver: the
	 * call comes before whatever is done when it is over. The poller may be gone now: the word
	 * is only an address. */
	if ((wp_fetch_add_release(&poller->woken, 2) & 1) != 0)
		wp_futex_wake(&poller->woken, 1);
}

/* The carrier left a park, and its word was that. [the carrier | wait-free] */
WP_INLINE void wp__poller_left(wp_poller *poller, uint32_t old)
{
	if (!poller->is_parked)
		return;
	poller->is_parked = false;
	if (!wp__is_parked(old))
		poller->claimed++;
}

/* True: nobody is in its wakeup, nor will be, unless it parks again. [the carrier | wait-free] */
WP_INLINE bool wp__poller_is_over(wp_poller *poller)
{
	/* [poller.2] acquire; pairs poller.1; upholds Poller!WakeupIsOver. */
	return wp_load_acquire(&poller->woken) == poller->claimed * 2;
}

/* Sleeps until a wakeup returns, if one that was claimed has not. [the poller, its carrier RUNNING
 * | blocks] */
WP_INLINE void wp__poller_await(wp_poller *poller, int64_t deadline_ns)
{
	/* [poller.4] relaxed, atomicity is enough: poller.2 looks again; pairs poller.1; upholds
	 * Poller!CloseEnds: a wakeup that has returned is in this count, any later one finds the
	 * bit, or changes the word before the sleep. */
	uint32_t woken = wp_fetch_or_relaxed(&poller->woken, 1u);

	if (woken != poller->claimed * 2)
		wp_futex_wait(&poller->woken, woken | 1u, deadline_ns);
	/* [poller.5] relaxed, atomicity is enough: poller.2 looks again; pairs poller.1; upholds
	 * Poller!WakeupIsOver: no wakeup is lost to the count. */
	wp_fetch_and_relaxed(&poller->woken, ~1u);
}

/* [the poller | wakes somebody at the most] As wp_carrier_advertise. */
WP_INLINE bool wp__poller_park(wp_poller *poller, wp_carrier *carrier, wp_mpsc_node **stolen)
{
	poller->is_parked = true;
	return wp_carrier_advertise(carrier, WP_PARKED_POLLER, stolen);
}

/* [the poller | wait-free] */
WP_INLINE bool wp__poller_may_block(wp_poller *poller, wp_carrier *carrier)
{
	/* [poller.3] relaxed: stale costs one system call that ends at once; pairs carrier.2;
	 * upholds Poller!BlockOnlyIfParked: its own carrier alone makes it RUNNING. */
	return poller->is_parked && wp_load_relaxed(&carrier->word) == WP_PARKED_POLLER;
}

#endif
