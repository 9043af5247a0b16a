/* SPDX-License-Identifier: Apache-2.0
 * read_copy_update.c - a writer replaces an object and frees the old one when nobody reads it.
 * BUG: it frees the old one at once. */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

struct config {
	int one, same;
};

static _Atomic(struct config *) current;
static atomic_int readers;

static struct config *make(int value)
{
	struct config *config = malloc(sizeof(*config));

	config->one = config->same = value;
	return config;
}

static void *read_config(void *unused)
{
	struct config *config;

	atomic_fetch_add(&readers, 1);
	config = atomic_load(&current);
	assert(config->one == config->same);
	atomic_fetch_sub(&readers, 1);
	return NULL;
}

int main(void)
{
	pthread_t reader;
	struct config *old = make(1);

	atomic_init(&current, old);
	pthread_create(&reader, NULL, read_config, NULL);
	atomic_store(&current, make(2));
#ifndef BUG
	while (atomic_load(&readers))
		;
#endif
	free(old);
	pthread_join(reader, NULL);
	free(atomic_load(&current));
	return 0;
}
