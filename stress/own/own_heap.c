/* SPDX-License-Identifier: Apache-2.0
 * own_heap.c - malloc and free. Each thread allocates from a heap of its own. A block that it has
 * freed, whoever has allocated it, may be the next one that it gets, as from a real allocator: the
 * explorer tries both.
 *
 *   malloc   a fresh block, or a freed one of the same size: a choice
 *   free     writes the whole block, so that an access without an order to it is a race
 *   the end  once all threads have been joined: a block to which no pointer leads is a leak
 *
 * Why it works  The address of a block follows from its thread, from the call that allocates it,
 *               and from how often that call has allocated before: so it is the same whatever other
 *               threads do, and blocks of different types share no addresses unless one is freed.
 * Spec          none.
 * Evidence      tests/judge/own. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "own.h"

enum {
	BLOCKS = 4096,
	CLASSES = 1024,
	FREE_MOST = 4,
	ALIGNMENT = 16,
	FRESH = 0xa5,
	FREED = 0xdb,
};

typedef struct block {
	uint32_t offset, room; /* the same in each execution */
	uint32_t size;
	bool is_there, is_free, was_freed;
	bool is_last; /* not to be handed out again: its next owner has other atomic objects there */
	int8_t freed_by;  /* thread */
	int16_t freed_in; /* segment */
	const void *freed_from, *made_from;
	bool is_reached; /* at the end: a pointer leads to it */
	int next;        /* block of its class, or OWN_NOTHING */
} block;

/* Allocations by one call, of one size, at one depth of the stack: probably of one type. */
typedef struct class
{
	const void *from;
	uint32_t room, depth, alignment;
	int first, last, now; /* blocks; the one that was handed out last, or OWN_NOTHING */
	int early;            /* what `now` is when main begins */
} class;

static struct {
	block blocks[BLOCKS]; /* by offset */
	class classes[CLASSES];
	uint16_t slots[CLASSES]; /* of the classes, as they were made */
	int count, classes_count;
} heaps[EXPLORE_THREADS];

/* The blocks that each thread has freed, the last one last. */
static struct {
	block *blocks[BLOCKS];
	int count;
} freed[EXPLORE_THREADS];

static bool has_allocated; /* since main began, in any execution */

/* What constructors have allocated before main: blocks of the first heap, and their bytes. */
static struct {
	block *blocks;
	char *bytes;
	class *classes; /* as they were made */
	int count, classes_count;
	uint32_t used;
} early;

static uint32_t used(int heap)
{
	const block *last = &heaps[heap].blocks[heaps[heap].count - 1];

	return heaps[heap].count ? last->offset + last->room : 0;
}

bool own_keep_heap(void)
{
	size_t size = (size_t)heaps[0].count * sizeof(block);

	early.count = heaps[0].count;
	early.classes_count = heaps[0].classes_count;
	early.used = used(0);
	early.blocks = malloc(size + 1);
	early.classes = malloc((size_t)early.classes_count * sizeof(class) + 1);
	early.bytes = malloc(early.used + 1);
	if (!early.blocks || !early.classes || !early.bytes)
		return false;
	memcpy(early.blocks, heaps[0].blocks, size);
	memcpy(early.bytes, OWN_BASE, early.used);
	for (int i = 0; i < early.classes_count; i++) {
		early.classes[i] = heaps[0].classes[heaps[0].slots[i]];
		early.classes[i].early = early.classes[i].now;
	}
	return true;
}

/* Touches only what was used. */
void own_unlearn_heap(void)
{
	has_allocated = false;
	for (int t = 0; t < EXPLORE_THREADS; t++) {
		memset(heaps[t].blocks, 0, (size_t)heaps[t].count * sizeof(block));
		for (int i = 0; i < heaps[t].classes_count; i++)
			heaps[t].classes[heaps[t].slots[i]] = (class){0};
		heaps[t].count = heaps[t].classes_count = 0;
	}
	memcpy(heaps[0].blocks, early.blocks, (size_t)early.count * sizeof(block));
	for (int i = 0; i < early.classes_count; i++)
		heaps[0].classes[heaps[0].slots[i]] = early.classes[i];
	heaps[0].count = early.count;
	heaps[0].classes_count = early.classes_count;
}

void own_reset_heap(void)
{
	for (int t = 0; t < EXPLORE_THREADS; t++) {
		freed[t].count = 0;
		for (int i = 0; i < heaps[t].count; i++)
			heaps[t].blocks[i].is_there = heaps[t].blocks[i].was_freed = false;
		for (int i = 0; i < heaps[t].classes_count; i++) {
			class *class = &heaps[t].classes[heaps[t].slots[i]];

			class->now = class->early;
		}
	}
	for (int i = 0; i < early.count; i++) {
		int next = heaps[0].blocks[i].next;

		heaps[0].blocks[i] = early.blocks[i];
		heaps[0].blocks[i].next = next;
	}
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

static char *start_of(const block *block)
{
	int heap = 0;

	while (block < heaps[heap].blocks || block >= heaps[heap].blocks + BLOCKS)
		heap++;
	return heap_at(heap) + block->offset;
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
	if (block && !block->is_there)
		block = NULL;
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

static void note_state(int thread)
{
	own_digest digest = {3, 4};

	for (int i = 0; i < freed[thread].count; i++)
		digest = own_mix(digest, (uint64_t)(uintptr_t)freed[thread].blocks[i]);
	own_fibers[thread].heap_state = (int64_t)digest.a;
}

/* A freed block of this size, or OWN_NOTHING for a fresh one. */
static int choose(int thread, uint32_t room, size_t alignment, const void *from)
{
	explore_step step = {.kind = EXPLORE_CHOOSE, .size = 8, .location = OWN_NOTHING};
	int found[FREE_MOST], count = 0, choice;

	for (int i = freed[thread].count - 1; i >= 0 && count < FREE_MOST; i--) {
		const block *block = freed[thread].blocks[i];

		if (block->room == room && block->offset % alignment == 0 && !block->is_last)
			found[count++] = i;
	}
	if (!count)
		return OWN_NOTHING;
	step.operand = (uint64_t)count + 1;
	choice = (int)own_step(step, NULL, "malloc", from);
	return choice ? found[choice - 1] : OWN_NOTHING;
}

static class *class_of(int heap, const void *from, uint32_t room, uint32_t depth,
		       uint32_t alignment)
{
	own_digest digest = own_mix(own_mix((own_digest){11, 12}, (uint64_t)(uintptr_t)from),
				    (uint64_t)room << 32 | depth);
	uint32_t slot = (uint32_t)(digest.a % CLASSES);

	for (;; slot = (slot + 1) % CLASSES) {
		class *class = &heaps[heap].classes[slot];

		if (!class->room && heaps[heap].classes_count < CLASSES - 1) {
			*class = (struct class){
				.from = from, .room = room, .depth = depth, .alignment = alignment};
			class->first = class->last = class->now = class->early = OWN_NOTHING;
			heaps[heap].slots[heaps[heap].classes_count++] = (uint16_t)slot;
		}
		if (!class->room || (class->from == from && class->room == room &&
				     class->depth == depth && class->alignment == alignment))
			return class->room ? class : NULL;
	}
}

/* The class's next block of this execution; one that no execution has had, if need be. */
static int fresh_block(int heap, class *class)
{
	int next = class->now < 0 ? class->first : heaps[heap].blocks[class->now].next;
	uint32_t offset = (used(heap) + class->alignment - 1) / class->alignment * class->alignment;

	if (next < 0) {
		if (heaps[heap].count == BLOCKS || offset + class->room > OWN_HEAP)
			return OWN_NOTHING;
		next = heaps[heap].count++;
		heaps[heap].blocks[next] =
			(block){.offset = offset, .room = class->room, .next = OWN_NOTHING};
		if (class->last >= 0)
			heaps[heap].blocks[class->last].next = next;
		else
			class->first = next;
		class->last = next;
	}
	class->now = next;
	return next;
}

void *own_malloc_from(size_t size, size_t alignment, const void *from)
{
	int heap = own_now ? own_thread() : 0, fresh, at;
	uint32_t room, depth = own_now ? (uint32_t)(own_now->stack_end - (char *)&room) : 0;
	class *class;
	block *block = NULL;

	if (size > OWN_HEAP || !own_has_arena) {
		errno = ENOMEM;
		return NULL;
	}
	room = (uint32_t)(size / ALIGNMENT + 2) *
	       ALIGNMENT; /* and some bytes that nobody may use */
	alignment = alignment < ALIGNMENT ? ALIGNMENT : alignment;
	at = own_now ? choose(heap, room, alignment, from) : OWN_NOTHING;
	if (own_now && !has_allocated) { /* from now on the end of main looks for leaks */
		has_allocated = true;
		own_program.error = EXPLORE_START_AGAIN;
	}
	if (at >= 0) {
		block = freed[heap].blocks[at];
		memmove(&freed[heap].blocks[at], &freed[heap].blocks[at + 1],
			(size_t)(--freed[heap].count - at) * sizeof(freed[heap].blocks[0]));
		note_state(heap);
	} else {
		class = class_of(heap, from, room, depth, (uint32_t)alignment);
		fresh = class ? fresh_block(heap, class) : OWN_NOTHING;
		block = fresh < 0 ? NULL : &heaps[heap].blocks[fresh];
	}
	if (!block) {
		own_refuse("thread %d allocates more than %d bytes or %d blocks", heap, OWN_HEAP,
			   BLOCKS);
		if (own_now)
			own_pause();
		return NULL;
	}
	block->size = (uint32_t)size;
	block->made_from = from;
	block->is_there = true;
	block->is_free = false;
	if (own_now)
		own_clobber(start_of(block), size, FRESH, "malloc", from);
	else
		memset(start_of(block), FRESH, size);
	return start_of(block);
}

void own_free_from(void *at, const void *from)
{
	int heap = heap_of(at), mine = own_now ? own_thread() : 0;
	block *block;
	char *start;

	if (!at)
		return;
	block = heap < 0 ? NULL : block_of(heap, at);
	if (block && !block->is_there)
		block = NULL;
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
	block->is_free = block->was_freed = true;
	block->freed_by = (int8_t)mine;
	block->freed_in = (int16_t)own_now->segment;
	block->freed_from = from;
	if (freed[mine].count == BLOCKS) {
		own_refuse("thread %d frees more than %d blocks", mine, BLOCKS);
		own_pause();
	}
	freed[mine].blocks[freed[mine].count++] = block;
	note_state(mine);
}

/* Leaks. */

static block *reached[EXPLORE_THREADS * BLOCKS];
static int reached_count;

/* The words from here to there may be pointers, to a block or into it. */
static void follow(const char *from, const char *to)
{
	const char *at = from + (-(uintptr_t)from & 7), *pointer;

	for (; at + sizeof(pointer) <= to; at += sizeof(pointer)) {
		block *block;
		int heap;

		memcpy(&pointer, at, sizeof(pointer));
		heap = heap_of(pointer);
		block = heap < 0 ? NULL : block_of(heap, pointer);
		if (!block || !block->is_there || block->is_free || block->is_reached ||
		    pointer >= start_of(block) + block->room)
			continue;
		block->is_reached = true;
		reached[reached_count++] = block;
	}
}

void own_find_leaks(const char *stack)
{
	const own_fiber *me = own_now;
	const block *lost = NULL;
	const char *data;
	size_t size = own_data(&data);

	own_settle();
	if (!has_allocated || own_may_leak || !own_is_alone())
		return;
	own_is_pure = false;
	own_is_whole = true;
	own_settle_all(stack);
	reached_count = 0;
	for (int t = 0; t < EXPLORE_THREADS; t++)
		for (int i = 0; i < heaps[t].count; i++)
			heaps[t].blocks[i].is_reached = false;
	follow(data, data + size);
	follow(OWN_BASE, OWN_BASE + early.used);
	follow(me->tcb - own_tls_size(), me->tcb);
	follow((const char *)me->keys, (const char *)(me->keys + OWN_KEYS));
	follow(stack, me->stack_end);
	for (int i = 0; i < reached_count; i++)
		follow(start_of(reached[i]), start_of(reached[i]) + reached[i]->size);
	for (int t = 0; t < EXPLORE_THREADS; t++)
		for (int i = t ? 0 : early.count; i < heaps[t].count; i++) {
			const block *block = &heaps[t].blocks[i];

			if (block->is_there && !block->is_free && !block->is_reached && !lost)
				lost = block;
		}
	if (lost)
		own_fail(own_text("%u bytes are lost: they were never freed, and no pointer leads "
				  "to them",
				  lost->size),
			 false, false, lost->made_from);
}

bool own_hand_out_once(const char *at)
{
	int heap = heap_of(at);
	block *block = heap < 0 ? NULL : block_of(heap, at);

	if (!block || !block->was_freed || block->is_last)
		return false;
	block->is_last = true;
	own_unmark(heap_at(heap) + block->offset, block->room);
	own_program.error = EXPLORE_START_AGAIN;
	return true;
}

size_t own_size_of(const void *at)
{
	int heap = heap_of(at);
	const block *block = heap < 0 ? NULL : block_of(heap, at);

	return block && block->is_there && heap_at(heap) + block->offset == at ? block->size : 0;
}
