/* SPDX-License-Identifier: Apache-2.0
 * stack.h - stacks of one size from a slab, each with its user's control block at its top.
 *
 *   one slot, from low to high
 *   guard  | frames, from the top down | wp_stack | control block | colour
 *   ^ slot ^ low                       ^ here begin the frames    ^ 64 bytes x 0 .. 15
 *
 *   take    from the carrier's cache; or, under the lock, a batch of idle ones, else a new one
 *   give    to the cache; it is full: its older half, under the lock, to the idle ones
 *
 * Why it works  Frames begin in the control block's page, so what is parked costs one page. Its
 *               place in that page is the slot's colour: at one place, a million control blocks
 *               would share one set of the first cache, which holds 8 to 12 lines.
 *               One reservation, of addresses only, holds all slots: slot n lies at n times the
 *               size, so whoever enumerates needs no lock, and a fault's address names its slot.
 *               Memory is type-stable: once made, a slot's top page stays and keeps its bytes until
 *               the pool is freed; trimming gives back the pages below it.
 * Guards        64 KiB below each stack, so that a frame has to be larger to skip them: addresses, and
 *               128 bytes of a page table. Installed (MADV_GUARD_INSTALL, Linux 6.13): no mapping.
 *               Protected (mprotect): two mappings each, and the process may have vm.max_map_count;
 *               so the first quarter of these. Else the guard's highest page is a canary: it is
 *               zero, takes no memory, and must be zero still at each unmount.
 * Caches        What a carrier keeps is not in use, but nobody else can take it. So a pool has as many
 *               slots more as its caches may keep: it refuses only when max_stacks are in use. One
 *               that would be mostly these (below eight times as many) has no caches, and refuses
 *               exactly then.
 * Not promised  Notice of a frame larger than the guard that skips it in code that was compiled
 *               without -fstack-clash-protection: it writes into the stack below. With a canary:
 *               notice before the unmount, or of a frame larger than a page, or that the slot below
 *               it is whole then.
 * Spec          none: idle slots stand under a lock, all others have one owner.
 * Evidence      tests/thread/test_stack.py, tests/thread/test_overflow.py; wakeproof bench -t
 *               stack. */
#ifndef WP_STACK_H
#define WP_STACK_H

#include <stddef.h>

#include "base/futex.h"

enum {
	WP_STACK_BYTES = 65536, /* unless stated; a page of the guard and the control block count */
	WP_STACK_GUARD_BYTES = 65536,  /* below each; rounded up to pages */
	WP_STACK_BYTES_MOST = 1 << 30, /* as many times 2^32 stacks, and no sum overflows */
	WP_STACK_CACHE = 64,           /* stacks that a carrier keeps */
	WP_STACK_CACHED = 8,    /* no caches for fewer stacks than so many times what they keep */
	WP_STACK_COLOURS = 16,  /* a quarter of a page of lines; more bring no more */
	WP_STACK_LINE = 64,     /* bytes of a colour: caches are indexed by these */
	WP_STACK_FRAMES = 1024, /* the least that the top page leaves to frames */
	WP_STACK_GUARDS = 3,    /* kinds */
};

/* In the order of preference. */
enum wp_stack_guard { WP_STACK_INSTALLED, WP_STACK_PROTECTED, WP_STACK_CANARY };

/* Zeroed but for control_bytes and max_stacks, it is what to use. */
typedef struct wp_stacks_config {
	uint64_t stack_bytes;   /* 0: WP_STACK_BYTES; rounded up to pages, four at least */
	uint32_t control_bytes; /* of the user's block, which begins at a line of 64 bytes */
	uint32_t max_stacks;    /* so many can be in use at once */
	bool may_be_fewer;      /* as addresses allow; false: then it is refused */
	uint32_t caches;  /* that will keep some; 0: it is not known, and what they keep counts */
	uint32_t colours; /* 0: WP_STACK_COLOURS; 1: all blocks at the same place */
	uint32_t max_mappings;     /* 0: a quarter of vm.max_map_count */
	enum wp_stack_guard guard; /* none that is better; the best that the system has */
	/* Called in a signal handler, for the text of a report; NULL, or gives NULL: no name. */
	const char *(*name)(void *control);
} wp_stacks_config;

/* 32 bytes, right below its control block. next: whoever holds the pool's lock. The rest: whoever
 * makes it. */
typedef struct wp_stack {
	struct wp_stack *next; /* among the trimmed */
	struct wp_stacks *pool;
	char *low; /* the lowest byte of its frames, above the guard */
	uint32_t number;
	uint32_t guard; /* enum wp_stack_guard */
} wp_stack;

/* Where the bytes are, and what for. */
typedef struct wp_stacks_counts {
	uint64_t made;           /* slots */
	uint64_t out;            /* of them not idle: in use, or in a cache */
	uint64_t bytes_reserved; /* of addresses */
	uint64_t bytes_made;     /* of addresses, for the slots made; memory is what was touched */
	uint64_t bytes_trimmed;  /* of memory given back so far */
	uint64_t guards[WP_STACK_GUARDS];
} wp_stacks_counts;

/* base to name: whoever makes it; the rest: under the lock. */
typedef struct wp_stacks {
	char *base;
	uint64_t bytes, stack_bytes, guard_bytes, slot_bytes, page;
	uint32_t control_bytes, max_stacks, max_mappings, colours; /* max_stacks: slots */
	bool has_caches;
	const char *(*name)(void *control);
	struct wp_stacks *next, **back; /* among all pools, under their lock: overflow.c */
	_Alignas(WP_LINE) wp_lock lock;
	enum wp_stack_guard guard; /* the best that still works */
	uint32_t made, committed, used_count, trimmed_count;
	wp_stack **used;   /* idle: room for all, and so addresses are read at once */
	wp_stack *trimmed; /* idle */
	wp_stacks_counts counts;
} wp_stacks;

/* A carrier's. Zeroed is empty. */
typedef struct wp_stack_cache {
	uint32_t count;
	wp_stack *stacks[WP_STACK_CACHE];
} wp_stack_cache;

/* WP_OK; or WP_SYSTEM and errno. EINVAL: a control block that leaves too little of its page, no
 * stacks at all, or more bytes each than WP_STACK_BYTES_MOST. ENOMEM: there are not so many
 * addresses, or, if it may be fewer, not for one. [any thread | system calls] */
int wp_stacks_new(wp_stacks **pool, const wp_stacks_config *config);

/* All memory goes. [the last that uses it | system calls] */
void wp_stacks_free(wp_stacks *pool);

wp_stack *wp__stacks_take(wp_stacks *pool, wp_stack_cache *cache);
void wp__stacks_give(wp_stacks *pool, wp_stack_cache *cache, wp_stack *stack);
void wp__stack_check(const wp_stack *stack);

/* stack.c: the best for a pool; the one that a slot gets; those that go with their pool. */
enum wp_stack_guard wp__stack_guard_best(wp_stacks *pool, enum wp_stack_guard at_most);
enum wp_stack_guard wp__stack_guard_set(wp_stacks *pool, char *low);
void wp__stack_guard_return(uint64_t protected_pages);
uint32_t wp__stack_guard_mappings(void);

/* NULL: max_stacks are in use, or the system refuses (errno, mostly ENOMEM); later ones may succeed
 * again. Its control block is as it was given, zeroed at first. Without a cache: any thread.
 * [the cache's owner | wait-free while the cache has one; then blocks, system calls] */
WP_INLINE wp_stack *wp_stacks_take(wp_stacks *pool, wp_stack_cache *cache)
{
	if (cache != NULL && cache->count > 0)
		return cache->stacks[--cache->count];
	return wp__stacks_take(pool, cache);
}

/* [the cache's owner, who owns the stack | wait-free while the cache has room; then blocks] */
WP_INLINE void wp_stacks_give(wp_stacks *pool, wp_stack_cache *cache, wp_stack *stack)
{
	if (cache != NULL && cache->count < WP_STACK_CACHE)
		cache->stacks[cache->count++] = stack;
	else
		wp__stacks_give(pool, cache, stack);
}

/* Gives all that it holds back to the pool. [its owner | blocks] */
void wp_stack_cache_empty(wp_stacks *pool, wp_stack_cache *cache);

/* From where the frames begin down to the guard. [any thread | wait-free] */
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

/* After each switch away from it: a broken canary is reported, and the process aborts.
 * [who owns it | wait-free] */
WP_INLINE void wp_stack_check(const wp_stack *stack)
{
	if (stack->guard == WP_STACK_CANARY)
		wp__stack_check(stack);
}

/* How many were ever made, and their control blocks by number: in use, idle, or between. They are
 * memory until the pool is freed. [any thread | blocks; wait-free] */
uint32_t wp_stacks_count(wp_stacks *pool);
void *wp_stacks_slot(const wp_stacks *pool, uint32_t number);

/* Gives back the memory of idle stacks, but for their top pages, and says how many bytes it was.
 * Caches keep theirs. [any thread | blocks, system calls] */
uint64_t wp_stacks_trim(wp_stacks *pool);

wp_stacks_counts wp_stacks_statistics(wp_stacks *pool); /* [any thread | blocks] */

#endif
