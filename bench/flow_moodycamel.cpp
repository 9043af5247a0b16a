// SPDX-License-Identifier: Apache-2.0
// flow_moodycamel.cpp - the peer from Debian's libconcurrentqueue-dev as a flow, at its best: with
// tokens.
#include <concurrentqueue/concurrentqueue.h>

#include <new>
#include <vector>

#include "task.h"

namespace
{

using Queue = moodycamel::ConcurrentQueue<bench_task *>;

struct Flow {
	Queue queue;
	std::vector<moodycamel::ProducerToken> tokens;
	moodycamel::ConsumerToken consumer;

	explicit Flow(int producers) : queue(8192), tokens(), consumer(queue)
	{
		for (int k = 0; k < producers; k++)
			tokens.emplace_back(queue);
	}
};

void *make(int producers)
{
	return new (std::nothrow) Flow(producers);
}

void fini(void *flow)
{
	delete static_cast<Flow *>(flow);
}

void produce(void *to, int producer, bench_task **tasks, size_t count)
{
	Flow *flow = static_cast<Flow *>(to);

	for (size_t k = 0; k < count; k++)
		flow->queue.enqueue(flow->tokens[static_cast<size_t>(producer)], tasks[k]);
}

inline __attribute__((always_inline)) size_t take(void *from, bench_task **tasks, size_t most)
{
	Flow *flow = static_cast<Flow *>(from);
	size_t count = 0;

	while (count < most && flow->queue.try_dequeue(flow->consumer, tasks[count]))
		count++;
	return count;
}

inline __attribute__((always_inline)) size_t bulk(void *from, bench_task **tasks, size_t most)
{
	Flow *flow = static_cast<Flow *>(from);

	return flow->queue.try_dequeue_bulk(flow->consumer, tasks, most);
}

FLOW_CONSUMERS(consumers, take)
FLOW_CONSUMERS(bulk_consumers, bulk)

} // namespace

extern "C" const flow_queue flow_moodycamel = {make, fini, produce, consumers};
extern "C" const flow_queue flow_bulk = {make, fini, produce, bulk_consumers};
