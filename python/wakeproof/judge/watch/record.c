/* SPDX-License-Identifier: Apache-2.0
 * record.c - a library for LD_PRELOAD that records waits and wakes: of condition variables,
 * semaphores, eventfds, futexes by syscall(), and of conditions and virtual threads of wakeproof. It
 * explains a process that hangs: a signal that found no waiter leaves no other trace.
 *
 * Each thread writes to a ring of its own, so a wake costs a few stores and one look at the clock of
 * the CPU. `wakeproof watch` finds `wakeproof_record` by its name and reads the rings from outside.
 * The rings are private memory: a child that was forked has a copy, and nothing stays behind.
 *
 * Not promised  A ring keeps the newest EVENTS. A signal handler that wakes in the middle of an
 *               event of its own thread may lose that event. Calls inside the C library, and of
 *               programs that are linked statically, are not seen. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

enum {
	EVENTS = 1024, /* of a ring */
	KEPT = 64,     /* rings of ended threads that are not used again */
	FDS = 1024,    /* descriptors that are known to be eventfds, or not */
};

/* record.py has the same numbers. */
enum kind { WAIT = 1, END, WAKE, WAKE_ALL };
enum of { CONDITION = 1, SEMAPHORE, EVENTFD, FUTEX, OWN_CONDITION, VTHREAD };

struct event {
	uint64_t ticks;
	uint64_t object; /* its address; a descriptor */
	uint64_t who;    /* of a wait: the virtual thread, or 0; of a wake: what has called it */
	uint16_t kind, of;
	int32_t result; /* of a futex's wake: how many were woken; -1: not known */
};

struct ring {
	struct ring *next;      /* in `rings` */
	struct ring *next_idle; /* its thread has ended */
	_Atomic uint64_t count; /* events that were written */
	int64_t ticks, ns;      /* both clocks, at the newest wait */
	uint32_t tid, unused;
	struct event events[EVENTS];
};

/* What `wakeproof watch` reads first. */
__attribute__((visibility("default"))) struct {
	uint32_t size, events; /* of a ring in bytes; in it */
	struct ring *rings;
	int64_t ticks, ns; /* both clocks, at the beginning */
} wakeproof_record = {.size = sizeof(struct ring), .events = EVENTS};

static __thread struct ring *mine __attribute__((tls_model("initial-exec")));
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct ring *idle, **idle_end = &idle;
static unsigned idle_count;
static pthread_key_t key;
static _Atomic unsigned char is_eventfd[FDS];

#define EXPORTED __attribute__((visibility("default")))
#define UNLIKELY(what) __builtin_expect(what, 0)

/* Calls the function that this one stands before. GLIBC_2.3.2: the C library has older condition
 * variables under the same names, and dlsym would return those. */
#define REAL(name, ...)                                                                   \
	({                                                                                \
		static __typeof__(&name) real;                                            \
                                                                                          \
		if (UNLIKELY(real == NULL)) {                                             \
			real = (__typeof__(real))dlvsym(RTLD_NEXT, #name, "GLIBC_2.3.2"); \
			if (real == NULL)                                                 \
				real = (__typeof__(real))dlsym(RTLD_NEXT, #name);         \
		}                                                                         \
		real(__VA_ARGS__);                                                        \
	})

static int64_t clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void thread_ends(void *ring)
{
	pthread_mutex_lock(&lock);
	mine = NULL;
	((struct ring *)ring)->next_idle = NULL;
	*idle_end = ring;
	idle_end = &((struct ring *)ring)->next_idle;
	idle_count++;
	pthread_mutex_unlock(&lock);
}

/* The other threads are not in the child. */
static void forked(void)
{
	pthread_mutex_init(&lock, NULL);
	if (mine != NULL)
		mine->tid = (uint32_t)gettid();
}

__attribute__((constructor)) static void begin(void)
{
	pthread_key_create(&key, thread_ends);
	pthread_atfork(NULL, NULL, forked);
	wakeproof_record.ticks = (int64_t)__rdtsc();
	wakeproof_record.ns = clock_ns();
}

/* Returns a ring for the calling thread, or NULL: there is no memory. */
static __attribute__((noinline)) struct ring *new_ring(void)
{
	struct ring *ring = NULL;

	pthread_mutex_lock(&lock);
	if (idle_count > KEPT) {
		ring = idle;
		idle = ring->next_idle;
		idle_count--;
		atomic_store_explicit(&ring->count, 0, memory_order_relaxed);
	} else {
		void *got = mmap(NULL, sizeof *ring, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (got != MAP_FAILED) {
			ring = got;
			ring->next = wakeproof_record.rings;
			wakeproof_record.rings = ring;
		}
	}
	pthread_mutex_unlock(&lock);
	if (ring != NULL) {
		ring->tid = (uint32_t)gettid();
		pthread_setspecific(key, ring);
	}
	return mine = ring;
}

/* Not inlined into a wait: a virtual thread may return from it on another OS thread. */
static __attribute__((noinline)) struct event *record(enum kind kind, enum of of, uint64_t object,
						      uint64_t who, int result)
{
	static struct event nowhere;
	struct ring *ring = mine;
	struct event *event;
	uint64_t count;

	if (UNLIKELY(ring == NULL) && (ring = new_ring()) == NULL)
		return &nowhere;
	count = atomic_load_explicit(&ring->count, memory_order_relaxed);
	event = &ring->events[count % EVENTS];
	event->ticks = __rdtsc();
	event->object = object;
	event->who = who;
	event->kind = (uint16_t)kind;
	event->of = (uint16_t)of;
	event->result = result;
	atomic_store_explicit(&ring->count, count + 1, memory_order_release);
	return event;
}

static void waits(enum of of, uint64_t object, uint64_t who)
{
	struct event *event = record(WAIT, of, object, who, 0);

	if (mine != NULL) {
		mine->ticks = (int64_t)event->ticks;
		mine->ns = clock_ns();
	}
}

#define ADDRESS(pointer) ((uint64_t)(uintptr_t)(pointer))
#define CALLER ADDRESS(__builtin_return_address(0))
#define WAITING(of, object, who, ...)             \
	({                                        \
		uint64_t its = (who);             \
		int rc;                           \
                                                  \
		waits(of, object, its);           \
		rc = (int)(__VA_ARGS__);          \
		record(END, of, object, its, rc); \
		rc;                               \
	})
#define WAKING(kind, of, object) ((void)record(kind, of, object, CALLER, -1))

EXPORTED int pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
	return WAITING(CONDITION, ADDRESS(cond), 0, REAL(pthread_cond_wait, cond, mutex));
}

EXPORTED int pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
				    const struct timespec *until)
{
	return WAITING(CONDITION, ADDRESS(cond), 0,
		       REAL(pthread_cond_timedwait, cond, mutex, until));
}

EXPORTED int pthread_cond_clockwait(pthread_cond_t *cond, pthread_mutex_t *mutex, clockid_t clock,
				    const struct timespec *until)
{
	return WAITING(CONDITION, ADDRESS(cond), 0,
		       REAL(pthread_cond_clockwait, cond, mutex, clock, until));
}

EXPORTED int pthread_cond_signal(pthread_cond_t *cond)
{
	WAKING(WAKE, CONDITION, ADDRESS(cond));
	return REAL(pthread_cond_signal, cond);
}

EXPORTED int pthread_cond_broadcast(pthread_cond_t *cond)
{
	WAKING(WAKE_ALL, CONDITION, ADDRESS(cond));
	return REAL(pthread_cond_broadcast, cond);
}

EXPORTED int sem_wait(sem_t *sem)
{
	return WAITING(SEMAPHORE, ADDRESS(sem), 0, REAL(sem_wait, sem));
}

EXPORTED int sem_timedwait(sem_t *sem, const struct timespec *until)
{
	return WAITING(SEMAPHORE, ADDRESS(sem), 0, REAL(sem_timedwait, sem, until));
}

EXPORTED int sem_clockwait(sem_t *sem, clockid_t clock, const struct timespec *until)
{
	return WAITING(SEMAPHORE, ADDRESS(sem), 0, REAL(sem_clockwait, sem, clock, until));
}

EXPORTED int sem_post(sem_t *sem)
{
	WAKING(WAKE, SEMAPHORE, ADDRESS(sem));
	return REAL(sem_post, sem);
}

static void know(int fd, bool its)
{
	if (fd >= 0 && fd < FDS)
		atomic_store_explicit(&is_eventfd[fd], its, memory_order_relaxed);
}

static bool knows(int fd)
{
	return fd >= 0 && fd < FDS &&
	       atomic_load_explicit(&is_eventfd[fd], memory_order_relaxed) != 0;
}

EXPORTED int eventfd(unsigned initial, int flags)
{
	int fd = REAL(eventfd, initial, flags);

	know(fd, true);
	return fd;
}

EXPORTED int close(int fd)
{
	know(fd, false);
	return REAL(close, fd);
}

EXPORTED ssize_t write(int fd, const void *bytes, size_t size)
{
	if (UNLIKELY(knows(fd)))
		WAKING(WAKE, EVENTFD, (uint64_t)fd);
	return REAL(write, fd, bytes, size);
}

EXPORTED int eventfd_write(int fd, eventfd_t value)
{
	WAKING(WAKE, EVENTFD, (uint64_t)fd);
	return REAL(eventfd_write, fd, value);
}

EXPORTED ssize_t read(int fd, void *bytes, size_t size)
{
	if (UNLIKELY(knows(fd)))
		return WAITING(EVENTFD, (uint64_t)fd, 0, REAL(read, fd, bytes, size));
	return REAL(read, fd, bytes, size);
}

EXPORTED int eventfd_read(int fd, eventfd_t *value)
{
	return WAITING(EVENTFD, (uint64_t)fd, 0, REAL(eventfd_read, fd, value));
}

static bool waits_at_futex(long operation)
{
	operation &= FUTEX_CMD_MASK;
	return operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET;
}

static bool wakes_at_futex(long operation)
{
	operation &= FUTEX_CMD_MASK;
	return operation == FUTEX_WAKE || operation == FUTEX_WAKE_BITSET ||
	       operation == FUTEX_REQUEUE || operation == FUTEX_CMP_REQUEUE ||
	       operation == FUTEX_WAKE_OP;
}

EXPORTED long syscall(long number, ...)
{
	long words[6];
	struct event *event;
	va_list all;
	long got;

	va_start(all, number);
	for (int at = 0; at < 6; at++)
		words[at] = va_arg(all, long);
	va_end(all);
	if (number == SYS_futex && waits_at_futex(words[1])) {
		waits(FUTEX, (uint64_t)words[0], 0);
		got = REAL(syscall, number, words[0], words[1], words[2], words[3], words[4],
			   words[5]);
		record(END, FUTEX, (uint64_t)words[0], 0, (int)got);
		return got;
	}
	if (number == SYS_futex && wakes_at_futex(words[1])) {
		event = record((uint32_t)words[2] > 1 ? WAKE_ALL : WAKE, FUTEX, (uint64_t)words[0],
			       CALLER, -1);
		got = REAL(syscall, number, words[0], words[1], words[2], words[3], words[4],
			   words[5]);
		event->result = (int32_t)got;
		return got;
	}
	return REAL(syscall, number, words[0], words[1], words[2], words[3], words[4], words[5]);
}

/* Our own runtime, where it is a shared library. */
typedef struct wp_vthread wp_vthread;
typedef struct wp_condition wp_condition;
typedef struct wp_mutex wp_mutex;
wp_vthread *wp_vthread_current(void) __attribute__((weak));
int wp_vthread_park_until(int64_t deadline_ns);
void wp_vthread_unpark(wp_vthread *thread);
int wp_condition_wait_until(wp_condition *condition, wp_mutex *mutex, int64_t deadline_ns);
void wp_condition_signal(wp_condition *condition);
void wp_condition_broadcast(wp_condition *condition);

static uint64_t self(void)
{
	return wp_vthread_current != NULL ? ADDRESS(wp_vthread_current()) : 0;
}

EXPORTED int wp_vthread_park_until(int64_t deadline_ns)
{
	return WAITING(VTHREAD, self(), self(), REAL(wp_vthread_park_until, deadline_ns));
}

EXPORTED void wp_vthread_unpark(wp_vthread *thread)
{
	WAKING(WAKE, VTHREAD, ADDRESS(thread));
	REAL(wp_vthread_unpark, thread);
}

EXPORTED int wp_condition_wait_until(wp_condition *condition, wp_mutex *mutex, int64_t deadline_ns)
{
	return WAITING(OWN_CONDITION, ADDRESS(condition), self(),
		       REAL(wp_condition_wait_until, condition, mutex, deadline_ns));
}

EXPORTED void wp_condition_signal(wp_condition *condition)
{
	WAKING(WAKE, OWN_CONDITION, ADDRESS(condition));
	REAL(wp_condition_signal, condition);
}

EXPORTED void wp_condition_broadcast(wp_condition *condition)
{
	WAKING(WAKE_ALL, OWN_CONDITION, ADDRESS(condition));
	REAL(wp_condition_broadcast, condition);
}
