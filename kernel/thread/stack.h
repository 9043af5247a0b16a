/* SPDX-License-Identifier: Apache-2.0
 * stack.h - stacks of one size from a slab, each with its user's control block at its top.
 *
 *   one slot, from low to high
 *   guard  | frames, from the top down | wp_stack | control block | colour
 *   ^ slot ^ low                       ^ here begin the frames    ^ 64 bytes x 0 .. 15
 *
 *   take    from the carrier's cache; or, under the lock, a batch of idle ones, else a new one
 *   give    to the cache; if it is full, its older half goes first, under the lock, to the idle
 *
 *   Usage    wp_stacks_new(&pool, &(wp_stacks_config){.control_bytes = 64, .max_stacks = 1000});
 *            stack = wp_stacks_take(pool, &cache);
 *            wp_fiber_init(&fiber, stack->low, wp_stack_bytes(stack), entry, argument);
 *            wp_stacks_give(pool, &cache, stack);
 *
 * Why it works  Frames begin in the control block's page, so a parked stack costs one page. The
 *               place of the control block in that page is the slot's colour: at one place, a
 *               million control blocks would share one set of the first cache, which holds 8 to 12
 *               lines.
 *               One reservation, of addresses only, holds all slots. Slot n lies at n times the
 *               size, so enumeration needs no lock, and the address of a fault identifies its slot.
 *               Memory is type-stable: once made, a slot's top page stays and keeps its bytes until
 *               the pool is freed; trimming gives back the pages below it.
 * Guards        A guard of 64 KiB is below each stack, so that only a larger frame can skip it. It
 *               costs addresses, and 128 bytes of a page table. There are three kinds. Installed
 *               (MADV_GUARD_INSTALL, Linux 6.13) costs no mapping. Protected (mprotect) costs two
 *               mappings each, of which the process may have vm.max_map_count; so such guards use
 *               at most a quarter of that limit. Otherwise the guard's highest page is a canary: it
 *               is zero, takes no memory, and must still be zero at each unmount.
 * Caches        A stack in a carrier's cache is not in use, but no other carrier can take it. So a
 *               pool has as many slots more as its caches may keep: it refuses only when max_stacks
 *               are in use. A pool that would consist mostly of such slots (max_stacks below eight
 *               times as many) has no caches, and refuses exactly then.
 * Not promised  Notice of a frame larger than the guard, in code that was compiled without
 *               -fstack-clash-protection: it can skip the guard and write into the stack below.
 *               With a canary: notice before the unmount; notice of a frame larger than a page;
 *               that the slot below is whole when the canary is found broken.
 * Prior art     Bonwick's slab allocator: colouring, and magazines per CPU.
 * Spec          None: idle slots are under a lock, and each other slot has one owner.
 * Evidence      tests/thread/test_stack.py, tests/thread/test_overflow.py; wakeproof bench -t
 *               stack. */
#ifndef WP_STACK_H
#define WP_STACK_H

#include <stddef.h>

#include "base/futex.h"

enum {
	WP_STACK_BYTES = 65536, /* default; includes a page of the guard, and the control block */
	WP_STACK_GUARD_BYTES = 65536,  /* below each stack; rounded up to pages */
	WP_STACK_BYTES_MOST = 1 << 30, /* 2^32 times this does not overflow in any sum */
	WP_STACK_CACHE = 64,           /* stacks that a carrier keeps */
	WP_STACK_CACHED = 8, /* a pool has caches if max_stacks is this many times what they keep */
	WP_STACK_COLOURS = 16,  /* a quarter of a page of lines; more do not help */
	WP_STACK_LINE = 64,     /* bytes of a colour: CPU caches are indexed by these */
	WP_STACK_FRAMES = 1024, /* the least that the top page leaves to frames */
	WP_STACK_GUARDS = 3,    /* kinds of guard */
};

/* In the order of preference. */
enum wp_stack_guard { WP_STACK_INSTALLED, WP_STACK_PROTECTED, WP_STACK_CANARY };

/* With all fields zero except control_bytes and max_stacks, this is the default configuration. */
typedef struct wp_stacks_config {
	uint64_t stack_bytes;   /* 0: WP_STACK_BYTES; rounded up to pages, four at least */
	uint32_t control_bytes; /* size of the user's block, which begins at a line of 64 bytes */
	uint32_t max_stacks;    /* stacks that can be in use at once */
	/* true: fewer than max_stacks if addresses do not suffice; false: then the pool is
	 * refused */
	bool may_be_fewer;
	/* caches that will keep stacks; 0: unknown, and kept stacks count as in use */
	uint32_t caches;
	uint32_t colours;      /* 0: WP_STACK_COLOURS; 1: all blocks at the same place */
	uint32_t max_mappings; /* 0: a quarter of vm.max_map_count */
	/* the best kind allowed; the pool uses the best of these that works */
	enum wp_stack_guard guard;
	/* Returns the text for a report, or NULL for no name. It is called in a signal handler.
	 * NULL: no names. */
	const char *(*name)(void *control);
} wp_stacks_config;

/* 32 bytes, right below its control block. next is written under the pool's lock, the rest when the
 * stack is made. */
typedef struct wp_stack {
	struct wp_stack *next; /* in the list of trimmed stacks */
	struct wp_stacks *pool;
	char *low; /* the lowest byte of its frames, above the guard */
	uint32_t number;
	uint32_t guard; /* enum wp_stack_guard */
} wp_stack;

/* How many slots and bytes there are, and what they are used for. */
typedef struct wp_stacks_counts {
	uint64_t made;           /* slots made so far */
	uint64_t out;            /* of them not idle: in use, or in a cache */
	uint64_t bytes_reserved; /* of addresses */
	uint64_t bytes_made; /* of addresses, for the slots made; only touched pages are memory */
	uint64_t bytes_trimmed; /* of memory given back so far */
	uint64_t guards[WP_STACK_GUARDS];
} wp_stacks_counts;

/* base to name are set when the pool is made; the rest changes under the lock. */
typedef struct wp_stacks {
	char *base;
	uint64_t bytes, stack_bytes, guard_bytes, slot_bytes, page;
	uint32_t control_bytes, max_stacks, max_mappings, colours; /* max_stacks: slots */
	bool has_caches;
	const char *(*name)(void *control);
	struct wp_stacks *next, **back; /* in the list of all pools, under its lock: overflow.c */
	_Alignas(WP_LINE) wp_lock lock;
	enum wp_stack_guard guard; /* best kind that still works */
	uint32_t made, committed, used_count, trimmed_count;
	/* idle; an array with room for all, so that many addresses can be read at once */
	wp_stack **used;
	wp_stack *trimmed; /* idle */
	wp_stacks_counts counts;
} wp_stacks;

/* Belongs to a carrier. Zeroed is empty. */
typedef struct wp_stack_cache {
	uint32_t count;
	wp_stack *stacks[WP_STACK_CACHE];
} wp_stack_cache;

/* Makes a pool: WP_OK, or WP_SYSTEM and errno. EINVAL: the control block leaves too little of its
 * page, there are no stacks at all, or they are larger than WP_STACK_BYTES_MOST each. ENOMEM: there
 * are too few addresses for that many stacks or, if fewer are allowed, for one.
 * [any thread | system calls] */
int wp_stacks_new(wp_stacks **pool, const wp_stacks_config *config);

/* Frees the pool with all its memory. [its last user | system calls] */
void wp_stacks_free(wp_stacks *pool);

wp_stack *wp__stacks_take(wp_stacks *pool, wp_stack_cache *cache);
void wp__stacks_give(wp_stacks *pool, wp_stack_cache *cache, wp_stack *stack);
void wp__stack_check(const wp_stack *stack);

/* Guards: the best kind for a pool, setting one for a slot, returning those of a pool that is
 * freed. */
enum wp_stack_guard wp__stack_guard_best(wp_stacks *pool, enum wp_stack_guard at_most);
enum wp_stack_guard wp__stack_guard_set(wp_stacks *pool, char *low);
void wp__stack_guard_return(uint64_t protected_pages);
uint32_t wp__stack_guard_mappings(void);

/* Takes a stack. NULL if max_stacks are in use, or if the system refuses (errno, mostly ENOMEM);
 * later calls may succeed again. The control block is as it was given back, zeroed at first. Any
 * thread may call it without a cache.
 * [the cache's owner | wait-free while the cache has one; then blocks, system calls] */
WP_INLINE wp_stack *wp_stacks_take(wp_stacks *pool, wp_stack_cache *cache)
{
	if (cache != NULL && cache->count > 0)
		return cache->stacks[--cache->count];
	return wp__stacks_take(pool, cache);
}

/* Gives a stack back.
 * [the cache's owner, which owns the stack | wait-free while the cache has room; then blocks] */
WP_INLINE void wp_stacks_give(wp_stacks *pool, wp_stack_cache *cache, wp_stack *stack)
{
	if (cache != NULL && cache->count < WP_STACK_CACHE)
		cache->stacks[cache->count++] = stack;
	else
		wp__stacks_give(pool, cache, stack);
}

/* Gives all stacks of a cache back to the pool. [its owner | blocks] */
void wp_stack_cache_empty(wp_stacks *pool, wp_stack_cache *cache);

/* The bytes from where the frames begin down to the guard. [any thread | wait-free] */
WP_INLINE size_t wp_stack_bytes(const wp_stack *stack)
{
	return (size_t)((const char *)stack - stack->low);
}

WP_INLINE void *wp_stack_control(wp_stack *stack)
{
	return stack + 1;
}

WP_INLINE wp_stack *wp_stack_of(void *control)
{
	return (wp_stack *)control - 1;
}

/* Call after each switch away from the stack: if the canary is broken, reports it and aborts the
 * process. [its owner | wait-free] */
WP_INLINE void wp_stack_check(const wp_stack *stack)
{
	if (stack->guard == WP_STACK_CANARY)
		wp__stack_check(stack);
}

/* How many stacks were ever made, and their control blocks by number: in use, idle, or in between.
 * They stay memory until the pool is freed. [any thread | blocks; wait-free] */
uint32_t wp_stacks_count(wp_stacks *pool);
void *wp_stacks_slot(const wp_stacks *pool, uint32_t number);

/* Gives back the memory of idle stacks, except their top pages, and returns the number of bytes.
 * Caches keep theirs. [any thread | blocks, system calls] */
uint64_t wp_stacks_trim(wp_stacks *pool);

wp_stacks_counts wp_stacks_statistics(wp_stacks *pool); /* [any thread | blocks] */

#endif
