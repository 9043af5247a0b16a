/* SPDX-License-Identifier: Apache-2.0
 * sequence.c - a sequence lock: one thread writes a pair, another one reads it with a copy that is
 * atomic by halves.
 * Claim: the halves that an accepted read has seen belong together.
 * BUG: the read does not ask whether it must be repeated. */
#include <assert.h>
#include <ck_pr.h>
#include <ck_sequence.h>
#include <pthread.h>

static ck_sequence_t lock = CK_SEQUENCE_INITIALIZER;
static int left, right;

static void *write_pair(void *unused)
{
	ck_sequence_write_begin(&lock);
	ck_pr_store_int(&left, 1);
	ck_pr_store_int(&right, 1);
	ck_sequence_write_end(&lock);
	return unused;
}

int main(void)
{
	pthread_t writer;
	unsigned version;
	int seen_left, seen_right;

	pthread_create(&writer, NULL, write_pair, NULL);
#ifdef BUG
	version = ck_sequence_read_begin(&lock);
	(void)version;
	seen_left = ck_pr_load_int(&left);
	seen_right = ck_pr_load_int(&right);
#else
	do {
		version = ck_sequence_read_begin(&lock);
		seen_left = ck_pr_load_int(&left);
		seen_right = ck_pr_load_int(&right);
	} while (ck_sequence_read_retry(&lock, version));
#endif
	assert(seen_left == seen_right);
	pthread_join(writer, NULL);
	return 0;
}
