/* SPDX-License-Identifier: Apache-2.0
 * worker_idle.c - an idle carrier looks for work: it steals, or sleeps. It is not in worker.c,
 * whose loop calls it, so that a test can stand between the two (tests/sched/test_worker_idle.py).
 */
#include "sched/placement/group_placement.h"
#include "sched/run_queues.h"
#include "sched/worker_trace.h"

/* Returns a random number below `below`, by xorshift64. [the owner | wait-free] */
static uint32_t draw(wp_worker *mine, uint32_t below)
{
	mine->random ^= mine->random << 13;
	mine->random ^= mine->random >> 7;
	mine->random ^= mine->random << 17;
	return (uint32_t)(mine->random >> 32) % below;
}

/* Steals from the longer queue of two siblings drawn at random. [the owner | as wp_carrier_steal]
 */
static wp_mpsc_node *probe(wp_worker *mine)
{
	wp_carrier *carrier = &mine->home.carrier, *longer;
	wp_domain *domain = carrier->domain;
	uint32_t first, second;
	wp_mpsc_node *node;

	if (domain == NULL || domain->count < 2)
		return NULL;
	first = (carrier->index + 1 + draw(mine, domain->count - 1)) % domain->count;
	longer = domain->carriers[first];
	if (domain->count > 2) {
		second = (carrier->index + 1 + draw(mine, domain->count - 2)) % domain->count;
		if (second == first)
			second = (carrier->index + domain->count - 1) % domain->count;
		if (wp_carrier_tasks_runnable(
			    (wp_carrier_tasks *)(void *)domain->carriers[second]) >
		    wp_carrier_tasks_runnable((wp_carrier_tasks *)(void *)longer))
			longer = domain->carriers[second];
	}
	if (wp__carrier_puts_off(carrier, longer->index))
		return NULL;
	node = wp__local_queue_carrier_steal_more(carrier, longer->index);
	return node;
}

static wp_mpsc_node *stole(wp_worker *mine, wp_mpsc_node *node, enum wp_trace_steal how)
{
	wp_task *task = (wp_task *)(void *)node;

	if (node == NULL)
		return NULL;
	wp__count(how == WP_STEAL_PROBED     ? &mine->probed
		  : how == WP_STEAL_DIRECTED ? &mine->directed
					     : &mine->recheck);
	if (mine->home.carrier.is_placed)
		wp__group_placement_stole(mine, task);
	if (wp__worker_is_traced(mine)) {
		bool is_poller = wp_vthread_current() != NULL; /* else it is the loop */
		wp_trace_event event = {.begin_ns = wp_clock_ns(),
					.kind = WP_TRACE_STEAL,
					.a = wp__worker_home_of(task),
					.b = wp__worker_depth(mine, task->home),
					.c = (uint32_t)how | (is_poller ? WP_STEAL_BY_POLLER : 0u)};

		wp__trace_of(&event, task);
		wp__worker_trace(mine, event);
	}
	return node;
}

wp_mpsc_node *wp__worker_probe(wp_worker *mine)
{
	return stole(mine, probe(mine), WP_STEAL_PROBED);
}

wp_mpsc_node *wp__worker_left(wp_worker *mine, wp_mpsc_node *stolen)
{
	uint32_t left = mine->home.carrier.left;

	if (left >= WP_WAKING)
		wp__count(&mine->wakes);
	if (left >= WP_SEARCHING && stolen == NULL)
		wp__count(&mine->fruitless);
	return stole(mine, stolen, left >= WP_SEARCHING ? WP_STEAL_DIRECTED : WP_STEAL_RECHECK);
}

void wp__worker_slept(wp_worker *mine, int64_t since_ns, wp_mpsc_node *stolen)
{
	wp_carrier *carrier = &mine->home.carrier;

	if (!wp__worker_is_traced(mine))
		return;
	wp__worker_trace(mine, (wp_trace_event){.begin_ns = since_ns, .kind = WP_TRACE_PARK});
	wp__worker_trace(mine,
			 (wp_trace_event){.begin_ns = wp_clock_ns(),
					  .kind = WP_TRACE_WAKE,
					  .a = stolen != NULL || wp__carrier_has_own(carrier)});
}

/* Sleeps until the carrier is woken, or a timer is due. Returns the stolen task, or NULL. [the
 * owner | blocks] */
static wp_mpsc_node *sleep_and_leave(wp_worker *mine)
{
	int64_t since_ns = wp__worker_now_ns(mine);
	wp_mpsc_node *stolen;

	do {
		mine->until_ns = wp_timers_earliest(&mine->home.timers);
		wp_carrier_sleep_until(&mine->home.carrier,
				       wp__carrier_until(&mine->home.carrier, mine->until_ns));
	} while (wp_carrier_put_off(&mine->home.carrier));
	stolen = wp_carrier_leave(&mine->home.carrier);
	wp__worker_slept(mine, since_ns, stolen);
	return stolen;
}

wp_mpsc_node *wp__worker_park(wp_worker *mine)
{
	wp_mpsc_node *stolen;

	/* [worker_idle.1] relaxed: a value that is stale costs a dump a name, never a task; pairs
	 * dump.1; upholds Dump!RunnerIsNamed. */
	wp_store_relaxed(&mine->mounted, NULL);
	wp__count(&mine->parks);
	mine->until_ns = 0;
	if (!wp_carrier_advertise(&mine->home.carrier, WP_PARKED_FUTEX, &stolen))
		return wp__worker_left(mine, stolen);
	if (wp__group_placement_rest(mine))
		stolen = sleep_and_leave(mine);
	else
		stolen = wp_carrier_leave(&mine->home.carrier);
	return wp__worker_left(mine, stolen);
}
