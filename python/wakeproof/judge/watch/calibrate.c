/* SPDX-License-Identifier: Apache-2.0
 * calibrate.c - sleeps in each blocking call of this machine's C library, twice, in a thread with
 * the name of the call. `wakeproof watch` reads the stacks of these threads, and then knows the
 * same calls in other processes. The program prints the library's version when its threads are
 * about to sleep. */
#define _GNU_SOURCE
#include <gnu/libc-version.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

static const struct timespec far = {.tv_sec = INT32_MAX}; /* it does not come */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, kinds[4];
static pthread_mutex_t free_lock[32];
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t read_locked = PTHREAD_RWLOCK_INITIALIZER;
static pthread_rwlock_t write_locked = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_t sleeper;
static sem_t sem;
static mtx_t c11_lock;
static cnd_t c11_cond;

static void for_ever(void)
{
	for (;;)
		pause();
}

static void *sleeps(void *none)
{
	(void)none;
	for_ever();
	return NULL;
}

/* Clears the stack below, so that only the frames of the call are there. */
__attribute__((noinline)) static void clear_stack(void)
{
	char below[8192];

	memset(below, 0, sizeof below);
	__asm__ volatile("" : : "r"(below) : "memory");
}

/* Each macro makes a thread's function, which sleeps in CALL. The call is no tail call. */
#define SLEEPS(NAME, CALL)                    \
	static void *NAME(void *arg)          \
	{                                     \
		pthread_mutex_t *own = arg;   \
		(void)own;                    \
		for (;;) {                    \
			clear_stack();        \
			CALL;                 \
			__asm__ volatile(""); \
		}                             \
		return NULL;                  \
	}
#define HOLDING(NAME, CALL) SLEEPS(NAME, (pthread_mutex_lock(own), CALL))

HOLDING(cond_wait, pthread_cond_wait(&cond, own))
HOLDING(cond_timedwait, pthread_cond_timedwait(&cond, own, &far))
HOLDING(cond_clockwait, pthread_cond_clockwait(&cond, own, CLOCK_MONOTONIC, &far))
SLEEPS(cnd_sleep, (mtx_lock(&c11_lock), cnd_wait(&c11_cond, &c11_lock)))
SLEEPS(sem_sleep, sem_wait(&sem))
SLEEPS(sem_timed, sem_timedwait(&sem, &far))
SLEEPS(sem_clock, sem_clockwait(&sem, CLOCK_MONOTONIC, &far))
SLEEPS(mutex_lock, pthread_mutex_lock(&lock))
SLEEPS(mutex_timed, pthread_mutex_timedlock(&lock, &far))
SLEEPS(mutex_clock, pthread_mutex_clocklock(&lock, CLOCK_MONOTONIC, &far))
SLEEPS(mutex_recursive, pthread_mutex_lock(&kinds[0]))
SLEEPS(mutex_checked, pthread_mutex_lock(&kinds[1]))
SLEEPS(mutex_robust, pthread_mutex_lock(&kinds[2]))
SLEEPS(mutex_adaptive, pthread_mutex_lock(&kinds[3]))
SLEEPS(rwlock_rd, pthread_rwlock_rdlock(&write_locked))
SLEEPS(rwlock_wr, pthread_rwlock_wrlock(&write_locked))
SLEEPS(rwlock_wr_read, pthread_rwlock_wrlock(&read_locked))
SLEEPS(barrier_wait, pthread_barrier_wait(&barrier))
SLEEPS(once_wait, pthread_once(&once, for_ever))
SLEEPS(join, pthread_join(sleeper, NULL))

static const struct {
	const char *name; /* of the thread: the kind of the call, and which */
	void *(*sleeps)(void *own);
} calls[] = {
	{"cond.wait", cond_wait},         {"cond.timed", cond_timedwait},
	{"cond.clock", cond_clockwait},   {"cond.c11", cnd_sleep},
	{"sem.wait", sem_sleep},          {"sem.timed", sem_timed},
	{"sem.clock", sem_clock},         {"mutex.lock", mutex_lock},
	{"mutex.timed", mutex_timed},     {"mutex.clock", mutex_clock},
	{"mutex.rec", mutex_recursive},   {"mutex.check", mutex_checked},
	{"mutex.robust", mutex_robust},   {"mutex.adapt", mutex_adaptive},
	{"rwlock.read", rwlock_rd},       {"rwlock.write", rwlock_wr},
	{"rwlock.write", rwlock_wr_read}, {"barrier.wait", barrier_wait},
	{"once.wait", once_wait},         {"join.wait", join},
};

static void mutex_of(pthread_mutex_t *mutex, int type, int robust)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, type);
	pthread_mutexattr_setrobust(&attr, robust);
	pthread_mutex_init(mutex, &attr);
	pthread_mutex_lock(mutex);
}

/* Holds what the others wait for. */
static void hold(void)
{
	mutex_of(&kinds[0], PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_STALLED);
	mutex_of(&kinds[1], PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_STALLED);
	mutex_of(&kinds[2], PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST);
	mutex_of(&kinds[3], PTHREAD_MUTEX_ADAPTIVE_NP, PTHREAD_MUTEX_STALLED);
	pthread_mutex_lock(&lock);
	pthread_rwlock_rdlock(&read_locked);
	pthread_rwlock_wrlock(&write_locked);
	pthread_barrier_init(&barrier, NULL, 100);
	sem_init(&sem, 0, 0);
	mtx_init(&c11_lock, mtx_plain);
	cnd_init(&c11_cond);
}

int main(void)
{
	pthread_t thread;
	int next = 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	hold();
	if (pthread_create(&sleeper, NULL, sleeps, NULL) != 0)
		return 1;
	for (size_t at = 0; at < sizeof calls / sizeof *calls; at++)
		for (int twice = 0; twice < 2; twice++) {
			pthread_mutex_t *own = &free_lock[next++ % 32];

			if (calls[at].sleeps == join && twice > 0)
				continue; /* a thread may be joined once */
			pthread_mutex_init(own, NULL);
			if (pthread_create(&thread, NULL, calls[at].sleeps, own) != 0)
				return 1;
			pthread_setname_np(thread, calls[at].name);
		}
	puts(gnu_get_libc_version());
	fflush(stdout);
	for_ever();
}
