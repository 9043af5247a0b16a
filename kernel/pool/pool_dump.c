/* SPDX-License-Identifier: Apache-2.0
 * pool_dump.c - the counts, leases and dump of a pool. Not explored, because it only looks. */
#include "pool/pool.h"

#include <stdarg.h>
#include <stdio.h>

static uint32_t smaller(uint32_t one, uint32_t other)
{
	return one < other ? one : other;
}

void wp_pool_counts_read(wp_pool *pool, wp_pool_counts *counts)
{
	int64_t is_free;

	wp_lock_acquire(&pool->lock);
	*counts = (wp_pool_counts){
		.threads = pool->threads,
		.idle = pool->resting + pool->coming,
		.leased = pool->leased,
		.queued = pool->queued,
		.accepted = pool->accepted,
		.finished = pool->finished,
		.closed = pool->closed,
		.started = pool->started,
		.refused = pool->refused,
		.left = pool->gone_idle,
		.is_closed = pool->is_closed,
	};
	wp_lock_release(&pool->lock);
	counts->reserved =
		smaller(wp_reserve_available(&pool->reserve), counts->threads - counts->idle);
	counts->ready = counts->idle + counts->reserved;
	counts->max_leased = counts->leased + pool->reserve.config.capacity;
	counts->leased = smaller(counts->leased, counts->threads - counts->ready);
	counts->utilized = counts->threads - counts->ready - counts->leased;
	is_free = (int64_t)pool->config.max - counts->threads + counts->ready;
	counts->is_low = is_free - (int64_t)counts->queued <= pool->config.low;
}

bool wp_pool_is_low(wp_pool *pool)
{
	wp_pool_counts counts;

	wp_pool_counts_read(pool, &counts);
	return counts.is_low;
}

int wp_pool_lease(wp_pool *pool, uint32_t threads)
{
	uint32_t most = pool->config.max - pool->reserve.config.capacity; /* exclusive */
	int code = WP_MISUSED;

	wp_lock_acquire(&pool->lock);
	if (threads < most - pool->leased) {
		pool->leased += threads;
		code = WP_OK;
	}
	wp_lock_release(&pool->lock);
	return code;
}

int wp_pool_unlease(wp_pool *pool, uint32_t threads)
{
	int code = WP_MISUSED;

	wp_lock_acquire(&pool->lock);
	if (threads <= pool->leased) {
		pool->leased -= threads;
		code = WP_OK;
	}
	wp_lock_release(&pool->lock);
	return code;
}

/* The text so far, and the length that it would have if it were not cut. */
typedef struct sheet {
	char *text;
	size_t bytes, length;
} sheet;

static void __attribute__((format(printf, 2, 3))) print(sheet *to, const char *format, ...)
{
	size_t used = to->length < to->bytes ? to->length : to->bytes;
	va_list args;

	va_start(args, format);
	to->length += (size_t)vsnprintf(used == to->bytes ? NULL : to->text + used,
					to->bytes - used, format, args);
	va_end(args);
}

static const char *does_what(const wp_pool_thread *one)
{
	/* [pool_dump.1] relaxed: a value that is stale costs a word in a dump; pairs
	 * pool_threads.1; upholds Pool!QtpCounterBalance. */
	const char *tag = wp_load_relaxed(&((wp_pool_thread *)(uintptr_t)one)->tag);

	if (one->state != WP_POOL_BUSY)
		return "IDLE";
	return tag == NULL ? "BUSY" : tag;
}

static void print_thread(sheet *to, const wp_pool *pool, const wp_pool_thread *one, int64_t now_ns)
{
	print(to, "  %s-%u %d %s", pool->name, one->number, one->system, does_what(one));
	if (one->state == WP_POOL_RESTING)
		print(to, " %.3f s", (double)(now_ns - one->since_ns) / 1e9);
	print(to, "\n");
}

size_t wp_pool_dump(wp_pool *pool, char *text, size_t bytes)
{
	sheet out = {text, bytes, 0};
	int64_t now_ns;
	wp_pool_counts counts;

	wp_pool_counts_read(pool, &counts);
	print(&out,
	      "%s: %u threads (%u to %u), %u idle, %u reserved of %u, %u leased, %llu queued%s%s\n",
	      pool->name, counts.threads, pool->config.min, pool->config.max, counts.idle,
	      counts.reserved, pool->reserve.config.capacity, pool->leased,
	      (unsigned long long)counts.queued, counts.is_low ? ", low" : "",
	      counts.is_closed ? ", closed" : "");
	wp_lock_acquire(&pool->lock);
	now_ns = wp_clock_ns();
	for (const wp_pool_thread *one = pool->newest; one != NULL; one = one->older)
		print_thread(&out, pool, one, now_ns);
	wp_lock_release(&pool->lock);
	return out.length;
}
