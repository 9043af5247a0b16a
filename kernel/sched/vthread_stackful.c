/* SPDX-License-Identifier: Apache-2.0
 * vthread_stackful.c - see vthread_stackful.h. Not explored, because it maps memory. */
#include "sched/vthread_stackful.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sched/worker.h"

enum {
	/* the low bits are counted by a carrier, whose index is in the high bits */
	NUMBERS = 48
};

static const char *name_of(void *control)
{
	return ((wp_body *)control)->thread.task.name;
}

/* Returns the pool of stacks of that size, which is made at its first use. Returns NULL and sets
 * errno if there is none. [the lock's holder | system calls, the first time] */
static wp_stacks *stacks_of(wp_group *group, uint64_t bytes)
{
	wp_bodies *bodies = &group->bodies;
	wp_stacks_config config = {.stack_bytes = bytes,
				   .control_bytes = sizeof(wp_body_stackful),
				   .max_stacks = group->config.max_stacks,
				   .caches = bytes == WP_STACK_BYTES ? group->config.carriers : 0,
				   .name = name_of};

	for (uint32_t at = 0; at < bodies->sizes; at++)
		if (bodies->bytes[at] == bytes)
			return bodies->stacks[at];
	if (bodies->sizes == WP_VTHREAD_SIZES) {
		errno = ENOSPC;
		return NULL;
	}
	config.may_be_fewer = config.max_stacks == 0;
	if (config.max_stacks == 0)
		config.max_stacks = WP_GROUP_STACKS;
	if (wp_stacks_new(&bodies->stacks[bodies->sizes], &config) != WP_OK)
		return NULL;
	bodies->bytes[bodies->sizes] = bytes;
	return bodies->stacks[bodies->sizes++];
}

/* Returns the calling carrier's cache of WP_STACK_BYTES stacks. Returns NULL if it has none, or if
 * the caller is no carrier. [any thread | wait-free] */
static wp_stack_cache *cache_of(wp_group *group, wp_stacks *stacks)
{
	wp_worker *self = wp__worker_self();

	return self != NULL && self->group == group && stacks == self->usual && stacks->has_caches
		       ? &self->stacks
		       : NULL;
}

static wp_body *take_stack(wp_group *group, uint64_t bytes)
{
	wp_worker *self = wp__worker_self();
	wp_stacks *stacks = NULL;
	wp_stack *stack;
	wp_body *body;
	uint64_t number = 0;

	bytes = bytes == 0 ? WP_STACK_BYTES : bytes;
	if (self != NULL && self->group == group && bytes == WP_STACK_BYTES)
		stacks = self->usual;
	if (stacks == NULL) {
		wp_lock_acquire(&group->bodies.lock);
		stacks = stacks_of(group, bytes);
		number = ++group->bodies.made;
		wp_lock_release(&group->bodies.lock);
		if (stacks == NULL)
			return NULL;
		if (self != NULL && self->group == group && bytes == WP_STACK_BYTES)
			self->usual = stacks;
	}
	stack = wp_stacks_take(stacks, cache_of(group, stacks));
	if (stack == NULL)
		return NULL;
	body = wp_stack_control(stack);
	body->rare = &((wp_body_stackful *)body)->rare;
	body->number = number != 0 ? number : (self->index + 1ull) << NUMBERS | ++self->made;
	return body;
}

void wp__bodies_add(wp_bodies *bodies, void **chunk)
{
	wp_body *blocks = wp__body_chunk(chunk);
	wp_body_rare *rare = (wp_body_rare *)(void *)(blocks + WP_BODY_CHUNK);

	memset(blocks, 0, WP_BODY_CHUNK * sizeof(wp_body));
	*chunk = bodies->chunks;
	bodies->chunks = chunk;
	for (int at = 0; at < WP_BODY_CHUNK; at++) {
		blocks[at].rare = &rare[at];
		blocks[at].next = bodies->idle;
		bodies->idle = &blocks[at];
	}
}

/* Makes more idle blocks. Returns false if there is no memory. [the lock's holder | allocates] */
static bool grow(wp_bodies *bodies)
{
	void **chunk = aligned_alloc(WP_LINE, WP_BODY_CHUNK_BYTES);

	if (chunk == NULL)
		return false;
	wp__bodies_add(bodies, chunk);
	return true;
}

static wp_body *take_block(wp_bodies *bodies)
{
	wp_body *body = NULL;

	wp_lock_acquire(&bodies->lock);
	if (bodies->idle != NULL || grow(bodies)) {
		body = bodies->idle;
		bodies->idle = body->next;
		body->number = ++bodies->made;
	}
	wp_lock_release(&bodies->lock);
	return body;
}

wp_body *wp__body_take(wp_group *group, const wp_vthread_config *config)
{
	return config->step != NULL ? take_block(&group->bodies)
				    : take_stack(group, config->stack_bytes);
}

void wp__body_give(wp_body *body)
{
	wp_bodies *bodies = &body->group->bodies;

	if (body->thread.has_stack) {
		wp_stack *stack = wp_stack_of(body);

		wp_stacks_give(stack->pool, cache_of(body->group, stack->pool), stack);
		return;
	}
	wp_lock_acquire(&bodies->lock);
	body->next = bodies->idle;
	bodies->idle = body;
	wp_lock_release(&bodies->lock);
}

void wp__bodies_free(wp_bodies *bodies)
{
	for (uint32_t at = 0; at < bodies->sizes; at++)
		wp_stacks_free(bodies->stacks[at]);
	while (bodies->chunks != NULL) {
		void *chunk = bodies->chunks;

		bodies->chunks = *bodies->chunks;
		free(chunk);
	}
}

/* Returns the thread's value of that key, or NULL. [the thread | wait-free] */
static wp_local_value *find(wp_body *body, const wp_local *key)
{
	for (uint32_t at = 0; at < body->locals_count; at++)
		if (body->rare->locals[at].key == key)
			return &body->rare->locals[at];
	return NULL;
}

void *wp_local_get(const wp_local *key)
{
	wp_vthread *thread = wp_vthread_current();
	wp_local_value *found = thread == NULL ? NULL : find(wp__body_of(thread), key);

	return found == NULL ? NULL : found->value;
}

int wp_local_set(const wp_local *key, void *value)
{
	wp_vthread *thread = wp_vthread_current();
	wp_body *body = thread == NULL ? NULL : wp__body_of(thread);
	wp_local_value *found;

	if (body == NULL || body->has_no_locals)
		return WP_FORBIDDEN;
	found = find(body, key);
	if (found == NULL && body->locals_count == body->locals_room) {
		uint32_t room = body->locals_room == 0 ? WP_BODY_LOCALS : 2 * body->locals_room;
		void *more = realloc(body->locals_room == 0 ? NULL : body->rare->locals,
				     room * sizeof(wp_local_value));

		if (more == NULL)
			return WP_SYSTEM;
		body->rare->locals = more;
		body->locals_room = room;
	}
	if (found == NULL)
		found = &body->rare->locals[body->locals_count++];
	*found = (wp_local_value){key, value};
	return WP_OK;
}

const char *wp_vthread_name(wp_vthread *thread)
{
	return thread->task.name;
}

void *wp_vthread_arg(wp_vthread *thread)
{
	return wp__body_of(thread)->arg;
}

void wp__body_drop(wp_body *body)
{
	if (body->locals_room != 0)
		free(body->rare->locals);
	body->locals_room = body->locals_count = 0;
}

void wp__body_forget(wp_body *body)
{
	for (uint32_t at = 0; at < body->locals_count; at++) {
		wp_local_value *one = &body->rare->locals[at];

		if (one->key->fini != NULL && one->value != NULL)
			one->key->fini(one->value);
	}
	wp__body_drop(body);
}
