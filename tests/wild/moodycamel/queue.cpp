/* SPDX-License-Identifier: Apache-2.0
 * queue.cpp - one producer with a token enqueues two items, one consumer takes what it finds.
 * Claim: the items of one producer come in their order, none is lost or comes twice, and what was
 * written before is seen.
 * BUG: the producer writes to an item after it was enqueued. */
#include <cassert>
#include <concurrentqueue/concurrentqueue.h>
#include <thread>

struct small : moodycamel::ConcurrentQueueDefaultTraits {
	static const size_t BLOCK_SIZE = 2;
	static const size_t INITIAL_IMPLICIT_PRODUCER_HASH_SIZE = 0;
};

static int items[2];

int main()
{
	moodycamel::ConcurrentQueue<int *, small> queue(4, 1, 0);
	moodycamel::ProducerToken token(queue);
	int *found = nullptr;
	int last = 0;

	std::thread producer([&] {
		for (int at = 0; at < 2; at++) {
			items[at] = at + 1;
			assert(queue.try_enqueue(token, &items[at]));
#ifdef BUG
			items[at] = at + 1;
#endif
		}
	});
	for (int attempt = 0; attempt < 2; attempt++)
		if (queue.try_dequeue_from_producer(token, found)) {
			assert(*found == last + 1);
			last = *found;
		}
	producer.join();
	while (queue.try_dequeue_from_producer(token, found)) {
		assert(*found == last + 1);
		last = *found;
	}
	assert(last == 2);
}
