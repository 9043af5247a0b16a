/* SPDX-License-Identifier: Apache-2.0
 * mpsc_queue.c - many producers, one consumer: an exchange of the tail, then the link.
 * BUG: the link is published by a relaxed store. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#ifdef BUG
#define PUBLISH memory_order_relaxed
#else
#define PUBLISH memory_order_release
#endif

struct node {
	_Atomic(struct node *) next;
	int value;
};

static struct node stub;
static struct node *head = &stub;
static _Atomic(struct node *) tail = &stub;

static void push(int value)
{
	struct node *node = malloc(sizeof(*node)), *before;

	atomic_init(&node->next, NULL);
	node->value = value;
	before = atomic_exchange_explicit(&tail, node, memory_order_acq_rel);
	atomic_store_explicit(&before->next, node, PUBLISH);
}

static int pop(void)
{
	struct node *next;
	int value;

	while (!(next = atomic_load_explicit(&head->next, memory_order_acquire)))
		;
	value = next->value;
	if (head != &stub)
		free(head);
	head = next;
	return value;
}

static void *produce(void *value)
{
	push((int)(long)value);
	return NULL;
}

int main(void)
{
	pthread_t one, other;
	int sum;

	pthread_create(&one, NULL, produce, (void *)1L);
	pthread_create(&other, NULL, produce, (void *)2L);
	sum = pop();
	sum += pop();
	assert(sum == 3);
	pthread_join(one, NULL);
	pthread_join(other, NULL);
	return 0;
}
