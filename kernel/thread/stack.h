/* SPDX-License-Identifier: Apache-2.0
 * stack.h - a pool of stacks of one size. All stacks are slots of one reservation of addresses, a
 * slab. At the top of each stack is a control block, the memory for the data of its user.
 *
 *   one slot, from low to high
 *   guard  | frames, from the top down | wp_stack | control block | colour
 *   ^ slot ^ low                       ^ here begin the frames    ^ 64 bytes x 0 .. 15
 *
 *   take    from the carrier's cache; if it is empty, take a batch of idle stacks, or a new
 *           stack, under the pool's lock
 *   give    to the carrier's cache; if it is full, first move its older half to the idle
 *           stacks, under the pool's lock
 *
 *   Usage    wp_stacks_new(&pool, &(wp_stacks_config){.control_bytes = 64, .max_stacks = 1000});
 *            stack = wp_stacks_take(pool, &cache);
 *            wp_fiber_init(&fiber, stack->low, wp_stack_bytes(stack), entry, argument);
 *            wp_stacks_give(pool, &cache, stack);
 *
 * Why it works  The frames begin in the page of the control block, so a parked stack costs one
 *               page. The place of the control block in that page depends on the slot and is called
 *               its colour. If all control blocks had the same place, a million of them would share
 *               one set of the first-level cache, which holds 8 to 12 lines.
 *               One reservation, of addresses only, holds all slots. Slot n lies at n times the
 *               size, so enumeration needs no lock, and the address of a fault identifies its slot.
 *               Memory is type-stable: once a slot is made, its top page stays and keeps its bytes
 *               until the pool is freed. Trimming gives back only the pages below it.
 * Guards        A guard of 64 KiB is below each stack, so only a frame that is larger than that can
 *               skip it. It costs addresses, and 128 bytes of a page table. There are three kinds
 *               of guard. An installed guard (MADV_GUARD_INSTALL, Linux 6.13) costs no mapping. A
 *               protected guard (mprotect) costs two mappings, and a process may have
 *               vm.max_map_count of them; so protected guards use at most a quarter of that limit.
 *               Otherwise the highest page of the guard is a canary: it is zero, takes no memory,
 *               and must still be zero whenever the thread leaves its stack.
 * Caches        A stack in a carrier's cache is not in use, but no other carrier can take it.
 *               Therefore a pool has additional slots, as many as its caches may keep, and refuses
 *               a stack only when max_stacks are in use. A pool in which most slots would be such
 *               slots (max_stacks is below eight times their number) has no caches, and refuses at
 *               the same point.
 * Not promised  A frame that is larger than the guard can skip the guard and write into the stack
 *               below, if its code was compiled without -fstack-clash-protection. Nothing reports
 *               that. With a canary, an overflow is reported only when the thread leaves its stack,
 *               a frame larger than a page may skip the canary, and the slot below may be damaged
 *               when the canary is found broken.
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
	WP_STACK_BYTES_MOST = 1 << 30, /* 2^32 stacks of this size cause no overflow in any sum */
	WP_STACK_CACHE = 64,           /* stacks that a carrier keeps */
	WP_STACK_CACHED = 8,    /* a pool has caches if max_stacks is 8 times what they keep */
	WP_STACK_COLOURS = 16,  /* the lines of a quarter of a page; more colours do not help */
	WP_STACK_LINE = 64,     /* bytes of a colour: CPU caches are indexed by these */
	WP_STACK_FRAMES = 1024, /* the least that the top page leaves to frames */
	WP_STACK_GUARDS = 3,    /* kinds of guard */
};

/* In the order of preference. */
enum wp_stack_guard { WP_STACK_INSTALLED, WP_STACK_PROTECTED, WP_STACK_CANARY };

/* The default configuration has all fields zero except control_bytes and max_stacks. */
typedef struct wp_stacks_config {
	uint64_t stack_bytes;   /* 0: WP_STACK_BYTES; rounded up to pages, four at least */
	uint32_t control_bytes; /* size of the user's block, which begins at a line of 64 bytes */
	uint32_t max_stacks;    /* stacks that can be in use at once */
	/* true: the pool has fewer stacks than max_stacks if there are too few addresses; false:
	 * then no pool is made */
	bool may_be_fewer;
	/* the number of caches that will keep stacks; 0: not known, and stacks in caches count as
	 * in use */
	uint32_t caches;
	uint32_t colours;      /* 0: WP_STACK_COLOURS; 1: all blocks at the same place */
	uint32_t max_mappings; /* 0: a quarter of vm.max_map_count */
	/* the best kind that is allowed; the pool uses the best kind that works */
	enum wp_stack_guard guard;
	/* Returns the name for a report, or NULL if the stack has none. It is called in a signal
	 * handler. If `name` itself is NULL, no stack has a name. */
	const char *(*name)(void *control);
} wp_stacks_config;

/* 32 bytes, right below its control block. `next` is written under the pool's lock, the other
 * fields when the stack is made. */
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
	uint64_t out;            /* those that are not idle: in use, or in a cache */
	uint64_t bytes_reserved; /* of addresses */
	uint64_t bytes_made;     /* of addresses, for made slots; only touched pages are memory */
	uint64_t bytes_trimmed;  /* of memory given back so far */
	uint64_t guards[WP_STACK_GUARDS];
} wp_stacks_counts;

/* The fields from `base` to `name` are set when the pool is made; the others change under the lock.
 */
typedef struct wp_stacks {
	char *base;
	uint64_t bytes, stack_bytes, guard_bytes, slot_bytes, page;
	uint32_t control_bytes, max_stacks, max_mappings, colours; /* max_stacks: slots */
	bool has_caches;
	const char *(*name)(void *control);
	struct wp_stacks *next, **back; /* in the list of all pools, under its lock: overflow.c */
	_Alignas(WP_LINE) wp_lock lock;
	enum wp_stack_guard guard; /* the best kind that still works */
	uint32_t made, committed, used_count, trimmed_count;
	/* idle stacks; an array, so that many of its entries can be read at once */
	wp_stack **used;
	wp_stack *trimmed; /* idle */
	wp_stacks_counts counts;
} wp_stacks;

/* A cache belongs to one carrier. A zeroed cache is empty. */
typedef struct wp_stack_cache {
	uint32_t count;
	wp_stack *stacks[WP_STACK_CACHE];
} wp_stack_cache;

/* Makes a pool. Returns WP_OK, or WP_SYSTEM and sets errno. EINVAL: the control block leaves too
 * little of its page, or there are no stacks at all, or they are larger than WP_STACK_BYTES_MOST
 * each. ENOMEM: there are too few addresses for that many stacks or, if fewer are allowed, for one.
 * [any thread | system calls] */
int wp_stacks_new(wp_stacks **pool, const wp_stacks_config *config);

/* Frees the pool with all its memory. [its last user | system calls] */
void wp_stacks_free(wp_stacks *pool);

wp_stack *wp__stacks_take(wp_stacks *pool, wp_stack_cache *cache);
void wp__stacks_give(wp_stacks *pool, wp_stack_cache *cache, wp_stack *stack);
void wp__stack_check(const wp_stack *stack);

/* The first returns the best kind of guard for a pool. The second sets the guard of one slot. The
 * third gives back what the guards of a pool cost, when the pool is freed. */
enum wp_stack_guard wp__stack_guard_best(wp_stacks *pool, enum wp_stack_guard at_most);
enum wp_stack_guard wp__stack_guard_set(wp_stacks *pool, char *low);
void wp__stack_guard_return(uint64_t protected_pages);
uint32_t wp__stack_guard_mappings(void);

/* Takes a stack. Returns NULL if max_stacks are in use, or if the system refuses memory (errno,
 * mostly ENOMEM); later calls may succeed again. The control block has the bytes that it had when
 * the stack was given back; at first they are zero. Without a cache (NULL), any thread may call
 * this. [the cache's owner | wait-free while the cache has a stack; otherwise blocks, system calls]
 */
WP_INLINE wp_stack *wp_stacks_take(wp_stacks *pool, wp_stack_cache *cache)
{
	if (cache != NULL && cache->count > 0)
		return cache->stacks[--cache->count];
	return wp__stacks_take(pool, cache);
}

/* Gives a stack back. [the cache's owner, which owns the stack | wait-free while the cache has
 * room; otherwise blocks] */
WP_INLINE void wp_stacks_give(wp_stacks *pool, wp_stack_cache *cache, wp_stack *stack)
{
	if (cache != NULL && cache->count < WP_STACK_CACHE)
		cache->stacks[cache->count++] = stack;
	else
		wp__stacks_give(pool, cache, stack);
}

/* Gives all stacks of a cache back to the pool. [its owner | blocks] */
void wp_stack_cache_empty(wp_stacks *pool, wp_stack_cache *cache);

/* Returns the number of bytes from where the frames begin down to the guard. [any thread |
 * wait-free] */
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

/* Call after each switch away from the stack. If the canary is broken, reports it and aborts the
 * process. [the stack's owner | wait-free] */
WP_INLINE void wp_stack_check(const wp_stack *stack)
{
	if (stack->guard == WP_STACK_CANARY)
		wp__stack_check(stack);
}

/* The first returns how many stacks were made so far. The second returns the control block of the
 * stack with that number, which may be in use, idle, or in between. Control blocks stay memory
 * until the pool is freed. [any thread | blocks; wait-free] */
uint32_t wp_stacks_count(wp_stacks *pool);
void *wp_stacks_slot(const wp_stacks *pool, uint32_t number);

/* Gives the memory of idle stacks back to the system, except their top pages, and returns the
 * number of bytes. Stacks in caches keep theirs. [any thread | blocks, system calls] */
uint64_t wp_stacks_trim(wp_stacks *pool);

wp_stacks_counts wp_stacks_statistics(wp_stacks *pool); /* [any thread | blocks] */

#endif
