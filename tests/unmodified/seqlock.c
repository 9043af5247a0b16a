/* SPDX-License-Identifier: Apache-2.0
 * seqlock.c - a reader of two words takes only a pair that was written together.
 * BUG: nothing keeps the reader's loads of the words before its second look at the count. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int count, first, second;

static void *write_pair(void *unused)
{
	atomic_store_explicit(&count, 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	atomic_store_explicit(&first, 1, memory_order_relaxed);
	atomic_store_explicit(&second, 1, memory_order_relaxed);
	atomic_store_explicit(&count, 2, memory_order_release);
	return NULL;
}

int main(void)
{
	pthread_t writer;
	int before, one, two, after;

	pthread_create(&writer, NULL, write_pair, NULL);
	before = atomic_load_explicit(&count, memory_order_acquire);
	one = atomic_load_explicit(&first, memory_order_relaxed);
	two = atomic_load_explicit(&second, memory_order_relaxed);
#ifndef BUG
	atomic_thread_fence(memory_order_acquire);
#endif
	after = atomic_load_explicit(&count, memory_order_relaxed);
	if (before == after && before % 2 == 0)
		assert(one == two);
	pthread_join(writer, NULL);
	return 0;
}
