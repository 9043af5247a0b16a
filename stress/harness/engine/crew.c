/* SPDX-License-Identifier: Apache-2.0
 * crew.c - one thread per actor: CPUs, rendezvous, and the plan that member 0 makes for all
 * members. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "engine.h"
#include "base/futex.h"

enum {
	/* Loads without a pause: the other member is as near as a cache line transfer. */
	SPINS = 256,
	PAUSES = 200,       /* loads with a pause, about 10 us, before the CPU is given away */
	PAUSES_CROWDED = 4, /* the other member cannot come before this thread gives way */
	YIELDS = 200,       /* after these the other member sleeps, or the machine is busy: nap */
	NAP_NS = 20000,
	ROTATE_NS = 20000000, /* for how long actors keep their CPUs */
	FIRST_USED = 256,     /* states of the first block */
	SHORT_NS = 2000000,   /* blocks shorter than this may double */
	LONG_NS = 10000000,   /* blocks longer than this shrink */
	EXTRA_BUDGETS = 9,    /* for --sample-min, beyond --seconds */
	EXTRA_NS = 1000000000,
};

_Thread_local stress_member *stress_self;

uint64_t stress_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

void stress_skew(stress_member *member, unsigned n)
{
	/* The upper half of a product of 32 bits each: as even as a remainder, without a division. */
	for (uint64_t i = (stress_random(&member->random) >> 32) * n >> 32; i; i--)
		__asm__ __volatile__("" ::: "memory");
}

/* Notes why longjmp took the member out of its actor. */
void stress_left(stress_member *member, int why)
{
	stress_run *run = member->run;

	member->in_actor = 0;
	/* A sleep that the scenario declares is judged by sleep.c. */
	if (why == STRESS_ASLEEP && run->test->blocking)
		return;
	if (why == STRESS_ASLEEP) {
		wp_store_relaxed(&member->watch.rescued, 0);
		wp_store_relaxed(&run->is_asleep, 1);
	}
	wp_store_relaxed(&run->is_abandoned, 1);
}

/* Waits until all members have come. [every member | blocks] */
void stress_meet(stress_member *member)
{
	stress_run *run = member->run;
	int pauses_most = run->is_crowded ? PAUSES_CROWDED : PAUSES;
	uint64_t meeting = ++member->meetings;

	/* release; pairs the acquire below: it hands over results, states and plans. */
	wp_store_release(&member->arrived, meeting);
	for (int k = 0; k < run->actors; k++) {
		wp_atomic(uint64_t) *arrived = &run->members[k].arrived;

		for (int looks = 0; wp_load_acquire(arrived) < meeting; looks++) {
			if (looks < SPINS)
				continue;
			if (looks < SPINS + pauses_most)
				wp_pause();
			else if (looks < SPINS + pauses_most + YIELDS)
				sched_yield();
			else
				nanosleep(&(struct timespec){0, NAP_NS}, NULL);
		}
	}
}

int stress_allowed_cpus(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
}

/* The member's place in the permutation that `rotation` names. Each actor meets each CPU. */
static uint64_t place_of(const stress_member *member)
{
	const stress_run *run = member->run;
	uint64_t order[STRESS_ACTORS] = {0}, random = run->rotation | 1;

	for (uint64_t k = 1; k < (uint64_t)run->actors; k++) {
		uint64_t other = (stress_random(&random) >> 16) % (k + 1);

		order[k] = order[other];
		order[other] = k;
	}
	return order[member->index];
}

void stress_place(stress_member *member)
{
	const stress_options *options = member->run->options;
	int cpu;

	if (options->cpus_count) {
		cpu_set_t set;

		cpu = options->cpus[place_of(member) % (uint64_t)options->cpus_count];
		if (cpu != member->cpu) {
			CPU_ZERO(&set);
			CPU_SET((size_t)cpu, &set);
			member->pin_failed |= sched_setaffinity(0, sizeof(set), &set) != 0;
			member->cpu = cpu;
		}
	}
	cpu = sched_getcpu();
	if (cpu >= 0 && cpu < 64)
		member->cpus_ran |= UINT64_C(1) << cpu;
}

/* The stride of the next block. */
static size_t next_stride(const stress_run *run, uint64_t random)
{
	/* A delayed actor drifts by microseconds. A rendezvous per state keeps the actors
	 * together. */
	static const size_t sweep[] = {16, 32, 64, 256}, sweep_crowded[] = {64, 256, 1024, 4096},
			    sweep_delayed[] = {1, 2, 8, 32};
	const stress_options *options = run->options;

	if (options->strides_count)
		return options->strides[random % (uint64_t)options->strides_count];
	if (run->test->loops->delayed)
		return sweep_delayed[random % 4];
	return run->is_crowded ? sweep_crowded[random % 4] : sweep[random % 4];
}

/* In a block that takes long, the actors wait for CPUs. Small blocks keep to the budget. */
static size_t next_used(const stress_run *run, int64_t took_ns)
{
	if (took_ns > LONG_NS && run->used > STRESS_BLOCK_LEAST)
		return run->used / 4 > STRESS_BLOCK_LEAST ? run->used / 4 : STRESS_BLOCK_LEAST;
	if (took_ns < SHORT_NS)
		return run->used * 2 < run->block ? run->used * 2 : run->block;
	return run->used;
}

/* Counts the block that has run. */
static void count_block(stress_run *run)
{
	bool is_abandoned = wp_load_relaxed(&run->is_abandoned);
	bool is_asleep = wp_load_relaxed(&run->is_asleep);

	run->asleep += is_asleep;
	run->asleep_changed += is_asleep && wp_load_relaxed(&run->rescued_change);
	run->stuck += is_abandoned && !is_asleep;
	run->samples += is_abandoned ? 1 : run->used;
	wp_store_relaxed(&run->is_abandoned, 0);
	wp_store_relaxed(&run->is_asleep, 0);
}

/* An actor that loops or sleeps for ever is taken out late. Such a run does not wait for a number
 * of samples. */
static bool is_slow(const stress_run *run)
{
	return run->stuck || (run->asleep && !run->test->blocking);
}

/* Counts the block that has run, and plans the next one. [member 0, while the others wait] */
void stress_plan(stress_run *run)
{
	const stress_options *options = run->options;
	uint64_t random = stress_random(&run->members[0].random) >> 8;
	int64_t now = wp_clock_ns(), budget = run->end_ns - run->start_ns;

	if (run->blocks && !run->test->blocking)
		count_block(run);
	run->used = run->blocks ? next_used(run, now - run->last_ns) : FIRST_USED;
	if (run->used > run->block)
		run->used = run->block;
	run->stop = now >= run->end_ns && (is_slow(run) || (run->blocks >= STRESS_BLOCKS &&
							    run->samples >= options->sample_min));
	/* Waiting for a minimum of samples also has an end. */
	if (run->blocks && now >= run->end_ns + budget * EXTRA_BUDGETS + EXTRA_NS)
		run->stop = true;
	run->blocks++;
	run->last_ns = now;
	run->stride = next_stride(run, random);
	if (now >= run->rotate_ns) {
		run->rotation = random >> 8;
		run->rotate_ns = now + ROTATE_NS;
	}
}

typedef struct start {
	stress_member *member;
	void (*body)(stress_member *);
} start;

static void *begin(void *argument)
{
	start *mine = argument;

	stress_self = mine->member;
	mine->member->tid = syscall(SYS_gettid);
	mine->body(mine->member);
	return NULL;
}

int stress_crew(stress_run *run, void (*body)(stress_member *))
{
	start starts[STRESS_ACTORS];
	uint64_t seed = run->options->seed * 2 + 1;

	for (int k = 0; k < run->actors; k++) {
		stress_member *member = &run->members[k];

		member->run = run;
		member->index = k;
		member->cpu = -1;
		for (int i = 0; i < 4 + k; i++)
			member->random = stress_random(&seed);
	}
	run->start_ns = wp_clock_ns();
	run->end_ns = run->start_ns + (int64_t)(run->options->seconds * 1e9);
	for (int k = 0; k < run->actors; k++) {
		starts[k] = (start){&run->members[k], body};
		if (pthread_create(&run->members[k].thread, NULL, begin, &starts[k]) != 0) {
			fprintf(stderr, "stress: no thread for actor %d of %s\n", k,
				run->test->name);
			return 3; /* main returns at once, and exiting ends the threads that wait */
		}
	}
	for (int k = 0; k < run->actors; k++)
		pthread_join(run->members[k].thread, NULL);
	run->end_ns = wp_clock_ns();
	return 0;
}
