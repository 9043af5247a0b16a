/* SPDX-License-Identifier: Apache-2.0
 * stack.c - the slab: one reservation, and the lists of idle stacks. Not explored: it makes system
 * calls, and all that is shared is under a lock. */
#define _GNU_SOURCE
#include "thread/stack.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <stdio.h>
#include <sys/random.h>

#include "base/error.h"
#include "thread/overflow.h"

enum {
	COMMIT = 64, /* slots that one system call turns into memory */
	BATCH = WP_STACK_CACHE / 2,
	LEAST_PAGES = 4, /* of a slot: guard, top page, and two that hold only frames */
	FETCHED = 4,     /* lines to prefetch of a stack that is used soon; and one line below */
	RESIDENT = 256,  /* pages in one call of mincore */
	SHARE = 8,       /* part of the limit on addresses for a pool that may be smaller */
};

static const uint64_t ADDRESSES = 1ull << 43; /* for such a pool, if there is no limit; of 2^47 */

static uint64_t round_up(uint64_t bytes, uint64_t unit)
{
	return (bytes + unit - 1) / unit * unit;
}

/* Returns how many stacks the caches of a pool may keep. */
static uint64_t kept(const wp_stacks_config *config)
{
	return (uint64_t)config->caches * WP_STACK_CACHE;
}

/* Sets the number of slots, and whether the pool has caches. For that, the pool must have at least
 * 8 times as many stacks as the caches may keep, not counting the additional slots. */
static void set_slots(wp_stacks *pool, const wp_stacks_config *config, uint64_t slots)
{
	pool->max_stacks = slots < UINT32_MAX ? (uint32_t)slots : UINT32_MAX;
	pool->bytes = pool->slot_bytes * pool->max_stacks;
	pool->has_caches = slots >= (WP_STACK_CACHED + 1) * kept(config);
}

/* Computes the sizes. Returns false if they do not fit. */
static bool lay_out(wp_stacks *pool, const wp_stacks_config *config)
{
	uint64_t colours = config->colours ? config->colours : WP_STACK_COLOURS, taken;
	bool has_caches = config->max_stacks >= WP_STACK_CACHED * kept(config);

	pool->page = (uint64_t)sysconf(_SC_PAGESIZE);
	pool->stack_bytes =
		round_up(config->stack_bytes ? config->stack_bytes : WP_STACK_BYTES, pool->page);
	if (pool->stack_bytes < LEAST_PAGES * pool->page)
		pool->stack_bytes = LEAST_PAGES * pool->page;
	taken = round_up(config->control_bytes, WP_STACK_LINE) + sizeof(wp_stack) +
		(colours - 1) * WP_STACK_LINE + WP_STACK_FRAMES;
	pool->control_bytes = (uint32_t)round_up(config->control_bytes, WP_STACK_LINE);
	pool->colours = (uint32_t)colours;
	pool->name = config->name;
	pool->guard_bytes = round_up(WP_STACK_GUARD_BYTES, pool->page);
	pool->slot_bytes = pool->stack_bytes - pool->page + pool->guard_bytes;
	set_slots(pool, config, config->max_stacks + (has_caches ? kept(config) : 0));
	return taken <= pool->page && config->max_stacks > 0 &&
	       config->stack_bytes <= WP_STACK_BYTES_MOST;
}

/* Reserves addresses. Returns NULL and sets errno if it fails. [any thread | a system call] */
static void *reserve(uint64_t bytes, int protection)
{
	void *base =
		mmap(NULL, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return base == MAP_FAILED ? NULL : base;
}

static void give_back(wp_stacks *pool)
{
	if (pool->base != NULL)
		munmap(pool->base, pool->bytes);
	if (pool->used != NULL)
		munmap(pool->used, pool->max_stacks * sizeof(*pool->used));
	pool->base = NULL;
	pool->used = NULL;
}

/* Returns how many addresses a pool may take if it can be smaller. The rest is for other users. */
static uint64_t share(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
		return ADDRESSES;
	return limit.rlim_cur / SHARE;
}

/* Reserves the slots, and an array with room for all of them when idle. Returns false and sets
 * errno if it fails. [any thread | system calls] */
static bool reserve_slots(wp_stacks *pool)
{
	pool->base = reserve(pool->bytes, PROT_NONE);
	pool->used = reserve(pool->max_stacks * sizeof(*pool->used), PROT_READ | PROT_WRITE);
	if (pool->base != NULL && pool->used != NULL)
		return true;
	give_back(pool);
	return false;
}

/* Like reserve_slots, but reserves fewer slots if the configuration allows that. */
static bool reserve_some(wp_stacks *pool, const wp_stacks_config *config)
{
	uint64_t most = config->may_be_fewer ? share() : UINT64_MAX;

	for (; pool->max_stacks > 1; set_slots(pool, config, pool->max_stacks / 2)) {
		if (pool->bytes <= most && reserve_slots(pool))
			return true;
		if (!config->may_be_fewer)
			return false;
	}
	return reserve_slots(pool);
}

int wp_stacks_new(wp_stacks **made, const wp_stacks_config *config)
{
	wp_stacks *pool = aligned_alloc(WP_LINE, round_up(sizeof(*pool), WP_LINE));

	if (pool == NULL)
		return WP_SYSTEM;
	*pool = (wp_stacks){.base = NULL};
	if (!lay_out(pool, config)) {
		free(pool);
		errno = EINVAL;
		return WP_SYSTEM;
	}
	pool->max_mappings = config->max_mappings;
	if (pool->max_mappings == 0)
		pool->max_mappings = wp__stack_guard_mappings();
	if (!reserve_some(pool, config)) {
		free(pool);
		return WP_SYSTEM;
	}
	/* With huge pages one touch would take 2 MiB, and a parked fiber would take 61 to 66 KB in
	 * place of 4. The call fails only if the system has no huge pages. */
	madvise(pool->base, pool->bytes, MADV_NOHUGEPAGE);
	pool->guard = wp__stack_guard_best(pool, config->guard);
	wp__overflow_enter(pool);
	*made = pool;
	return WP_OK;
}

void wp_stacks_free(wp_stacks *pool)
{
	wp__overflow_leave(pool);
	wp__stack_guard_return(pool->counts.guards[WP_STACK_PROTECTED]);
	give_back(pool);
	free(pool);
}

void *wp_stacks_slot(const wp_stacks *pool, uint32_t number)
{
	uint64_t top = (number + 1ull) * pool->slot_bytes - pool->control_bytes -
		       (uint64_t)(number % pool->colours) * WP_STACK_LINE;

	return pool->base + top;
}

/* Turns the addresses of the next slot, and of some more, into memory. Under the lock. */
static bool commit(wp_stacks *pool)
{
	uint32_t left = pool->max_stacks - pool->committed, more = left < COMMIT ? left : COMMIT;

	if (pool->made < pool->committed)
		return true;
	if (mprotect(pool->base + pool->committed * pool->slot_bytes, more * pool->slot_bytes,
		     PROT_READ | PROT_WRITE) != 0)
		return false;
	pool->committed += more;
	return true;
}

/* Makes a new stack. Returns NULL and sets errno if it fails. [under the lock] */
static wp_stack *make(wp_stacks *pool)
{
	char *slot = pool->base + pool->made * pool->slot_bytes;
	wp_stack *stack;

	if (pool->made == pool->max_stacks) {
		errno = ENOMEM;
		return NULL;
	}
	if (!commit(pool))
		return NULL;
	stack = wp_stack_of(wp_stacks_slot(pool, pool->made));
	*stack = (wp_stack){.pool = pool, .low = slot + pool->guard_bytes, .number = pool->made};
	stack->guard = wp__stack_guard_set(pool, slot);
	pool->counts.guards[stack->guard]++;
	pool->made++;
	return stack;
}

/* Takes an idle stack, or returns NULL. [under the lock] */
static wp_stack *pop(wp_stacks *pool)
{
	wp_stack *stack = pool->trimmed;

	if (pool->used_count > 0)
		return pool->used[--pool->used_count];
	if (stack != NULL) {
		pool->trimmed = stack->next;
		pool->trimmed_count--;
	}
	return stack;
}

static void push(wp_stacks *pool, wp_stack *stack)
{
	pool->used[pool->used_count++] = stack;
}

/* Prefetches a stack, so that the cache misses of a batch overlap. [any thread] */
static void fetch(wp_stack *stack)
{
	for (int line = -1; line < FETCHED; line++)
		__builtin_prefetch((char *)stack + line * WP_STACK_LINE, 1);
}

wp_stack *wp__stacks_take(wp_stacks *pool, wp_stack_cache *cache)
{
	wp_stack *stack, *another;

	wp_lock_acquire(&pool->lock);
	stack = pop(pool);
	if (stack == NULL)
		stack = make(pool);
	while (cache != NULL && cache->count < BATCH - 1 && (another = pop(pool)) != NULL) {
		fetch(another);
		cache->stacks[cache->count++] = another;
	}
	wp_lock_release(&pool->lock);
	return stack;
}

/* The stacks that were given back last, which are warm in the CPU's cache, stay in the carrier's
 * cache. */
void wp__stacks_give(wp_stacks *pool, wp_stack_cache *cache, wp_stack *stack)
{
	wp_lock_acquire(&pool->lock);
	if (cache == NULL)
		push(pool, stack);
	for (uint32_t k = 0; cache != NULL && k < BATCH; k++) {
		push(pool, cache->stacks[k]);
		cache->stacks[k] = cache->stacks[k + BATCH];
	}
	wp_lock_release(&pool->lock);
	if (cache != NULL) {
		cache->count = BATCH;
		cache->stacks[cache->count++] = stack;
	}
}

void wp_stack_cache_empty(wp_stacks *pool, wp_stack_cache *cache)
{
	wp_lock_acquire(&pool->lock);
	while (cache->count > 0)
		push(pool, cache->stacks[--cache->count]);
	wp_lock_release(&pool->lock);
}

uint32_t wp_stacks_count(wp_stacks *pool)
{
	uint32_t made;

	wp_lock_acquire(&pool->lock);
	made = pool->made;
	wp_lock_release(&pool->lock);
	return made;
}

/* Returns how many bytes of that range are memory. */
static uint64_t resident(const wp_stacks *pool, char *from, const char *to)
{
	unsigned char pages[RESIDENT];
	uint64_t count = 0;

	for (; from < to; from += RESIDENT * pool->page) {
		uint64_t ask = (uint64_t)(to - from) / pool->page;

		ask = ask < RESIDENT ? ask : RESIDENT;
		if (mincore(from, ask * pool->page, pages) != 0)
			return count;
		for (uint64_t k = 0; k < ask; k++)
			count += (pages[k] & 1) * pool->page;
	}
	return count;
}

/* Trims one stack. It does so under the lock, so the stack is idle or taken at every moment. */
static uint64_t trim_one(wp_stacks *pool)
{
	wp_stack *stack = pool->used[pool->used_count - 1];
	char *top = pool->base + (stack->number + 1ull) * pool->slot_bytes - pool->page;
	uint64_t bytes = resident(pool, stack->low, top);

	if (bytes > 0 && madvise(stack->low, (size_t)(top - stack->low), MADV_DONTNEED) != 0)
		bytes = 0;
	pool->used_count--;
	stack->next = pool->trimmed;
	pool->trimmed = stack;
	pool->trimmed_count++;
	pool->counts.bytes_trimmed += bytes;
	return bytes;
}

uint64_t wp_stacks_trim(wp_stacks *pool)
{
	uint64_t bytes = 0;

	/* The number of turns is bounded, because other threads continue to give stacks back. */
	for (uint32_t left = wp_stacks_count(pool); left > 0; left--) {
		wp_lock_acquire(&pool->lock);
		if (pool->used_count == 0)
			left = 1;
		else
			bytes += trim_one(pool);
		wp_lock_release(&pool->lock);
	}
	return bytes;
}

wp_stacks_counts wp_stacks_statistics(wp_stacks *pool)
{
	wp_stacks_counts counts;

	wp_lock_acquire(&pool->lock);
	counts = pool->counts;
	counts.made = pool->made;
	counts.out = pool->made - pool->used_count - pool->trimmed_count;
	counts.bytes_reserved = pool->bytes;
	counts.bytes_made = pool->made * pool->slot_bytes;
	wp_lock_release(&pool->lock);
	return counts;
}

/* Chooses the guard of each stack, and checks canaries. */

#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102 /* Linux 6.13 */
#define MADV_GUARD_REMOVE 103
#endif

enum {
	MAPPINGS_EACH = 2,      /* the protected page, and what lies above it */
	MAPPINGS_USUAL = 65530, /* vm.max_map_count where it cannot be read */
};

/* Of the process: the mappings that guards take, and whether the warning was printed. */
static struct {
	wp_lock lock;
	uint32_t mappings;
	bool is_warned;
} process;

uint32_t wp__stack_guard_mappings(void)
{
	FILE *file = fopen("/proc/sys/vm/max_map_count", "re");
	unsigned most = MAPPINGS_USUAL;

	if (file != NULL) {
		if (fscanf(file, "%u", &most) != 1)
			most = MAPPINGS_USUAL;
		fclose(file);
	}
	return most / 4;
}

/* Checks that the system not only accepts the advice but also follows it, because qemu-user accepts
 * any advice. The first page of the pool, which is part of a guard anyway, is memory afterwards. The
 * system itself must be asked: from glibc 2.41 on, the C library's getrandom() may write to the page
 * in user mode, which a guard answers with SIGSEGV. */
static bool can_install(wp_stacks *pool)
{
	bool is_guard;

	if (mprotect(pool->base, pool->page, PROT_READ | PROT_WRITE) != 0 ||
	    madvise(pool->base, pool->page, MADV_GUARD_INSTALL) != 0)
		return false;
	is_guard = syscall(SYS_getrandom, pool->base, 1, GRND_NONBLOCK) < 0 && errno == EFAULT;
	madvise(pool->base, pool->page, MADV_GUARD_REMOVE);
	return is_guard;
}

enum wp_stack_guard wp__stack_guard_best(wp_stacks *pool, enum wp_stack_guard at_most)
{
	return at_most == WP_STACK_INSTALLED && !can_install(pool) ? WP_STACK_PROTECTED : at_most;
}

void wp__stack_guard_return(uint64_t protected_pages)
{
	wp_lock_acquire(&process.lock);
	process.mappings -= (uint32_t)protected_pages * MAPPINGS_EACH;
	wp_lock_release(&process.lock);
}

static bool take_mappings(const wp_stacks *pool)
{
	bool there_are;

	wp_lock_acquire(&process.lock);
	there_are = process.mappings + MAPPINGS_EACH <= pool->max_mappings;
	if (there_are)
		process.mappings += MAPPINGS_EACH;
	wp_lock_release(&process.lock);
	return there_are;
}

static void warn(void)
{
	bool is_first;

	wp_lock_acquire(&process.lock);
	is_first = !process.is_warned;
	process.is_warned = true;
	wp_lock_release(&process.lock);
	if (is_first)
		fprintf(stderr,
			"wakeproof: from here on stacks have no guard page (a quarter of "
			"vm.max_map_count is in use; Linux 6.13 needs none): an overflow is "
			"noticed only when its virtual thread parks or yields\n");
}

static bool protect(wp_stacks *pool, char *low)
{
	if (!take_mappings(pool))
		return false;
	if (mprotect(low, pool->guard_bytes, PROT_NONE) == 0)
		return true;
	wp__stack_guard_return(1);
	return false;
}

enum wp_stack_guard wp__stack_guard_set(wp_stacks *pool, char *low)
{
	if (pool->guard == WP_STACK_INSTALLED &&
	    madvise(low, pool->guard_bytes, MADV_GUARD_INSTALL) == 0)
		return WP_STACK_INSTALLED;
	/* This is also reached if the advice is refused later, for locked memory (mlockall). */
	if (pool->guard != WP_STACK_CANARY && protect(pool, low))
		return WP_STACK_PROTECTED;
	warn();
	return WP_STACK_CANARY;
}

void wp__stack_check(const wp_stack *stack)
{
	const uint64_t *at = (const uint64_t *)(const void *)(stack->low - stack->pool->page);
	uint64_t written = 0;

	for (uint64_t k = 0; k < stack->pool->page / sizeof(*at); k++)
		written |= at[k];
	if (written == 0)
		return;
	wp__overflow_report(stack);
	abort();
}
