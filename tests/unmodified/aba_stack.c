/* SPDX-License-Identifier: Apache-2.0
 * aba_stack.c - a stack of the cells of an array, with a number of changes beside its top.
 * BUG: the number does not change, so a pop does not notice that its top went away and came back. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#ifdef BUG
#define CHANGE 0
#else
#define CHANGE (UINT64_C(1) << 32)
#endif

static _Atomic uint32_t next[3]; /* of a cell; 0: none */
static _Atomic uint64_t top = 1; /* cell, and the number of changes above it */
static atomic_int taken[3];

static uint32_t pop(void)
{
	uint64_t now = atomic_load(&top);

	while ((uint32_t)now) {
		uint64_t then = atomic_load(&next[(uint32_t)now]) | ((now >> 32 << 32) + CHANGE);

		if (atomic_compare_exchange_strong(&top, &now, then))
			break;
	}
	return (uint32_t)now;
}

static void push(uint32_t cell)
{
	uint64_t now = atomic_load(&top);

	do
		atomic_store(&next[cell], (uint32_t)now);
	while (!atomic_compare_exchange_strong(&top, &now, cell | ((now >> 32 << 32) + CHANGE)));
}

static void *take_two_put_one(void *unused)
{
	uint32_t one = pop(), two = pop();

	if (two)
		atomic_fetch_add(&taken[two], 1);
	if (one)
		push(one);
	return NULL;
}

int main(void)
{
	pthread_t other;
	uint32_t cell;

	atomic_store(&next[1], 2);
	pthread_create(&other, NULL, take_two_put_one, NULL);
	if ((cell = pop()) != 0)
		atomic_fetch_add(&taken[cell], 1);
	pthread_join(other, NULL);
	while ((cell = pop()) != 0)
		atomic_fetch_add(&taken[cell], 1);
	assert(taken[1] == 1 && taken[2] == 1);
	return 0;
}
