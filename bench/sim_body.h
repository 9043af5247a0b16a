/* SPDX-License-Identifier: Apache-2.0
 * sim_body.h - the simulation, compiled with the carrier.c and search.c that were included above
 * it. Each variant includes it once. */
#include <stdlib.h>

#include "calls.h"
#include "sched/carrier_tasks.h"
#include "sched/run_queues.h"
#include "sim.h"

#define NEVER 1e18

typedef struct sim_task {
	wp_mpsc_node node;
	uint32_t home;
	bool has_begun;
	double submitted_ns, began_ns, takes_ns;
} sim_task;

/* Cache lines lie as in a group, in which homes are an array. */
typedef struct sim_carrier {
	/* Must be first: a wake names a word, and the carrier is found by its address. */
	wp_carrier_tasks home;
	double next_ns;
	bool is_asleep;
} sim_carrier;

static wp_domain domain;
static wp_carrier *members[SIM_CARRIERS];
static sim_carrier *carriers;
static sim_task tasks[SIM_TASKS];
static double now_ns, paid_ns;
static uint64_t random_state, wakes;

/* Uniform between 0 and twice `mean`. */
static double draw(double mean)
{
	return (double)(bench_random(&random_state) >> 32) / 4294967296.0 * 2 * mean;
}

static void wake(void *word)
{
	sim_carrier *carrier = word;

	wakes++;
	carrier->next_ns = now_ns + paid_ns + SIM_WAKE_NS;
	paid_ns += SIM_WAKER_NS;
}

static void make_carriers(uint32_t count)
{
	if (carriers == NULL)
		carriers = aligned_alloc(WP_LINE, SIM_CARRIERS * sizeof(sim_carrier));
	if (carriers == NULL)
		bench_fail("no memory");
	wp_domain_init(&domain, members, count);
	for (uint32_t index = 0; index < count; index++)
		wp_carrier_init(&carriers[index].home.carrier, &domain, index);
}

BENCH_INLINE double parks(uint32_t count, uint64_t ops)
{
	wp_carrier *carrier;
	wp_mpsc_node *stolen;
	double start;

	make_carriers(count);
	carrier = &carriers[count / 2].home.carrier;
	start = bench_cpu_ns();
	for (uint64_t k = 0; k < ops; k++) {
		if (!wp_carrier_advertise(carrier, WP_PARKED_FUTEX, &stolen) ||
		    wp_carrier_leave(carrier) != NULL)
			bench_fail("there was nothing to find");
	}
	return bench_cpu_ns() - start;
}

static void submit(sim_task *task, bool internal)
{
	wp_carrier *home = members[task->home];

	task->submitted_ns = now_ns;
	if (internal)
		wp_carrier_submit_internal(home, &task->node);
	else
		wp_carrier_submit(home, &task->node);
}

/* As carry() in worker.c; the probe looks at one sibling. */
static wp_mpsc_node *find_task(sim_carrier *carrier, const sim_load *load, sim_found *found)
{
	wp_carrier *own = &carrier->home.carrier;
	bool woke = carrier->is_asleep;
	wp_mpsc_node *node = woke ? wp_carrier_leave(own) : NULL;

	carrier->is_asleep = false;
	if (node == NULL)
		node = wp_carrier_poll(own);
	found->useless += woke && node == NULL;
	if (node == NULL && !woke)
		node = wp_carrier_steal(members[(uint32_t)draw(load->carriers / 2.0)]);
	if (node == NULL) {
		found->parks++;
		carrier->is_asleep = wp_carrier_advertise(own, WP_PARKED_FUTEX, &node);
	}
	return node;
}

static void turn(sim_carrier *carrier, const sim_load *load, sim_found *found)
{
	sim_task *task;

	paid_ns = 0;
	task = (sim_task *)(void *)find_task(carrier, load, found);
	carrier->next_ns = carrier->is_asleep ? NEVER : now_ns + paid_ns + SIM_TURN_NS;
	if (task == NULL)
		return;
	task->has_begun = true;
	task->began_ns = now_ns + paid_ns;
	carrier->next_ns += task->takes_ns;
}

static sim_carrier *next_carrier(uint32_t count)
{
	sim_carrier *next = &carriers[0];

	for (uint32_t index = 1; index < count; index++)
		if (carriers[index].next_ns < next->next_ns)
			next = &carriers[index];
	return next;
}

static void prepare(const sim_load *load, uint64_t seed)
{
	make_carriers(load->carriers);
	if (load->searchers != 0)
		domain.limit = load->searchers;
	random_state = seed * 2654435761u + 88172645463325252u;
	wakes = 0;
	for (uint32_t k = 0; k < load->tasks; k++) {
		uint32_t target = k % load->targets;

		tasks[k] = (sim_task){.home = target * (load->carriers / load->targets),
				      .takes_ns = draw(load->task_ns)};
	}
	now_ns = 0;
	paid_ns = 0;
	for (uint32_t index = 0; index < load->carriers; index++) {
		wp_mpsc_node *none;

		carriers[index].is_asleep =
			wp_carrier_advertise(members[index], WP_PARKED_FUTEX, &none);
		carriers[index].next_ns = NEVER;
	}
}

/* Each target wakes for a step that submits its share and goes on for ever. */
static void burst(const sim_load *load)
{
	for (uint32_t target = 0; target < load->targets; target++) {
		uint32_t home = tasks[target].home;

		wp_carrier_leave(members[home]);
		carriers[home].is_asleep = false;
	}
	for (uint32_t target = 0; target < load->targets; target++) {
		paid_ns = 0;
		now_ns = draw(SIM_TURN_NS);
		for (uint32_t k = target; k < load->tasks; k += load->targets)
			submit(&tasks[k], true);
	}
}

static void look_at_tasks(const sim_load *load, sim_found *found, bool may_lose)
{
	static double waited[SIM_TASKS], first[SIM_CARRIERS];

	for (uint32_t target = 0; target < load->targets; target++)
		first[target] = NEVER;
	for (uint32_t k = 0; k < load->tasks; k++) {
		double *helped = &first[k % load->targets];

		if (!tasks[k].has_begun && !may_lose)
			bench_fail("a simulated task never began");
		if (!tasks[k].has_begun) {
			found->lost++;
			tasks[k].began_ns = now_ns;
		}
		waited[k] = tasks[k].began_ns - tasks[k].submitted_ns;
		found->waited_ns += waited[k] / load->tasks;
		*helped = waited[k] < *helped ? waited[k] : *helped;
	}
	for (uint32_t target = 0; target < load->targets; target++)
		found->helped_ns =
			first[target] > found->helped_ns ? first[target] : found->helped_ns;
	found->late_ns = bench_p99(waited, load->tasks);
	found->wakes = (double)wakes;
}

static sim_found run(const sim_load *load, uint64_t seed, bool may_lose)
{
	sim_found found = {0};
	uint32_t submitted = 0;
	double arrival_ns = 0;

	calls_wake_instead = wake;
	prepare(load, seed);
	if (load->gap_ns == 0) {
		burst(load);
		submitted = load->tasks;
	}
	for (;;) {
		sim_carrier *next = next_carrier(load->carriers);

		if (submitted < load->tasks && arrival_ns <= next->next_ns) {
			now_ns = arrival_ns;
			paid_ns = 0;
			submit(&tasks[submitted++], false);
			arrival_ns += draw(load->gap_ns);
		} else if (next->next_ns < NEVER) {
			now_ns = next->next_ns;
			turn(next, load, &found);
		} else {
			break;
		}
	}
	calls_wake_instead = NULL;
	look_at_tasks(load, &found, may_lose);
	return found;
}
