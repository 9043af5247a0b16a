/* SPDX-License-Identifier: Apache-2.0
 * reference_count.c - the last of two owners frees an object.
 * BUG: the count goes down by a relaxed update, which orders no use before the free. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#ifdef BUG
#define DOWN memory_order_relaxed
#else
#define DOWN memory_order_acq_rel
#endif

struct object {
	atomic_int owners;
	int value;
};

static void release(struct object *object)
{
	if (atomic_fetch_sub_explicit(&object->owners, 1, DOWN) == 1)
		free(object);
}

static void *use(void *argument)
{
	struct object *object = argument;
	int value = object->value;

	release(object);
	return (void *)(long)value;
}

int main(void)
{
	struct object *object = malloc(sizeof(*object));
	pthread_t other;
	void *value;

	atomic_init(&object->owners, 2);
	object->value = 7;
	pthread_create(&other, NULL, use, object);
	release(object);
	pthread_join(other, &value);
	return (long)value != 7;
}
