/* SPDX-License-Identifier: Apache-2.0
 * own_heap.c - malloc and free. Each thread allocates from a heap of its own. A block that it has
 * freed may be the next one that it gets, as from a real allocator: the explorer tries both.
 *
 *   malloc   a fresh block, or a freed one of the same size: a choice
 *   free     writes the whole block, so that an access without an order to it is a race
 *
 * Why it works  The address of a block follows from its thread and from what that thread has
 *               allocated before, so it is the same whatever other threads do.
 * Spec          none.
 * Evidence      tests/judge/own. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "own.h"

enum { BLOCKS = 4096, FREE_MOST = 4, ALIGNMENT = 16, FRESH = 0xa5, FREED = 0xdb };

typedef struct block {
	uint32_t offset, size, room;
	bool is_free;
	int8_t freed_by;  /* thread */
	int16_t freed_in; /* segment */
	const void *freed_from;
} block;

static struct {
	block blocks[BLOCKS];
	int count;
	uint32_t used;
	int free[BLOCKS], free_count; /* the last freed one last */
} heaps[EXPLORE_THREADS];

/* What constructors have allocated before main: blocks of the first heap, and their bytes. */
static struct {
	block *blocks;
	char *bytes;
	int count;
	uint32_t used;
} early;

bool own_keep_heap(void)
{
	size_t size = (size_t)heaps[0].count * sizeof(block);

	early.count = heaps[0].count;
	early.used = heaps[0].used;
	early.blocks = malloc(size + 1);
	early.bytes = malloc(early.used + 1);
	if (!early.blocks || !early.bytes)
		return false;
	memcpy(early.blocks, heaps[0].blocks, size);
	memcpy(early.bytes, OWN_BASE, early.used);
	return true;
}

void own_reset_heap(void)
{
	for (int t = 0; t < EXPLORE_THREADS; t++)
		heaps[t].count = heaps[t].free_count = 0, heaps[t].used = 0;
	heaps[0].count = early.count;
	heaps[0].used = early.used;
	memcpy(heaps[0].blocks, early.blocks, (size_t)early.count * sizeof(block));
	memcpy(OWN_BASE, early.bytes, early.used);
}

const char *own_heap_image(const char *at)
{
	return at >= OWN_BASE && at < OWN_BASE + early.used ? early.bytes + (at - OWN_BASE) : NULL;
}

static int heap_of(const char *at)
{
	size_t offset = (size_t)(at - OWN_BASE);

	if (at < OWN_BASE || at >= OWN_BASE + (size_t)EXPLORE_THREADS * OWN_SLOT ||
	    offset % OWN_SLOT >= OWN_HEAP)
		return OWN_NOTHING;
	return (int)(offset / OWN_SLOT);
}

static char *heap_at(int heap)
{
	return OWN_BASE + (size_t)heap * OWN_SLOT;
}

/* The last block that begins here or before; NULL: none. */
static block *block_of(int heap, const char *at)
{
	uint32_t offset = (uint32_t)(at - heap_at(heap));
	int low = 0, high = heaps[heap].count;

	while (low < high) {
		int middle = (low + high) / 2;

		if (heaps[heap].blocks[middle].offset <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &heaps[heap].blocks[low - 1] : NULL;
}

void own_check_heap(const char *at, size_t size, bool writes, const void *from)
{
	int heap = heap_of(at);
	const char *what = writes ? "writes" : "reads";
	const block *block;
	const char *start;

	if (heap < 0)
		return;
	own_is_pure = false;
	block = block_of(heap, at);
	start = block ? heap_at(heap) + block->offset : NULL;
	if (!block || at + size > start + block->size)
		own_fail(own_text("%s %zu bytes %zd bytes behind the start of a block of %u bytes",
				  what, size, block ? at - start : at - heap_at(heap),
				  block ? block->size : 0),
			 true, false, from);
	if (!block->is_free)
		return;
	/* Threads may run in another order the next time, and the access then comes first. */
	own_has_raced |= block->freed_by != own_thread() &&
			 own_now->clock.at[block->freed_by] <= block->freed_in;
	own_fail(own_text("%s memory that was freed at #%lx", what,
			  (unsigned long)(uintptr_t)block->freed_from),
		 true, false, from);
}

static void note_state(int heap)
{
	own_digest digest = {3, 4};

	for (int i = 0; i < heaps[heap].free_count; i++)
		digest = own_mix(digest, (uint64_t)heaps[heap].free[i] + 1);
	own_fibers[heap].heap_state = (int64_t)digest.a;
}

/* A freed block of this size, or OWN_NOTHING for a fresh one. */
static int choose(int heap, uint32_t room, size_t alignment, const void *from)
{
	explore_step step = {.kind = EXPLORE_CHOOSE, .size = 8, .location = OWN_NOTHING};
	int found[FREE_MOST], count = 0, choice;

	for (int i = heaps[heap].free_count - 1; i >= 0 && count < FREE_MOST; i--) {
		const block *block = &heaps[heap].blocks[heaps[heap].free[i]];

		if (block->room == room && block->offset % alignment == 0)
			found[count++] = i;
	}
	if (!count)
		return OWN_NOTHING;
	step.operand = (uint64_t)count + 1;
	choice = (int)own_step(step, NULL, "malloc", from);
	return choice ? found[choice - 1] : OWN_NOTHING;
}

static int fresh_block(int heap, uint32_t room, size_t alignment)
{
	uint32_t offset = (heaps[heap].used + (uint32_t)alignment - 1) / (uint32_t)alignment *
			  (uint32_t)alignment;

	if (heaps[heap].count == BLOCKS || room > OWN_HEAP || offset + room > OWN_HEAP)
		return OWN_NOTHING;
	heaps[heap].used = offset + room;
	heaps[heap].blocks[heaps[heap].count] = (block){.offset = offset, .room = room};
	return heaps[heap].count++;
}

void *own_malloc_from(size_t size, size_t alignment, const void *from)
{
	int heap = own_now ? own_thread() : 0, which, at;
	uint32_t room;
	block *block;

	if (size > OWN_HEAP || !own_has_arena) {
		errno = ENOMEM;
		return NULL;
	}
	room = (uint32_t)(size / ALIGNMENT + 2) *
	       ALIGNMENT; /* and some bytes that nobody may use */
	alignment = alignment < ALIGNMENT ? ALIGNMENT : alignment;
	at = own_now ? choose(heap, room, alignment, from) : OWN_NOTHING;
	if (at >= 0) {
		which = heaps[heap].free[at];
		memmove(&heaps[heap].free[at], &heaps[heap].free[at + 1],
			(size_t)(--heaps[heap].free_count - at) * sizeof(heaps[heap].free[0]));
		note_state(heap);
	} else {
		which = fresh_block(heap, room, alignment);
	}
	if (which < 0) {
		own_refuse("thread %d allocates more than %d bytes or %d blocks", heap, OWN_HEAP,
			   BLOCKS);
		if (own_now)
			own_pause();
		return NULL;
	}
	block = &heaps[heap].blocks[which];
	block->size = (uint32_t)size;
	block->is_free = false;
	if (own_now)
		own_clobber(heap_at(heap) + block->offset, size, FRESH, "malloc", from);
	else
		memset(heap_at(heap) + block->offset, FRESH, size);
	return heap_at(heap) + block->offset;
}

void own_free_from(void *at, const void *from)
{
	int heap = heap_of(at), mine = own_now ? own_thread() : 0;
	block *block;
	char *start;

	if (!at)
		return;
	block = heap < 0 ? NULL : block_of(heap, at);
	start = block ? heap_at(heap) + block->offset : NULL;
	if (!own_now)
		return;
	if (start != at)
		own_fail(own_text("frees %p, which malloc did not return", at), true, false, from);
	if (block->is_free)
		own_fail(own_text("frees memory that was freed at #%lx",
				  (unsigned long)(uintptr_t)block->freed_from),
			 true, false, from);
	own_clobber(start, block->size, FREED, "free", from);
	block->is_free = true;
	block->freed_by = (int8_t)mine;
	block->freed_in = (int16_t)own_now->segment;
	block->freed_from = from;
	if (heap == mine && heaps[heap].free_count < BLOCKS) {
		heaps[heap].free[heaps[heap].free_count++] = (int)(block - heaps[heap].blocks);
		note_state(heap);
	}
}

size_t own_size_of(const void *at)
{
	int heap = heap_of(at);
	const block *block = heap < 0 ? NULL : block_of(heap, at);

	return block && heap_at(heap) + block->offset == at ? block->size : 0;
}
