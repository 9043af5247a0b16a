/* SPDX-License-Identifier: Apache-2.0
 * main.c - runs one row: `bench ROW ROUNDS SLICE_MS TRIES CPU...`, one side of it once, without a
 * word: `bench ROW SIDE OPERATIONS`, or lists the rows: `bench`. It prints JSON on stdout.
 *
 * Why it works  Each side is first made long enough to fill a slice; then all sides take turns,
 *               round after round. Slices are short, so that many pass without another process on
 *               these CPUs. The others are measured again. */
#define _GNU_SOURCE
#include "bench.h"
#include "policies.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { THREADS = 8, PATIENCE = 4, ROUNDS_LEAST = 8, CALIBRATIONS = 4, NAME = 64 };
enum { SIDES = BENCH_SIDES + BENCH_OWN + 2 * WP_PLACE_POLICIES };

#define GROWTH_MOST 16.0 /* of the operations from one calibration to the next */

static const bench_row *const groups[] = {
	bench_one,         bench_flow,   bench_submit,        bench_parker,   bench_layout,
	bench_bare,        bench_group,  bench_pingpong,      bench_balance,  bench_recheck,
	bench_memory,      bench_peers,  bench_fiber,         bench_stack,    bench_timer,
	bench_vthread,     bench_sync,   bench_scale,         bench_dump,     bench_poller,
	bench_placement,   bench_placed, bench_sim_placement, bench_strategy, bench_local,
	bench_local_group, bench_shapes};
static int cpus[BENCH_CPUS], cpus_count;
int bench_round;
static wp_atomic(long) preempted; /* times in the latest run */

static double clock_now(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

double bench_cpu_ns(void)
{
	return clock_now(CLOCK_THREAD_CPUTIME_ID);
}

double bench_clock_ns(void)
{
	return clock_now(CLOCK_MONOTONIC);
}

void bench_yield(void)
{
	sched_yield();
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double bench_p99(double *values, size_t many)
{
	qsort(values, many, sizeof(*values), by_size);
	return values[(many * 99 - 1) / 100];
}

void bench_work(uint32_t many)
{
	uint64_t x = many;

	for (uint32_t k = 0; k < many; k++) {
		x = x * x + k;
		/* So that the compiler does not compute it in advance. */
		__asm__ __volatile__("" : "+r"(x));
	}
}

void bench_fail(const char *what)
{
	fprintf(stderr, "bench: %s\n", what);
	exit(1);
}

void bench_pin(int index)
{
	cpu_set_t set;

	if (cpus_count == 0)
		return;
	CPU_ZERO(&set);
	CPU_SET((size_t)(index == 0 || cpus_count == 1 ? cpus[0]
						       : cpus[1 + (index - 1) % (cpus_count - 1)]),
		&set);
	/* If it is refused, the run goes on where it may. */
	sched_setaffinity(0, sizeof(set), &set);
}

void bench_float(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	for (int k = 0; k < cpus_count; k++)
		CPU_SET((size_t)cpus[k], &set);
	if (cpus_count > 0)
		sched_setaffinity(0, sizeof(set), &set);
}

typedef struct bench_crew {
	void (*body)(void *context, int index);
	void *context;
	int threads;
	wp_atomic(int) ready;
} bench_crew;

typedef struct bench_member {
	bench_crew *crew;
	int index;
} bench_member;

long bench_preemptions(void)
{
	struct rusage usage;

	return getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_nivcsw : 0;
}

void bench_disturb(long times)
{
	wp_fetch_add_relaxed(&preempted, times);
}

/* Runs the body, and notes whether it was preempted. If there are more threads than CPUs, the
 * threads preempt one another, and only thread 0 counts. */
static void run_body(bench_crew *crew, int index)
{
	long before = bench_preemptions();

	crew->body(crew->context, index);
	if (index == 0 || crew->threads <= cpus_count)
		bench_disturb(bench_preemptions() - before);
}

static void start_together(bench_crew *crew, int index)
{
	unsigned spins = 0;

	bench_pin(index);
	wp_fetch_add_relaxed(&crew->ready, 1);
	while (wp_load_acquire(&crew->ready) < crew->threads)
		bench_spin(&spins);
}

static void *begin(void *argument)
{
	bench_member *self = argument;

	start_together(self->crew, self->index);
	run_body(self->crew, self->index);
	return NULL;
}

double bench_together(int threads, void (*body)(void *, int), void *context)
{
	bench_crew crew = {.body = body, .context = context, .threads = threads};
	bench_member members[THREADS];
	pthread_t ids[THREADS];
	double start, end;

	if (threads > THREADS)
		bench_fail("too many threads");
	for (int k = 1; k < threads; k++) {
		members[k] = (bench_member){&crew, k};
		if (pthread_create(&ids[k], NULL, begin, &members[k]) != 0)
			bench_fail("no thread");
	}
	start_together(&crew, 0);
	start = clock_now(CLOCK_MONOTONIC);
	run_body(&crew, 0);
	end = clock_now(CLOCK_MONOTONIC);
	for (int k = 1; k < threads; k++)
		pthread_join(ids[k], NULL);
	return end - start;
}

/* A side that runs alone, or under a policy. */
typedef struct side {
	char name[NAME];
	bench_side_run *run; /* or NULL: */
	double goal_ns;      /* or 0: */
	bench_policy_run *of_policy;
	int policy;
	bool at_dequeue;
} side;

static double run_side(const side *side, uint64_t ops)
{
	if (side->run)
		return side->run(ops);
	if (side->goal_ns > 0)
		return side->goal_ns * (double)ops;
	return side->of_policy(side->policy, side->at_dequeue, ops);
}

static void add_policy(const bench_row *row, side *added, const char *name, int policy,
		       bool at_dequeue)
{
	*added = (side){.of_policy = row->of_policy, .policy = policy, .at_dequeue = at_dequeue};
	snprintf(added->name, NAME, "%s%s", name, at_dequeue ? "_dequeue" : "");
}

/* Fills in all sides of a row and returns their number. */
static int sides_of(const bench_row *row, side *sides)
{
	int count = 0;

	for (; count < BENCH_SIDES && row->sides[count].name; count++) {
		sides[count] =
			(side){.run = row->sides[count].run, .goal_ns = row->sides[count].goal_ns};
		snprintf(sides[count].name, NAME, "%s", row->sides[count].name);
	}
	for (int k = 0; k < BENCH_OWN && row->own[k].name; k++)
		add_policy(row, &sides[count++], row->own[k].name, row->own[k].policy, false);
	for (int policy = 0; row->of_policy && policy < WP_PLACE_POLICIES; policy++) {
		const char *name = wp_placement_policy_name((uint32_t)policy);

		add_policy(row, &sides[count++], name, policy, false);
		if (row->both_loads && policy != WP_PLACE_HOME)
			add_policy(row, &sides[count++], name, policy, true);
	}
	return count;
}

/* The number of operations that fill a slice. The first runs also warm caches and predictors. The
 * shortest of a few runs decides, because a run that was preempted would give a slice too short to
 * be meaningful. */
static uint64_t calibrate(const side *side, double slice_ns)
{
	uint64_t ops = 128;

	for (;;) {
		double shortest = run_side(side, ops), factor;

		for (int k = 0; k < CALIBRATIONS && shortest > slice_ns / GROWTH_MOST; k++) {
			double ns = run_side(side, ops);

			shortest = ns < shortest ? ns : shortest;
		}
		factor = shortest > 0 ? slice_ns / shortest : GROWTH_MOST;
		if (factor <= 1.25)
			return ops;
		ops = (uint64_t)((double)ops * (factor < GROWTH_MOST ? factor * 1.1 : GROWTH_MOST));
	}
}

/* Takes one sample. A preempted run is repeated, at most `tries` times. *disturbed counts the
 * samples that stayed preempted. */
static double sample(const side *side, uint64_t ops, int tries, int *disturbed)
{
	double ns = 0;

	for (int k = 0; k < tries; k++) {
		wp_init(&preempted, 0);
		ns = run_side(side, ops);
		if (wp_load_relaxed(&preempted) == 0)
			return ns / (double)ops;
	}
	++*disturbed;
	return ns / (double)ops;
}

static void print_samples(const char *name, const double *samples, int rounds, const char *after)
{
	printf("\"%s\": [", name);
	for (int r = 0; r < rounds; r++)
		printf("%s%.4g", r ? ", " : "", samples[r]);
	printf("]%s", after);
}

/* "name": {"side": [..], ..} */
static void print_sides(const char *name, const side *sides, int count,
			double samples[][BENCH_ROUNDS], int rounds)
{
	printf("\"%s\": {", name);
	for (int s = 0; s < count; s++)
		print_samples(sides[s].name, samples[s], rounds, s + 1 < count ? ", " : "}");
}

static void run_row(const bench_row *row, int rounds, double slice_ns, int tries)
{
	static side sides[SIDES];
	static double samples[SIDES][BENCH_ROUNDS];
	static double counts[BENCH_COUNTS][SIDES][BENCH_ROUNDS];
	uint64_t ops[SIDES];
	int count = sides_of(row, sides), kinds = 0, disturbed = 0;
	double start, patience_ns;

	for (int s = 0; s < count; s++)
		ops[s] = calibrate(&sides[s], slice_ns);
	while (kinds < BENCH_COUNTS && row->counts[kinds].name)
		kinds++;
	start = clock_now(CLOCK_MONOTONIC);
	patience_ns = PATIENCE * rounds * count * slice_ns;
	for (int r = 0; r < rounds; r++) {
		bench_round = r;
		for (int s = 0; s < count; s++) {
			bool late = clock_now(CLOCK_MONOTONIC) - start > patience_ns;

			samples[s][r] = sample(&sides[s], ops[s], late ? 1 : tries, &disturbed);
			for (int c = 0; c < kinds; c++)
				counts[c][s][r] = *row->counts[c].of;
		}
		/* On a crowded machine, retries must end at some time. */
		if (clock_now(CLOCK_MONOTONIC) - start > patience_ns && (r + 1) % ROUNDS_LEAST == 0)
			rounds = r + 1;
	}
	printf("{\"row\": \"%s\", \"disturbed\": %d, ", row->name, disturbed);
	print_sides("samples", sides, count, samples, rounds);
	printf(", \"counts\": {");
	for (int c = 0; c < kinds; c++) {
		printf("%s", c ? ", " : "");
		print_sides(row->counts[c].name, sides, count, counts[c], rounds);
	}
	printf("}");
	printf("}\n");
}

/* Runs one side of a row once, so that a tool can count its instructions. */
static int run_once(const bench_row *row, const char *name, uint64_t ops)
{
	static side sides[SIDES];
	int count = sides_of(row, sides);

	for (int s = 0; s < count; s++) {
		if (strcmp(sides[s].name, name) == 0)
			return run_side(&sides[s], ops) >= 0 ? 0 : 1;
	}
	fprintf(stderr, "bench: row '%s' has no side '%s'\n", row->name, name);
	return 2;
}

int main(int argc, char **argv)
{
	int rounds = argc > 2 ? atoi(argv[2]) : 1, tries = argc > 4 ? atoi(argv[4]) : 1;
	double slice_ms = argc > 3 ? atof(argv[3]) : 1;

	for (int k = 5; k < argc && cpus_count < BENCH_CPUS; k++)
		cpus[cpus_count++] = atoi(argv[k]);
	for (size_t g = 0; g < sizeof(groups) / sizeof(groups[0]); g++) {
		for (const bench_row *row = groups[g]; row->name; row++) {
			if (argc < 2) {
				printf("%s\n", row->name);
			} else if (strcmp(row->name, argv[1]) == 0 && argc == 4) {
				return run_once(row, argv[2], strtoull(argv[3], NULL, 10));
			} else if (strcmp(row->name, argv[1]) == 0) {
				bench_pin(0);
				run_row(row, rounds < BENCH_ROUNDS ? rounds : BENCH_ROUNDS,
					slice_ms * 1e6, tries);
				return 0;
			}
		}
	}
	if (argc >= 2)
		fprintf(stderr, "bench: there is no row '%s'\n", argv[1]);
	return argc >= 2 ? 2 : 0;
}
