/* SPDX-License-Identifier: Apache-2.0
 * flow_ours.c - our queue as a flow: alone, with a fence after each push, and with a guard's signal
 * after each push. */
#include "flow_ours.h"

static void *asymmetric_make(int producers)
{
	(void)producers;
	return guarded_make(WP_GUARD_ASYMMETRIC);
}

static void fenced_produce(void *queue, int producer, bench_task **tasks, size_t count)
{
	(void)producer;
	guarded_produce(queue, tasks, count, after_fence);
}

static void signal_produce(void *queue, int producer, bench_task **tasks, size_t count)
{
	(void)producer;
	guarded_produce(queue, tasks, count, after_signal);
}

FLOW_CONSUMERS(plain_consumers, plain_take)
FLOW_CONSUMERS(many_consumers, many_take)

const flow_queue flow_ours = {plain_make, free, plain_produce, plain_consumers};
const flow_queue flow_many = {plain_make, free, plain_produce, many_consumers};
const flow_queue flow_fenced = {plain_make, free, fenced_produce, plain_consumers};
const flow_queue flow_symmetric = {plain_make, free, signal_produce, plain_consumers};
const flow_queue flow_asymmetric = {asymmetric_make, free, signal_produce, plain_consumers};
